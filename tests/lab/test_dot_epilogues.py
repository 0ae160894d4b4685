"""A dot that is a result itself beside its epilogue, over an operand that the epilogue reads."""

from __future__ import annotations

import pytest

import isas
from compiler.hlo.text import parse_module
from lab import road

PROGRAM = """HloModule m
ENTRY main {{
  a = f32[2,8] parameter(0)
  b = f32[8,4] parameter(1)
  c = f32[2,8] parameter(2)
  t = f32[2,4] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  d = f32[2,4] dot(c, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  s = f32[2,4] {epilogue}
  e = f32[4,4] dot(d, s), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}
  ROOT r = f32[4,4] dot(e, e), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}"""


@pytest.mark.parametrize("epilogue", ["multiply(d, t)", "subtract(t, d)"])
@pytest.mark.parametrize("machine", isas.machine_names())
def test_sums_do_not_lie_where_the_epilogue_still_reads(machine: str, epilogue: str) -> None:
    result = road.run(parse_module(PROGRAM.format(epilogue=epilogue)), machine)
    places = {p.array.name: p.slice for p in result.compilation.assignment.placements}
    assert places["t"] in (places["fusion.0"], places["fusion.1"])
    assert result.matches
