# ruff: noqa: E501  (HLO text keeps its own line lengths)
"""What must hold beyond shapes: attributes, asynchronous pairs, groups, threads, aliases."""

from __future__ import annotations

import pytest

from compiler.hlo.errors import HloVerifyError
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify
from tests.hlo.programs import ADD, GE, one_op

P = "p = f32[2,3] parameter(0)\n"
V = "p = f32[8] parameter(0)\n"
START = "((f32[2,3]), f32[2,3], u32[])"
WORKER = "work {\n  x = f32[2,3] parameter(0)\n  ROOT n = f32[2,3] negate(x)\n}"
PAR = WORKER + ', execution_thread="par"\n'
INTS = (
    "add_s32 {\n  x = s32[] parameter(0)\n  y = s32[] parameter(1)\n  ROOT r = s32[] add(x, y)\n}\n"
)

REFUSED = {
    "an attribute out of place": (P + "r = f32[2,3] negate(p), dimensions={0}", "negate takes no attribute dimensions"),
    "an attribute of the header": (P + "r = f32[2,3] negate(p), replica_count=2", "negate takes no attribute replica_count"),
    "a callee out of place": (P + "r = f32[3,2] transpose(p), dimensions={1,0}, to_apply=add_f32", "transpose takes no attribute to_apply"),
    "accuracy of a copy": (P + "r = f32[2,3] copy(p), result_accuracy={mode=highest}", "copy takes no attribute result_accuracy"),
    "no epsilon": (P + "s = f32[3] parameter(1)\nr = (f32[2,3], f32[3], f32[3]) batch-norm-training(p, s, s), feature_index=1", "attribute epsilon is missing"),
    "a fusion without its kind": (P + "r = f32[2,3] fusion(p), calls=work", "attribute kind is missing"),
    "no delta": ("r = u64[2] rng-get-and-update-state()", "attribute delta is missing"),
    "branches of a truth value": (P + "t = pred[] parameter(1)\nr = f32[2,3] conditional(t, p, p), branch_computations={work, work}", "attribute true_computation is missing"),
    "branches of a number": (P + "t = s32[] parameter(1)\nr = f32[2,3] conditional(t, p, p), true_computation=work, false_computation=work", "attribute branch_computations is missing"),
    "a start used twice": (P + f"s = {START} async-start(p), calls=work\na = f32[2,3] async-done(s)\nb = f32[2,3] async-done(s)\nr = f32[2,3] add(a, b)", "needs exactly one user, has 2"),
    "a start without done": (P + f"s = {START} negate-start(p)", "needs exactly one user, has 0"),
    "an update without done": (P + f"s = {START} negate-start(p)\nu = {START} negate-update(s)", "needs exactly one user, has 0"),
    "a start used otherwise": (P + f"s = {START} negate-start(p)\nr = f32[2,3] get-tuple-element(s), index=1", "its user must be async-update or async-done, it is get-tuple-element"),
    "a done without start": (P + f"u = u32[] constant(0)\ng = (f32[2,3]) tuple(p)\nt = {START} tuple(g, p, u)\nr = f32[2,3] async-done(t)", "its operand must be async-start or async-update, it is tuple"),
    "a copy done twice": (P + "s = (f32[2,3], f32[2,3], u32[]) copy-start(p)\na = f32[2,3] copy-done(s)\nb = f32[2,3] copy-done(s)\nr = f32[2,3] add(a, b)", "needs exactly one user, has 2"),
    "an all-reduce done twice": (V + "s = f32[8] all-reduce-start(p), to_apply=add_f32\na = f32[8] all-reduce-done(s)\nr = f32[8] all-reduce-done(s)", "needs exactly one user, has 2"),
    "a permutation's start": (V + "s = f32[8] collective-permute-start(p), source_target_pairs={{0,0}}\nr = f32[8] collective-permute-done(s)", "the result must be (operand, result, ...)"),
    "operands that are not wrapped": (P + "s = (f32[2,3], f32[2,3], u32[]) async-start(p), calls=work\nr = f32[2,3] async-done(s)", "the result must begin with the operands (f32[2,3])"),
    "a result of another shape": (P + "s = ((f32[2,3]), f32[3,2], u32[]) async-start(p), calls=work\nr = f32[3,2] async-done(s)", "yields f32[2,3], the result is said to be f32[3,2]"),
    "operands of another shape": ("p = f32[3,2] parameter(0)\ns = ((f32[3,2]), f32[2,3], u32[]) async-start(p), calls=work\nr = f32[2,3] async-done(s)", "takes (f32[2,3]), (f32[3,2]) is given"),
    "a wrapped operation's result": (P + "s = ((f32[2,3]), f32[3,2], u32[]) negate-start(p)\nr = f32[3,2] negate-done(s)", "the result must be f32[2,3]{1,0}, it is f32[3,2]"),
    "an update of another shape": (P + f"s = {START} negate-start(p)\nu = ((f32[2,3]), f32[3,2], u32[]) negate-update(s)\nr = f32[3,2] negate-done(u)", "the result must be ((f32[2,3]), f32[2,3], u32[])"),
    "a done of another shape": (P + f"s = {START} negate-start(p)\nr = f32[3,2] negate-done(s)", "the result must be f32[2,3], it is f32[3,2]"),
    "another operation's done": (P + f"s = {START} negate-start(p)\nr = f32[2,3] abs-done(s)", "wrapped_opcode must be negate as in s, it is abs"),
    "another computation's done": (P + f"s = {START} async-start(p), calls=work\nr = f32[2,3] async-done(s), calls=other", "calls must be work as in s, it is other"),
    "another thread's done": (P + f"s = {START} negate-start(p)\nr = f32[2,3] negate-done(s), async_execution_thread=\"far\"", "async_execution_thread must be main as in s, it is far"),
    "a computation started twice": (P + f"s = {START} async-start(p), calls=work\na = f32[2,3] async-done(s)\nt = {START} async-start(a), calls=work\nr = f32[2,3] async-done(t)", "computation work is started by s already"),
    "an empty group": (V + "r = f32[8] all-reduce(p), replica_groups={{0},{}}, to_apply=add_f32", "replica_groups has an empty group"),
    "a replica twice": (V + "r = f32[8] all-reduce(p), replica_groups={{0,1},{2,0}}, to_apply=add_f32", "names replica 0 more than once"),
    "a replica left out": (V + "r = f32[8] all-reduce(p), replica_groups={{0,1},{3,4}}, to_apply=add_f32", "does not name replica 2"),
    "groups of two sizes": (V + "r = (f32[8], f32[8]) all-to-all(p, p), replica_groups={{0,1},{2}}", "must have groups of one size"),
    "global ids without a channel": (V + "r = f32[8] all-reduce(p), use_global_device_ids=true, replica_groups={{0}}, to_apply=add_f32", "needs a channel_id"),
    "global ids without groups": (V + "r = f32[8] all-reduce(p), channel_id=1, use_global_device_ids=true, to_apply=add_f32", "needs replica_groups"),
    "parts for a group": (V + "r = (f32[8], f32[8], f32[8]) all-to-all(p, p, p), replica_groups={{0,1}}", "has 3 operands for groups of 2"),
    "gathered too long": (V + "r = f32[12] all-gather(p), dimensions={0}", "f32[8] cannot become f32[12]"),
    "gathered to nothing": (V + "r = f32[0] all-gather(p), dimensions={0}", "f32[8] cannot become f32[0]"),
    "gathered from nothing": ("p = f32[0] parameter(0)\nr = f32[4] all-gather(p), dimensions={0}", "f32[0] cannot become f32[4]"),
    "gathered along another dimension": (P + "r = f32[4,3] all-gather(p), dimensions={2}", "dimension 2 is out of range"),
    "gathered by the group's size": (V + "r = f32[24] all-gather(p), dimensions={0}, replica_groups={{0,1}}", "is gathered among 2"),
    "scattered by the group's size": (V + "r = f32[8] reduce-scatter(p), dimensions={0}, replica_groups={{0,1}}, to_apply=add_f32", "is scattered among 2"),
    "a source twice": (V + "r = f32[8] collective-permute(p), source_target_pairs={{0,1},{0,2}}", "source 0 appears more than 1 times"),
    "a target twice": (V + "r = f32[8] collective-permute(p), source_target_pairs={{0,2},{1,2}}", "target 2 appears more than 1 times"),
    "a channel for two purposes": (V + "t = token[] after-all()\ns = (f32[8], u32[], token[]) send(p, t), channel_id=1\nd = token[] send-done(s), channel_id=1\nr = f32[8] all-reduce(p), channel_id=1, to_apply=add_f32", "channel 1 serves both"),
    "floats compared as integers": (P + "r = pred[2,3] compare(p, p), direction=LT, type=SIGNED", "f32 is compared as FLOAT or TOTALORDER, not as SIGNED"),
    "unsigned compared as signed": ("p = u8[4] parameter(0)\nr = pred[4] compare(p, p), direction=LT, type=SIGNED", "u8 is compared as UNSIGNED, not as SIGNED"),
    "truths compared as signed": ("p = pred[4] parameter(0)\nr = pred[4] compare(p, p), direction=LT, type=SIGNED", "pred is compared as UNSIGNED"),
    "complex numbers in order": ("p = c64[4] parameter(0)\nr = pred[4] compare(p, p), direction=LT", "c64 has no order"),
    "normal integers": ("a = s32[] constant(0)\nb = s32[] constant(1)\nr = s32[4] rng(a, b), distribution=rng_normal", "rng_normal cannot yield s32"),
    "bounds of another type": ("a = s32[] constant(0)\nb = s32[] constant(1)\nr = f32[4] rng(a, b), distribution=rng_uniform", "operand 0 must be f32 as the result is, it is s32"),
    "a reducer of other operands": ("p = s32[8] parameter(0)\nz = s32[] constant(0)\nr = f32[] reduce(p, z), dimensions={0}, to_apply=add_f32", "the reducer takes f32[] as parameter 0, s32 is given"),
    "an initial value of another type": (V + "z = s32[] constant(0)\nr = f32[] reduce(p, z), dimensions={0}, to_apply=add_f32", "the reducer takes f32[] as parameter 1, s32 is given"),
    "a mapped computation's operands": ("p = s32[8] parameter(0)\nr = f32[8] map(p, p), dimensions={0}, to_apply=add_f32", "parameter 0 of add_f32 is f32[]"),
    "a mapped computation's count": (V + "r = f32[8] map(p), dimensions={0}, to_apply=add_f32", "takes 2 parameters, 1 are given"),
    "constraints for one of two operands": (V + 'r = f32[8] custom-call(p, p), custom_call_target="t", operand_layout_constraints={f32[8]{0}}', "do not fit the operands"),
    "constraints of another shape": (V + 'r = f32[8] custom-call(p), custom_call_target="t", operand_layout_constraints={f32[9]{0}}', "do not fit the operands"),
    "replication of too many arrays": ("r = (f32[8], f32[]) parameter(0), parameter_replication={true,false,true}", "has 3 entries for 2 arrays"),
    "infeed without token": ("t = token[] after-all()\nr = pred[] infeed(t)", "the result must be (data, token[])"),
    "a transform of other lengths": ("p = c64[4,6] parameter(0)\nr = c64[4,6] fft(p), fft_type=FFT, fft_length={4,5}", "fft_length 5 does not fit 6"),
    "half a transform": ("p = c64[4] parameter(0)\nr = f32[8] fft(p), fft_type=IRFFT, fft_length={8}", "fft_length 8 does not fit 4"),
    "start indices of two types": (P + "i = s32[] constant(0)\nj = s64[] constant(0)\nr = f32[1,1] dynamic-slice(p, i, j), dynamic_slice_sizes={1,1}", "start indices must have one type, they have s32, s64"),
    "a comparator of other operands": ("p = s32[8] parameter(0)\nr = s32[8] sort(p), dimensions={0}, to_apply=ge_f32", "the comparator takes f32[] as parameter 0, s32 is given"),
    "offsets out of order": (P + "i = s32[4,2] parameter(1)\nr = f32[1,1,4] gather(p, i), offset_dims={1,0}, collapsed_slice_dims={}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1}", "must be in ascending order"),
    "batching dimensions of two extents": (P + "i = s32[4,1] parameter(1)\nr = f32[4] gather(p, i), offset_dims={}, collapsed_slice_dims={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, start_index_map={1}, index_vector_dim=1, slice_sizes={1,1}", "batching dimensions 0 of f32[2,3] and 0 of s32[4,1] must be equal"),
    "a triangle of integers": ("a = s32[2,2] parameter(0)\nr = s32[2,2] triangular-solve(a, a), lower=true", "operand must be float or complex, it is s32"),
    "bits of a complex number": ("p = c64[4] parameter(0)\nr = f64[4] bitcast-convert(p)", "bitcast-convert cannot turn c64[4] into f64[4]"),
    "a later control predecessor": (V + "a = f32[8] negate(p), control-predecessors={r}\nr = f32[8] abs(p)", "control predecessor r is missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_broken_rule_is_named(name):
    body, rule = REFUSED[name]
    text = one_op(body, before=ADD + GE + WORKER + "\n" + WORKER.replace("work", "other", 1))
    with pytest.raises(HloVerifyError) as raised:
        verify(parse_module(text, "x.hlo"))
    assert rule in str(raised.value)
    assert str(raised.value).startswith("x.hlo:")


ACCEPTED = {
    "an attribute nobody knows": P + "r = f32[2,3] negate(p), shiny=1",
    "groups of two sizes": V + "r = f32[8] all-reduce(p), replica_groups={{0},{1,3},{2}}, to_apply=add_f32",
    "groups as an iota": V + "r = f32[8] all-reduce(p), replica_groups=[2,4]<=[4,2]T(1,0), to_apply=add_f32",
    "a permutation in place": P + "q = f32[8,8] parameter(1)\ni = s32[] constant(0)\nt = (s32[], s32[]) tuple(i, i)\nr = f32[8,8] collective-permute(p, q, t, t), source_target_pairs={{0,1},{1,0}}, slice_sizes={{2,3}}",
    "asynchronous with updates": P + f"s = {START} async-start(p), calls=work\nu = {START} async-update(s)\nr = f32[2,3] async-done(u)",
    "asynchronous on another thread": P + f'u = {START} negate-start(p), async_execution_thread="par"\nr = f32[2,3] negate-done(u)',
    "mixed float widths in a reducer": "p = f16[8] parameter(0)\nz = f16[] constant(0)\nr = f16[] reduce(p, z), dimensions={0}, to_apply=add_f32",
    "mixed float widths in a map": "p = f64[8] parameter(0)\nr = f32[8] map(p, p), dimensions={0}, to_apply=add_f32",
    "uniform integers": "a = s32[] constant(0)\nb = s32[] constant(9)\nr = s32[4] rng(a, b), distribution=rng_uniform",
    "several collectives on one channel": V + "a = f32[8] all-reduce(p), channel_id=1, replica_groups={{0}}, to_apply=add_f32\nr = f32[8] all-gather(a), channel_id=1, replica_groups={{0}}, dimensions={0}",
    "total order of bf16": "p = bf16[8] parameter(0)\nr = pred[8] compare(p, p), direction=LT, type=TOTALORDER",
    "equality of complex numbers": "p = c64[8] parameter(0)\nr = pred[8] compare(p, p), direction=NE, type=FLOAT",
}  # fmt: skip


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_xla_allows_is_allowed(name):
    verify(parse_module(one_op(ACCEPTED[name], before=ADD + WORKER)))


def test_only_an_asynchronous_start_leaves_the_thread():
    verify(parse_module(one_op(P + f"s = {START} async-start(p), calls=work\nr = f32[2,3] async-done(s)", before=PAR)))  # fmt: skip
    for call in ("call(p), to_apply=work", "fusion(p), kind=kLoop, calls=work"):
        with pytest.raises(HloVerifyError, match="computation work runs on thread par"):
            verify(parse_module(one_op(P + f"r = f32[2,3] {call}", before=PAR)))


DONORS = {
    "(2, {})": "names (2, {}), which is no array of the entry",
    "(1, {})": "names (1, {}), which is no array of the entry",
    "(1, {3})": "names (1, {3}), which is no array of the entry",
    "(1, {1}), (0, {})": "names (0, {}), which input_output_alias names already",
}


@pytest.mark.parametrize("donor", DONORS)
def test_donors_are_arrays_of_the_entry_that_nothing_else_takes(donor):
    body = "p = f32[2] parameter(0)\nq = (f32[], f32[2]) parameter(1)\nr = f32[2] negate(p)"
    header, _, rest = one_op(body).partition("\n")
    header += ", input_output_alias={ {}: (0, {}) }, buffer_donor="
    verify(parse_module(f"{header}{{ (1, {{1}}), (1, {{0}}) }}\n{rest}"))
    with pytest.raises(HloVerifyError) as raised:
        verify(parse_module(f"{header}{{ {donor} }}\n{rest}"))
    assert DONORS[donor] in str(raised.value)


@pytest.mark.parametrize("stray", ["dimensions={0}", "sharding={replicated}", "to_apply=work"])
def test_the_header_takes_no_attribute_of_an_operation(stray):
    text = one_op(P + "r = f32[2,3] negate(p)", before=WORKER + "\n")
    header, _, rest = text.partition("\n")
    verify(parse_module(f'{header}, frontend_attributes={{a="b"}}, shiny=1\n{rest}'))
    with pytest.raises(HloVerifyError, match="a module takes no attribute"):
        verify(parse_module(f"{header}, {stray}\n{rest}"))


ALIASES = {
    "{}: (3, {})": "names parameter 3, there are 2",
    "{2}: (0, {})": "names a part that is not there",
    "{0}: (0, {1})": "names a part that is not there",
    "{1}: (0, {})": "puts f32[2] into the memory of f32[4]",
    "{0}: (0, {}), {0}: (1, {})": "names output {0} twice",
}


@pytest.mark.parametrize("alias", ALIASES)
def test_aliases_must_fit_the_entry(alias):
    body = "p = f32[4] parameter(0)\nq = f32[4] parameter(1)\ns = f32[2] slice(p), slice={[0:2]}\nr = (f32[4], f32[2]) tuple(q, s)"
    text = one_op(body).replace("HloModule m", f"HloModule m, input_output_alias={{ {alias} }}")
    with pytest.raises(HloVerifyError) as raised:
        verify(parse_module(text))
    assert ALIASES[alias] in str(raised.value)
