"""HLO's elementwise operations on single values, as branch-free IR that is defined for every input.

Integer division by zero, the one quotient that overflows, and shifts past the width have answers in
HLO and none in LLVM; selects put HLO's in (openxla.org/stablehlo/spec and XLA's elemental IR
emitter: x/0 = -1, x%0 = x, MIN/-1 = MIN, MIN%-1 = 0, shifts past the width give 0 or the sign).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.hlo.attributes import ComparisonDirection, ComparisonType
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode as Hlo
from compiler.hlo.shape import ElementType
from compiler.llvm.ir import Opcode, Predicate, Value
from compiler.llvm.types import I1
from compiler.lower import math
from compiler.lower.arithmetic import Arithmetic
from compiler.lower.convert import bitcast_convert, convert, narrow, widen
from compiler.lower.precision import reduce_precision
from compiler.lower.types import register_type
from isas.errors import UnsupportedError

Unary = Callable[[Arithmetic, Value], Value]
Binary = Callable[[Arithmetic, Value, Value], Value]


def elementwise(
    a: Arithmetic,
    instruction: Instruction,
    kinds: Sequence[ElementType],
    operands: Sequence[Value],
) -> Value:
    """The value of an elementwise instruction, given its operands' element types and values.

    Raises UnsupportedError for an operation on a type that has none.
    """
    opcode, kind = instruction.opcode, kinds[0]
    if opcode in (Hlo.COPY, Hlo.SELECT, Hlo.CONVERT, Hlo.COMPARE, Hlo.BITCAST_CONVERT):
        return _typeless(a, instruction, kinds, operands)
    if opcode is Hlo.REDUCE_PRECISION:
        get = instruction.attributes.get
        return reduce_precision(a, operands[0], get("exponent_bits"), get("mantissa_bits"))
    if kind.is_float:
        wide = [widen(a, operand) for operand in operands]
        result = _on_floats(a, opcode, wide)
        return narrow(a, result, register_type(kind)) if result.type.is_float else result
    if kind is ElementType.PRED:
        return _on_truths(a, opcode, operands)
    return _on_integers(a, opcode, kind, operands)


def _typeless(
    a: Arithmetic,
    instruction: Instruction,
    kinds: Sequence[ElementType],
    operands: Sequence[Value],
) -> Value:
    opcode = instruction.opcode
    result = instruction.array.element_type
    if opcode is Hlo.COPY:
        return operands[0]
    if opcode is Hlo.SELECT:
        return a.select(operands[0], operands[1], operands[2])
    if opcode is Hlo.CONVERT:
        return convert(a, operands[0], kinds[0], result)
    if opcode is Hlo.BITCAST_CONVERT:
        return bitcast_convert(a, operands[0], kinds[0], result)
    direction = instruction.attributes.get("direction")
    order = instruction.attributes.get("type")
    return compare(a, direction, order, kinds[0], operands[0], operands[1])


# -- comparisons --------------------------------------------------------------------------------

_FLOAT_ORDER = {
    ComparisonDirection.EQ: Predicate.OEQ,
    ComparisonDirection.NE: Predicate.UNE,
    ComparisonDirection.LT: Predicate.OLT,
    ComparisonDirection.LE: Predicate.OLE,
    ComparisonDirection.GT: Predicate.OGT,
    ComparisonDirection.GE: Predicate.OGE,
}
_SIGNED_ORDER = {
    ComparisonDirection.EQ: Predicate.EQ,
    ComparisonDirection.NE: Predicate.NE,
    ComparisonDirection.LT: Predicate.SLT,
    ComparisonDirection.LE: Predicate.SLE,
    ComparisonDirection.GT: Predicate.SGT,
    ComparisonDirection.GE: Predicate.SGE,
}
_UNSIGNED_ORDER = {
    **_SIGNED_ORDER,
    ComparisonDirection.LT: Predicate.ULT,
    ComparisonDirection.LE: Predicate.ULE,
    ComparisonDirection.GT: Predicate.UGT,
    ComparisonDirection.GE: Predicate.UGE,
}


def compare(
    a: Arithmetic,
    direction: ComparisonDirection,
    order: ComparisonType | None,
    kind: ElementType,
    left: Value,
    right: Value,
) -> Value:
    """HLO's compare. NaN is unequal to everything, except in the total order."""
    if kind is ElementType.PRED:
        return _compare_truths(a, direction, left, right)
    if not kind.is_float:
        table = _SIGNED_ORDER if kind.is_signed else _UNSIGNED_ORDER
        return a.icmp(table[direction], left, right)
    if order is ComparisonType.TOTALORDER:
        return a.icmp(_SIGNED_ORDER[direction], _ordinal(a, left), _ordinal(a, right))
    return a.fcmp(_FLOAT_ORDER[direction], widen(a, left), widen(a, right))


