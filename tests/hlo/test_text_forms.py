# ruff: noqa: E501  (HLO text keeps its own line lengths)
"""Every notation of HLO text parses, and prints as text that parses back to the same module."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.hlo.attributes import (
    ComparisonDirection,
    FusionKind,
    PadDimension,
    RandomAlgorithm,
    RandomDistribution,
    SliceLimits,
    Verbatim,
    WindowDimension,
)
from compiler.hlo.module import Alias, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import UNBOUNDED, ElementType, TupleShape
from compiler.hlo.text import parse_module, print_module, read_module
from compiler.hlo.text.shapes import MAX_TUPLE_DEPTH
from tests.hlo.programs import ADD, GE, case_files, one_op


def round_trip(text: str) -> Module:
    module = parse_module(text)
    printed = print_module(module)
    assert parse_module(printed) == module, printed
    return module


@pytest.mark.parametrize("path", case_files(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_stored_case_prints_as_text_that_parses_back_equal(path):
    module = read_module(path)
    assert parse_module(print_module(module)) == module


WHOLE_PROGRAMS = {
    "percent names, operand shapes and a signature": """
HloModule axpy, entry_computation_layout={(f32[], f32[2,4]{1,0})->f32[2,4]{1,0}}

ENTRY %main.v5 (alpha: f32[], x: f32[2,4]) -> f32[2,4] {
  %alpha = f32[] parameter(0)
  %b = f32[2,4]{1,0} broadcast(f32[] %alpha), dimensions={}
  %x = f32[2,4]{1,0} parameter(1)
  ROOT %m = f32[2,4]{1,0} multiply(f32[2,4]{1,0} %b, f32[2,4]{1,0} %x)
}""",
    "no entry keyword: the last computation is the entry": """
HloModule m
helper { ROOT p = f32[] parameter(0) }
main { a = f32[] parameter(0)
  ROOT c = f32[] call(a), to_apply=helper }""",
    "no root keyword: the last instruction is the root": """
HloModule m
ENTRY e {
  a = f32[4] parameter(0)
  b = f32[4] negate(a)
}""",
    "no header": """
ENTRY %e (a: s32[]) -> s32[] {
  %a = s32[] parameter(0)
  ROOT %b = s32[] negate(%a)
}""",
    "instructions may share a line": """
HloModule m
ENTRY e { a = f32[2] parameter(0) t = token[] after-all()
  o = token[] outfeed(a, t), outfeed_shape=f32[2] b = f32[2] negate(a) ROOT c = f32[2] abs(b) }""",
    "the root may stand before other instructions": """
HloModule m
ENTRY e {
  a = f32[] parameter(0)
  ROOT b = f32[] negate(a)
  token = token[] after-all()
  out = token[] outfeed(a, token), outfeed_shape=f32[]
}""",
    "a colon after the module's name and after whole shapes": """
HloModule m:
ENTRY %e(x: f32[]) -> pred[] {
  %x = f32[]{} parameter(0)
  ROOT %eq = pred[]{} compare(f32[]{} %x, f32[] %x), direction=EQ
}""",
    "no header and no entry keyword": """
%f (x: f32[]) -> f32[] {
  ROOT %x = f32[] parameter(0)
}""",
    "blanks inside a shape": """
HloModule m
ENTRY e { ROOT r = f32[ 1, 2,3, 4]{ 0, 1, 2,3 } parameter(0) }""",
    "attributes over several lines": """
HloModule m
b { p = f32[4] parameter(0) }
ENTRY e {
  p0 = f32[4] parameter(0)
  i = s32[] constant(0)
  ROOT c = f32[4] conditional(i, p0),
    branch_computations={b},
    frontend_attributes={
      pairs="{{1,0}}",
      pipeline="0"
    }
}""",
    "one instruction alone": '%add = f32[2,3] add(f32[2,3] %x, f32[2,3] %y), metadata={op_name="a"}',
    "one instruction without its name": "f32[2] add(f32[2] x, multiply(f32[2] x, f32[2] y))",
    "one instruction with unnamed operands": "%m = f32[2,4]{1,0} multiply(f32[2,4]{1,0}, f32[2,4]{1,0})",
    "one instruction with its computations in place": """
