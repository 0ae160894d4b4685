"""Compiled by numba or run as plain Python, the same lines give the same timeline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from isas.cores import Predictor
from tests.vm import test_in_order, test_out_of_order, test_simt
from tests.vm.random_programs import SMALL_CACHE
from vm.events import find_events
from vm.inorder import model as in_order
from vm.outoforder import model as out_of_order
from vm.simt import model as simt
from vm.timeline import Timeline

MODELS: dict[str, tuple[Callable[[int], Any], Callable[..., Timeline]]] = {
    "in-order": (test_in_order.random_case, in_order.time_run),
    "out-of-order": (test_out_of_order.random_case, out_of_order.time_run),
    "simt": (test_simt.random_case, simt.time_launches),
}


def assert_equal(one: object, other: object) -> None:
    for field in fields(one):  # type: ignore[arg-type]
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype and np.array_equal(a, b), field.name


@pytest.mark.parametrize("name", MODELS)
def test_compiled_equals_plain(name: str) -> None:
    random_case, time_run = MODELS[name]
    for number in range(40):
        case = random_case(number)
        plain, compiled = time_run(*case), time_run(*case, is_compiled=True)
        assert plain.cycles == compiled.cycles
        assert_equal(plain, compiled)
        assert_equal(plain.micro_ops, compiled.micro_ops)
        assert_equal(plain.charges, compiled.charges)


def test_compiled_walks_equal_plain_ones() -> None:
    for number in range(40):
        stream, tables, _, _ = test_out_of_order.random_case(number)
        for predictor in Predictor:
            plain = find_events(stream, tables, SMALL_CACHE, predictor)
            compiled = find_events(stream, tables, SMALL_CACHE, predictor, is_compiled=True)
            assert_equal(plain, compiled)
