"""How a dot becomes tiles: which dimensions merge, which one the vectors run along, and how large a
tile the registers hold.

A dot is seen as `out[..., row, column] += x[..., row, k] * y[..., k, column]`. One row dimension
and one column dimension form the tile; all others are loops around it. In the best case columns are
contiguous in y and out: a row of x is broadcast against vectors of y. (The operands may be swapped
to get there.) If instead k is contiguous in both operands, the vectors run along k and are summed
up at the end. Otherwise the tile is scalar.

The tile's size follows the outer-product scheme of K. Goto and R. van de Geijn (Anatomy of
High-Performance Matrix Multiplication, 2008): R x V accumulators stay in registers, R*V
multiply-adds share R + V loads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import prod

from compiler.hlo.attributes import DotDimensions
from compiler.hlo.shape import ArrayShape

FMA_LATENCY = 4.0
"""Cycles until a product may be added to again; a tile with less than this many steps waits.
Typical of current cores."""
ADD_CYCLES, LOAD_CYCLES = 0.5, 0.25
"""What a multiply-add and a load (mostly hidden behind them) cost. Typical of current cores; only
ratios matter."""
SPARE_REGISTERS = 1
"""Left free, so that the scheduler can load ahead."""
MOST_ROWS, MOST_VECTORS = 8, 8
SHORTEST_K_VECTORS = 4
"""Vectors along k pay when k fills at least this many."""


class Along(Enum):
    """What the vectors run along."""

    COLUMNS = "columns"
    CONTRACTED = "the contracted dimension"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Axis:
    """One loop of a dot, perhaps of several dimensions that lie in a row in memory: `dimensions`
    (of the result, or numbers of contracted pairs) with their extents, outermost first, and the
    strides of one step in x, y and out."""

    dimensions: tuple[int, ...]
    extents: tuple[int, ...]
    x: int
    y: int
    out: int

    @property
    def extent(self) -> int:
        return prod(self.extents)

    def joined(self, inner: Axis) -> Axis | None:
        """This axis and one inside it as a single one, when no step of memory is skipped between
        them."""
        n = inner.extent
        if (self.x, self.y, self.out) != (inner.x * n, inner.y * n, inner.out * n):
            return None
        dimensions, extents = self.dimensions + inner.dimensions, self.extents + inner.extents
        return replace(inner, dimensions=dimensions, extents=extents)


@dataclass(frozen=True, slots=True)
class Problem:
    """A dot as axes. `is_swapped`: x is the right operand."""

    batch: tuple[Axis, ...]
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    contracted: tuple[Axis, ...]
    is_swapped: bool = False

    def swapped(self) -> Problem:
        """The same dot with the operands' parts exchanged."""

        def turned(axes: Sequence[Axis]) -> tuple[Axis, ...]:
            return tuple(replace(a, x=a.y, y=a.x) for a in axes)

        return Problem(
            turned(self.batch),
            turned(self.columns),
            turned(self.rows),
            turned(self.contracted),
            not self.is_swapped,
        )


def problem_of(
    numbers: DotDimensions, left: ArrayShape, right: ArrayShape, out: Sequence[int]
) -> Problem:
    """The axes of a dot whose result has strides `out` (in elements, per dimension of the dot)."""
    x, y = left.strides, right.strides
    batch = [
        Axis((i,), (left.dimensions[a],), x[a], y[b], out[i])
        for i, (a, b) in enumerate(zip(numbers.lhs_batch, numbers.rhs_batch, strict=True))
    ]
    place = len(batch)
    rows = []
    for a in numbers.lhs_free(left.rank):
        rows.append(Axis((place,), (left.dimensions[a],), x[a], 0, out[place]))
        place += 1
    columns = []
    for b in numbers.rhs_free(right.rank):
        columns.append(Axis((place,), (right.dimensions[b],), 0, y[b], out[place]))
        place += 1
    pairs = zip(numbers.lhs_contracting, numbers.rhs_contracting, strict=True)
    contracted = [
        Axis((i,), (left.dimensions[a],), x[a], y[b], 0) for i, (a, b) in enumerate(pairs)
    ]
    return Problem(_merged(batch), _merged(rows), _merged(columns), _merged(contracted))