f32[3] while(f32[3]), condition=
{
  tmp_0 = f32[3] parameter(0)
  ROOT tmp_1 = pred[] constant(false)
}, body=
{
  tmp_0 = f32[3] parameter(0)
  ROOT tmp_1 = f32[3] fusion(tmp_0), kind=kLoop, calls=
  {
    tmp_0 = f32[3] parameter(0)
    ROOT tmp_1 = f32[3] negate(tmp_0)
  }
}""",
    "branches in place": """
f32[3] conditional(s32[], f32[3], f32[3]), branch_computations={
{
  a = f32[3] parameter(0)
  ROOT b = f32[3] ceil(a)
},
{
  a = f32[3] parameter(0)
  ROOT b = f32[3] floor(a)
}
}""",
    "computations in place inside a module": """
HloModule m
ENTRY e {
  p = f32[4] parameter(0)
  z = f32[] constant(0)
  r = f32[] reduce(p, z), dimensions={0}, to_apply={ a = f32[] parameter(0) b = f32[] parameter(1) c = add(a, b) }
  ROOT s = f32[] call(r), to_apply={
    a = f32[] parameter(0)
    ROOT b = f32[] call(a), to_apply={ ROOT q = f32[] parameter(0) }
  }, metadata={op_name="x"}
}""",
    "blanks around the arrow of the entry's layout": """
HloModule m, entry_computation_layout={(f32[8,16]{0,1}) -> f32[8,16]}
ENTRY e { ROOT p = f32[8,16] parameter(0) }""",
    "line ends of old machines": "HloModule m:\r// one\rENTRY e {\r// two\rROOT p = f32[1] parameter(0) // three\r}",
    "nested operands, with shapes omitted": """
HloModule m
ENTRY e {
  ROOT root = add(f32[10] parameter(0), multiply(f32[10] parameter(1), f32[10] parameter(2)))
}""",
    "nested operands in a tuple over several lines": """
HloModule m
ENTRY e {
  ROOT root = get-tuple-element(
    (f32[10], f16[10]) tuple(f32[10] parameter(0), f16[10] parameter(1))
  ), index=0
}""",
    "an instruction may bear the name of its operation": """
HloModule m
ENTRY e {
  add = add(f32[2] parameter(0), f32[2] parameter(1))
  ROOT t = tuple(add, add(add, add), add)
}""",
    "comments of all kinds": """
// leading
HloModule m /* a */, /* b */ is_scheduled=true // end
/* several
   lines * / */
