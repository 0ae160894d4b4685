"""Whole programs, fused and unfused, on every kind of machine: the IR is accepted by real LLVM and
its results equal the expected ones; kernels for a grid run in the IR evaluator and become PTX."""

from __future__ import annotations

from collections.abc import Sequence

import llvmlite.binding as llvm
import numpy as np
import pytest

from compiler.hlo.text import parse_module
from compiler.llvm.evaluate_grid import evaluate_grid
from compiler.llvm.text import text
from compiler.llvm.verify import verify_function
from compiler.lower import Lowered
from compiler.lower.decisions import KeptValue, LoopNest, ThreadMapping
from compiler.options import Options
from isas.errors import UnsupportedError
from tests.lower.harness import ARM, SCALAR, SIMT, X86
from tests.lower.native import run_native
from tests.lower.programs import (
    CASES,
    PROGRAMS,
    arena,
    compiled,
    job,
    load_case,
    outputs,
    tolerance,
)

VARIANTS = [
    (target, Options(fuse=fuse, strict_order=strict))
    for target, fuse, strict in (
        (X86, True, False),
        (X86, False, False),
        (ARM, True, True),
        (SCALAR, True, False),
    )
]


def check(name: str, found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> None:
    rtol, atol = tolerance(name)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol, err_msg=name)


@pytest.mark.parametrize("variant", range(len(VARIANTS)))
def test_cpu_kernels_run_natively_with_the_expected_results(variant: int) -> None:
    target, options = VARIANTS[variant]
    jobs, assignments, expected = [], [], []
    for name in PROGRAMS:
        module, given, wanted = load_case(name)
        _, assignment, lowered, _ = compiled(module, target, options)
        for function in lowered.llvm_module.functions:
            verify_function(function)
        jobs.append(job(assignment, lowered, given))
        assignments.append(assignment)
        expected.append(wanted)
    for name, memory, assignment, wanted in zip(
        PROGRAMS, run_native(jobs), assignments, expected, strict=True
    ):
        check(name, outputs(assignment, memory), wanted)


def run_grid(assignment, lowered: Lowered, given: Sequence[np.ndarray]) -> bytes:  # type: ignore[no-untyped-def]
    memory = np.frombuffer(bytes(arena(assignment, given)), np.uint8).copy()
    for kernel in lowered.kernels:
        function = lowered.llvm_module.function(kernel.function)
        blocks = -(-kernel.threads // kernel.block_size)
        evaluate_grid(
            function, [s.offset for s in kernel.arguments], memory, (blocks, kernel.block_size)
        )
    return memory.tobytes()


@pytest.mark.parametrize("name", PROGRAMS)
def test_grid_kernels_run_with_all_lanes_in_step(name: str) -> None:
    module, given, expected = load_case(name)
    for options in (Options(), Options(block_size=64), Options(fuse=False)):
        _, assignment, lowered, _ = compiled(module, SIMT, options)
        check(name, outputs(assignment, run_grid(assignment, lowered, given)), expected)


def test_real_llvm_makes_ptx_of_grid_kernels() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple("nvptx64-nvidia-cuda")
    machine = target.create_target_machine(cpu="sm_70", opt=2)
    for name in PROGRAMS:
        module, _, _ = load_case(name)
        lowered = compiled(module, SIMT, Options())[2]
        parsed = llvm.parse_assembly(text(lowered.llvm_module))
        parsed.verify()
        assembly = machine.emit_assembly(parsed)
        assert assembly.count(".visible .entry") == len(lowered.kernels)


def test_softmax_keeps_its_exponentials_in_the_rows_of_the_result() -> None:
    module, _, _ = load_case("softmax")
    for target in (X86, SIMT):
        journal = compiled(module, target, Options())[3]
        (kept,) = [e.decision for e in journal.entries if isinstance(e.decision, KeptValue)]
        assert kept.value == "exp.1"
        assert kept.chosen == "kept in the row of div.7"


def test_the_journal_tells_loops_and_threads() -> None:
    module, _, _ = load_case("gelu_tanh")
    (nest,) = [
        e.decision for e in compiled(module, X86, Options())[3].entries
        if isinstance(e.decision, LoopNest)
    ]  # fmt: skip
    assert nest.loops == "32*64"
    (mapping,) = [
        e.decision for e in compiled(module, SIMT, Options())[3].entries
        if isinstance(e.decision, ThreadMapping)
    ]  # fmt: skip
    assert (mapping.chosen, mapping.threads) == ("one thread per element", 2048)


def test_every_instruction_names_instructions_of_the_program() -> None:
    for name in ("softmax", "attention", "reductions"):
        module, _, _ = load_case(name)
        known = {i.name for c in module.computations for i in c}
        lowered = compiled(module, X86, Options())[2]
        for function in lowered.llvm_module.functions:
            for instruction in function.instructions():
                assert instruction.origins
                for origin in instruction.origins:
                    assert origin in known or origin.rpartition(".")[0] in known


def test_pointers_say_what_is_known_of_them() -> None:
    module, _, _ = load_case("softmax")
    (function,) = compiled(module, X86, Options())[2].llvm_module.functions
    x, out = function.arguments
    assert set(x.attributes) == {"noalias", "readonly", "align 64", "dereferenceable(3072)"}
    assert set(out.attributes) == {"noalias", "align 64", "dereferenceable(3072)"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ROOT s = f32[8] sort(x), dimensions={0}, to_apply=less", "operation sort"),
        ("ROOT s = c64[8] convert(x)", "element type c64"),
        ("ROOT s = s4[8] convert(x)", "element type s4"),
    ],
)
def test_what_is_not_covered_is_named_with_its_line(line: str, words: str) -> None:
    source = f"""HloModule m
less {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT
}}
ENTRY main {{
  x = f32[8] parameter(0)
  {line}
}}"""
    with pytest.raises(UnsupportedError) as error:
        compiled(parse_module(source), X86, Options())
    assert words in str(error.value)
    assert ":9" in str(error.value)


def test_all_programs_of_the_first_issue_are_at_hand() -> None:
    assert all((CASES / f"{name}.npz").exists() for name in PROGRAMS)
