"""Transcendental functions: computed in float64 or complex128, rounded once to the operand's
type.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from compiler.hlo.evaluate.elementwise import multiply
from compiler.hlo.evaluate.numbers import exact, kind_of, narrowed

Array = np.ndarray
_erf = np.frompyfunc(math.erf, 1, 1)


def lifted(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A float64 and complex128 function as one on every inexact type."""

    def apply(array: Array) -> Array:
        return narrowed(np.asarray(function(exact(array))), kind_of(array))

    return apply


def _erf64(x: Array) -> Array:
    return np.asarray(_erf(x), dtype=np.float64)


def _logistic(x: Array) -> Array:
    if np.iscomplexobj(x):
        is_small = x.real < -300.0
        return np.where(is_small, np.exp(x), 1.0 / (1.0 + np.exp(np.where(is_small, 0, -x))))
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0 / (1.0 + small), small / (1.0 + small))


def _expm1(x: Array) -> Array:
    """The complex one without cancelling: exp(a) cos(b) - 1 = expm1(a) cos(b) - 2 sin(b/2)²."""
    if not np.iscomplexobj(x):
        return np.expm1(x)
    half = np.sin(0.5 * x.imag)
    real = np.expm1(x.real) * np.cos(x.imag) - 2.0 * half * half
    imaginary = np.where(x.imag == 0, x.imag, np.exp(x.real) * np.sin(x.imag))
    return _complex_of(np.where(np.isfinite(x), real, np.expm1(x).real), imaginary)


_FAR = 2.0**600
"""Where adding 1 changes nothing, and the sum of squares would overflow."""


def _log1p(x: Array) -> Array:
    """The complex one as log1p(a (2 + a) + b²) / 2 near zero of the result, the sum compensated."""
    if not np.iscomplexobj(x):
        return np.log1p(x)
    near = (np.abs(x.real) < 3.0) & (np.abs(x.imag) < 3.0)
    a, b = np.where(near, x.real, 0.0), np.where(near, x.imag, 0.0)
    square_a, low_a = _squared(a)
    square_b, low_b = _squared(b)
    first, error = _added(2.0 * a, square_a)
    total, second = _added(first, square_b)
    close = 0.5 * np.log1p(total + (error + second + low_a + low_b))
    near = near & (np.abs(total) < 0.5)
    is_far = np.maximum(np.abs(x.real), np.abs(x.imag)) > _FAR
    plain = np.where(is_far, np.log(x), np.log1p(np.where(is_far, 0.0, x)))
    imaginary = np.arctan2(x.imag, 1.0 + x.real)
    return _complex_of(np.where(near, close, plain.real), imaginary)


def _complex_of(real: Array, imaginary: Array) -> Array:
    result = np.empty(np.shape(real), np.complex128)
    result.real, result.imag = real, imaginary
    return result


def _added(one: Array, other: Array) -> tuple[Array, Array]:
    """A sum and its rounding error (Knuth, TAOCP 2, 4.2.2)."""
    total = one + other
    part = total - one
    return total, (one - (total - part)) + (other - part)


def _squared(x: Array) -> tuple[Array, Array]:
    """A square and its rounding error (Dekker, 1971)."""
    square = x * x
    high = 134217729.0 * x
    high = high - (high - x)
    low = x - high
    return square, ((high * high - square) + 2.0 * high * low) + low * low


def _rsqrt(x: Array) -> Array:
    return 1.0 / np.sqrt(x)


def _cbrt(x: Array) -> Array:
    if not np.iscomplexobj(x):
        return np.cbrt(x)
    return np.where(x == 0, 0, np.power(np.where(x == 0, 1, x), 1.0 / 3.0))


def _complex_tanh(x: Array) -> Array:
    """tanh of a complex number without overflow: beyond 20 the real part is ±1."""
    if not np.iscomplexobj(x):
        return np.tanh(x)
    is_large = np.abs(x.real) > 20
    tame = np.where(is_large, 0, x)
    return np.where(is_large, np.copysign(1.0, x.real) + 0j, np.tanh(tame))


def _tan(x: Array) -> Array:
    if not np.iscomplexobj(x):
        return np.tan(x)
    rotated = _complex_tanh(np.asarray(x.imag * -1 + 1j * x.real))
    return np.asarray(rotated.imag - 1j * rotated.real)


FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "acos": lifted(np.arccos),
    "acosh": lifted(np.arccosh),
    "asin": lifted(np.arcsin),
    "asinh": lifted(np.arcsinh),
    "atan": lifted(np.arctan),
    "atanh": lifted(np.arctanh),
    "cbrt": lifted(_cbrt),
    "cosine": lifted(np.cos),
    "cosh": lifted(np.cosh),
    "erf": lifted(_erf64),
    "exponential": lifted(np.exp),
    "exponential-minus-one": lifted(_expm1),
    "log": lifted(np.log),
    "log-plus-one": lifted(_log1p),
    "logistic": lifted(_logistic),
    "rsqrt": lifted(_rsqrt),
    "sine": lifted(np.sin),
    "sinh": lifted(np.sinh),
    "sqrt": lifted(np.sqrt),
    "tan": lifted(_tan),
    "tanh": lifted(_complex_tanh),
}
"""Unary functions by opcode name."""


def atan2(one: Array, other: Array) -> Array:
    kind = kind_of(one)
    y, x = exact(one), exact(other)
    if not kind.is_complex:
        return narrowed(np.arctan2(y, x), kind)
    quotient = (x + 1j * y) / np.sqrt(x * x + y * y)
    return narrowed(np.asarray(-1j * np.log(quotient)), kind)


def power(one: Array, other: Array) -> Array:
    kind = kind_of(one)
    if kind.is_integer:
        return _integer_power(one, other)
    return narrowed(np.power(exact(one), exact(other)), kind)


def _integer_power(one: Array, other: Array) -> Array:
    """Wrapping power; a negative exponent gives 1 for base 1, ±1 for base -1, else 0."""
    base, exponent = np.broadcast_arrays(one, other)
    kind = kind_of(one)
    result = np.ones(base.shape, np.int8).astype(kind.dtype)
    left = np.where(exponent.astype(np.int64) < 0, 0, exponent) if kind.is_signed else exponent
    left = left.astype(np.uint64)
    square = np.asarray(base)
    while np.any(left):
        is_odd = (left & np.uint64(1)) == 1
        result = np.where(is_odd, multiply(result, square), result)
        square = multiply(square, square)
        left = left >> np.uint64(1)
    if not kind.is_signed:
        return np.asarray(result)
    wide, powers = base.astype(np.int64), exponent.astype(np.int64)
    parity = np.where(powers % 2 == 0, 1, -1)
    inverse = np.where(wide == 1, 1, np.where(wide == -1, parity, 0)).astype(kind.dtype)
    return np.asarray(np.where(powers < 0, inverse, result))
