"""Maximum and minimum as IEEE 754-2019 has them: NaN wins over every number, and -0 lies below +0.

NumPy takes the second of two zeros, so a result would depend on the order of operands.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def larger(one: Array, other: Array) -> Array:
    """The greater element of each pair; complex numbers compare by real, then imaginary part."""
    found = np.asarray(np.maximum(one, other))
    if _has_zero(found):
        found = np.where((one == 0) & (other == 0), one + other, found)
    return found


def smaller(one: Array, other: Array) -> Array:
    """The smaller element of each pair."""
    found = np.asarray(np.minimum(one, other))
    if _has_zero(found):
        found = np.where((one == 0) & (other == 0), -(-one + -other), found)
    return found


def largest(array: Array, start: Array, axes: tuple[int, ...]) -> Array:
    """The greatest element along some dimensions, a scalar to start from included."""
    found = np.asarray(np.maximum.reduce(array, axis=axes, initial=start[()]))
    if _has_zero(found):
        return np.where(found == 0, _zero(array, start, axes, False), found)
    return found


def smallest(array: Array, start: Array, axes: tuple[int, ...]) -> Array:
    """The smallest element along some dimensions, a scalar to start from included."""
    found = np.asarray(np.minimum.reduce(array, axis=axes, initial=start[()]))
    if _has_zero(found):
        return np.where(found == 0, _zero(array, start, axes, True), found)
    return found


def _has_zero(array: Array) -> bool:
    return array.dtype.kind == "f" and bool((array == 0).any())


def _zero(array: Array, start: Array, axes: tuple[int, ...], is_negative: bool) -> Array:
    """The zero that is met with the wanted sign, else the other one."""
    met = (array == 0) & (np.signbit(array) == is_negative)
    first = bool((start == 0) & (np.signbit(start) == is_negative))
    wanted, other = (-0.0, 0.0) if is_negative else (0.0, -0.0)
    is_met = np.logical_or.reduce(met, axis=axes, initial=first)
    return np.where(is_met, array.dtype.type(wanted), array.dtype.type(other))
