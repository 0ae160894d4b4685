"""What the vectoriser accepts and refuses, and that refusals say why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compiler.llvm.context import Context
from compiler.llvm.evaluate import evaluate
from compiler.llvm.ir import Function, Instruction, Opcode
from compiler.llvm.parse import parse_function
from compiler.llvm.passes import combine, vectorize
from compiler.llvm.text import text
from compiler.llvm.verify import verify_function
from compiler.options import Options
from tests.llvm.programs import everything


def loop(
    body: str, *, phis: str = "", after: str = "", count: str = "24", step: int = 1
) -> Function:
    """A counted loop over float arrays %x (read) and %y (written), both noalias, and %z, which is
    not."""
    return parse_function(
        f"""define void @f(ptr noalias %x, ptr noalias %y, ptr %z, i64 %n) {{
        entry:
          br label %header
        header:
          %i = phi i64 [ 0, %entry ], [ %next, %body ]
          {phis}
          %more = icmp slt i64 %i, {count}
          br i1 %more, label %body, label %exit
        body:
          %px = getelementptr inbounds float, ptr %x, i64 %i
          %v = load float, ptr %px, align 4
          {body}
          %next = add nsw i64 %i, {step}
          br label %header
        exit:
          {after}
          ret void
        }}"""
    )


STORE = """%py = getelementptr inbounds float, ptr %y, i64 %i
          store float %v, ptr %py, align 4"""


def decision(function: Function, context: Context | None = None) -> str:
    context = context or everything()
    vectorize.run(function, context)
    verify_function(function)
    return str(context.journal.entries[-1].decision)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("store float %v, ptr %y, align 4", "writes one place in every iteration"),
        (
            "%pz = getelementptr float, ptr %z, i64 %i\n store float %v, ptr %pz, align 4\n"
            "%j = add i64 %i, %n\n %pw = getelementptr float, ptr %z, i64 %j\n"
            "%w = load float, ptr %pw, align 4",
            "how far apart accesses to %z are",
        ),
        (
            "%pz = getelementptr float, ptr %z, i64 %i\n store float %v, ptr %pz, align 4\n"
            "%j = add i64 %i, 3\n %pw = getelementptr float, ptr %z, i64 %j\n"
            "%w = load float, ptr %pw, align 4",
            "an iteration needs what another one writes",
        ),
        (
            "%pb = getelementptr i8, ptr %y, i64 %i\n store float %v, ptr %pb, align 1",
            "neighbouring iterations overlap",
        ),
        (STORE + "\n call void @llvm.nvvm.barrier0()", "it calls llvm.nvvm.barrier0"),
    ],
)
def test_refusals_name_the_reason(body: str, reason: str) -> None:
    assert reason in decision(loop(body))


def test_carried_values_and_ordered_sums_are_refused() -> None:
    carried = loop(STORE, phis="%a = phi float [ 0.0, %entry ], [ %v, %body ]")
    assert "carries a value" in decision(carried)
    ordered = loop(
        "%s = fadd float %a, %v",
        phis="%a = phi float [ 0.0, %entry ], [ %s, %body ]",
        after="store float %a, ptr %y, align 4",
    )
    assert "order of the operations on %a" in decision(ordered)


def test_strict_order_keeps_even_reassociable_sums() -> None:
    function = loop(
        "%s = fadd reassoc float %a, %v",
        phis="%a = phi float [ 0.0, %entry ], [ %s, %body ]",
        after="store float %a, ptr %y, align 4",
    )
    context = everything(options=Options(strict_order=True))
    assert "must be kept" in decision(function, context)


def test_a_missing_instruction_is_named() -> None:
    def covers(instruction: Instruction) -> bool:
        return instruction.opcode is not Opcode.FMUL

    function = loop("%m = fmul float %v, %v\n" + STORE.replace("float %v", "float %m"))
    context = everything()
    context = replace(context, target=replace(context.target, covers=covers))
    assert "test/any has no fmul of <8 x float> for %m" in decision(function, context)


def test_simt_machines_keep_scalar_loops() -> None:
    context = everything()
    context = replace(context, target=replace(context.target, is_simt=True))
    assert not vectorize.run(loop(STORE), context)


def test_scalar_lanes_asked_for_are_scalar_lanes() -> None:
    assert "one lane" in decision(loop(STORE), everything(options=Options(vector_lanes=1)))


def test_parts_respect_the_register_limit() -> None:
    def summing() -> Function:
        return loop(
            "%s = fadd reassoc float %a, %v",
            phis="%a = phi float [ 0.0, %entry ], [ %s, %body ]",
            after="store float %a, ptr %y, align 4",
            count="256",
        )

    context = everything()
    wide = decision(summing(), context)
    few = replace(context, target=replace(context.target, registers=(("vec", 3),)))
    narrow = decision(summing(), few)
    assert "x4" in wide and "x4" not in narrow


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 24, 31])
def test_a_bound_known_at_run_time_works_for_every_count(count: int) -> None:
    function = loop(
        "%s = add i32 %a, 3\n" + STORE,
        phis="%a = phi i32 [ 5, %entry ], [ %s, %body ]",
        count="%n",
        after="store i32 %a, ptr %z, align 4",
    )
    plain = parse_again(function)
    assert vectorize.run(function, everything())
    verify_function(function)
    memory = np.arange(512, dtype=np.uint8)
    expected = memory.copy()
    evaluate(plain, [0, 128, 256, count], expected)
    evaluate(function, [0, 128, 256, count], memory)
    assert np.array_equal(memory, expected)


def parse_again(function: Function) -> Function:
    return parse_function(text(function))


@pytest.mark.parametrize("step", [1, 2, 3])
def test_steps_other_than_one_and_leftovers(step: int) -> None:
    function = loop("%w = fadd float %v, 1.0\n" + STORE.replace("%v", "%w"), count="61", step=step)
    plain = parse_again(function)
    vectorize.run(function, everything())
    combine.run(function, everything())
    verify_function(function)
    memory = np.zeros(768, np.uint8)
    memory[:256].view(np.float32)[:] = np.arange(64)
    expected = memory.copy()
    evaluate(plain, [0, 256, 512, 0], expected)
    evaluate(function, [0, 256, 512, 0], memory)
    assert np.array_equal(memory, expected)


def test_in_place_updates_are_vectorised() -> None:
    function = loop("%w = fadd float %v, 1.0\n store float %w, ptr %px, align 4", count="24")
    assert "8 lanes" in decision(function)


def test_distant_parts_of_one_array_are_independent() -> None:
    body = """%j = add i64 %i, 24
          %pw = getelementptr inbounds float, ptr %x, i64 %j
          store float %v, ptr %pw, align 4"""
    assert "lanes" in decision(loop(body, count="24"))
    assert "another one writes" in decision(loop(body, count="25"))
