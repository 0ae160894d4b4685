"""Passes, buffers and lowering together: real LLVM runs the kernels on the arena as assigned."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.buffers.assign import assign
from compiler.hlo.evaluate import evaluate
from compiler.hlo.module import Module
from compiler.journal import Journal
from compiler.llvm.text import text
from compiler.lower import lower
from compiler.options import Options
from compiler.pipeline import run_hlo_passes
from tests.lower.harness import X86, Prepared, physical, run_all
from tests.lower.native import Job
from tests.passes.helpers import case, inputs
from tests.passes.programs import random_program
from tests.passes.test_support import COMPILED


def prepared(module: Module, arrays: list[np.ndarray], options: Options) -> Prepared:
    final = run_hlo_passes(module, options, Journal())
    found = assign(final, options, Journal())
    result = lower(final, found, X86, options, Journal())
    arena = bytearray(b"\xcd" * found.arena_bytes)
    for binding, array in zip(found.parameters, arrays, strict=True):
        arena[binding.slice.offset : binding.slice.end] = physical(array, binding.shape)
    for constant in found.constants:
        arena[constant.slice.offset : constant.slice.end] = constant.data
    calls = [(k.function, [s.offset for s in k.arguments]) for k in result.kernels]
    return Prepared(final, found, Job(text(result.llvm_module), calls, bytes(arena)))


def check(programs: list[tuple[Module, list[np.ndarray]]], options: Options) -> None:
    jobs = [prepared(module, arrays, options) for module, arrays in programs]
    for (module, arrays), found in zip(programs, run_all(jobs), strict=True):
        for one, other in zip(found, evaluate(module, *arrays), strict=True):
            if other.dtype.kind == "f":
                np.testing.assert_allclose(one, other, rtol=3e-5, atol=2e-5, err_msg=module.name)
            else:
                np.testing.assert_array_equal(one, other, err_msg=module.name)


@pytest.mark.parametrize("fuse", [True, False], ids=["fused", "unfused"])
def test_the_compiled_cases_are_right_in_real_llvm(fuse: bool) -> None:
    check([(case(name), inputs(name)) for name in COMPILED], Options(fuse=fuse))


@pytest.mark.parametrize("fuse", [True, False], ids=["fused", "unfused"])
def test_random_programs_are_right_in_real_llvm(fuse: bool) -> None:
    check([random_program(seed, 18) for seed in range(5000, 5030)], Options(fuse=fuse))
