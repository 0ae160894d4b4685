"""Rules that ignore NaN, infinities and the sign of zero, and that round differently.

Applied with `fast_math` only, after the strict rules. They hold in real arithmetic.
"""

from __future__ import annotations

import math

import numpy as np

from compiler.hlo.algebra.scope import Rule, Scope, splat_value
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode


def _number(scope: Scope, instruction: Instruction) -> float | None:
    """The one value of a float array, as a number."""
    value = splat_value(scope, instruction)
    if value is None or np.iscomplexobj(value) or not instruction.array.element_type.is_float:
        return None
    return float(value)


def _is_float(instruction: Instruction) -> bool:
    return instruction.array.element_type.is_float


def fast_add(scope: Scope, instruction: Instruction) -> str | None:
    """x + 0 is x; (x + c) + d is x + (c + d)."""
    left, right = scope.operands(instruction)
    value = _number(scope, right)
    if value is None:
        return None
    return left.name if value == 0 else _joined(scope, instruction, left, right)


def _joined(
    scope: Scope, instruction: Instruction, left: Instruction, right: Instruction
) -> str | None:
    if left.opcode is not instruction.opcode or _number(scope, scope.operand(left, 1)) is None:
        return None
    both = scope.add(instruction.opcode, instruction.shape, (left.operands[1], right.name))
    return scope.turn(instruction.opcode, (left.operands[0], both))


def fast_subtract(scope: Scope, instruction: Instruction) -> str | None:
    """x - x is 0; x - c is x + -c; 0 - x is -x."""
    left, right = scope.operands(instruction)
    if not _is_float(instruction):
        return None
    if left.name == right.name:
        return scope.filled(instruction.array, 0.0)
    if _number(scope, left) == 0:
        return scope.turn(Opcode.NEGATE, (right.name,))
    value = _number(scope, right)
    if value is None:
        return None
    return scope.turn(Opcode.ADD, (left.name, scope.filled(instruction.array, -value)))


def fast_multiply(scope: Scope, instruction: Instruction) -> str | None:
    """x * 0 is 0; (x * c) * d is x * (c * d); the square of a square root is its argument."""
    left, right = scope.operands(instruction)
    if left.name == right.name and left.opcode is Opcode.SQRT and _is_float(instruction):
        return left.operands[0]
    value = _number(scope, right)
    if value is None:
        return None
    return right.name if value == 0 else _joined(scope, instruction, left, right)


def fast_divide(scope: Scope, instruction: Instruction) -> str | None:
    """x / x is 1; x / c is x * (1 / c); x / sqrt(y) is x * rsqrt(y)."""
    left, right = scope.operands(instruction)
    if not _is_float(instruction):
        return None
    if left.name == right.name:
        return scope.filled(instruction.array, 1.0)
    value = _number(scope, right)
    if value is not None and value != 0 and math.isfinite(1.0 / value):
        factor = scope.filled(instruction.array, 1.0 / value)
        return scope.turn(Opcode.MULTIPLY, (left.name, factor))
    if right.opcode is Opcode.SQRT:
        root = scope.add(Opcode.RSQRT, instruction.shape, right.operands)
        return scope.turn(Opcode.MULTIPLY, (left.name, root))
    return None


def fast_power(scope: Scope, instruction: Instruction) -> str | None:
    """x to 0, 1/2, -1/2, 2, 3, -1 without a logarithm."""
    base, exponent = scope.operands(instruction)
    value = _number(scope, exponent)
    if value == 0:
        return scope.filled(instruction.array, 1.0)
    if value in (0.5, -0.5):
        return scope.turn(Opcode.SQRT if value > 0 else Opcode.RSQRT, (base.name,))
    if value == -1:
        return scope.turn(Opcode.DIVIDE, (scope.filled(instruction.array, 1.0), base.name))
    if value in (2, 3):
        square = base.name
        if value == 3:
            square = scope.add(Opcode.MULTIPLY, instruction.shape, (base.name, base.name))
        return scope.turn(Opcode.MULTIPLY, (square, base.name))
    return None


_INVERSES = {
    Opcode.LOG: Opcode.EXP,
    Opcode.EXP: Opcode.LOG,
    Opcode.LOG1P: Opcode.EXPM1,
    Opcode.EXPM1: Opcode.LOG1P,
}


def inverse(scope: Scope, instruction: Instruction) -> str | None:
    """The logarithm of an exponential, and the other way round."""
    operand = scope.operand(instruction)
    if operand.opcode is not _INVERSES[instruction.opcode] or not _is_float(instruction):
        return None
    return operand.operands[0]


def fast_sqrt(scope: Scope, instruction: Instruction) -> str | None:
    """The square root of a square is the magnitude."""
    operand = scope.operand(instruction)
    squared = operand.opcode is Opcode.MULTIPLY and len(set(operand.operands)) == 1
    if not squared or not _is_float(instruction):
        return None
    return scope.turn(Opcode.ABS, (operand.operands[0],))


RULES: dict[Opcode, tuple[Rule, ...]] = {
    Opcode.ADD: (fast_add,),
    Opcode.SUBTRACT: (fast_subtract,),
    Opcode.MULTIPLY: (fast_multiply,),
    Opcode.DIVIDE: (fast_divide,),
    Opcode.POWER: (fast_power,),
    Opcode.SQRT: (fast_sqrt,),
    **dict.fromkeys(_INVERSES, (inverse,)),
}
