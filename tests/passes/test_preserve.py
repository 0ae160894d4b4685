"""Every pass preserves evaluation bit for bit, and what it yields verifies, prints and parses."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.hlo.evaluate import evaluate
from compiler.hlo.module import Module
from compiler.hlo.text import parse_module, print_module, read_module
from compiler.hlo.verify import verify
from compiler.journal import Journal
from compiler.options import Options
from compiler.pipeline import HLO_PASSES, run_hlo_passes, trace_hlo_passes
from tests.hlo.programs import CASES
from tests.hlo.test_random_modules import programs
from tests.passes.helpers import NAMES, assert_same_bits, case, inputs
from tests.passes.programs import random_program


def check_all_passes(module: Module, arrays: list, options: Options) -> None:
    wanted = evaluate(module, *arrays)
    for snapshot in trace_hlo_passes(module, options, Journal()):
        if snapshot.after is snapshot.before:
            continue
        verify(snapshot.after)
        found = evaluate(snapshot.after, *arrays)
        assert_same_bits(found, wanted, f"after {snapshot.name}, round {snapshot.round}")


@pytest.mark.parametrize("fuse", [True, False], ids=["fused", "unfused"])
@pytest.mark.parametrize("name", NAMES)
def test_every_pass_preserves_every_case_bit_for_bit(name: str, fuse: bool) -> None:
    check_all_passes(case(name), inputs(name), Options(fuse=fuse))


@pytest.mark.parametrize("name", NAMES)
def test_modules_as_xla_fused_them_pass_too(name: str) -> None:
    module = read_module(CASES / "jax" / f"{name}.opt.hlo")
    check_all_passes(module, inputs(name), Options())


@pytest.mark.parametrize("name", ["softmax", "layernorm", "mha_grad", "scan_rnn", "cond_switch"])
def test_the_final_module_prints_and_parses_back(name: str) -> None:
    module = run_hlo_passes(case(name), Options(), Journal())
    assert print_module(parse_module(print_module(module))) == print_module(module)


@pytest.mark.parametrize("row", [row.name for row in HLO_PASSES])
@pytest.mark.parametrize("name", ["attention", "where_select", "while_newton_sqrt"])
def test_every_pass_preserves_evaluation_when_run_alone(name: str, row: str) -> None:
    module = run_hlo_passes(case(name), Options(), Journal(), only=row)
    verify(module)
    arrays = inputs(name)
    assert_same_bits(evaluate(module, *arrays), evaluate(case(name), *arrays), row)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.booleans())
def test_every_pass_preserves_random_programs_bit_for_bit(seed: int, fuse: bool) -> None:
    module, arrays = random_program(seed, steps=18)
    check_all_passes(module, arrays, Options(fuse=fuse))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(programs())
def test_every_pass_preserves_random_moves_of_special_values(program) -> None:
    module, arrays, _ = program
    check_all_passes(module, arrays, Options())
