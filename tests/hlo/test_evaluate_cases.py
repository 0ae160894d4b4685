"""Every stored program, before and after XLA's optimisation, evaluates to its expected outputs."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.hlo.evaluate import evaluate
from compiler.hlo.text import parse_module, print_module, read_module
from compiler.hlo.verify import verify
from tests.hlo.programs import CASES, case_arrays, case_index

PROGRAMS = [
    pytest.param(group, info, suffix, id=f"{info['name']}-{suffix}")
    for group in ("jax", "bench")
    for info in case_index(group)
    for suffix in ("hlo", "opt.hlo")
    if (CASES / group / f"{info['name']}.{suffix}").exists()
]


@pytest.mark.parametrize(("group", "info", "suffix"), PROGRAMS)
def test_program_evaluates_to_its_expected_outputs(group, info, suffix):
    module = verify(read_module(CASES / group / f"{info['name']}.{suffix}"))
    inputs, outputs = case_arrays(group, info)
    results = evaluate(module, *inputs)
    assert len(results) == len(outputs)
    for result, expected in zip(results, outputs):
        assert result.shape == expected.shape
        if result.dtype != expected.dtype:
            result, expected = (
                result.astype(np.float64),
                expected.view(result.dtype).astype(np.float64),
            )
        if result.dtype.kind in "biu":
            np.testing.assert_array_equal(result, expected)
        else:
            np.testing.assert_allclose(result, expected, rtol=info["rtol"], atol=info["atol"])


def test_a_printed_program_evaluates_to_the_same_bits():
    for name in ("mha_grad", "scatter_add", "prng_uniform_normal", "bf16_mlp"):
        info = next(p for p in case_index("jax") if p["name"] == name)
        module = read_module(CASES / "jax" / f"{name}.opt.hlo")
        inputs, _ = case_arrays("jax", info)
        again = parse_module(print_module(module))
        for one, other in zip(evaluate(module, *inputs), evaluate(again, *inputs)):
            assert one.tobytes() == other.tobytes()
