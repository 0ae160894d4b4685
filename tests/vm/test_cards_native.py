"""Every x86 card, executed by the functional machine and by this machine's own CPU, bit for bit."""

from __future__ import annotations

import pickle
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import isas
from isas.assembly import instruction_text
from isas.immediates import LANE_ENCODINGS, lanes_of
from isas.model import Isa, Role, Shape, ShapeOperand
from isas.parsing import parse_instruction
from isas.program import (
    Immediate,
    MemoryOperand,
    Program,
    ProgramInstruction,
    ProgramOperand,
    RegisterOperand,
)
from vm.arithmetic import dtype_of
from vm.functional import State, compile_program, new_state
from vm.memory import ARENA_BASE, Memory

VECTORS, GENERALS, SCRATCH = 0, 512, 640
STATE_BYTES = 640 + 256
CASES_PER_SHAPE = 6
CONDITIONS = (
    "setl",
    "setle",
    "setg",
    "setge",
    "setb",
    "setbe",
    "seta",
    "setae",
    "sete",
    "setne",
    "setp",
    "setnp",
)
INTERESTING = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e-40, 3e38, 0.5, 2.5, -2147483648.0]


def _host_has_avx2() -> bool:
    try:
        return " avx2 " in Path("/proc/cpuinfo").read_text().replace("\n", " ")
    except OSError:
        return False


def _testable(shape: Shape) -> bool:
    facts = shape.facts
    is_control = facts.is_branch or facts.is_return
    return not is_control and "div" not in shape.mnemonic


