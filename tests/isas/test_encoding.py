"""Our bytes of x86 instructions are LLVM's bytes."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isas
from isas.assembly import instruction_text, label_text
from isas.codes import EncodingError, parse_code
from isas.encoding import encode
from isas.layout import program_bytes
from isas.parsing import parse_instruction, parse_program
from isas.program import ProgramInstruction
from tests.isas.samples import LABEL, sample_instructions
from tests.isas.test_assembly_accepted import CHILD, X86_FEATURES

ISA = isas.load_isa("x86")
SLOT = 16
ADDRESSES = (
    "[rax]", "[rsp]", "[rbp]", "[r12]", "[r13]", "[rsp + 8]", "[rbp + 8]", "[r12 - 128]",
    "[r13 + 127]", "[rax + 128]", "[rax - 129]", "[rax + rcx]", "[rax + 8*rcx]", "[r13 + r12]",
    "[r12 + 4*r13]", "[r13 + 2*r14 + 64]", "[rbp + rbp]", "[8*rax + 64]", "[4*r9]", "[64]",
    "[r15 + 8*r15 + 100000]",
)  # fmt: skip
TEXTS = (
    *(f"vaddps ymm1, ymm2, ymmword ptr {address}" for address in ADDRESSES),
    *(f"vmovups ymmword ptr {address}, ymm12" for address in ADDRESSES),
    *(f"mov r10d, dword ptr {address}" for address in ADDRESSES),
    *(f"mov byte ptr {address}, sil" for address in ADDRESSES),
    *(f"lea r9, {address}" for address in ADDRESSES),
    *(f"{name} {register}, {number}" for name in ("add", "and", "cmp", "mov", "test")
      for register in ("eax", "rax", "ecx", "r9d", "r10") for number in (1, -1, 127, 128, -129)),
    *(f"{name} {register}, {number}" for name in ("and", "or", "cmp", "test", "mov")
      for register in ("al", "cl", "sil", "dil", "r9b") for number in (1, -1, 127)),
    *(f"shl {register}, {number}" for register in ("eax", "r9d", "r10") for number in (1, 2, 31)),
    *(f"{name} ymm{d}, ymm{a}, ymm{b}" for name in ("vaddps", "vsubps", "vpand", "vpandn",
      "vpmulld",
      "vcmpeqps", "vcmpltps", "vunpcklps", "vminps", "vpmuludq", "vfmadd231ps", "vpcmpeqd")
      for d in (1, 9) for a in (2, 10) for b in (3, 11)),
    *(f"vmovaps {v}mm{d}, {v}mm{a}" for v in "xy" for d in (1, 9) for a in (2, 10)),
    *(f"setl {register}" for register in ("al", "sil", "dil", "r9b", "r12b")),
    *(f"movzx eax, {register}" for register in ("al", "sil", "dil", "r9b", "r12b")),
    "movabs rax, 81985529216486895", "movabs r9, -1", "cqo",
)  # fmt: skip


def _assemble(lines: list[str]) -> bytes:
    """The text section that LLVM's assembler makes of the lines."""
    result = subprocess.run(
        [sys.executable, str(CHILD), ISA.triple, X86_FEATURES],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr[:2000]
    return bytes.fromhex(result.stdout.strip())


def _llvm(instructions: list[ProgramInstruction]) -> list[bytes]:
    """LLVM's bytes of each instruction, padded to a slot with int3."""
    lines = [".intel_syntax noprefix"]
    for instruction in instructions:
        lines += [f".balign {SLOT}, 0xcc", instruction_text(ISA, instruction)]
    lines += [f".balign {SLOT}, 0xcc", ".space 512, 0xcc", label_text(ISA, LABEL) + ":"]
    data = _assemble(lines)
    return [data[start : start + SLOT] for start in range(0, SLOT * len(instructions), SLOT)]


def _differences(instructions: list[ProgramInstruction]) -> list[str]:
    wrong = []
    for instruction, theirs in zip(instructions, _llvm(instructions)):
        ours = encode(ISA, instruction)
        is_branch = instruction.shape.facts.target is not None
        length = len(ours) - 4 * is_branch  # the distance is the layout's
        if ours[:length] != theirs[:length] or theirs[len(ours) :].strip(b"\xcc"):
            text = instruction_text(ISA, instruction)
            wrong.append(f"{text}: ours {ours.hex()}, LLVM's {theirs.hex()}")
    return wrong


needs_x86 = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="needs llvmlite's native assembler"
)


@needs_x86
def test_every_shape_has_llvms_bytes() -> None:
    instructions = list(sample_instructions(ISA))
    assert all(instruction.shape.code for instruction in instructions)
    assert _differences(instructions) == []


@needs_x86
def test_addresses_immediates_and_high_registers_have_llvms_bytes() -> None:
    instructions = [parse_instruction(ISA, text) for text in TEXTS]
    assert _differences(instructions) == []


def test_a_near_branch_takes_two_bytes() -> None:
    jump = parse_instruction(ISA, "jl .Lloop")
    assert encode(ISA, jump, -20) == bytes([0x7C, 0xEC])
    assert encode(ISA, jump, -200) == bytes([0x0F, 0x8C, 0x38, 0xFF, 0xFF, 0xFF])


def test_registers_that_the_isa_lacks_have_no_bytes() -> None:
    with pytest.raises(EncodingError, match="the real ISA has no register ymm20"):
        encode(ISA, parse_instruction(ISA, "vaddps ymm20, ymm1, ymm2"))


@pytest.mark.parametrize(
    "text",
    ["", "VEX.67.0F 58 RVM", "VEX.0F RVM", "58 RVM xyz", "0F58", "58 /9", "58 #9", "58 @", "58 |"],
)
def test_a_wrong_code_is_refused(text: str) -> None:
    with pytest.raises(EncodingError):
        parse_code(text)


@needs_x86
@given(st.lists(st.tuples(st.sampled_from(["jl", "jmp", "vaddps"]), st.integers(0, 90))))
@settings(max_examples=8, deadline=None, derandomize=True)
def test_a_programs_branches_are_as_short_as_llvms(rows: list[tuple[str, int]]) -> None:
    count = 90
    lines = ["vaddps ymm1, ymm2, ymmword ptr [rdi + 4*rax + 4096]"] * count
    for place, (name, target) in enumerate(rows):
        if name != "vaddps":
            lines[place * 3 % count] = f"{name} .Ll{target}"
    text = "".join(f".Ll{place}:\n{line}\n" for place, line in enumerate([*lines, "ret"]))
    ours = b"".join(program_bytes(parse_program(ISA, text, "random")))
    theirs = _assemble([".intel_syntax noprefix", *text.splitlines()])
    assert ours == theirs
