"""A dot leaves a kernel of several results only where the memory peak falls for it."""

from __future__ import annotations

import numpy as np

from compiler.buffers.assign import assign
from compiler.buffers.relief import DotTakenOut
from compiler.hlo.evaluate import evaluate
from compiler.hlo.kernels import count
from compiler.hlo.module import Module
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify
from compiler.journal import Journal
from compiler.options import Options
from compiler.pipeline import Snapshot, trace_hlo_passes
from tests.buffers.arena import Arena
from tests.buffers.test_assign import check_places

STEP = """HloModule m
ENTRY e {{
  w = f32[32,32] parameter(0)
  m = f32[32,32] parameter(1)
  x = f32[{rows},32] parameter(2)
  y = f32[{rows},32] parameter(3)
  h = f32[{rows},32] {producer}
  g = f32[32,32] dot(h, y), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}
  n = f32[32,32] add(m, g)
  v = f32[32,32] subtract(w, n)
  ROOT r = (f32[32,32], f32[32,32]) tuple(v, n)
}}"""


def relieved(text: str) -> tuple[Snapshot[Module], list[DotTakenOut]]:
    """The run of the pass, and what it decided; the program must stay what it was."""
    program, journal = verify(parse_module(text)), Journal()
    runs = trace_hlo_passes(program, Options(), journal)
    module = verify(runs[-1].after)
    found = assign(module, Options(), Journal())
    check_places(found)
    numbers = np.random.default_rng(3)
    shapes = [p.array.dimensions for p in program.entry_computation.parameters]
    arrays = [numbers.standard_normal(shape).astype(np.float32) for shape in shapes]
    wanted = evaluate(program, *arrays)
    for by_rows in (False, True):
        results = Arena(module, found, by_rows).run(arrays)
        for one, other in zip(results, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-5)
    told = [e.decision for e in journal.entries if isinstance(e.decision, DotTakenOut)]
    return next(run for run in runs if run.name == "relieve"), told


def peak(module: Module) -> int:
    return assign(module, Options(), Journal()).lower_bound_bytes


def test_a_dot_whose_operand_makes_the_peak_runs_by_itself() -> None:
    run, told = relieved(STEP.format(rows=16, producer="tanh(x)"))
    before, after = peak(run.before), peak(run.after)
    assert after == before - 16 * 32 * 4
    (decision,) = told
    assert (decision.alive_before, decision.alive_after) == (before, after)
    assert count(run.after).launches == count(run.before).launches + 1
    assert count(run.after).bytes_moved > count(run.before).bytes_moved


def test_a_kernel_stays_whole_when_nothing_or_little_is_gained() -> None:
    given, told = relieved(STEP.format(rows=16, producer="copy(x)"))
    assert given.after is given.before and not told
    small, told = relieved(STEP.format(rows=2, producer="tanh(x)"))
    assert small.after is small.before and not told