def _state(random: np.random.Generator) -> bytearray:
    lanes = random.standard_normal(STATE_BYTES // 4).astype(np.float32) * 10
    chosen = random.random(lanes.size) < 0.3
    lanes[chosen] = random.choice(INTERESTING, int(chosen.sum()))
    words = lanes.view(np.uint32)
    raw = random.random(lanes.size) < 0.3
    words[raw] = random.integers(0, 1 << 32, int(raw.sum()), dtype=np.uint32)
    return bytearray(words.tobytes())


def _operand(
    operand: ShapeOperand, shape: Shape, isa: Isa, random: np.random.Generator
) -> ProgramOperand:
    kind = operand.kind
    if kind.role is Role.REGISTER:
        allowed = [i for i in range(16) if kind.class_name == "vec" or i not in (4, 7)]
        return RegisterOperand(
            isa.registers.register(kind.class_name, kind.view, int(random.choice(allowed)))
        )
    if kind.role is Role.MEMORY:
        if operand.name in shape.facts.addresses:
            base, index = (isa.registers.register("gpr", "r64", i) for i in (0, 9))
            return MemoryOperand(
                base, index, int(random.choice([1, 2, 4, 8])), int(random.integers(-99, 99))
            )
        return MemoryOperand(
            isa.registers.by_name("rdi"), displacement=SCRATCH + _offset(kind.bits, random)
        )
    form = kind.immediate
    assert form is not None
    low, high = max(form.minimum, -(2**40)), min(form.maximum, 2**40)
    while True:
        value = int(random.integers(low, high, endpoint=True))
        if form.encoding not in LANE_ENCODINGS or lanes_of(form.encoding, value, _source(shape)):
            return Immediate(value)


def _offset(bits: int, random: np.random.Generator) -> int:
    """A multiple of the access's size where it is a vector, since aligned moves demand it."""
    step = bits // 8 if bits >= 128 else 4
    return step * int(random.integers(0, 120 // step + 1))


def _source(shape: Shape):  # type: ignore[no-untyped-def]
    return next(
        o.type for o in shape.operands if o.name != "d" and o.kind.role is not Role.IMMEDIATE
    )


def _instructions(shape: Shape, isa: Isa, random: np.random.Generator) -> list[ProgramInstruction]:
    operands = {o.name: _operand(o, shape, isa, random) for o in shape.operands}
    first = ProgramInstruction(shape, operands)
    found = [ProgramInstruction(shape, operands, text=instruction_text(isa, first))]
    if shape.facts.reads_flags:
        found.insert(0, parse_instruction(isa, "cmp rax, r15"))
    if shape.facts.writes_flags and "undefined" not in " ".join(map(str, shape.effects)):
        places = [
            "r8b",
            "r9b",
            "r10b",
            "r11b",
            "r12b",
            "r13b",
            "r14b",
            "r15b",
            "al",
            "cl",
            "dl",
            "bl",
        ]
        found += [parse_instruction(isa, f"{c} {p}") for c, p in zip(CONDITIONS, places)]
    return found


def _simulate(isa: Isa, instructions: list[ProgramInstruction], content: bytes) -> bytes:
    ret = parse_instruction(isa, "ret")
    program = Program(isa, "case", (*instructions, ret), {}, ())
    memory = Memory(bytearray(ARENA_BASE + STATE_BYTES))
    memory.data[ARENA_BASE:] = content
    state = new_state(program, memory)
    general, vector = (isa.registers.classes[name].first_storage for name in ("gpr", "vec"))
    for i in range(16):
        state.storages[vector + i] = np.frombuffer(content, np.uint8, 32, 32 * i).copy()
        state.storages[general + i] = int.from_bytes(content[GENERALS + 8 * i :][:8], "little")
    state.storages[general + 7] = ARENA_BASE
    with np.errstate(all="ignore"):
        compile_program(program, state).run(state)
    return _dump(state, general, vector, content)


def _dump(state: State, general: int, vector: int, content: bytes) -> bytes:
    out = bytearray(state.memory.data[ARENA_BASE:])
    for i in range(16):
        lanes = np.zeros(32, np.uint8)
        value = np.asarray(state.storages[vector + i]).view(np.uint8)
        lanes[: value.size] = value
        out[32 * i : 32 * i + 32] = lanes.tobytes()
        if i not in (4, 7):
            out[GENERALS + 8 * i : GENERALS + 8 * i + 8] = state.storages[general + i].to_bytes(
                8, "little"
            )
    return bytes(out)


def _unspecified(shape: Shape, instructions: list[ProgramInstruction]) -> range:
    """Bytes above a scalar that a whole-register operation computes (vandps of one float): the
    cards leave them open."""
    first = next(i for i in instructions if i.shape is shape)
    for name in shape.facts.writes:
        kind, register = shape.by_name[name].kind, first.register(name)
        if register is not None and register.class_name == "vec" and shape.rest is None:
            start = VECTORS + 32 * register.index
            return range(start + kind.bits // 8, start + 16)
    return range(0)


def _same(a: bytes, b: bytes, shape: Shape) -> bool:
    """Equal bytes; NaNs of the shape's float type may differ in payload."""
    floats = [o.type for o in shape.operands if o.type.is_float]
    if a == b or not floats:
        return a == b
    dtype = dtype_of(floats[0].element)
    x, y = np.frombuffer(a, dtype), np.frombuffer(b, dtype)
    bits = f"u{dtype.itemsize}"
    return bool(((x.view(bits) == y.view(bits)) | ((x != x) & (y != y))).all())


@pytest.mark.skipif(
    platform.machine() != "x86_64" or not _host_has_avx2(), reason="needs an x86-64 CPU with AVX2"
)
def test_every_x86_card_computes_what_the_cpu_computes() -> None:
    isa = isas.load_isa("x86")
    random = np.random.default_rng(20)
    chosen: list[tuple[Shape, list[ProgramInstruction], bytes]] = []
    for shape in filter(
        _testable,
        isa.shapes_for(
            frozenset({"avx", "avx2", "fma", "bmi1", "bmi2", "lzcnt", "popcnt", "f16c"})
        ),
    ):
        for _ in range(CASES_PER_SHAPE):
            chosen.append((shape, _instructions(shape, isa, random), bytes(_state(random))))
    assert len(chosen) > 1000
    jobs = [
        ("\n".join(i.text for i in instructions), content) for _, instructions, content in chosen
    ]
    child = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("native_child.py"))],
        input=pickle.dumps(jobs), stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    wrong = []
    for (shape, instructions, content), native in zip(chosen, pickle.loads(child.stdout)):
        ours = _simulate(isa, instructions, content)
        masked = bytearray(native)
        masked[GENERALS + 32 : GENERALS + 40] = ours[GENERALS + 32 : GENERALS + 40]
        masked[GENERALS + 56 : GENERALS + 64] = ours[GENERALS + 56 : GENERALS + 64]
        for place in _unspecified(shape, instructions):
            masked[place] = ours[place]
        if not _same(ours, bytes(masked), shape):
            wrong.append(f"{shape.title}: {instructions[0].text}")
    assert not wrong, "\n".join(wrong)
