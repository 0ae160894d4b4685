"""The row structure of kernels that reduce: see `compiler.hlo.rows` for the idea."""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.hlo.costs import cost_of
from compiler.hlo.elements import Demand, Indices, result_indices
from compiler.hlo.indices import Variable, of_variable
from compiler.hlo.module import Computation, Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ArrayShape, leaves
from compiler.hlo.stages import UNIT, Axis, Kind, Reason, RowStructure, Space, Stage, StageKind
from compiler.hlo.walks import (
    Refused,
    axes_in_order,
    check_arrays,
    index_text,
    placed,
    reads_of,
    roots_of,
    squeeze,
    squeezed,
    walk,
)

WORTH_KEEPING = 8.0
"""From this cost (see `compiler.hlo.costs`) on a value is kept for the row instead of recomputed:
about what a store and a load of a vector cost."""


@dataclass(slots=True)
class ReducedRows:
    """The analysis of a kernel with reduces; `structure` runs it."""

    computation: Computation
    reduces: tuple[Instruction, ...]
    rows: tuple[int, ...] = ()
    stops: frozenset[str] = frozenset()
    axes: dict[str, tuple[Axis, ...]] = field(default_factory=dict)
    columns: dict[str, tuple[int, ...]] = field(default_factory=dict)
    depths: dict[str, int] = field(default_factory=dict)
    demands: dict[str, dict[Demand, None]] = field(default_factory=dict)

    def structure(self) -> RowStructure:
        self.stops = frozenset(r.name for r in self.reduces)
        self._find_rows()
        for reduce in self.reduces:
            self._place_reduce(reduce)
        roots = list(dict.fromkeys(roots_of(self.computation)))
        for root in roots:
            self._place_root(root)
        for reduce in self.reduces:
            self._depth(reduce.name)
        stages = self._stages(roots)
        kept = self._kept(stages)
        needed = [self._needed(stage) for stage in stages]
        size = sum(map(len, needed))
        return RowStructure(
            Kind.ROWS, self.rows, stages, self.axes, kept, None, reads_of(needed), size
        )

    def _needed(self, stage: Stage) -> dict[Demand, None]:
        needed: dict[Demand, None] = {}
        for target in stage.instructions:
            needed |= self.demands.get(target, {})
        return needed

    def _find_rows(self) -> None:
        spaces = {squeezed(_first_array(r)): r.name for r in self.reduces}
        if len(spaces) > 1:
            (a, b), (c, d) = sorted(spaces.items(), key=lambda item: item[1])[:2]
            detail = f"{b} has rows {list(a)}, {d} has rows {list(c)}"
            raise Refused(Reason.REDUCTION_BOUNDARY, detail)
        self.rows = next(iter(spaces))

    def _row_index(self) -> Indices:
        return tuple(of_variable(Variable(f"r{i}", e)) for i, e in enumerate(self.rows))

    def _place_reduce(self, reduce: Instruction) -> None:
        array = self.computation.instruction(reduce.operands[0]).array
        axes: list[Axis] = []
        columns: list[int] = []
        position = 0
        for dimension, extent in enumerate(array.dimensions):
            if dimension in reduce.dimensions:
                axes.append(Axis(Space.COLUMN, len(columns)))
                columns.append(extent)
            elif extent == 1:
                axes.append(UNIT)
            else:
                axes.append(Axis(Space.ROW, position))
                position += 1
        self.axes[reduce.name] = tuple(axes)
        self.columns[reduce.name] = tuple(columns)
        at = placed(tuple(axes), self.rows, tuple(columns))
        inputs = len(reduce.operands) // 2
        starts = [(name, at) for name in reduce.operands[:inputs]]
        starts += [(name, ()) for name in reduce.operands[inputs:]]
        self._walk(reduce.name, starts)

    def _walk(self, target: str, starts: list[Demand]) -> None:
        found = walk(self.computation, starts, self.stops)
        for name, at in found:
            if name in self.stops:
                self._check_row(target, name, at)
        self.demands[target] = found

    def _check_row(self, user: str, reduce: str, at: Indices) -> None:
        shape = _first_array(self.computation.instruction(reduce))
        if squeeze(at, shape) != self._row_index():
            detail = f"{user} needs {reduce} at {index_text(at)}, not at its own row"
            raise Refused(Reason.INDEX, detail)

    def _place_root(self, name: str) -> None:
        root = self.computation.instruction(name)
        if name in self.stops:
            if isinstance(root.shape, ArrayShape) or len(roots_of(self.computation)) == 1:
                self.demands.setdefault(name, {})
                return
            raise Refused(Reason.SHAPES, f"{name} yields a tuple inside a tuple")
        check_arrays((root,))
        axes = self._root_axes(root)
        columns = _columns_of(axes, root.array)
        self.axes[name] = axes
        self.columns[name] = columns
        self._walk(name, [(name, placed(axes, self.rows, columns))])

    def _root_axes(self, root: Instruction) -> tuple[Axis, ...]:
        free = result_indices(root.array, "d")
        found = walk(self.computation, [(root.name, free)], self.stops)
        wanted = {
            squeeze(at, _first_array(self.computation.instruction(name)))
            for name, at in found
            if name in self.stops
        }
        if len(wanted) > 1:
            raise Refused(Reason.INDEX, f"{root.name} needs several rows of a reduced value")
        if wanted:
            return self._axes_from(root, free, wanted.pop())
        return self._axes_by_shape(root)

    def _axes_from(self, root: Instruction, free: Indices, row: Indices) -> tuple[Axis, ...]:
        positions: dict[Variable, int] = {}
        for position, index in enumerate(row):
            variable = index.variable
            if variable is None or variable.extent != self.rows[position] or variable in positions:
                raise Refused(Reason.INDEX, f"{root.name} needs row {index_text(row)}")
            positions[variable] = position
        axes: list[Axis] = []
        column = 0
        for index in free:
            variable = index.variable
            if variable is None:
                axes.append(UNIT)
            elif variable in positions:
                axes.append(Axis(Space.ROW, positions[variable]))
            else:
                axes.append(Axis(Space.COLUMN, column))
                column += 1
        return tuple(axes)

    def _axes_by_shape(self, root: Instruction) -> tuple[Axis, ...]:
        """The axes of a root that depends on no reduce: those of a reduce's input of its shape."""
        dimensions = root.array.dimensions
        for reduce in self.reduces:
            array = self.computation.instruction(reduce.operands[0]).array
            if array.dimensions == dimensions:
                return _renumbered(self.axes[reduce.name], dimensions)
        if squeezed(root.array) == self.rows:
            return axes_in_order(root.array, Space.ROW)
        raise Refused(Reason.SHAPES, f"{root.name} has neither the rows nor the shape of a reduce")

    def _depth(self, target: str) -> int:
        """How many reduces lie in a chain up to and including this one (0 for other values)."""
        if target in self.depths:
            return self.depths[target]
        below = {name for name, _ in self.demands[target] if name in self.stops and name != target}
        depth = max((self._depth(name) for name in below), default=0)
        self.depths[target] = depth + (target in self.stops)
        return self.depths[target]

    def _stages(self, roots: list[str]) -> tuple[Stage, ...]:
        levels = self._row_values()
        stages: list[Stage] = []
        for depth in range(max(self.depths[r.name] for r in self.reduces) + 1):
            stages += self._reduce_stages(depth)
            values = tuple(name for name, level in levels.items() if level == depth)
            if values:
                stages.append(Stage(StageKind.ROW, values))
        written: dict[tuple[int, ...], list[str]] = {}
        for root in roots:
            if root not in self.stops and Space.COLUMN in {a.space for a in self.axes[root]}:
                written.setdefault(self.columns[root], []).append(root)
        stages += [Stage(StageKind.WRITE, tuple(n), columns) for columns, n in written.items()]
        return tuple(stages)

    def _reduce_stages(self, depth: int) -> list[Stage]:
        groups: dict[tuple[int, ...], list[str]] = {}
        for reduce in self.reduces:
            if self.depths[reduce.name] == depth:
                groups.setdefault(self.columns[reduce.name], []).append(reduce.name)
        return [Stage(StageKind.REDUCE, tuple(n), columns) for columns, n in groups.items()]

    def _row_values(self) -> dict[str, int]:
        """Values that are one scalar per row, in topological order, with the depth they need.

        Left out are parameters, constants, what is needed at several places, and what costs nothing
        and is no root.
        """
        places = self._places_needed()
        values: dict[str, int] = {}
        for instruction in self.computation:
            at = self._row_place(instruction, places.get(instruction.name, set()))
            if at is None:
                continue
            below = walk(self.computation, [(instruction.name, at)], self.stops)
            depths = [self.depths[name] for name, _ in below if name in self.stops]
            values[instruction.name] = max(depths, default=0)
        return values

    def _places_needed(self) -> dict[str, set[Indices]]:
        places: dict[str, set[Indices]] = {}
        for found in self.demands.values():
            for name, at in found:
                places.setdefault(name, set()).add(at)
        return places

    def _row_place(self, instruction: Instruction, met: set[Indices]) -> Indices | None:
        """The one element of a value that a row needs; None when it is no value of the row."""
        name = instruction.name
        if instruction.opcode in (Opcode.PARAMETER, Opcode.CONSTANT, Opcode.REDUCE):
            return None
        if name in self.axes:
            is_row = all(axis.space is not Space.COLUMN for axis in self.axes[name])
            return placed(self.axes[name], self.rows, ()) if is_row else None
        if len(met) != 1 or cost_of(instruction) == 0:
            return None
        (at,) = met
        return None if _has_column(at) else at

    def _kept(self, stages: tuple[Stage, ...]) -> tuple[str, ...]:
        loops = [s for s in stages if s.kind is not StageKind.ROW]
        if len(loops) < 2:
            return ()
        kept: list[str] = []
        for instruction in reversed(self.computation.instructions):
            if self._is_dear(instruction) and self._is_shared(instruction.name, loops, kept):
                kept.append(instruction.name)
        return tuple(reversed(kept))

    def _is_dear(self, instruction: Instruction) -> bool:
        return instruction.is_array and cost_of(instruction) >= WORTH_KEEPING

    def _is_shared(self, name: str, loops: list[Stage], kept: list[str]) -> bool:
        """True when two loops over the same columns still need the same element of a value."""
        stops = self.stops | frozenset(kept)
        met: dict[tuple[tuple[int, ...], Indices], int] = {}
        for stage in loops:
            places = self._places(name, stage, stops)
            if len(places) == 1 and _has_column(next(iter(places))):
                key = (stage.columns, places.pop())
                met[key] = met.get(key, 0) + 1
        return max(met.values(), default=0) > 1

    def _places(self, name: str, stage: Stage, stops: frozenset[str]) -> set[Indices]:
        starts: list[Demand] = []
        for target in stage.instructions:
            instruction = self.computation.instruction(target)
            at = placed(self.axes[target], self.rows, stage.columns)
            if stage.kind is StageKind.REDUCE:
                inputs = instruction.operands[: len(instruction.operands) // 2]
                starts += [(operand, at) for operand in inputs]
            else:
                starts.append((target, at))
        return {at for found, at in walk(self.computation, starts, stops) if found == name}


def _renumbered(axes: tuple[Axis, ...], dimensions: tuple[int, ...]) -> tuple[Axis, ...]:
    """A reduce's axes for a root of its input's shape: columns of extent 1 are not counted."""
    found: list[Axis] = []
    columns = 0
    for axis, extent in zip(axes, dimensions, strict=True):
        if extent == 1:
            found.append(UNIT)
        elif axis.space is Space.COLUMN:
            found.append(Axis(Space.COLUMN, columns))
            columns += 1
        else:
            found.append(axis)
    return tuple(found)


def _has_column(at: Indices) -> bool:
    return any(v.name.startswith("c") for index in at for v in index.variables())


def _first_array(reduce: Instruction) -> ArrayShape:
    shape = leaves(reduce.shape)[0]
    if not isinstance(shape, ArrayShape):
        raise Refused(Reason.NOT_ELEMENTAL, f"{reduce.name} yields {reduce.shape}")
    return shape


def _columns_of(axes: tuple[Axis, ...], shape: ArrayShape) -> tuple[int, ...]:
    pairs = zip(axes, shape.dimensions, strict=True)
    return tuple(extent for axis, extent in pairs if axis.space is Space.COLUMN)
