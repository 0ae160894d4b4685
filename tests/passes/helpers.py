"""What the tests of passes share: cases, comparison of results, shorthands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from compiler.hlo.module import Module
from compiler.hlo.text import parse_module, read_module
from compiler.journal import Journal
from compiler.options import Options
from compiler.pipeline import run_hlo_passes
from tests.hlo.programs import CASES, case_arrays, case_index

NAMES = tuple(info["name"] for info in case_index("jax"))


@cache
def case(name: str) -> Module:
    return read_module(CASES / "jax" / f"{name}.hlo")


@cache
def fused(name: str) -> Module:
    return run_hlo_passes(case(name), Options(), Journal())


def inputs(name: str) -> list[np.ndarray]:
    info = next(i for i in case_index("jax") if i["name"] == name)
    return case_arrays("jax", info)[0]


def passed(text: str, only: str | None = None, options: Options | None = None) -> Module:
    """The module of some text after all passes, or after one."""
    return run_hlo_passes(parse_module(text), options or Options(), Journal(), only)


def assert_same_bits(found: Sequence[np.ndarray], wanted: Sequence[np.ndarray], note: str) -> None:
    """Equal to the last bit and the sign of zero; a NaN equals a NaN."""
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape, note
        if one.tobytes() == other.tobytes():
            continue
        np.testing.assert_array_equal(one, other, err_msg=note)
        if one.dtype.kind == "f":
            zeros = other == 0
            signs = np.signbit(one[zeros]) == np.signbit(other[zeros])
            assert signs.all(), f"{note}: the sign of a zero"
