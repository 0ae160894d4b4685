"""Runs an entry computation over the bytes of one arena, launch by launch, poisoning what is dead.

Before the first launch, and after each one, every byte that belongs to no living array is
overwritten with a pattern. So a place that is given away too early, or read before it is
written, shows in the results. Kernels run either whole in the evaluator or scalar by scalar as
their row structure says, directly on the arena.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.buffers.aliases import Value, kernel_body, paths
from compiler.buffers.assign import Assignment
from compiler.buffers.places import Move, Placement, Slice
from compiler.buffers.regions import Region
from compiler.hlo.evaluate import Evaluator, evaluate_instruction
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.rows import RowStructure, row_structure
from compiler.hlo.shape import ArrayShape, Shape, TupleShape
from tests.passes.machine import Kernel, Memory

POISON = 0xCD


@dataclass
class Frame:
    """A computation that runs, where its arrays lie, and which bytes its callers need meanwhile."""

    computation: Computation
    slices: Mapping[Value, Slice]
    starts: Mapping[str, Sequence[Move]]
    placements: Sequence[Placement]
    outside: np.ndarray


class Arena:
    """The memory of one run. ``inside`` runs loops and branches launch by launch in the arena,
    else each is one step in the evaluator."""

    def __init__(
        self, module: Module, assignment: Assignment, by_rows: bool, inside: bool = True
    ) -> None:
        self.module = module
        self.assignment = assignment
        self.by_rows = by_rows
        self.inside = inside
        self.bytes = np.full(assignment.arena_bytes, POISON, np.uint8)
        self.row_kernels = 0
        self.inner_steps = 0

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        pairs = zip(self.assignment.parameters, inputs, strict=True)
        for binding, array in pairs:
            self._write(binding.slice, binding.shape, array)
        always = np.zeros(self.bytes.size, bool)
        for constant in self.assignment.constants:
            raw = np.frombuffer(constant.data, np.uint8)
            assert raw.size == constant.slice.size_bytes
            self.bytes[constant.slice.offset : constant.slice.end] = raw
            always[constant.slice.offset : constant.slice.end] = True
        entry = Frame(
            self.module.entry_computation,
            self.assignment.slices,
            self.assignment.starts,
            self.assignment.placements,
            always,
        )
        self._steps(entry, self.assignment.launches)
        return [self._read(b.slice, b.shape) for b in self.assignment.outputs]

    def _steps(self, frame: Frame, launches: Sequence[str]) -> None:
        self._poison(frame, -1)
        for step, name in enumerate(launches):
            instruction = frame.computation.instruction(name)
            if instruction.opcode is Opcode.WHILE and self.inside:
                self._while(frame, instruction, step)
            elif instruction.opcode is Opcode.CONDITIONAL and self.inside:
                self._conditional(frame, instruction, step)
            else:
                self._launch(frame, instruction)
            self._poison(frame, step)

    def _poison(self, frame: Frame, step: int) -> None:
        """Overwrites what is not needed after a step."""
        alive = frame.outside.copy()
        for placement in frame.placements:
            if placement.array.start <= step < placement.array.end:
                alive[placement.slice.offset : placement.slice.end] = True
        self.bytes[~alive] = POISON

    def _needed(self, frame: Frame, caller: Instruction, step: int) -> np.ndarray:
        """What must stay while a loop or branch runs: not its results, not its scratch memory."""
        alive = frame.outside.copy()
        mine = {frame.slices[caller.name, path] for path, _ in paths(caller.shape)}
        for placement in frame.placements:
            array = placement.array
            is_alive = array.start <= step <= array.end and array.value[0] != caller.name
            if is_alive and (placement.slice not in mine or array.end > step):
                alive[placement.slice.offset : placement.slice.end] = True
        return alive

    def _inner(self, frame: Frame, name: str, needed: np.ndarray) -> tuple[Region, Frame]:
        region = self.assignment.regions[name]
        computation = self.module.computation(name)
        return region, Frame(computation, region.slices, region.starts, region.placements, needed)

    def _while(self, frame: Frame, loop: Instruction, step: int) -> None:
        for move in frame.starts.get(loop.name, ()):
            self._move(move)
        needed = self._needed(frame, loop, step)
        condition, tested = self._inner(frame, loop.attributes["condition"], needed)
        body, repeated = self._inner(frame, loop.attributes["body"], needed)
        while True:
            self._steps(tested, condition.launches)
            root = tested.computation.root
            place = condition.slices[root, ()]
            if not self.bytes[place.offset]:
                return
            self.inner_steps += len(body.launches)
            self._steps(repeated, body.launches)
            for move in body.moves:
                self._move(move)

    def _conditional(self, frame: Frame, conditional: Instruction, step: int) -> None:
        selector = frame.computation.instruction(conditional.operands[0])
        value = self._value(frame, selector.name, (), selector.shape)
        names = conditional.attributes.get("branch_computations") or (
            conditional.attributes["true_computation"],
            conditional.attributes["false_computation"],
        )
        if value.dtype == np.bool_:
            number = 0 if value else 1
        else:
            number = int(value) if 0 <= int(value) < len(names) else len(names) - 1
        needed = self._needed(frame, conditional, step)
        branch, inner = self._inner(frame, names[number], needed)
        self.inner_steps += len(branch.launches)
        self._steps(inner, branch.launches)
        for move in branch.moves:
            self._move(move)

    def _move(self, move: Move) -> None:
        assert move.source.size_bytes == move.target.size_bytes
        assert not move.source.overlaps(move.target)
        moved = self.bytes[move.source.offset : move.source.end].copy()
        self.bytes[move.target.offset : move.target.end] = moved

    def _launch(self, frame: Frame, instruction: Instruction) -> None:
        body = kernel_body(self.module, frame.computation, instruction)
        structure = row_structure(self.module, body) if body is not None and self.by_rows else None
        if body is not None and isinstance(structure, RowStructure):
            self.row_kernels += 1
            operands = [self._memory(frame, n, ()) for n in instruction.operands]
            shapes = paths(instruction.shape)
            results = [self._memory(frame, instruction.name, p) for p, _ in shapes]
            Kernel(self.module, body, structure, operands, results).run()
            return
        operands = [
            self._value(frame, n, (), frame.computation.instruction(n).shape)
            for n in instruction.operands
        ]
        with np.errstate(all="ignore"):
            if instruction.opcode is Opcode.FUSION:
                machine = Evaluator(self.module)
                value = machine.run(instruction.attributes["calls"], operands)
            else:
                value = evaluate_instruction(self.module, frame.computation, instruction, operands)
        self._store(frame, instruction.name, (), instruction.shape, value)

    def _memory(self, frame: Frame, name: str, path: tuple[int, ...]) -> Memory:
        shape = dict(paths(frame.computation.instruction(name).shape))[path]
        assert isinstance(shape, ArrayShape)
        return Memory(self.bytes, frame.slices[name, path].offset, shape)

    def _value(self, frame: Frame, name: str, path: tuple[int, ...], shape: Shape) -> Any:
        if isinstance(shape, TupleShape):
            elements = enumerate(shape.elements)
            return tuple(self._value(frame, name, (*path, i), e) for i, e in elements)
        if not isinstance(shape, ArrayShape):
            return None
        return self._read(frame.slices[name, path], shape)

    def _store(
        self, frame: Frame, name: str, path: tuple[int, ...], shape: Shape, value: Any
    ) -> None:
        if isinstance(shape, TupleShape):
            for number, element in enumerate(shape.elements):
                self._store(frame, name, (*path, number), element, value[number])
        elif isinstance(shape, ArrayShape):
            self._write(frame.slices[name, path], shape, np.asarray(value))

    def _write(self, place: Slice, shape: ArrayShape, array: np.ndarray) -> None:
        order = tuple(reversed(shape.minor_to_major))
        kind = shape.element_type.dtype
        cast = array if array.dtype == kind else array.view(kind)
        raw = np.ascontiguousarray(np.transpose(cast, order)).tobytes()
        self.bytes[place.offset : place.end] = np.frombuffer(raw, np.uint8)

    def _read(self, place: Slice, shape: ArrayShape) -> np.ndarray:
        order = tuple(reversed(shape.minor_to_major))
        raw = self.bytes[place.offset : place.end].tobytes()
        physical = tuple(shape.dimensions[d] for d in order)
        array = np.frombuffer(raw, shape.element_type.dtype).reshape(physical)
        return array.transpose(tuple(int(i) for i in np.argsort(order))).copy()
