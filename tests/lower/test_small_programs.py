"""Small programs at the edges of the language: copies, constants, empty arrays, scalars, tuples,
every kind of reduce, odd layouts; and the arrangements of rows. Equal to NumPy on a CPU and on a
grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compiler.hlo.evaluate import evaluate
from compiler.hlo.shape import ArrayShape, leaves
from compiler.hlo.text import parse_module
from compiler.lower.decisions import KeptValue, LoopNest, ThreadMapping
from compiler.options import Options
from tests.lower.harness import SIMT, X86
from tests.lower.native import run_native
from tests.lower.programs import compiled, job, outputs
from tests.lower.test_programs import run_grid
from tests.lower.test_random import compare

ADD = """add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
"""
PROGRAMS = {
    "identity": """
ENTRY e {
  ROOT x = f32[4,3] parameter(0)
}""",
    "dup": """
ENTRY e {
  x = f32[4,3] parameter(0)
  ROOT t = (f32[4,3], f32[4,3]) tuple(x,x)
}""",
    "const": """
ENTRY e {
  x = f32[4,3] parameter(0)
  c = f32[2,2] constant({{1,2},{3,4}})
  s = f32[] constant(7)
  ROOT t = (f32[2,2], f32[], f32[4,3]) tuple(c,s,x)
}""",
    "constuse": """
ENTRY e {
  x = f32[2,2] parameter(0)
  c = f32[2,2] constant({{1,2},{3,4}})
  ROOT t = f32[2,2] add(c,x)
}""",
    "constlayout": """
ENTRY e {
  x = f32[2,3] parameter(0)
  c = f32[2,3]{0,1} constant({{1,2,5},{3,4,6}})
  ROOT t = f32[2,3]{0,1} add(c,x)
}""",
    "scalar": """
ENTRY e {
  x = f32[] parameter(0)
  y = f32[] sine(x)
  ROOT b = f32[3,5] broadcast(y), dimensions={}
}""",
    "bscalar": """
ENTRY e {
  x = f32[] parameter(0)
  ROOT b = f32[3,5] broadcast(x), dimensions={}
}""",
    "empty": ADD
    + """
ENTRY e {
  x = f32[0,5] parameter(0)
  z = f32[] constant(2)
  r = f32[5] reduce(x,z), dimensions={0}, to_apply=add
  r2 = f32[0] reduce(x,z), dimensions={1}, to_apply=add
  ROOT t = (f32[5],f32[0],f32[0,5]) tuple(r,r2,x)
}""",
    "emptydot": """
