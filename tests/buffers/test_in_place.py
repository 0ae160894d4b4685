"""Results written over what dies: scatters, sorts, epilogues of dots, sums, state that moves."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.buffers.assign import Assignment, assign
from compiler.hlo.evaluate import evaluate
from compiler.hlo.module import Module
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify
from compiler.journal import Journal
from compiler.options import Options
from compiler.pipeline import run_hlo_passes
from tests.buffers.arena import Arena
from tests.buffers.test_assign import check_places
from tests.hlo.programs import ADD
from tests.passes.helpers import assert_same_bits

SCATTER = """scatter({a}, {i}, {u}), update_window_dims={{1}}, inserted_window_dims={{0}},
  scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=add_f32"""
LESS = """less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT
}"""


def placed(text: str, *arrays: np.ndarray, only: str | None = None) -> tuple[Module, Assignment]:
    """A program after all passes (or one) and its memory, in which it yields what the evaluator
    says."""
    program = verify(parse_module(text))
    module = verify(run_hlo_passes(program, Options(), Journal(), only))
    found = assign(module, Options(), Journal())
    check_places(found)
    wanted = evaluate(program, *arrays)
    assert_same_bits(Arena(module, found, by_rows=False).run(arrays), wanted, text)
    rows = Arena(module, found, by_rows=True).run(arrays)
    for one, other in zip(rows, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-5)
    return module, found


def floats(*dims: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(dims).astype(np.float32)


def test_a_scatter_changes_a_donated_table_where_it_lies() -> None:
    scatter = SCATTER.format(a="t", i="i", u="u")
    text = f"""HloModule m, input_output_alias={{ {{}}: (0, {{}}) }}
    {ADD}
    ENTRY e {{
      t = f32[64,16] parameter(0)
      i = s32[3,1] parameter(1)
      u = f32[3,16] parameter(2)
      ROOT r = f32[64,16] {scatter}
    }}"""
    index = np.array([[1], [1], [9]], np.int32)
    _, found = placed(text, floats(64, 16), index, floats(3, 16))
    assert found.peak_bytes == 64 * 64 + 64 + 192
    assert found.outputs[0].slice == found.parameters[0].slice


def test_a_scatter_of_an_array_into_itself_needs_a_second_one() -> None:
    scatter = SCATTER.format(a="a", i="i", u="a")
    text = f"""HloModule m
    {ADD}
    ENTRY e {{
      x = f32[4,16] parameter(0)
      i = s32[4,1] parameter(1)
      a = f32[4,16] sort(x), dimensions={{0}}, to_apply=less
      ROOT r = f32[4,16] {scatter}
    }}""".replace("ENTRY", f"{LESS}\nENTRY")
    index = np.array([[1], [3], [0], [1]], np.int32)
    _, found = placed(text, floats(4, 16), index)
    assert found.slices["a", ()].offset != found.slices["r", ()].offset


def test_a_sort_and_a_solution_replace_their_operand() -> None:
    text = f"""HloModule m
    {LESS}
    ENTRY e {{
      x = f32[64,8] parameter(0)
      a = f32[64,8] negate(x)
      ROOT r = f32[64,8] sort(a), dimensions={{0}}, to_apply=less
    }}"""
    _, found = placed(text, floats(64, 8))
    assert found.peak_bytes == 2 * 2048
    text = """HloModule m
    ENTRY e {
      m = f32[8,8] parameter(0)
      x = f32[8,32] parameter(1)
      b = f32[8,32] negate(x)
      ROOT r = f32[8,32] triangular-solve(m, b), left_side=true, lower=true,
        transpose_a=NO_TRANSPOSE
    }"""
    matrix = floats(8, 8) + 4 * np.eye(8, dtype=np.float32)
    _, found = placed(text, matrix, floats(8, 32))
    assert found.peak_bytes == 256 + 2 * 1024


STEP = """HloModule m, input_output_alias={ {0}: (0, {}), {1}: (1, {}) }
ENTRY e {
  w = f32[16,32] parameter(0)
  m = f32[16,32] parameter(1)
  x = f32[16,8] parameter(2)
  y = f32[8,32] parameter(3)
  g = f32[16,32] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  n = f32[16,32] add(m, g)
  v = f32[16,32] subtract(w, n)
  ROOT r = (f32[16,32], f32[16,32]) tuple(v, n)
}"""


def test_the_epilogue_of_a_dot_writes_over_what_it_reads_but_keeps_room_for_the_sums() -> None:
    module, found = placed(STEP, floats(16, 32), floats(16, 32), floats(16, 8), floats(8, 32))
    assert len(found.launches) == 1, str(module)
    over = [o.slice == p.slice for o, p in zip(found.outputs, found.parameters)]
    assert sorted(over) == [False, True]
    assert found.peak_bytes == 3 * 2048 + 512 + 1024


def test_the_operand_of_a_dot_is_not_overwritten_by_its_epilogue() -> None:
    text = """HloModule m, input_output_alias={ {0}: (0, {}) }
    ENTRY e {
      w = f32[16,16] parameter(0)
      x = f32[16,16] parameter(1)
      g = f32[16,16] dot(w, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      n = f32[16,16] add(w, g)
      s = f32[16,16] negate(g)
      ROOT r = (f32[16,16], f32[16,16]) tuple(n, s)
    }"""
    _, found = placed(text, floats(16, 16), floats(16, 16), only="fuse")
    assert found.peak_bytes == 4 * 1024


@pytest.mark.parametrize(("extent", "is_shared"), [(8, True), (32, False)])
def test_a_sum_takes_the_place_of_a_small_array_only(extent: int, is_shared: bool) -> None:
    text = f"""HloModule m
    {ADD}
    ENTRY e {{
      x = f32[{extent},{extent}] parameter(0)
      z = f32[] constant(0)
      a = f32[{extent}] reduce(x, z), dimensions={{1}}, to_apply=add_f32
      ROOT r = f32[] reduce(a, z), dimensions={{0}}, to_apply=add_f32
    }}"""
    _, found = placed(text, floats(extent, extent))
    rows, total = (found.slices[name, ()] for name in found.launches)
    assert (rows.offset == total.offset) == is_shared


LOOP = """HloModule m
body {{
  s = (s32[], {arrays}) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  a = f32[64] get-tuple-element(s), index=1
  b = f32[64] get-tuple-element(s), index=2
  c = f32[64] get-tuple-element(s), index=3
  one = s32[] constant(1)
  m = s32[] add(n, one)
  {inside}
  ROOT t = (s32[], {arrays}) tuple(m, {handed})
}}
cond {{
  s = (s32[], {arrays}) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  last = s32[] constant(4)
  ROOT less = pred[] compare(n, last), direction=LT
}}
ENTRY e {{
  x = f32[64] parameter(0)
  u = f32[64] sine(x)
  v = f32[64] negate(x)
  w = f32[64] abs(x)
  z = s32[] constant(0)
  i = (s32[], {arrays}) tuple(z, u, v, w)
  l = (s32[], {arrays}) while(i), condition=cond, body=body
  p = f32[64] get-tuple-element(l), index=1
  q = f32[64] get-tuple-element(l), index=2
  r = f32[64] get-tuple-element(l), index=3
  ROOT o = ({arrays}) tuple(p, q, r)
}}"""


@pytest.mark.parametrize(
    ("inside", "handed"),
    [
        ("h = f32[64] add(a, a)", "b, c, h"),
        ("h = f32[64] negate(a)", "b, h, c"),
        ("h = f32[64] negate(a)", "c, b, a"),
        ("h = f32[64] negate(a)", "b, c, a"),
    ],
    ids=["rotated", "swapped", "traded", "circle"],
)
def test_state_that_changes_places_does_so_within_its_own_memory(inside: str, handed: str) -> None:
    arrays = "f32[64], f32[64], f32[64]"
    text = LOOP.format(arrays=arrays, inside=inside, handed=handed)
    module, found = placed(text, floats(64))
    given, state, counter, scratch = 256, 3 * 256, 64, 256
    assert found.peak_bytes <= given + state + counter + scratch, module


@pytest.mark.parametrize("handed", ["b, c, a", "c, a, b", "b, a, c", "h, a, b", "b, h, a"])
def test_moves_after_an_iteration_come_before_what_overwrites_them(handed: str) -> None:
    """Without copy insertion, moves alone carry the state to its places."""
    arrays = "f32[64], f32[64], f32[64]"
    text = LOOP.format(arrays=arrays, inside="h = f32[64] add(a, b)", handed=handed)
    program = parse_module(text)
    module = run_hlo_passes(program, Options(), Journal(), only="flatten")
    found = assign(module, Options(), Journal())
    check_places(found)
    array = floats(64)
    results = Arena(module, found, by_rows=False).run([array])
    assert_same_bits(results, evaluate(program, array), handed)
