"""Rules for arrays without elements: nothing is computed for them, and what gathers no elements
is what it starts from. Code generation may count on every loop running at least once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from compiler.hlo.algebra.scope import Rule, Scope
from compiler.hlo.attributes import NO_ATTRIBUTES
from compiler.hlo.literal import literal_of
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ArrayShape, TupleShape

_OPERATIONS = tuple(
    opcode for opcode in Opcode if opcode.is_elementwise and not opcode.has_side_effect
) + (
    Opcode.BITCAST_CONVERT, Opcode.BROADCAST, Opcode.CONCATENATE, Opcode.CONVOLUTION, Opcode.DOT,
    Opcode.DYNAMIC_SLICE, Opcode.DYNAMIC_UPDATE_SLICE, Opcode.GATHER, Opcode.IOTA, Opcode.PAD,
    Opcode.REDUCE, Opcode.REDUCE_WINDOW, Opcode.RESHAPE, Opcode.REVERSE, Opcode.SCATTER,
    Opcode.SELECT_AND_SCATTER, Opcode.SLICE, Opcode.TRANSPOSE,
)  # fmt: skip


def no_elements(scope: Scope, instruction: Instruction) -> str | None:
    """An array without elements is a constant."""
    if not instruction.is_array or 0 not in instruction.array.dimensions:
        return None
    shape = instruction.array
    nothing = np.zeros(shape.dimensions, shape.element_type.dtype)
    scope.editor.rewrite(
        replace(
            instruction,
            opcode=Opcode.CONSTANT,
            operands=(),
            attributes=NO_ATTRIBUTES,
            literal=literal_of(nothing),
            origin=instruction.origins,
        )
    )
    return instruction.name


def reduce_of_nothing(scope: Scope, instruction: Instruction) -> str | None:
    """A reduce of arrays without elements is its initial values."""
    operands = scope.operands(instruction)
    half = len(operands) // 2
    if 0 not in operands[0].array.dimensions:
        return None
    starts = operands[half:]
    shape = instruction.shape
    results = shape.elements if isinstance(shape, TupleShape) else (shape,)
    parts = []
    for start, result in zip(starts, results):
        if not isinstance(result, ArrayShape):
            return None
        if start.array.element_type is not result.element_type:
            return None
        parts.append(scope.splat(result, start.name))
    return parts[0] if instruction.is_array else scope.turn(Opcode.TUPLE, parts)


def dot_over_nothing(scope: Scope, instruction: Instruction) -> str | None:
    """A dot that adds up no products is zero."""
    if all(0 not in operand.array.dimensions for operand in scope.operands(instruction)):
        return None
    return scope.filled(instruction.array, 0)


def pad_of_nothing(scope: Scope, instruction: Instruction) -> str | None:
    """Padding around an array without elements is all there is."""
    array, padding = scope.operands(instruction)
    if 0 not in array.array.dimensions:
        return None
    return scope.splat(instruction.array, padding.name)


RULES: dict[Opcode, tuple[Rule, ...]] = dict.fromkeys(_OPERATIONS, (no_elements,))
RULES[Opcode.REDUCE] += (reduce_of_nothing,)
RULES[Opcode.DOT] += (dot_over_nothing,)
RULES[Opcode.PAD] += (pad_of_nothing,)
