"""Elementary functions against float64 (or exact) references, run natively by real LLVM."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from compiler.lower.math import arctangent, error_function, exponential, trigonometric
from tests.lower import minimax
from tests.lower.harness import X86, Prepared, prepare, run_all

COUNT = 200_000
PI = math.pi


def spread(low: float, high: float, dtype: type, seed: int = 0) -> np.ndarray:
    """Points of a range: some even, some with every exponent equally often, both ends included."""
    rng = np.random.default_rng(seed)
    even = rng.uniform(low, high, COUNT // 2)
    info = np.finfo(dtype)
    largest = max(abs(low), abs(high))
    exponents = rng.uniform(
        math.log2(float(info.smallest_subnormal)), math.log2(largest), COUNT // 2
    )
    sizes = np.exp2(exponents) * np.where(rng.random(COUNT // 2) < 0.5, -1, 1)
    sizes = np.clip(sizes, low, high)
    return np.concatenate([even, sizes, [low, high]]).astype(dtype)


def ulps(found: np.ndarray, exact: np.ndarray, dtype: type) -> float:
    """The largest error in units in the last place of the rounded reference."""
    expected = exact.astype(dtype)
    plain = np.isfinite(expected) & np.isfinite(found)
    assert np.array_equal(found[~plain], expected[~plain], equal_nan=True)
    unit = np.spacing(np.abs(expected[plain]))
    error = np.abs(found[plain].astype(np.longdouble) - exact[plain].astype(np.longdouble)) / unit
    return float(error.max())


def vectorized(function: Callable[..., float]) -> Callable[..., np.ndarray]:
    return np.vectorize(function, otypes=[np.float64])


erf = vectorized(math.erf)
BIG = 3.4e38
F32: dict[str, tuple[float, float, Callable[[np.ndarray], np.ndarray], float]] = {
    "exponential": (-110, 95, np.exp, 2),
    "exponential-minus-one": (-110, 95, np.expm1, 4),
    "log": (0, BIG, np.log, 2),
    "log-plus-one": (-1, BIG, np.log1p, 4),
    "sine": (-(2.0**20), 2.0**20, np.sin, 4),
    "cosine": (-(2.0**20), 2.0**20, np.cos, 4),
    "tan": (-(2.0**20), 2.0**20, np.tan, 4),
    "tanh": (-20, 20, np.tanh, 4),
    "sinh": (-95, 95, np.sinh, 8),
    "cosh": (-95, 95, np.cosh, 8),
    "asinh": (-BIG, BIG, np.arcsinh, 8),
    "acosh": (1, BIG, np.arccosh, 8),
    "atanh": (-1, 1, np.arctanh, 8),
    "atan": (-BIG, BIG, np.arctan, 4),
    "asin": (-1, 1, np.arcsin, 4),
    "acos": (-1, 1, np.arccos, 4),
    "logistic": (-110, 110, lambda x: 1 / (1 + np.exp(-x)), 4),
    "erf": (-6, 6, erf, 4),
    "sqrt": (0, BIG, np.sqrt, 0.51),
    "rsqrt": (0, BIG, lambda x: 1 / np.sqrt(x), 2),
    "cbrt": (-BIG, BIG, np.cbrt, 2),
}
F64 = {
    "exponential": (-750, 712, np.exp),
    "log": (0, 1e308, np.log),
    "tanh": (-25, 25, np.tanh),
    "sine": (-(2.0**20), 2.0**20, np.sin),
    "cosine": (-(2.0**20), 2.0**20, np.cos),
    "rsqrt": (0, 1e308, lambda x: 1 / np.sqrt(x)),
    "erf": (-7, 7, erf),
    "exponential-minus-one": (-750, 712, np.expm1),
    "log-plus-one": (-1, 1e308, np.log1p),
    "cbrt": (-8e307, 8e307, np.cbrt),
    "tan": (-(2.0**20), 2.0**20, np.tan),
    "logistic": (-110, 110, lambda x: 1 / (1 + np.exp(-x))),
    "atan": (-8e307, 8e307, np.arctan),
}


def unary(opcode: str, points: np.ndarray, kind: str) -> Prepared:
    n = len(points)
    source = f"""HloModule m
ENTRY e {{
  x = {kind}[{n}]{{0}} parameter(0)
  ROOT y = {kind}[{n}]{{0}} {opcode}(x)
}}"""
    return prepare(source, [points], X86)


def binary(opcode: str, x: np.ndarray, y: np.ndarray, kind: str) -> Prepared:
    n = len(x)
    source = f"""HloModule m