def _ordinal(a: Arithmetic, value: Value) -> Value:
    """An integer that grows with the float: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN."""
    bits = a.bits(value)
    width = bits.type.bits
    mask = a.lshr(a.ashr(bits, width - 1), 1)
    return a.ixor(bits, mask)


def _compare_truths(
    a: Arithmetic, direction: ComparisonDirection, left: Value, right: Value
) -> Value:
    differ = a.ixor(left, right)
    if direction is ComparisonDirection.NE:
        return differ
    if direction is ComparisonDirection.EQ:
        return a.inot(differ)
    if direction in (ComparisonDirection.LT, ComparisonDirection.GE):
        less = a.iand(a.inot(left), right)
        return less if direction is ComparisonDirection.LT else a.inot(less)
    greater = a.iand(left, a.inot(right))
    return greater if direction is ComparisonDirection.GT else a.inot(greater)


# -- floats -------------------------------------------------------------------------------------


def _sign_of_float(a: Arithmetic, x: Value) -> Value:
    one = a.with_sign(a.number(x.type, 1.0), a.sign_bit(x))
    moves = a.fcmp(Predicate.ONE, x, a.number(x.type, 0.0))
    return a.select(moves, one, x)


def _is_finite(a: Arithmetic, x: Value) -> Value:
    return a.fcmp(Predicate.OLT, a.fabs(x), a.number(x.type, float("inf")))


def _round_away(a: Arithmetic, x: Value) -> Value:
    """To the nearest integer, halves away from zero."""
    if a.legal("round", x.type):
        return a.rounding("round", x)
    size = a.fabs(x)
    whole = a.rounding("trunc", size)
    half = a.fcmp(Predicate.OGE, a.fsub(size, whole), a.number(x.type, 0.5))
    up = a.select(half, a.fadd(whole, a.number(x.type, 1.0)), whole)
    return a.flip_sign(up, a.sign_bit(x))


def _rounding(effect: str) -> Unary:
    return lambda a, x: a.rounding(effect, x)


_FLOAT_UNARY: dict[Hlo, Unary] = {
    Hlo.ABS: lambda a, x: a.fabs(x),
    Hlo.NEGATE: lambda a, x: a.fneg(x),
    Hlo.SIGN: _sign_of_float,
    Hlo.FLOOR: _rounding("floor"),
    Hlo.CEIL: _rounding("ceil"),
    Hlo.ROUND_NEAREST_EVEN: _rounding("roundeven"),
    Hlo.ROUND_NEAREST_AFZ: _round_away,
    Hlo.IS_FINITE: _is_finite,
    Hlo.REAL: lambda a, x: x,
    **math.UNARY,
}
_FLOAT_BINARY: dict[Hlo, Binary] = {
    Hlo.ADD: lambda a, x, y: a.fadd(x, y),
    Hlo.SUBTRACT: lambda a, x, y: a.fsub(x, y),
    Hlo.MULTIPLY: lambda a, x, y: a.fmul(x, y),
    Hlo.DIVIDE: lambda a, x, y: a.fdiv(x, y),
    Hlo.MAXIMUM: lambda a, x, y: a.maximum(x, y),
    Hlo.MINIMUM: lambda a, x, y: a.minimum(x, y),
    **math.BINARY,
}


def _on_floats(a: Arithmetic, opcode: Hlo, operands: Sequence[Value]) -> Value:
    if opcode is Hlo.CLAMP:
        low, x, high = operands
        return a.minimum(a.maximum(low, x), high)
    return _apply(a, opcode, operands, _FLOAT_UNARY, _FLOAT_BINARY, "floats")


def _apply(
    a: Arithmetic,
    opcode: Hlo,
    operands: Sequence[Value],
    unary: dict[Hlo, Unary],
    binary: dict[Hlo, Binary],
    family: str,
) -> Value:
    if len(operands) == 1 and opcode in unary:
        return unary[opcode](a, operands[0])
    if len(operands) == 2 and opcode in binary:
        return binary[opcode](a, operands[0], operands[1])
    raise UnsupportedError(f"code generation does not cover {opcode} on {family}")


