"""Core ATen operators that work element by element.

Each rule has the operator's own signature after the builder. Rules may yield any type of the right
category; the graph walker converts to the type that PyTorch declares.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from compiler.frontend.torch.build import Builder, Value
from compiler.frontend.torch.dtypes import Number, as_float
from compiler.hlo.attributes import ComparisonDirection
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ElementType

Operand: TypeAlias = Value | Number
Rule: TypeAlias = Callable[..., Any]
LT, LE, EQ = ComparisonDirection.LT, ComparisonDirection.LE, ComparisonDirection.EQ
GT, GE, NE = ComparisonDirection.GT, ComparisonDirection.GE, ComparisonDirection.NE


def floating(b: Builder, value: Value) -> Value:
    """The value as a float: integers and truth values become float32."""
    return b.convert(value, as_float(value.kind))


def _float_unary(opcode: Opcode) -> Rule:
    return lambda b, x: b.emit(opcode, floating(b, x))


def _unary(opcode: Opcode) -> Rule:
    return lambda b, x: b.emit(opcode, x)


def _rounding(opcode: Opcode) -> Rule:
    """Integers are whole already."""
    return lambda b, x: b.emit(opcode, x) if x.kind.is_float else x


def _binary(opcode: Opcode) -> Rule:
    return lambda b, x, y: b.binary(opcode, x, y)


# -- arithmetic ---------------------------------------------------------------------------------


def _scaled(b: Builder, value: Operand, alpha: Number) -> Operand:
    if alpha == 1:
        return value
    return b.multiply(value, alpha) if isinstance(value, Value) else value * alpha


def add(b: Builder, x: Operand, y: Operand, *, alpha: Number = 1) -> Value:
    kind = b.common_kind(x, y)
    one, other = b.aligned(kind, x, _scaled(b, y, alpha))
    if kind is ElementType.PRED:
        return b.emit(Opcode.OR, one, other)
    return b.emit(Opcode.ADD, one, other)


def sub(b: Builder, x: Operand, y: Operand, *, alpha: Number = 1) -> Value:
    return b.subtract(x, _scaled(b, y, alpha))


def rsub(b: Builder, x: Operand, y: Operand, alpha: Number = 1) -> Value:
    return b.subtract(y, _scaled(b, x, alpha))


def mul(b: Builder, x: Operand, y: Operand) -> Value:
    kind = b.common_kind(x, y)
    opcode = Opcode.AND if kind is ElementType.PRED else Opcode.MULTIPLY
    return b.emit(opcode, *b.aligned(kind, x, y))


def div(b: Builder, x: Operand, y: Operand, *, rounding_mode: str | None = None) -> Value:
    if rounding_mode == "floor":
        return floor_divide(b, x, y)
    kind = b.common_kind(x, y)
    if rounding_mode is None:
        return b.emit(Opcode.DIVIDE, *b.aligned(as_float(kind), x, y))
    quotient = b.emit(Opcode.DIVIDE, *b.aligned(kind, x, y))
    return _truncated(b, quotient) if kind.is_float else quotient


def _truncated(b: Builder, x: Value) -> Value:
    down, up = b.emit(Opcode.FLOOR, x), b.emit(Opcode.CEIL, x)
    return b.select(b.compare(LT, x, 0), up, down, x.kind)


def trunc(b: Builder, x: Value) -> Value:
    return _truncated(b, x) if x.kind.is_float else x


def same_type_divide(b: Builder, x: Operand, y: Operand) -> Value:
    """Integers are divided towards zero."""
    return b.binary(Opcode.DIVIDE, x, y)


def floor_divide(b: Builder, x: Operand, y: Operand) -> Value:
    kind = b.common_kind(x, y)
    one, other = b.aligned(kind, x, y)
    if kind.is_float:
        rest = remainder(b, one, other)
        exact = b.divide(b.subtract(one, rest), other)
        return b.emit(Opcode.ROUND_NEAREST_EVEN, exact)
    quotient = b.emit(Opcode.DIVIDE, one, other)
    if kind.is_unsigned:
        return quotient
    inexact = b.compare(NE, b.multiply(quotient, other), one)
    apart = b.compare(NE, b.compare(LT, one, 0), b.compare(LT, other, 0))
    return b.select(b.emit(Opcode.AND, inexact, apart), b.subtract(quotient, 1), quotient, kind)


def fmod(b: Builder, x: Operand, y: Operand) -> Value:
    return b.binary(Opcode.REMAINDER, x, y)


def remainder(b: Builder, x: Operand, y: Operand) -> Value:
    """The remainder with the divisor's sign."""
    one, other = b.aligned(b.common_kind(x, y), x, y)
    rest = b.emit(Opcode.REMAINDER, one, other)
    if rest.kind.is_unsigned:
        return rest
    apart = b.compare(NE, b.compare(LT, rest, 0), b.compare(LT, other, 0))
    wrong = b.emit(Opcode.AND, b.compare(NE, rest, 0), apart)
    return b.select(wrong, b.add(rest, other), rest, rest.kind)


