"""Every shape of every card prints assembly that real LLVM's assembler accepts."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import isas
from isas.assembly import instruction_text, label_text, symbol_text
from isas.model import Isa
from tests.isas.samples import LABEL, SYMBOL, sample_instructions

CHILD = Path(__file__).parent / "assemble_child.py"
X86_FEATURES = "+avx2,+fma,+bmi,+bmi2,+lzcnt,+popcnt,+f16c"


def _listing(isa: Isa, *before: str) -> str:
    lines = [instruction_text(isa, instruction) for instruction in sample_instructions(isa)]
    labels = [label_text(isa, LABEL) + ":", symbol_text(SYMBOL) + ":"]
    return "\n".join([*before, *lines, *labels]) + "\n"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="needs llvmlite's native assembler")
def test_llvm_accepts_every_x86_shape() -> None:
    isa = isas.load_isa("x86")
    result = subprocess.run(
        [sys.executable, str(CHILD), isa.triple, X86_FEATURES],
        input=_listing(isa, ".intel_syntax noprefix"),
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr[:2000]
    assert len(bytes.fromhex(result.stdout.strip())) > 4 * len(isa.shapes)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="needs llvmlite's native assembler")
def test_the_child_refuses_what_is_not_x86() -> None:
    result = subprocess.run(
        [sys.executable, str(CHILD), isas.load_isa("x86").triple, X86_FEATURES],
        input=".intel_syntax noprefix\nvaddps ymm0, ymm1\n",
        capture_output=True,
        text=True,
    )
    assert result.returncode != 0


@pytest.mark.skipif(shutil.which("llvm-mc") is None, reason="needs llvm-mc")
def test_llvm_accepts_every_arm_shape() -> None:
    isa = isas.load_isa("arm")
    result = subprocess.run(
        ["llvm-mc", "-triple", isa.triple, "-filetype=null"],
        input=_listing(isa),
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr[:2000]


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="needs ptxas")
def test_ptxas_accepts_every_simt_shape(tmp_path: Path) -> None:
    isa = isas.load_isa("simt")
    head = """.version 7.0
.target sm_80
.address_size 64
.visible .entry kernel(.param .align 8 .b8 c0[64])
{ .reg .b32 %r<32>; .reg .b64 %rd<64>; .reg .pred %p<8>; .local .align 16 .b8 slots[128];"""
    body = _listing(isa).replace(".Lc0:", "ret; }")
    lines = [
        line.replace("[c0", "[slots") if ".local." in line else line for line in body.splitlines()
    ]
    source = tmp_path / "all.ptx"
    source.write_text("\n".join([head, *lines]) + "\n")
    result = subprocess.run(
        ["ptxas", "-arch=sm_80", str(source), "-o", str(tmp_path / "all.cubin")],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, (result.stdout + result.stderr)[:2000]
