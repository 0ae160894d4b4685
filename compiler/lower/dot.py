"""Dots on a CPU, in register tiles (`compiler.lower.dot_plan` chooses them).

For every tile the accumulators are stack slots (which become registers) and the loops over the
contracted dimensions are innermost. Rows and columns that do not fill a tile get smaller tiles:
fewer rows, fewer vectors, a vector of half the width, scalars. An elementwise epilogue runs over
each block of rows as soon as it is complete, reading the sums back from the result's own memory
while they are in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from compiler.hlo.module import Instruction
from compiler.hlo.shape import ArrayShape
from compiler.hlo.stages import RowStructure
from compiler.journal import Journal
from compiler.llvm.ir import Constant, Opcode, Value
from compiler.llvm.ir import Instruction as Operation
from compiler.llvm.types import I64, Type
from compiler.lower.affine import ZERO, Index, delinearize
from compiler.lower.decisions import Tile
from compiler.lower.dot_plan import Along, Axis, Block, Plan, plan_of, problem_of
from compiler.lower.elemental import Indices
from compiler.lower.in_place import multiply_add
from compiler.lower.loops import emit_loop_kernel, write_roots
from compiler.lower.source import Input, Output
from compiler.lower.types import computing_type, memory_type
from compiler.lower.workshop import Workshop

SMALLEST_VECTOR_BITS = 128
"""Narrower vectors than this fill no register of any machine."""


def emit_dot_kernel(shop: Workshop, structure: RowStructure, journal: Journal) -> None:
    """Fills a kernel of kind DOT; element by element when its types or its memory allow no
    tiles."""
    dot = shop.frame.instruction(structure.dot or "")
    result = _scratch(shop, structure, dot)
    inputs = {given.name: given for given in shop.source.inputs}
    operands = [inputs.get(name) for name in dot.operands]
    same = {dot.array.element_type} == {o.shape.element_type for o in operands if o is not None}
    if result is None or None in operands or not same or not _is_plain(dot) or 0 in (
        *dot.array.dimensions, *(e for o in operands if o is not None for e in o.shape.dimensions)
    ):  # fmt: skip
        emit_loop_kernel(shop, structure, journal)
        return
    x, y = (o for o in operands if o is not None)
    numbers, strides = dot.dot, _strides_in(dot.array, result.shape)
    problem = problem_of(numbers, x.shape, y.shape, strides)
    lanes = _lanes(shop, dot)
    plan = plan_of(problem, lanes, shop.target.register_count("vec"), shop.options.strict_order)
    if plan.problem.is_swapped:
        x, y = y, x
    _TileWriter(shop, structure, dot, plan, x, y, result).run()
    _record(shop, dot, plan, journal)


def _is_plain(dot: Instruction) -> bool:
    kind = dot.array.element_type
    return memory_type(kind) == computing_type(kind)


def _scratch(shop: Workshop, structure: RowStructure, dot: Instruction) -> Output | None:
    """The result that the sums are put into: the dot itself, else one of its type. What an epilogue
    reads must not lie there, since the sums are written first."""
    outputs = [o for o in shop.source.outputs if o.shape.element_type is dot.array.element_type]
    outputs.sort(key=lambda output: output.name != dot.name)
    has_epilogue = any(output.name != dot.name for output in shop.source.outputs)
    read = {given.pointer for given in shop.source.inputs} if has_epilogue else set()
    return next((output for output in outputs if output.pointer not in read), None)


def _strides_in(dot: ArrayShape, result: ArrayShape) -> tuple[int, ...]:
    """The strides of a result for each dimension of the dot; they agree but for dimensions of
    extent 1."""
    strides = iter(s for s, e in zip(result.strides, result.dimensions) if e != 1)
    return tuple(next(strides) if e != 1 else 0 for e in dot.dimensions)


def _lanes(shop: Workshop, dot: Instruction) -> int:
    type = memory_type(dot.array.element_type)
    lanes = shop.target.lanes(type)
    if shop.options.vector_lanes:
        lanes = min(lanes, shop.options.vector_lanes)
    wide = type.with_lanes(lanes)
    product = "fmul" if type.is_float else "mul"
    return lanes if lanes > 1 and shop.target.legal(product, wide) else 1


def _record(shop: Workshop, dot: Instruction, plan: Plan, journal: Journal) -> None:
    journal.record(
        Tile(
            subject=shop.source.instruction.name,
            origins=dot.origins,
            chosen=f"vectors along {plan.along.value}",
            rows=plan.rows,
            vectors=plan.vectors,
            lanes=plan.lanes,
            because=plan.why,
        )
    )


@dataclass(slots=True)
class _TileWriter:
    """Emits the loops of a plan. x is broadcast (or along k), y holds the columns."""

    shop: Workshop
    structure: RowStructure
    dot: Instruction
    plan: Plan
    x: Input
    y: Input
    result: Output
    type: Type = field(init=False)

    def __post_init__(self) -> None:
        self.type = memory_type(self.dot.array.element_type)

    def run(self) -> None:
        emitter = self.shop.emitter
        emitter.origins = self.dot.origins
        with ExitStack() as loops:
            known = {a: self._counter(loops, a.extent, "i") for a in self.plan.outer}
            for block in self.plan.row_blocks():
                with ExitStack() as inner:
                    first = self._counter(inner, block.count, "row") * block.size + block.start
                    self._columns(known, first, block)
                    self._epilogue(known, first, block)

    def _counter(self, loops: ExitStack, extent: int, name: str) -> Index:
        if extent == 1:
            return ZERO
        value = loops.enter_context(self.shop.emitter.loop(extent, name))
        return self.shop.emitter.index_of(value, 0, extent - 1)

    def _columns(self, known: dict[Axis, Index], row: Index, rows: Block) -> None:
        smallest = SMALLEST_VECTOR_BITS // self.type.bits
        for block in self.plan.column_blocks(smallest):
            with ExitStack() as inner:
                turn = self._counter(inner, block.count, "column")
                column = turn * block.width + block.start
                if self.plan.along is Along.CONTRACTED:
                    self._tile_along_k(known, row, rows, column, block)
                else:
                    self._tile(known, row, rows, column, block)

    # -- addresses --------------------------------------------------------------------------

    def _base(self, known: dict[Axis, Index], operand: str) -> Index:
        total = ZERO
        for axis, counter in known.items():
            stride: int = getattr(axis, operand)
            total = total + counter * stride
        return total

    def _stride(self, axis: Axis | None, operand: str) -> int:
        found: int = getattr(axis, operand) if axis is not None else 0
        return found

    def _load(self, given: Input, at: Index, lanes: int) -> Value:
        base = self.shop.function.arguments[given.pointer]
        address = self.shop.emitter.address(base, self.type, at, given.shape.element_count)
        size = self.type.size_bytes
        return self.shop.emitter.load(self.type.with_lanes(lanes), address, given.name, size)

    def _write(self, value: Value, at: Index) -> None:
        base = self.shop.function.arguments[self.result.pointer]
        count = self.result.shape.element_count
        address = self.shop.emitter.address(base, self.type, at, count)
        self.shop.emitter.store(value, address, self.type.size_bytes)

    # -- tiles ------------------------------------------------------------------------------

    def _slots(self, rows: Block, columns: Block, lanes: int) -> list[list[Operation]]:
        type = self.type.with_lanes(lanes)
        zero = 0.0 if type.is_float else 0
        value = Constant(type, (zero,) * lanes) if lanes > 1 else Constant(type, zero)
        slots = []
        for _ in range(rows.size):
            line = [self.shop.emitter.alloca(type, stem="sum.slot") for _ in range(columns.size)]
            for slot in line:
                self.shop.emitter.store(value, slot, type.scalar.size_bytes)
            slots.append(line)
        return slots

    def _add_product(self, x: Value, y: Value, slot: Value) -> None:
        emitter, size = self.shop.emitter, self.type.size_bytes
        total = emitter.load_here(y.type, slot, "sum", size)
        emitter.store(multiply_add(self.shop.elemental, x, y, total), slot, size)

    def _tile(
        self, known: dict[Axis, Index], row: Index, rows: Block, column: Index, columns: Block
    ) -> None:
        lanes = columns.lanes if columns.lanes > 1 else 0
        slots = self._slots(rows, columns, lanes)
        with ExitStack() as loops:
            deep = {**known, **self._contracted(loops)}
            x_base, y_base = self._base(deep, "x"), self._base(deep, "y")
            step = self._stride(self.plan.column, "y")
            ys = [
                self._load(self.y, y_base + (column + v * columns.lanes) * step, lanes)
                for v in range(columns.size)
            ]
            for r in range(rows.size):
                at = x_base + (row + r) * self._stride(self.plan.row, "x")
                x = self._splat(self._load(self.x, at, 0), lanes)
                for v, y in enumerate(ys):
                    self._add_product(x, y, slots[r][v])
        for r, line in enumerate(slots):
            for v, slot in enumerate(line):
                type = self.type.with_lanes(lanes)
                total = self.shop.emitter.load_here(type, slot, "sum", self.type.size_bytes)
                self._write(total, self._out(known, row + r, column + v * columns.lanes))

    def _out(self, known: dict[Axis, Index], row: Index, column: Index) -> Index:
        out = self._base(known, "out") + row * self._stride(self.plan.row, "out")
        return out + column * self._stride(self.plan.column, "out")

    def _contracted(self, loops: ExitStack) -> dict[Axis, Index]:
        return {a: self._counter(loops, a.extent, "k") for a in self.plan.problem.contracted}

    def _splat(self, value: Value, lanes: int) -> Value:
        if not lanes:
            return value
        emitter = self.shop.emitter
        type = value.type.with_lanes(lanes)
        poison = Constant(type, None)
        first = emitter.pure(
            Opcode.INSERTELEMENT, type, (poison, value, emitter.constant(I64, 0)), "splat"
        )
        return emitter.shuffle(first, first, (0,) * lanes, "splat")

    # -- vectors along k --------------------------------------------------------------------

    def _tile_along_k(
        self, known: dict[Axis, Index], row: Index, rows: Block, column: Index, columns: Block
    ) -> None:
        *outer, inner = self.plan.problem.contracted
        lanes = self.plan.lanes
        slots = self._slots(rows, columns, lanes)
        tails = self._slots(rows, columns, 0) if inner.extent % lanes else []
        with ExitStack() as loops:
            deep = {**known, **{a: self._counter(loops, a.extent, "k") for a in outer}}
            with ExitStack() as inside:
                turn = self._counter(inside, inner.extent // lanes, "k")
                self._products(deep, turn * lanes, row, rows, column, columns, slots, lanes)
            if tails:
                with ExitStack() as inside:
                    start = inner.extent // lanes * lanes
                    turn = self._counter(inside, inner.extent - start, "k")
                    self._products(deep, turn + start, row, rows, column, columns, tails, 0)
        for r in range(rows.size):
            for c in range(columns.size):
                total = self._across(slots[r][c], lanes)
                if tails:
                    size = self.type.size_bytes
                    rest = self.shop.emitter.load_here(self.type, tails[r][c], "sum", size)
                    total = self._sum(total, rest)
                self._write(total, self._out(known, row + r, column + c))

    def _products(
        self,
        known: dict[Axis, Index],
        k: Index,
        row: Index,
        rows: Block,
        column: Index,
        columns: Block,
        slots: Sequence[Sequence[Value]],
        lanes: int,
    ) -> None:
        x_base, y_base = self._base(known, "x") + k, self._base(known, "y") + k
        step = self._stride(self.plan.column, "y")
        ys = [self._load(self.y, y_base + (column + c) * step, lanes) for c in range(columns.size)]
        for r in range(rows.size):
            at = x_base + (row + r) * self._stride(self.plan.row, "x")
            x = self._load(self.x, at, lanes)
            for c, y in enumerate(ys):
                self._add_product(x, y, slots[r][c])

    def _sum(self, a: Value, b: Value) -> Value:
        arithmetic = self.shop.arithmetic
        if self.type.is_float:
            return arithmetic.binary(Opcode.FADD, a, b, ("reassoc",))
        return arithmetic.iadd(a, b)

    def _across(self, slot: Value, lanes: int) -> Value:
        """The sum of all lanes: halves of the register first, then neighbours."""
        emitter = self.shop.emitter
        vector: Value = emitter.load_here(
            self.type.with_lanes(lanes), slot, "sum", self.type.size_bytes
        )
        while lanes > 1 and self.type.bits * lanes > SMALLEST_VECTOR_BITS:
            lanes //= 2
            low = emitter.shuffle(vector, vector, tuple(range(lanes)), "low")
            high = emitter.shuffle(vector, vector, tuple(range(lanes, 2 * lanes)), "high")
            vector = self._sum(low, high)
        distance = lanes // 2
        while distance:
            turned = tuple(lane ^ distance for lane in range(lanes))
            vector = self._sum(vector, emitter.shuffle(vector, vector, turned, "turned"))
            distance //= 2
        first = (vector, emitter.constant(I64, 0))
        return emitter.pure(Opcode.EXTRACTELEMENT, self.type, first, "sum")

    # -- epilogue ---------------------------------------------------------------------------

    def _epilogue(self, known: dict[Axis, Index], first: Index, rows: Block) -> None:
        if all(output.name == self.dot.name for output in self.shop.source.outputs):
            return
        emitter, frame = self.shop.emitter, self.shop.frame
        base = self.shop.function.arguments[self.result.pointer]
        load = self.shop.reload(base, self.result.shape)
        frame.bindings[self.dot.name] = lambda at: load(self._in_result(at))
        before = emitter.origins
        emitter.origins = self.shop.source.root.origins
        with ExitStack() as loops:
            row = self._counter(loops, rows.size, "r")
            column = self._counter(loops, self.plan.column.extent if self.plan.column else 1, "c")
            places = dict(known)
            if self.plan.row is not None:
                places[self.plan.row] = first + row
            if self.plan.column is not None:
                places[self.plan.column] = column
            write_roots(self.shop, self.structure, (), self._positions(places))
        emitter.origins = before

    def _in_result(self, at: Indices) -> Indices:
        """An element of the dot as the element of the result that holds it."""
        dot, shape = self.dot.array, self.result.shape
        kept = iter(i for i, e in zip(at, dot.dimensions, strict=True) if e != 1)
        return tuple(next(kept) if e != 1 else ZERO for e in shape.dimensions)

    def _positions(self, places: dict[Axis, Index]) -> Indices:
        """The counters of the structure's columns: the dot's dimensions without those of extent
        1."""
        found: dict[int, Index] = {}
        for axis, index in places.items():
            parts = delinearize(index, axis.extents)
            found |= zip(axis.dimensions, parts, strict=True)
        dimensions = [d for d, e in enumerate(self.dot.array.dimensions) if e != 1]
        return tuple(found[d] for d in dimensions)
