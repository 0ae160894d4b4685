"""Kernels with reduces: for every row, the stages of its structure (softmax, layer norm, sums, argmax).

A reduce stage is a loop over the columns that feeds accumulators; row-shaped work between stages is placed at
the row's level by the emitter itself; a write stage loops once more. Values that several stages need
and that are dear are kept for the row: in the output's own row where it is free until the end, else on the stack.

How rows and columns become loops is left to a `Walk`: nested loops on a CPU (here), lanes of a warp
on simt (`compiler.lower.grid`). Where memory is contiguous along the rows instead
(column sums), `compiler.lower.strips` interchanges the loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Protocol

from compiler.hlo import indices as ix
from compiler.hlo.module import Instruction
from compiler.hlo.shape import ArrayShape
from compiler.hlo.stages import RowStructure, Space, Stage, StageKind
from compiler.journal import Journal
from compiler.llvm.ir import Value
from compiler.lower.affine import ZERO, Index, constant, delinearize
from compiler.lower.decisions import KeptValue, LoopNest
from compiler.lower.elemental import Indices, fixed
from compiler.lower.in_place import accumulate, accumulators, narrowed, widened
from compiler.lower.loops import placed, write_roots_of
from compiler.lower.reducer import Reducer, reducer_of
from compiler.lower.source import Output
from compiler.lower.strides import (
    accesses,
    all_accesses,
    contiguous_variable,
    loop_order,
)
from compiler.lower.types import memory_type
from compiler.lower.workshop import Workshop


Groups = tuple[tuple[int, ...], ...]


class Walk(Protocol):
    """How a kernel visits the columns of its current row."""

    def columns(self, stage: Stage, number: int) -> Iterator[Indices]:
        """Loops over the columns of a stage: yields the counters once, inside; or, written out, every column."""

    def start(self, reducer: Reducer, initial: Sequence[Value]) -> Sequence[Value]:
        """What the accumulators hold before the first element."""

    def finish(
        self, reducer: Reducer, initial: Sequence[Value], totals: Sequence[Value]
    ) -> Sequence[Value]:
        """The row's result, from what the accumulators hold after the last element."""

    def once(self) -> AbstractContextManager[None]:
        """Around what is to happen once per row, not once per column."""


@dataclass(slots=True)
class Kept:
    """A value kept for the row: its name, index in terms of columns, and how to load and store it."""

    name: str
    output: Output | None = None
    buffer: Value | None = None
    shape: ArrayShape | None = None


@dataclass(slots=True)
class RowWriter:
    """Runs the stages of one row, whose counters are `rows`."""

    shop: Workshop
    structure: RowStructure
    walk: Walk
    rows: Indices
    kept: tuple[Kept, ...] = ()
    stored: set[str] = field(default_factory=set)

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
            self._bind_kept(number)
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
                self._store_kept(number, columns)
        for reduce, reducer, start, held in zip(reduces, reducers, initial, slots, strict=True):
            self._result(reduce, reducer, start, held)

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
        totals = [emitter.load_here(t, s, "total") for s, t in pairs]
        totals = list(self.walk.finish(reducer, initial, totals))
        values = narrowed(elemental, totals, reducer)
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
            self._store_kept(number, columns)

    # -- kept values ------------------------------------------------------------------------

    def _reads_here(self, name: str, number: int) -> bool:
        return any(read.stage == number for read in self.structure.reads.get(name, ()))

    def _store_kept(self, number: int, columns: Indices) -> None:
        for kept in self.kept:
            if kept.name in self.stored or not self._reads_here(kept.name, number):
                continue
            at = element_index(self.structure, kept.name, self.rows, columns)
            value = self.shop.elemental.value(self.shop.frame, kept.name, at)
            base, shape, place = self._room(kept, at)
            before = self.shop.emitter.origins
            self.shop.emitter.origins = self.shop.frame.instruction(kept.name).origins
            self.shop.store(value, base, shape, place(at))
            self.shop.emitter.origins = before

    def _room(self, kept: Kept, at: Indices):  # type: ignore[no-untyped-def]
        if kept.output is not None:
            base: Value = self.shop.function.arguments[kept.output.pointer]
            return base, kept.output.shape, lambda at: at
        return kept.buffer, kept.shape, self._column_part(kept.name)

    def _column_part(self, name: str):  # type: ignore[no-untyped-def]
        """Of an element's index, the part that varies within a row."""
        is_column = column_mask(self.structure, name)
        return lambda at: tuple(i if c else ZERO for i, c in zip(at, is_column, strict=True))

    def _bind_kept(self, number: int) -> None:
        for kept in self.kept:
            if kept.name not in self.stored and self._reads_here(kept.name, number):
                self.stored.add(kept.name)
                base, shape, place = self._room(kept, ())
                load = self.shop.reload(base, shape)
                self.shop.frame.bindings[kept.name] = lambda at, p=place, f=load: f(p(at))  # type: ignore[misc]


