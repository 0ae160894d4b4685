"""Forms of the text: pretty and generic, aliases, locations, attributes, several programs."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.frontend.stablehlo import parse_programs, parse_stablehlo
from compiler.hlo.evaluate import evaluate, evaluate_checked
from compiler.hlo.module import Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import UNBOUNDED
from isas.errors import HobError, InputError
from tests.frontend.programs import function

PAIRS = {
    "binary": (
        "%0 = stablehlo.add %a, %a : tensor<2x3xf32>",
        '%0 = "stablehlo.add"(%a, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>',
    ),
    "properties": (
        "%0 = stablehlo.reverse %a, dims = [1] : tensor<2x3xf32>",
        '%0 = "stablehlo.reverse"(%a) <{dimensions = array<i64: 1>}> {note = "x"} : '
        "(tensor<2x3xf32>) -> tensor<2x3xf32>",
    ),
    "dense lists": (
        "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>",
        '%0 = "stablehlo.transpose"(%a) {permutation = dense<[1, 0]> : tensor<2xi64>} : '
        "(tensor<2x3xf32>) -> tensor<3x2xf32>",
    ),
    "applies": (
        "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 1] : "
        "(tensor<2x3xf32>, tensor<f32>) -> tensor<f32>",
        "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        '%0 = "stablehlo.reduce"(%a, %z) ({\n^bb0(%lhs: tensor<f32>, %rhs: tensor<f32>):\n'
        '%result = "stablehlo.add"(%lhs, %rhs) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n'
        '"stablehlo.return"(%result) : (tensor<f32>) -> ()\n}) {dimensions = array<i64: 0, 1>} : '
        "(tensor<2x3xf32>, tensor<f32>) -> tensor<f32>",
    ),
    "spaces and comments": (
        "%0 = stablehlo.slice %a [0:2, 1:3:2] : (tensor<2x3xf32>) -> tensor<2x1xf32>",
        "%0  =  stablehlo.slice  %a  [ 0 : 2 ,\n 1:3:2 ] // a comment\n : "
        "( tensor<2x3xf32> )  ->  tensor< 2 x 1 x f32 >",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pretty_and_generic_forms_are_the_same_program(name: str) -> None:
    results = {"dense lists": "tensor<3x2xf32>", "applies": "tensor<f32>",
               "spaces and comments": "tensor<2x1xf32>"}  # fmt: skip
    kind = results.get(name, "tensor<2x3xf32>")
    texts = [function(t, f"%0 : {kind}", "%a: tensor<2x3xf32>") for t in PAIRS[name]]
    one, other = map(parse_stablehlo, texts)
    assert one == other


def test_a_pretty_form_without_operands_ends_at_its_parenthesis() -> None:
    body = "stablehlo.optimization_barrier()\n%0 = stablehlo.negate %a : tensor<2xf32>"
    module = parse_stablehlo(function(body, "%0 : tensor<2xf32>", "%a: tensor<2xf32>"))
    assert [i.opcode for i in module.entry_computation.instructions][1:] == [Opcode.NEGATE]


def test_the_forms_of_mhlo_are_those_of_stablehlo() -> None:
    body = """%z = DIALECT.constant dense<1.0> : tensor<f32>
    %1 = DIALECT.reduce(%a init: %z) applies DIALECT.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %2 = DIALECT.slice %a [0:1] : (tensor<2xf32>) -> tensor<1xf32>
    %3:2 = DIALECT.while(%i = %1, %s = %2) : tensor<f32>, tensor<1xf32> cond {
      %4 = DIALECT.compare LT, %i, %z, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      DIALECT.return %4 : tensor<i1>
    } do {
      DIALECT.return %z, %s : tensor<f32>, tensor<1xf32>
    }"""  # noqa: E501
    texts = [function(body.replace("DIALECT", d), "%3#1 : tensor<1xf32>", "%a: tensor<2xf32>")
             for d in ("stablehlo", "mhlo")]  # fmt: skip
    one, other = map(parse_stablehlo, texts)
    assert one == other


def test_the_generic_form_of_a_whole_module_is_the_same_program() -> None:
    generic = """
    "builtin.module"() <{sym_name = "m"}> ({
      "func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
      ^bb0(%a: tensor<2xf32>):
        %0 = "stablehlo.negate"(%a) : (tensor<2xf32>) -> tensor<2xf32>
        "func.return"(%0) : (tensor<2xf32>) -> ()
      }) : () -> ()
    }) {mhlo.num_partitions = 1 : i32} : () -> ()
    """
    inside = function("%0 = stablehlo.negate %a : tensor<2xf32>", "%0 : tensor<2xf32>",
                      "%a: tensor<2xf32>")  # fmt: skip
    assert parse_stablehlo(generic) == parse_stablehlo(f"module @m {{ {inside} }}")


def test_aliases_of_attributes_and_types_may_stand_anywhere() -> None:
    text = """
    !t = tensor<2xi32>
    #d = array<i64: 0>
    func.func @main() -> !t {
      %0 = stablehlo.constant dense<[1, 2]> : !t
      %1 = "stablehlo.reverse"(%0) {dimensions = #d} : (!t) -> !t
      %2 = "stablehlo.reverse"(%1) {dimensions = #later} : (!t) -> !t
      return %1 : !t
    }
    #later = array<i64: 0>
    """
    assert evaluate(parse_stablehlo(text))[0].tolist() == [2, 1]


def test_locations_become_metadata() -> None:
    text = """
    #loc1 = loc("model.py":7:3)
    func.func @main(%a: tensor<2xf32> loc("a")) -> tensor<2xf32> {
      %0 = stablehlo.negate %a : tensor<2xf32> loc(#loc2)
      %1 = stablehlo.abs %0 : tensor<2xf32> loc(callsite("inner"(#loc1) at "outer.py":1:1))
      %2 = stablehlo.sine %1 : tensor<2xf32> loc(unknown)
      return %2 : tensor<2xf32> loc(#loc1)
    } loc(#loc)
    #loc = loc(unknown)
    #loc2 = loc("jit(f)/neg"(#loc1))
    """
    negate, absolute, sine = parse_stablehlo(text).entry_computation.instructions[1:]
    assert negate.metadata is not None and absolute.metadata is not None
    assert (negate.metadata.op_name, negate.metadata.source_line) == ("jit(f)/neg", 7)
    assert (absolute.metadata.op_name, absolute.metadata.source_file) == ("inner", "model.py")
    assert sine.metadata is None


def test_resources_are_read_when_the_text_holds_them() -> None:
    text = function("%0 = stablehlo.constant dense_resource<r> : tensor<2xi32>",
                    "%0 : tensor<2xi32>")  # fmt: skip
    blob = '{-# dialect_resources: { builtin: { r: "0x040000000100000002000000" } } #-}'
    assert evaluate(parse_stablehlo(text + blob))[0].tolist() == [1, 2]
    with pytest.raises(HobError, match="dense_resource<r>"):
        parse_stablehlo(text)


def test_arguments_keep_aliases_donation_and_sharding() -> None:
    module = parse_stablehlo("""
    module @m attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 3 : i32} {
      func.func public @main(
          %a: tensor<2xf32> {tf.aliasing_output = 0 : i32, mhlo.sharding = "{replicated}"},
          %b: tensor<2xf32> {jax.buffer_donor = true}) -> tensor<2xf32> {
        %0 = stablehlo.add %a, %b {mhlo.frontend_attributes = {k = "v"}} : tensor<2xf32>
        return %0 : tensor<2xf32>
      }
    }""")
    text = str(module)
    for part in ("input_output_alias={ {}: (0, {}, may-alias) }", "buffer_donor={ (1, {}) }",
                 "num_partitions=2", "replica_count=3", "sharding={replicated}",
                 'frontend_attributes={k="v"}'):  # fmt: skip
        assert part in text


def test_a_text_of_several_programs_yields_each_of_them() -> None:
    text = """
    func.func @one() { return }
    func.func @two() { return }
    // -----
    module @three { func.func @main() { func.call @helper() : () -> () return }
                    func.func private @helper() { return } }
    """
    assert [m.name for m in parse_programs(text)] == ["one", "two", "three"]
    with pytest.raises(InputError, match="3 programs"):
        parse_stablehlo(text)


def test_dynamic_shapes_parse_and_running_one_says_what_is_not_static() -> None:
    arguments = "%a: tensor<?x3xf32>, %b: tensor<?xf32, #stablehlo.bounds<8>>"
    body = "%0 = stablehlo.add %a, %a : tensor<?x3xf32>"
    module = parse_stablehlo(function(body, "%0 : tensor<?x3xf32>", arguments))
    shapes = [p.shape for p in module.entry_computation.parameters]
    assert shapes[0].dimensions == (UNBOUNDED, 3)  # type: ignore[union-attr]
    assert str(shapes[1]).startswith("f32[<=8]")
    with pytest.raises(HobError, match="not static"):
        evaluate(module, np.zeros((2, 3), np.float32), np.zeros(8, np.float32))


def test_a_dynamic_operation_without_known_extents_stays_and_is_refused_by_name() -> None:
    body = ("%0 = stablehlo.dynamic_reshape %a, %s : (tensor<6xf32>, tensor<2xi64>) -> "
            "tensor<?x?xf32>")  # fmt: skip
    text = function(body, "%0 : tensor<?x?xf32>", "%a: tensor<6xf32>, %s: tensor<2xi64>")
    module = parse_stablehlo(text)
    with pytest.raises(HobError, match=r"stablehlo\.dynamic_reshape"):
        evaluate(module, np.zeros(6, np.float32), np.array([2, 3]))


def _opcodes(module: Module) -> list[Opcode]:
    return [i.opcode for i in module.entry_computation.instructions]


def test_large_splats_are_broadcasts_of_a_scalar() -> None:
    text = function("%0 = stablehlo.constant dense<1.5> : tensor<100x100xf32>",
                    "%0 : tensor<100x100xf32>")  # fmt: skip
    assert _opcodes(parse_stablehlo(text)) == [Opcode.CONSTANT, Opcode.BROADCAST]


def test_neighbouring_dialects_that_change_no_value_are_read() -> None:
    text = """
    module @m {
      sdy.mesh @mesh = <["x"=2]>
      func.func @main() {
        %0 = arith.constant dense<[1, 2]> : tensor<2xi64>
        %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}]> : tensor<2xi64>
        %2 = shape.shape_of %1 : tensor<2xi64> -> tensor<1xindex>
        %3 = arith.index_cast %2 : tensor<1xindex> to tensor<1xi32>
        check.expect_eq %1, %0 : tensor<2xi64>
        check.eq %1, dense<[1, 2]> : tensor<2xi64>
        return
      }
    }"""
    assert all(check.passed for check in evaluate_checked(parse_stablehlo(text)).checks)


def test_composites_keep_their_name_and_attributes() -> None:
    text = """
    func.func @main(%a: tensor<i64>) -> tensor<i64> {
      %0 = stablehlo.composite "m.f" %a {composite_attributes = {n = 2 : i64}, decomposition = @f,
        version = 3 : i32} : (tensor<i64>) -> tensor<i64>
      return %0 : tensor<i64>
    }
    func.func private @f(%a: tensor<i64>) -> tensor<i64> { return %a : tensor<i64> }
    """
    shown = str(parse_stablehlo(text))
    for part in ("is_composite=true", 'composite.name="m.f"', 'composite.version="3"',
                 "{n = 2 : i64}"):  # fmt: skip
        assert part in shown


MESH = (
    "#stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = ["
    '#stablehlo.mesh_axis<name = "x", size = 2>, #stablehlo.mesh_axis<name = "y", size = 4>]>, '
    "axes = [AXES]>"
)


@pytest.mark.parametrize(
    ("axes", "groups"),
    [
        ('#stablehlo.axis_ref<name = "x">', "{{0,4},{1,5},{2,6},{3,7}}"),
        ('#stablehlo.axis_ref<name = "y">', "{{0,1,2,3},{4,5,6,7}}"),
        (
            '#stablehlo.axis_ref<name = "y", sub_axis_info = (1)2>',
            "{{0,2},{1,3},{4,6},{5,7}}",
        ),
        (
            '#stablehlo.axis_ref<name = "y", sub_axis_info = (2)2>',
            "{{0,1},{2,3},{4,5},{6,7}}",
        ),
    ],
)
def test_groups_along_axes_of_a_mesh(axes: str, groups: str) -> None:
    body = (
        '%0 = "stablehlo.collective_broadcast"(%a) {replica_groups = '
        + MESH.replace("AXES", axes)
        + "} : (tensor<2xf32>) -> tensor<2xf32>"
    )
    module = parse_stablehlo(function(body, "%0 : tensor<2xf32>", "%a: tensor<2xf32>"))
    assert str(module.entry_computation.root_instruction.attributes["replica_groups"]) == groups


@pytest.mark.parametrize(
    ("axes", "part"),
    [
        ('#stablehlo.axis_ref<name = "z">', "has no axis 'z'"),
        ('#stablehlo.axis_ref<name = "y", sub_axis_info = (1)3>', "do not divide its 4"),
    ],
)
def test_axes_that_a_mesh_lacks_are_refused(axes: str, part: str) -> None:
    body = (
        '%0 = "stablehlo.collective_broadcast"(%a) {replica_groups = '
        + MESH.replace("AXES", axes)
        + "} : (tensor<2xf32>) -> tensor<2xf32>"
    )
    with pytest.raises(HobError, match=part):
        parse_stablehlo(function(body, "%0 : tensor<2xf32>", "%a: tensor<2xf32>"))
