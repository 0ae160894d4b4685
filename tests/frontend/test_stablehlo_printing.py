"""HLO printed as StableHLO: what HLO has in other shapes, and what StableHLO cannot say."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.frontend.stablehlo import parse_stablehlo, print_stablehlo
from compiler.hlo.errors import HloUnsupportedError
from compiler.hlo.evaluate import evaluate
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify
from lab.arrays import seeded_inputs

CONVERTIBLE = {
    "bitcast with layouts": """
        p = f32[2,3]{0,1} parameter(0)
        ROOT r = f32[6]{0} bitcast(p)""",
    "bitcast to another type": """
        p = f32[4] parameter(0)
        ROOT r = s32[2,2] bitcast(p)""",
    "mixed precision": """
        p = f32[4] parameter(0)
        q = bf16[4] parameter(1)
        ROOT r = f32[4] add(p, q)""",
    "narrow result": """
        p = f32[4] parameter(0)
        ROOT r = bf16[4] multiply(p, p)""",
    "tuples in and out": """
        p = (f32[2], (s32[], f32[3])) parameter(0)
        a = (s32[], f32[3]) get-tuple-element(p), index=1
        b = f32[2] get-tuple-element(p), index=0
        ROOT r = ((s32[], f32[3]), f32[2]) tuple(a, b)""",
    "scalar selector and limits": """
        p = f32[4] parameter(0)
        s = pred[] parameter(1)
        z = f32[] constant(0)
        o = f32[] constant(1)
        c = f32[4] clamp(z, p, o)
        ROOT r = f32[4] select(s, p, c)""",
    "copies and barriers": """
        p = f32[4] parameter(0)
        c = f32[4] copy(p)
        t = (f32[4], f32[4]) tuple(c, p)
        b = (f32[4], f32[4]) opt-barrier(t)
        ROOT r = f32[4] get-tuple-element(b), index=1""",
    "numbers of every kind": """
        a = f32[6] constant({nan, -nan, inf, -inf, -0, 1e-45})
        b = f64[3] constant({0.1, 1e308, 4.9e-324})
        c = bf16[2] constant({1.0078125, -3.3895e+38})
        d = f8e4m3fn[2] constant({0.4375, nan})
        e = s4[3] constant({-8, 7, 0})
        f = c64[2] constant({(1, -2), (nan, inf)})
        g = u64[2] constant({18446744073709551615, 0})
        h = pred[2] constant({1, 0})
        ROOT r = (f32[6], f64[3], bf16[2], f8e4m3fn[2], s4[3], c64[2], u64[2], pred[2])
            tuple(a, b, c, d, e, f, g, h)""",
    "random bits": """
        p = u64[2] parameter(0)
        ROOT r = (u64[2], u32[5]) rng-bit-generator(p), algorithm=rng_philox""",
    "total order": """
        p = f32[4] parameter(0)
        n = f32[4] negate(p)
        ROOT r = pred[4] compare(p, n), direction=LT, type=TOTALORDER""",
    "top-k of the least": """
        p = f32[2,4] parameter(0)
        ROOT r = (f32[2,2], s32[2,2]) topk(p), k=2, largest=false""",
}

REFUSED = {
    "elided constant": ("ROOT r = f32[4] constant({...})", "digits were left out"),
    "state of a generator": (
        "ROOT r = u64[2] rng-get-and-update-state(), delta=1",
        "rng-get-and-update-state",
    ),
    "one-bit integers": ("ROOT r = s1[2] parameter(0)", "no type s1"),
    "loop of nothing": ("p = opaque[] parameter(0)\n  ROOT r = () tuple()", "opaque"),
}


@pytest.mark.parametrize("name", CONVERTIBLE)
def test_hlo_keeps_its_values_as_stablehlo(name: str) -> None:
    module = verify(parse_module(f"HloModule m\nENTRY e {{{CONVERTIBLE[name]}\n}}\n"))
    again = parse_stablehlo(print_stablehlo(module))
    inputs = seeded_inputs(module, 3)
    ours, theirs = evaluate(module, *inputs), evaluate(again, *inputs)
    assert [a.dtype for a in ours] == [b.dtype for b in theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", REFUSED)
def test_what_stablehlo_cannot_say_is_refused_by_name(name: str) -> None:
    body, part = REFUSED[name]
    module = parse_module(f"HloModule m\nENTRY e {{\n  {body}\n}}\n")
    with pytest.raises(HloUnsupportedError, match=part):
        print_stablehlo(module)


def test_metadata_becomes_locations_and_comes_back() -> None:
    module = verify(
        parse_module("""HloModule m
    ENTRY e {
      p = f32[2] parameter(0)
      ROOT r = f32[2] sine(p), metadata={op_name="jit(f)/sin" source_file="m.py" source_line=4}
    }""")
    )
    text = print_stablehlo(module)
    assert 'loc("jit(f)/sin"("m.py":4:0))' in text
    again = parse_stablehlo(text).entry_computation.root_instruction
    assert again.metadata == module.entry_computation.root_instruction.metadata


def test_a_printed_program_is_stable() -> None:
    rng = np.random.default_rng(0)
    text = """HloModule m
    cond { s = (s32[], f32[3]) parameter(0)
           i = s32[] get-tuple-element(s), index=0
           n = s32[] constant(5)
           ROOT c = pred[] compare(i, n), direction=LT }
    body { s = (s32[], f32[3]) parameter(0)
           i = s32[] get-tuple-element(s), index=0
           v = f32[3] get-tuple-element(s), index=1
           o = s32[] constant(1)
           j = s32[] add(i, o)
           w = f32[3] sine(v)
           ROOT t = (s32[], f32[3]) tuple(j, w) }
    ENTRY e { z = s32[] constant(0)
              v = f32[3] parameter(0)
              t = (s32[], f32[3]) tuple(z, v)
              w = (s32[], f32[3]) while(t), condition=cond, body=body
              ROOT r = f32[3] get-tuple-element(w), index=1 }"""
    module = verify(parse_module(text))
    printed = print_stablehlo(module)
    second = print_stablehlo(parse_stablehlo(printed))
    assert print_stablehlo(parse_stablehlo(second)) == second
    values = rng.standard_normal(3).astype(np.float32)
    for one, other in zip(evaluate(module, values), evaluate(parse_stablehlo(printed), values)):
        assert one.tobytes() == other.tobytes()
