"""tanh, sinh, cosh, their inverses, and the logistic function, all through expm1, exp, log and
log1p.

tanh(x) = e/(e+2) with e = expm1(2|x|) is accurate down to the smallest numbers, because expm1 is,
and needs no choice between a polynomial and an exponential (Muller, chapter 11). Large arguments
are halved before the exponential and the result squared, so that nothing overflows before the
result does.
"""

from __future__ import annotations

from compiler.llvm.ir import Predicate, Value
from compiler.lower.arithmetic import Arithmetic
from compiler.lower.math.exponential import clamp, exp, expm1, expm1_in_range
from compiler.lower.math.logarithm import log, log1p

LN2 = 0.6931471805599453


def tanh(a: Arithmetic, x: Value) -> Value:
    limit = 10.0 if x.type.bits == 32 else 20.0
    size = clamp(a, a.fabs(x), 0.0, limit)
    e = expm1_in_range(a, a.fadd(size, size))
    return a.flip_sign(a.fdiv(e, a.fadd(e, a.number(x.type, 2.0))), a.sign_bit(x))


def logistic(a: Arithmetic, x: Value) -> Value:
    """1/(1+exp(-x)), by exp(-|x|) <= 1 on both sides."""
    one = a.number(x.type, 1.0)
    e = exp(a, a.fneg(a.fabs(x)))
    above = a.select(a.fcmp(Predicate.OLT, x, a.number(x.type, 0.0)), e, one)
    return a.fdiv(above, a.fadd(e, one))


def _large(a: Arithmetic, size: Value) -> tuple[Value, Value]:
    """(size > 20, exp(size)/2 without early overflow)."""
    half = a.number(size.type, 0.5)
    root = exp(a, a.fmul(size, half))
    is_large = a.fcmp(Predicate.OGT, size, a.number(size.type, 20.0))
    return is_large, a.fmul(a.fmul(root, half), root)


def sinh(a: Arithmetic, x: Value) -> Value:
    size, one, half = a.fabs(x), a.number(x.type, 1.0), a.number(x.type, 0.5)
    e = expm1(a, size)
    small = a.fmul(half, a.fadd(e, a.fdiv(e, a.fadd(e, one))))
    is_tiny = a.fcmp(Predicate.OLT, size, a.number(x.type, 2.0 ** -(x.type.bits // 3 + 3)))
    small = a.select(is_tiny, size, small)
    is_large, large = _large(a, size)
    return a.flip_sign(a.select(is_large, large, small), a.sign_bit(x))


def cosh(a: Arithmetic, x: Value) -> Value:
    size, half = a.fabs(x), a.number(x.type, 0.5)
    e = exp(a, size)
    small = a.fma(half, e, a.fdiv(half, e))
    is_large, large = _large(a, size)
    return a.select(is_large, large, small)


def atanh(a: Arithmetic, x: Value) -> Value:
    size, one = a.fabs(x), a.number(x.type, 1.0)
    ratio = a.fdiv(a.fadd(size, size), a.fsub(one, size))
    result = a.fmul(a.number(x.type, 0.5), log1p(a, ratio))
    is_tiny = a.fcmp(Predicate.OLT, size, a.number(x.type, 2.0 ** -(x.type.bits // 3 + 3)))
    return a.flip_sign(a.select(is_tiny, size, result), a.sign_bit(x))


def _log_twice(a: Arithmetic, size: Value) -> tuple[Value, Value]:
    """(size is too large to square, log(2*size))."""
    limit = a.number(size.type, 2.0 ** (size.type.bits // 2 - 2))
    doubled = a.fadd(log(a, size), a.number(size.type, LN2))
    return a.fcmp(Predicate.OGT, size, limit), doubled


def asinh(a: Arithmetic, x: Value) -> Value:
    size, one = a.fabs(x), a.number(x.type, 1.0)
    square = a.fmul(size, size)
    ratio = a.fdiv(square, a.fadd(one, a.sqrt(a.fadd(square, one))))
    small = log1p(a, a.fadd(size, ratio))
    is_large, large = _log_twice(a, size)
    return a.flip_sign(a.select(is_large, large, small), a.sign_bit(x))


def acosh(a: Arithmetic, x: Value) -> Value:
    excess = a.fsub(x, a.number(x.type, 1.0))
    root = a.sqrt(a.fmul(excess, a.fadd(x, a.number(x.type, 1.0))))
    small = log1p(a, a.fadd(excess, root))
    is_large, large = _log_twice(a, x)
    return a.select(is_large, large, small)
