"""Programs that leave extents open, lowered for the arrays they are given."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.frontend.stablehlo import parse_programs
from compiler.hlo.evaluate import evaluate
from isas.errors import HobError

ROWS = """
func.func @main(%n: tensor<i64>, %a: tensor<?x2xf32>) -> (tensor<?x2xf32>, tensor<?x2xi32>) {
  %7 = call @checked(%n, %a) : (tensor<i64>, tensor<?x2xf32>) -> tensor<?x2xf32>
  %0 = stablehlo.convert %n : (tensor<i64>) -> tensor<i32>
  %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
  %two = stablehlo.constant dense<2> : tensor<1xi32>
  %2 = stablehlo.concatenate %1, %two, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %3:2 = stablehlo.while(%i = %zero, %sum = %7) : tensor<i64>, tensor<?x2xf32>
  cond {
    %4 = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %4 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i64>
    %4 = stablehlo.add %i, %one : tensor<i64>
    %5 = stablehlo.dynamic_iota %2, dim = 0 : (tensor<2xi32>) -> tensor<?x2xf32>
    %6 = stablehlo.add %sum, %5 : tensor<?x2xf32>
    stablehlo.return %4, %6 : tensor<i64>, tensor<?x2xf32>
  }
  %8 = stablehlo.bitcast_convert %3#1 : (tensor<?x2xf32>) -> tensor<?x2xi32>
  return %3#1, %8 : tensor<?x2xf32>, tensor<?x2xi32>
}
func.func private @checked(%n: tensor<i64>, %a: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %0 = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x2xf32>) -> tensor<i32>
  %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
  %2 = stablehlo.compare EQ, %1, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%2, %0) {
    error_message = "there are {0} rows"
  } : (tensor<i1>, tensor<i32>) -> ()
  return %a : tensor<?x2xf32>
}
"""


@pytest.mark.parametrize("rows", [1, 3])
def test_extents_follow_the_arrays_also_inside_loops_and_calls(rows: int) -> None:
    given = [np.array(rows), np.arange(2.0 * rows, dtype=np.float32).reshape(rows, 2)]
    (module,) = parse_programs(ROWS, given=given)
    result, bits = evaluate(module, *given)
    assert np.array_equal(result, given[1] + rows * np.arange(rows)[:, None])
    assert np.array_equal(bits, result.view(np.int32))


WRONG = {
    "number": ([np.array(2)], "takes 2 arguments, 1 are given"),
    "static extent": ([np.array(2), np.zeros((2, 3), np.float32)], r"f32\[2,3\]"),
    "assertion": ([np.array(0), np.zeros((2, 2), np.float32)], "there are 2 rows"),
}


@pytest.mark.parametrize("name", WRONG)
def test_arrays_that_do_not_fit_are_refused(name: str) -> None:
    given, part = WRONG[name]
    with pytest.raises(HobError, match=part):
        parse_programs(ROWS, given=given)


def test_an_assertion_about_an_input_is_asked_when_it_runs() -> None:
    text = """func.func @main(%n: tensor<i32>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %0 = stablehlo.compare GT, %n, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.custom_call @shape_assertion(%0) {
        error_message = "n must be positive"
      } : (tensor<i1>) -> ()
      return
    }"""
    (module,) = parse_programs(text)
    assert evaluate(module, np.int32(1)) == []
    with pytest.raises(HobError, match="n must be positive"):
        evaluate(module, np.int32(0))


def test_an_assertion_leaves_the_places_of_unknown_numbers_open() -> None:
    text = """func.func @main(%n: tensor<i32>) {
      %false = stablehlo.constant dense<false> : tensor<i1>
      %two = stablehlo.constant dense<2> : tensor<i32>
      stablehlo.custom_call @shape_assertion(%false, %n, %two) {
        error_message = "{0} is not {1}"
      } : (tensor<i1>, tensor<i32>, tensor<i32>) -> ()
      return
    }"""
    with pytest.raises(HobError, match=r"\{0\} is not 2"):
        parse_programs(text)


def test_an_assertion_that_fails_in_a_run_is_told_as_it_was_written() -> None:
    text = r"""func.func @main(%n: tensor<i32>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %0 = stablehlo.compare GT, %n, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.custom_call @shape_assertion(%0, %n) {
        error_message = "\"n\" is {0},\nnot positive"
      } : (tensor<i1>, tensor<i32>) -> ()
      return
    }"""
    (module,) = parse_programs(text)
    with pytest.raises(HobError, match='"n" is -3,\nnot positive'):
        evaluate(module, np.int32(-3))


def test_a_call_of_declared_extents_takes_those_its_operands_say() -> None:
    text = """func.func @main(%a: tensor<4xf32>) -> tensor<?xf32> {
      %n = stablehlo.constant dense<4> : tensor<1xi64>
      %0 = stablehlo.custom_call @Sharding(%a, %n) {
        indices_of_shape_operands = dense<1> : tensor<1xi64>
      } : (tensor<4xf32>, tensor<1xi64>) -> tensor<?xf32>
      return %0 : tensor<?xf32>
    }"""
    (module,) = parse_programs(text)
    assert str(module.entry_computation.shape).startswith("f32[4]")


def test_extents_pass_through_calls_of_static_functions() -> None:
    text = """func.func @main(%a: tensor<?xf32>) -> tensor<?x2xf32> {
      %0 = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?xf32>) -> tensor<i32>
      %1 = call @half(%0) : (tensor<i32>) -> tensor<i32>
      %2 = stablehlo.reshape %1 : (tensor<i32>) -> tensor<1xi32>
      %two = stablehlo.constant dense<2> : tensor<1xi32>
      %3 = stablehlo.concatenate %2, %two, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
      %4 = stablehlo.dynamic_reshape %a, %3 : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x2xf32>
      return %4 : tensor<?x2xf32>
    }
    func.func private @half(%n: tensor<i32>) -> tensor<i32> {
      %two = stablehlo.constant dense<2> : tensor<i32>
      %0 = stablehlo.divide %n, %two : tensor<i32>
      return %0 : tensor<i32>
    }"""
    (module,) = parse_programs(text, given=[np.zeros(6, np.float32)])
    assert str(module.entry_computation.shape).startswith("f32[3,2]")


LOOP = """func.func @main(%a: tensor<?x?xf32>) -> tensor<?xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %ones = stablehlo.constant dense<1> : tensor<2xi32>
  %start = stablehlo.constant dense<0.0> : tensor<f32>
  %rows = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x?xf32>) -> tensor<i32>
  %0 = stablehlo.get_dimension_size %a, dim = 1 : (tensor<?x?xf32>) -> tensor<i32>
  %columns = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
  %empty = stablehlo.dynamic_broadcast_in_dim %start, %columns, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
  %1:2 = stablehlo.while(%i = %zero, %sum = %empty) : tensor<i32>, tensor<?xf32>
  cond {
    %2 = stablehlo.compare LT, %i, %rows : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %2 = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>
    %3 = stablehlo.reshape %zero : (tensor<i32>) -> tensor<1xi32>
    %4 = stablehlo.concatenate %2, %3, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    LIMIT
    %6 = stablehlo.real_dynamic_slice %a, %4, %5, %ones : (tensor<?x?xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<1x?xf32>
    %7 = stablehlo.dynamic_reshape %6, %columns : (tensor<1x?xf32>, tensor<1xi32>) -> tensor<?xf32>
    %8 = stablehlo.add %sum, %7 : tensor<?xf32>
    %9 = stablehlo.reshape %one : (tensor<1xi32>) -> tensor<i32>
    %10 = stablehlo.add %i, %9 : tensor<i32>
    stablehlo.return %10, %8 : tensor<i32>, tensor<?xf32>
  }
  return %1#1 : tensor<?xf32>
}
"""  # noqa: E501
LIMITS = {
    "start and size": (
        "%s = stablehlo.concatenate %one, %columns, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> "
        "tensor<2xi32>\n%5 = stablehlo.add %4, %s : tensor<2xi32>"
    ),
    "places": (
        "%l = stablehlo.add %2, %one : tensor<1xi32>\n%5 = stablehlo.concatenate %l, %columns, "
        "dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>"
    ),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_slice_that_moves_keeps_its_extents(name: str) -> None:
    given = [np.arange(6.0, dtype=np.float32).reshape(2, 3)]
    (module,) = parse_programs(LOOP.replace("LIMIT", LIMITS[name]), given=given)
    assert evaluate(module, *given)[0].tolist() == [3, 5, 7]
