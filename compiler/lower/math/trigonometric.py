"""sin, cos and tan.

|x| = k*(pi/2) + r with |r| <= pi/4; pi/2 is subtracted in three parts by fused multiply-add, so
that the first step is exact and the parts hold 72 (159) bits (Cody and Waite, chapter 8; Muller,
chapter 11). k mod 4 chooses between the two polynomials and the sign. Good to 4 units in the last
place for |x| <= 2^20, the limit of this scheme in f32; the polynomials reach a little beyond pi/4,
because there k is rounded from a product that is off by up to 0.03. Polynomials:
tests/lower/minimax.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.llvm.ir import Predicate, Value
from compiler.llvm.types import Type
from compiler.lower.arithmetic import Arithmetic
from compiler.lower.math.exponential import nearest_integer


@dataclass(frozen=True, slots=True)
class TrigonometricTable:
    """`half_pi` are parts of pi/2; `sine` and `cosine` polynomials in r^2."""

    two_over_pi: float
    half_pi: tuple[float, float, float]
    magic: float
    sine: tuple[float, ...]
    cosine: tuple[float, ...]


_F32 = TrigonometricTable(
    0.6366197466850281,
    (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
    1.5 * 2.0**23,
    (-0.00019480324408505112, 0.008331905119121075, -0.16666650772094727),
    (2.439101444906555e-05, -0.0013886945089325309, 0.04166663810610771),
)
_F64 = TrigonometricTable(
    0.6366197723675814,
    (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
    1.5 * 2.0**52,
    (1.587707986079238e-10, -2.5050409913845838e-08, 2.7557311422506182e-06,
     -0.00019841269823162857, 0.008333333333314041, -0.166666666666666),
    (-1.134696434198868e-11, 2.0875475951616977e-09, -2.7557312528452475e-07,
     2.480158728322029e-05, -0.0013888888888864343, 0.041666666666666546),
)  # fmt: skip
LIMIT = 2.0**22
"""Beyond, k no longer fits; such arguments count as 0 (infinities as NaN)."""


def table_of(type: Type) -> TrigonometricTable:
    return _F32 if type.bits == 32 else _F64


def _reduced(a: Arithmetic, size: Value) -> tuple[Value, Value]:
    """(k, r) of size = k*(pi/2) + r, for size >= 0; k as an integer whose low bits are right."""
    table = table_of(size.type)
    is_beyond = a.fcmp(Predicate.OGT, size, a.number(size.type, LIMIT))
    size = a.select(is_beyond, a.fmul(size, a.number(size.type, 0.0)), size)
    t = a.fma(size, a.number(size.type, table.two_over_pi), a.number(size.type, table.magic))
    whole, k = nearest_integer(a, t, table.magic)
    r = size
    for part in table.half_pi:
        r = a.fma(whole, a.number(size.type, -part), r)
    return k, r


def _polynomials(a: Arithmetic, r: Value) -> tuple[Value, Value]:
    """(sin r, cos r)."""
    table, type = table_of(r.type), r.type
    square = a.fmul(r, r)
    sine = a.fma(a.fmul(square, r), a.horner(square, table.sine), r)
    half = a.fma(square, a.number(type, -0.5), a.number(type, 1.0))
    lost = a.fma(square, a.number(type, -0.5), a.fsub(a.number(type, 1.0), half))
    fourth = a.fmul(square, square)
    cosine = a.fadd(half, a.fma(fourth, a.horner(square, table.cosine), lost))
    return sine, cosine


def _by_quadrant(a: Arithmetic, k: Value, r: Value) -> Value:
    """The sine of k*(pi/2) + r."""
    sine, cosine = _polynomials(a, r)
    one = a.number(k.type, 1)
    is_odd = a.icmp(Predicate.NE, a.iand(k, one), a.number(k.type, 0))
    sign = a.shl(a.iand(k, a.number(k.type, 2)), k.type.bits - 2)
    return a.flip_sign(a.select(is_odd, cosine, sine), sign)


def sin(a: Arithmetic, x: Value) -> Value:
    k, r = _reduced(a, a.fabs(x))
    return a.flip_sign(_by_quadrant(a, k, r), a.sign_bit(x))


def cos(a: Arithmetic, x: Value) -> Value:
    k, r = _reduced(a, a.fabs(x))
    return _by_quadrant(a, a.iadd(k, a.number(k.type, 1)), r)


def tan(a: Arithmetic, x: Value) -> Value:
    """sin/cos, or -cos/sin in odd quadrants."""
    k, r = _reduced(a, a.fabs(x))
    sine, cosine = _polynomials(a, r)
    is_odd = a.icmp(Predicate.NE, a.iand(k, a.number(k.type, 1)), a.number(k.type, 0))
    above = a.select(is_odd, cosine, sine)
    below = a.select(is_odd, a.fneg(sine), cosine)
    return a.flip_sign(a.fdiv(above, below), a.sign_bit(x))