ENTRY e {{
  x = {kind}[{n}]{{0}} parameter(0)
  y = {kind}[{n}]{{0}} parameter(1)
  ROOT z = {kind}[{n}]{{0}} {opcode}(x, y)
}}"""
    return prepare(source, [x, y], X86)


@pytest.fixture(scope="module")
def f32_errors() -> dict[str, float]:
    points = {name: spread(low, high, np.float32) for name, (low, high, _, _) in F32.items()}
    results = run_all([unary(name, points[name], "f32") for name in F32])
    errors = {}
    with np.errstate(all="ignore"):
        for (name, (_, _, exact, _)), (found,) in zip(F32.items(), results):
            errors[name] = ulps(found, exact(points[name].astype(np.float64)), np.float32)
    return errors


@pytest.mark.parametrize("name", F32)
def test_f32_functions_stay_within_their_units_in_the_last_place(
    name: str, f32_errors: dict[str, float]
) -> None:
    assert f32_errors[name] <= F32[name][3]


@pytest.fixture(scope="module")
def f64_results() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    points = {name: spread(low, high, np.float64) for name, (low, high, _) in F64.items()}
    results = run_all([unary(name, points[name], "f64") for name in F64])
    with np.errstate(all="ignore"):
        return {name: (found, F64[name][2](points[name])) for name, (found,) in zip(F64, results)}


@pytest.mark.parametrize("name", F64)
def test_f64_functions_are_right_to_1e_12(
    name: str, f64_results: dict[str, tuple[np.ndarray, np.ndarray]]
) -> None:
    found, exact = f64_results[name]
    np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-320)


def test_functions_of_two_arguments() -> None:
    rng = np.random.default_rng(3)
    base = np.exp2(rng.uniform(-30, 30, COUNT)).astype(np.float32)
    limit = 87 / np.maximum(np.abs(np.log(base)), 1e-3)
    exponent = (rng.uniform(-1, 1, COUNT) * np.minimum(limit, 1e4)).astype(np.float32)
    y = (rng.normal(size=COUNT) * np.exp2(rng.uniform(-20, 20, COUNT))).astype(np.float32)
    x = (rng.normal(size=COUNT) * np.exp2(rng.uniform(-20, 20, COUNT))).astype(np.float32)
    jobs = [
        binary("power", base, exponent, "f32"),
        binary("atan2", y, x, "f32"),
        binary("remainder", y, x, "f32"),
        binary("power", base.astype(float), exponent.astype(float), "f64"),
        binary("remainder", y.astype(float), x.astype(float) / 3, "f64"),
    ]
    power, arctangent, rest, power64, rest64 = (found[0] for found in run_all(jobs))
    b, e = base.astype(np.float64), exponent.astype(np.float64)
    assert ulps(power, np.power(b, e), np.float32) <= 4
    assert ulps(arctangent, np.arctan2(y.astype(float), x.astype(float)), np.float32) <= 4
    assert np.array_equal(rest, np.fmod(y, x))
    np.testing.assert_allclose(power64, np.power(b, e), rtol=1e-12)
    assert np.array_equal(rest64, np.fmod(y.astype(float), x.astype(float) / 3))


SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -3.0,
    7.5,
    1e-42,
    -1e-42,
    3e38,
    math.inf,
    -math.inf,
    math.nan,
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_zeros_infinities_and_nans(kind: str) -> None:
    dtype = np.float32 if kind == "f32" else np.float64
    points = np.array(SPECIAL, dtype)
    names = [n for n in F32 if n not in ("sine", "cosine", "tan")]
    trigonometric = ["sine", "cosine", "tan"]
    small = points[np.abs(points) != dtype(3e38)]
    jobs = [unary(name, points, kind) for name in names]
    jobs += [unary(name, small, kind) for name in trigonometric]
    for name, (found,) in zip(names + trigonometric, run_all(jobs)):
        given = points if name in names else small
        exact = F32[name][2](given.astype(np.float64)).astype(dtype)
        np.testing.assert_allclose(found, exact, rtol=2e-6, atol=0, err_msg=name)
        signs = ~np.isnan(exact)
        assert np.array_equal(np.signbit(found[signs]), np.signbit(exact[signs])), name


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_special_pairs(kind: str) -> None:
    dtype = np.float32 if kind == "f32" else np.float64
    values = [*SPECIAL, 3.0, -2.0, 1e10, 2.0**25 + 4]
    x, y = (m.reshape(-1).astype(dtype) for m in np.meshgrid(values, values))
    jobs = [binary(name, x, y, kind) for name in ("power", "atan2", "remainder")]
    exact = (np.power, np.arctan2, np.fmod)
    for reference, (found,) in zip(exact, run_all(jobs)):
        expected = reference(x.astype(np.float64), y.astype(np.float64)).astype(dtype)
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-44)
        signs = ~np.isnan(expected)
        assert np.array_equal(np.signbit(found[signs]), np.signbit(expected[signs]))


def test_the_tables_are_the_minimax_polynomials_of_the_script() -> None:
    for name, table in (
        ("exp32", exponential._F32.q),
        ("sin32", trigonometric._F32.sine),
        ("cos32", trigonometric._F32.cosine),
        ("atan32", arctangent._F32),
        ("erf32", error_function._SMALL_F32),
    ):
        problem, degree, bits = next(t[1:] for t in minimax.TABLES if t[0] == name)
        found, error = minimax.fit(minimax.PROBLEMS[problem], degree, bits)
        assert found == table
        assert error < 2e-8
