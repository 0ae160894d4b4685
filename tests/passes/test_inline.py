"""Inlining: names are unique within a computation only, so a body may bring any that its caller,
or the caller's caller, uses for something else."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.hlo.evaluate import evaluate
from compiler.hlo.opcodes import Opcode
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify
from tests.passes.helpers import assert_same_bits, passed

CALLS_IN_CALLS = """HloModule calls
inner {{
  p = f32[3] parameter(0)
  {inner} = f32[3] negate(p)
  ROOT r = f32[1,3] reshape({inner})
}}
outer {{
  p = f32[3] parameter(0)
  {outer} = f32[3] exponential(p)
  called = f32[1,3] call(p), to_apply=inner
  flat = f32[3] reshape(called)
  ROOT both = f32[3] subtract({outer}, flat)
}}
ENTRY main {{
  p = f32[3] parameter(0)
  {entry} = f32[3] sine(p)
  called = f32[3] call({entry}), to_apply=outer
  ROOT sum = f32[3] add(called, {entry})
}}
"""

MAP = """HloModule map
line {
  p = f32[] parameter(0)
  c = f32[] constant(2)
  c.1 = f32[] constant(3)
  scaled = f32[] multiply(p, c)
  ROOT moved = f32[] add(scaled, c.1)
}
ENTRY main {
  p = f32[3] parameter(0)
  c = f32[3] sine(p)
  mapped = f32[3] map(c), dimensions={0}, to_apply=line
  ROOT sum = f32[3] add(mapped, c)
}
"""

PROGRAMS = {
    "one name at every level": CALLS_IN_CALLS.format(inner="v", outer="v", entry="v"),
    "inner and outer share a name": CALLS_IN_CALLS.format(inner="v", outer="v", entry="w"),
    "the next free name is the caller's": CALLS_IN_CALLS.format(inner="v", outer="v.1", entry="v"),
    "the next free name is the map's own": MAP,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_a_body_may_use_the_names_of_its_callers(text: str) -> None:
    inlined = verify(passed(text, only="inline"))
    assert not any(i.opcode in (Opcode.CALL, Opcode.MAP) for i in inlined.entry_computation)
    array = np.array([0.5, -1.25, 2.0], np.float32)
    wanted = evaluate(parse_module(text), array)
    assert_same_bits(evaluate(inlined, array), wanted, text)
