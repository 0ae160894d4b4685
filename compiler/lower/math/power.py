"""pow(x, y) = exp(y * log|x|), with the logarithm and the product carried as two floats each.

The exponential multiplies an error of its argument by up to 88 (709), so log|x| needs seven (ten)
bits more than the type has. log(1+f) = 2s + s^3 p(s^2) with s = f/(2+f) (Muller, chapter 11): the
quotient's remainder is computed by fma and gives the low part of 2s; the rest is small enough for
one float. Special cases follow IEEE 754-2019, section 9.2.1. Polynomials: tests/lower/minimax.py.
"""

from __future__ import annotations

from compiler.llvm.ir import Predicate, Value
from compiler.lower.arithmetic import Arithmetic
from compiler.lower.math.exponential import clamp, reduced, scaled
from compiler.lower.math.exponential import table_of as exp_table
from compiler.lower.math.logarithm import LOG_F64, split, table_of

_F32 = (0.2428729236125946, 0.2849843502044678, 0.40000975131988525, 0.6666666269302368)


def _two_sum(a: Arithmetic, x: Value, y: Value) -> tuple[Value, Value]:
    """x + y as a float and what it lost, where |x| >= |y| or x is 0 (T. J. Dekker, 1971)."""
    total = a.fadd(x, y)
    return total, a.fsub(y, a.fsub(total, x))


def _log(a: Arithmetic, x: Value) -> tuple[Value, Value]:
    """log of a positive finite x as high + low."""
    type, table = x.type, table_of(x.type)
    two = a.number(type, 2.0)
    k, f = split(a, x)
    below = a.fadd(f, two)
    below_lost = a.fsub(f, a.fsub(below, two))
    s = a.fdiv(f, below)
    left = a.fma(a.fneg(s), below, f)
    left = a.fma(a.fneg(s), below_lost, left)
    s_low = a.fdiv(left, below)
    square = a.fmul(s, s)
    tail = a.fmul(a.fmul(square, s), a.horner(square, _F32 if type.bits == 32 else LOG_F64))
    small = a.fma(two, s_low, tail)
    high, lost = _two_sum(a, a.fmul(k, a.number(type, table.ln2_high)), a.fadd(s, s))
    low = a.fma(k, a.number(type, table.ln2_low), a.fadd(lost, small))
    return _two_sum(a, high, low)


def _positive_power(a: Arithmetic, size: Value, y: Value) -> Value:
    """size**y for a positive finite size and any y."""
    type, table = y.type, exp_table(y.type)
    high, low = _log(a, size)
    product = a.fmul(y, high)
    is_moderate = a.fcmp(Predicate.OLT, a.fabs(product), a.number(type, 2 * table.high))
    lost = a.fma(y, high, a.fneg(product))
    extra = a.select(is_moderate, a.fma(y, low, lost), a.number(type, 0.0))
    k, tail = reduced(a, clamp(a, product, table.low, table.high), extra)
    return scaled(a, a.fadd(tail, a.number(type, 1.0)), k)


def _parity(a: Arithmetic, y: Value) -> tuple[Value, Value]:
    """(y is an integer, y is an odd integer)."""
    half = a.fmul(y, a.number(y.type, 0.5))
    is_whole = a.fcmp(Predicate.OEQ, a.rounding("trunc", y), y)
    is_halved = a.fcmp(Predicate.UNE, a.rounding("trunc", half), half)
    return is_whole, a.iand(is_whole, is_halved)


def power(a: Arithmetic, x: Value, y: Value) -> Value:
    type = x.type
    zero, one = a.number(type, 0.0), a.number(type, 1.0)
    infinity, nan = a.number(type, float("inf")), a.number(type, float("nan"))
    size = a.fabs(x)
    is_plain = a.iand(a.fcmp(Predicate.OGT, size, zero), a.fcmp(Predicate.OLT, size, infinity))
    is_whole, is_odd = _parity(a, y)
    result = _positive_power(a, a.select(is_plain, size, one), y)
    # a base of 0 or infinity: 0 or infinity, as the sign of the exponent has it
    grows = a.ixor(a.fcmp(Predicate.OEQ, size, zero), a.fcmp(Predicate.OGT, y, zero))
    result = a.select(is_plain, result, a.select(grows, infinity, zero))
    sign = a.select(is_odd, a.sign_bit(x), a.number(type.as_int(), 0))
    result = a.flip_sign(result, sign)
    is_imaginary = a.iand(a.iand(a.fcmp(Predicate.OLT, x, zero), is_plain), a.inot(is_whole))
    result = a.select(is_imaginary, nan, result)
    # an infinite exponent: 0, 1 or infinity by the size of the base
    is_endless = a.fcmp(Predicate.OEQ, a.fabs(y), infinity)
    rises = a.ixor(a.fcmp(Predicate.OLT, size, one), a.fcmp(Predicate.OGT, y, zero))
    endless = a.select(a.fcmp(Predicate.OEQ, size, one), one, a.select(rises, infinity, zero))
    result = a.select(is_endless, endless, result)
    result = a.select(a.fcmp(Predicate.UNO, x, y), a.fadd(x, y), result)
    is_one = a.ior(a.fcmp(Predicate.OEQ, x, one), a.fcmp(Predicate.OEQ, y, zero))
    return a.select(is_one, one, result)