def element_index(
    structure: RowStructure, name: str, rows: Indices, columns: Indices
) -> Indices:
    """Where a kept value is needed, in terms of the counters."""
    read = structure.reads[name][0]
    counters = {f"r{i}": index for i, index in enumerate(rows)}
    counters |= {f"c{i}": index for i, index in enumerate(columns)}
    return tuple(counters[i.variable.name] if i.variable else constant(i.constant) for i in read.at)


def column_mask(structure: RowStructure, name: str) -> tuple[bool, ...]:
    """For each dimension of a kept value, whether it runs along a column."""
    read = structure.reads[name][0]
    return tuple(i.variable is not None and i.variable.name.startswith("c") for i in read.at)


def is_keepable(structure: RowStructure, name: str) -> bool:
    """Whether all stages need the value at one place that is made of counters and constants only."""
    places = {read.at for read in structure.reads.get(name, ())}
    return len(places) == 1 and all(
        i.variable is not None or not i.terms for i in next(iter(places))
    )


def scratch_output(shop: Workshop, structure: RowStructure, name: str) -> Output | None:
    """An output whose elements can hold the value until they are written themselves: written in the last stage, at the
    same index, of the same type, and nowhere an input."""
    kind = shop.frame.instruction(name).array
    last = structure.stages[-1]
    inputs = {given.pointer for given in shop.source.inputs}
    for output in shop.source.outputs:
        axes = structure.axes.get(output.name, ())
        at = ix_placed(structure, output) if axes else ()
        fits = output.shape.element_type is kind.element_type
        if (
            fits
            and output.name in last.instructions
            and last.kind is StageKind.WRITE
            and output.pointer not in inputs
            and structure.reads[name][0].at == at
        ):
            return output
    return None


def ix_placed(structure: RowStructure, output: Output) -> tuple[ix.Index, ...]:
    """An output's element in the row structure's own variables."""
    found = []
    for axis, extent in zip(structure.axes[output.name], output.shape.dimensions, strict=True):
        variable = ix.Variable(str(axis), extent)
        found.append(ix.ZERO if axis.space is Space.UNIT else ix.of_variable(variable))
    return tuple(found)


def row_buffer_shape(shop: Workshop, structure: RowStructure, name: str) -> ArrayShape:
    """The shape of a kept value with its row dimensions reduced to 1."""
    shape = shop.frame.instruction(name).array
    pairs = zip(shape.dimensions, column_mask(structure, name), strict=True)
    return shape.with_dimensions(tuple(e if is_column else 1 for e, is_column in pairs))


def plan_kept(
    shop: Workshop, structure: RowStructure, journal: Journal | None, allows_stack: bool
) -> tuple[Kept, ...]:
    """Where each value worth keeping is kept; values without a place are computed again."""
    found: list[Kept] = []
    room = shop.target.l1_bytes // 2
    taken: set[str] = set()
    for name in structure.kept:
        if not is_keepable(structure, name):
            _record(shop, journal, name, "computed again", "its element is not a plain place")
            continue
        output = scratch_output(shop, structure, name)
        shape = row_buffer_shape(shop, structure, name)
        if output is not None and output.name not in taken:
            taken.add(output.name)
            found.append(Kept(name, output))
            where = f"kept in the row of {output.name}"
            _record(shop, journal, name, where, "that row is written last and of the same type")
        elif allows_stack and shape.size_bytes <= room:
            room -= shape.size_bytes
            buffer = shop.emitter.alloca(
                memory_type(shape.element_type), shape.element_count, "row"
            )
            found.append(Kept(name, None, buffer, shape))
            because = f"{shape.size_bytes} bytes fit into half of L1"
            _record(shop, journal, name, "kept on the stack", because)
        else:
            _record(shop, journal, name, "computed again", "a row of it does not fit into L1")
    return tuple(found)


def _record(shop: Workshop, journal: Journal | None, name: str, chosen: str, because: str) -> None:
    if journal is not None:
        origins = shop.frame.instruction(name).origins
        subject = shop.source.instruction.name
        journal.record(
            KeptValue(subject=subject, origins=origins, value=name, chosen=chosen, because=because)
        )


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
    """Columns one after the other, without loops: for few columns, so that the row loop is the innermost one."""

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
        because = "rows are contiguous and columns few: columns are written out, rows can be vectors"
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
    kept: tuple[Kept, ...],
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
