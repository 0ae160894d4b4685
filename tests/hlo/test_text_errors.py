"""Wrong text gives one clear error with its place; no input gives a traceback or a hang."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from compiler.hlo.errors import HloSyntaxError
from compiler.hlo.evaluate import evaluate
from compiler.hlo.shape import leaves
from compiler.hlo.text import parse_module, read_module
from compiler.hlo.text.instructions import MAX_NESTING
from compiler.hlo.verify import verify
from isas.errors import HobError
from tests.hlo.programs import CASES, one_op

ERRORS = [
    ("", "<text>:1:1: expected 'HloModule NAME'"),
    ("HloModule m\n", "expected a computation, found the end of the text"),
    ("\x7fELF\x02", "expected 'HloModule NAME'"),
    ("HloModule m\nENTRY e {\n", "expected '}' at the end of computation e"),
    ("HloModule m\nENTRY e {\n}\n", "computation e has no instructions"),
    ("HloModule m\nENTRY e {\n  a = f32[] parameter(0)\n", "found the end of the text"),
    (one_op("a = f32[] paramter(0)"), ":4:18: unknown operation 'paramter'"),
    (one_op("a = f33[] parameter(0)"), ":4:12: unknown element type 'f33'"),
    (one_op("a = (f32[2],) parameter(0)"), ":4:12: expected a shape, found ')'"),
    (one_op("a = (f32[2],, s32[]) parameter(0)"), "expected a shape, found ', s32[])'"),
    (
        one_op("a = (f32[2] s32[]) parameter(0)"),
        "expected ',' or ')' after a shape, found 's32[])'",
    ),
    ("HloModule m\nENTRY e (a: f33[2]) -> f32[2] {\n}\n", ":2:13: unknown element type 'f33'"),
    ("HloModule m\nENTRY e (a: f32[2] b) -> f32[2] {\n}\n", "expected ',' between the parameters"),
    (
        "HloModule m, input_output_alias={ {}: (0, {}, sometimes) }\nENTRY e {\n}\n",
        "expected an alias like {0}: (1, {})",
    ),
    ("HloModule\nENTRY e {\n}\n", ":2:1: expected the module's name, found 'ENTRY'"),
    (
        "HloModule m, entry_computation_layout={()->f32[]}, entry_computation_layout={()->f32[]}\n",
        "attribute entry_computation_layout is given twice",
    ),
    (
        one_op("a = f32[2,2] dot(), operand_precision={best}"),
        "expected one of default, high, highest",
    ),
    (one_op("a = f32[2,2] dot(), algorithm=dot_i8"), "expected one of rng_default"),
    (one_op("a = token[] outfeed(), outfeed_shape=(f32[2], q7[])"), "unknown element type 'q7'"),
    (one_op("a = f32[x] parameter(0)"), "expected a dimension (4, <=4 or ?), found 'x'"),
    (one_op("a = f32[2]{1} parameter(0)"), "layout {1} is no permutation of 1 dimensions"),
    (one_op("a = f32[2] negate(b)"), "b is not defined in e"),
    (one_op("a = f32[] parameter(0)\na = f32[] negate(a)"), "a is defined twice in e"),
    (
        one_op("a = f32[] parameter(0)\nb = f32[2] negate(f32[2] a)"),
        "a has shape f32[], not f32[2]",
    ),
    (one_op("a = f32[] parameter(-1)"), "expected a parameter number, found '-1'"),
    (one_op("a = f32[2] constant({1, 2, 3})"), "expected 2 values for f32[2], found 3"),
    (one_op("a = f32[2,2] constant({1, 2, 3, 4})"), "braces of the literal do not nest"),
    (one_op("a = s8[] constant(128)"), "128 does not fit in s8 (-128 to 127)"),
    (one_op("a = pred[] constant(1.5)"), "expected true, false or an integer, found '1.5'"),
    (one_op("a = s8[] constant(1.5)"), "expected an integer for s8, found '1.5'"),
    (one_op("a = f16[] constant(70000)"), "70000 does not fit in f16"),
    (one_op("a = f64[] constant(1.8e308)"), "1.8e308 does not fit in f64"),
    (one_op("a = f8e4m3fn[1] constant({nan(0x1)})"), "NaN payload 0x1 does not fit"),
    (one_op("a = f32[] constant(abc)"), "expected a number for f32, found 'abc'"),
    (one_op("a = f32[<=2] constant({1, 2})"), "a constant needs a static shape"),
    ("HloModule m\nENTRY e {\n a = f32[] parameter(0), sharding={[", "this is never closed"),
    (one_op("a = f32[] parameter(0), x=1, x=2"), "attribute x is given twice"),
    (one_op("a = f32[] custom-call(), custom_call_target=5"), "expected a quoted string"),
    (one_op("a = f32[] iota(), iota_dimension=z"), "iota_dimension: expected an integer"),
    (one_op("a = pred[] compare(), direction=XX"), "expected one of EQ, NE, GE, GT, LE, LT"),
    (
        one_op("a = f32[] call(), to_apply=nowhere"),
        "calls computation nowhere, which is not defined",
    ),
    (one_op("a = f32[1000000000000000] constant({1})"), "found 1"),
    (one_op("a = f32[4611686018427387905] parameter(0)"), "does not fit in 62 bits"),
    (one_op("a = reshape(f32[2] parameter(0))"), "the shape of reshape must be written"),
    (
        "HloModule m\nENTRY e { ROOT a = f32[] parameter(0) ROOT b = f32[] negate(a) }",
        "second ROOT",
    ),
    (
        "HloModule m\nENTRY e { a = f32[] parameter(0) }\nENTRY f { a = f32[] parameter(0) }",
        "only one ENTRY",
    ),
    (
        "HloModule m\ne { a = f32[] parameter(0) }\ne { a = f32[] parameter(0) }",
        "e is defined twice",
    ),
    ("HloModule m\ne (a: f32[]) -> s32[] { a = f32[] parameter(0) }", "said to yield s32[]"),
    (one_op("a = " + "(" * 100_000 + "f32[]" + ")" * 100_000 + " parameter(0)"), "nest more than"),
    (
        one_op("a = " + "negate(" * 10_000 + "x" + ")" * 10_000),
        f"nested more than {MAX_NESTING} deep",
    ),
    (one_op("a = " + "(" * 100_000), "the '(' on line 4 is not closed"),
    (
        one_op(
            "p = f32[] parameter(0)\na = call(p), to_apply={ p = f32[] parameter(0) b = add(p, q) }"
        ),
        ":5:66: q is not defined in e.inline",
    ),
    (
        one_op("a = " + "f32[] call(), to_apply={ a = " * 100 + "f32[] constant(0)" + "}" * 100),
        f"computations are nested more than {MAX_NESTING} deep",
    ),
    (
        "r = f32[] reduce(f32[4], f32[]), dimensions={0}, to_apply={ a = f32[] add(f32[], f32[]) }",
        "expected an operand",
    ),
    (
        one_op(
            'a = f32[] custom-call(), custom_call_target="t", api_version=API_VERSION_UNSPECIFIED'
        ),
        "api_version: expected one of API_VERSION_ORIGINAL",
    ),
    (
        one_op("a = f32[] exponential(f32[] constant(0)), result_accuracy={mode=high}"),
        "result_accuracy: expected",
    ),
    (one_op("a = f32[2,2]{1,0:D(X,C)} parameter(0)"), "expected dimension types such as D(D,C)"),
    (one_op("a = f32[2,2]{1,0:P(f32[2,2])} parameter(0)"), "only a sparse array"),
    (
        "HloModule m, buffer_donor={ (zero, {}) }\nENTRY e { ROOT a = f32[] parameter(0) }",
        "expected a donor like (0, {})",
    ),
]


@pytest.mark.parametrize(("text", "message"), ERRORS, ids=[m[:40] for _, m in ERRORS])
def test_wrong_text_is_told_in_one_message(text, message):
    with pytest.raises(HloSyntaxError) as raised:
        parse_module(text)
    assert message in str(raised.value)


def test_an_error_shows_file_line_column_and_a_caret():
    with pytest.raises(HloSyntaxError) as raised:
        parse_module("HloModule m\n\nENTRY e {\n  a = f32[] parmeter(0)\n}\n", "prog.hlo")
    assert str(raised.value) == (
        "prog.hlo:4:13: unknown operation 'parmeter'\n    a = f32[] parmeter(0)\n              ^"
    )


def test_the_caret_of_a_very_long_line_stays_near_its_place():
    values = ", ".join(["1"] * 50_000)
    with pytest.raises(HloSyntaxError) as raised:
        parse_module(one_op(f"a = f32[50000] constant({{{values}}}) bad"))
    assert len(str(raised.value)) < 400


def test_unreadable_files_are_refused(tmp_path):
    with pytest.raises(HobError, match="no such file"):
        read_module(tmp_path / "missing.hlo")
    with pytest.raises(HobError, match="directory"):
        read_module(tmp_path)
    (tmp_path / "binary.hlo").write_bytes(bytes(range(256)))
    with pytest.raises(HobError, match="not a text file"):
        read_module(tmp_path / "binary.hlo")
    (tmp_path / "program.mlir").write_bytes(b"ML\xefR\x0dStableHLO_v1.0.0\0")
    with pytest.raises(HobError, match="MLIR bytecode, its text was expected"):
        read_module(tmp_path / "program.mlir")
    (tmp_path / "zeros.hlo").write_bytes(bytes(100))
    with pytest.raises(HobError, match="binary file"):
        read_module(tmp_path / "zeros.hlo")
    (tmp_path / "empty.hlo").write_bytes(b"")
    with pytest.raises(HobError, match="expected 'HloModule NAME'"):
        read_module(tmp_path / "empty.hlo")


FUZZ_BUDGET = 1500
_PIECES = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    "=",
    "%",
    '"',
    "f32[2]",
    "ROOT",
    "/*",
    "->",
    "-1",
    "nan",
    "ENTRY",
    ":",
    "<=",
    "?",
    "x",
    "\0",
    "é",
]


def _mutated(text: str, draw: random.Random) -> str:
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(text) + 1)
        end = min(len(text), at + draw.choice([0, 1, 1, 3, 20]))
        choice = draw.randrange(4)
        if choice == 0:
            text = text[:at] + text[end:]
        elif choice == 1:
            text = text[:at] + draw.choice(_PIECES) + text[end:]
        elif choice == 2:
            other = draw.randrange(len(text) + 1)
            text = text[:at] + text[other : other + 30] + text[end:]
        else:
            text = text[:at]
        if not text:
            return text
    return text


def test_mutated_programs_give_a_module_or_a_clear_error():
    draw = random.Random(20240601)
    sources = [p.read_text() for p in sorted(CASES.glob("jax/*.hlo")) if p.stat().st_size < 4000]
    refused = 0
    for _ in range(FUZZ_BUDGET):
        text = _mutated(draw.choice(sources), draw)
        try:
            verify(parse_module(text))
        except HobError as error:
            refused += 1
            assert len(str(error)) < 2000
    assert 0 < refused < FUZZ_BUDGET


NUMBER = re.compile(r"\d+")


def _renumbered(text: str, draw: random.Random) -> str:
    match = draw.choice(list(NUMBER.finditer(text)))
    number = draw.choice([0, 1, 2, 3, 5, int(match[0]) + 1, max(0, int(match[0]) - 1)])
    return text[: match.start()] + str(number) + text[match.end() :]


def _exchanged(text: str, draw: random.Random) -> str:
    operations = re.findall(r" ([a-z-]+)\(", text)
    return text.replace(f" {draw.choice(operations)}(", f" {draw.choice(operations)}(", 1)


def test_whatever_verifies_evaluates_or_says_why_not():
    draw = random.Random(20240602)
    files = [p for p in sorted(CASES.glob("jax/*.hlo")) if p.stat().st_size < 4000]
    sources = [text for text in (p.read_text() for p in files) if " while(" not in text]
    evaluated = 0
    for _ in range(FUZZ_BUDGET // 3):
        text = draw.choice([_renumbered, _exchanged])(draw.choice(sources), draw)
        try:
            module = verify(parse_module(text))
            shapes = [s for p in module.entry_computation.parameters for s in leaves(p.shape)]
            if sum(shape.size_bytes for shape in shapes) > 10**6:
                continue
            zeros = [np.zeros(s.dimensions, np.uint8).astype(s.element_type.dtype) for s in shapes]
            results = evaluate(module, *zeros)
        except HobError:
            continue
        evaluated += 1
        for result, shape in zip(results, leaves(module.entry_computation.shape)):
            assert (result.shape, result.dtype) == (shape.dimensions, shape.element_type.dtype)
    assert evaluated > 20
