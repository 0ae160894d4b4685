"""Kernels with reduces: for every row, the stages of its structure (softmax, layer norm, sums,
argmax).

A reduce stage is a loop over the columns that feeds accumulators; row-shaped work between stages is
placed at the row's level by the emitter itself; a write stage loops once more. Values that several
stages need and that are dear are kept for the row: in the output's own row where it is free until
the end, else on the stack.

How rows and columns become loops is left to a `Walk`: nested loops on a CPU (here), lanes of a warp
on simt (`compiler.lower.grid`). Where memory is contiguous along the rows instead
(column sums), `compiler.lower.strips` interchanges the loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Protocol

from compiler.hlo.module import Instruction
from compiler.hlo.stages import RowStructure, Space, Stage, StageKind
from compiler.journal import Journal
from compiler.llvm.ir import Value
from compiler.lower.affine import ZERO, Index, constant, delinearize
from compiler.lower.decisions import LoopNest
from compiler.lower.elemental import Indices, fixed
from compiler.lower.in_place import accumulate, accumulators, narrowed, widened
from compiler.lower.kept import KeptValues, plan_kept
from compiler.lower.loops import placed, write_roots_of
from compiler.lower.reducer import Reducer, reducer_of
from compiler.lower.source import Output
from compiler.lower.strides import (
    accesses,
    all_accesses,
    contiguous_variable,
    loop_order,
)
from compiler.lower.workshop import Workshop

Groups = tuple[tuple[int, ...], ...]


class Walk(Protocol):
    """How a kernel visits the columns of its current row."""

    def columns(self, stage: Stage, number: int) -> Iterator[Indices]:
        """Loops over the columns of a stage: yields the counters once, inside; or, written out,
        every column."""

    def start(self, reducer: Reducer, initial: Sequence[Value]) -> Sequence[Value]:
        """What the accumulators hold before the first element."""

    def finish(
        self, reducer: Reducer, initial: Sequence[Value], totals: Sequence[Value]
    ) -> Sequence[Value]:
        """The row's result, from what the accumulators hold after the last element."""

    def once(self) -> AbstractContextManager[None]:
        """Around what is to happen once per row, not once per column."""


