"""Runs a kernel as its row structure says, one scalar at a time, on the bytes of an arena.

An independent reading of the contract of fusion and lowering: it computes elements by rules of
its own, writes results where buffer assignment put them (over operands, when it said so), and
fails when a reduced value is asked for at another row than the one at hand.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from compiler.hlo.evaluate import Evaluator, evaluate_instruction
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.rows import Axis, RowStructure, Space, Stage, StageKind, roots_of
from compiler.hlo.shape import ArrayShape, TupleShape

Place = tuple[int, ...]


@dataclass(frozen=True)
class Memory:
    """One array in the arena: bytes from an offset on, in the order of its layout."""

    arena: np.ndarray
    offset: int
    shape: ArrayShape

    def _position(self, at: Place) -> slice:
        size = self.shape.element_type.size_bytes
        assert all(0 <= i < e for i, e in zip(at, self.shape.dimensions, strict=True)), (at, self)
        place = sum(i * s for i, s in zip(at, self.shape.strides, strict=True))
        return slice(self.offset + place * size, self.offset + (place + 1) * size)

    def load(self, at: Place) -> Any:
        raw = self.arena[self._position(at)].tobytes()
        return np.frombuffer(raw, self.shape.element_type.dtype)[0]

    def store(self, at: Place, value: Any) -> None:
        raw = np.asarray(value, self.shape.element_type.dtype).tobytes()
        self.arena[self._position(at)] = np.frombuffer(raw, np.uint8)


@dataclass
class Kernel:
    """A kernel ready to run: its body, its proven structure, memory of parameters and roots."""

    module: Module
    body: Computation
    structure: RowStructure
    parameters: Sequence[Memory]
    results: Sequence[Memory]
    machine: Evaluator = field(init=False)
    bound: dict[str, Any] = field(default_factory=dict)
    kept: dict[tuple[str, Place], Any] = field(default_factory=dict)
    seen: dict[tuple[str, Place], Any] = field(default_factory=dict)
    row: Place = ()

    def __post_init__(self) -> None:
        self.machine = Evaluator(self.module)

    def run(self) -> None:
        for row in itertools.product(*map(range, self.structure.rows)):
            self.row = row
            self.bound.clear()
            self.kept.clear()
            for number, stage in enumerate(self.structure.stages):
                self._stage(number, stage)

    def _stage(self, number: int, stage: Stage) -> None:
        if stage.kind is StageKind.REDUCE:
            self._reduce(stage)
        elif stage.kind is StageKind.ROW:
            roots = roots_of(self.body)
            written = [n for n in stage.instructions if n in roots]
            self._write(written, ())
        else:
            for column in itertools.product(*map(range, stage.columns)):
                self._write(stage.instructions, column)

    def _place(self, axes: Sequence[Axis], column: Place) -> Place:
        found = {Space.ROW: self.row, Space.COLUMN: column}
        return tuple(
            0 if axis.space is Space.UNIT else found[axis.space][axis.position] for axis in axes
        )

    def _write(self, names: Sequence[str], column: Place) -> None:
        """All results of one place are computed before any of them is written."""
        self.seen.clear()
        places = {name: self._place(self.structure.axes[name], column) for name in names}
        values = {name: self.element(name, places[name]) for name in names}
        for name in names:
            self._store_root(name, places[name], values[name])
        self._store_kept()

    def _store_root(self, name: str, at: Place, value: Any) -> None:
        for number, root in enumerate(roots_of(self.body)):
            if root == name:
                self.results[number].store(at, value)

    def _store_kept(self) -> None:
        """Kept values that were computed now; a kept root goes to its place in memory at once."""
        for (name, at), value in self.seen.items():
            if name in self.structure.kept and (name, at) not in self.kept:
                self.kept[name, at] = value
                if name in roots_of(self.body):
                    self._store_root(name, at, value)

    def _reduce(self, stage: Stage) -> None:
        reduces = [self.body.instruction(name) for name in stage.instructions]
        totals = [self._starts(reduce) for reduce in reduces]
        for column in itertools.product(*map(range, stage.columns)):
            self.seen.clear()
            for number, reduce in enumerate(reduces):
                at = self._place(self.structure.axes[reduce.name], column)
                inputs = reduce.operands[: len(reduce.operands) // 2]
                values = [self.element(name, at) for name in inputs]
                name = reduce.attributes["to_apply"]
                found = self.machine.apply(name, [*totals[number], *values])
                totals[number] = [np.asarray(f)[()] for f in found]
            self._store_kept()
        for reduce, total in zip(reduces, totals, strict=True):
            self.bound[reduce.name] = tuple(total)
            self._write_reduce(reduce, total)

    def _starts(self, reduce: Instruction) -> list[Any]:
        names = reduce.operands[len(reduce.operands) // 2 :]
        self.seen.clear()
        return [self.element(name, ()) for name in names]

    def _write_reduce(self, reduce: Instruction, total: Sequence[Any]) -> None:
        kept = [a for a in self.structure.axes[reduce.name] if a.space is not Space.COLUMN]
        at = self._place(kept, ())
        roots = roots_of(self.body)
        if isinstance(reduce.shape, TupleShape) and roots == (reduce.name,):
            for memory, value in zip(self.results, total, strict=True):
                memory.store(at, value)
        elif reduce.name in roots:
            self._store_root(reduce.name, at, total[0])

    def element(self, name: str, at: Place) -> Any:
        """One element of a value, computed anew unless kept, bound or met at this very place."""
        if (name, at) in self.kept:
            return self.kept[name, at]
        if (name, at) not in self.seen:
            self.seen[name, at] = self._compute(self.body.instruction(name), at)
        return self.seen[name, at]

    def _compute(self, i: Instruction, at: Place) -> Any:
        names = i.operands
        if i.opcode is Opcode.PARAMETER:
            return self.parameters[i.parameter_number].load(at)
        if i.opcode is Opcode.CONSTANT:
            return i.literal.array[at]
        if i.opcode is Opcode.IOTA:
            return i.array.element_type.dtype.type(at[i.attributes["iota_dimension"]])
        if i.opcode is Opcode.REDUCE:
            return self._reduced(i, at)[0]
        if i.opcode is Opcode.GET_TUPLE_ELEMENT:
            source = self.body.instruction(names[0])
            return self._reduced(source, at)[i.tuple_index]
        if i.opcode is Opcode.DOT:
            return self._dot(i, at)
        if i.opcode is Opcode.CONCATENATE:
            return self._concatenated(i, at)
        if i.opcode is Opcode.PAD:
            return self._padded(i, at)
        moved = self._moved(i, at)
        if moved is not None:
            return self.element(names[0], moved)
        return self._elementwise(i, at)

    def _reduced(self, reduce: Instruction, at: Place) -> tuple[Any, ...]:
        shape = reduce.shape.elements[0] if isinstance(reduce.shape, TupleShape) else reduce.shape
        wanted = tuple(i for i, e in zip(at, shape.dimensions, strict=True) if e != 1)
        assert wanted == self.row, f"{reduce.name} is needed at {wanted}, the row is {self.row}"
        return self.bound[reduce.name]

    def _operand(self, i: Instruction, number: int = 0) -> ArrayShape:
        return self.body.instruction(i.operands[number]).array

    def _moved(self, i: Instruction, at: Place) -> Place | None:
        source = self._operand(i) if i.operands else None
        if i.opcode is Opcode.BROADCAST:
            return tuple(at[d] for d in i.dimensions)
        if i.opcode is Opcode.RESHAPE:
            place = np.ravel_multi_index(at, i.array.dimensions) if at else 0
            found = np.unravel_index(place, source.dimensions) if source.rank else ()
            return tuple(map(int, found))
        if i.opcode is Opcode.TRANSPOSE:
            return tuple(at[i.dimensions.index(d)] for d in range(len(at)))
        if i.opcode is Opcode.SLICE:
            limits = i.attributes["slice"]
            return tuple(s.start + p * s.stride for p, s in zip(at, limits, strict=True))
        if i.opcode is Opcode.REVERSE:
            extents = i.array.dimensions
            pairs = enumerate(zip(at, extents, strict=True))
            return tuple(e - 1 - p if d in i.dimensions else p for d, (p, e) in pairs)
        return None

    def _concatenated(self, i: Instruction, at: Place) -> Any:
        along = i.dimensions[0]
        offset = at[along]
        for name in i.operands:
            extent = self.body.instruction(name).array.dimensions[along]
            if offset < extent:
                return self.element(name, (*at[:along], offset, *at[along + 1 :]))
            offset -= extent
        raise AssertionError(f"{i.name} has no element {at}")

    def _padded(self, i: Instruction, at: Place) -> Any:
        found = []
        for place, edge, extent in zip(
            at, i.attributes["padding"], self._operand(i).dimensions, strict=True
        ):
            step, rest = divmod(place - edge.low, edge.interior + 1)
            if rest or not 0 <= step < extent:
                return self.element(i.operands[1], ())
            found.append(step)
        return self.element(i.operands[0], tuple(found))

    def _dot(self, i: Instruction, at: Place) -> Any:
        numbers = i.dot
        lhs, rhs = self._operand(i, 0), self._operand(i, 1)
        batch = at[: len(numbers.lhs_batch)]
        left = at[len(batch) : len(batch) + len(numbers.lhs_free(lhs.rank))]
        right = at[len(batch) + len(left) :]
        extents = [lhs.dimensions[d] for d in numbers.lhs_contracting]
        total = 0.0
        for inner in itertools.product(*map(range, extents)):
            one = dict(zip(numbers.lhs_batch, batch, strict=True))
            one |= dict(zip(numbers.lhs_free(lhs.rank), left, strict=True))
            one |= dict(zip(numbers.lhs_contracting, inner, strict=True))
            other = dict(zip(numbers.rhs_batch, batch, strict=True))
            other |= dict(zip(numbers.rhs_free(rhs.rank), right, strict=True))
            other |= dict(zip(numbers.rhs_contracting, inner, strict=True))
            a = self.element(i.operands[0], tuple(one[d] for d in range(lhs.rank)))
            b = self.element(i.operands[1], tuple(other[d] for d in range(rhs.rank)))
            total += float(a) * float(b)
        return i.array.element_type.dtype.type(total)

    def _elementwise(self, i: Instruction, at: Place) -> Any:
        values = []
        for number, name in enumerate(i.operands):
            place = () if self._operand(i, number).is_scalar else at
            values.append(np.asarray(self.element(name, place)))
        scalar = replace(i, shape=ArrayShape(i.array.element_type))
        with np.errstate(all="ignore"):
            found = evaluate_instruction(self.module, self.body, scalar, values)
        return np.asarray(found)[()]
