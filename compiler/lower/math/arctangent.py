"""atan2, and atan, asin and acos through it.

The smaller of |y| and |x| divided by the larger one is t in 0..1, where a polynomial gives atan(t)
= t + t^3 p(t^2); reflections at pi/4, pi/2 and 0 give the rest (Muller, chapter 11). The pairs with
two zeros or two infinities are quotients by convention (IEEE 754-2019, section 9.2.1). Polynomials:
tests/lower/minimax.py.
"""

from __future__ import annotations

from compiler.llvm.ir import Predicate, Value
from compiler.lower.arithmetic import Arithmetic

_F32 = (
    -0.0017803863156586885, 0.010859067551791668, -0.031081410124897957, 0.05786808952689171,
    -0.08398666232824326, 0.10950709134340286, -0.1426399201154709, 0.19998528063297272,
    -0.33333298563957214,
)  # fmt: skip
_F64 = (
    1.3198385773601926e-05, -0.000151906346626942, 0.0008302029994943436, -0.0028819122197523677,
    0.007190983985493772, -0.01389322858003889, 0.021977575240414916, -0.029898360090141997,
    0.03663872249445134, -0.04219036904552796, 0.0472227390347666, -0.052535061953938825,
    0.058805255021190495, -0.0666640375669283, 0.07692279814974297, -0.09090907002204977,
    0.1111111100707502, -0.1428571428258109, 0.19999999999951676, -0.3333333333333307,
)  # fmt: skip
# pi and pi/2 as a sum of two floats each.
_PI = {
    32: (3.1415927410125732, -8.742277657347586e-08),
    64: (3.141592653589793, 1.2246467991473532e-16),
}


def _from(a: Arithmetic, high: float, low: float, angle: Value) -> Value:
    """(high + low) - angle."""
    return a.fadd(a.number(angle.type, high), a.fsub(a.number(angle.type, low), angle))


def atan2(a: Arithmetic, y: Value, x: Value) -> Value:
    type = x.type
    high, low = _PI[type.bits]
    height, width = a.fabs(y), a.fabs(x)
    is_steep = a.fcmp(Predicate.OGT, height, width)
    larger = a.select(is_steep, height, width)
    smaller = a.select(is_steep, width, height)
    t = a.fdiv(smaller, larger)
    t = a.select(a.fcmp(Predicate.OEQ, larger, a.number(type, 0.0)), a.number(type, 0.0), t)
    both = a.fcmp(Predicate.OEQ, smaller, a.number(type, float("inf")))
    t = a.select(both, a.number(type, 1.0), t)
    square = a.fmul(t, t)
    angle = a.fma(a.fmul(square, t), a.horner(square, _F32 if type.bits == 32 else _F64), t)
    angle = a.select(is_steep, _from(a, high / 2, low / 2, angle), angle)
    is_left = a.icmp(Predicate.SLT, a.bits(x), a.number(x.type.as_int(), 0))
    angle = a.select(is_left, _from(a, high, low, angle), angle)
    result = a.flip_sign(angle, a.sign_bit(y))
    is_number = a.fcmp(Predicate.ORD, x, y)
    return a.select(is_number, result, a.fadd(x, y))


def atan(a: Arithmetic, x: Value) -> Value:
    return atan2(a, x, a.number(x.type, 1.0))


def _other_leg(a: Arithmetic, x: Value) -> Value:
    """sqrt(1 - x^2) without cancellation."""
    one = a.number(x.type, 1.0)
    return a.sqrt(a.fmul(a.fsub(one, x), a.fadd(one, x)))


def asin(a: Arithmetic, x: Value) -> Value:
    return atan2(a, x, _other_leg(a, x))


def acos(a: Arithmetic, x: Value) -> Value:
    return atan2(a, _other_leg(a, x), x)
