"""Golden traces of tiny programs: who waits, for what, and for how long."""

from __future__ import annotations

from tests.vm.traces import time_text, time_warps
from vm.diagram import Stage, diagram, window
from vm.reasons import reason_at
from vm.stalls import Stall


def trace(machine: str, text: str, times: int, columns: int) -> str:
    timeline, program = time_text(machine, text, times)
    return "\n".join(line.text for line in diagram(timeline, [program], columns=columns).lines[1:])


def test_dependent_fma_takes_four_cycles_each() -> None:
    assert trace("x86/zen3", "vfmadd231ps ymm0, ymm1, ymm2", 4, 24) == (
        "#0 vfmadd231ps ymm0, ymm1, ymm2  FDIEEEEW\n"
        "#1 vfmadd231ps ymm0, ymm1, ymm2  FD●●●●IEEEEW\n"
        "#2 vfmadd231ps ymm0, ymm1, ymm2  FD●●●●●●●●IEEEEW\n"
        "#3 vfmadd231ps ymm0, ymm1, ymm2  FD●●●●●●●●●●●●IEEEEW"
    )


def test_independent_fmas_wait_for_two_ports() -> None:
    text = "\n".join(f"vfmadd231ps ymm{i}, ymm14, ymm15" for i in range(6))
    assert trace("x86/zen3", text, 1, 24) == (
        "#0 vfmadd231ps ymm0, ymm14, ymm15  FDIEEEEW\n"
        "#1 vfmadd231ps ymm1, ymm14, ymm15  FDIEEEEW\n"
        "#2 vfmadd231ps ymm2, ymm14, ymm15  FD○IEEEEW\n"
        "#3 vfmadd231ps ymm3, ymm14, ymm15  FD○IEEEEW\n"
        "#4 vfmadd231ps ymm4, ymm14, ymm15  FD○○IEEEEW\n"
        "#5 vfmadd231ps ymm5, ymm14, ymm15  FD○○IEEEEW"
    )


def test_a_division_blocks_its_unit_but_not_younger_work() -> None:
    assert trace("x86/skylake", "vdivps ymm0, ymm1, ymm2\nvaddps ymm3, ymm1, ymm2", 2, 24) == (
        "#0 vdivps ymm0, ymm1, ymm2  FDIEEEEEEEEEEEW\n"
        "#1 vaddps ymm3, ymm1, ymm2  FDIEEEE-------W\n"
        "#2 vdivps ymm0, ymm1, ymm2  FD○○○○○IEEEEEEEEEEEW\n"
        "#3 vaddps ymm3, ymm1, ymm2  FD○IEEEE-----------W"
    )


def test_in_order_issue_holds_everything_behind_a_waiting_instruction() -> None:
    text = "fmul v0.4s, v1.4s, v2.4s\nfadd v0.4s, v0.4s, v1.4s\nadd x0, x1, x2\nadd x3, x1, x2"
    assert trace("arm/cortex-a53", text, 1, 24) == (
        "#0 fmul v0.4s, v1.4s, v2.4s  FDIEEEEW\n"
        "#1 fadd v0.4s, v0.4s, v1.4s  FD●●●●IEEEEW\n"
        "#2 add x0, x1, x2             FD○○○IE---W\n"
        "#3 add x3, x1, x2             FD○○○○IE---W"
    )


def test_reasons_name_the_register_the_producer_and_the_cycles() -> None:
    text = "vmovups ymm2, ymmword ptr [rdi]\nvsubps ymm2, ymm2, ymm1"
    timeline, program = time_text("x86/zen3", text, 1)
    ready = int(timeline.complete[0])
    reason = reason_at(timeline, [program], 1, 5)
    assert (reason.stall, reason.culprit, reason.what) == (Stall.DATA, 0, "ymm2")
    assert str(reason) == (
        f"#1 vsubps ymm2, ymm2, ymm1, cycles 2–{ready - 1}: waits for ymm2 from"
        " #0 vmovups ymm2, ymmword ptr [rdi]"
    )
    assert reason_at(timeline, [program], 0, 5).stall is Stall.CACHE_MISS


def test_a_chain_is_charged_to_data_and_a_crowd_to_ports() -> None:
    chain, _ = time_text("x86/zen3", "vfmadd231ps ymm0, ymm1, ymm2", 200)
    crowd, _ = time_text(
        "x86/zen3", "\n".join(f"vfmadd231ps ymm{i}, ymm14, ymm15" for i in range(12)), 40
    )
    assert max(chain.stalls(), key=chain.stalls().__getitem__) is Stall.DATA
    assert max(crowd.stalls(), key=crowd.stalls().__getitem__) is Stall.PORT
    assert chain.stalls()[Stall.DATA] > 0.9 * chain.cycles


def test_a_jump_per_cycle_is_charged_to_its_taken_branches() -> None:
    timeline, _ = time_text("x86/zen3", ".l:\njmp .l", 100)
    stalls = timeline.stalls()
    assert stalls[Stall.TAKEN_BRANCH] > 0.5 * timeline.cycles


def test_a_narrow_store_into_a_wide_load_is_charged_to_blocked_forwarding() -> None:
    text = "mov dword ptr [rdi], eax\nmov rax, qword ptr [rdi]"
    stalls = time_text("x86/zen3", text, 50)[0].stalls()
    assert max(stalls, key=stalls.__getitem__) is Stall.FORWARD_BLOCKED


def test_misses_are_charged_to_the_cache() -> None:
    text = "\n".join(
        f"vmovups ymm{i % 8}, ymmword ptr [rdi + {64 * i}]\nvaddps ymm8, ymm8, ymm{i % 8}"
        for i in range(64)
    )
    stalls = time_text("arm/cortex-a53", "ldr x0, [x0]\nadd x0, x0, x1", 1)[0].stalls()
    assert stalls[Stall.CACHE_MISS] > 10
    stalls = time_text("x86/zen3", text, 1)[0].stalls()
    assert stalls[Stall.CACHE_MISS] > 30


def test_strided_warps_pay_for_sectors_and_coalesced_ones_do_not() -> None:
    text = "ld.global.f32 %r1, [%rd2]\nadd.rn.f32 %r3, %r1, %r1\nst.global.f32 [%rd4], %r3\nret"
    near, _ = time_warps(text, 2, 4, stride=4)
    far, _ = time_warps(text, 2, 4, stride=128)
    assert near.simt is not None and far.simt is not None
    assert near.simt.sectors_per_request == 4 and far.simt.sectors_per_request == 32
    assert Stall.COALESCING not in near.stalls() and far.stalls()[Stall.COALESCING] > 20


def test_a_window_is_what_the_diagram_prints_and_empty_beyond_the_run() -> None:
    timeline, program = time_text("x86/zen3", "add rax, 1", 3)
    grid = window(timeline, 1, 4, 1, 6)
    lines = diagram(timeline, [program], 1, 4, 1, 6).lines[1:]
    assert len(lines) == 2 and not grid[2:].any()
    for line, cells in zip(lines, grid):
        shown = "".join(Stage(cell).letter for cell in cells).rstrip()
        assert line.text == f"{line.subject} add rax, 1  {shown}"
