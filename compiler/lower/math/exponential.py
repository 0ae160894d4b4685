"""exp and expm1.

x = k*ln2 + r with |r| <= ln2/2 (W. Cody, W. Waite, Software Manual for the Elementary Functions,
1980, chapter 6): ln2 is split in two so that k times its upper part is exact and the subtraction
loses nothing. A polynomial gives expm1(r) = r + r^2 q(r), and 2^k is put together from its bits, in
two factors so that results below the normal range are rounded once, by the last multiplication. k
is rounded to an integer by adding and subtracting 1.5 * 2^23 (2^52), which also leaves it in the
low bits of the sum.

The polynomials are minimax with respect to the relative error of expm1 (tests/lower/minimax.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.llvm.ir import Predicate, Value
from compiler.llvm.types import Type
from compiler.lower.arithmetic import Arithmetic


@dataclass(frozen=True, slots=True)
class ExpTable:
    """What differs between precisions. exp is 0 below `low` and infinite above `high`; expm1 is -1
    below `minus_one` and x below `tiny`."""

    low: float
    high: float
    minus_one: float
    tiny: float
    log2_e: float
    ln2_high: float
    ln2_low: float
    magic: float
    mantissa: int
    bias: int
    q: tuple[float, ...]


_F32 = ExpTable(
    -104.0, 89.0, -25.0, 2.0**-25,
    1.4426950216293335, 0.693145751953125, 1.428606765330187e-06,
    1.5 * 2.0**23, 23, 127,
    (0.001391698606312275, 0.008367039263248444, 0.04166661202907562, 0.16666539013385773, 0.5),
)  # fmt: skip
_F64 = ExpTable(
    -746.0, 710.0, -60.0, 2.0**-54,
    1.4426950408889634, 0.693147180559663, 2.8235290563031577e-13,
    1.5 * 2.0**52, 52, 1023,
    (2.511446194217488e-08, 2.7626282879363933e-07, 2.7557228003712688e-06, 2.480150457228083e-05,
     0.00019841269902955413, 0.0013888888932253416, 0.008333333333314638, 0.04166666666657411,
     0.16666666666666685, 0.5000000000000006),
)  # fmt: skip


def table_of(type: Type) -> ExpTable:
    return _F32 if type.bits == 32 else _F64


def clamp(a: Arithmetic, x: Value, low: float, high: float) -> Value:
    """x kept in low..high; NaN stays."""
    least, most = a.number(x.type, low), a.number(x.type, high)
    x = a.select(a.fcmp(Predicate.OGT, x, most), most, x)
    return a.select(a.fcmp(Predicate.OLT, x, least), least, x)


def nearest_integer(a: Arithmetic, t: Value, magic: float) -> tuple[Value, Value]:
    """Of t = y + magic: y rounded to an integer, as a float and as an integer of the same width."""
    integer = a.isub(a.bits(t), a.bits(a.number(t.type, magic)))
    return a.fsub(t, a.number(t.type, magic)), integer


def power_of_two(a: Arithmetic, k: Value, type: Type) -> Value:
    """2^k, for an integer k in the exponent range of normal numbers."""
    table = table_of(type)
    biased = a.iadd(k, a.number(k.type, table.bias))
    return a.bitcast(a.shl(biased, table.mantissa), type)


def reduced(a: Arithmetic, x: Value, extra: Value | None = None) -> tuple[Value, Value]:
    """(k, expm1(r)) of x + extra = k*ln2 + r, for x within the clamps; `extra` is a small
    correction."""
    table = table_of(x.type)
    t = a.fma(x, a.number(x.type, table.log2_e), a.number(x.type, table.magic))
    whole, k = nearest_integer(a, t, table.magic)
    r = a.fma(whole, a.number(x.type, -table.ln2_high), x)
    r = a.fma(whole, a.number(x.type, -table.ln2_low), r)
    if extra is not None:
        r = a.fadd(r, extra)
    return k, a.fma(a.fmul(r, r), a.horner(r, table.q), r)


def scaled(a: Arithmetic, value: Value, k: Value) -> Value:
    """value * 2^k, rounded once even where the result is subnormal."""
    first = a.ashr(k, 1)
    second = a.isub(k, first)
    once = a.fmul(value, power_of_two(a, first, value.type))
    return a.fmul(once, power_of_two(a, second, value.type))


def exp(a: Arithmetic, x: Value) -> Value:
    table = table_of(x.type)
    k, tail = reduced(a, clamp(a, x, table.low, table.high))
    return scaled(a, a.fadd(tail, a.number(x.type, 1.0)), k)


def exp_in_range(a: Arithmetic, x: Value) -> Value:
    """exp where neither x nor its exponential leaves the normal range."""
    k, tail = reduced(a, x)
    return a.fmul(a.fadd(tail, a.number(x.type, 1.0)), power_of_two(a, k, x.type))


def expm1_in_range(a: Arithmetic, x: Value) -> Value:
    """expm1 between the clamps: 2*(2^(k-1)*tail + (2^(k-1) - 1/2)), which neither overflows early
    nor cancels."""
    k, tail = reduced(a, x)
    half = power_of_two(a, a.isub(k, a.number(k.type, 1)), x.type)
    total = a.fma(half, tail, a.fsub(half, a.number(x.type, 0.5)))
    return a.fadd(total, total)


def expm1(a: Arithmetic, x: Value) -> Value:
    table = table_of(x.type)
    general = expm1_in_range(a, clamp(a, x, table.minus_one, table.high))
    is_tiny = a.fcmp(Predicate.OLT, a.fabs(x), a.number(x.type, table.tiny))
    return a.select(is_tiny, x, general)
