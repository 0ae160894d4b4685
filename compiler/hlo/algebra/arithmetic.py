"""Rules for numbers: identities of add, multiply, divide and their kind.

Strict: x + 0.0 stays, because -0.0 + 0.0 is 0.0; x + -0.0 is x. x * 0.0 stays, because of NaN
and the sign. Dividing by a power of two is multiplying by its reciprocal, exactly, when that is
a normal number.
"""

from __future__ import annotations

import math

import numpy as np

from compiler.hlo.algebra.scope import Rule, Scope, is_number, is_value, splat_value
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ElementType

_PLAIN_FLOATS = (ElementType.F16, ElementType.BF16, ElementType.F32, ElementType.F64)
_SMALLEST_EXPONENT = {
    ElementType.F16: -14,
    ElementType.BF16: -126,
    ElementType.F32: -126,
    ElementType.F64: -1022,
}


def _kind(instruction: Instruction) -> ElementType:
    return instruction.array.element_type


def constant_right(scope: Scope, instruction: Instruction) -> str | None:
    """Constants go to the right of a commutative operation, so that other rules find them there."""
    left, right = scope.operands(instruction)
    if splat_value(scope, left) is None or splat_value(scope, right) is not None:
        return None
    operands = (right.name, left.name)
    return scope.turn(instruction.opcode, operands, instruction.attributes)


def add(scope: Scope, instruction: Instruction) -> str | None:
    left, right = scope.operands(instruction)
    kind = _kind(instruction)
    value = splat_value(scope, right)
    if kind.is_float and is_value(value, -0.0):
        return left.name
    if kind.is_integer and is_number(value, 0):
        return left.name
    if right.opcode is Opcode.NEGATE and not kind.is_complex:
        operands = (left.name, right.operands[0])
        return scope.turn(Opcode.SUBTRACT, operands)
    return _joined_constants(scope, instruction)


def _joined_constants(scope: Scope, instruction: Instruction) -> str | None:
    """(x op c) op d is x op (c op d) for integers."""
    inner, outer = scope.operands(instruction)
    kind = _kind(instruction)
    if not kind.is_integer or inner.opcode is not instruction.opcode:
        return None
    deep = scope.operand(inner, 1)
    if splat_value(scope, outer) is None or splat_value(scope, deep) is None:
        return None
    joined = scope.add(instruction.opcode, instruction.shape, (deep.name, outer.name))
    return scope.turn(instruction.opcode, (inner.operands[0], joined))


def subtract(scope: Scope, instruction: Instruction) -> str | None:
    left, right = scope.operands(instruction)
    kind = _kind(instruction)
    if (kind.is_float or kind.is_integer) and is_value(splat_value(scope, right), 0.0):
        return left.name
    if kind.is_integer and left.name == right.name:
        return scope.filled(instruction.array, 0)
    zero = 0.0 if kind.is_integer else -0.0
    if not kind.is_complex and is_value(splat_value(scope, left), zero):
        return scope.turn(Opcode.NEGATE, (right.name,))
    if right.opcode is Opcode.NEGATE and not kind.is_complex:
        operands = (left.name, right.operands[0])
        return scope.turn(Opcode.ADD, operands)
    return None


def multiply(scope: Scope, instruction: Instruction) -> str | None:
    left, right = scope.operands(instruction)
    kind = _kind(instruction)
    value = splat_value(scope, right)
    if kind.is_complex or value is None:
        return None
    if is_number(value, 1):
        return left.name
    if kind.is_integer and is_number(value, 0):
        return right.name
    if (kind.is_float or kind.is_signed) and is_number(value, -1):
        return scope.turn(Opcode.NEGATE, (left.name,))
    return _joined_constants(scope, instruction)


def divide(scope: Scope, instruction: Instruction) -> str | None:
    left, right = scope.operands(instruction)
    kind = _kind(instruction)
    value = splat_value(scope, right)
    if value is None or kind.is_complex:
        return None
    if is_number(value, 1):
        return left.name
    if kind.is_float and is_number(value, -1):
        return scope.turn(Opcode.NEGATE, (left.name,))
    if kind in _PLAIN_FLOATS:
        return _by_power_of_two(scope, instruction, left, float(value))
    if kind.is_unsigned and int(value) & (int(value) - 1) == 0 and int(value):
        amount = scope.filled(instruction.array, int(value).bit_length() - 1)
        return scope.turn(Opcode.SHIFT_RIGHT_LOGICAL, (left.name, amount))
    return None