ENTRY e {
  // alone
  a = f32[2]{0} parameter(0) // trailing
  b = (f32[2]{0}, f32[2]{0}, f32[2]{0}, f32[2]{0}, f32[2]{0}, /*index=5*/f32[2]{0}) tuple(a, a, a, a, a, /*index=5*/a)
  ROOT c = f32[2] get-tuple-element(b), index=5
}
// CHECK: the end
/* and */ // more""",
    "stack frame tables": """
HloModule m, entry_computation_layout={()->pred[]}

FileNames
1 "<embedded module>"
2 "dir/module.py"

FunctionNames
1 "main"

FileLocations
1 {file_name_id=1 function_name_id=1 line=153 end_line=153 column=2 end_column=31}

StackFrames
1 {file_location_id=1 parent_frame_id=1}


ENTRY %c () -> pred[] {
  ROOT %c1 = pred[] constant(true), metadata={op_type="const" op_name="a \\"b\\" {c}" stack_frame_id=1}
}
""",
    "execution threads": """
HloModule m
worker {
  ROOT p = f32[10]{0} parameter(0)
}, execution_thread="parallel"
ENTRY e {
  p0 = f32[10]{0} parameter(0)
  s = ((f32[10]{0}), f32[10]{0}, s32[]) async-start(p0), async_execution_thread="parallel", calls=worker
  u = ((f32[10]{0}), f32[10]{0}, s32[]) async-update(s)
  ROOT d = f32[10]{0} async-done(u)
}, execution_thread="main"
""",
    "asynchronous short forms": """
HloModule m
ENTRY e {
  p0 = f32[10]{0} parameter(0)
  s = ((f32[10]{0}), f32[20]{0}, s32[]) custom-call-start(p0), custom_call_target="foo"
  u = ((f32[10]{0}), f32[20]{0}, s32[]) custom-call-update(s)
  ROOT d = f32[20]{0} custom-call-done(u)
}
""",
    "input output aliases and donors": """
HloModule m, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {2}, must-alias) }, buffer_donor={ (1, {}) }, alias_passthrough_params=true
ENTRY e {
  a = f32[] parameter(0)
  ROOT t = (f32[], f32[]) tuple(a, a)
}
""",
    "a recovery table with a module in a string": """
HloModule m, num_partitions=2, origin_recovery_table={
  {"c"} : {"c__ovp0"},
  "
    HloModule inner
    ENTRY %e (p: s32[2]) -> s32[2] { ROOT %p = s32[2]{0} parameter(0) }
  "
}

ENTRY e {
  ROOT a = f32[] parameter(0), origin={{"v1"}}
}
""",
}


@pytest.mark.parametrize("text", WHOLE_PROGRAMS.values(), ids=WHOLE_PROGRAMS)
def test_whole_programs_round_trip(text):
    round_trip(text)


