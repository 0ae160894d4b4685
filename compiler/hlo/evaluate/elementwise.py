"""Elementwise operations on arrays that broadcast with one another.

Every function takes the operand arrays and returns an array of the result's element type. Integer
rules follow openxla.org/xla/operation_semantics: division by zero gives -1, remainder the
dividend, INT_MIN / -1 gives INT_MIN, shifts by the width or more give zero or the sign.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from compiler.hlo.evaluate.extremes import larger, smaller
from compiler.hlo.evaluate.numbers import (
    bits_of,
    exact,
    integer_limits,
    kind_of,
    narrowed,
    unsigned_of,
    widened,
    wrapped,
)
from compiler.hlo.shape import ElementType, Family

Array = np.ndarray


def _joined(one: Array, other: Array) -> ElementType:
    """The result type of mixed precision: the wider float."""
    kinds = kind_of(one), kind_of(other)
    return kinds[0] if kinds[0].bits >= kinds[1].bits else kinds[1]


def add(one: Array, other: Array) -> Array:
    kind = _joined(one, other)
    if kind.family is Family.PREDICATE:
        return one | other
    return narrowed(widened(one) + widened(other), kind)


def subtract(one: Array, other: Array) -> Array:
    return narrowed(widened(one) - widened(other), _joined(one, other))


def multiply(one: Array, other: Array) -> Array:
    kind = _joined(one, other)
    if kind.family is Family.PREDICATE:
        return one & other
    return narrowed(np.multiply(widened(one), widened(other)), kind)


def divide(one: Array, other: Array) -> Array:
    kind = _joined(one, other)
    if kind.is_complex:
        return narrowed(np.divide(exact(one), exact(other)), kind)
    if not kind.is_integer:
        return narrowed(np.divide(widened(one), widened(other)), kind)
    quotient, _ = _divided(one, other, kind)
    return quotient


def remainder(one: Array, other: Array) -> Array:
    kind = _joined(one, other)
    if not kind.is_integer:
        return narrowed(np.fmod(widened(one), widened(other)), kind)
    _, rest = _divided(one, other, kind)
    return rest


def _divided(one: Array, other: Array, kind: ElementType) -> tuple[Array, Array]:
    """Quotient toward zero and its remainder."""
    a, b = widened(one), widened(other)
    is_zero = b == 0
    overflows = (a == integer_limits(kind)[0]) & (b == -1) if kind.is_signed else is_zero & False
    safe = np.where(is_zero | overflows, b.dtype.type(1), b)
    quotient = np.floor_divide(a, safe)
    rest = np.asarray(a - quotient * safe)
    if kind.is_signed:
        adjust = (rest != 0) & ((a < 0) != (safe < 0))
        quotient = quotient + adjust
        rest = rest - np.where(adjust, safe, b.dtype.type(0))
    quotient = np.where(is_zero, ~np.zeros_like(quotient), quotient)
    rest = np.where(is_zero, a, np.where(overflows, rest.dtype.type(0), rest))
    return wrapped(quotient, kind), wrapped(rest, kind)


def maximum(one: Array, other: Array) -> Array:
    """NaN wins over every number; complex numbers compare by real, then imaginary part."""
    return narrowed(larger(widened(one), widened(other)), _joined(one, other))


def minimum(one: Array, other: Array) -> Array:
    return narrowed(smaller(widened(one), widened(other)), _joined(one, other))


def and_(one: Array, other: Array) -> Array:
    return narrowed(widened(one) & widened(other), kind_of(one))


def or_(one: Array, other: Array) -> Array:
    return narrowed(widened(one) | widened(other), kind_of(one))


def xor(one: Array, other: Array) -> Array:
    return narrowed(widened(one) ^ widened(other), kind_of(one))


def not_(array: Array) -> Array:
    return narrowed(~widened(array), kind_of(array))


def _shift(one: Array, other: Array) -> tuple[Array, Array, Array, ElementType]:
    """The unsigned value, a safe amount, and where the amount reaches the width."""
    kind = kind_of(one)
    amount = unsigned_of(other).astype(np.uint64)
    is_past = amount >= kind.bits
    return unsigned_of(one), np.where(is_past, np.uint64(0), amount), is_past, kind


def shift_left(one: Array, other: Array) -> Array:
    value, amount, is_past, kind = _shift(one, other)
    shifted = np.left_shift(value.astype(np.uint64), amount)
    return wrapped(np.where(is_past, np.uint64(0), shifted), kind)


def shift_right_logical(one: Array, other: Array) -> Array:
    value, amount, is_past, kind = _shift(one, other)
    shifted = np.right_shift(value.astype(np.uint64), amount)
    return wrapped(np.where(is_past, np.uint64(0), shifted), kind)


def shift_right_arithmetic(one: Array, other: Array) -> Array:
    _, amount, is_past, kind = _shift(one, other)
    if kind.is_signed:
        value = widened(one).astype(np.int64)
    else:
        sign = unsigned_of(one).astype(np.uint64) << np.uint64(64 - kind.bits)
        value = sign.view(np.int64) >> np.int64(64 - kind.bits)
    amount = np.where(is_past, np.uint64(kind.bits - 1), amount).astype(np.int64)
    return wrapped(np.right_shift(value, amount), kind)


def mulhi(one: Array, other: Array) -> Array:
    """The high half of the product of twice the width."""
    kind = kind_of(one)
    product = np.asarray(widened(one).astype(object) * widened(other).astype(object))
    high = np.asarray(np.right_shift(product, kind.bits))
    carrier = np.int64 if kind.is_signed else np.uint64
    return wrapped(high.astype(carrier), kind)


def absolute(array: Array) -> Array:
    """Complex gives its magnitude; the least integer stays itself."""
    kind = kind_of(array)
    if kind.is_complex:
        return np.abs(array.astype(np.complex128)).astype(kind.real.dtype)
    if kind.is_unsigned:
        return array
    return narrowed(np.abs(widened(array)), kind)


def negate(array: Array) -> Array:
    return narrowed(np.negative(widened(array)), kind_of(array))


def sign(array: Array) -> Array:
    """-1, 0 or 1; NaN and signed zeros stay; a complex number divided by its magnitude."""
    kind = kind_of(array)
    if kind.is_integer:
        return narrowed(np.sign(widened(array)), kind)
    wide = widened(array)
    if kind.is_complex:
        magnitude = np.abs(wide.astype(np.complex128))
        unit = wide / np.where(magnitude == 0, 1, magnitude)
        return np.where(magnitude == 0, 0, unit).astype(kind.dtype)
    keeps = (wide == 0) | np.isnan(wide)
    return narrowed(np.where(keeps, wide, np.copysign(wide.dtype.type(1), wide)), kind)


def ceil(array: Array) -> Array:
    return narrowed(np.ceil(widened(array)), kind_of(array))


def floor(array: Array) -> Array:
    return narrowed(np.floor(widened(array)), kind_of(array))


def round_nearest_even(array: Array) -> Array:
    return narrowed(np.rint(widened(array)), kind_of(array))


def round_nearest_afz(array: Array) -> Array:
    """Halves away from zero."""
    wide = widened(array)
    whole = np.trunc(wide)
    step = np.where(np.abs(wide - whole) >= 0.5, np.copysign(wide.dtype.type(1), wide), 0)
    rounded = np.where(np.isfinite(wide), whole + step, wide)
    return narrowed(np.copysign(rounded, wide).astype(wide.dtype), kind_of(array))


def is_finite(array: Array) -> Array:
    return np.asarray(np.isfinite(widened(array)))


def popcnt(array: Array) -> Array:
    kind = kind_of(array)
    if kind.family is Family.PREDICATE:
        return array
    value = unsigned_of(array).astype(np.uint64)
    count = np.zeros(value.shape, np.int64)
    for bit in range(kind.bits):
        count = count + ((value >> np.uint64(bit)) & np.uint64(1)).astype(np.int64)
    return wrapped(count, kind)


def count_leading_zeros(array: Array) -> Array:
    kind = kind_of(array)
    if kind.family is Family.PREDICATE:
        return ~array
    value = unsigned_of(array).astype(np.uint64)
    count = np.full(value.shape, kind.bits, np.int64)
    for bit in range(kind.bits):
        is_set = (value >> np.uint64(bit)) != 0
        count = np.where(is_set, kind.bits - 1 - bit, count)
    return wrapped(count, kind)


def real(array: Array) -> Array:
    return np.asarray(array.real) if kind_of(array).is_complex else array


def imag(array: Array) -> Array:
    return np.asarray(array.imag) if kind_of(array).is_complex else np.zeros_like(array)


def complex_(one: Array, other: Array) -> Array:
    kind = kind_of(one).complex
    shape = np.broadcast_shapes(one.shape, other.shape)
    result = np.empty(shape, kind.dtype)
    result.real, result.imag = one, other
    return result


def select(which: Array, chosen: Array, other: Array) -> Array:
    if chosen.dtype == other.dtype:
        return np.asarray(np.where(which, chosen, other))
    kind = _joined(chosen, other)
    return np.asarray(np.where(which, chosen.astype(kind.dtype), other.astype(kind.dtype)))


def clamp(low: Array, value: Array, high: Array) -> Array:
    return minimum(maximum(value, low), high)


def copy(array: Array) -> Array:
    return array


def total_order_key(array: Array) -> Array:
    """Integers that order floats as -NaN < -inf < ... < -0 < 0 < ... < inf < NaN."""
    kind = kind_of(array)
    wide = array if kind.bits in (16, 32, 64) else array.astype(np.float32)
    bits = bits_of(wide)
    signed = bits.view(np.dtype(f"i{bits.dtype.itemsize}"))
    low = np.iinfo(signed.dtype).max
    return np.asarray(np.where(signed < 0, signed ^ signed.dtype.type(low), signed))


def reduce_precision(array: Array, exponent_bits: int, mantissa_bits: int) -> Array:
    """Rounds to a format of fewer bits and back: nearest even, overflow to infinity; subnormals
    become zero where the format has fewer exponent bits than the type (as in XLA's elemental IR
    emitter).
    """
    kind = kind_of(array)
    facts = ml_dtypes.finfo(kind.dtype)
    bits = bits_of(array).astype(np.uint64)
    if mantissa_bits < facts.nmant:
        dropped = np.uint64(facts.nmant - mantissa_bits)
        one = np.uint64(1)
        last = (bits >> dropped) & one
        bits = (bits + last + (one << (dropped - one)) - one) >> dropped << dropped
    if exponent_bits < facts.nexp:
        bits = _in_range(bits, kind, facts.nmant, facts.nexp, exponent_bits)
    rounded = bits.astype(f"u{kind.dtype.itemsize}").view(kind.dtype)
    return np.asarray(np.where(np.isnan(array), array, rounded.reshape(array.shape)))


def _in_range(
    bits: Array, kind: ElementType, mantissa: int, exponent: int, exponent_bits: int
) -> Array:
    bias, reach = (1 << (exponent - 1)) - 1, (1 << (exponent_bits - 1)) - 1
    most = np.uint64(((1 << exponent) - 1) << mantissa)
    sign = bits & np.uint64(1 << (kind.bits - 1))
    size = bits & most
    bits = np.where(size <= np.uint64((bias - reach) << mantissa), sign, bits)
    return np.asarray(np.where(size > np.uint64((bias + reach) << mantissa), sign | most, bits))
