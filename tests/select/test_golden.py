"""What selection makes of a softmax's inner loop, line by line. `pytest --bless` rewrites the
files; review the difference."""

# ruff: noqa: E501 (lines of LLVM IR)

from __future__ import annotations

from collections.abc import Callable

import pytest

from compiler.journal import Journal
from compiler.llvm.context import Context
from compiler.llvm.parse import parse_function
from compiler.llvm.passes import legalize
from compiler.machine.text import document
from compiler.options import Options
from compiler.select import select, target_of
from compiler.select.decisions import TileChosen
from isas import load_machine

LOOP = """
define void @softmax(ptr noalias %x, ptr noalias %out, ptr noalias %sums) {
entry:
  %m = load float, ptr %sums, align 4 ; %max.1
  %m.insert = insertelement <LANES x float> poison, float %m, i64 0 ; %broadcast.2
  %m.splat = shufflevector <LANES x float> %m.insert, <LANES x float> poison, <LANES x i32> zeroinitializer ; %broadcast.2
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %acc = phi <LANES x float> [ zeroinitializer, %entry ], [ %acc.next, %loop ] ; %reduce.5
  %from = getelementptr inbounds float, ptr %x, i64 %i
  %v = load <LANES x float>, ptr %from, align 4 ; %x
  %d = fsub <LANES x float> %v, %m.splat ; %subtract.3
  %low = fcmp olt <LANES x float> %d, splat (float -87.0) ; %exp.4
  %c = select <LANES x i1> %low, <LANES x float> splat (float -87.0), <LANES x float> %d ; %exp.4
  %s = fmul <LANES x float> %c, splat (float 0x3FF7154760000000) ; %exp.4
  %n = call <LANES x float> @llvm.roundeven.vLANESf32(<LANES x float> %s) ; %exp.4
  %neg = fneg <LANES x float> %n ; %exp.4
  %r = call <LANES x float> @llvm.fma.vLANESf32(<LANES x float> %neg, <LANES x float> splat (float 0x3FE62E4300000000), <LANES x float> %c) ; %exp.4
  %p = call <LANES x float> @llvm.fma.vLANESf32(<LANES x float> %r, <LANES x float> splat (float 0.5), <LANES x float> splat (float 1.0)) ; %exp.4
  %q = call <LANES x float> @llvm.fma.vLANESf32(<LANES x float> %p, <LANES x float> %r, <LANES x float> splat (float 1.0)) ; %exp.4
  %k = fptosi <LANES x float> %n to <LANES x i32> ; %exp.4
  %b = add <LANES x i32> %k, splat (i32 127) ; %exp.4
  %e = shl <LANES x i32> %b, splat (i32 23) ; %exp.4
  %f = bitcast <LANES x i32> %e to <LANES x float> ; %exp.4
  %y = fmul <LANES x float> %q, %f ; %exp.4
  %to = getelementptr inbounds float, ptr %out, i64 %i
  store <LANES x float> %y, ptr %to, align 4 ; %exp.4
  %acc.next = fadd <LANES x float> %acc, %y ; %reduce.5
  %i.next = add nuw nsw i64 %i, LANES
  %more = icmp ult i64 %i.next, 48
  br i1 %more, label %loop, label %done
done:
  %total = call reassoc float @llvm.vector.reduce.fadd.vLANESf32(float -0.0, <LANES x float> %acc.next) ; %reduce.5
  store float %total, ptr %sums, align 4 ; %reduce.5
  ret void
}
"""


@pytest.mark.parametrize(("name", "lanes"), [("x86/zen3", 8), ("arm/cortex-a53", 4)])
def test_softmax_inner_loop(name: str, lanes: int, golden: Callable[[str, str], None]) -> None:
    machine, options = load_machine(name), Options()
    function = parse_function(LOOP.replace("LANES", str(lanes)))
    journal = Journal()
    legalize.run(function, Context(target_of(machine, options), options, journal))
    code = select(function, machine, options, journal)
    chosen = [str(e.decision) for e in journal.entries if isinstance(e.decision, TileChosen)]
    text = f"{document(code, machine.isa)}\n\n" + "\n".join(chosen) + "\n"
    golden(f"softmax.{name.replace('/', '.')}.txt", text)
