"""Elementwise operations on awkward values equal the evaluator bit for bit: division by zero,
overflow, shifts past the width, saturating conversions, NaN, total order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import ml_dtypes
import numpy as np
import pytest

from compiler.hlo.evaluate import evaluate
from compiler.hlo.text import parse_module
from tests.lower.harness import ARM, X86, Prepared, prepare, run_all

FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 8388609.0, 2147483520.0,
    2147483648.0, -2147483648.0, -2147483904.0, 4294967040.0, 4294967296.0, 1e10, 9.3e18,
    -9.3e18, 1.9e19, 3e38, 1e-45, -1e-40, 127.5, 128.0, -129.0, 255.5, 256.0, 300.7,
    float("inf"), float("-inf"), float("nan"),
]  # fmt: skip
INTEGERS = {
    "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
}  # fmt: skip
REALS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
TYPES = {**INTEGERS, **REALS, "pred": np.bool_}


def values(kind: str) -> np.ndarray:
    if kind == "pred":
        return np.array([False, True])
    if kind in REALS:
        with np.errstate(over="ignore"):
            return np.array(FLOATS).astype(REALS[kind])
    info = np.iinfo(INTEGERS[kind])
    small = [
        0,
        1,
        2,
        3,
        7,
        8,
        31,
        32,
        33,
        63,
        64,
        100,
        info.max,
        info.max - 1,
        info.min,
        info.max // 3,
    ]
    signed = [-1, -2, -7, -100, info.min + 1] if info.min < 0 else [info.max // 2 + 1]
    return np.array([v for v in small + signed if info.min <= v <= info.max], INTEGERS[kind])


def program(line: str, kinds: Sequence[str], count: int) -> str:
    parameters = "\n".join(
        f"  p{i} = {k}[{count}]{{0}} parameter({i})" for i, k in enumerate(kinds)
    )
    return f"HloModule m\nENTRY main {{\n{parameters}\n  ROOT r = {line}\n}}"


def check_all(cases: Sequence[tuple[str, Sequence[np.ndarray]]], target=X86) -> None:  # type: ignore[no-untyped-def]
    prepared: list[Prepared] = [prepare(text, given, target) for text, given in cases]
    for (text, given), (found,) in zip(cases, run_all(prepared), strict=True):
        with np.errstate(all="ignore"):
            (exact,) = evaluate(parse_module(text), *given)
        one, other = found, np.asarray(exact)
        if one.dtype.kind not in "biu":
            one, other = one.astype(np.float64), other.astype(np.float64)
            either_zero = " maximum(" in text or " minimum(" in text
            same = (one == other) & ((np.signbit(one) == np.signbit(other)) | either_zero)
            same |= np.isnan(one) & np.isnan(other)
        else:
            same = one == other
        where = np.flatnonzero(~same)[:3]
        assert same.all(), (text, [g[where] for g in given], found[where], np.asarray(exact)[where])


def pairs(kind: str) -> tuple[np.ndarray, np.ndarray]:
    base = values(kind)
    grid = list(product(range(len(base)), repeat=2))
    return base[[i for i, _ in grid]], base[[j for _, j in grid]]


@pytest.mark.parametrize("kind", INTEGERS)
def test_integer_arithmetic(kind: str) -> None:
    x, y = pairs(kind)
    n, cases = len(x), []
    for op in (
        "add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or",
        "xor",
        "shift-left", "shift-right-logical", "shift-right-arithmetic", "power",
    ):  # fmt: skip
        cases.append((program(f"{kind}[{n}]{{0}} {op}(p0, p1)", [kind] * 2, n), [x, y]))
    for op in ("abs", "negate", "sign", "not", "popcnt", "count-leading-zeros"):
        if op == "abs" and kind.startswith("u"):
            continue
        if op in ("negate", "sign") and kind.startswith("u"):
            continue
        cases.append((program(f"{kind}[{n}]{{0}} {op}(p0)", [kind] * 2, n), [x, y]))
    cases.append((program(f"{kind}[{n}]{{0}} clamp(p1, p0, p1)", [kind] * 2, n), [x, y]))
    check_all(cases)
    check_all(cases[5:7], ARM)


@pytest.mark.parametrize("kind", REALS)
def test_float_arithmetic(kind: str) -> None:
    x, y = pairs(kind)
    n, cases = len(x), []
    for op in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder"):
        cases.append((program(f"{kind}[{n}]{{0}} {op}(p0, p1)", [kind] * 2, n), [x, y]))
    for op in (
        "abs", "negate", "sign", "floor", "ceil", "round-nearest-even", "round-nearest-afz", "sqrt",
    ):  # fmt: skip
        cases.append((program(f"{kind}[{n}]{{0}} {op}(p0)", [kind] * 2, n), [x, y]))
    cases.append((program(f"pred[{n}]{{0}} is-finite(p0)", [kind] * 2, n), [x, y]))
    check_all(cases)
    check_all(cases, ARM)


@pytest.mark.parametrize("kind", TYPES)
def test_comparisons_and_selection(kind: str) -> None:
    x, y = pairs(kind)
    n, cases = len(x), []
    orders = ["", ", type=TOTALORDER"] if kind in REALS else [""]
    for direction, order in product(("EQ", "NE", "LT", "LE", "GT", "GE"), orders):
        line = f"pred[{n}]{{0}} compare(p0, p1), direction={direction}{order}"
        cases.append((program(line, [kind] * 2, n), [x, y]))
    mask = np.arange(n) % 3 == 0
    line = f"{kind}[{n}]{{0}} select(p2, p0, p1)"
    cases.append((program(line, [kind, kind, "pred"], n), [x, y, mask]))
    check_all(cases)


@pytest.mark.parametrize("source", TYPES)
def test_conversions_between_all_types(source: str) -> None:
    x = values(source)
    n = len(x)
    cases = [(program(f"{to}[{n}]{{0}} convert(p0)", [source], n), [x]) for to in TYPES]
    check_all(cases)
    check_all(cases, ARM)


def test_truth_values() -> None:
    x, y = pairs("pred")
    cases = [
        (program(f"pred[4]{{0}} {op}(p0, p1)", ["pred"] * 2, 4), [x, y])
        for op in ("and", "or", "xor", "maximum", "minimum")
    ]
    cases.append((program("pred[4]{0} not(p0)", ["pred"] * 2, 4), [x, y]))
    check_all(cases)


def test_bits_reinterpreted_at_equal_smaller_and_larger_width() -> None:
    x = values("f32")
    n = len(x)
    cases = [
        (program(f"s32[{n}]{{0}} bitcast-convert(p0)", ["f32"], n), [x]),
        (program(f"u8[{n},4]{{1,0}} bitcast-convert(p0)", ["f32"], n), [x]),
    ]
    bytes_in = np.arange(64, dtype=np.uint8).reshape(8, 8)
    wide = "HloModule m\nENTRY main {\n  p0 = u8[8,8]{1,0} parameter(0)\n"
    cases.append((wide + "  ROOT r = f64[8]{0} bitcast-convert(p0)\n}", [bytes_in]))
    whole = np.array([0x01000100, 0x02000000, -1], np.int32)
    truths = np.array([1, 0, 0, 1], bool)
    for parts in (4, 32):
        head = "HloModule m\nENTRY main {\n  p0 = "
        split = (
            f"s32[3]{{0}} parameter(0)\n  ROOT r = pred[3,{parts}]{{1,0}} bitcast-convert(p0)\n}}"
        )
        cases.append((head + split, [whole]))
        join = (
            f"pred[2,{parts}]{{1,0}} parameter(0)\n  ROOT r = f32[2]{{0}} bitcast-convert(p0)\n}}"
        )
        cases.append((head + join, [np.resize(truths, (2, parts))]))
    check_all(cases)