ENTRY e {
  x = f32[3,0] parameter(0)
  y = f32[0,4] parameter(1)
  ROOT d = f32[3,4] dot(x,y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}""",
    "reduce0": ADD
    + """
ENTRY e {
  x = f32[] parameter(0)
  z = f32[] constant(2)
  ROOT r = f32[] reduce(x,z), dimensions={}, to_apply=add
}""",
    "reducenone": ADD
    + """
ENTRY e {
  x = f32[4] parameter(0)
  z = f32[] constant(2)
  ROOT r = f32[4] reduce(x,z), dimensions={}, to_apply=add
}""",
    "init": ADD
    + """
ENTRY e {
  x = f32[100,40] parameter(0)
  z = f32[] constant(2.5)
  a = f32[40] reduce(x,z), dimensions={0}, to_apply=add
  b = f32[100] reduce(x,z), dimensions={1}, to_apply=add
  ROOT r = (f32[40],f32[100]) tuple(a,b)
}""",
    "initparam": ADD
    + """
ENTRY e {
  x = f32[100,40] parameter(0)
  z = f32[] parameter(1)
  ROOT b = f32[100] reduce(x,z), dimensions={1}, to_apply=add
}""",
    "mid": ADD
    + """
ENTRY e {
  x = f32[6,50,7] parameter(0)
  z = f32[] constant(0)
  ROOT b = f32[6,7] reduce(x,z), dimensions={1}, to_apply=add
}""",
    "two": ADD
    + """
ENTRY e {
  x = f32[6,50,7] parameter(0)
  z = f32[] constant(0)
  ROOT b = f32[50] reduce(x,z), dimensions={0,2}, to_apply=add
}""",
    "layoutred": ADD
    + """
ENTRY e {
  x = f32[6,50,7]{0,2,1} parameter(0)
  z = f32[] constant(0)
  ROOT b = f32[50,7]{0,1} reduce(x,z), dimensions={0}, to_apply=add
}""",
    "outer": """
ENTRY e {
  x = f32[5] parameter(0)
  y = f32[7] parameter(1)
  ROOT d = f32[5,7]{0,1} dot(x,y), lhs_contracting_dims={}, rhs_contracting_dims={}
}""",
    "inner": """
ENTRY e {
  x = s32[50] parameter(0)
  y = s32[50] parameter(1)
  ROOT d = s32[] dot(x,y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
}""",
    "preddot": """
ENTRY e {
  x = pred[5,6] parameter(0)
  y = pred[6,3] parameter(1)
  ROOT d = pred[5,3] dot(x,y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}""",
    "nested": """
ENTRY e {
  x = f32[5] parameter(0)
  n = f32[5] negate(x)
  t = (f32[5], f32[5]) tuple(x,n)
  ROOT u = ((f32[5], f32[5]), f32[5]) tuple(t, n)
}""",
    "tupleparam": """
ENTRY e {
  p = (f32[5], s32[3]) parameter(0)
  a = f32[5] get-tuple-element(p), index=0
  ROOT n = f32[5] negate(a)
}""",
    "callnest": """
f {
  a = f32[5] parameter(0)
  ROOT b = f32[5] sine(a)
}
g {
  a = f32[5] parameter(0)
  b = f32[5] call(a), to_apply=f
  ROOT c = (f32[5],f32[5]) tuple(a,b)
}
ENTRY e {
  x = f32[5] parameter(0)
  t = (f32[5],f32[5]) call(x), to_apply=g
  a = f32[5] get-tuple-element(t), index=1
  ROOT r = f32[5] add(a,a)
}""",
    "iota": """
ENTRY e {
  ROOT i = s32[3,4]{0,1} iota(), iota_dimension=1
}""",
    "transpose": """
ENTRY e {
  x = f32[30,50] parameter(0)
  ROOT t = f32[50,30] transpose(x), dimensions={1,0}
}""",
    "copy": """
ENTRY e {
  x = f32[30,50] parameter(0)
  ROOT t = f32[30,50]{0,1} copy(x)
}""",
    "reshape": """
ENTRY e {
  x = f32[30,50]{0,1} parameter(0)
  ROOT t = f32[25,60] reshape(x)
}""",
    "reduceconvert": ADD
    + """
ENTRY e {
  x = s32[30,50] parameter(0)
  c = f32[30,50] convert(x)
  z = f32[] constant(0)
  r = f32[30] reduce(c,z), dimensions={1}, to_apply=add
  ROOT q = s32[30] convert(r)
}""",
    "map": """
f {
  a = f32[] parameter(0)
  ROOT b = f32[] sine(a)
}
ENTRY e {
  x = f32[5] parameter(0)
  ROOT m = f32[5] map(x), dimensions={0}, to_apply=f
}""",
    "reducegeneric": """
f {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  m = f32[] multiply(b,b)
  ROOT s = f32[] maximum(a,b)
}
ENTRY e {
  x = f32[50,9] parameter(0)
  z = f32[] constant(-inf)
  ROOT m = f32[9] reduce(x,z), dimensions={0}, to_apply=f
}""",
    "fusedin": ADD
    + """
fc {
  p = f32[8,40] parameter(0)
  n = f32[8,40] exponential(p)
  z = f32[] constant(0)
  ROOT r = f32[8] reduce(n,z), dimensions={1}, to_apply=add
}
ENTRY e {
  x = f32[8,40] parameter(0)
  ROOT f = f32[8] fusion(x), kind=kInput, calls=fc
}""",
    "softmaxvec": ADD
    + """
ENTRY e {
  x = f32[40] parameter(0)
  e = f32[40] exponential(x)
  z = f32[] constant(0)
  s = f32[] reduce(e,z), dimensions={0}, to_apply=add
  b = f32[40] broadcast(s), dimensions={}
  ROOT d = f32[40] divide(e,b)
}""",
    "bigsum": ADD
    + """
ENTRY e {
  x = f32[100,1000] parameter(0)
  z = f32[] constant(0)
  ROOT s = f32[] reduce(x,z), dimensions={0,1}, to_apply=add
}""",
    "cumcat": """
ENTRY e {
  a = f32[3] parameter(0)
  b = f32[5] parameter(1)
  c = f32[0] parameter(2)
  ROOT d = f32[11] concatenate(a,c,b,a), dimensions={0}
}""",
    "dus": """
ENTRY e {
  a = f32[8,5] parameter(0)
  u = f32[2,5] parameter(1)
  i = s32[] parameter(2)
  z = s32[] constant(0)
  ROOT d = f32[8,5] dynamic-update-slice(a,u,i,z)
}""",
    "ds": """
ENTRY e {
  a = f32[8,5] parameter(0)
  i = s32[] parameter(1)
  z = s32[] constant(0)
  ROOT d = f32[2,5] dynamic-slice(a,i,z), dynamic_slice_sizes={2,5}
}""",
    "clampscalar": """
ENTRY e {
  x = f32[8,5] parameter(0)
  lo = f32[] constant(-0.5)
  hi = f32[] parameter(1)
  ROOT c = f32[8,5] clamp(lo,x,hi)
}""",
}


def argument(rng: np.random.Generator, shape: ArrayShape) -> np.ndarray:
    kind = shape.element_type.text
    if kind == "f32":
        return rng.normal(size=shape.dimensions).astype(np.float32)
    if kind == "pred":
        return rng.random(shape.dimensions) < 0.5
    return rng.integers(-5, 9, shape.dimensions).astype(np.int32)


def flattened(value: Any) -> list[np.ndarray]:
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in flattened(part)]
    return [np.asarray(value)]


def check(text: str, options: Options = Options()) -> None:  # noqa: B008
    module = parse_module("HloModule small\n" + text)
    rng = np.random.default_rng(0)
    shapes = [s for p in module.entry_computation.parameters for s in leaves(p.shape)]
    given = [argument(rng, s) for s in shapes if isinstance(s, ArrayShape)]
    exact = flattened(evaluate(module, *given))
    for target in (X86, SIMT):
        _, assignment, lowered, _ = compiled(module, target, options)
        if target is X86:
            memory = run_native([job(assignment, lowered, given)])[0]
        else:
            memory = run_grid(assignment, lowered, given)
        compare(text, outputs(assignment, memory), exact)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_small_programs(name: str) -> None:
    check(PROGRAMS[name])


SOFTMAX_OF_COLUMNS = (
    ADD
    + """max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b)
}
ENTRY e {
  x = f32[ROWS,70] parameter(0)
  z = f32[] constant(0)
  low = f32[] constant(-inf)
  m = f32[70] reduce(x, low), dimensions={0}, to_apply=max
  mb = f32[ROWS,70] broadcast(m), dimensions={1}
  d = f32[ROWS,70] subtract(x, mb)
  ex = f32[ROWS,70] exponential(d)
  s = f32[70] reduce(ex, z), dimensions={0}, to_apply=add
  sb = f32[ROWS,70] broadcast(s), dimensions={1}
  q = f32[ROWS,70] divide(ex, sb)
  ROOT t = (f32[ROWS,70], f32[70]) tuple(q, s)
}"""
)


def decisions(text: str, target: Any, kind: type) -> Sequence[Any]:
    module = parse_module("HloModule small\n" + text)
    journal = compiled(module, target, Options())[3]
    return [e.decision for e in journal.entries if isinstance(e.decision, kind)]


def test_long_columns_are_worked_on_in_strips_that_fit_the_cache() -> None:
    text = SOFTMAX_OF_COLUMNS.replace("ROWS", "100")
    (nest,) = decisions(text, X86, LoopNest)
    assert nest.chosen == "strips of rows"
    (kept,) = decisions(text, X86, KeptValue)
    assert kept.chosen == "kept in the row of q"
    check(text)
    module = parse_module("HloModule small\n" + text)
    x = np.random.default_rng(1).normal(size=(100, 70)).astype(np.float32)
    small = replace(X86, l1_bytes=600)
    _, assignment, lowered, _ = compiled(module, small, Options())
    memory = run_native([job(assignment, lowered, [x])])[0]
    compare(text, outputs(assignment, memory), flattened(evaluate(module, x)))


def test_short_columns_are_written_out() -> None:
    text = SOFTMAX_OF_COLUMNS.replace("ROWS", "5")
    (nest,) = decisions(text, X86, LoopNest)
    assert "written out" in nest.loops
    check(text)


def test_a_grid_gives_long_rows_a_warp_and_short_ones_a_thread() -> None:
    def mapping(shape: str) -> str:
        count = shape.split(",", maxsplit=1)[0]
        text = (
            ADD
            + f"""ENTRY e {{
  x = f32[{shape}] parameter(0)
  z = f32[] constant(0)
  ROOT s = f32[{count}] reduce(x, z), dimensions={{1}}, to_apply=add
}}"""
        )
        (found,) = decisions(text, SIMT, ThreadMapping)
        chosen: str = found.chosen
        return chosen

    assert mapping("16,48") == "one warp per row"
    assert mapping("2000,48") == "one warp per row"
    assert mapping("2000,16") == "one thread per row"
    assert mapping("16,4") == "one thread per row"
