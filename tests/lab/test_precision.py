"""Outputs are compared as exactly as the coarsest type on the way allows, and no less."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import hob
from compiler.hlo.shape import ElementType
from compiler.hlo.text.parser import parse_module
from lab.compare import compare, unit_roundoff
from lab.evaluation import evaluate_file
from lab.noise import spreads
from lab.precision import compared_kinds
from tests.hlo.programs import CASES, case_index

BF16, F16, F32, F64, S32 = (ElementType[name] for name in ("BF16", "F16", "F32", "F64", "S32"))

PROGRAMS = {
    "rounded on the way": (
        "f32[4] parameter(0)\n a = bf16[4] convert(x)\n ROOT r = f32[4] convert(a)", [BF16]
    ),
    "only read as bf16": (
        "bf16[4] parameter(0)\n a = f32[4] convert(x)\n ROOT r = f32[4] exponential(a)", [F32]
    ),
    "only moved as bf16": (
        "bf16[4] parameter(0)\n a = bf16[4] reverse(x), dimensions={0}\n b = bf16[4] negate(a)\n"
        " ROOT r = f64[4] convert(b)", [F64]
    ),
    "every output by its own road": (
        "f32[4] parameter(0)\n a = f16[4] convert(x)\n b = f16[4] tanh(a)\n c = f32[4] convert(b)\n"
        " d = f32[4] tanh(x)\n e = s32[4] convert(c)\n"
        " ROOT r = (f32[4], f32[4], s32[4]) tuple(c, d, e)", [F16, F32, S32]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_output_is_as_coarse_as_what_it_was_rounded_to(name: str) -> None:
    body, kinds = PROGRAMS[name]
    module = parse_module(f"HloModule m\nENTRY main {{\n x = {body}\n}}")
    assert compared_kinds(module) == kinds


def test_called_computations_count() -> None:
    module = parse_module(
        "HloModule m\ninner {\n p = f32[4] parameter(0)\n q = bf16[4] convert(p)\n"
        " ROOT s = f32[4] convert(q)\n}\nENTRY main {\n x = f32[4] parameter(0)\n"
        " ROOT r = f32[4] fusion(x), kind=kLoop, calls=inner\n}"
    )
    assert compared_kinds(module) == [BF16]


def test_a_format_coarser_than_the_default_gets_its_own_step() -> None:
    relative, _ = hob.Tolerance().for_type(ElementType.F8E5M2)
    assert relative == 2 * unit_roundoff(ElementType.F8E5M2) == 0.25
    assert hob.Tolerance().for_type(BF16)[0] == 1e-2


@pytest.mark.parametrize("info", case_index("jax"), ids=lambda info: info["name"])
def test_the_default_tolerance_accepts_what_jax_computed(info: dict[str, Any]) -> None:
    path = CASES / "jax" / f"{info['name']}.hlo"
    report = evaluate_file(path, path.with_suffix(".npz"))
    assert report.passed


CANCELLING = (
    "HloModule m\nENTRY main {\n x = f32[1,64] parameter(0)\n y = f32[64,1] parameter(1)\n"
    " ROOT d = f32[1,1] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n"
)


def cancelling_inputs() -> list[np.ndarray]:
    """Products that add up to almost nothing."""
    x = np.random.default_rng(0).normal(size=(1, 64)).astype(np.float32)
    y = np.ones((64, 1), np.float32)
    y[-1] = -x[0, :-1].sum() / x[0, -1]
    return [x, y]


def test_a_sum_that_cancels_may_differ_as_rounding_allows_and_no_more() -> None:
    module, inputs = parse_module(CANCELLING), cancelling_inputs()
    exact = hob.evaluate(module, *inputs)
    off = [exact[0] + np.float32(1e-5)]
    assert abs(exact[0]) < 1e-4

    def verdict(result: list[np.ndarray], tolerance: hob.Tolerance) -> tuple[bool, bool]:
        apart = partial(spreads, module, inputs, exact)
        found = compare(result, exact, [F32], tolerance, apart)
        return found.matches, found.is_rounding

    assert verdict(exact, hob.Tolerance()) == (True, False)
    assert verdict(off, hob.Tolerance()) == (True, True)
    assert verdict(off, hob.Tolerance(relative=1e-5)) == (False, False)
    assert verdict([exact[0] + np.float32(1e-2)], hob.Tolerance()) == (False, False)


def test_whole_numbers_are_never_a_matter_of_rounding() -> None:
    module = parse_module(
        "HloModule m\nENTRY main {\n x = f32[] parameter(0)\n m = f32[] multiply(x, x)\n"
        " ROOT n = s32[] convert(m)\n}"
    )
    inputs = [np.float32(3.9999999)]
    exact = hob.evaluate(module, *inputs)
    apart = partial(spreads, module, inputs, exact)
    assert not compare([exact[0] - 1], exact, [S32], hob.Tolerance(), apart).matches


def test_where_an_overflow_hangs_on_rounding_no_small_number_will_do() -> None:
    module = parse_module(
        "HloModule m\nENTRY main {\n x = f32[2] parameter(0)\n ROOT m = f32[2] multiply(x, x)\n}"
    )
    inputs = [np.array([1.8446743e19, 2], np.float32)]
    exact = hob.evaluate(module, *inputs)
    apart = spreads(module, inputs, exact)
    assert np.isinf(apart[0][0]) and np.isfinite(apart[0][1])

    def is_accepted(value: float) -> bool:
        found = [np.array([value, 4], np.float32)]
        return compare(found, exact, [F32], hob.Tolerance(), lambda: apart).matches

    assert is_accepted(np.inf) and is_accepted(3.4e38)
    assert not is_accepted(1) and not is_accepted(1e30)


def test_a_long_sum_may_be_further_off_than_a_short_one_but_misses_no_term() -> None:
    def spread(count: int) -> float:
        text = (
            "HloModule m\nadd {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
            f" ROOT r = f32[] add(a, b)\n}}\nENTRY main {{\n x = f32[{count}] parameter(0)\n"
            " z = f32[] constant(0)\n"
            " ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=add\n}"
        )
        module, inputs = parse_module(text), [np.ones(count, np.float32)]
        return float(spreads(module, inputs, hob.evaluate(module, *inputs))[0]) / count

    assert spread(4096) > 2 * spread(16)
    assert 8 * spread(4096) < 1 / 4096
