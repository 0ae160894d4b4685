"""Algebra: what each rule makes of an expression, and what must stay because of NaN, inf or -0."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.hlo.evaluate import evaluate
from compiler.hlo.module import Module
from compiler.hlo.text import parse_module
from compiler.journal import Journal
from compiler.options import Options
from compiler.pipeline import trace_hlo_passes
from tests.passes.helpers import assert_same_bits, passed

CLEANUP = ("normalize", "fold", "simplify", "cse", "dce")


def simplified(body: str, before: str = "") -> Module:
    """The module after the passes up to dce."""
    lines = [line.strip() for line in body.strip().splitlines()]
    text = "HloModule m\n" + before + "\nENTRY e {\n" + "\n".join(lines) + "\n}\n"
    snapshots = trace_hlo_passes(parse_module(text), Options(), Journal())
    return [s for s in snapshots if s.name == "dce"][-1].after


def shown(module: Module) -> str:
    """The entry as one nested expression, without shapes."""
    entry = module.entry_computation

    def text(name: str) -> str:
        i = entry.instruction(name)
        if i.opcode.text == "parameter":
            return "xyzw"[i.parameter_number]
        if i.opcode.text == "constant":
            return str(i.literal.array.tolist()) if i.literal else "?"
        if i.opcode.text == "broadcast" and not i.dimensions:
            return text(i.operands[0])
        extra = f"{list(i.dimensions)}" if i.dimensions else ""
        return f"{i.opcode}{extra}({', '.join(map(text, i.operands))})"

    return text(entry.root)


def unary(kind: str, *lines: str) -> str:
    body = "\n".join(lines)
    return f"x = {kind}[4] parameter(0)\n{body}"


F32 = {
    "x * 1": ("ROOT r = f32[4] multiply(x, k)", "1", "x"),
    "1 * x": ("ROOT r = f32[4] multiply(k, x)", "1", "x"),
    "x + -0": ("ROOT r = f32[4] add(x, k)", "-0", "x"),
    "x + 0 stays": ("ROOT r = f32[4] add(x, k)", "0", "add(x, 0.0)"),
    "x - 0": ("ROOT r = f32[4] subtract(x, k)", "0", "x"),
    "x - -0 stays": ("ROOT r = f32[4] subtract(x, k)", "-0", "subtract(x, -0.0)"),
    "0 - x stays": ("ROOT r = f32[4] subtract(k, x)", "0", "subtract(0.0, x)"),
    "-0 - x": ("ROOT r = f32[4] subtract(k, x)", "-0", "negate(x)"),
    "x * 0 stays": ("ROOT r = f32[4] multiply(x, k)", "0", "multiply(x, 0.0)"),
    "x * -1": ("ROOT r = f32[4] multiply(x, k)", "-1", "negate(x)"),
    "x / 1": ("ROOT r = f32[4] divide(x, k)", "1", "x"),
    "x / 64": ("ROOT r = f32[4] divide(x, k)", "64", "multiply(x, 0.015625)"),
    "x / 3 stays": ("ROOT r = f32[4] divide(x, k)", "3", "divide(x, 3.0)"),
    "x / 0 stays": ("ROOT r = f32[4] divide(x, k)", "0", "divide(x, 0.0)"),
    "x / inf stays": ("ROOT r = f32[4] divide(x, k)", "inf", "divide(x, inf)"),
    "max(x, -inf)": ("ROOT r = f32[4] maximum(x, k)", "-inf", "x"),
    "max(x, inf) stays": ("ROOT r = f32[4] maximum(x, k)", "inf", "maximum(x, inf)"),
    "min(x, inf)": ("ROOT r = f32[4] minimum(k, x)", "inf", "x"),
    "x ** 1": ("ROOT r = f32[4] power(x, k)", "1", "x"),
    "x ** 2": ("ROOT r = f32[4] power(x, k)", "2", "multiply(x, x)"),
    "x ** 0.5 stays": ("ROOT r = f32[4] power(x, k)", "0.5", "power(x, 0.5)"),
}


@pytest.mark.parametrize("title", F32)
def test_float_rules_are_strict(title: str) -> None:
    line, constant, wanted = F32[title]
    k = f"s = f32[] constant({constant})\nk = f32[4] broadcast(s), dimensions={{}}"
    assert shown(simplified(unary("f32", k, line))) == wanted


S32 = {
    "x + 0": ("ROOT r = s32[4] add(x, k)", "0", "x"),
    "x * 0": ("ROOT r = s32[4] multiply(x, k)", "0", "0"),
    "0 - x": ("ROOT r = s32[4] subtract(k, x)", "0", "negate(x)"),
    "x & -1": ("ROOT r = s32[4] and(x, k)", "-1", "x"),
    "x & 0": ("ROOT r = s32[4] and(x, k)", "0", "0"),
    "x | 0": ("ROOT r = s32[4] or(k, x)", "0", "x"),
    "x | -1": ("ROOT r = s32[4] or(x, k)", "-1", "-1"),
    "x ^ 0": ("ROOT r = s32[4] xor(x, k)", "0", "x"),
    "x << 0": ("ROOT r = s32[4] shift-left(x, k)", "0", "x"),
    "max(x, least)": ("ROOT r = s32[4] maximum(x, k)", "-2147483648", "x"),
    "(x + 3) + 4": ("y = s32[4] add(x, k)\nROOT r = s32[4] add(y, k)", "3", "add(x, 6)"),
    "x / 1": ("ROOT r = s32[4] divide(x, k)", "1", "x"),
    "x / 8 rounds to zero and stays": ("ROOT r = s32[4] divide(x, k)", "8", "divide(x, 8)"),
}


@pytest.mark.parametrize("title", S32)
def test_integer_rules(title: str) -> None:
    line, constant, wanted = S32[title]
    k = f"s = s32[] constant({constant})\nk = s32[4] broadcast(s), dimensions={{}}"
    assert shown(simplified(unary("s32", k, line))) == wanted


U32 = {
    "x / 8": ("ROOT r = u32[4] divide(x, k)", "8", "shift-right-logical(x, 3)"),
    "x % 8": ("ROOT r = u32[4] remainder(x, k)", "8", "and(x, 7)"),
    "x < 0": ("ROOT r = pred[4] compare(x, k), direction=LT", "0", "False"),
    "x >= 0": ("ROOT r = pred[4] compare(x, k), direction=GE", "0", "True"),
}


@pytest.mark.parametrize("title", U32)
def test_unsigned_rules(title: str) -> None:
    line, constant, wanted = U32[title]
    k = f"s = u32[] constant({constant})\nk = u32[4] broadcast(s), dimensions={{}}"
    assert shown(simplified(unary("u32", k, line))) == wanted


CHAINS = {
    "double negation": ("a = f32[4] negate(x)\nROOT r = f32[4] negate(a)", "x"),
    "negated sum": (
        "a = f32[4] negate(x)\nb = f32[4] exponential(x)\nROOT r = f32[4] add(b, a)",
        "subtract(exponential(x), x)",
    ),
    "abs of abs": ("a = f32[4] abs(x)\nROOT r = f32[4] abs(a)", "abs(x)"),
    "abs of negation": ("a = f32[4] negate(x)\nROOT r = f32[4] abs(a)", "abs(x)"),
    "max with itself": ("ROOT r = f32[4] maximum(x, x)", "x"),
    "x == x is false for NaN": (
        "ROOT r = pred[4] compare(x, x), direction=EQ",
        "compare(x, x)",
    ),
    "x < x": ("ROOT r = pred[4] compare(x, x), direction=LT", "False"),
    "same choice": (
        "c = pred[4] compare(x, x), direction=NE\nROOT r = f32[4] select(c, x, x)",
        "x",
    ),
    "choice by a negation": (
        "c = pred[4] compare(x, x), direction=EQ\nn = pred[4] not(c)\n"
        "e = f32[4] exponential(x)\nROOT r = f32[4] select(n, x, e)",
        "select(compare(x, x), exponential(x), x)",
    ),
    "there and back": ("a = f64[4] convert(x)\nROOT r = f32[4] convert(a)", "x"),
    "rounding stays": (
        "a = bf16[4] convert(x)\nROOT r = f32[4] convert(a)",
        "convert(convert(x))",
    ),
    "reshape of reshape": (
        "a = f32[2,2] reshape(x)\nb = f32[1,4] reshape(a)\nROOT r = f32[4] reshape(b)",
        "x",
    ),
    "transpose of transpose": (
        "a = f32[2,2] reshape(x)\nb = f32[2,2] transpose(a), dimensions={1,0}\n"
        "ROOT r = f32[2,2] transpose(b), dimensions={1,0}",
        "reshape(x)",
    ),
    "transpose of a row": (
        "a = f32[1,4] reshape(x)\nROOT r = f32[4,1] transpose(a), dimensions={1,0}",
        "reshape(x)",
    ),
    "broadcast of broadcast": (
        "a = f32[3,4] broadcast(x), dimensions={1}\n"
        "ROOT r = f32[2,3,4] broadcast(a), dimensions={1,2}",
        "broadcast[2](x)",
    ),
    "transpose of broadcast": (
        "a = f32[3,4] broadcast(x), dimensions={1}\n"
        "ROOT r = f32[4,3] transpose(a), dimensions={1,0}",
        "broadcast[0](x)",
    ),
    "work before the broadcast": (
        "a = f32[3,4] broadcast(x), dimensions={1}\nROOT r = f32[3,4] exponential(a)",
        "broadcast[1](exponential(x))",
    ),
    "slice of all": ("ROOT r = f32[4] slice(x), slice={[0:4]}", "x"),
    "slice of a part": (
        "c = f32[8] concatenate(x, x), dimensions={0}\nROOT r = f32[4] slice(c), slice={[4:8]}",
        "x",
    ),
    "concatenate of one": ("ROOT r = f32[4] concatenate(x), dimensions={0}", "x"),
    "reverse twice": (
        "a = f32[4] reverse(x), dimensions={0}\nROOT r = f32[4] reverse(a), dimensions={0}",
        "x",
    ),
    "copy": ("ROOT r = f32[4] copy(x)", "x"),
    "element of a tuple": (
        "t = (f32[4], f32[4]) tuple(x, x)\nROOT r = f32[4] get-tuple-element(t), index=1",
        "x",
    ),
    "constant work": (
        "a = f32[] constant(3)\nb = f32[] constant(4)\nc = f32[] add(a, b)\n"
        "d = f32[4] broadcast(c), dimensions={}\nROOT r = f32[4] add(x, d)",
        "add(x, 7.0)",
    ),
    "a constant start": (
        "a = s32[] constant(9)\nROOT r = f32[2] dynamic-slice(x, a), dynamic_slice_sizes={2}",
        "slice(x)",
    ),
}


@pytest.mark.parametrize("title", CHAINS)
def test_chains_collapse(title: str) -> None:
    body, wanted = CHAINS[title]
    assert shown(simplified(unary("f32", body))) == wanted


SUM = "s { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }"


@pytest.mark.parametrize(("start", "wanted"), [("-0", "reshape(x)"), ("0", "reduce[0](x, 0.0)")])
def test_a_sum_over_one_element_is_it_only_when_it_starts_from_minus_zero(
    start: str, wanted: str
) -> None:
    body = (
        f"x = f32[1,4] parameter(0)\nz = f32[] constant({start})\n"
        "ROOT r = f32[4] reduce(x, z), dimensions={0}, to_apply=s"
    )
    assert shown(simplified(body, SUM)) == wanted


def test_a_dot_reads_a_transposed_operand_as_it_lies() -> None:
    body = (
        "x = f32[3,4] parameter(0)\ny = f32[5,4] parameter(1)\n"
        "t = f32[4,5] transpose(y), dimensions={1,0}\n"
        "ROOT r = f32[3,5] dot(x, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    )
    module = simplified(body)
    assert shown(module) == "dot(x, y)"
    assert module.entry_computation.root_instruction.dot.rhs_contracting == (1,)


def test_a_transposed_dot_takes_its_operands_in_the_other_order() -> None:
    body = (
        "x = f32[3,4] parameter(0)\ny = f32[4,5] parameter(1)\n"
        "d = f32[3,5] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "ROOT r = f32[5,3] transpose(d), dimensions={1,0}"
    )
    assert shown(simplified(body)) == "dot(y, x)"


def test_twins_in_two_calls_meet() -> None:
    text = (
        "HloModule m\n" + SUM + "\ng { p = f32[4] parameter(0) ROOT q = f32[4] sine(p) }\n"
        "h { p = f32[4] parameter(0) ROOT q = f32[4] sine(p) }\n"
        "ENTRY e { x = f32[4] parameter(0) a = f32[4] call(x), to_apply=g\n"
        "b = f32[4] call(x), to_apply=h\nROOT r = f32[4] add(a, b) }"
    )
    module = passed(text)
    names = [i.opcode.text for c in module.computations for i in c]
    assert names.count("sine") == 1


def test_reducers_that_do_the_same_become_one() -> None:
    text = (
        "HloModule m\n" + SUM + "\n" + SUM.replace("s {", "t {") + "\n"
        "ENTRY e { x = f32[3,4] parameter(0) z = f32[] constant(0) "
        "a = f32[3] reduce(x, z), dimensions={1}, to_apply=s\n"
        "b = f32[3] reduce(x, z), dimensions={1}, to_apply=t\nROOT r = f32[3] multiply(a, b) }"
    )
    opcodes = [i.opcode.text for c in passed(text).computations for i in c]
    assert opcodes.count("reduce") == 1 and opcodes.count("add") == 1


def test_nothing_larger_than_stated_is_folded() -> None:
    big = "{" + ",".join("1.5" if i % 2 else "2.5" for i in range(300)) + "}"
    text = f"HloModule m\nENTRY e {{ c = f32[300] constant({big}) ROOT r = f32[300] sine(c) }}"
    assert "sine" in str(passed(text, only="fold"))
    small = text.replace("300", "4").replace(big, "{1,2,3,4}")
    assert "sine" not in str(passed(small, only="fold"))


def test_what_has_a_side_effect_stays() -> None:
    text = (
        "HloModule m\nENTRY e { x = f32[4] parameter(0) t = token[] after-all() "
        "o = token[] outfeed(x, t), outfeed_shape=f32[4] ROOT r = f32[4] add(x, x) }"
    )
    assert "outfeed" in str(passed(text))


LOOP = """HloModule m
body {
  s = (s32[], f32[4], f32[4], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  a = f32[4] get-tuple-element(s), index=1
  b = f32[4] get-tuple-element(s), index=2
  c = f32[4] get-tuple-element(s), index=3
  one = s32[] constant(1)
  j = s32[] add(i, one)
  d = f32[4] add(a, b)
  e = f32[4] multiply(c, a)
  ROOT t = (s32[], f32[4], f32[4], f32[4]) tuple(j, d, b, e)
}
more {
  s = (s32[], f32[4], f32[4], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT r = pred[] compare(i, n), direction=LT
}
ENTRY main {
  x = f32[4] parameter(0)
  z = s32[] constant(0)
  t = (s32[], f32[4], f32[4], f32[4]) tuple(z, x, x, x)
  w = (s32[], f32[4], f32[4], f32[4]) while(t), condition=more, body=body
  ROOT r = f32[4] get-tuple-element(w), index=1
}"""


def test_loop_state_that_only_feeds_itself_goes_away() -> None:
    module = passed(LOOP, only="dce")
    loop = next(i for i in module.entry_computation if i.opcode.text == "while")
    assert str(loop.shape) == "(s32[], f32[4], f32[4])"
    assert "multiply" not in str(module)
    array = np.arange(4, dtype=np.float32)
    assert_same_bits(evaluate(module, array), evaluate(parse_module(LOOP), array), "dce")


def test_a_map_of_scalar_arithmetic_becomes_arithmetic_on_arrays() -> None:
    text = (
        "HloModule m\n"
        "f { a = f32[] parameter(0) b = f32[] parameter(1) two = f32[] constant(2) "
        "s = f32[] multiply(a, two) ROOT r = f32[] add(s, b) }\n"
        "ENTRY e { x = f32[2,3] parameter(0) y = f32[2,3] parameter(1) "
        "ROOT r = f32[2,3] map(x, y), dimensions={0,1}, to_apply=f\n}"
    )
    module = passed(text, only="inline")
    assert shown(module) == "add(multiply(x, 2.0), y)"
    arrays = [np.arange(6, dtype=np.float32).reshape(2, 3) for _ in range(2)]
    assert_same_bits(evaluate(module, *arrays), evaluate(parse_module(text), *arrays), "map")


def test_dead_instructions_go_away_although_others_wait_for_them():
    text = """
        x = f32[4] parameter(0)
        t = token[] after-all()
        o = token[] outfeed(x, t)
        b = f32[4] negate(x), control-predecessors={o}
        c = f32[4] abs(x), control-predecessors={b}
        d = f32[4] sine(x)
        ROOT r = f32[4] ceil(x), control-predecessors={c, d}
    """
    module = simplified(text)
    root = module.entry_computation.root_instruction
    assert root.opcode.text == "ceil"
    assert set(root.control_predecessors) == {"x", "o"}
    assert {"b", "c", "d"}.isdisjoint(i.name for i in module.entry_computation)
