"""Random programs, fused and not, on CPUs (natively, by real LLVM) and on a grid (by the IR
evaluator), equal NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.hlo.evaluate import evaluate
from compiler.hlo.text import parse_module
from compiler.llvm.verify import verify_function
from compiler.options import Options
from tests.lower.harness import ARM, SCALAR, SIMT, X86
from tests.lower.native import run_native
from tests.lower.programs import compiled, job, outputs
from tests.lower.random_hlo import random_program
from tests.lower.test_programs import run_grid

TARGETS = (X86, ARM, SCALAR)


def compare(text: str, found: list[np.ndarray], exact: list[np.ndarray]) -> None:
    for one, other in zip(found, exact, strict=True):
        scale = np.nanmax(np.abs(np.where(np.isfinite(other), other, 0)), initial=1)
        np.testing.assert_allclose(
            one, other, rtol=1e-4, atol=1e-5 * float(scale), err_msg=text, equal_nan=True
        )


@pytest.mark.parametrize("batch", range(4))
def test_random_programs_run_natively(batch: int) -> None:
    texts, jobs, assignments, exact = [], [], [], []
    for seed in range(batch * 25, batch * 25 + 25):
        text, arguments = random_program(seed)
        module = parse_module(text)
        options = Options(fuse=seed % 3 != 0, strict_order=seed % 5 == 0)
        _, assignment, lowered, _ = compiled(module, TARGETS[seed % 3], options)
        for function in lowered.llvm_module.functions:
            verify_function(function)
        texts.append(text)
        jobs.append(job(assignment, lowered, arguments))
        assignments.append(assignment)
        with np.errstate(all="ignore"):
            exact.append(evaluate(module, *arguments))
    for text, memory, assignment, wanted in zip(texts, run_native(jobs), assignments, exact):
        compare(text, outputs(assignment, memory), list(wanted))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("batch", range(3))
def test_random_programs_run_on_a_grid(batch: int) -> None:
    for seed in range(1000 + batch * 20, 1000 + batch * 20 + 20):
        text, arguments = random_program(seed)
        module = parse_module(text)
        options = Options(fuse=seed % 3 != 0, block_size=(32, 64, 128)[seed % 3])
        _, assignment, lowered, _ = compiled(module, SIMT, options)
        memory = run_grid(assignment, lowered, arguments)
        compare(text, outputs(assignment, memory), list(evaluate(module, *arguments)))
