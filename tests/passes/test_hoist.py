"""Loop-invariant code motion: dear invariant work leaves loops, the rest stays, results agree."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.hlo.evaluate import evaluate
from compiler.hlo.module import Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.passes.hoist import Hoisted
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify
from compiler.journal import Journal
from compiler.options import Options
from compiler.pipeline import run_hlo_passes

TEXT = """HloModule m
body {{
  s = (s32[], f32[4,4], f32[4,4]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  w = f32[4,4] get-tuple-element(s), index=1
  x = f32[4,4] get-tuple-element(s), index=2
  one = s32[] constant(1)
  m = s32[] add(n, one)
  p = f32[4,4] {product}
  q = f32[4,4] add(x, p)
  ROOT t = (s32[], f32[4,4], f32[4,4]) tuple(m, {handed}, q)
}}
cond {{
  s = (s32[], f32[4,4], f32[4,4]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  last = s32[] constant({trips})
  ROOT less = pred[] compare(n, last), direction=LT
}}
ENTRY e {{
  w0 = f32[4,4] parameter(0)
  x0 = f32[4,4] parameter(1)
  z = s32[] constant(0)
  i = (s32[], f32[4,4], f32[4,4]) tuple(z, w0, x0)
  l = (s32[], f32[4,4], f32[4,4]) while(i), condition=cond, body=body
  ROOT r = f32[4,4] get-tuple-element(l), index=2
}}"""
SQUARE = "dot(w, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}"


def hoisted(product: str, handed: str = "w", trips: int = 3) -> tuple[Module, Journal]:
    module = verify(parse_module(TEXT.format(product=product, handed=handed, trips=trips)))
    journal = Journal()
    found = verify(run_hlo_passes(module, Options(), journal, only="hoist"))
    numbers = np.random.default_rng(5)
    arrays = [numbers.standard_normal((4, 4)).astype(np.float32) for _ in range(2)]
    np.testing.assert_array_equal(evaluate(found, *arrays)[0], evaluate(module, *arrays)[0])
    final = verify(run_hlo_passes(module, Options(), Journal()))
    np.testing.assert_array_equal(evaluate(final, *arrays)[0], evaluate(module, *arrays)[0])
    return found, journal


def in_body(module: Module, opcode: Opcode) -> bool:
    body = module.computation("body")
    needed, waiting = set(), [body.root]
    while waiting:
        name = waiting.pop()
        needed.add(name)
        waiting.extend(body.instruction(name).operands)
    return any(body.instruction(n).opcode is opcode for n in needed)


@pytest.mark.parametrize("trips", [0, 1, 4])
def test_a_product_of_unchanged_state_is_computed_once(trips: int) -> None:
    module, journal = hoisted(SQUARE, trips=trips)
    assert not in_body(module, Opcode.DOT)
    assert any(i.opcode is Opcode.DOT for i in module.entry_computation)
    (decision,) = [e.decision for e in journal.entries if isinstance(e.decision, Hoisted)]
    assert decision.subject == "p" and "before l" in str(decision)


def test_cheap_work_stays_inside() -> None:
    module, _ = hoisted("negate(w)")
    assert in_body(module, Opcode.NEGATE)


def test_a_transcendental_function_leaves() -> None:
    module, _ = hoisted("tanh(w)")
    assert not in_body(module, Opcode.TANH)


def test_what_depends_on_changing_state_stays() -> None:
    module, _ = hoisted("dot(w, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}")
    assert in_body(module, Opcode.DOT)
    module, _ = hoisted(SQUARE, handed="p")
    assert in_body(module, Opcode.DOT)