LINES = [
    "s = f32[4,5,1,1]{3,2,1,0} parameter(0), sharding={maximal device=1}",
    "s = (f32[], f32[3]{0}) parameter(0), sharding={{manual}, {devices=[2,1]<=[2]}}",
    's = f32[4] parameter(0), sharding={devices=[2,2]0,1,2,3 metadata={op_name="a"}}',
    "s = f32[4] parameter(0), sharding={mesh['a'=2,'b'=4], [{'a'}, {}]}",
    "s = f32[4] parameter(0), parameter_replication={true}",
    's = f32[4] parameter(0), origin={{"v1" {0}}}',
    "s = f32[4] parameter(0), origin={[synthetic_call]}",
    "s = f32[4] parameter(0), statistics={visualizing_index=1,stat-1=33,stat-2=44}",
    's = f32[4] parameter(0), frontend_attributes={a="1",b={n = 1 : i32, t = dense<1> : tensor<i32>}}',
    's = f32[4] parameter(0), backend_config={"a":{"b":[1,2]},"c":"}"}',
    's = f32[4] parameter(0), backend_config="raw \\" text"',
    's = f32[4] parameter(0), metadata={op_type="a" op_name="b" source_file="c" source_line=1 profile_type={1} deduplicated_name="d"}',
    "s = f32[4]{0:T(8,128)(2,1)} parameter(0)",
    "s = f32[4]{0:T(256)S(1)} parameter(0)",
    "s = f32[]{:T(256)} parameter(0)",
    "s = f32[2,3]{1,0:T(*,4)E(4)S(5)} parameter(0)",
    "s = f32[2,3]{1,0:D(D,C)#(u32)*(u32)} parameter(0)",
    "s = f32[2,3]{1,0:L(4)SC(1:200,300)(0:1)M(8)} parameter(0)",
    "s = f32[2,3]{1,0:D(D,C)P(f32[6]{0})} parameter(0)",
    "s = f32[<=4,?,3]{2,1,0} parameter(0)",
    "s = (s32[<=4], (pred[], token[]), ()) parameter(0)",
    "s = b(f32[2]{0}) parameter(0)",
    "s = opaque[] parameter(0)",
    "s = c64[2] constant({(1, -2.5), (nan, inf)})",
    "s = c64[2] constant({(nan(0x1), -nan(0x2)), (0, nan(0x3))})",
    "s = c128[] constant((-nan(0x1), 4))",
    "s = f32[2,2] constant({ { 1, 2 }, /*i0=1*/ { 3, 4 } })",
    "s = f32[2,0,3] constant({ { /*i0=0*/ }, { /*i0=1*/ } })",
    "s = f32[0] constant({})",
    "s = f32[3] constant({nan, -inf, -nan})",
    "s = f32[3] constant({nan(0x1), -nan(0x400001), -0})",
    "s = bf16[2] constant({-3.39e+38, nan(0x7f)})",
    "s = f8e4m3fn[3] constant({nan, 7, -nan})",
    "s = f8e5m2[2] constant({inf, -2})",
    "s = (f32[2,1], s32[2]) constant(( { {1}, {2} }, {2, 42} ))",
    "s = ((f32[], c64[]), pred[3]) constant(((1, (2, 3)), {1, 0, true}))",
    "s = f32[1000000] constant({...})",
    "s = s4[2] constant({-8, 7})",
    "s = u64[1] constant({18446744073709551615})",
    "s = pred[] constant(false)",
    "s = u64[] constant(-1)",
    "s = f32[] exponential(f32[] constant(1)), result_accuracy={mode=highest}",
    's = f32[2] parameter(0), sharding={mesh[a=2,b=4], [{a}, {b:(2)2, ?}], unreduced={c}, metadata={{op_name="f"}}}',
    "s = (f32[], f32[]) parameter(0), sharding={{replicated}, {devices=[2,2]<=[2,2]T(1,0) last_tile_dims={manual, replicated} shard_like 1}}",
    "s = f64[] constant(-1.79769313486231570e+308)",
    "s = u64[2]{0} rng-get-and-update-state(), delta=4096",
    "s = u32[] replica-id()",
    's = f32[100]{0} custom-call(), window={size=2x2}, dim_labels=?b01f_0?1io->b01?f, custom_call_target="t"',
    's = f32[2] custom-call(), custom_call_target="foo\\"bar", literal=( s32[2]{0} {4, 128}, pred[] true ), api_version=API_VERSION_STATUS_RETURNING',
    's = f32[2] custom-call(), custom_call_target="x", output_to_operand_aliasing={{}: (0, {})}, schedule=SCHEDULE_LATEST',
    's = f32[2] custom-call(), custom_call_target="x", operand_layout_constraints={f32[2]{0}, (s32[], f32[1]{0})}',
]


@pytest.mark.parametrize("line", LINES)
def test_single_instructions_round_trip(line):
    round_trip(one_op(line))


COLLECTIVES = [
    "r = f32[4] all-reduce(p), replica_groups={{0,1},{2,3}}, channel_id=1, use_global_device_ids=true, to_apply=add_f32",
    "r = f32[4] all-reduce(p), replica_groups=[2,4]<=[8], to_apply=add_f32",
    "r = f32[4] all-reduce(p), replica_groups=[2,4]<=[4,2]T(1,0), to_apply=add_f32",
    "r = f32[4] all-reduce(p), replica_groups={}, to_apply=add_f32, sharding={replicated}",
    "r = f32[8] all-gather(p), dimensions={0}, replica_groups={{0,1}}, constrain_layout=true",
    "r = f32[2] reduce-scatter(p), replica_groups={{0,1}}, dimensions={0}, to_apply=add_f32",
    "r = f32[4] collective-permute(p), source_target_pairs={{0,1},{1,0}}",
    "r = f32[4] collective-permute(p), source_target_pairs={{0,1}}, slice_sizes={{1,8},{1,8}}",
    "r = (f32[4], f32[4]) all-to-all(p, p), replica_groups={{0,1}}",
]


@pytest.mark.parametrize("line", COLLECTIVES)
def test_collectives_round_trip(line):
    round_trip(one_op(f"p = f32[4] parameter(0)\n{line}", before=ADD))


def root_of(body: str, before: str = "") -> object:
    return round_trip(one_op(body, before=before)).entry_computation.root_instruction


