"""Real LLVM as a witness: it refuses what is wrong, survives its own crashes, and its output is
read back."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.llvm.evaluate import evaluate
from compiler.llvm.parse import parse, parse_function
from compiler.llvm.text import text
from compiler.llvm.verify import verify
from isas.errors import CheckFailed
from lab.crosscheck.llvm import Llvm, NativeRun, strict
from tests.llvm.programs import arguments, differences, memory, random_function, run

SCALE = """define void @scale(ptr noalias %x) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr inbounds float, ptr %x, i64 %i
  %v = load float, ptr %p, align 4
  %m = fmul contract float %v, 0x3FF19999A0000000
  %s = fadd contract float %m, 0x3FB99999A0000000
  store float %s, ptr %p, align 4
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, 100
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
"""

KERNEL = """target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) noalias %x) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %p = getelementptr inbounds float, ptr addrspace(1) %x, i64 %i
  %v = load float, ptr addrspace(1) %p, align 4
  %o = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v, i32 16, i32 31)
  call void @llvm.nvvm.barrier0()
  store float %o, ptr addrspace(1) %p, align 4
  ret void
}
"""


def floats(count: int) -> np.ndarray:
    return np.linspace(-3, 3, count, dtype=np.float32).view(np.uint8).copy()


def test_contraction_is_off_in_native_runs() -> None:
    with Llvm() as llvm:
        native = llvm.run(NativeRun(SCALE, "scale", (0,), floats(100)))
    ours = floats(100)
    evaluate(parse_function(SCALE), [0], ours)
    assert np.array_equal(ours, native)
    assert "contract" not in strict(SCALE)


def test_invalid_ir_is_refused_with_llvms_message() -> None:
    with Llvm() as llvm, pytest.raises(CheckFailed, match="LLVM refuses"):
        llvm.check(SCALE.replace("%more, label", "%next, label"))


def test_a_crash_of_the_child_is_reported_and_the_next_job_runs() -> None:
    crash = """define void @crash(ptr %x) {
    entry:
      %bad = inttoptr i64 8 to ptr
      store i32 1, ptr %bad, align 4
      ret void
    }"""
    with Llvm() as llvm:
        with pytest.raises(CheckFailed, match="ended its process"):
            llvm.run(NativeRun(crash, "crash", (0,), floats(4)))
        llvm.check(SCALE)


def test_simt_ir_becomes_ptx() -> None:
    with Llvm() as llvm:
        llvm.check(text(parse(KERNEL)))
        ptx = llvm.ptx(text(parse(KERNEL)))
    assert ".entry k(" in ptx
    assert "shfl.sync.bfly" in ptx and "bar.sync" in ptx and "ld.global" in ptx


def test_what_llvms_optimiser_returns_is_read_back_and_computes_the_same() -> None:
    with Llvm() as llvm:
        for seed in range(12):
            function = random_function(seed)
            before = run(function, seed)
            source = strict(text(function))
            module = parse(llvm.optimize(source, cpu="x86-64-v3"))
            verify(module)
            after = memory(seed)
            evaluate(module.functions[0], arguments(), after)
            assert not differences(before, after), seed