@dataclass(slots=True)
class RowWriter:
    """Runs the stages of one row, whose counters are `rows`."""

    shop: Workshop
    structure: RowStructure
    walk: Walk
    rows: Indices
    kept: KeptValues | None = None

    def run(self) -> None:
        self.shop.frame.depth = self.shop.emitter.depth
        outer = self.shop.emitter.origins
        for number, stage in enumerate(self.structure.stages):
            self.shop.emitter.origins = self._origins(stage)
            if stage.kind is StageKind.REDUCE:
                self._reduce(stage, number)
            elif stage.kind is StageKind.ROW:
                self._row_values(stage)
            elif 0 not in stage.columns:
                self._write(stage, number)
            if self.kept is not None:
                self.kept.bind(number)
        self.shop.emitter.origins = outer

    def _origins(self, stage: Stage) -> tuple[str, ...]:
        found = [self.shop.frame.instruction(name).origins for name in stage.instructions]
        return tuple(dict.fromkeys(origin for origins in found for origin in origins))

    # -- reduces ----------------------------------------------------------------------------

    def _reduce(self, stage: Stage, number: int) -> None:
        shop = self.shop
        reduces = [shop.frame.instruction(name) for name in stage.instructions]
        reducers = [reducer_of(shop.module, reduce) for reduce in reduces]
        initial = [self._initial(r, x) for r, x in zip(reduces, reducers, strict=True)]
        slots = [self._slots(r, i) for r, i in zip(reducers, initial, strict=True)]
        if 0 not in stage.columns:
            for columns in self.walk.columns(stage, number):
                for reduce, reducer, held in zip(reduces, reducers, slots, strict=True):
                    self._element(reduce, reducer, held, columns)
                self._keep(number, columns)
        for reduce, reducer, start, held in zip(reduces, reducers, initial, slots, strict=True):
            self._result(reduce, reducer, start, held)

    def _keep(self, number: int, columns: Indices) -> None:
        if self.kept is not None:
            self.kept.store(number, self.rows, columns)

    def _initial(self, reduce: Instruction, reducer: Reducer) -> list[Value]:
        elemental = self.shop.elemental
        names = reduce.operands[len(reduce.operands) // 2 :]
        values = [elemental.value(self.shop.frame, name, ()) for name in names]
        return widened(elemental, values, reducer.accumulator_types)

    def _slots(self, reducer: Reducer, initial: Sequence[Value]) -> list[Value]:
        start = self.walk.start(reducer, initial)
        return accumulators(self.shop.elemental, reducer.accumulator_types, start)

    def _element(
        self, reduce: Instruction, reducer: Reducer, slots: Sequence[Value], columns: Indices
    ) -> None:
        elemental, emitter = self.shop.elemental, self.shop.emitter
        at = placed(self.structure.axes[reduce.name], self.rows, columns)
        names = reduce.operands[: len(reduce.operands) // 2]
        values = [elemental.value(self.shop.frame, name, at) for name in names]
        before, emitter.origins = emitter.origins, reduce.origins
        accumulate(elemental, reducer, slots, values)
        emitter.origins = before

    def _result(
        self,
        reduce: Instruction,
        reducer: Reducer,
        initial: Sequence[Value],
        slots: Sequence[Value],
    ) -> None:
        elemental, emitter = self.shop.elemental, self.shop.emitter
        before, emitter.origins = emitter.origins, reduce.origins
        pairs = zip(slots, reducer.accumulator_types, strict=True)
        partial = [emitter.load_here(t, s, "total") for s, t in pairs]
        values = narrowed(elemental, self.walk.finish(reducer, initial, partial), reducer)
        self.shop.frame.bindings[reduce.name] = fixed(values if len(values) > 1 else values[0])
        found = [o for o in self.shop.source.outputs if o.name == reduce.name]
        if found:
            with self.walk.once():
                for output in found:
                    self.shop.write(output, values[output.part], self._row_index(output))
        emitter.origins = before

    def _row_index(self, output: Output) -> Indices:
        axes = self.structure.axes[output.name]
        kept = [axis for axis in axes if axis.space is not Space.COLUMN]
        return placed(kept, self.rows, ())

    # -- rows and writes --------------------------------------------------------------------

    def _row_values(self, stage: Stage) -> None:
        outputs = [o for o in self.shop.source.outputs if o.name in stage.instructions]
        if outputs:
            write_roots_of(
                self.shop, outputs, [self._row_index(o) for o in outputs], self.walk.once()
            )

    def _write(self, stage: Stage, number: int) -> None:
        outputs = [o for o in self.shop.source.outputs if o.name in stage.instructions]
        for columns in self.walk.columns(stage, number):
            places = [placed(self.structure.axes[o.name], self.rows, columns) for o in outputs]
            write_roots_of(self.shop, outputs, places, nullcontext())
            self._keep(number, columns)


# -- loops on a CPU -----------------------------------------------------------------------------


@dataclass(slots=True)
class SerialWalk:
    """Columns as nested loops; `groups` says for each stage which positions share a loop."""

    shop: Workshop
    groups: tuple[tuple[tuple[int, ...], ...], ...]

    def columns(self, stage: Stage, number: int) -> Iterator[Indices]:
        with nested_loops(self.shop, stage.columns, self.groups[number], "j") as counters:
            yield counters

    def start(self, reducer: Reducer, initial: Sequence[Value]) -> Sequence[Value]:
        return initial

    def finish(
        self, reducer: Reducer, initial: Sequence[Value], totals: Sequence[Value]
    ) -> Sequence[Value]:
        return totals

    def once(self) -> AbstractContextManager[None]:
        return nullcontext()


@dataclass(slots=True)
class WrittenOutWalk(SerialWalk):
    """Columns one after the other, without loops: for few columns, so that the row loop is the
    innermost one."""

    def columns(self, stage: Stage, number: int) -> Iterator[Indices]:
        for columns in product(*(range(extent) for extent in stage.columns)):
            yield tuple(constant(column) for column in columns)


@contextmanager
def nested_loops(
    shop: Workshop, extents: tuple[int, ...], groups: Groups, name: str
) -> Iterator[Indices]:
    """Loops over all groups of positions, outermost first; yields the counter of every position."""
    known: dict[int, Index] = {}
    with ExitStack() as stack:
        for group in groups:
            sizes = tuple(extents[p] for p in group)
            value = stack.enter_context(shop.emitter.loop(prod(sizes), name))
            counter = shop.emitter.index_of(value, 0, max(prod(sizes) - 1, 0))
            known |= zip(group, delinearize(counter, sizes), strict=True)
        yield tuple(known.get(p, ZERO) for p in range(len(extents)))


def emit_row_kernel(shop: Workshop, structure: RowStructure, journal: Journal) -> None:
    """Fills a kernel of kind ROWS on a CPU, rows outside and columns inside (or written out)."""
    rows = _row_groups(shop, structure)
    if is_written_out(shop, structure):
        with nested_loops(shop, structure.rows, rows, "i") as counters:
            RowWriter(shop, structure, WrittenOutWalk(shop, ()), counters).run()
        columns: tuple[Groups, ...] = tuple(() for _ in structure.stages)
        because = (
            "rows are contiguous and columns few: columns are written out, rows can be vectors"
        )
    else:
        columns = choose_columns(shop, structure, rows)
        kept = plan_kept(shop, structure, journal, allows_stack=True)
        _emit(shop, structure, rows, columns, kept)
        because = "each row passes through its stages while it is in the cache"
    _record_nest(shop, structure, rows, columns, because, journal)


def _row_groups(shop: Workshop, structure: RowStructure) -> Groups:
    everything = all_accesses(shop.source, structure)
    return tuple((p,) for p in loop_order(everything, "r", structure.rows))


def choose_columns(shop: Workshop, structure: RowStructure, rows: Groups) -> tuple[Groups, ...]:
    """For every stage its column loops: one for all columns where that costs no division."""
    single: list[Groups] = []
    merged: list[Groups] = []
    for number, stage in enumerate(structure.stages):
        order = loop_order(accesses(shop.source, structure, number), "c", stage.columns)
        single.append(tuple((p,) for p in order))
        merged.append((order,) if order else ())
    if single == merged:
        return tuple(single)
    costs = [_divisions(shop, structure, rows, tuple(c)) for c in (single, merged)]
    return tuple(merged if costs[1] <= costs[0] else single)


def _divisions(
    shop: Workshop, structure: RowStructure, rows: Groups, columns: tuple[Groups, ...]
) -> int:
    trial = shop.fresh()
    kept = plan_kept(trial, structure, None, allows_stack=True)
    _emit(trial, structure, rows, columns, kept)
    return trial.emitter.divisions


def _emit(
    shop: Workshop,
    structure: RowStructure,
    rows: Groups,
    columns: tuple[Groups, ...],
    kept: KeptValues,
) -> None:
    if 0 in structure.rows:
        return
    with nested_loops(shop, structure.rows, rows, "i") as counters:
        RowWriter(shop, structure, SerialWalk(shop, columns), counters, kept).run()


def _record_nest(
    shop: Workshop,
    structure: RowStructure,
    rows: Groups,
    columns: tuple[Groups, ...],
    because: str,
    journal: Journal,
) -> None:
    outer = " ".join(str(structure.rows[p]) for (p,) in rows)
    stages = []
    for stage, groups in zip(structure.stages, columns, strict=True):
        if stage.columns:
            sizes = ["*".join(str(stage.columns[p]) for p in g) for g in groups]
            stages.append(" ".join(sizes) or "written out")
    journal.record(
        LoopNest(
            subject=shop.source.instruction.name,
            origins=shop.source.instruction.origins,
            chosen="row by row",
            loops=f"{outer or 'one row'} {{ {'; '.join(stages)} }}",
            because=because,
        )
    )


LARGEST_WRITTEN_OUT = 400
"""Columns are written out while the kernel then computes no more scalar values than this."""


def is_written_out(shop: Workshop, structure: RowStructure) -> bool:
    """Whether memory runs along the rows and the columns are few."""
    everything = all_accesses(shop.source, structure)
    columns = max((prod(stage.columns) for stage in structure.stages), default=1)
    is_small = columns <= 16 and structure.scalar_values * columns <= LARGEST_WRITTEN_OUT
    return contiguous_variable(everything).startswith("r") and is_small and columns > 0