def test_attributes_have_typed_values():
    p = "p = f32[8,8] parameter(0)\n"
    root = root_of(p + "r = f32[3,2] slice(p), slice={[0:6:2], [1:3]}")
    assert root.attributes["slice"] == (SliceLimits(0, 6, 2), SliceLimits(1, 3))
    root = root_of(p + "z = f32[] constant(0)\nr = f32[9,15] pad(p, z), padding=0_1x-1_1_1")
    assert root.attributes["padding"] == (PadDimension(0, 1), PadDimension(-1, 1, 1))
    root = root_of(p + "r = pred[8,8] compare(p, p), direction=LT, type=TOTALORDER")
    assert root.attributes["direction"] is ComparisonDirection.LT
    root = root_of(
        p + "r = f32[8] reduce(p, f32[] constant(0)), dimensions={1}, to_apply=%add_f32", ADD
    )
    assert root.dimensions == (1,) and root.callees == ("add_f32",)
    root = root_of(
        p + "r = f32[8,8] fusion(p), kind=kLoop, calls=c", "c { ROOT q = f32[8,8] parameter(0) }"
    )
    assert root.attributes["kind"] is FusionKind.LOOP
    root = root_of(
        p + "r = f32[4,4] reduce-window(p, f32[] constant(0)), "
        "window={size=2x2 stride=2x2 pad=0_0x1_-1 rhs_reversal=0x1}, to_apply=add_f32",
        ADD,
    )
    assert root.attributes["window"].dimensions == (
        WindowDimension(2, 2),
        WindowDimension(2, 2, 1, -1, is_reversed=True),
    )


def test_computations_in_place_are_computations_with_names_of_their_own():
    module = round_trip(WHOLE_PROGRAMS["computations in place inside a module"])
    reduce, call = (module.entry_computation.instruction(name) for name in "rs")
    inner = module.computation(call.callees[0])
    assert len(module.computations) == 4
    assert reduce.callees != call.callees
    assert module.computation(inner.root_instruction.callees[0]).root == "q"
    assert inner.instruction("b").line == 9


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("dot(), algorithm=DOT_BF16_BF16_F32_X3", "algorithm", Verbatim("dot_bf16_bf16_f32_x3")),
        ("rng-bit-generator(), algorithm=RNG_PHILOX", "algorithm", RandomAlgorithm.PHILOX),
        ("rng(), distribution=Rng_Normal", "distribution", RandomDistribution.NORMAL),
        (
            "dot(), operand_precision={HIGHEST, Default}",
            "operand_precision",
            ("highest", "default"),
        ),
    ],
)
def test_some_words_may_be_written_large(text, key, value):
    (instruction,) = parse_module(one_op(f"a = f32[2] {text}")).entry_computation.instructions
    assert instruction.attributes[key] == value


def test_unknown_attributes_are_kept_verbatim():
    root = root_of('r = f32[] parameter(0), shiny={a=[1,2], {"}"}}, other=[1,2]<=[2]T(0)')
    assert root.attributes["shiny"] == Verbatim('{a=[1,2], {"}"}}')
    assert root.attributes["other"] == Verbatim("[1,2]<=[2]T(0)")


def test_omitted_shapes_are_inferred():
    module = round_trip(
        one_op(
            """
            p = f32[4,8] parameter(0)
            t = transpose(p), dimensions={1,0}
            d = dot(p, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}
            c = compare(d, d), direction=EQ
            s = select(c, d, d)
            r = reduce(s, f32[] constant(0)), dimensions={0}, to_apply=add_f32
            w = select-and-scatter(r, r, f32[] constant(0)), select=ge_f32, scatter=add_f32, window={size=1}
            u = tuple(w, c)
            """,
            before=ADD + GE,
        )
    )
    shape = module.entry_computation.shape
    assert isinstance(shape, TupleShape)
    assert str(shape) == "(f32[4]{0}, pred[4,4]{1,0})"


