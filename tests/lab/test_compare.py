"""Comparison of results: tolerances by type, NaN and infinity, the largest relative error."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.hlo.shape import ElementType
from lab.compare import Tolerance, compare

F32, S32, F64 = ElementType.F32, ElementType.S32, ElementType.F64


def one(a: object, b: object, kind: ElementType = F32, tolerance: Tolerance | None = None):  # type: ignore[no-untyped-def]
    left, right = np.asarray(a, kind.dtype), np.asarray(b, kind.dtype)
    return compare([left], [right], [kind], tolerance or Tolerance())


def test_the_error_is_relative_to_the_reference() -> None:
    result = one([2.0, 1.0], [1.0, 1.0], tolerance=Tolerance(0.5, 0.5))
    assert result.max_relative_error == 1.0
    assert result.matches  # |2 - 1| <= 0.5 + 0.5 * 1
    assert result.worst == "output 0[0]"


def test_small_references_are_measured_against_the_absolute_tolerance() -> None:
    result = one([3e-6], [0.0])
    assert result.max_relative_error == pytest.approx(3.0)
    assert not result.matches


def test_nan_and_equal_infinities_agree() -> None:
    result = one([np.nan, np.inf, -np.inf], [np.nan, np.inf, -np.inf])
    assert result.matches
    assert result.max_relative_error == 0.0


@pytest.mark.parametrize(
    ("a", "b"), [(np.nan, 1.0), (1.0, np.nan), (np.inf, 1.0), (np.inf, -np.inf)]
)
def test_a_difference_that_is_not_finite_has_no_number(a: float, b: float) -> None:
    result = one([a], [b])
    assert not result.matches
    assert result.max_relative_error is None


def test_integers_must_be_equal() -> None:
    assert one([1, 2], [1, 2], S32).matches
    assert not one([1, 2], [1, 3], S32).matches


def test_wide_integers_are_compared_exactly() -> None:
    assert not one([2**62], [2**62 + 1], ElementType.S64).matches


def test_one_wide_integer_is_compared_too() -> None:
    assert one(2**63, 2**63, ElementType.U64).matches
    assert not one(2**63, 2**63 + 1, ElementType.U64).matches


def test_tolerance_follows_the_type() -> None:
    assert one([1.0 + 5e-6], [1.0]).matches
    assert not one([1.0 + 5e-6], [1.0], F64).matches
    assert one([1.005], [1.0], ElementType.BF16).matches


def test_a_late_mismatch_is_found_after_an_early_infinity() -> None:
    bad = [np.float32(np.inf), np.float32(1)], [np.float32(np.inf), np.float32(2)]
    assert not compare([np.array(bad[0])], [np.array(bad[1])], [F32], Tolerance()).matches


def test_a_signalling_nan_is_a_nan_without_a_warning() -> None:
    signalling = np.array([0x7F800001], np.uint32).view(np.float32)
    with np.errstate(all="raise"):
        assert one(signalling, signalling).matches
