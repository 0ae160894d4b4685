"""Kernels with reduces whose memory is contiguous along the rows and whose columns are many (column
sums).

Row by row they would stride through memory. Instead a strip of neighbouring rows is worked on at
once: for every column an inner loop over the strip's rows updates one accumulator per row, kept in
a buffer on the stack that fits into half of L1. The inner loop is contiguous in everything it
touches, so it can be vectorised. Row-shaped work between stages and the results are further loops
over the strip.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field

from compiler.hlo.module import Instruction
from compiler.hlo.stages import Axis, RowStructure, Space, Stage, StageKind
from compiler.journal import Journal
from compiler.llvm.ir import Value
from compiler.lower.affine import Index
from compiler.lower.decisions import LoopNest
from compiler.lower.elemental import Element, Indices
from compiler.lower.in_place import combined, narrowed, widened
from compiler.lower.kept import KeptValues, plan_kept
from compiler.lower.loops import placed, write_roots_of
from compiler.lower.reducer import Reducer, reducer_of
from compiler.lower.rows import Groups, nested_loops
from compiler.lower.source import Output
from compiler.lower.strides import accesses, all_accesses, contiguous_variable, loop_order
from compiler.lower.workshop import Workshop

LEAST_ROWS = 4
"""Fewer contiguous rows than this are not worth a strip."""


def contiguous_row(shop: Workshop, structure: RowStructure) -> int | None:
    """The row position along which memory is contiguous, when it is long enough for strips."""
    name = contiguous_variable(all_accesses(shop.source, structure))
    if not name.startswith("r") or structure.rows[int(name[1:])] < LEAST_ROWS:
        return None
    return int(name[1:])


def emit_strip_kernel(
    shop: Workshop, structure: RowStructure, inner: int, journal: Journal
) -> None:
    """Fills a kernel of kind ROWS with strips along row position `inner`."""
    kept = plan_kept(shop, structure, journal, allows_stack=False)
    writer = StripWriter(shop, structure, inner, kept=kept)
    extent = structure.rows[inner]
    length = writer.strip_length(extent)
    everything = all_accesses(shop.source, structure)
    outer = [p for p in loop_order(everything, "r", structure.rows) if p != inner]
    groups: Groups = tuple((p,) for p in outer)
    with nested_loops(shop, structure.rows, groups, "i") as counters:
        whole = extent // length
        with ExitStack() as loops:
            start = Index()
            if whole > 1:
                value = loops.enter_context(shop.emitter.loop(whole, "strip"))
                start = shop.emitter.index_of(value, 0, whole - 1) * length
            writer.run(counters, start, length)
        if extent % length:
            writer.run(counters, Index((), whole * length), extent % length)
    journal.record(
        LoopNest(
            subject=shop.source.instruction.name,
            origins=shop.source.instruction.origins,
            chosen="strips of rows",
            loops=f"{' '.join(str(structure.rows[p]) for p in outer)} columns, strips of {length}",
            because="memory is contiguous along the rows: the innermost loop runs over them, "
            "with one accumulator per row in a buffer that fits into half of L1",
        )
    )


@dataclass(slots=True)
class StripWriter:
    """Runs the stages of one strip of rows."""

    shop: Workshop
    structure: RowStructure
    inner: int
    rows: Indices = ()
    start: Index = field(default_factory=Index)
    length: int = 0
    buffers: dict[str, list[Value]] = field(default_factory=dict)
    kept: KeptValues | None = None

    def strip_length(self, extent: int) -> int:
        """Rows whose accumulators fit into half of L1, a multiple of 64 where there are more."""
        names = [
            n for s in self.structure.stages if s.kind is StageKind.REDUCE for n in s.instructions
        ]
        reducers = [reducer_of(self.shop.module, self.shop.frame.instruction(n)) for n in names]
        bytes_per_row = sum(t.size_bytes for r in reducers for t in r.accumulator_types)
        most = max(64, self.shop.target.l1_bytes // 2 // max(bytes_per_row, 1) // 64 * 64)
        return min(extent, most)

    def run(self, rows: Indices, start: Index, length: int) -> None:
        """Computes rows start .. start+length-1 of the inner position."""
        self.rows, self.start, self.length = rows, start, length
        outer = self.shop.emitter.origins
        for name in self.buffers:
            self.shop.frame.bindings.pop(name, None)
        if self.kept is not None:
            self.kept.forget()
        for number, stage in enumerate(self.structure.stages):
            self.shop.emitter.origins = self._origins(stage)
            if stage.kind is StageKind.REDUCE:
                self._reduce(stage, number)
            elif stage.kind is StageKind.ROW:
                self._write_rows(
                    [o for o in self.shop.source.outputs if o.name in stage.instructions]
                )
            elif 0 not in stage.columns:
                self._write(stage, number)
            if self.kept is not None:
                self.kept.bind(number)
        self.shop.emitter.origins = outer

    def _origins(self, stage: Stage) -> tuple[str, ...]:
        found = [self.shop.frame.instruction(name).origins for name in stage.instructions]
        return tuple(dict.fromkeys(origin for origins in found for origin in origins))

    @contextmanager
    def _strip(self) -> Iterator[tuple[Indices, Index]]:
        """A loop over the strip; yields the row counters and the place in the strip."""
        emitter = self.shop.emitter
        if self.length == 1:
            yield self._row_counters(Index()), Index()
            return
        with emitter.loop(self.length, "r") as value:
            place = emitter.index_of(value, 0, self.length - 1)
            before, self.shop.frame.depth = self.shop.frame.depth, emitter.depth
            yield self._row_counters(place), place
            self.shop.frame.depth = before

    def _row_counters(self, place: Index) -> Indices:
        found = list(self.rows)
        found[self.inner] = self.start + place
        return tuple(found)

    # -- reduces ----------------------------------------------------------------------------

    def _reduce(self, stage: Stage, number: int) -> None:
        reduces = [self.shop.frame.instruction(name) for name in stage.instructions]
        reducers = [reducer_of(self.shop.module, reduce) for reduce in reduces]
        for reduce, reducer in zip(reduces, reducers, strict=True):
            self._begin(reduce, reducer)
        if 0 not in stage.columns:
            order = loop_order(
                accesses(self.shop.source, self.structure, number), "c", stage.columns
            )
            groups: Groups = tuple((p,) for p in order)
            with (
                nested_loops(self.shop, stage.columns, groups, "j") as columns,
                self._strip() as at,
            ):
                for reduce, reducer in zip(reduces, reducers, strict=True):
                    self._element(reduce, reducer, columns, *at)
                if self.kept is not None:
                    self.kept.store(number, at[0], columns)
        for reduce, reducer in zip(reduces, reducers, strict=True):
            self._bind(reduce, reducer)
        self._write_rows([o for o in self.shop.source.outputs if o.name in stage.instructions])

    def _begin(self, reduce: Instruction, reducer: Reducer) -> None:
        elemental, emitter = self.shop.elemental, self.shop.emitter
        types = reducer.accumulator_types
        if reduce.name not in self.buffers:
            self.buffers[reduce.name] = [emitter.alloca(t, self.length, "totals") for t in types]
        names = reduce.operands[len(reduce.operands) // 2 :]
        values = [elemental.value(self.shop.frame, name, ()) for name in names]
        start = widened(elemental, values, types)
        with self._strip() as (_, place):
            for slot, value in zip(self._slots(reduce, reducer, place), start, strict=True):
                emitter.store(value, slot)

    def _slots(self, reduce: Instruction, reducer: Reducer, place: Index) -> list[Value]:
        pairs = zip(self.buffers[reduce.name], reducer.accumulator_types, strict=True)
        return [self.shop.emitter.address(b, t, place, self.length) for b, t in pairs]

    def _totals(self, reduce: Instruction, reducer: Reducer, place: Index) -> list[Value]:
        pairs = zip(self._slots(reduce, reducer, place), reducer.accumulator_types, strict=True)
        return [self.shop.emitter.load_here(t, s, "total") for s, t in pairs]

    def _element(
        self, reduce: Instruction, reducer: Reducer, columns: Indices, rows: Indices, place: Index
    ) -> None:
        elemental, emitter = self.shop.elemental, self.shop.emitter
        at = placed(self.structure.axes[reduce.name], rows, columns)
        names = reduce.operands[: len(reduce.operands) // 2]
        values = [elemental.value(self.shop.frame, name, at) for name in names]
        before, emitter.origins = emitter.origins, reduce.origins
        values = widened(elemental, values, reducer.accumulator_types)
        totals = self._totals(reduce, reducer, place)
        results = combined(elemental, reducer, totals, values)
        for slot, value in zip(self._slots(reduce, reducer, place), results, strict=True):
            emitter.store(value, slot)
        emitter.origins = before

    def _bind(self, reduce: Instruction, reducer: Reducer) -> None:
        axes = [a for a in self.structure.axes[reduce.name] if a.space is not Space.COLUMN]
        position = next(
            d for d, a in enumerate(axes) if a.space is Space.ROW and a.position == self.inner
        )
        start = self.start

        def total(at: Indices) -> Element:
            place = at[position] - start
            totals = self._totals(reduce, reducer, place)
            values = narrowed(self.shop.elemental, totals, reducer)
            return values if len(values) > 1 else values[0]

        self.shop.frame.bindings[reduce.name] = total

    # -- results ----------------------------------------------------------------------------

    def _write_rows(self, outputs: Sequence[Output]) -> None:
        if not outputs:
            return
        with self._strip() as (rows, _):
            places = [placed(self._row_axes(o), rows, ()) for o in outputs]
            write_roots_of(self.shop, outputs, places, nullcontext())

    def _row_axes(self, output: Output) -> list[Axis]:
        return [a for a in self.structure.axes[output.name] if a.space is not Space.COLUMN]

    def _write(self, stage: Stage, number: int) -> None:
        outputs = [o for o in self.shop.source.outputs if o.name in stage.instructions]
        order = loop_order(accesses(self.shop.source, self.structure, number), "c", stage.columns)
        groups: Groups = tuple((p,) for p in order)
        with nested_loops(self.shop, stage.columns, groups, "j") as columns, self._strip() as at:
            places = [placed(self.structure.axes[o.name], at[0], columns) for o in outputs]
            write_roots_of(self.shop, outputs, places, nullcontext())
