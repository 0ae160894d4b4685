"""What is derived from a card's effects: types, reads, writes, moves, branches, patterns."""

from __future__ import annotations

import pytest

import isas
from isas.effects import Apply, Effect, walk
from isas.model import Isa, Role, Shape
from isas.parsing import parse_instruction


def _shape(isa_name: str, text: str) -> Shape:
    return parse_instruction(isas.load_isa(isa_name), text).shape


ISAS = [pytest.param(isas.load_isa(name), id=name) for name in ("x86", "arm", "simt")]


def test_a_fused_multiply_add_ties_its_accumulator() -> None:
    shape = _shape("x86", "vfmadd231ps ymm0, ymm1, ymmword ptr [rdi]")
    assert [str(effect) for effect in shape.effects] == ["d = fma(a, load(b), d)"]
    assert shape.facts.reads == ("a", "d")
    assert shape.facts.writes == shape.facts.tied == ("d",)
    assert shape.facts.loads == ("b",)
    assert str(shape.effects[0].expression.type) == "v8f32"


def test_a_scalar_keeps_the_rest_of_its_first_source() -> None:
    assert _shape("x86", "vaddss xmm0, xmm1, xmm2").rest == "a"
    assert _shape("x86", "vfmadd231ss xmm0, xmm1, xmm2").rest == "d"
    assert _shape("x86", "vaddps xmm0, xmm1, xmm2").rest is None


def test_flags_and_fixed_registers_are_implicit() -> None:
    add = _shape("x86", "add eax, ebx").facts
    assert add.implicit_writes == ("flags",) and add.writes_flags and not add.reads_flags
    divide = _shape("x86", "idiv ecx").facts
    assert divide.implicit_reads == ("eax", "edx")
    assert divide.implicit_writes == ("eax", "edx", "flags")
    assert _shape("x86", "setl al").facts.reads_flags


def test_an_address_alone_is_neither_load_nor_store() -> None:
    facts = _shape("x86", "lea rax, [rdi + 4*rcx + 8]").facts
    assert (facts.addresses, facts.loads, facts.stores) == (("a",), (), ())


@pytest.mark.parametrize(
    ("isa", "text", "kinds"),
    [
        ("x86", "vmovups ymm0, ymm1", "move"),
        ("x86", "vmovups ymm0, ymmword ptr [rdi]", "load"),
        ("x86", "vmovups ymmword ptr [rdi], ymm0", "store"),
        ("x86", "mov eax, 7", "constant"),
        ("x86", "vmovd xmm0, eax", ""),
        ("x86", "vaddps ymm0, ymm1, ymm2", ""),
        ("arm", "mov v0.16b, v1.16b", "move"),
        ("arm", "ldr q0, [x1, #16]", "load"),
        ("arm", "str q0, [x1]", "store"),
        ("arm", "mov w0, #5", "constant"),
        ("arm", "movi v0.2d, #0", "constant"),
        ("simt", "mov.f32 %r1, %r2;", "move"),
        ("simt", "ld.global.f32 %r1, [%rd2];", "load"),
        ("simt", "st.global.f32 [%rd2], %r1;", "store"),
        ("simt", "mov.f32 %r1, 0f3F800000;", "constant"),
    ],
)
def test_moves_loads_stores_and_constants_are_found_by_effect(
    isa: str, text: str, kinds: str
) -> None:
    facts = _shape(isa, text).facts
    found = [
        name
        for name, holds in (
            ("move", facts.is_move),
            ("load", facts.is_load_only),
            ("store", facts.is_store_only),
            ("constant", facts.is_constant_only),
        )
        if holds
    ]
    assert " ".join(found) == kinds


@pytest.mark.parametrize(
    ("isa", "text", "conditional", "returns", "barrier"),
    [
        ("x86", "jl .Lx", True, False, False),
        ("x86", "jmp .Lx", False, False, False),
        ("x86", "ret", False, True, False),
        ("arm", "cbnz w0, .Lx", True, False, False),
        ("arm", "b .Lx", False, False, False),
        ("simt", "bra $x;", False, False, False),
    ],
)
def test_branches_are_found_by_effect(
    isa: str, text: str, conditional: bool, returns: bool, barrier: bool
) -> None:
    facts = _shape(isa, text).facts
    assert facts.is_branch
    assert (facts.is_conditional, facts.is_return, facts.is_barrier) == (
        conditional,
        returns,
        barrier,
    )
    assert facts.target == (None if returns else "target")


def test_a_barrier_is_no_branch_and_has_no_pattern() -> None:
    shape = _shape("simt", "bar.sync 0;")
    assert shape.facts.is_barrier and not shape.facts.is_branch
    assert shape.patterns == ()


