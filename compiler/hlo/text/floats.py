"""Floating-point numbers in HLO text: decimals, ``inf``, ``-nan``, ``nan(0x7fc00001)`` payloads.

Decimals pass through float64 and are rounded once more to the target type, as XLA does. Written
decimals are the shortest that read back to the same bits; NaNs show sign and payload when they are
not the plain one.
"""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np

from compiler.hlo.errors import Malformed
from compiler.hlo.shape import ElementType

_PAYLOAD = re.compile(r"(-?)nan\(0x([0-9a-fA-F]{1,16})\)\Z")
_FLOAT = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|nan)\Z")
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_IEEE = {
    ElementType.F8E3M4: 4,
    ElementType.F8E4M3: 3,
    ElementType.F8E5M2: 2,
    ElementType.F16: 10,
    ElementType.BF16: 7,
    ElementType.F32: 23,
    ElementType.F64: 52,
}
"""Stored mantissa bits of the types whose NaNs have payloads as IEEE 754 lays them out."""


def bits_of(array: np.ndarray) -> np.ndarray:
    """The array's bit patterns as unsigned integers of the same width."""
    return np.ascontiguousarray(array).view(_UNSIGNED[array.dtype.itemsize])


def float_array(values: list[str], kind: ElementType) -> np.ndarray:
    """The values of a float type, one text each. Raises Malformed."""
    try:
        wide = np.array(values, dtype=np.float64) if values else np.zeros(0)
    except ValueError:
        wide = np.array([_wide(value, kind) for value in values], dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = wide.astype(kind.dtype)
    _check_range(values, wide, narrow, kind)
    special = [i for i, value in enumerate(values) if "n" in value and "nan" in value]
    for i in special:
        _set_nan(narrow, i, values[i], kind)
    return narrow


def _wide(value: str, kind: ElementType) -> float:
    if _PAYLOAD.match(value):
        return float("nan")
    if _FLOAT.match(value) is None:
        raise Malformed(f"expected a number for {kind}, found '{value[:24]}'")
    return float(value)


def _check_range(
    values: list[str], wide: np.ndarray, narrow: np.ndarray, kind: ElementType
) -> None:
    """Finite texts must stay finite."""
    limit = float(ml_dtypes.finfo(kind.dtype).max)
    for i in np.flatnonzero(np.abs(wide) > limit):
        is_written = "inf" in values[i]
        if not is_written and not np.isfinite(float(narrow[i])):
            raise Malformed(f"{values[i][:24]} does not fit in {kind}")


def _set_nan(array: np.ndarray, index: int, text: str, kind: ElementType) -> None:
    """Puts the sign and payload of a NaN into place."""
    mantissa = _IEEE.get(kind)
    payload = _PAYLOAD.match(text)
    if mantissa is None:
        if payload:
            raise Malformed(f"NaN payload 0x{payload[2]} does not fit in {kind}")
        if text.startswith("-"):
            array[index] = -array[index]
        return
    fraction = int(payload[2], 16) if payload else 1 << (mantissa - 1)
    if not 0 < fraction < 1 << mantissa:
        raise Malformed(f"NaN payload 0x{fraction:x} does not fit in {kind}")
    exponent = ((1 << (kind.bits - 1 - mantissa)) - 1) << mantissa
    sign = 1 << (kind.bits - 1) if text.startswith("-") else 0
    array.view(_UNSIGNED[array.dtype.itemsize])[index] = sign | exponent | fraction


def float_texts(flat: np.ndarray, kind: ElementType) -> list[str]:
    """The values of a one-dimensional array as the shortest texts that read back equal."""
    shortest = flat if kind in (ElementType.F32, ElementType.F64) else flat.astype(np.float32)
    texts = [text.removesuffix(".0") for text in map(_shortest, shortest)]
    for i in np.flatnonzero(np.isnan(shortest)):
        texts[i] = _nan_text(flat, int(i), kind)
    return texts


def _shortest(value: np.floating) -> str:
    return str(value)


def _nan_text(flat: np.ndarray, index: int, kind: ElementType) -> str:
    bits = int(bits_of(flat)[index])
    mantissa = _IEEE.get(kind)
    if mantissa is None:
        return "nan" if bits >> (kind.bits - 1) == 0 or kind.dtype.name.endswith("uz") else "-nan"
    sign = "-" if bits >> (kind.bits - 1) else ""
    fraction = bits & ((1 << mantissa) - 1)
    plain = fraction == 1 << (mantissa - 1)
    return f"{sign}nan" if plain else f"{sign}nan(0x{fraction:x})"
