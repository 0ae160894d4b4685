"""Comparing results: which tolerance a type gets, and how far two lists of arrays are apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from compiler.hlo.shape import ElementType
from lab.words.words import Finished, Sentence, sentence

Array = NDArray[Any]
SPREADS = 8
"""Right results lie within so many times the largest difference that a few runs with noise make."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """`|a - b| <= absolute + relative * |b|` counts as equal; both None: by the type that an output
    is compared as (`lab.precision.compared_kinds`)."""

    relative: float | None = None
    absolute: float | None = None

    def for_type(self, kind: ElementType) -> tuple[float, float]:
        """(relative, absolute) for outputs of this element type."""
        relative, absolute = _default(kind)
        return (
            relative if self.relative is None else self.relative,
            absolute if self.absolute is None else self.absolute,
        )


def _default(kind: ElementType) -> tuple[float, float]:
    real = kind.real
    if real is ElementType.F64:
        return 1e-12, 1e-13
    if real is ElementType.F32:
        return 1e-5, 1e-6
    if kind.is_float:
        least = float(ml_dtypes.finfo(kind.dtype).smallest_subnormal)
        return max(1e-2, 2 * unit_roundoff(kind)), max(1e-3, least)
    return 0.0, 0.0


def unit_roundoff(kind: ElementType) -> float:
    """Half the distance from 1 to the next number of a float type; 0 for other types."""
    if not (kind.is_float or kind.is_complex):
        return 0.0
    return float(ml_dtypes.finfo(kind.real.dtype).eps) / 2


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a list of results compares with a reference. `max_relative_error` is
    max |a - b| / max(|b|, absolute tolerance), None when that is not finite; `worst` names the
    output and index where it is largest. `is_rounding` says that results match only because right
    programs may differ as much, as where sums cancel."""

    matches: bool
    max_relative_error: float | None
    worst: str = ""
    is_rounding: bool = False

    @property
    def told(self) -> Sentence:
        """The error, and where it is when it is too large."""
        error = sentence("not finite")
        if self.max_relative_error is not None:
            error = sentence("{error:.1e}", error=self.max_relative_error)
        if self.is_rounding:
            return sentence("{error} where rounding decides", error=error)
        if self.matches:
            return error
        return sentence("{error} at {place}", error=error, place=Finished(self.worst))

    def __str__(self) -> str:
        return str(self.told)


def compare(
    results: Sequence[Array],
    references: Sequence[Array],
    kinds: Sequence[ElementType],
    tolerance: Tolerance,
    spreads: Callable[[], Sequence[Array]] | None = None,
) -> Comparison:
    """Compares arrays pairwise. NaN equals NaN, and infinities of one sign are equal.

    `spreads` finds how far apart right results may be, elementwise (`lab.noise.spreads`); it is
    asked only where the tolerance is the default one and does not suffice.
    """
    found = _compare(results, references, kinds, tolerance)
    if found.matches or spreads is None or tolerance != Tolerance():
        return found
    if any(result.shape != reference.shape for result, reference in zip(results, references)):
        return found
    is_rounding = all(
        _is_close(result, reference, kind, SPREADS * spread)
        for result, reference, kind, spread in zip(results, references, kinds, spreads())
    )
    return replace(found, matches=is_rounding, is_rounding=is_rounding)


def _compare(
    results: Sequence[Array],
    references: Sequence[Array],
    kinds: Sequence[ElementType],
    tolerance: Tolerance,
) -> Comparison:
    matches, largest, worst = True, 0.0, ""
    for number, (result, reference, kind) in enumerate(
        zip(results, references, kinds, strict=True)
    ):
        relative, absolute = tolerance.for_type(kind)
        is_equal, error, place = _compare_one(result, reference, relative, absolute)
        matches = matches and is_equal
        if error > largest or not np.isfinite(error):
            largest, worst = error, f"output {number}{list(place)}"
        if not np.isfinite(error):
            break
    for result, reference, kind in zip(results, references, kinds):
        matches = matches and _compare_one(result, reference, *tolerance.for_type(kind))[0]
    return Comparison(matches, largest if np.isfinite(largest) else None, worst)


def _is_close(result: Array, reference: Array, kind: ElementType, spread: Array) -> bool:
    a, b = _wide(result), _wide(reference)
    close = (a == b) | ((a != a) & (b != b))
    if unit_roundoff(kind):
        relative, absolute = _default(kind)
        with np.errstate(all="ignore"):
            is_near = np.abs(a - b) <= absolute + relative * np.abs(b) + spread
        close |= np.where(np.isinf(spread), _is_past_numbers(a, kind), is_near)
    return bool(close.all())


def _is_past_numbers(array: Array, kind: ElementType) -> Array:
    """True where a number is infinite or none, or as large as those next to infinity."""
    largest = float(ml_dtypes.finfo(kind.real.dtype).max)
    return np.asarray(~(np.abs(array) < largest / 2))


def _compare_one(
    result: Array, reference: Array, relative: float, absolute: float
) -> tuple[bool, float, tuple[int, ...]]:
    """(within tolerance, largest relative error, where)."""
    if result.shape != reference.shape:
        return False, np.inf, ()
    if result.size == 0:
        return True, 0.0, ()
    a, b = _wide(result), _wide(reference)
    same = (a == b) | ((a != a) & (b != b))
    with np.errstate(all="ignore"):
        distance = np.where(same, 0, np.abs(a - b)).astype(np.float64)
        size = np.asarray(np.abs(b), np.float64)
        bound = absolute + relative * size
        close = same | (distance <= np.where(np.isfinite(bound), bound, 0))
        floor = np.maximum(size, absolute)
        error = np.where(same, 0.0, distance / np.where(floor == 0, 1.0, floor))
    error = np.where(np.isnan(error), np.inf, error)
    where = np.unravel_index(int(np.argmax(error)), error.shape)
    return bool(close.all()), float(error[where]), tuple(int(i) for i in where)


def _wide(array: Array) -> Array:
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    is_whole = array.dtype.kind in "biu" or array.dtype.name.startswith(("int", "uint"))
    if is_whole and array.dtype.itemsize == 8:
        return array.astype(object)
    with np.errstate(invalid="ignore"):  # of a signalling NaN
        return array.astype(np.float64)
