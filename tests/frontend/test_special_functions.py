"""The evaluator's special functions and number formats against identities and exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from compiler.hlo.evaluate import evaluate, special
from compiler.hlo.evaluate.checks import ulp_distance
from compiler.hlo.evaluate.numbers import converted
from compiler.hlo.shape import ElementType
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify

RNG = np.random.default_rng(7)
POSITIVE = [float(v) for v in np.exp(RNG.uniform(-4, 5, 60))]
REAL = [float(v) for v in RNG.uniform(-20, 20, 60) if abs(v - round(v)) > 1e-3]


@pytest.mark.parametrize("x", REAL)
def test_digamma_obeys_recurrence_and_reflection(x: float) -> None:
    assert special.digamma(x + 1) == pytest.approx(special.digamma(x) + 1 / x, rel=1e-11, abs=1e-12)
    reflected = special.digamma(x) + math.pi / math.tan(math.pi * x)
    assert special.digamma(1 - x) == pytest.approx(reflected, rel=1e-9, abs=1e-9)


def test_digamma_is_the_derivative_of_lgamma() -> None:
    for x in (0.3, 1.7, 4.2, 33.0):
        slope = (special.lgamma(x + 1e-5) - special.lgamma(x - 1e-5)) / 2e-5
        assert special.digamma(x) == pytest.approx(slope, rel=1e-7, abs=1e-8)
    assert math.isnan(special.digamma(-2.0)) and special.lgamma(-2.0) == math.inf


@pytest.mark.parametrize("q", POSITIVE)
def test_zeta_obeys_its_recurrence_and_equals_a_plain_sum(q: float) -> None:
    for x in (1.5, 3.0, 8.25):
        step = special.zeta(x, q) - special.zeta(x, q + 1)
        assert step == pytest.approx(q**-x, rel=1e-7, abs=1e-12 * special.zeta(x, q))
    plain = math.fsum((q + n) ** -8.25 for n in range(4000))
    assert special.zeta(8.25, q) == pytest.approx(plain, rel=1e-11)


def test_zeta_knows_its_famous_values_and_edges() -> None:
    assert special.zeta(2.0, 1.0) == pytest.approx(math.pi**2 / 6, rel=1e-15)
    assert special.zeta(4.0, 1.0) == pytest.approx(math.pi**4 / 90, rel=1e-15)
    assert special.zeta(1.0, 2.0) == math.inf and math.isnan(special.zeta(0.5, 2.0))
    assert special.zeta(3.0, -2.0) == math.inf and math.isnan(special.zeta(2.5, -1.5))


def test_polygamma_differs_by_its_recurrence() -> None:
    for n in (1, 2, 5):
        for x in (0.4, 2.5, 30.0):
            expected = (-1) ** n * math.factorial(n) * x ** -(n + 1)
            step = special.polygamma(n, x + 1) - special.polygamma(n, x)
            assert step == pytest.approx(expected, rel=1e-6, abs=1e-12)
    assert special.polygamma(0, 2.5) == special.digamma(2.5)
    assert math.isnan(special.polygamma(1.5, 2.0))


@pytest.mark.parametrize("x", [1e-8, 0.1, 0.9, 3.0, 12.5, 49.99, 50.01, 300.0, 1e6])
def test_bessel_i1e_equals_its_series_or_its_neighbours(x: float) -> None:
    if x < 20:
        terms = (math.exp((2 * k + 1) * math.log(x / 2) - math.lgamma(k + 1) - math.lgamma(k + 2))
                 for k in range(120))  # fmt: skip
        assert special.bessel_i1e(x) == pytest.approx(math.exp(-x) * math.fsum(terms), rel=1e-12)
    else:
        leading = 1 / math.sqrt(2 * math.pi * x) * (1 - 3 / (8 * x) - 15 / (128 * x * x))
        assert special.bessel_i1e(x) == pytest.approx(leading, rel=0.5 / x**3 + 1e-15)
    assert special.bessel_i1e(-x) == -special.bessel_i1e(x)


@pytest.mark.parametrize("x", [1e-12, 0.01, 0.3, 0.49, 0.51, 0.9, 0.999, 1 - 1e-9, 1 - 2**-53])
def test_erf_inv_inverts_erf(x: float) -> None:
    y = special.erf_inv(x)
    back = math.erf(y) if x < 0.5 else 1 - math.erfc(y)
    assert back == pytest.approx(x, rel=4e-16)
    assert special.erf_inv(-x) == -y
    assert special.erf_inv(1.0) == math.inf and math.isnan(special.erf_inv(1.5))


def _nearest(value: int, kind: ElementType) -> set[float]:
    """The representable numbers closest to an integer."""
    patterns = np.arange(1 << kind.bits, dtype=np.uint32).astype(f"u{kind.size_bytes}")
    numbers = patterns.view(kind.dtype).astype(np.float64)
    finite = np.unique(numbers[np.isfinite(numbers)])
    place = int(np.searchsorted(finite, float(value)))
    around = [float(v) for v in finite[max(0, place - 2) : place + 2]]
    best = min(abs(Fraction(v) - value) for v in around)
    return {v for v in around if abs(Fraction(v) - value) == best}


@pytest.mark.parametrize("kind", [ElementType.BF16, ElementType.F16, ElementType.F8E5M2])
def test_64_bit_integers_round_once_to_small_floats(kind: ElementType) -> None:
    bits = np.uint64(257) << np.uint64(54)
    near_ties = np.array([bits, bits + np.uint64(1), bits - np.uint64(1)], np.uint64)
    shifts = RNG.integers(0, 63, 60).astype(np.uint64)
    random_ = RNG.integers(0, 2**63, 60, dtype=np.uint64) >> shifts
    for dtype in (np.int64, np.uint64):
        values = np.concatenate([near_ties, random_]).astype(dtype)
        values = np.concatenate([values, -values]) if dtype is np.int64 else values
        for value, result in zip(values, converted(values, kind), strict=True):
            if np.isfinite(float(result)):
                assert float(result) in _nearest(int(value), kind)


def test_scaled_dot_multiplies_blocks_by_their_scales() -> None:
    module = verify(
        parse_module("""HloModule m
    ENTRY e {
      a = f8e4m3fn[3,8] parameter(0)
      b = f8e4m3fn[4,8] parameter(1)
      s = f8e8m0fnu[3,2] parameter(2)
      t = f8e8m0fnu[4,2] parameter(3)
      ROOT r = f32[3,4] scaled-dot(a, b, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={1}
    }""")
    )
    kinds = [p.shape.element_type.dtype for p in module.entry_computation.parameters]
    shapes = [(3, 8), (4, 8), (3, 2), (4, 2)]
    arrays = [
        RNG.standard_normal(s).astype(k) if i < 2 else np.exp2(RNG.integers(-3, 4, s)).astype(k)
        for i, (s, k) in enumerate(zip(shapes, kinds))
    ]
    a, b, s, t = (array.astype(np.float64) for array in arrays)
    expected = (a * np.repeat(s, 4, 1)) @ (b * np.repeat(t, 4, 1)).T
    np.testing.assert_array_equal(evaluate(module, *arrays)[0], expected.astype(np.float32))


def test_distance_in_units_in_the_last_place_counts_representable_numbers() -> None:
    for dtype in (np.float16, np.float32, np.float64):
        start = np.array([-1e-7, 1.0, 0.0, -0.0, 3.5], dtype)
        here = start
        for _ in range(5):
            here = np.nextafter(here, np.array(np.inf, dtype))
        assert ulp_distance(start, here).tolist() == [5] * 5
        assert ulp_distance(here, start).tolist() == [5] * 5
    nan, inf = np.array([np.nan], np.float32), np.array([np.inf], np.float32)
    assert ulp_distance(nan, nan).tolist() == [0] and ulp_distance(inf, inf).tolist() == [0]
    assert ulp_distance(nan, inf)[0] == 2**64 - 1
    zeros = np.array([0.0], np.float32), np.array([-0.0], np.float32)
    assert ulp_distance(*zeros).tolist() == [0]


def test_complex_functions_do_not_cancel_near_their_zeros() -> None:
    from compiler.hlo.evaluate.transcendental import FUNCTIONS

    tiny = (RNG.standard_normal(40) + 1j * RNG.standard_normal(40)) * 1e-9
    series = tiny - tiny * tiny / 2
    np.testing.assert_allclose(FUNCTIONS["log-plus-one"](tiny), series, rtol=1e-15)
    expected = tiny + tiny * tiny / 2
    np.testing.assert_allclose(FUNCTIONS["exponential-minus-one"](tiny), expected, rtol=1e-15)
    angles = RNG.uniform(-1, 1, 40)
    on_circle = (np.expm1(1j * angles)).astype(np.complex64)
    exact = [
        float(0.5 * math.log1p(float(2 * Fraction(float(z.real)) + Fraction(float(z.real)) ** 2
                                     + Fraction(float(z.imag)) ** 2)))
        for z in on_circle
    ]  # fmt: skip
    result = FUNCTIONS["log-plus-one"](on_circle).real
    np.testing.assert_allclose(result, np.array(exact), rtol=1e-7)
    farthest = np.array([-1.5e308 + 1.5e308j])
    assert FUNCTIONS["log-plus-one"](farthest) == np.log(farthest) and np.isfinite(farthest)
    far = np.array([-1000.0 + 2.0j, 1000.0 - 2.0j], np.complex64)
    assert FUNCTIONS["logistic"](far).tolist() == [0, 1]
