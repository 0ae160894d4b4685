"""Random functions: the evaluator agrees with LLVM's native code, and no pass changes a result."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from compiler.llvm.context import Context
from compiler.llvm.ir import Function, Module
from compiler.llvm.parse import parse_function
from compiler.llvm.passes import (
    combine,
    contract,
    dce,
    gvn,
    licm,
    mem2reg,
    rotate,
    simplify_cfg,
    unroll,
    vectorize,
)
from compiler.llvm.text import text
from compiler.llvm.verify import verify_function
from compiler.options import Options
from lab.crosscheck.llvm import Llvm, NativeRun
from tests.llvm.programs import (
    ARRAYS,
    ELEMENTS,
    STRIDE,
    arguments,
    differences,
    everything,
    memory,
    random_function,
    run,
)

Pass = Callable[[Function, Context], bool]

ORDER: tuple[tuple[str, Pass], ...] = (
    ("mem2reg", mem2reg.run),
    ("simplify_cfg", simplify_cfg.run),
    ("combine", combine.run),
    ("gvn", gvn.run),
    ("licm", licm.run),
    ("vectorize", vectorize.run),
    ("unroll", unroll.run),
    ("rotate", rotate.run),
    ("simplify_cfg again", simplify_cfg.run),
    ("combine again", combine.run),
    ("gvn again", gvn.run),
    ("dce", dce.run),
)


def module_text(function: Function) -> str:
    module = Module("test")
    module.functions.append(function)
    return text(module)


@pytest.mark.parametrize("group", range(4))
def test_no_pass_changes_a_bit_and_llvm_accepts_and_computes_the_same(group: int) -> None:
    with Llvm() as llvm:
        for seed in range(group * 15, group * 15 + 15):
            function = random_function(seed)
            verify_function(function)
            before = run(function, seed)
            native = llvm.run(
                NativeRun(module_text(function), "f", tuple(arguments()), memory(seed))
            )
            assert not differences(before, native), f"seed {seed}, native"
            context = everything(options=Options(contract=False))
            for name, step in ORDER:
                step(function, context)
                verify_function(function)
                after = run(function, seed)
                assert not differences(before, after), f"seed {seed}, after {name}"
            source = module_text(function)
            llvm.check(source)
            assert text(parse_function(source)) == text(function)
            native = llvm.run(NativeRun(source, "f", tuple(arguments()), memory(seed)))
            assert not differences(before, native), f"seed {seed}, native after all passes"


@pytest.mark.parametrize("group", range(2))
def test_reassociated_sums_stay_within_rounding_and_native_code_agrees_bit_for_bit(
    group: int,
) -> None:
    vectorized = 0
    with Llvm() as llvm:
        for seed in range(1000 + group * 15, 1000 + group * 15 + 15):
            function = random_function(seed, reassociate=True)
            before = run(function, seed)
            context = everything()
            for _, step in (*ORDER[:5], ("contract", contract.run), *ORDER[5:]):
                step(function, context)
                verify_function(function)
            after = run(function, seed)
            _assert_close(before, after, seed)
            native = llvm.run(
                NativeRun(module_text(function), "f", tuple(arguments()), memory(seed))
            )
            assert not differences(after, native), f"seed {seed}"
            kinds = [type(e.decision).__name__ for e in context.journal.entries]
            vectorized += "Vectorized" in kinds
    assert vectorized > 5


def _assert_close(before: np.ndarray, after: np.ndarray, seed: int) -> None:
    for number, (name, type) in enumerate(ARRAYS):
        if not type.is_float:
            continue
        dtype = np.float32 if type.bits == 32 else np.float64
        a, b = (
            m[number * STRIDE :][: ELEMENTS * type.size_bytes].view(dtype) for m in (before, after)
        )
        assert np.allclose(a, b, rtol=1e-3, atol=1e-3, equal_nan=True), f"seed {seed}, {name}"


def test_the_same_seed_gives_the_same_text_after_all_passes() -> None:
    def optimized() -> str:
        function = random_function(7)
        for _, step in ORDER:
            step(function, everything())
        return text(function)

    assert optimized() == optimized()