def _by_power_of_two(
    scope: Scope, instruction: Instruction, left: Instruction, value: float
) -> str | None:
    if not math.isfinite(value) or value == 0 or abs(math.frexp(value)[0]) != 0.5:
        return None
    kind = _kind(instruction)
    reciprocal_exponent = 1 - math.frexp(value)[1]
    low = _SMALLEST_EXPONENT[kind]
    if not low <= reciprocal_exponent <= -low:
        return None
    factor = scope.filled(instruction.array, 1.0 / value)
    return scope.turn(Opcode.MULTIPLY, (left.name, factor))


def remainder(scope: Scope, instruction: Instruction) -> str | None:
    left, right = scope.operands(instruction)
    value = splat_value(scope, right)
    if value is None or not _kind(instruction).is_unsigned or not int(value):
        return None
    if int(value) & (int(value) - 1):
        return None
    mask = scope.filled(instruction.array, int(value) - 1)
    return scope.turn(Opcode.AND, (left.name, mask))


def negate(scope: Scope, instruction: Instruction) -> str | None:
    operand = scope.operand(instruction)
    return operand.operands[0] if operand.opcode is Opcode.NEGATE else None


def absolute(scope: Scope, instruction: Instruction) -> str | None:
    operand = scope.operand(instruction)
    if _kind(operand).is_unsigned or operand.opcode is Opcode.ABS:
        return operand.name
    if operand.opcode is Opcode.NEGATE and not _kind(operand).is_complex:
        return scope.turn(Opcode.ABS, (operand.operands[0],))
    return None


def power(scope: Scope, instruction: Instruction) -> str | None:
    base, exponent = scope.operands(instruction)
    kind = _kind(instruction)
    value = splat_value(scope, exponent)
    if value is None or kind.is_complex:
        return None
    if is_number(value, 1):
        return base.name
    if is_number(value, 2) and kind is not ElementType.F64:
        return scope.turn(Opcode.MULTIPLY, (base.name, base.name))
    return None


def maximum(scope: Scope, instruction: Instruction) -> str | None:
    return _extreme(scope, instruction, is_maximum=True)


def minimum(scope: Scope, instruction: Instruction) -> str | None:
    return _extreme(scope, instruction, is_maximum=False)


def _extreme(scope: Scope, instruction: Instruction, is_maximum: bool) -> str | None:
    """max(x, x) and max(x, the least value) are x; a NaN in x comes through either way."""
    left, right = scope.operands(instruction)
    if left.name == right.name:
        return left.name
    value = splat_value(scope, right)
    if value is None or np.iscomplexobj(value):
        return None
    if is_neutral_extreme(_kind(instruction), value, is_maximum):
        return left.name
    return None


def is_neutral_extreme(kind: ElementType, value: np.generic, is_maximum: bool) -> bool:
    """True of the identity of maximum (or of minimum)."""
    if kind.is_float:
        return float(value) == (-math.inf if is_maximum else math.inf)
    if kind.is_integer:
        low = -(1 << (kind.bits - 1)) if kind.is_signed else 0
        high = (1 << (kind.bits - kind.is_signed)) - 1
        return int(value) == (low if is_maximum else high)
    return bool(value) != is_maximum


def clamp(scope: Scope, instruction: Instruction) -> str | None:
    low, value, high = scope.operands(instruction)
    least, most = splat_value(scope, low), splat_value(scope, high)
    if least is None or most is None or not _kind(instruction).is_float:
        return None
    unbounded = float(least) == -math.inf and float(most) == math.inf
    return value.name if unbounded else None


def shift(scope: Scope, instruction: Instruction) -> str | None:
    value, amount = scope.operands(instruction)
    return value.name if is_number(splat_value(scope, amount), 0) else None


def complex_part(scope: Scope, instruction: Instruction) -> str | None:
    operand = scope.operand(instruction)
    if operand.opcode is not Opcode.COMPLEX:
        return None
    return operand.operands[0 if instruction.opcode is Opcode.REAL else 1]


RULES: dict[Opcode, tuple[Rule, ...]] = {
    Opcode.ADD: (constant_right, add),
    Opcode.SUBTRACT: (subtract,),
    Opcode.MULTIPLY: (constant_right, multiply),
    Opcode.DIVIDE: (divide,),
    Opcode.REMAINDER: (remainder,),
    Opcode.NEGATE: (negate,),
    Opcode.ABS: (absolute,),
    Opcode.POWER: (power,),
    Opcode.MAXIMUM: (constant_right, maximum),
    Opcode.MINIMUM: (constant_right, minimum),
    Opcode.CLAMP: (clamp,),
    Opcode.SHIFT_LEFT: (shift,),
    Opcode.SHIFT_RIGHT_LOGICAL: (shift,),
    Opcode.SHIFT_RIGHT_ARITHMETIC: (shift,),
    Opcode.REAL: (complex_part,),
    Opcode.IMAG: (complex_part,),
}
