"""The limits of the checks that a StableHLO program makes, in every spelling."""

from __future__ import annotations

import pytest

from compiler.frontend.stablehlo import parse_programs, parse_stablehlo
from compiler.hlo.evaluate import evaluate_checked
from isas.errors import HobError

PAIR = """func.func @main() {{
  %a = stablehlo.constant dense<{one}> : tensor<{kind}>
  %b = stablehlo.constant dense<{other}> : tensor<{kind}>
  {check}
  return
}}"""
ANSWER = "%0 = stablehlo.custom_call @check.eq(%a, %b) : (KIND, KIND) -> tensor<i1>"


def call(name: str) -> str:
    """A check as a custom call."""
    attributes = "{has_side_effect = true}"
    return f"stablehlo.custom_call @check.{name}(%a, %b) {attributes} : (KIND, KIND) -> ()"


def passes(check: str, one: str, other: str, kind: str = "f32") -> bool:
    form = check.replace("KIND", f"tensor<{kind}>")
    text = PAIR.format(one=one, other=other, kind=kind, check=form)
    (result,) = evaluate_checked(parse_stablehlo(text)).checks
    return result.passed


@pytest.mark.parametrize(
    ("check", "limit"),
    [
        ("check.expect_almost_eq %a, %b : tensor<f32>", 1e-4),
        ("check.expect_almost_eq %a, %b, tolerance = 0.5 : tensor<f32>", 0.5),
        (call("expect_almost_eq"), 1e-3),
        (call("expect_almost_eq_const"), 1e-4),
        (ANSWER, 1e-4),
    ],
)
def test_nearness_ends_at_its_tolerance(check: str, limit: float) -> None:
    assert passes(check, "1.0", str(1.0 + 0.9 * limit))
    assert not passes(check, "1.0", str(1.0 + 1.1 * limit))
    assert passes(check, "0x7FC00000", "0xFFC00001")
    assert not passes(check, "0x7F800000", "0xFF800000")


@pytest.mark.parametrize(
    ("check", "most"),
    [
        ('"check.expect_close"(%a, %b) : (tensor<f32>, tensor<f32>) -> ()', 1),
        ("check.expect_close %a, %b, max_ulp_difference = 5 : tensor<f32>, tensor<f32>", 5),
        (call("expect_close"), 3),
    ],
)
def test_distance_ends_at_its_number_of_steps(check: str, most: int) -> None:
    assert passes(check, "1.0", f"0x{0x3F800000 + most:08X}")
    assert not passes(check, "1.0", f"0x{0x3F800000 + most + 1:08X}")
    assert not passes(check, "0x7F7FFFFF", "0x7F800000")


def test_a_least_distance_holds_for_every_element() -> None:
    check = "check.expect_close %a, %b, max_ulp_difference = 9, min_ulp_difference = 2 : "
    check += "tensor<2xf32>, tensor<2xf32>"
    assert passes(check, "1.0", "0x3F800002", "2xf32")
    assert not passes(check, "[1.0, 1.0]", "[0x3F800002, 0x3F800001]", "2xf32")


def test_the_answer_of_a_call_is_exact_for_integers() -> None:
    assert passes(ANSWER, "7", "7", "i32") and not passes(ANSWER, "7", "8", "i32")


def test_a_probe_that_ran_less_often_fails_the_check() -> None:
    text = """func.func @main() {{
      %a = stablehlo.constant dense<1> : tensor<i32>
      %b = stablehlo.constant dense<2> : tensor<i32>
      %0 = interpreter.probe %a, probe_id = "p" : tensor<i32>
      check.expect_serialized_eq {} : tensor<i32>
      return
    }}"""
    details = []
    for end in ('%a, probe_id = "p"', '%a, probe_id = "p", iter = 1', '%b, probe_id = "p"'):
        (result,) = evaluate_checked(parse_stablehlo(text.format(end))).checks
        details.append(result.detail)
    assert details == ["", "probe 'p' ran 1 times, not 2", "2 is not 1"]


def test_a_run_on_several_devices_is_refused_in_one_sentence() -> None:
    text = """func.func @f() { return }
    func.func @main() {
      "interpreter.run_parallel"() {programs = [[@f, @f], [@f, @f]]} : () -> ()
      return
    }"""
    with pytest.raises(HobError, match="a run of 4 programs, one on each of 4 devices, is not"):
        parse_programs(text)


@pytest.mark.parametrize(
    ("one", "other", "bound", "expected"),
    [
        ("(1.0, 2.0)", "(4.0, 6.0)", "5.0", True),
        ("(1.0, 2.0)", "(4.0, 6.0)", "4.9", False),
        ("(0x7F800000, 2.0)", "(0x7F800000, 2.5)", "0.5", True),
        ("(0x7F800000, 2.0)", "(0xFF800000, 2.0)", "0x7F800000", True),
        ("(0x7F800000, 2.0)", "(1.0, 2.0)", "1.0", False),
        ("(0x7FC00000, 2.0)", "(1.0, 2.0)", "0x7F800000", False),
    ],
)
def test_bounds_hold_for_the_distance_of_complex_numbers(
    one: str, other: str, bound: str, expected: bool
) -> None:
    check = f"""%c = stablehlo.constant dense<{bound}> : tensor<f32>
    check.expect_is_close %a, %b, %c, %a : KIND, KIND, tensor<f32>, KIND"""
    assert passes(check, one, other, "complex<f32>") is expected


@pytest.mark.parametrize(
    ("operands", "kinds", "message"),
    [
        ("%a, %b", "KIND, KIND", "takes two values and how far apart they may be, 2 are given"),
        ("%a, %b, %a", "KIND, KIND, KIND", r"takes a floating-point bound for each element"),
    ],
)
def test_bounds_must_be_given_and_real(operands: str, kinds: str, message: str) -> None:
    with pytest.raises(HobError, match=message):
        passes(f"check.expect_is_close {operands} : {kinds}", "1", "1", "i32")
