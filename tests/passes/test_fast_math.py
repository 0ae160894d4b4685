"""fast_math: rewrites that hold in real arithmetic are made with it and only with it."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.hlo.evaluate import evaluate
from compiler.hlo.opcodes import Opcode
from compiler.hlo.text import parse_module
from compiler.journal import Journal
from compiler.options import Options
from compiler.pipeline import run_hlo_passes
from tests.passes.test_canonicalize import used

CASES = {
    "add(x, zero)": set(),
    "subtract(x3, three)": {Opcode.ADD, Opcode.BROADCAST},
    "subtract(x, x)": {Opcode.BROADCAST},
    "subtract(x, three)": {Opcode.ADD, Opcode.BROADCAST},
    "multiply(x, zero)": {Opcode.BROADCAST},
    "multiply(root, root)": set(),
    "divide(x, x)": {Opcode.BROADCAST},
    "divide(x, three)": {Opcode.MULTIPLY, Opcode.BROADCAST},
    "divide(x, root)": {Opcode.MULTIPLY, Opcode.RSQRT},
    "power(x, half)": {Opcode.SQRT},
    "power(x, three)": {Opcode.MULTIPLY},
    "log(raised)": set(),
    "sqrt(square)": {Opcode.ABS},
}


@pytest.mark.parametrize("operation", CASES)
def test_a_rule_applies_with_fast_math_only_and_is_right_up_to_rounding(operation: str) -> None:
    text = f"""HloModule m
    ENTRY e {{
      x = f32[64] parameter(0)
      c0 = f32[] constant(0)
      c3 = f32[] constant(3)
      ch = f32[] constant(0.5)
      zero = f32[64] broadcast(c0), dimensions={{}}
      three = f32[64] broadcast(c3), dimensions={{}}
      half = f32[64] broadcast(ch), dimensions={{}}
      x3 = f32[64] add(x, three)
      root = f32[64] sqrt(x)
      raised = f32[64] exponential(x)
      square = f32[64] multiply(x, x)
      ROOT r = f32[64] {operation}
    }}"""
    module = parse_module(text)
    fast = run_hlo_passes(module, Options(fast_math=True), Journal(), only="simplify")
    strict = run_hlo_passes(module, Options(), Journal(), only="simplify")
    assert used(fast) == CASES[operation] != used(strict)
    x = np.random.default_rng(3).uniform(0.1, 4, 64).astype(np.float32)
    np.testing.assert_allclose(evaluate(fast, x)[0], evaluate(module, x)[0], rtol=2e-6, atol=1e-6)
