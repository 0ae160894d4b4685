"""Printed assembly reads back to the same instruction."""

from __future__ import annotations

import pytest

import isas
from isas.assembly import instruction_text, program_text
from isas.parsing import AssemblyError, parse_instruction, parse_program
from isas.program import Guard, LabelTarget, ProgramInstruction
from tests.isas.samples import sample_instructions

ISAS = ("x86", "arm", "simt")


@pytest.mark.parametrize("name", ISAS)
def test_every_shape_reads_back_with_its_text_and_operands(name: str) -> None:
    isa = isas.load_isa(name)
    for instruction in sample_instructions(isa):
        text = instruction_text(isa, instruction)
        parsed = parse_instruction(isa, text)
        assert parsed.text == text
        if parsed.shape is instruction.shape:
            assert dict(parsed.operands) == dict(instruction.operands)


def test_a_guard_reads_back() -> None:
    isa = isas.load_isa("simt")
    branch = parse_instruction(isa, "@!%p3 bra $done;")
    assert branch.guard == Guard(isa.registers.register("pred", "p", 3), True)
    assert branch.text == "@!%p3 bra $done;"
    assert branch.operands["target"] == LabelTarget("done")


def test_a_program_reads_back_with_labels_and_without_comments() -> None:
    isa = isas.load_isa("x86")
    text = """
.Lloop:  # the only loop
    vaddps ymm0, ymm0, ymmword ptr [rdi + 4*rax]
    add rax, 8
    cmp rax, rsi
    jl .Lloop
    ret
"""
    program = parse_program(isa, text, "sum")
    assert program.labels == {"loop": 0}
    assert len(program.instructions) == 5
    again = parse_program(isa, program_text(program), "sum")
    assert [i.text for i in again.instructions] == [i.text for i in program.instructions]


def test_registers_beyond_the_real_ones_print_and_read_back() -> None:
    isa = isas.load_isa("x86")
    instruction = parse_instruction(isa, "vaddps ymm20, ymm1, ymm40")
    registers = [instruction.register(name) for name in ("d", "a", "b")]
    assert [register and register.is_encodable for register in registers] == [False, True, False]


@pytest.mark.parametrize(
    ("isa_name", "text", "expected"),
    [
        ("x86", "vadps ymm0, ymm1, ymm2", "k.s:7: x86 has no instruction 'vadps'"),
        ("x86", "add eax, rbx", "k.s:7: no form of add fits 'add eax, rbx'"),
        ("x86", "mov eax, dword ptr [rdi + 3*rax]", "k.s:7: no form of mov fits"),
        ("arm", "ldr w0, [x1, #3]", "k.s:7: no form of ldr fits 'ldr w0, [x1, #3]'"),
        ("arm", "and w0, w1, #5", "k.s:7: no form of and fits 'and w0, w1, #5'"),
        ("simt", "@%r1 bra $x;", "k.s:7: '%r1' cannot guard an instruction"),
        ("simt", "ld.global.u64 %rd3, [%rd2];", "k.s:7: no form of ld.global.u64 fits"),
    ],
)
def test_wrong_assembly_is_refused_with_its_place(isa_name: str, text: str, expected: str) -> None:
    with pytest.raises(AssemblyError) as caught:
        parse_instruction(isas.load_isa(isa_name), text, "k.s:7")
    assert str(caught.value).startswith(expected)


def test_instructions_are_told_apart_by_operand_not_by_order_of_cards() -> None:
    isa = isas.load_isa("arm")
    scalar = parse_instruction(isa, "fadd s0, s1, s2")
    vector = parse_instruction(isa, "fadd v0.4s, v1.4s, v2.4s")
    integer = parse_instruction(isa, "add v0.4s, v1.4s, v2.4s")
    assert [str(i.shape.operands[0].type) for i in (scalar, vector, integer)] == [
        "f32",
        "v4f32",
        "v4i32",
    ]
    assert isinstance(integer, ProgramInstruction)
