"""Wrong StableHLO text is refused with file:line:column, the line, a caret and the rule."""

from __future__ import annotations

import pytest

from compiler.frontend.stablehlo import parse_programs
from compiler.hlo.errors import HloSyntaxError, HloUnsupportedError, HloVerifyError
from isas.errors import HobError

SYNTAX = {
    "nothing": ("", "expected a module or a function"),
    "prose": ("this is not a program", "unknown operation 'this'"),
    "unclosed region": ("func.func @f() {\n  return", "expected '}' at the end of the region"),
    "result count": (
        "func.func @f() {\n  %0:2 = stablehlo.constant dense<1> : tensor<i32>\n  return\n}",
        "yields 1 values, 2 are named",
    ),
    "twice an attribute": (
        'func.func @f() {\n  "stablehlo.trace"() {a = 1, a = 2} : () -> ()\n  return\n}',
        "attribute a is given twice",
    ),
    "nesting": (
        "func.func @f() {\n  %0 = stablehlo.constant dense<[1, [2]]> : tensor<2xi32>\n  return\n}",
        "do not nest",
    ),
    "too many values": (
        "func.func @f() {\n  %0 = stablehlo.constant dense<[1, 2]> : tensor<3xi32>\n  return\n}",
        "brackets",
    ),
    "range of an integer": (
        "func.func @f() {\n  %0 = stablehlo.constant dense<300> : tensor<i8>\n  return\n}",
        "300 does not fit in s8",
    ),
    "bytes": (
        'func.func @f() {\n  %0 = stablehlo.constant dense<"0x00112233"> : tensor<2xf32>\n'
        '  %1 = stablehlo.constant dense<"0x001122"> : tensor<2xf32>\n  return\n}',
        "takes 8 bytes, 3 are given",
    ),
    "alias": (
        'func.func @f() {\n  "stablehlo.trace"() {a = #nowhere} : () -> ()\n  return\n}',
        "#nowhere is not defined",
    ),
    "type": ("func.func @f(%a: tensor<2xq7>) {\n  return\n}", "expected a type"),
    "reducer": (
        "func.func @f(%a: tensor<2xf32>, %z: tensor<f32>) {\n"
        "  %0 = stablehlo.reduce(%a init: %z) across dimensions = [0] : "
        "(tensor<2xf32>, tensor<f32>) -> tensor<f32>\n"
        "   reducer(%x: tensor<f32>) { stablehlo.return %x : tensor<f32> }\n}",
        "in pairs",
    ),
}

RULES = {
    "undefined value": (
        "func.func @f() -> tensor<f32> {\n  return %x : tensor<f32>\n}",
        "%x is not defined here", 2,
    ),
    "defined twice": (
        "func.func @f(%a: tensor<f32>) {\n  %a = stablehlo.constant dense<1> : tensor<i32>\n"
        "  return\n}",
        "%a is defined twice", 2,
    ),
    "written type": (
        "func.func @f(%a: tensor<2xf32>) {\n"
        "  %0 = stablehlo.negate %a : (tensor<3xf32>) -> tensor<3xf32>\n  return\n}",
        "operand %a is f32[2]{0}, f32[3]{0} is written", 2,
    ),
    "result type": (
        "func.func @f(%a: tensor<2xf32>) {\n\n  %0 = stablehlo.negate %a : tensor<2xi32>\n"
        "  return\n}",
        "the result is f32[2]{0}, s32[2]{0} is written", 3,
    ),
    "element types": (
        "func.func @f(%a: tensor<2xf32>, %b: tensor<2xi32>) {\n"
        "  %0 = stablehlo.add %a, %b : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>\n"
        "  return\n}",
        "operands must have one element type", 2,
    ),
    "missing attribute": (
        'func.func @f(%a: tensor<2xf32>) {\n  %0 = "stablehlo.reverse"(%a) : (tensor<2xf32>) -> '
        "tensor<2xf32>\n  return\n}",
        "needs attribute dimensions", 2,
    ),
    "missing function": (
        "func.func @f() {\n  func.call @g() : () -> ()\n  return\n}",
        "function @g is not defined", 2,
    ),
    "recursion": (
        "func.func @main() {\n  func.call @g() : () -> ()\n  return\n}\n"
        "func.func private @g() {\n  func.call @g() : () -> ()\n  return\n}",
        "calls itself", 6,
    ),
    "returns": (
        "func.func @f(%a: tensor<f32>) -> tensor<i32> {\n  return %a : tensor<f32>\n}",
        "result 0 of @f is f32[]", 1,
    ),
    "contracting": (
        "func.func @f(%a: tensor<2x3xf32>) {\n"
        "  %0 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [1] : "
        "(tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x2xf32>\n  return\n}",
        "must be equal", 2,
    ),
    "dimension number": (
        "func.func @f(%a: tensor<1x2x1xf32>, %b: tensor<1x1x1xf32>) {\n"
        '  %0 = "stablehlo.convolution"(%a, %b) {batch_group_count = 1 : i64, feature_group_count '
        "= 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, "
        "input_feature_dimension = 2, input_spatial_dimensions = [99999999999999999999], "
        "kernel_output_feature_dimension = 2, kernel_input_feature_dimension = 1, "
        "kernel_spatial_dimensions = [0], output_batch_dimension = 0, "
        "output_feature_dimension = 2, output_spatial_dimensions = [1]>} : "
        "(tensor<1x2x1xf32>, tensor<1x1x1xf32>) -> tensor<1x2x1xf32>\n  return\n}",
        "do not fit together", 2,
    ),
    "direction": (
        "func.func @f(%a: tensor<f32>) {\n"
        "  %0 = stablehlo.compare UP, %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "  return\n}",
        "'UP' is no direction", 2,
    ),
    "unused function": (
        "func.func @main() { return }\nfunc.func private @g(%a: tensor<f32>) -> tensor<i32> {\n"
        "  return %a : tensor<f32>\n}",
        "result 0 of @g", 2,
    ),
    "reduced dimension": (
        "func.func @f(%a: tensor<2xf32>, %z: tensor<f32>) {\n"
        "  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : "
        "(tensor<2xf32>, tensor<f32>) -> tensor<2xf32>\n  return\n}",
        "out of range", 2,
    ),
}  # fmt: skip