# -- truth values -------------------------------------------------------------------------------

_TRUTH_BINARY: dict[Hlo, Binary] = {
    Hlo.AND: lambda a, x, y: a.iand(x, y),
    Hlo.MULTIPLY: lambda a, x, y: a.iand(x, y),
    Hlo.MINIMUM: lambda a, x, y: a.iand(x, y),
    Hlo.OR: lambda a, x, y: a.ior(x, y),
    Hlo.ADD: lambda a, x, y: a.ior(x, y),
    Hlo.MAXIMUM: lambda a, x, y: a.ior(x, y),
    Hlo.XOR: lambda a, x, y: a.ixor(x, y),
}


def _on_truths(a: Arithmetic, opcode: Hlo, operands: Sequence[Value]) -> Value:
    if opcode is Hlo.CLAMP:
        low, x, high = operands
        return a.iand(a.ior(low, x), high)
    return _apply(a, opcode, operands, {Hlo.NOT: lambda a, x: a.inot(x)}, _TRUTH_BINARY, "pred")


# -- integers -----------------------------------------------------------------------------------


def _on_integers(a: Arithmetic, opcode: Hlo, kind: ElementType, operands: Sequence[Value]) -> Value:
    is_signed = kind.is_signed
    if opcode is Hlo.CLAMP:
        low, x, high = operands
        return _extreme(a, "min", is_signed, _extreme(a, "max", is_signed, low, x), high)
    if opcode in (Hlo.MAXIMUM, Hlo.MINIMUM):
        which = "max" if opcode is Hlo.MAXIMUM else "min"
        return _extreme(a, which, is_signed, operands[0], operands[1])
    if opcode in (Hlo.ABS, Hlo.SIGN):
        return _sign_or_size(a, opcode, is_signed, operands[0])
    if opcode in (Hlo.DIVIDE, Hlo.REMAINDER):
        divide = _signed_division if is_signed else _unsigned_division
        return divide(a, opcode, operands[0], operands[1])
    if opcode is Hlo.POWER:
        return _integer_power(a, is_signed, operands[0], operands[1])
    if opcode is Hlo.MULHI:
        return _high_product(a, is_signed, operands[0], operands[1])
    return _apply(a, opcode, operands, _INTEGER_UNARY, _INTEGER_BINARY, str(kind))


def _extreme(a: Arithmetic, which: str, is_signed: bool, x: Value, y: Value) -> Value:
    return a.integer_extreme(("s" if is_signed else "u") + which, x, y)


def _sign_or_size(a: Arithmetic, opcode: Hlo, is_signed: bool, x: Value) -> Value:
    zero, one = a.number(x.type, 0), a.number(x.type, 1)
    if not is_signed:
        return x if opcode is Hlo.ABS else a.select(a.icmp(Predicate.NE, x, zero), one, zero)
    sign = a.ashr(x, x.type.bits - 1)
    if opcode is Hlo.ABS:
        return a.isub(a.ixor(x, sign), sign)
    return a.ior(sign, a.select(a.icmp(Predicate.SGT, x, zero), one, zero))


def _signed_division(a: Arithmetic, opcode: Hlo, x: Value, y: Value) -> Value:
    lowest = a.bits_constant(x.type, 1 << (x.type.bits - 1))
    zero, minus_one = a.number(x.type, 0), a.number(x.type, -1)
    by_zero = a.icmp(Predicate.EQ, y, zero)
    overflows = a.iand(a.icmp(Predicate.EQ, x, lowest), a.icmp(Predicate.EQ, y, minus_one))
    safe = a.select(a.ior(by_zero, overflows), a.number(x.type, 1), y)
    if opcode is Hlo.REMAINDER:
        return a.select(by_zero, x, a.binary(Opcode.SREM, x, safe))
    return a.select(by_zero, minus_one, a.binary(Opcode.SDIV, x, safe))


def _unsigned_division(a: Arithmetic, opcode: Hlo, x: Value, y: Value) -> Value:
    by_zero = a.icmp(Predicate.EQ, y, a.number(x.type, 0))
    safe = a.select(by_zero, a.number(x.type, 1), y)
    if opcode is Hlo.REMAINDER:
        return a.select(by_zero, x, a.binary(Opcode.UREM, x, safe))
    return a.select(by_zero, a.number(x.type, -1), a.binary(Opcode.UDIV, x, safe))


