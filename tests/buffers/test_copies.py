"""Copies around loops and branches, bodies with one caller, and the order of launches as passes."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.buffers.assign import assign
from compiler.buffers.copies import Copied
from compiler.hlo.evaluate import evaluate
from compiler.hlo.kernels import count, launched_callees, launching_computations
from compiler.hlo.module import Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify
from compiler.journal import Journal
from compiler.options import Options
from compiler.pipeline import run_hlo_passes, trace_hlo_passes
from tests.buffers.arena import Arena
from tests.passes.helpers import assert_same_bits

LOOP = """HloModule m{header}
body {{
  s = (s32[], f32[4], f32[4]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  a = f32[4] get-tuple-element(s), index=1
  b = f32[4] get-tuple-element(s), index=2
  one = s32[] constant(1)
  m = s32[] add(n, one)
  c = f32[4] {inside}
  ROOT t = (s32[], f32[4], f32[4]) tuple(m, {handed})
}}
cond {{
  s = (s32[], f32[4], f32[4]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  last = s32[] constant(3)
  ROOT less = pred[] compare(n, last), direction=LT
}}
ENTRY e {{
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  z = s32[] constant(0)
  w = f32[4] negate(x)
  v = f32[4] sine(y)
  i = (s32[], f32[4], f32[4]) tuple(z, {start})
  l = (s32[], f32[4], f32[4]) while(i), condition=cond, body=body
  p = f32[4] get-tuple-element(l), index=1
  q = f32[4] get-tuple-element(l), index=2
  ROOT r = (f32[4], f32[4]{more_shape}) tuple(p, q{more})
}}"""


def copied(
    inside: str = "add(a, b)",
    handed: str = "c, b",
    start: str = "w, v",
    header: str = "",
    more: str = "",
) -> dict[str, str]:
    """What is copied and why, by the pass alone; results must stay."""
    text = LOOP.format(
        inside=inside, handed=handed, start=start, header=header, more=more,
        more_shape=", f32[4]" if more else "",
    )  # fmt: skip
    module = verify(parse_module(text))
    journal = Journal()
    found = verify(run_hlo_passes(module, Options(), journal, only="copies"))
    arrays = [np.arange(4, dtype=np.float32) + 1, np.linspace(0, 1, 4, dtype=np.float32)]
    for one, other in zip(evaluate(found, *arrays), evaluate(module, *arrays), strict=True):
        np.testing.assert_array_equal(one, other)
    decisions = [e.decision for e in journal.entries]
    return {d.subject: d.because for d in decisions if isinstance(d, Copied)}


def test_only_the_counter_is_copied_when_the_state_is_the_loops_own() -> None:
    found = copied()
    assert set(found) == {"z"} and "constant" in found["z"]


def test_a_parameter_is_copied_unless_it_is_donated_or_never_changes() -> None:
    assert "parameter" in copied(start="x, v")["x"]
    assert "y" not in copied(start="w, y")
    donated = copied(start="x, v", header=", input_output_alias={ {0}: (0, {}) }")
    assert "x" not in donated


def test_a_value_that_is_read_after_the_loop_is_copied() -> None:
    assert "read after" in copied(more=", w")["w"]


def test_state_that_trades_places_is_copied_inside_the_body() -> None:
    found = copied(handed="b, a")
    assert "another element" in found["a"] and "another element" in found["b"]
    assert "twice" in copied(handed="c, c")["c"]


ROTATING = """HloModule m
body {
  s = (s32[], f32[64], f32[64], f32[64]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  a = f32[64] get-tuple-element(s), index=1
  b = f32[64] get-tuple-element(s), index=2
  c = f32[64] get-tuple-element(s), index=3
  one = s32[] constant(1)
  m = s32[] add(n, one)
  h = f32[64] multiply(a, a)
  ROOT t = (s32[], f32[64], f32[64], f32[64]) tuple(m, b, c, h)
}
cond {
  s = (s32[], f32[64], f32[64], f32[64]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  last = s32[] constant(4)
  ROOT less = pred[] compare(n, last), direction=LT
}
ENTRY e {
  x = f32[64] parameter(0)
  u = f32[64] sine(x)
  z = s32[] constant(0)
  i = (s32[], f32[64], f32[64], f32[64]) tuple(z, u, u, u)
  l = (s32[], f32[64], f32[64], f32[64]) while(i), condition=cond, body=body
  p = f32[64] get-tuple-element(l), index=1
  q = f32[64] get-tuple-element(l), index=3
  ROOT o = (f32[64], f32[64]) tuple(p, q)
}"""


def test_kernels_write_copies_beside_their_results_without_a_launch() -> None:
    program, journal = verify(parse_module(ROTATING)), Journal()
    runs = {s.name: s for s in trace_hlo_passes(program, Options(), journal)}
    told = [e.decision for e in journal.entries if isinstance(e.decision, Copied)]
    by = {(d.subject, d.by) for d in told if d.by}
    assert by == {("u", "u"), ("b", "h"), ("c", "h")}
    before, after = (count(m).launches for m in (runs["copies"].before, runs["copies"].after))
    assert after == before + 1, "the counter's first value, which no kernel makes"
    module = runs["order"].after
    found = assign(module, Options(), Journal())
    assert not any(region.moves for region in found.regions.values())
    array = np.linspace(-2, 2, 64, dtype=np.float32)
    results = Arena(module, found, by_rows=False).run([array])
    assert_same_bits(results, evaluate(program, array), "rotating")


SHARED = """HloModule m
body {
  s = (s32[], f32[4]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  a = f32[4] get-tuple-element(s), index=1
  one = s32[] constant(1)
  m = s32[] add(n, one)
  b = f32[4] add(a, a)
  ROOT t = (s32[], f32[4]) tuple(m, b)
}
cond {
  s = (s32[], f32[4]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  last = s32[] constant(3)
  ROOT less = pred[] compare(n, last), direction=LT
}
ENTRY e {
  x = f32[4] parameter(0)
  z = s32[] constant(0)
  i = (s32[], f32[4]) tuple(z, x)
  k = (s32[], f32[4]) while(i), condition=cond, body=body
  g = f32[4] get-tuple-element(k), index=1
  j = (s32[], f32[4]) tuple(z, g)
  l = (s32[], f32[4]) while(j), condition=cond, body=body
  ROOT r = f32[4] get-tuple-element(l), index=1
}"""


def callers(module: Module) -> list[str]:
    found = {c.name: c for c in launching_computations(module)}
    return [name for c in found.values() for i in c for name in launched_callees(i)]


@pytest.mark.parametrize("only", ["flatten", None])
def test_every_body_has_one_caller_afterwards(only: str | None) -> None:
    module = verify(parse_module(SHARED))
    assert len(callers(module)) > len(set(callers(module)))
    found = verify(run_hlo_passes(module, Options(), Journal(), only))
    assert len(callers(found)) == len(set(callers(found))) == 4
    x = np.ones(4, np.float32)
    np.testing.assert_array_equal(evaluate(found, x)[0], evaluate(module, x)[0])


def test_the_printed_order_is_the_order_of_launches() -> None:
    lines = ["x = f32[8] parameter(0)"]
    for n, operation in enumerate(("sine", "cosine", "tanh")):
        lines.append(f"w{n} = f32[512,8] broadcast(x), dimensions={{1}}")
        lines.append(f"t{n} = f32[512,8] {operation}(w{n})")
    lines += [f"s{n} = f32[8,8] slice(t{n}), slice={{[0:8], [0:8]}}" for n in range(3)]
    lines += ["a = f32[8,8] add(s0, s1)", "ROOT b = f32[8,8] add(a, s2)"]
    module = parse_module("HloModule m\nENTRY e {\n" + "\n".join(lines) + "\n}")
    given = assign(module, Options(), Journal())
    ordered = run_hlo_passes(module, Options(), Journal(), only="order")
    found = assign(ordered, Options(), Journal())
    steps = [i.name for i in ordered.entry_computation if not i.opcode.is_view]
    assert tuple(steps) == found.launches
    assert found.peak_bytes == given.peak_bytes
    assert [i.opcode for i in ordered.entry_computation].count(Opcode.SLICE) == 3
