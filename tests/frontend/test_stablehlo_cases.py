"""Every stored program as JAX printed it: expected outputs, equal to its HLO, round trips."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.frontend.stablehlo import parse_stablehlo, print_stablehlo, read_stablehlo
from compiler.hlo.evaluate import evaluate
from compiler.hlo.module import flat_results
from compiler.hlo.text import parse_module, print_module, read_module
from compiler.hlo.verify import verify
from lab.compare import Tolerance, compare
from tests.hlo.programs import CASES, case_arrays, case_index

PROGRAMS = [
    pytest.param(group, info, id=info["name"])
    for group in ("jax", "bench")
    for info in case_index(group)
    if (CASES / group / f"{info['name']}.mlir").exists()
]
EXPANDED = ("gelu_erf", "prng_uniform_normal", "transcendentals")
"""Programs whose HLO has polynomials where their StableHLO has CHLO's special functions."""


@pytest.mark.parametrize(("group", "info"), PROGRAMS)
def test_a_program_evaluates_to_its_expected_outputs_and_as_its_hlo_does(group, info):
    module = read_stablehlo(CASES / group / f"{info['name']}.mlir")
    inputs, expected = case_arrays(group, info)
    kinds = [shape.element_type for shape in flat_results(module)]
    results = evaluate(module, *inputs)
    expected = [
        e if e.dtype == r.dtype else e.view(r.dtype) for e, r in zip(expected, results, strict=True)
    ]
    found = compare(results, expected, kinds, Tolerance(info["rtol"], info["atol"]))
    assert found.matches, found
    reference = evaluate(verify(read_module(CASES / group / f"{info['name']}.hlo")), *inputs)
    if info["name"] in EXPANDED:
        assert compare(results, reference, kinds, Tolerance(info["rtol"], info["atol"])).matches
    else:
        assert [r.tobytes() for r in results] == [r.tobytes() for r in reference]


@pytest.mark.parametrize(("group", "info"), PROGRAMS)
def test_a_program_survives_conversion_to_hlo_and_back(group, info):
    module = read_stablehlo(CASES / group / f"{info['name']}.mlir")
    through = verify(parse_module(print_module(module)))
    assert through == module
    again = parse_stablehlo(print_stablehlo(through))
    inputs, _ = case_arrays(group, info)
    pairs = zip(evaluate(module, *inputs), evaluate(again, *inputs), strict=True)
    assert all(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in pairs)
    assert print_stablehlo(again) == print_stablehlo(parse_stablehlo(print_stablehlo(again)))


XLA_FILES = [
    pytest.param(group, info, path, id=f"{group}-{path.name}")
    for group in ("jax", "bench")
    for info in case_index(group)
    for suffix in ("hlo", "opt.hlo")
    if (path := CASES / group / f"{info['name']}.{suffix}").exists()
]


@pytest.mark.parametrize(("group", "info", "path"), XLA_FILES)
def test_a_program_of_xla_survives_conversion_to_stablehlo(group, info, path):
    module = verify(read_module(path))
    again = parse_stablehlo(print_stablehlo(module))
    inputs, _ = case_arrays(group, info)
    for one, other in zip(evaluate(module, *inputs), evaluate(again, *inputs), strict=True):
        assert one.tobytes() == other.tobytes()
