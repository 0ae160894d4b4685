"""Whole kernels, from IR to assembly text: with few registers (spills, kept registers, a frame),
with arguments on the stack, run by the machine and by this computer's own CPU, and read by real
assemblers."""

from __future__ import annotations

import pickle
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from compiler.allocate.allocate import allocate
from compiler.emit import assembly, emit
from compiler.journal import Journal
from compiler.llvm.context import Context
from compiler.llvm.evaluate import evaluate
from compiler.llvm.passes import legalize
from compiler.llvm.pipeline import optimize
from compiler.machine.verify import verify_machine_function
from compiler.options import Options
from compiler.select import select, target_of
from isas import load_machine
from isas.program import Program, RegisterOperand
from tests.llvm import programs
from tests.select import random_ir
from tests.select.naive import run_program

ROOT = Path(__file__).resolve().parents[2]
FEW = Options(registers=(("gpr", 7), ("vec", 5)))
HAS_AVX2 = platform.machine() == "x86_64" and "avx2" in (
    Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").is_file() else ""
)


def loops(
    seed: int, name: str, options: Options
) -> tuple[Program, list[int], np.ndarray, np.ndarray]:
    """A random function with loops as a program; its arguments, input and expected memory."""
    machine = load_machine(name)
    function = programs.random_function(seed)
    optimize(function, Context(target_of(machine, options), options, Journal()))
    before = programs.memory(seed)
    expected = before.copy()
    evaluate(function, programs.arguments(), expected)
    return _program(function, name, options), programs.arguments(), before, expected


def straight(
    seed: int, name: str, options: Options
) -> tuple[Program, list[int], np.ndarray, np.ndarray]:
    machine = load_machine(name)
    made = random_ir.random_function(seed, vectors=True, halves=False, steps=25)
    legalize.run(made.function, Context(target_of(machine, options), options, Journal()))
    before = random_ir.memory(seed)
    expected = before.copy()
    evaluate(made.function, random_ir.arguments(), expected)
    return _program(made.function, name, options), random_ir.arguments(), before, expected


def _program(function, name: str, options: Options) -> Program:  # type: ignore[no-untyped-def]
    machine = load_machine(name)
    code = select(function, machine, options, Journal())
    verify_machine_function(code, machine)
    return emit(allocate(code, machine, options, Journal()).function, machine)


@pytest.mark.parametrize("name", ["x86/zen3", "arm/cortex-a53"])
@pytest.mark.parametrize("seed", range(5))
def test_a_kernel_with_few_registers_still_computes_the_same(name: str, seed: int) -> None:
    program, arguments, before, expected = loops(300 + seed, name, FEW)
    assert programs.differences(expected, run_program(program, arguments, before)) == []


@pytest.mark.parametrize("name", ["x86/zen3", "arm/cortex-a53"])
def test_callee_saved_registers_are_kept_exactly_when_they_are_written(name: str) -> None:
    machine = load_machine(name)
    kept = {r.index: r for r in machine.isa.calling.callee_saved if r.class_name == "gpr"}
    many = Options(registers=(("gpr", 12),))
    program, arguments, before, expected = loops(303, name, many)
    written = {
        value.register.index
        for instruction in program.instructions
        if instruction.note != "frame"
        for operand, value in instruction.operands.items()
        if isinstance(value, RegisterOperand)
        and operand in instruction.shape.facts.writes
        and value.register.class_name == "gpr"
    }
    saved = {
        value.register.index
        for instruction in program.instructions
        if instruction.note == "frame" and instruction.shape.facts.is_store_only
        for value in instruction.operands.values()
        if isinstance(value, RegisterOperand)
    }
    assert saved == written & set(kept)
    assert programs.differences(expected, run_program(program, arguments, before)) == []


@pytest.mark.skipif(not HAS_AVX2, reason="needs an x86-64 CPU with AVX2")
def test_this_cpu_computes_the_same() -> None:
    cases = [loops(310 + n, "x86/zen3", FEW if n % 2 else Options()) for n in range(6)]
    cases += [straight(310 + n, "x86/zen3", FEW if n % 2 else Options()) for n in range(6)]
    jobs = [(str(assembly(p)), p.name, a, before.tobytes()) for p, a, before, _ in cases]
    child = subprocess.run(
        [sys.executable, "-m", "tests.emit.native_kernel_child"],
        input=pickle.dumps(jobs),
        capture_output=True,
        cwd=ROOT,
        check=False,
    )
    assert child.returncode == 0, child.stderr.decode()
    for n, (raw, (_, _, _, expected)) in enumerate(zip(pickle.loads(child.stdout), cases)):
        found = np.frombuffer(raw, np.uint8)
        if n < 6:
            assert programs.differences(expected, found) == []
        else:
            stored = random_ir.random_function(304 + n, vectors=True, halves=False, steps=25).stored
            assert random_ir.differences(expected, found, stored) == []


@pytest.mark.skipif(platform.machine() != "x86_64", reason="needs llvmlite's native assembler")
@pytest.mark.parametrize("seed", range(320, 323))
def test_llvm_accepts_the_x86_text(seed: int) -> None:
    features = "+avx2,+fma,+bmi,+bmi2,+lzcnt,+popcnt,+f16c"
    for make in (loops, straight):
        program = make(seed, "x86/zen3", FEW)[0]
        child = subprocess.run(
            [sys.executable, "-m", "tests.isas.assemble_child", program.isa.triple, features],
            input=str(assembly(program)),
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        )
        assert child.returncode == 0, child.stderr[-2000:]


@pytest.mark.skipif(shutil.which("llvm-mc") is None, reason="needs llvm-mc")
@pytest.mark.parametrize("seed", range(320, 323))
def test_llvm_accepts_the_arm_text(seed: int) -> None:
    for make in (loops, straight):
        program = make(seed, "arm/cortex-a53", FEW)[0]
        child = subprocess.run(
            ["llvm-mc", "-triple", program.isa.triple, "-filetype=null"],
            input=str(assembly(program)),
            capture_output=True,
            text=True,
            check=False,
        )
        assert child.returncode == 0, child.stderr[-2000:]


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="needs ptxas")
@pytest.mark.parametrize("seed", range(320, 323))
def test_ptxas_accepts_the_simt_text(seed: int, tmp_path: Path) -> None:
    few = Options(registers=(("reg", 24),))
    source = tmp_path / "kernel.ptx"
    source.write_text(f"{assembly(loops(seed, 'simt/volta', few)[0])}\n")
    child = subprocess.run(
        ["ptxas", "-arch=sm_80", str(source), "-o", str(tmp_path / "kernel.cubin")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, (child.stdout + child.stderr)[-2000:]