def _shift(opcode: Opcode) -> Binary:
    def emit(a: Arithmetic, x: Value, amount: Value) -> Value:
        width = a.number(x.type, x.type.bits)
        fits = a.icmp(Predicate.ULT, amount, width)
        if opcode is Opcode.ASHR:
            most = a.number(x.type, x.type.bits - 1)
            return a.binary(opcode, x, a.select(fits, amount, most))
        zero = a.number(x.type, 0)
        shifted = a.binary(opcode, x, a.select(fits, amount, zero))
        return a.select(fits, shifted, zero)

    return emit


def _integer_power(a: Arithmetic, is_signed: bool, base: Value, exponent: Value) -> Value:
    """Squares and multiplies, one step per bit of the exponent. A negative exponent gives 0, but
    1 for base 1 and alternating signs for base -1."""
    one, zero = a.number(base.type, 1), a.number(base.type, 0)
    total: Value = one
    square = base
    for bit in range(base.type.bits):
        mask = a.bits_constant(base.type, 1 << bit)
        is_set = a.icmp(Predicate.NE, a.iand(exponent, mask), zero)
        total = a.select(is_set, a.imul(total, square), total)
        square = a.imul(square, square)
    if not is_signed:
        return total
    is_negative = a.icmp(Predicate.SLT, exponent, zero)
    minus_one = a.number(base.type, -1)
    is_unit = a.ior(a.icmp(Predicate.EQ, base, one), a.icmp(Predicate.EQ, base, minus_one))
    return a.select(a.iand(is_negative, a.inot(is_unit)), zero, total)


def _high_product(a: Arithmetic, is_signed: bool, x: Value, y: Value) -> Value:
    wide = x.type.with_bits(2 * x.type.bits)
    product = a.imul(a.resize(x, wide, is_signed), a.resize(y, wide, is_signed))
    return a.cast(Opcode.TRUNC, a.lshr(product, x.type.bits), x.type)


def _leading_zeros(a: Arithmetic, x: Value) -> Value:
    return a.emitter.call("llvm.ctlz", x.type, (x, a.emitter.constant(I1, 0)))


_INTEGER_UNARY: dict[Hlo, Unary] = {
    Hlo.NEGATE: lambda a, x: a.isub(a.number(x.type, 0), x),
    Hlo.NOT: lambda a, x: a.inot(x),
    Hlo.POPCNT: lambda a, x: a.emitter.call("llvm.ctpop", x.type, (x,)),
    Hlo.COUNT_LEADING_ZEROS: _leading_zeros,
}
_INTEGER_BINARY: dict[Hlo, Binary] = {
    Hlo.ADD: lambda a, x, y: a.iadd(x, y),
    Hlo.SUBTRACT: lambda a, x, y: a.isub(x, y),
    Hlo.MULTIPLY: lambda a, x, y: a.imul(x, y),
    Hlo.AND: lambda a, x, y: a.iand(x, y),
    Hlo.OR: lambda a, x, y: a.ior(x, y),
    Hlo.XOR: lambda a, x, y: a.ixor(x, y),
    Hlo.SHIFT_LEFT: _shift(Opcode.SHL),
    Hlo.SHIFT_RIGHT_LOGICAL: _shift(Opcode.LSHR),
    Hlo.SHIFT_RIGHT_ARITHMETIC: _shift(Opcode.ASHR),
}

COVERED_FLOAT = (
    frozenset(_FLOAT_UNARY) | frozenset(_FLOAT_BINARY) | {Hlo.CLAMP, Hlo.REDUCE_PRECISION}
)
COVERED_TRUTH = frozenset(_TRUTH_BINARY) | {Hlo.NOT, Hlo.CLAMP}
COVERED_INTEGER = (
    frozenset(_INTEGER_UNARY)
    | frozenset(_INTEGER_BINARY)
    | {Hlo.CLAMP, Hlo.MAXIMUM, Hlo.MINIMUM, Hlo.ABS, Hlo.SIGN, Hlo.DIVIDE, Hlo.REMAINDER}
    | {Hlo.POWER, Hlo.MULHI}
)
COVERED_ANY = frozenset({Hlo.COPY, Hlo.SELECT, Hlo.CONVERT, Hlo.COMPARE, Hlo.BITCAST_CONVERT})
