"""Rules for truth values, bits, choices and conversions."""

from __future__ import annotations

from compiler.hlo.algebra.arithmetic import constant_right
from compiler.hlo.algebra.scope import Rule, Scope, all_ones, is_number, splat_value
from compiler.hlo.attributes import ComparisonDirection
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ElementType

_FALSE_OF_EQUALS = (ComparisonDirection.GT, ComparisonDirection.LT)

_MANTISSA_BITS = {
    ElementType.BF16: 8,
    ElementType.F16: 11,
    ElementType.F32: 24,
    ElementType.F64: 53,
}
_EXPONENT_BITS = {
    ElementType.F16: 5,
    ElementType.BF16: 8,
    ElementType.F32: 8,
    ElementType.F64: 11,
}


def invert(scope: Scope, instruction: Instruction) -> str | None:
    operand = scope.operand(instruction)
    return operand.operands[0] if operand.opcode is Opcode.NOT else None


def conjunction(scope: Scope, instruction: Instruction) -> str | None:
    """x & x, x & ones, x & 0."""
    return _bits(scope, instruction, neutral=True)


def disjunction(scope: Scope, instruction: Instruction) -> str | None:
    """x | x, x | 0, x | ones."""
    return _bits(scope, instruction, neutral=False)


def _bits(scope: Scope, instruction: Instruction, neutral: bool) -> str | None:
    left, right = scope.operands(instruction)
    if left.name == right.name:
        return left.name
    value = splat_value(scope, right)
    if value is None:
        return None
    kind = instruction.array.element_type
    ones = 1 if kind is ElementType.PRED else all_ones(kind)
    if int(value) == (ones if neutral else 0):
        return left.name
    return right.name if int(value) == (0 if neutral else ones) else None


def exclusive(scope: Scope, instruction: Instruction) -> str | None:
    left, right = scope.operands(instruction)
    if left.name == right.name:
        return scope.filled(instruction.array, 0)
    return left.name if is_number(splat_value(scope, right), 0) else None


def compare(scope: Scope, instruction: Instruction) -> str | None:
    """A comparison of a value with itself (NaN is not equal to itself), or with an unsigned 0."""
    left, right = scope.operands(instruction)
    kind = left.array.element_type
    direction = instruction.attributes.get("direction")
    if left.name == right.name:
        exact = not (kind.is_float or kind.is_complex)
        if direction in _FALSE_OF_EQUALS or (direction is ComparisonDirection.NE and exact):
            return scope.filled(instruction.array, False)
        return scope.filled(instruction.array, True) if exact else None
    if kind.is_unsigned and is_number(splat_value(scope, right), 0):
        if direction is ComparisonDirection.LT:
            return scope.filled(instruction.array, False)
        if direction is ComparisonDirection.GE:
            return scope.filled(instruction.array, True)
    return None


def select(scope: Scope, instruction: Instruction) -> str | None:
    which, chosen, other = scope.operands(instruction)
    if chosen.name == other.name:
        return chosen.name
    value = splat_value(scope, which)
    if value is not None:
        return chosen.name if bool(value) else other.name
    if which.array.dimensions != instruction.array.dimensions:
        return None
    if which.opcode is Opcode.NOT:
        operands = (which.operands[0], other.name, chosen.name)
        return scope.turn(Opcode.SELECT, operands)
    if instruction.array.element_type is ElementType.PRED:
        return _select_of_truths(scope, instruction, which, chosen, other)
    return None


def _select_of_truths(
    scope: Scope,
    instruction: Instruction,
    which: Instruction,
    chosen: Instruction,
    other: Instruction,
) -> str | None:
    yes, no = splat_value(scope, chosen), splat_value(scope, other)
    if yes is None or no is None or bool(yes) == bool(no):
        return None
    if bool(yes):
        return which.name
    return scope.turn(Opcode.NOT, (which.name,))


def convert(scope: Scope, instruction: Instruction) -> str | None:
    """Conversions to the same type, and two in a row when the first loses nothing."""
    operand = scope.operand(instruction)
    target = instruction.array.element_type
    if operand.array.element_type is target:
        return operand.name
    if operand.opcode is not Opcode.CONVERT:
        return None
    inner = scope.operand(operand)
    if _rounds_between_integers(inner, operand, target):
        return None
    if not keeps_value(inner.array.element_type, operand.array.element_type):
        return None
    if inner.array.element_type is target:
        return inner.name
    return scope.turn(Opcode.CONVERT, (inner.name,))


def _rounds_between_integers(inner: Instruction, operand: Instruction, target: ElementType) -> bool:
    """Integers wrap on their way to integers, floats saturate: not the same when out of range."""
    source = inner.array.element_type
    through_float = source.is_integer and operand.array.element_type.is_float
    return through_float and not target.is_float and target is not source


def keeps_value(source: ElementType, target: ElementType) -> bool:
    """True when every value of one type is a value of the other."""
    if source is ElementType.PRED:
        return target.is_integer or target in _MANTISSA_BITS
    if source.is_integer and target.is_integer:
        if source.is_signed:
            return target.is_signed and source.bits <= target.bits
        return source.bits < target.bits or (target.is_unsigned and source.bits <= target.bits)
    if source.is_integer and target in _MANTISSA_BITS:
        fits = source.bits - source.is_signed <= _MANTISSA_BITS[target]
        return fits and source.bits < (1 << (_EXPONENT_BITS[target] - 1))
    if source in _MANTISSA_BITS and target in _MANTISSA_BITS:
        wider = _MANTISSA_BITS[source] <= _MANTISSA_BITS[target]
        return wider and _EXPONENT_BITS[source] <= _EXPONENT_BITS[target]
    return False


RULES: dict[Opcode, tuple[Rule, ...]] = {
    Opcode.NOT: (invert,),
    Opcode.AND: (constant_right, conjunction),
    Opcode.OR: (constant_right, disjunction),
    Opcode.XOR: (constant_right, exclusive),
    Opcode.COMPARE: (compare,),
    Opcode.SELECT: (select,),
    Opcode.CONVERT: (convert,),
}
