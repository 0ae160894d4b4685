"""Runs an entry computation over the bytes of one arena, launch by launch, poisoning what is dead.

Before the first launch, and after each one, every byte that belongs to no living array is
overwritten with a pattern. So a place that is given away too early, or read before it is
written, shows in the results. Kernels run either whole in the evaluator or scalar by scalar as
their row structure says, directly on the arena.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.buffers.aliases import kernel_body, paths
from compiler.buffers.assign import Assignment, Slice
from compiler.hlo.evaluate import Evaluator, evaluate_instruction
from compiler.hlo.module import Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.rows import RowStructure, row_structure
from compiler.hlo.shape import ArrayShape, Shape, TupleShape
from tests.passes.machine import Kernel, Memory

POISON = 0xCD


class Arena:
    """The memory of one run."""

    def __init__(self, module: Module, assignment: Assignment, by_rows: bool) -> None:
        self.module = module
        self.entry = module.entry_computation
        self.assignment = assignment
        self.by_rows = by_rows
        self.bytes = np.full(assignment.arena_bytes, POISON, np.uint8)
        self.row_kernels = 0

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        pairs = zip(self.assignment.parameters, inputs, strict=True)
        for binding, array in pairs:
            self._write(binding.slice, binding.shape, array)
        for constant in self.assignment.constants:
            raw = np.frombuffer(constant.data, np.uint8)
            assert raw.size == constant.slice.size_bytes
            self.bytes[constant.slice.offset : constant.slice.end] = raw
        self._poison(-1)
        for step, name in enumerate(self.assignment.launches):
            self._launch(self.entry.instruction(name))
            self._poison(step)
        return [self._read(b.slice, b.shape) for b in self.assignment.outputs]

    def _poison(self, step: int) -> None:
        """Overwrites what is not needed after a step."""
        alive = np.zeros(self.bytes.size, bool)
        for placement in self.assignment.placements:
            if placement.array.start <= step < placement.array.end:
                alive[placement.slice.offset : placement.slice.end] = True
        for constant in self.assignment.constants:
            alive[constant.slice.offset : constant.slice.end] = True
        self.bytes[~alive] = POISON

    def _launch(self, instruction: Instruction) -> None:
        body = kernel_body(self.module, self.entry, instruction)
        structure = row_structure(self.module, body) if body is not None and self.by_rows else None
        if body is not None and isinstance(structure, RowStructure):
            self.row_kernels += 1
            operands = [self._memory(n, ()) for n in instruction.operands]
            results = [self._memory(instruction.name, p) for p, _ in paths(instruction.shape)]
            Kernel(self.module, body, structure, operands, results).run()
            return
        operands = [
            self._value(n, (), self.entry.instruction(n).shape) for n in instruction.operands
        ]
        with np.errstate(all="ignore"):
            if instruction.opcode is Opcode.FUSION:
                machine = Evaluator(self.module)
                value = machine.run(instruction.attributes["calls"], operands)
            else:
                value = evaluate_instruction(self.module, self.entry, instruction, operands)
        self._store(instruction.name, (), instruction.shape, value)

    def _memory(self, name: str, path: tuple[int, ...]) -> Memory:
        shape = dict(paths(self.entry.instruction(name).shape))[path]
        assert isinstance(shape, ArrayShape)
        return Memory(self.bytes, self.assignment.slices[name, path].offset, shape)

    def _value(self, name: str, path: tuple[int, ...], shape: Shape) -> Any:
        if isinstance(shape, TupleShape):
            elements = enumerate(shape.elements)
            return tuple(self._value(name, (*path, i), e) for i, e in elements)
        if not isinstance(shape, ArrayShape):
            return None
        return self._read(self.assignment.slices[name, path], shape)

    def _store(self, name: str, path: tuple[int, ...], shape: Shape, value: Any) -> None:
        if isinstance(shape, TupleShape):
            for number, element in enumerate(shape.elements):
                self._store(name, (*path, number), element, value[number])
        elif isinstance(shape, ArrayShape):
            self._write(self.assignment.slices[name, path], shape, np.asarray(value))

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
