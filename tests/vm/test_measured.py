"""Small kernels on the cores' files against measurements of the real processors.

Zen 3: measured for this project on an EPYC of family 25 model 1. Cortex-A53: insn_bench_aarch64
(github.com/ocxtal/insn_bench_aarch64) on a Raspberry Pi 3, latency and instructions per cycle.
Tolerance 15 %, and what a measuring loop costs where nothing but the front end limits.
"""

from __future__ import annotations

import pytest

from tests.vm.traces import cycles_per_repetition

ZEN3 = {
    "dependent add": ("add rax, 1", 1.00),
    "dependent multiply": ("imul rax, rax", 3.00),
    "four independent adds": ("add rax, 1\nadd rbx, 1\nadd rcx, 1\nadd rdx, 1", 1.03),
    "dependent fma": ("vfmadd231ps ymm0, ymm1, ymm2", 4.00),
    "ten independent fmas": (
        "\n".join(f"vfmadd231ps ymm{i}, ymm14, ymm15" for i in range(10)), 5.07,
    ),
    "dependent vaddps": ("vaddps ymm0, ymm0, ymm1", 3.00),
    "dependent vmulps": ("vmulps ymm0, ymm0, ymm1", 3.00),
    "dependent vdivps": ("vdivps ymm0, ymm0, ymm1", 10.49),
    "dependent 64-bit division": ("idiv rcx", 9.03),
    "pointer chase": ("mov rax, qword ptr [rax]", 4.00),
    "three loads": (
        "\n".join(f"mov r{8 + i}, qword ptr [rdi + {64 * i}]" for i in range(3)), 1.01,
    ),
    "two vector loads": (
        "vmovups ymm0, ymmword ptr [rdi]\nvmovups ymm1, ymmword ptr [rdi + 64]", 1.01,
    ),
    "two stores": ("mov qword ptr [rdi], rax\nmov qword ptr [rdi + 64], rbx", 2.00),
    "store to load": ("mov qword ptr [rdi], rax\nmov rax, qword ptr [rdi]", 6.20),
    "narrow store to wide load": ("mov dword ptr [rdi], eax\nmov rax, qword ptr [rdi]", 18.66),
    "dependent popcnt": ("popcnt rax, rax", 1.00),
}  # fmt: skip

FRONT_END_ZEN3 = {
    "zero idiom": ("xor eax, eax", 0.21),
    "vector zero idiom": ("vpxor xmm0, xmm0, xmm0", 0.21),
    "two eliminated moves": ("mov rax, rbx\nmov rbx, rax", 0.36),
    "empty loop": (".l:\nadd rax, 1\ncmp rax, rbx\njl .l", 1.20),
}

A53 = {
    "dependent add": ("add x0, x0, x1", 1.00),
    "independent adds": ("\n".join(f"add x{i}, x10, x11" for i in range(4)), 4 / 1.99),
    "dependent multiply": ("mul x0, x0, x1", 4.02),
    "pointer chase": ("ldr x0, [x0]", 3.02),
    "independent loads": ("\n".join(f"ldr x{i}, [x10, #{8 * i}]" for i in range(4)), 4 / 0.99),
    "dependent scalar fadd": ("fadd s0, s0, s1", 4.02),
    "independent scalar fadds": ("\n".join(f"fadd s{i}, s30, s31" for i in range(8)), 8 / 1.99),
    "independent vector fadds": (
        "\n".join(f"fadd v{i}.4s, v30.4s, v31.4s" for i in range(8)), 8 / 0.99,
    ),
    "fmla into one accumulator": ("fmla v0.4s, v1.4s, v2.4s", 4.02),
    "fmla through a factor": ("fmla v0.4s, v0.4s, v2.4s", 8.04),
    "dependent square root": ("fsqrt s0, s0", 12.05),
}  # fmt: skip


@pytest.mark.parametrize("name", ZEN3)
def test_zen3_takes_the_measured_cycles(name: str) -> None:
    text, measured = ZEN3[name]
    assert cycles_per_repetition("x86/zen3", text) == pytest.approx(measured, rel=0.15)


@pytest.mark.parametrize("name", FRONT_END_ZEN3)
def test_zen3_front_end_is_within_the_loop_overhead_of_the_measured_cycles(name: str) -> None:
    text, measured = FRONT_END_ZEN3[name]
    found = cycles_per_repetition("x86/zen3", text)
    assert 0.75 * measured <= found <= measured


@pytest.mark.parametrize("name", A53)
def test_cortex_a53_takes_the_measured_cycles(name: str) -> None:
    text, measured = A53[name]
    assert cycles_per_repetition("arm/cortex-a53", text) == pytest.approx(measured, rel=0.15)