def pow_(b: Builder, x: Operand, y: Operand) -> Value:
    kind = b.common_kind(x, y)
    if isinstance(x, Value) and isinstance(y, int | float) and not isinstance(y, bool):
        easy = _easy_power(b, b.convert(x, kind), y)
        if easy is not None:
            return easy
    return b.emit(Opcode.POWER, *b.aligned(kind, x, y))


def _easy_power(b: Builder, x: Value, y: float) -> Value | None:
    """The powers that PyTorch computes without a logarithm."""
    if y == 2:
        return b.multiply(x, x)
    if y == 3:
        return b.multiply(b.multiply(x, x), x)
    if y == 1:
        return x
    if not x.kind.is_float:
        return None
    if y == 0.5:
        return b.emit(Opcode.SQRT, x)
    if y == -0.5:
        return b.emit(Opcode.RSQRT, x)
    return b.divide(1, x) if y == -1 else None


def neg(b: Builder, x: Value) -> Value:
    return b.emit(Opcode.NEGATE, x)


def abs_(b: Builder, x: Value) -> Value:
    return x if x.kind is ElementType.PRED or x.kind.is_unsigned else b.emit(Opcode.ABS, x)


def sign(b: Builder, x: Value) -> Value:
    if x.kind.is_float:
        up = b.convert(b.compare(GT, x, 0), x.kind)
        return b.subtract(up, b.convert(b.compare(LT, x, 0), x.kind))
    return x if x.kind is ElementType.PRED else b.emit(Opcode.SIGN, x)


def sgn(b: Builder, x: Value) -> Value:
    return b.emit(Opcode.SIGN, x) if x.kind.is_complex else sign(b, x)


def reciprocal(b: Builder, x: Value) -> Value:
    return b.divide(1, floating(b, x))


def round_(b: Builder, x: Value, *, decimals: int = 0) -> Value:
    if not x.kind.is_float:
        return x
    if decimals == 0:
        return b.emit(Opcode.ROUND_NEAREST_EVEN, x)
    scale = float(10 ** abs(decimals))
    if decimals < 0:
        return b.multiply(b.emit(Opcode.ROUND_NEAREST_EVEN, b.divide(x, scale)), scale)
    return b.divide(b.emit(Opcode.ROUND_NEAREST_EVEN, b.multiply(x, scale)), scale)


def frac(b: Builder, x: Value) -> Value:
    return b.subtract(x, trunc(b, x))


def exp2(b: Builder, x: Value) -> Value:
    return b.emit(Opcode.POWER, *b.aligned(as_float(x.kind), 2, x))


def _log_base(base: float) -> Rule:
    def rule(b: Builder, x: Value) -> Value:
        return b.multiply(b.emit(Opcode.LOG, floating(b, x)), 1 / math.log(base))

    return rule


def erfc(b: Builder, x: Value) -> Value:
    return b.subtract(1, b.emit(Opcode.ERF, floating(b, x)))


def hypot(b: Builder, x: Value, y: Value) -> Value:
    one, other = abs_(b, x), abs_(b, y)
    large, small = b.binary(Opcode.MAXIMUM, one, other), b.binary(Opcode.MINIMUM, one, other)
    ratio = b.divide(small, b.select(b.compare(EQ, large, 0), 1, large, large.kind))
    return b.multiply(large, b.emit(Opcode.SQRT, b.add(b.multiply(ratio, ratio), 1)))


def copysign(b: Builder, x: Value, y: Operand) -> Value:
    kind = as_float(b.common_kind(x, y))
    size, other = b.aligned(kind, b.convert(abs_(b, x), kind), y)
    below = b.compare(LT, other, 0)
    # The sign of -0 shows only in its reciprocal.
    minus_zero = b.emit(Opcode.AND, b.compare(EQ, other, 0), b.compare(LT, b.divide(1, other), 0))
    return b.select(b.emit(Opcode.OR, below, minus_zero), b.emit(Opcode.NEGATE, size), size, kind)


def fmax(b: Builder, x: Operand, y: Operand) -> Value:
    """The larger one; NaN only where both are."""
    return _ignoring_nan(b, Opcode.MAXIMUM, x, y)


def fmin(b: Builder, x: Operand, y: Operand) -> Value:
    return _ignoring_nan(b, Opcode.MINIMUM, x, y)