def _merged(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    order = sorted((a for a in axes if a.extent != 1), key=lambda a: (-a.out, -a.x, -a.y))
    found: list[Axis] = []
    for axis in order:
        joined = found[-1].joined(axis) if found else None
        if joined is None:
            found.append(axis)
        else:
            found[-1] = joined
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Block:
    """`count` neighbouring tiles from `start` on, each of `size` rows, or of `size` vectors of
    `lanes` columns."""

    start: int
    size: int
    lanes: int
    count: int

    @property
    def width(self) -> int:
        """Elements that one tile covers."""
        return self.size * max(1, self.lanes)


@dataclass(frozen=True, slots=True)
class Plan:
    """The tile: `row` and `column` are its two axes (None: one row, one column)."""

    problem: Problem
    along: Along
    row: Axis | None
    column: Axis | None
    rows: int
    vectors: int
    lanes: int
    why: str

    @property
    def outer(self) -> tuple[Axis, ...]:
        """The loops around the tile."""
        axes = self.problem.batch + self.problem.rows + self.problem.columns
        return tuple(a for a in axes if a not in (self.row, self.column))

    def row_blocks(self) -> Iterator[Block]:
        yield from _blocks(0, self.row.extent if self.row else 1, self.rows, 1)

    def column_blocks(self, smallest: int) -> Iterator[Block]:
        """Full tiles, what is left in vectors, one of half width (if that has at least `smallest`
        lanes), scalars."""
        extent = self.column.extent if self.column else 1
        if self.along is not Along.COLUMNS:
            yield from _blocks(0, extent, self.vectors, 1)
            return
        whole = extent // self.lanes
        yield from _blocks(0, whole, self.vectors, self.lanes)
        done, lanes = whole * self.lanes, self.lanes // 2
        while lanes >= max(smallest, 2):
            if extent - done >= lanes:
                yield Block(done, 1, lanes, 1)
                done += lanes
            lanes //= 2
        yield from _blocks(done, extent - done, self.vectors, 1)


def _blocks(start: int, extent: int, size: int, lanes: int) -> Iterator[Block]:
    """Blocks for `extent` units of `lanes` columns each (of one row each)."""
    full, rest = divmod(extent, size)
    if full:
        yield Block(start, size, lanes, full)
    if rest:
        yield Block(start + full * size * lanes, rest, lanes, 1)


def plan_of(problem: Problem, lanes: int, registers: int, is_strict: bool) -> Plan:
    """The tile for a dot on a machine with `registers` vector registers of `lanes` lanes."""
    for turned in (problem, problem.swapped()):
        column = next((a for a in turned.columns if a.y == 1 and a.out == 1), None)
        if lanes > 1 and column is not None and column.extent >= 2:
            row = _largest(turned.rows)
            rows, vectors = _best(row, column.extent / lanes, registers, accumulating=1)
            why = f"columns are contiguous; {_limit(rows, vectors, registers)}"
            return Plan(turned, Along.COLUMNS, row, column, rows, vectors, lanes, why)
    row, column = _largest(problem.rows), _largest(problem.columns)
    inner = problem.contracted[-1] if problem.contracted else None
    is_long = inner is not None and inner.extent >= SHORTEST_K_VECTORS * lanes
    if lanes > 1 and is_long and inner is not None and inner.x == inner.y == 1 and not is_strict:
        extent = column.extent if column else 1
        rows, vectors = _best(row, extent, registers, accumulating=2)
        why = f"only the contracted dimension is contiguous; {_limit(rows, vectors, registers)}"
        return Plan(problem, Along.CONTRACTED, row, column, rows, vectors, lanes, why)
    extent = column.extent if column else 1
    rows, vectors = _best(row, extent, registers, accumulating=1)
    why = "no dimension is contiguous where vectors need it"
    if is_long is False and inner is not None and inner.x == inner.y == 1:
        why = f"the contracted dimension of {inner.extent} is too short for vectors along it"
    why = f"{why}; {_limit(rows, vectors, registers)}"
    return Plan(problem, Along.NOTHING, row, column, rows, vectors, 1, why)


def _largest(axes: Sequence[Axis]) -> Axis | None:
    return max(axes, key=lambda a: a.extent, default=None)


def _limit(rows: int, vectors: int, registers: int) -> str:
    return f"{rows} x {vectors} sums and their operands fit into {registers} vector registers"


def _best(row: Axis | None, columns: float, registers: int, accumulating: int) -> tuple[int, int]:
    """The tile with the least time per step of k, tails included. `accumulating` 1: operands are
    one broadcast and V vectors; 2: R and V vectors."""
    extent = row.extent if row else 1
    best: tuple[float, int, tuple[int, int]] | None = None
    for rows in range(1, min(MOST_ROWS, extent) + 1):
        for vectors in range(1, MOST_VECTORS + 1):
            if vectors > 1 and vectors > -(-columns // 1):
                break
            needed = rows * vectors + vectors + (1 if accumulating == 1 else rows)
            if needed + SPARE_REGISTERS > registers and (rows, vectors) != (1, 1):
                break
            time = sum(
                n * m * _step_time(r, v)
                for r, n in _parts(extent, rows)
                for v, m in _parts(max(1, round(columns)), vectors)
            )
            candidate = (time, needed, (rows, vectors))
            if best is None or candidate < best:
                best = candidate
    return best[2] if best else (1, 1)


def _parts(extent: int, size: int) -> Iterator[tuple[int, int]]:
    """(size, how many) of the full tiles and of the rest."""
    full, rest = divmod(extent, size)
    if full:
        yield size, full
    if rest:
        yield rest, 1


def _step_time(rows: int, vectors: int) -> float:
    """Cycles for one k of a tile."""
    work = ADD_CYCLES * rows * vectors + LOAD_CYCLES * (rows + vectors)
    return max(work, FMA_LATENCY)
