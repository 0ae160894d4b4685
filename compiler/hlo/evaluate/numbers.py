"""Number formats: widening for exact intermediate results, wrapping integers, saturating
conversion.
"""

from __future__ import annotations

import numpy as np

from compiler.hlo.shape import ElementType, Family, element_type_of

_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def kind_of(array: np.ndarray) -> ElementType:
    """The element type of an array that the evaluator made or accepted."""
    found = element_type_of(array.dtype)
    if found is None:
        raise TypeError(f"no element type for {array.dtype}")
    return found


def is_small_float(kind: ElementType) -> bool:
    """True of float types that compute in float32: all under 32 bits."""
    return kind.is_float and kind.bits < 32


def is_small_integer(kind: ElementType) -> bool:
    """True of integers that NumPy cannot compute with: those under 8 bits."""
    return kind.is_integer and kind.bits < 8


def widened(array: np.ndarray) -> np.ndarray:
    """The array in a type that NumPy computes in: float32 for small floats, int64 for small
    integers.
    """
    kind = kind_of(array)
    if is_small_float(kind):
        return array.astype(np.float32)
    if is_small_integer(kind):
        return array.astype(np.int8 if kind.is_signed else np.uint8).astype(np.int64)
    return array


def exact(array: np.ndarray) -> np.ndarray:
    """The array in the widest float or complex type: float64 or complex128; others as `widened`."""
    kind = kind_of(array)
    if kind.is_float:
        return array.astype(np.float64)
    if kind.is_complex:
        return array.astype(np.complex128)
    return widened(array)


def narrowed(array: np.ndarray, kind: ElementType) -> np.ndarray:
    """A computed array in its result type: floats rounded, integers wrapped."""
    if array.dtype == kind.dtype:
        return array
    if kind.is_integer:
        return wrapped(array, kind)
    if kind.is_float and array.dtype == np.float64 and is_small_float(kind):
        return rounded_once(array, kind)
    return array.astype(kind.dtype)


def rounded_once(array: np.ndarray, kind: ElementType) -> np.ndarray:
    """float64 to a small float type with one rounding.

    The way over float32 could round twice, so float32 is rounded to odd: when inexact, its last
    bit is set, which keeps every later halfway decision right (Boldo and Melquiond, 2008).
    """
    if kind is ElementType.F16:
        return array.astype(np.float16)
    single = np.asarray(array.astype(np.float32))
    bits = single.view(np.uint32)
    back = single.astype(np.float64)
    inexact = (back != array) & np.isfinite(back)
    too_far = inexact & (np.abs(back) > np.abs(array))
    toward_zero = np.where(too_far, bits - np.uint32(1), bits)
    odd = np.where(inexact, toward_zero | np.uint32(1), bits).astype(np.uint32)
    return odd.view(np.float32).astype(kind.dtype)


def wrapped(array: np.ndarray, kind: ElementType) -> np.ndarray:
    """Integers modulo two to the power of the type's width."""
    if kind.bits >= 8:
        return array.astype(kind.dtype)
    mask = (1 << kind.bits) - 1
    low = array.astype(np.int64) & mask
    if kind.is_signed:
        low = np.where(low >> (kind.bits - 1), low - (mask + 1), low)
    return np.asarray(low).astype(np.int8 if kind.is_signed else np.uint8).astype(kind.dtype)


def integer_limits(kind: ElementType) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    if kind.is_signed:
        return -(1 << (kind.bits - 1)), (1 << (kind.bits - 1)) - 1
    return 0, (1 << kind.bits) - 1


def converted(array: np.ndarray, kind: ElementType) -> np.ndarray:
    """HLO's convert: float to integer truncates and saturates, NaN gives 0; integers wrap."""
    source = kind_of(array)
    if source is kind:
        return array
    if source.is_complex and not kind.is_complex:
        array = array.real
        source = source.real
    if kind.family is Family.PREDICATE:
        return np.asarray(widened(array) != 0)
    if kind.is_complex:
        return exact(array).astype(kind.dtype)
    if kind.is_float:
        return _to_float(array, source, kind)
    if source.is_float:
        return saturated(exact(array), kind)
    return wrapped(widened(array), kind)


def _to_float(array: np.ndarray, source: ElementType, kind: ElementType) -> np.ndarray:
    if source is ElementType.F64:
        return narrowed(array, kind)
    wide = widened(array)
    if source.is_float or kind.bits >= 32:
        return wide.astype(kind.dtype)
    if source.bits <= 32:
        return rounded_once(wide.astype(np.float64), kind)
    return rounded_once(_shortened(wide), kind)


def _shortened(array: np.ndarray) -> np.ndarray:
    """64-bit integers as float64 that round to every small float as the integers do.

    The low 11 bits of large ones leave, their last kept bit remembering whether any was set.
    """
    sign = np.where(array < 0, -1.0, 1.0)
    magnitude = np.where(array < 0, -array.view(np.uint64), array.view(np.uint64))
    is_large = magnitude >= np.uint64(1 << 53)
    low = (magnitude & np.uint64(0x7FF)) != 0
    short = ((magnitude >> np.uint64(11)) | low.astype(np.uint64)).astype(np.float64) * 2048.0
    return np.asarray(sign * np.where(is_large, short, magnitude.astype(np.float64)))


def saturated(array: np.ndarray, kind: ElementType) -> np.ndarray:
    """Truncates float64 values into an integer type, clamping to its limits; NaN gives 0."""
    low, high = integer_limits(kind)
    whole = np.trunc(np.nan_to_num(array, nan=0.0, posinf=np.inf, neginf=-np.inf))
    inside = (whole >= float(low)) & (whole < float(high) + (1.0 if kind.bits <= 32 else 0.0))
    carrier = np.uint64 if kind.is_unsigned else np.int64
    values = np.where(inside, whole, 0.0).astype(carrier)
    values = np.where(whole < float(low), carrier(low), values)
    values = np.where(~inside & (whole > 0), carrier(high), values)
    return wrapped(np.asarray(values), kind)


def bits_of(array: np.ndarray) -> np.ndarray:
    """The bit patterns of an array as unsigned integers of its storage width."""
    return np.ascontiguousarray(array).view(_UNSIGNED[array.dtype.itemsize]).reshape(array.shape)


def unsigned_of(array: np.ndarray) -> np.ndarray:
    """The value of an integer array as unsigned numbers of the same width, in a NumPy type."""
    kind = kind_of(array)
    if kind.bits < 8:
        return (widened(array) & ((1 << kind.bits) - 1)).astype(np.uint8)
    return array.view(_UNSIGNED[array.dtype.itemsize]) if kind.is_signed else array
