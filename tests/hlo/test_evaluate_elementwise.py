# ruff: noqa: E501  (HLO text keeps its own line lengths)
"""Elementwise semantics against hand-computed values: the corners where languages differ."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from compiler.hlo.evaluate import evaluate
from compiler.hlo.evaluate.elementwise import total_order_key
from compiler.hlo.shape import ELEMENT_TYPES
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify
from tests.hlo.programs import one_op


def run(body: str, *arrays: np.ndarray, before: str = "") -> np.ndarray:
    return evaluate(verify(parse_module(one_op(body, before=before))), *arrays)[0]


def unary(
    name: str, values: object, kind: str, result: str | None = None, more: str = ""
) -> np.ndarray:
    array = np.array(values).astype(ELEMENT_TYPES[kind].dtype)
    shape = f"{kind}[{array.size}]"
    return run(
        f"p = {shape} parameter(0)\nr = {result or kind}[{array.size}] {name}(p){more}", array
    )


def binary(
    name: str, one: object, other: object, kind: str, result: str | None = None, more: str = ""
) -> np.ndarray:
    dtype = ELEMENT_TYPES[kind].dtype
    arrays = [np.array(values).astype(dtype) for values in (one, other)]
    size = arrays[0].size
    text = f"p = {kind}[{size}] parameter(0)\nq = {kind}[{size}] parameter(1)\nr = {result or kind}[{size}] {name}(p, q){more}"
    return run(text, *arrays)


INT_MIN = -(2**31)


def test_integer_division_by_zero_gives_all_ones_and_overflow_wraps():
    got = binary("divide", [7, -7, 7, 5, INT_MIN, 0], [2, 2, -2, 0, -1, 0], "s32")
    assert got.tolist() == [3, -3, -3, -1, INT_MIN, -1]
    assert binary("divide", [7, 5], [2, 0], "u32").tolist() == [3, 2**32 - 1]
    assert binary("divide", [-128, 100], [-1, 0], "s8").tolist() == [-128, -1]


def test_integer_remainder_by_zero_gives_the_dividend():
    got = binary("remainder", [7, -7, 7, 5, INT_MIN, -9], [2, 2, -2, 0, -1, 5], "s32")
    assert got.tolist() == [1, -1, 1, 5, 0, -4]
    assert binary("remainder", [7, 5], [4, 0], "u8").tolist() == [3, 5]


def test_float_remainder_has_the_sign_of_the_dividend():
    got = binary("remainder", [5.5, -5.5, 5.5, 1.0], [2.0, 2.0, -2.0, 0.0], "f32")
    assert got[:3].tolist() == [1.5, -1.5, 1.5] and math.isnan(got[3])


def test_integers_wrap():
    assert binary("add", [2**31 - 1], [1], "s32").tolist() == [INT_MIN]
    assert binary("multiply", [100], [3], "u8").tolist() == [44]
    assert binary("subtract", [0], [1], "u64").tolist() == [2**64 - 1]
    assert binary("add", [7, -8], [1, -1], "s4").astype(np.int8).tolist() == [-8, 7]
    assert binary("multiply", [15], [15], "u4").astype(np.int8).tolist() == [1]
    assert unary("negate", [INT_MIN, 5], "s32").tolist() == [INT_MIN, -5]
    assert unary("abs", [INT_MIN, -5], "s32").tolist() == [INT_MIN, 5]


def test_shifts_past_the_width_give_zero_or_the_sign():
    assert binary("shift-left", [1, 1, -1, 3], [31, 32, 40, -1], "s32").tolist() == [
        INT_MIN,
        0,
        0,
        0,
    ]
    assert binary("shift-right-logical", [-1, -1, -1], [1, 31, 32], "s32").tolist() == [
        2**31 - 1,
        1,
        0,
    ]
    assert binary("shift-right-arithmetic", [-8, -8, 8], [1, 99, 99], "s32").tolist() == [-4, -1, 0]
    assert binary("shift-right-logical", [200, 200], [3, 8], "u8").tolist() == [25, 0]
    assert binary("shift-right-arithmetic", [-8, 7], [1, 4], "s4").astype(np.int8).tolist() == [
        -4,
        0,
    ]


def test_maximum_and_minimum_propagate_nan():
    nan = float("nan")
    for name in ("maximum", "minimum"):
        got = binary(name, [nan, 1.0, nan], [1.0, nan, nan], "f32")
        assert np.isnan(got).all()
    assert binary("maximum", [1.0, -3.0], [2.0, -4.0], "bf16").astype(np.float32).tolist() == [
        2.0,
        -3.0,
    ]
    assert binary("maximum", [True, False], [False, False], "pred").tolist() == [True, False]


@pytest.mark.parametrize("kind", ["f32", "bf16", "f64"])
def test_the_negative_zero_is_the_smaller_one_in_any_order(kind):
    one, other = [0.0, -0.0, -0.0, 0.0, -1.0], [-0.0, 0.0, -0.0, 0.0, 0.0]
    for left, right in ((one, other), (other, one)):
        found = binary("maximum", left, right, kind).astype(np.float64)
        assert np.signbit(found).tolist() == [False, False, True, False, False]
        found = binary("minimum", left, right, kind).astype(np.float64)
        assert np.signbit(found).tolist() == [True, True, True, False, True]
    for name, start in (("maximum", "-inf"), ("minimum", "inf")):
        reducer = (
            f"best {{ a = {kind}[] parameter(0)\nb = {kind}[] parameter(1)\n"
            f"ROOT r = {kind}[] {name}(a, b) }}"
        )
        text = (
            f"p = {kind}[3,2] parameter(0)\nz = {kind}[] constant({start})\n"
            f"r = {kind}[3] reduce(p, z), dimensions={{1}}, to_apply=best"
        )
        rows = np.array([[0.0, -0.0], [-0.0, 0.0], [-0.0, -0.0]])
        found = run(text, rows.astype(ELEMENT_TYPES[kind].dtype), before=reducer)
        wanted = [False, False, True] if name == "maximum" else [True, True, True]
        assert np.signbit(found.astype(np.float64)).tolist() == wanted


def test_rounding_modes_differ_at_halves():
    halves = [0.5, 1.5, 2.5, -0.5, -2.5, 0.49999997, -0.0]
    assert unary("round-nearest-even", halves, "f32").tolist() == [0, 2, 2, 0, -2, 0, 0]
    assert unary("round-nearest-afz", halves, "f32").tolist() == [1, 2, 3, -1, -3, 0, 0]
    assert np.signbit(unary("round-nearest-afz", [-0.25], "f32")).all()
    assert unary("floor", [-1.5, 1.5], "f32").tolist() == [-2, 1]
    assert unary("ceil", [-1.5, 1.5], "f32").tolist() == [-1, 2]


def test_sign_keeps_nan_and_signed_zero():
    got = unary("sign", [-2.0, -0.0, 0.0, 3.0, float("nan")], "f32")
    assert got[[0, 3]].tolist() == [-1, 1] and math.isnan(got[4])
    assert np.signbit(got[:3]).tolist() == [True, True, False]
    assert unary("sign", [-5, 0, 9], "s64").tolist() == [-1, 0, 1]


def test_float_to_integer_saturates_and_nan_is_zero():
    values = [1.9, -1.9, 3e9, -3e9, float("inf"), float("-inf"), float("nan")]
    top, bottom = 2**31 - 1, INT_MIN
    assert unary("convert", values, "f32", "s32").tolist() == [1, -1, top, bottom, top, bottom, 0]
    assert unary("convert", [-1.0, 300.0, 255.5], "f32", "u8").tolist() == [0, 255, 255]
    assert unary("convert", [1e30, -1e30], "f64", "s64").tolist() == [2**63 - 1, -(2**63)]
    assert unary("convert", [1e30, -5.0], "f64", "u64").tolist() == [2**64 - 1, 0]
    assert unary("convert", [100.0, -100.0, 3.7], "f32", "s4").astype(np.int8).tolist() == [
        7,
        -8,
        3,
    ]


def test_other_conversions():
    assert unary("convert", [300, -1], "s32", "u8").tolist() == [44, 255]
    assert unary("convert", [0.0, 0.1, float("nan"), -0.0], "f32", "pred").tolist() == [
        False,
        True,
        True,
        False,
    ]
    assert unary("convert", [True, False], "pred", "f32").tolist() == [1.0, 0.0]
    assert unary("convert", [2**24 + 1], "s32", "f32").tolist() == [2**24]
    assert unary("convert", [1.5], "f32", "c64").tolist() == [1.5 + 0j]


def test_narrowing_rounds_once():
    halfway_then_a_bit = np.float64(1.0) + 2.0**-8 + 2.0**-40
    got = unary("convert", [halfway_then_a_bit], "f64", "bf16").astype(np.float64)
    assert got.tolist() == [1.0 + 2.0**-7]
    got = unary("convert", [1.0 + 2.0**-8], "f64", "bf16").astype(np.float64)
    assert got.tolist() == [1.0]


def test_total_order_ranks_every_special_value():
    bits = np.array(
        [0xFFC00000, 0xFF800000, 0xBF800000, 0x80000000, 0, 0x3F800000, 0x7F800000, 0x7FC00000],
        np.uint32,
    )
    keys = total_order_key(bits.view(np.float32))
    assert (np.diff(keys.astype(np.int64)) > 0).all()
    less = ", direction=LT, type=TOTALORDER"
    assert binary("compare", [-0.0, 1.0], [0.0, float("nan")], "f32", "pred", less).tolist() == [
        True,
        True,
    ]
    assert binary(
        "compare", [-0.0, 1.0], [0.0, float("nan")], "f32", "pred", ", direction=LT"
    ).tolist() == [False, False]
    assert binary(
        "compare", [float("nan")], [float("nan")], "f32", "pred", ", direction=NE"
    ).tolist() == [True]
    assert binary("compare", [-0.0], [0.0], "bf16", "pred", less).tolist() == [True]


def test_unsigned_comparison_is_unsigned():
    assert binary("compare", [2**32 - 1], [1], "u32", "pred", ", direction=GT").tolist() == [True]


def test_bit_counts():
    assert unary("popcnt", [0, 1, -1, 12], "s32").tolist() == [0, 1, 32, 2]
    assert unary("popcnt", [-1, 5], "s8").tolist() == [8, 2]
    assert unary("count-leading-zeros", [0, 1, -1, 2**20], "s32").tolist() == [32, 31, 0, 11]
    assert unary("count-leading-zeros", [0, 1], "u16").tolist() == [16, 15]
    assert unary("not", [0, 5], "u8").tolist() == [255, 250]
    assert unary("not", [True, False], "pred").tolist() == [False, True]


def test_integer_power_wraps_and_negative_exponents_truncate():
    assert binary(
        "power", [2, 3, -1, -1, 1, 2, 10], [10, 0, -3, -2, -9, -1, 10], "s32"
    ).tolist() == [
        1024,
        1,
        -1,
        1,
        1,
        0,
        1410065408,
    ]
    assert binary("power", [2, 3], [9, 2], "u8").tolist() == [0, 9]


def test_mulhi_gives_the_upper_half():
    assert binary("mulhi", [2**31 - 1, -1], [4, 4], "s32").tolist() == [1, -1]
    assert binary("mulhi", [2**64 - 1], [2**64 - 1], "u64").tolist() == [2**64 - 2]


def test_clamp_and_select_take_scalars():
    text = """
        lo = f32[] constant(-1)
        p = f32[4] parameter(0)
        hi = f32[] constant(1)
        r = f32[4] clamp(lo, p, hi)
    """
    got = run(text, np.array([-5, 0.5, 5, np.nan], np.float32))
    assert got[:3].tolist() == [-1, 0.5, 1] and math.isnan(got[3])
    text = "c = pred[] constant(false)\np = s32[2] parameter(0)\nq = s32[2] parameter(1)\nr = s32[2] select(c, p, q)"
    assert run(text, np.array([1, 2], np.int32), np.array([3, 4], np.int32)).tolist() == [3, 4]


def test_reduce_precision_rounds_to_the_named_format():
    values = np.array(
        [1.0 + 2.0**-8 + 2.0**-20, 1e39 / 10, 65520.0, 1e-8, np.inf, np.nan, -1.0 - 2.0**-8],
        np.float32,
    )
    to_bf16 = unary("reduce-precision", values, "f32", more=", exponent_bits=8, mantissa_bits=7")
    expected = values.astype(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(to_bf16, expected)
    to_half = unary("reduce-precision", values, "f32", more=", exponent_bits=5, mantissa_bits=10")
    assert to_half[2] == np.inf and to_half[3] == 0.0


def test_complex_parts():
    text = "p = f32[1] parameter(0)\nq = f32[1] parameter(1)\nc = c64[1] complex(p, q)\nr = f32[1] abs(c)"
    assert run(text, np.array([3], np.float32), np.array([4], np.float32)).tolist() == [5]
    assert unary("imag", [1 + 2j], "c64", "f32").tolist() == [2]
    assert unary("real", [1 + 2j], "c64", "f32").tolist() == [1]


FUNCTIONS = {
    "exponential": math.exp,
    "exponential-minus-one": math.expm1,
    "sine": math.sin,
    "cosine": math.cos,
    "tan": math.tan,
    "tanh": math.tanh,
    "erf": math.erf,
    "atan": math.atan,
    "asinh": math.asinh,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "cbrt": lambda x: math.copysign(abs(x) ** (1 / 3), x),
    "logistic": lambda x: 1 / (1 + math.exp(-x)),
}
POSITIVE = {
    "log": math.log,
    "log-plus-one": math.log1p,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x),
}


@pytest.mark.parametrize("name", [*FUNCTIONS, *POSITIVE])
def test_f32_transcendentals_are_the_rounded_double_results(name):
    values = np.linspace(-20, 20, 101).astype(np.float32)
    if name in POSITIVE:
        values = np.abs(values) + np.float32(1e-3)
    function = FUNCTIONS.get(name) or POSITIVE[name]
    expected = np.array([function(float(v)) for v in values])
    got = unary(name, values, "f32").astype(np.float64)
    np.testing.assert_allclose(got, expected, rtol=2**-23.5, atol=1e-45)


def test_large_arguments_are_reduced_exactly():
    values = [1e6, 2.0**100, 3.4e38]
    got = unary("sine", values, "f32").astype(np.float64)
    np.testing.assert_allclose(got, [math.sin(float(np.float32(v))) for v in values], rtol=2**-23)


@pytest.mark.parametrize("kind", ["f16", "bf16", "f8e4m3fn", "f8e5m2"])
def test_small_floats_compute_wider_and_round_once(kind):
    dtype = ELEMENT_TYPES[kind].dtype
    values = np.linspace(-3, 3, 25).astype(dtype)
    got = binary("multiply", values, values[::-1], kind).astype(np.float32)
    expected = (
        (values.astype(np.float64) * values[::-1].astype(np.float64))
        .astype(np.float32)
        .astype(dtype)
    )
    np.testing.assert_array_equal(got, expected.astype(np.float32))


def test_complex_functions_agree_with_numpy():
    values = np.array([0.5 + 0.25j, -1 + 2j, 3 - 1j])
    for name, function in (
        ("exponential", np.exp),
        ("log", np.log),
        ("tanh", np.tanh),
        ("tan", np.tan),
        ("sqrt", np.sqrt),
    ):
        np.testing.assert_allclose(unary(name, values, "c128"), function(values), rtol=1e-12)
    big = unary("tanh", [400 + 1j, -400 + 1j], "c64")
    np.testing.assert_allclose(big, [1, -1], atol=1e-6)


def test_bitcast_convert_keeps_bits_and_changes_width():
    assert unary("bitcast-convert", [1.0, -0.0], "f32", "u32").tolist() == [0x3F800000, 0x80000000]
    body = "p = u32[1] parameter(0)\nr = u8[1,4] bitcast-convert(p)"
    assert run(body, np.array([0x04030201], np.uint32)).tolist() == [[1, 2, 3, 4]]
    body = "p = u16[1,2] parameter(0)\nr = u32[1] bitcast-convert(p)"
    assert run(body, np.array([[0x0201, 0x0403]], np.uint16)).tolist() == [0x04030201]
    body = "p = u8[1] parameter(0)\nr = u4[1,2] bitcast-convert(p)"
    assert run(body, np.array([0xA5], np.uint8)).astype(np.uint8).tolist() == [[5, 10]]


def test_the_bits_of_truth_values_are_bytes_or_bits_as_the_extents_say():
    whole = np.array([0x01000100, 0x02000000], np.int32)
    body = "p = s32[2] parameter(0)\nr = pred[2,4] bitcast-convert(p)"
    assert run(body, whole).tolist() == [[False, True, False, True], [False, False, False, True]]
    body = "p = s32[2] parameter(0)\nr = pred[2,32] bitcast-convert(p)"
    assert np.argwhere(run(body, whole)).tolist() == [[0, 8], [0, 24], [1, 25]]
    truths = np.array([True, False, True, True])
    body = "p = pred[4] parameter(0)\nr = u32[] bitcast-convert(p)"
    assert run(body, truths) == 0x01010001
    body = "p = pred[4] parameter(0)\nr = u8[4] bitcast-convert(p)"
    assert run(body, truths).tolist() == [1, 0, 1, 1]
    body = "p = pred[4] parameter(0)\nr = u4[] bitcast-convert(p)"
    assert run(body, truths).astype(np.uint8) == 0b1101
    body = "p = pred[2,2] parameter(0)\nr = s8[4] bitcast(p)"
    assert run(body, truths.reshape(2, 2)).tolist() == [1, 0, 1, 1]
    body = "p = s8[3] parameter(0)\nr = pred[3] bitcast-convert(p)"
    assert run(body, np.array([3, 0, 1], np.int8)).tolist() == [True, False, True]


def test_atan2_and_is_finite():
    got = binary("atan2", [1.0, -1.0, 0.0], [0.0, -1.0, -1.0], "f32")
    np.testing.assert_allclose(got, [math.pi / 2, -3 * math.pi / 4, math.pi], rtol=1e-6)
    assert unary("is-finite", [1.0, np.inf, np.nan], "f32", "pred").tolist() == [True, False, False]


def test_reduce_precision_to_bfloat16s_bits_is_the_conversion_subnormals_included():
    from compiler.hlo.evaluate.elementwise import reduce_precision

    bits = np.random.default_rng(3).integers(0, 1 << 32, 5000, dtype=np.uint64)
    values = bits.astype(np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        rounded = values.astype(ml_dtypes.bfloat16).astype(np.float32)
        found = reduce_precision(values, 8, 7)
    np.testing.assert_array_equal(found, rounded)
