"""Whole runs: the functional machine's own stream through the timing models of every machine."""

from __future__ import annotations

import numpy as np
import pytest

from isas.catalogue import load_machine
from isas.parsing import parse_program
from isas.program import Executable, Grid, Launch, Placement
from vm.host import execute
from vm.stalls import Stall
from vm.timeline import Timeline
from vm.timing import time_stream

COUNT = 64

X86 = """
    mov rcx, rdi
    add rcx, 256
.loop:
    vmovups ymm0, ymmword ptr [rdi]
    vaddps ymm0, ymm0, ymmword ptr [rsi]
    vmovups ymmword ptr [rdx], ymm0
    add rdi, 32
    add rsi, 32
    add rdx, 32
    cmp rdi, rcx
    jl .loop
    ret
"""

ARM = """
    add x3, x0, #256
.loop:
    ldr q0, [x0]
    ldr q1, [x1]
    fadd v0.4s, v0.4s, v1.4s
    str q0, [x2]
    add x0, x0, #16
    add x1, x1, #16
    add x2, x2, #16
    cmp x0, x3
    b.lt .loop
    ret
"""

SIMT = """
    mov.u32 %r0, %ctaid.x
    mov.u32 %r1, %ntid.x
    mov.u32 %r2, %tid.x
    mad.lo.s32 %r0, %r0, %r1, %r2
    ld.param.u64 %rd4, [a]
    ld.param.u64 %rd6, [b]
    ld.param.u64 %rd8, [c]
    mul.wide.s32 %rd10, %r0, 4
    add.s64 %rd4, %rd4, %rd10
    add.s64 %rd6, %rd6, %rd10
    add.s64 %rd8, %rd8, %rd10
    ld.global.f32 %r12, [%rd4]
    ld.global.f32 %r13, [%rd6]
    add.rn.f32 %r12, %r12, %r13
    st.global.f32 [%rd8], %r12
    ret
"""

TEXTS = {"x86/zen3": X86, "x86/skylake": X86, "arm/cortex-a53": ARM, "simt/volta": SIMT}


def run_add(machine_name: str, times: int = 1) -> tuple[Timeline, int]:
    machine = load_machine(machine_name)
    program = parse_program(machine.isa, TEXTS[machine_name], "add", ("a", "b", "c"))
    grid = Grid((2, 1, 1), (32, 1, 1)) if machine.core.simt else None
    size = 4 * COUNT
    executable = Executable(
        programs={"add": program},
        steps=(Launch("add", (0, size, 2 * size), grid),) * times,
        arena_size_bytes=3 * size,
        parameters=(Placement("a", 0, size), Placement("b", size, size)),
        outputs=(Placement("c", 2 * size, size),),
    )
    a = np.arange(COUNT, dtype=np.float32)
    b = np.full(COUNT, 0.5, np.float32)
    execution = execute(executable, [a.tobytes(), b.tobytes()])
    assert np.array_equal(np.frombuffer(execution.outputs[0], np.float32), a + b)
    return time_stream(execution.stream, execution.programs, machine), len(program.instructions)


@pytest.mark.parametrize("name", TEXTS)
def test_stalls_add_up_and_reach_every_instruction_that_ran(name: str) -> None:
    timeline, count = run_add(name)
    assert sum(timeline.stalls().values()) == pytest.approx(timeline.cycles, abs=1e-9)
    assert len(timeline.cycles_per_instruction()) == count
    assert timeline.stalls()[Stall.CACHE_MISS] > 0


@pytest.mark.parametrize("name", TEXTS)
def test_a_second_launch_finds_its_data_closer(name: str) -> None:
    once, _ = run_add(name)
    twice, _ = run_add(name, times=2)
    assert once.cycles < twice.cycles < 2 * once.cycles


def test_a_grid_uses_an_sm_per_block_and_whole_sectors() -> None:
    timeline, _ = run_add("simt/volta")
    facts = timeline.simt
    assert facts is not None
    assert facts.sms_used == 2 and facts.warps == 2
    assert facts.sectors_per_request == 4.0 and facts.divergence == 0.0
    assert facts.occupancy[0].limit in ("blocks", "warps", "registers", "shared memory")