def _ignoring_nan(b: Builder, opcode: Opcode, x: Operand, y: Operand) -> Value:
    one, other = b.aligned(b.common_kind(x, y), x, y)
    found = b.emit(opcode, one, other)
    if not found.kind.is_float:
        return found
    found = b.select(b.is_nan(one), other, found, found.kind)
    return b.select(b.is_nan(other), one, found, found.kind)


def xlogy(b: Builder, x: Operand, y: Operand) -> Value:
    one, other = b.aligned(as_float(b.common_kind(x, y)), x, y)
    product = b.multiply(one, b.emit(Opcode.LOG, other))
    return b.select(
        b.is_nan(other), other, b.select(b.compare(EQ, one, 0), 0, product, one.kind), one.kind
    )


def addcmul(b: Builder, x: Value, one: Value, other: Value, value: Number = 1) -> Value:
    return b.add(x, _scaled(b, b.multiply(one, other), value))


def addcdiv(b: Builder, x: Value, one: Value, other: Value, value: Number = 1) -> Value:
    return b.add(x, b.divide(_scaled(b, one, value), other))


def fma(b: Builder, one: Operand, other: Operand, addend: Operand) -> Value:
    return b.add(b.multiply(one, other), addend)


def lerp(b: Builder, start: Value, end: Value, weight: Operand) -> Value:
    """From whichever end is nearer, as PyTorch computes it."""
    distance = b.subtract(end, start)
    near = b.add(start, b.multiply(distance, weight))
    far = b.subtract(end, b.multiply(distance, b.subtract(1, weight) if isinstance(weight, Value)
                                     else 1 - weight))  # fmt: skip
    if not isinstance(weight, Value):
        return near if abs(weight) < 0.5 else far
    return b.select(b.compare(LT, b.emit(Opcode.ABS, weight), 0.5), near, far, near.kind)


TABLE: dict[str, Rule] = {
    **{
        f"aten.{name}": _float_unary(opcode)
        for name, opcode in {
            "acos": Opcode.ACOS, "acosh": Opcode.ACOSH, "asin": Opcode.ASIN,
            "asinh": Opcode.ASINH, "atan": Opcode.ATAN, "atanh": Opcode.ATANH,
            "cos": Opcode.COS, "cosh": Opcode.COSH, "sin": Opcode.SIN, "sinh": Opcode.SINH,
            "tan": Opcode.TAN, "tanh": Opcode.TANH, "exp": Opcode.EXP, "expm1": Opcode.EXPM1,
            "log": Opcode.LOG, "log1p": Opcode.LOG1P, "sqrt": Opcode.SQRT, "rsqrt": Opcode.RSQRT,
            "erf": Opcode.ERF, "sigmoid": Opcode.LOGISTIC,
        }.items()
    },
    **{
        f"aten.{name}": _binary(opcode)
        for name, opcode in {
            "maximum": Opcode.MAXIMUM, "minimum": Opcode.MINIMUM, "atan2": Opcode.ATAN2,
            "bitwise_and": Opcode.AND, "bitwise_or": Opcode.OR, "bitwise_xor": Opcode.XOR,
            "bitwise_left_shift": Opcode.SHIFT_LEFT, "__lshift__": Opcode.SHIFT_LEFT,
        }.items()
    },
    "aten.bitwise_not": _unary(Opcode.NOT),
    "aten.ceil": _rounding(Opcode.CEIL), "aten.floor": _rounding(Opcode.FLOOR),
    "aten.trunc": trunc, "aten.round": round_, "aten.frac": frac,
    "aten.add": add, "aten.sub": sub, "aten.rsub": rsub, "aten.mul": mul, "aten.div": div,
    "aten.floor_divide": floor_divide, "aten.fmod": fmod, "aten.remainder": remainder,
    "aten.pow": pow_, "aten.neg": neg, "aten.abs": abs_, "aten.sign": sign, "aten.sgn": sgn,
    "aten.reciprocal": reciprocal, "aten.exp2": exp2, "aten.log2": _log_base(2.0),
    "aten.log10": _log_base(10.0), "aten.erfc": erfc, "aten.hypot": hypot,
    "aten.copysign": copysign, "aten.fmax": fmax, "aten.fmin": fmin, "aten.xlogy": xlogy,
    "aten.addcmul": addcmul, "aten.addcdiv": addcdiv, "prims.fma": fma, "aten.lerp": lerp,
    "prims.div": same_type_divide,
    "aten.real": lambda b, x: b.emit(Opcode.REAL, x) if x.kind.is_complex else x,
    "aten.imag": _unary(Opcode.IMAG),
}  # fmt: skip
"""Rules by operator, overloads sharing one."""