UNSUPPORTED = {
    "operation": ("func.func @f() {\n  tensor.empty() : tensor<f32>\n  return\n}", "tensor.empty"),
    "unranked": (
        "func.func @f(%a: tensor<*xf32>) {\n  return\n}",
        "tensor<*xf32>",
    ),
    "branches": (
        "func.func @f() {\n^bb0:\n  return\n^bb1:\n  return\n}",
        "several blocks",
    ),
    "several devices": (
        "func.func @f(%a: tensor<4xi64>) -> tensor<4xi64> { return %a : tensor<4xi64> }\n"
        "func.func @main(%a: tensor<4xi64>) {\n"
        '  %0 = "interpreter.run_parallel"(%a) {programs = [[@f, @f]]} : (tensor<4xi64>) -> '
        "tensor<4xi64>\n  return\n}",
        "interpreter.run_parallel",
    ),
    "captured by a reducer": (
        "func.func @f(%a: tensor<2xf32>, %z: tensor<f32>) {\n"
        '  %0 = "stablehlo.reduce"(%a, %z) ({\n  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n'
        "    %1 = stablehlo.add %x, %z : tensor<f32>\n    stablehlo.return %1 : tensor<f32>\n"
        "  }) {dimensions = array<i64: 0>} : (tensor<2xf32>, tensor<f32>) -> tensor<f32>\n"
        "  return\n}",
        "outside value which is not constant",
    ),
}


def _refused(text: str, kind: type[HobError]) -> HobError:
    with pytest.raises(HobError) as caught:
        parse_programs(text, "file.mlir")
    assert isinstance(caught.value, kind), caught.value
    return caught.value


@pytest.mark.parametrize("name", SYNTAX)
def test_text_that_is_not_stablehlo_is_refused_with_a_caret(name: str) -> None:
    text, part = SYNTAX[name]
    error = _refused(text, HloSyntaxError)
    assert part in str(error)
    assert str(error).startswith("file.mlir:") and "\n" in str(error) and "^" in str(error)


@pytest.mark.parametrize("name", RULES)
def test_a_broken_rule_is_told_with_its_line(name: str) -> None:
    text, part, line = RULES[name]
    error = _refused(text, HloVerifyError)
    assert part in str(error)
    assert str(error).startswith(f"file.mlir:{line}:") and "^" in str(error)


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_hlo_cannot_say_is_refused_by_name(name: str) -> None:
    text, part = UNSUPPORTED[name]
    error = _refused(text, HloUnsupportedError)
    assert part in str(error)
    assert str(error).startswith("file.mlir:") and "^" in str(error)


def test_the_message_shows_the_line_and_points_at_the_operation() -> None:
    text = (
        "func.func @f(%a: tensor<2xf32>) {\n  %0 = stablehlo.cosin %a : tensor<2xf32>\n  return\n}"
    )
    assert str(_refused(text, HloUnsupportedError)) == (
        "file.mlir:2:8: stablehlo.cosin is not supported\n"
        "    %0 = stablehlo.cosin %a : tensor<2xf32>\n"
        "         ^"
    )


def test_errors_in_later_sections_count_lines_from_the_top_of_the_file() -> None:
    text = "func.func @f() {\n  return\n}\n// -----\nfunc.func @g() {\n  return %x : tensor<f32>\n}"
    assert str(_refused(text, HloVerifyError)).startswith("file.mlir:6:10:")


def test_deep_nesting_is_refused_instead_of_overflowing() -> None:
    deep = "tuple<" * 5000 + "tensor<f32>" + ">" * 5000
    _refused(f"func.func @f(%a: {deep}) {{ return }}", HloSyntaxError)
    _refused('func.func @f() { "a.b"() {x = ' + "[" * 5000, HloSyntaxError)
    regions = '"stablehlo.if"(%p) ({' * 3000
    _refused(f"func.func @f(%p: tensor<i1>) {{ {regions}", HloSyntaxError)


@pytest.mark.parametrize("inside", ["i8:f32, 0.5:30.5", "i8:f32:0, {0.5, 0x10:1}", "i8<0:1.5>:f32"])
def test_a_quantised_type_of_wrong_numbers_is_refused(inside: str) -> None:
    text = f"func.func @f(%a: tensor<2x!quant.uniform<{inside}>>) {{\n  return\n}}"
    with pytest.raises(HobError, match="quant"):
        parse_programs(text)