def test_dynamic_dimensions_keep_bound_and_kind():
    shape = root_of("r = f32[<=4,?,3] parameter(0)").shape
    assert shape.dimensions == (4, UNBOUNDED, 3)
    assert shape.dynamic == (True, True, False)


def test_layouts_keep_tiles_and_memory():
    layout = root_of("r = f32[2,3]{0,1:T(8,128)(2,1)S(3)E(16)} parameter(0)").shape.layout
    assert layout.tiles == ((8, 128), (2, 1))
    assert (layout.memory_space, layout.element_size_bits) == (3, 16)
    assert layout.minor_to_major == (0, 1)


def test_literals_hold_the_written_bits():
    root = root_of("r = f32[4] constant({nan(0x1), -nan(0x400001), -0, 3.4028235e38})")
    bits = root.literal.array.view(np.uint32)
    assert [hex(b) for b in bits] == ["0x7f800001", "0xffc00001", "0x80000000", "0x7f7fffff"]
    truths = root_of("r = pred[5] constant({5, -1, 0, -0, true})").literal.array
    assert truths.tolist() == [True, True, False, False, True]
    assert root_of("r = s4[2] constant({-8, 7})").literal.array.astype(np.int8).tolist() == [-8, 7]


def test_a_literal_of_many_empty_rows_is_short():
    module = round_trip(one_op("r = f32[1000000000000,0] constant({})"))
    assert "constant({})" in print_module(module)


def test_aliases_are_read():
    module = round_trip(WHOLE_PROGRAMS["input output aliases and donors"])
    assert module.aliases == (Alias((0,), 0, (), "may-alias"), Alias((1,), 1, (2,), "must-alias"))


def test_metadata_fields_are_read_on_demand():
    root = root_of(
        'r = f32[] parameter(0), metadata={op_name="jit(f)/a b" source_file="m.py" source_line=12}'
    )
    assert root.metadata.op_name == "jit(f)/a b"
    assert root.metadata.source_line == 12
    assert root.metadata.op_type is None


def test_async_short_forms_know_what_they_wrap():
    module = round_trip(WHOLE_PROGRAMS["asynchronous short forms"])
    start = module.entry_computation.instruction("s")
    assert start.opcode is Opcode.ASYNC_START
    assert start.attributes["wrapped_opcode"] is Opcode.CUSTOM_CALL


def test_instructions_know_their_line_and_comparison_ignores_it():
    first = parse_module(one_op("a = f32[] parameter(0)"))
    second = parse_module("\n\n" + one_op("a = f32[] parameter(0)"))
    assert first == second
    assert first.entry_computation.instruction("a").line == 4
    assert second.entry_computation.instruction("a").line == 6


def test_every_opcode_parses():
    for opcode in Opcode:
        if opcode in (Opcode.CONSTANT, Opcode.PARAMETER):
            continue
        root = root_of(f"r = f32[7] {opcode.text}()")
        assert root.opcode is opcode


def test_every_element_type_has_its_shape_and_size():
    for kind in ElementType:
        if kind in (ElementType.TOKEN, ElementType.OPAQUE):
            continue
        shape = root_of(f"r = {kind}[3] parameter(0)").shape
        assert shape.element_type is kind
        assert shape.size_bytes == 3 * kind.dtype.itemsize


def test_a_long_chain_parses_in_linear_space():
    lines = ["v0 = f32[] parameter(0)"] + [
        f"v{i} = f32[] add(v{i - 1}, v{i - 1})" for i in range(1, 3000)
    ]
    module = round_trip(one_op("\n".join(lines)))
    assert module.instruction_count == 3000


def test_nested_tuple_shapes_round_trip_to_the_stated_depth():
    depth = MAX_TUPLE_DEPTH
    shape = root_of("r = " + "(" * depth + "f32[]" + ")" * depth + " parameter(0)").shape
    for _ in range(depth):
        shape = shape.elements[0]
    assert shape.element_type is ElementType.F32
