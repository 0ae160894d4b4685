"""Loops and branches run in the arena, launch by launch, with everything dead poisoned."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.buffers.assign import assign
from compiler.hlo.evaluate import evaluate
from compiler.hlo.verify import verify
from compiler.journal import Journal
from compiler.options import Options
from compiler.pipeline import run_hlo_passes
from tests.buffers.arena import Arena
from tests.buffers.loops import random_loops
from tests.buffers.test_assign import check_places
from tests.passes.helpers import assert_same_bits, fused, inputs
from tests.passes.test_preserve import check_all_passes

CASES = ("scan_rnn", "fibonacci", "fori_power_iter", "jacobi_stencil", "cond_switch", "mandelbrot")


@pytest.mark.parametrize("name", CASES)
def test_cases_with_loops_run_inside_the_arena(name: str) -> None:
    arena = Arena(fused(name), assign(fused(name), Options(), Journal()), by_rows=False)
    assert_same_bits(arena.run(inputs(name)), evaluate(fused(name), *inputs(name)), name)
    assert arena.inner_steps


def check_memory(seed: int, only: str | None, fuse: bool) -> None:
    program, arrays = random_loops(seed)
    wanted = evaluate(program, *arrays)
    module = verify(run_hlo_passes(program, Options(fuse=fuse), Journal(), only))
    found = assign(module, Options(), Journal())
    check_places(found)
    results = Arena(module, found, by_rows=False).run(arrays)
    assert_same_bits(results, wanted, f"seed {seed}")


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.booleans())
def test_random_loops_survive_poisoned_memory(seed: int, fuse: bool) -> None:
    check_memory(seed, None, fuse)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10**6))
def test_state_that_nobody_copied_is_moved_around_the_body(seed: int) -> None:
    """Without copy insertion the moves of buffer assignment must do."""
    check_memory(seed, "flatten", fuse=False)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(0, 10**6))
def test_every_pass_preserves_random_loops(seed: int) -> None:
    program, arrays = random_loops(seed)
    check_all_passes(program, arrays, Options())