def test_refined_patterns_name_their_rule() -> None:
    def refined(isa: str, text: str) -> list[tuple[str, str]]:
        patterns = _shape(isa, text).patterns
        return [(str(p.expression), p.rule) for p in patterns if p.is_refined]

    assert refined("x86", "shlx eax, ebx, ecx") == [("shl(a, b)", "masked shift amount")]
    assert refined("x86", "vcvttps2dq ymm0, ymm1") == [("fptosi(a)", "conversion within range")]
    assert refined("arm", "sdiv w0, w1, w2") == [
        ("sdiv(a, b)", "division by something other than zero")
    ]
    assert refined("arm", "bsl v0.16b, v1.16b, v2.16b") == [
        ("select(icmp.slt(d, 0), a, b)", "mask of whole lanes")
    ]
    assert refined("x86", "vaddps ymm0, ymm1, ymm2") == []


def test_a_division_pattern_requires_its_upper_register() -> None:
    patterns = [p for p in _shape("x86", "idiv ecx").patterns if p.requires]
    assert [str(p.requires[0]) for p in patterns] == ["edx = ashr(eax, 31)"] * 2
    assert [str(p.expression) for p in patterns] == ["sdiv(eax, a)", "srem(eax, a)"]
    extend = _shape("x86", "cdq")
    assert extend.effects == patterns[0].requires


@pytest.mark.parametrize("isa", ISAS)
def test_every_shape_is_typed_and_consistent(isa: Isa) -> None:
    for shape in isa.shapes:
        facts = shape.facts
        roles = {operand.name: operand.kind.role for operand in shape.operands}
        registers = {name for name, role in roles.items() if role is Role.REGISTER}
        assert set(facts.reads) | set(facts.writes) | {shape.rest} >= registers, shape.title
        assert all(roles[name] is Role.REGISTER for name in facts.reads + facts.writes)
        memory = {name for name, role in roles.items() if role is Role.MEMORY}
        assert memory == set(facts.loads) | set(facts.stores) | set(facts.addresses), shape.title
        for assignment in shape.effects:
            for node in walk(assignment.expression):
                assert node.type.bits >= 0
                if isinstance(node, Apply) and node.effect.arity >= 0:
                    written = len(node.arguments) + bool(node.attributes)
                    assert written >= node.effect.arity, f"{shape.title}: {node}"


@pytest.mark.parametrize("isa", ISAS)
def test_a_written_operand_gets_a_value_of_its_own_type(isa: Isa) -> None:
    for shape in isa.shapes:
        for assignment in shape.effects:
            target = assignment.target
            if target is not None and target.name in shape.by_name:
                assert assignment.expression.type == shape.by_name[target.name].type, shape.title


def test_the_isas_cover_what_compiled_tensor_programs_need() -> None:
    needed = {
        "x86": "fadd fsub fmul fdiv fma sqrt floor ceil ftrunc roundeven add sub mul and or xor "
        "shl lshr ashr icmp.slt fcmp.olt select sitofp fptosi fpext fptrunc zext sext trunc splat "
        "shuffle permute extract insert concat high low ctpop ctlz load ret",
        "arm": "fadd fsub fmul fdiv fma sqrt floor ceil ftrunc roundeven minimum maximum minnum "
        "maxnum fneg fabs add sub mul sdiv udiv and or xor shl lshr ashr smin smax umin umax abs "
        "icmp.eq fcmp.oge select sitofp uitofp fptosi fptoui fpext fptrunc zext sext trunc splat "
        "shuffle extract insert concat high reduce.add reduce.fmaximum ctpop ctlz load ret",
        "simt": "fadd fsub fmul fdiv fma sqrt floor ceil ftrunc roundeven minnum maxnum fneg fabs "
        "copysign add sub mul mulhu sdiv udiv srem urem and or xor shl lshr ashr smin umax abs "
        "icmp.ult fcmp.uno select sitofp uitofp fptosi fptoui fpext fptrunc zext sext trunc ctpop "
        "ctlz load ret thread_id.x block_id.x block_dim.x lane_id exchange.xor exchange.down "
        "exchange.index vote.all ballot barrier",
    }
    for name, words in needed.items():
        isa = isas.load_isa(name)
        present = {
            node.effect.spelling
            for shape in isa.shapes
            for expression in (
                *(pattern.expression for pattern in shape.patterns),
                *(assignment.expression for assignment in shape.effects),
            )
            for node in walk(expression)
            if isinstance(node, Apply)
        }
        assert set(words.split()) <= present, set(words.split()) - present
    assert Effect.RET.arity == 0


def test_a_float_immediate_has_the_type_of_its_operation_not_of_its_encoding() -> None:
    for text, expected in (("fmov s0, #1.0", "f32"), ("fmov v0.2d, #1.0", "f64")):
        shape = _shape("arm", text)
        assert str(shape.by_name["a"].type) == expected
