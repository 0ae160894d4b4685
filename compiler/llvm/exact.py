"""Exactly rounded fused multiply-add on NumPy values, and narrowing without double rounding.

NumPy has no fma. For formats up to binary32 the product of two values is exact in binary64; only
the sum must not be rounded twice. Rounding it to *odd* (towards the neighbour whose last bit is 1
whenever it is inexact) keeps a sticky bit, and a later rounding to nearest of a format at least two
bits narrower is then right. For binary64 the product is split into two doubles (Dekker, 1971) and
the three-term sum is rounded as in Boldo and Melquiond, "Emulation of a FMA and correctly rounded
sums: proved algorithms using rounding to odd" (2008); elements whose exponents could overflow or
underflow on the way go through fractions.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from compiler.llvm.numbers import double_bits, double_from_bits

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

# A NumPy scalar or array; both obey the same operators.
Number = Any

_SPLITTER = 134217729.0  # 2**27 + 1, splits a binary64 into two halves (Veltkamp)


def fma(a: Number, b: Number, c: Number) -> Number:
    """a * b + c rounded once, elementwise; the operands share a dtype (f16, bf16, f32, f64)."""
    dtype = a.dtype
    is_scalar = np.ndim(a) == np.ndim(b) == np.ndim(c) == 0
    if dtype == np.float64:
        if is_scalar:
            return np.float64(fma_scalar(float(a), float(b), float(c)))
        return _fma_double(a, b, c)
    if dtype == np.float32:
        if is_scalar:
            return np.float32(_odd_fma(float(a), float(b), float(c)))
        return _fma_single(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))
    product = a.astype(np.float64) * b.astype(np.float64)
    return narrow(_odd_sum(product, c.astype(np.float64)), dtype)


def _odd_fma(a: float, b: float, c: float) -> float:
    """a * b + c for factors of at most 26 bits, rounded to odd in binary64."""
    product = a * b
    total, error = _two_sum(product, c)
    if error == 0.0 or not math.isfinite(total):
        return total
    bits = double_bits(total)
    if bits & 1:
        return total
    return double_from_bits(bits + (1 if (error > 0) == (total > 0) else -1))


def _fma_single(product: Number, c: Number) -> Number:
    """The sum as binary32. Rounding twice only errs where the binary64 lies half way between two
    binary32 (or is subnormal there), so the careful way is taken only then."""
    total = product + c
    bits = np.asarray(total).view(np.int64)
    risky = (bits & 0x1FFFFFFF) == 0x10000000
    risky |= (np.abs(total) < 2.0**-125) & (total != 0)
    if risky.any():
        total = _odd_sum(product, c)
    return total.astype(np.float32)


def narrow(value: Number, dtype: np.dtype[Any]) -> Number:
    """A binary64 rounded to nearest even into `dtype`."""
    if dtype == BFLOAT16:
        value = np.asarray(value, dtype=np.float64)
        single = value.astype(np.float32)
        return _odd_single(value, single).astype(BFLOAT16)[()]
    return np.asarray(value).astype(dtype)[()]


def _two_sum(a: Number, b: Number) -> tuple[Number, Number]:
    """The rounded sum and its error (Knuth)."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def _odd_sum(a: Number, b: Number) -> Number:
    """a + b in binary64, rounded to odd."""
    total, error = _two_sum(a, b)
    return _make_odd(np.asarray(total), error)


def _make_odd(total: Number, error: Number) -> Number:
    """Moves an inexact, even `total` one step towards its `error`."""
    bits = total.view(np.int64)
    inexact = np.isfinite(total) & np.isfinite(error) & (error != 0) & (bits & 1 == 0)
    step = np.where((error > 0) == (total > 0), 1, -1)
    # A total of zero is exact: two doubles that cancel leave no error.
    return np.where(inexact, bits + step, bits).view(np.float64)


def _odd_single(value: Number, single: Number) -> Number:
    """`value` in binary32, rounded to odd; `single` is its nearest binary32."""
    error = value - single.astype(np.float64)
    bits = single.view(np.int32)
    inexact = np.isfinite(single) & (error != 0) & (bits & 1 == 0)
    grows = (error > 0) == (value > 0)
    return np.where(inexact, bits + np.where(grows, 1, -1), bits).astype(np.int32).view(np.float32)


def _split(a: Number) -> tuple[Number, Number]:
    scaled = a * _SPLITTER
    high = scaled - (scaled - a)
    return high, a - high


def _two_product(a: Number, b: Number) -> tuple[Number, Number]:
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _fma_double(a: Number, b: Number, c: Number) -> Number:
    a, b, c = np.broadcast_arrays(a, b, c)
    upper, lower = _two_product(a, b)
    tail_high, tail_low = _two_sum(c, lower)
    value, rest = _two_sum(upper, tail_high)
    result = np.asarray(value + _odd_sum(tail_low, rest))
    no_product = (a == 0) | (b == 0)
    result = np.where(no_product, upper + c, result)
    for index in zip(*np.nonzero(~(no_product | _is_tame(a, b, c)))):
        result[index] = fma_scalar(float(a[index]), float(b[index]), float(c[index]))
    return result[()]


def _is_tame(a: Number, b: Number, c: Number) -> Number:
    """Where no step of the splitting can overflow or lose bits below the smallest subnormal."""
    tame = np.ones(np.shape(a), dtype=bool)
    for value in (a, b):
        size = np.abs(value)
        tame &= (size < 2.0**480) & (size > 2.0**-480)
    size = np.abs(c)
    return tame & (size < 2.0**960) & ((size > 2.0**-900) | (size == 0))


def fma_scalar(a: float, b: float, c: float) -> float:
    """The binary64 fma of any three Python floats, by exact arithmetic."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        # The sign of an exact zero is that of the two-step sum: the product's sign survives in a *
        # b only if it does not underflow, so it is taken from the operands.
        product = math.copysign(0.0, math.copysign(1.0, a) * math.copysign(1.0, b))
        return product + c if a == 0 or b == 0 else 0.0
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
