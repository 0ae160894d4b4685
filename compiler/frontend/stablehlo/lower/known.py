"""The values that instructions have in every run: what extents are computed from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from compiler.hlo.evaluate import evaluate_instruction
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ArrayShape, Shape, TupleShape
from isas.errors import HobError

KNOWN_LIMIT = 4096
"""The most elements of a value that is computed while lowering."""
_DEPTH = 200
"""How many instructions a value may be computed through."""
_VARYING = frozenset({Opcode.PARAMETER, Opcode.RNG, Opcode.INFEED})
_LOOPS = frozenset({Opcode.WHILE, Opcode.RNG, Opcode.INFEED, Opcode.CUSTOM_CALL})
"""What a called function may not hold: it could run long, or differently each time."""


def size_of(shape: Shape) -> int:
    """How many elements a value has; more than `KNOWN_LIMIT` where that is not static."""
    if isinstance(shape, TupleShape):
        return sum(map(size_of, shape.elements))
    if not isinstance(shape, ArrayShape) or not shape.is_static:
        return KNOWN_LIMIT + 1
    return shape.element_count


class Known:
    """What is known of the instructions of one computation in the making. ``instructions`` and the
    finished ``computations`` grow while it is asked.
    """

    def __init__(
        self, instructions: Mapping[str, Instruction], computations: Mapping[str, Computation]
    ) -> None:
        self._instructions = instructions
        self._computations = computations
        self._values: dict[str, Any] = {}

    def array(self, name: str) -> np.ndarray | None:
        """The array that an instruction yields in every run, None when it depends on an input."""
        found = self._evaluated(name, 0)
        return found if isinstance(found, np.ndarray) else None

    def _evaluated(self, name: str, depth: int) -> Any:
        if name in self._values:
            return self._values[name]
        self._values[name] = None
        instruction = self._instructions.get(name)
        if instruction is None or depth > _DEPTH or self._varies(instruction):
            return None
        operands = [self._evaluated(o, depth + 1) for o in instruction.operands]
        if any(operand is None for operand in operands):
            return None
        self._values[name] = self._computed(instruction, operands)
        return self._values[name]

    def _varies(self, instruction: Instruction) -> bool:
        """True of what is not the same in every run, or is too large to find out."""
        if size_of(instruction.shape) > KNOWN_LIMIT or instruction.has_side_effect:
            return True
        if instruction.opcode in _VARYING:
            return True
        if instruction.opcode is not Opcode.CALL:
            return bool(instruction.callees)
        return any(i.opcode in _LOOPS or i.has_side_effect for i in self._inside(instruction))

    def _inside(self, instruction: Instruction) -> Iterator[Instruction]:
        """The instructions of a call's computation, and of those that it calls."""
        for name in instruction.callees:
            for inner in self._computations[name].instructions:
                yield inner
                yield from self._inside(inner)

    def _computed(self, instruction: Instruction, operands: Sequence[Any]) -> Any:
        around = [self._instructions[o] for o in instruction.operands]
        computation = Computation("known", (*around, instruction), instruction.name)
        called = self._computations.values() if instruction.callees else ()
        module = Module("known", (*called, computation), "known")
        try:
            return evaluate_instruction(module, computation, instruction, operands)
        except HobError:
            return None
