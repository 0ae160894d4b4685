# ruff: noqa: E501  (HLO text keeps its own line lengths)
"""A wrong module is refused with the instruction, its line and the rule it breaks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.hlo.errors import HloVerifyError
from compiler.hlo.module import Module
from compiler.hlo.text import parse_module, read_module
from compiler.hlo.verify import verify
from tests.hlo.programs import ADD, GE, case_files, one_op

P = "p = f32[2,3] parameter(0)\n"
IDX = "i = s32[4] parameter(1)\n"

BROKEN = [
    (P + "r = f32[3,2] negate(p)", "the result must be f32[2,3]{1,0}, it is f32[3,2]"),
    (P + "r = s32[2,3] negate(p)", "the result must be f32[2,3]{1,0}, it is s32[2,3]"),
    (P + "q = f32[3] parameter(1)\nr = f32[2,3] add(p, q)", "operands must have equal shapes"),
    (P + IDX + "r = f32[2,3] add(p, p, p)", "needs 2 operands, has 3"),
    (
        P + "q = s32[2,3] parameter(1)\nr = f32[2,3] add(p, q)",
        "operands must have one element type",
    ),
    (P + "r = f32[2,3] not(p)", "operand must be predicate or signed or unsigned, it is f32"),
    (P + "r = f32[2,3] shift-left(p, p)", "operand must be signed or unsigned, it is f32"),
    (P + "r = pred[2,3] compare(p, p)", "attribute direction is missing"),
    (P + "r = f32[3,2] transpose(p), dimensions={1,1}", "is no permutation"),
    (P + "r = f32[2,4] slice(p), slice={[0:2], [0:4]}", "must lie in 0:3"),
    (P + "r = f32[2,3] slice(p), slice={[0:2]}", "slice has 1 ranges"),
    (P + "r = f32[7] reshape(p)", "has 6 elements, f32[7] has 7"),
    (P + "r = s32[6] reshape(p)", "reshape cannot turn"),
    (P + "r = f32[4,3] broadcast(p), dimensions={0,1}", "must be equal"),
    (P + "r = f32[2,3,4] broadcast(p), dimensions={0}", "must name a result dimension for each"),
    (P + "r = f32[2,3] iota(), iota_dimension=2", "iota_dimension 2 is out of range for rank 2"),
    (P + "r = f32[4,3] concatenate(p, p), dimensions={1}", "the result must be f32[2,6]{1,0}"),
    (
        P + IDX + "r = f32[2,3] concatenate(p, i), dimensions={0}",
        "must be an array"[:0] + "may differ",
    ),
    (
        P + "r = f32[3,3] dot(p, p), lhs_contracting_dims={0}, rhs_contracting_dims={1}",
        "must be equal",
    ),
    (
        P + "r = f32[3,3] dot(p, p), lhs_contracting_dims={7}, rhs_contracting_dims={0}",
        "out of range",
    ),
    (
        P + "z = f32[] constant(0)\nr = f32[2] reduce(p, z), dimensions={1}, to_apply=ge_f32",
        "the result must be pred[2]",
    ),
    (
        P + "r = f32[2] reduce(p, p), dimensions={1}, to_apply=add_f32",
        "initial values must be scalars",
    ),
    (
        P + "z = f32[] constant(0)\nr = f32[2] reduce(p, z), dimensions={2}, to_apply=add_f32",
        "out of range",
    ),
    (P + "r = f32[2,3] select(p, p, p)", "the selector must be pred"),
    (
        P + "t = (f32[2,3]) tuple(p)\nr = f32[2,3] get-tuple-element(t), index=1",
        "index 1 is out of range",
    ),
    (P + "r = f32[2,3] get-tuple-element(p), index=0", "the operand must be a tuple"),
    (P + "r = f32[2,3] call(p), to_apply=add_f32", "takes 2 parameters, 1 are given"),
    (P + "z = f32[] constant(0)\nr = f32[2,3] pad(p, z), padding=0_0", "padding has 1 dimensions"),
    (
        P + "r = s32[2,3] bitcast-convert(f32[2,3] p)\ns = s16[2,3] bitcast-convert(r)",
        "keeps the bits",
    ),
    (P + "r = f64[2,3] bitcast(p)", "bitcast keeps the bits"),
    (P + "c = c64[2,3] convert(p)\nr = f32[2,3] convert(c)", "convert cannot turn"),
    (P + "r = f32[2,3] custom-call(p)", "attribute custom_call_target is missing"),
    (P + "r = f32[2,3] cholesky(p)", "needs square matrices"),
    (P + "r = c64[2,2] fft(p), fft_type=FFT, fft_length={3}", "FFT takes a complex array"),
    (
        P
        + IDX
        + "r = f32[4,3] gather(p, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={2,3}",
        "must have slice size 1",
    ),
    (
        P + "q = f32[2,3] parameter(2)\nr = f32[2,3] add(p, q)",
        "parameters are numbered without gaps",
    ),
    (
        P
        + "s = s32[] parameter(1)\nr = f32[] conditional(s, p), branch_computations={add_f32, add_f32}",
        "has 1 operands for 2 branches",
    ),
    (P + "r = f32[2,3] while(p), condition=ge_f32, body=ge_f32", "takes 2 parameters"),
    (P + "r = f32[2,3] sort(p), dimensions={0}, to_apply=add_f32", "to_apply must yield pred"),
    (
        P
        + "s = f32[2,3] sort(p), dimensions={0}, to_apply=ge_f32\nr = f32[2] sort(s), dimensions={0}, to_apply=ge_f32",
        "the result must be f32[2,3]",
    ),
]


@pytest.mark.parametrize(("body", "rule"), BROKEN, ids=[str(i) for i in range(len(BROKEN))])
def test_each_broken_rule_is_named_with_instruction_and_line(body, rule):
    text = one_op(body, before=ADD + GE)
    with pytest.raises(HloVerifyError) as raised:
        verify(parse_module(text, "x.hlo"))
    message = str(raised.value)
    assert rule in message
    assert message.startswith("x.hlo:"), message


@pytest.mark.parametrize("path", case_files(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_stored_case_verifies(path):
    verify(read_module(path))


def changed(module: Module, **changes: object) -> Module:
    entry = replace(module.entry_computation, **changes)
    return module.with_computations((*module.computations[:-1], entry))


def test_order_root_and_missing_operands_are_checked():
    module = parse_module(one_op(P + "a = f32[2,3] negate(p)\nb = f32[2,3] negate(a)"))
    p, a, b = module.entry_computation.instructions
    with pytest.raises(HloVerifyError, match="operand a is defined later"):
        verify(changed(module, instructions=(p, b, a)))
    with pytest.raises(HloVerifyError, match="operand a is not defined"):
        verify(changed(module, instructions=(p, b)))
    with pytest.raises(HloVerifyError, match="root c is not one of its instructions"):
        verify(changed(module, root="c"))
    with pytest.raises(HloVerifyError, match="taken already"):
        verify(changed(module, instructions=(p, a, a, b)))


def test_recursion_is_refused():
    text = "HloModule m\nf { x = f32[] parameter(0)\n ROOT r = f32[] call(x), to_apply=g }\ng { x = f32[] parameter(0)\n ROOT r = f32[] call(x), to_apply=f }\n"
    with pytest.raises(HloVerifyError, match="calls itself"):
        verify(parse_module(text))


def test_the_entry_layout_must_fit():
    text = "HloModule m, entry_computation_layout={(f32[2]{0})->f32[3]{0}}\nENTRY e { ROOT a = f32[2] parameter(0) }"
    with pytest.raises(HloVerifyError, match="does not fit computation e"):
        verify(parse_module(text))


def test_preferred_types_and_mixed_precision_are_allowed():
    for body in (
        "p = bf16[4] parameter(0)\nr = f32[] dot(p, p), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        "p = s8[4] parameter(0)\nr = s32[] dot(p, p), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        "p = f32[4] parameter(0)\nq = bf16[4] parameter(1)\nr = f32[4] add(p, q)",
    ):
        verify(parse_module(one_op(body)))
