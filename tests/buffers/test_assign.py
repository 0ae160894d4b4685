"""Buffer assignment: results survive reuse, places never overlap while alive, peaks are low."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.buffers.assign import Assignment, assign
from compiler.buffers.decisions import DonationTaken, OrderChosen, PlaceChosen
from compiler.hlo.evaluate import evaluate
from compiler.hlo.module import Module
from compiler.hlo.text import parse_module, read_module
from compiler.journal import Journal
from compiler.options import Options
from compiler.pipeline import run_hlo_passes
from tests.buffers.arena import Arena
from tests.hlo.programs import ADD, CASES, case_index
from tests.passes.helpers import NAMES, assert_same_bits, case, fused, inputs
from tests.passes.programs import random_program

XLA_PEAKS = {
    "attention": 3072,
    "bf16_mlp": 2496,
    "big_const": 128,
    "bit_ops": 2432,
    "cnn_fwd": 5888,
    "cond_switch": 640,
    "conv1d_signal": 1216,
    "conv2d_bias_relu": 4096,
    "conv_grads": 1792,
    "cross_entropy": 896,
    "cumsum": 2880,
    "dot_general": 4672,
    "dynamic_slice": 896,
    "embedding": 5120,
    "ew_chain": 896,
    "ew_fma": 10304,
    "f64_mlp": 2752,
    "fibonacci": 448,
    "fori_power_iter": 640,
    "gelu_erf": 16384,
    "gelu_tanh": 16384,
    "int_ops": 2624,
    "iota_grid": 512,
    "jacobi_stencil": 5504,
    "kv_cache_decode": 13184,
    "layernorm": 8960,
    "logsumexp": 6336,
    "mandelbrot": 3840,
    "matmul": 12032,
    "maxpool_avgpool": 2368,
    "mha_grad": 40256,
    "mlp_fwd": 5376,
    "mlp_train_sgd": 10112,
    "one_hot": 512,
    "prng_uniform_normal": 3136,
    "redundant_cse_dce": 320,
    "reductions": 2112,
    "scan_rnn": 1664,
    "scatter_add": 1792,
    "scatter_set_max": 1280,
    "softmax": 6336,
    "sort": 3200,
    "transcendentals": 16448,
    "where_select": 2304,
    "while_newton_sqrt": 384,
}
"""Bytes of XLA's allocations for each case (parameters, results, temporaries; each rounded up
to 64, constants and thread-local ones left out), from the .bufassign.txt files, jax 0.10.2."""


BENCH = case_index("bench")


@cache
def bench(name: str) -> Module:
    return run_hlo_passes(read_module(CASES / "bench" / f"{name}.hlo"), Options(), Journal())


def assigned(module: Module) -> Assignment:
    return assign(module, Options(), Journal())


def check_places(found: Assignment) -> None:
    """Arrays that are alive in the same step lie apart, unless one is written over the other."""
    for number, one in enumerate(found.placements):
        assert one.slice.offset % found.alignment == 0
        assert one.slice.end <= found.peak_bytes
        for other in found.placements[number + 1 :]:
            together = one.array.start <= other.array.end and other.array.start <= one.array.end
            if together and one.slice.overlaps(other.slice):
                assert one.slice.offset == other.slice.offset
                assert one.array.end == other.array.start or other.array.end == one.array.start
    assert found.lower_bound_bytes <= found.peak_bytes <= found.buffer_bytes
    for constant in found.constants:
        assert constant.slice.offset >= found.peak_bytes
        assert constant.slice.end <= found.arena_bytes


def test_the_table_of_xla_peaks_covers_every_case_with_an_assignment() -> None:
    assert set(XLA_PEAKS) == set(NAMES) - {"element_wise_chain"}


@pytest.mark.parametrize("name", XLA_PEAKS)
def test_no_case_needs_more_memory_than_in_xla(name: str) -> None:
    found = assigned(fused(name))
    check_places(found)
    assert found.peak_bytes <= XLA_PEAKS[name]


@pytest.mark.parametrize("info", BENCH, ids=lambda info: info["name"])
def test_no_benchmark_needs_more_memory_than_in_xla(info: dict) -> None:
    found = assigned(bench(info["name"]))
    check_places(found)
    arrays = info["n_in"] + info["n_out"] + 1
    wanted = info["arg_bytes"] + info["out_bytes"] + info["temp_bytes"]
    assert found.peak_bytes <= wanted + (found.alignment - 1) * arrays


def test_peaks_are_within_two_percent_of_the_largest_live_set() -> None:
    found = [assigned(fused(name)) for name in NAMES]
    found += [assigned(bench(info["name"])) for info in BENCH]
    excess = [a.peak_bytes / a.lower_bound_bytes - 1 for a in found]
    assert sum(excess) / len(excess) <= 0.02


@pytest.mark.parametrize("fuse", [True, False], ids=["fused", "unfused"])
@pytest.mark.parametrize("name", NAMES)
def test_results_survive_poisoned_memory(name: str, fuse: bool) -> None:
    module = run_hlo_passes(case(name), Options(fuse=fuse), Journal())
    found = assigned(module)
    results = Arena(module, found, by_rows=False).run(inputs(name))
    assert_same_bits(results, evaluate(case(name), *inputs(name)), name)


SMALL = ("element_wise_chain", "ew_chain", "cross_entropy", "redundant_cse_dce", "reductions")


def assert_close(found: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    for one, other in zip(found, wanted, strict=True):
        if other.dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", SMALL)
def test_kernels_run_row_by_row_on_the_arena(name: str) -> None:
    arena = Arena(fused(name), assigned(fused(name)), by_rows=True)
    assert_close(arena.run(inputs(name)), evaluate(case(name), *inputs(name)))
    assert arena.row_kernels


def check_random(seed: int, fuse: bool, steps: int) -> None:
    program, arrays = random_program(seed, steps)
    module = run_hlo_passes(program, Options(fuse=fuse), Journal())
    found = assigned(module)
    check_places(found)
    wanted = evaluate(program, *arrays)
    for by_rows in (False, True):
        assert_close(Arena(module, found, by_rows).run(arrays), wanted)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.integers(0, 10**6))
def test_random_programs_survive_poisoned_memory(seed: int) -> None:
    check_random(seed, fuse=True, steps=18)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10**6))
def test_random_unfused_programs_survive_poisoned_memory(seed: int) -> None:
    check_random(seed, fuse=False, steps=16)


CHAIN = """HloModule m
ENTRY e {
  x = f32[64] parameter(0)
  a = f32[64] sine(x)
  b = f32[64] exponential(a)
  ROOT c = f32[64] tanh(b)
}"""


def unfused(text: str) -> Module:
    return run_hlo_passes(parse_module(text), Options(fuse=False), Journal())


def test_an_elementwise_result_takes_its_operands_place_and_says_so() -> None:
    journal = Journal()
    found = assign(unfused(CHAIN), Options(), journal)
    assert (found.peak_bytes, found.buffer_bytes) == (512, 1024)
    told = {e.decision.subject: e.decision for e in journal.entries}
    assert "written over a" in told["b"].because
    assert isinstance(told["b"], PlaceChosen)
    assert told["x"].because.startswith("a parameter")


def test_a_parameter_is_never_overwritten_unless_it_is_donated() -> None:
    kept = assigned(unfused(CHAIN))
    donated = CHAIN.replace("HloModule m", "HloModule m, input_output_alias={ {}: (0, {}) }")
    given_away = assigned(unfused(donated))
    assert kept.parameters[0].slice != kept.outputs[0].slice
    assert given_away.parameters[0].slice == given_away.outputs[0].slice
    assert given_away.peak_bytes == 256


def test_a_donated_parameter_takes_its_result_even_if_others_came_between() -> None:
    text = """HloModule m{header}
    ENTRY e {{
      x = f32[64] parameter(0)
      r = f32[64] reverse(x), dimensions={{0}}
      ROOT c = f32[64] reverse(r), dimensions={{0}}
    }}"""
    given = parse_module(text.format(header=", input_output_alias={ {}: (0, {}, must-alias) }"))
    journal = Journal()
    found = assign(given, Options(), journal)
    assert found.outputs[0].slice == found.parameters[0].slice
    (told,) = [e.decision for e in journal.entries if isinstance(e.decision, DonationTaken)]
    assert told.parameter == "x" and "in the place of" in str(told)
    kept = assigned(parse_module(text.format(header="")))
    assert kept.outputs[0].slice != kept.parameters[0].slice


def test_a_donated_parameter_that_is_read_too_late_is_told() -> None:
    text = """HloModule m, input_output_alias={ {0}: (0, {}) }
    ENTRY e {
      x = f32[8,8] parameter(0)
      r = f32[8,8] reverse(x), dimensions={0}
      ROOT t = (f32[8,8], f32[8,8]) tuple(r, x)
    }"""
    journal = Journal()
    found = assign(parse_module(text), Options(), journal)
    assert found.outputs[0].slice != found.parameters[0].slice
    (told,) = [e.decision for e in journal.entries if isinstance(e.decision, DonationTaken)]
    assert "still read" in told.because


def test_a_result_that_permutes_its_operand_is_not_written_over_it() -> None:
    text = """HloModule m
    ENTRY e {
      x = f32[8,8] parameter(0)
      a = f32[8,8] sine(x)
      ROOT r = f32[8,8] reverse(a), dimensions={0}
    }"""
    found = assigned(unfused(text))
    assert found.slices["a", ()] != found.slices["r", ()]


def test_bitcasts_and_tuples_name_the_memory_of_what_they_hand_on() -> None:
    text = """HloModule m
    ENTRY e {
      x = f32[8,4] parameter(0)
      a = f32[8,4] sine(x)
      b = f32[32] reshape(a)
      ROOT t = (f32[32], f32[8,4]) tuple(b, x)
    }"""
    found = assigned(unfused(text))
    assert found.slices["b", ()] == found.slices["a", ()] == found.outputs[0].slice
    assert found.outputs[1].slice == found.parameters[0].slice
    assert found.launches == ("a",)


def test_constants_lie_behind_the_arena_in_the_order_of_their_layout() -> None:
    text = """HloModule m, entry_computation_layout={(f32[2,3]{1,0})->f32[2,3]{1,0}}
    ENTRY e {
      x = f32[2,3] parameter(0)
      c = f32[2,3] constant({{1,2,3},{4,5,6}})
      ROOT r = f32[2,3] add(x, c)
    }"""
    found = assigned(unfused(text))
    (constant,) = found.constants
    assert constant.slice.offset == found.peak_bytes == 128
    assert np.frombuffer(constant.data, np.float32).tolist() == [1, 2, 3, 4, 5, 6]


def test_the_order_with_the_least_memory_is_taken_and_told() -> None:
    """Two wide values that are reduced at once need not be alive together."""
    lines = ["x = f32[8] parameter(0)", "z = f32[] constant(0)"]
    wide = [f"w{n} = f32[512,8] broadcast(x), dimensions={{1}}" for n in range(3)]
    tall = [f"t{n} = f32[512,8] {op}(w{n})" for n, op in enumerate(("sine", "cosine", "tanh"))]
    sums = [f"r{n} = f32[] reduce(t{n}, z), dimensions={{0,1}}, to_apply=add_f32" for n in range(3)]
    ends = ["a = f32[] add(r0, r1)", "ROOT b = f32[] add(a, r2)"]
    body = "\n".join(lines + wide + tall + sums + ends)
    module = parse_module(f"HloModule m\n{ADD}\nENTRY e {{\n{body}\n}}")
    journal = Journal()
    found = assign(module, Options(), journal)
    (chosen,) = [e.decision for e in journal.entries if isinstance(e.decision, OrderChosen)]
    costs = {a.name: a.cost for a in chosen.alternatives}
    assert chosen.chosen != "as given"
    assert found.lower_bound_bytes == costs[chosen.chosen] < costs["as given"]


def test_a_loop_keeps_its_constant_state_where_it_is() -> None:
    found = assigned(fused("scan_rnn"))
    loop = next(n for n in found.launches if n.startswith("while"))
    weights = next(b.slice for b in found.parameters if b.shape.dimensions == (8, 8))
    held = [found.slices[loop, (i,)] for i in range(6)]
    assert weights in held
