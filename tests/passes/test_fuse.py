"""Fusion: what becomes one kernel, what does not and why, and how many launches are left."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compiler.hlo.attributes import FusionKind
from compiler.hlo.fusion.decisions import FusionDecision, KernelFormed
from compiler.hlo.kernels import count, is_kernel, launching_computations
from compiler.hlo.module import Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.passes import inline
from compiler.hlo.passes.context import PassContext
from compiler.hlo.rows import RowStructure, row_structure
from compiler.hlo.text import parse_module
from compiler.journal import Journal
from compiler.options import Options
from compiler.pipeline import run_hlo_passes
from tests.hlo.programs import ADD, MAX
from tests.passes.helpers import NAMES, case, fused
from tests.passes.programs import random_program

XLA_KERNELS = {
    "attention": 6,
    "bf16_mlp": 5,
    "big_const": 1,
    "bit_ops": 10,
    "cnn_fwd": 10,
    "cond_switch": 7,
    "conv1d_signal": 18,
    "conv2d_bias_relu": 2,
    "conv_grads": 8,
    "cross_entropy": 3,
    "cumsum": 11,
    "dot_general": 3,
    "dynamic_slice": 2,
    "element_wise_chain": 1,
    "embedding": 1,
    "ew_chain": 3,
    "ew_fma": 2,
    "f64_mlp": 3,
    "fibonacci": 9,
    "fori_power_iter": 7,
    "gelu_erf": 1,
    "gelu_tanh": 1,
    "int_ops": 12,
    "iota_grid": 4,
    "jacobi_stencil": 9,
    "kv_cache_decode": 12,
    "layernorm": 6,
    "logsumexp": 6,
    "mandelbrot": 13,
    "matmul": 1,
    "maxpool_avgpool": 3,
    "mha_grad": 33,
    "mlp_fwd": 4,
    "mlp_train_sgd": 23,
    "one_hot": 1,
    "prng_uniform_normal": 155,
    "redundant_cse_dce": 2,
    "reductions": 10,
    "scan_rnn": 11,
    "scatter_add": 3,
    "scatter_set_max": 5,
    "softmax": 6,
    "sort": 6,
    "transcendentals": 14,
    "where_select": 3,
    "while_newton_sqrt": 5,
}
"""Kernels (fusions, dots, reduces, copies ...; loop bodies once) in XLA's CPU module of each case,
the .opt.hlo files beside them, jax 0.10.2."""

OUR_LAUNCHES = {
    "attention": 3,
    "cross_entropy": 2,
    "element_wise_chain": 1,
    "ew_chain": 1,
    "ew_fma": 1,
    "gelu_erf": 1,
    "gelu_tanh": 1,
    "layernorm": 1,
    "logsumexp": 1,
    "matmul": 1,
    "mlp_fwd": 2,
    "mlp_train_sgd": 13,
    "reductions": 3,
    "softmax": 1,
    "transcendentals": 2,
    "where_select": 1,
}


def test_the_table_of_xla_kernels_covers_every_case() -> None:
    assert set(XLA_KERNELS) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_no_case_launches_more_than_xla_does(name: str) -> None:
    assert count(fused(name)).launches <= XLA_KERNELS[name]


@pytest.mark.parametrize("name", OUR_LAUNCHES)
def test_launches_of_the_programs_that_are_compiled(name: str) -> None:
    assert count(fused(name)).launches == OUR_LAUNCHES[name]


@pytest.mark.parametrize("name", ["softmax", "layernorm", "element_wise_chain"])
def test_the_story_of_fusion_reads_as_stored(name: str, golden: Callable[[str, str], None]) -> None:
    journal = Journal()
    module = run_hlo_passes(case(name), Options(), journal)
    lines = [str(e.decision) for e in journal.entries if e.pass_name == "fuse"]
    for computation in module.computations:
        if computation.name.startswith("fused"):
            structure = row_structure(module, computation)
            assert isinstance(structure, RowStructure)
            rows = ",".join(map(str, structure.rows))
            lines.append(f"{computation.name}: rows [{rows}], keeps {list(structure.kept)}")
            lines += [f"  {stage}" for stage in structure.stages]
    golden(f"fuse_{name}.txt", "\n".join(lines) + "\n")


def check_contract(module: Module) -> None:
    """The final module holds kernels that are structured, free instructions, and nothing else."""
    for computation in launching_computations(module):
        for instruction in computation:
            assert instruction.opcode is not Opcode.CALL
            if instruction.opcode is Opcode.FUSION:
                body = module.computation(instruction.attributes["calls"])
                structure = row_structure(module, body)
                assert isinstance(structure, RowStructure), (instruction.name, str(structure))
                assert len(body.parameters) == len(instruction.operands)
            elif instruction.opcode is Opcode.BROADCAST:
                assert is_kernel(computation, instruction), instruction.name


@pytest.mark.parametrize("name", NAMES)
def test_every_fusion_of_every_case_has_a_row_structure(name: str) -> None:
    check_contract(fused(name))


def test_every_fusion_of_random_programs_has_a_row_structure() -> None:
    for seed in range(60):
        check_contract(run_hlo_passes(random_program(seed, 20)[0], Options(), Journal()))


def test_without_fusion_every_kernel_is_one_operation_with_its_scalars() -> None:
    module = run_hlo_passes(case("layernorm"), Options(fuse=False), Journal())
    for instruction in module.entry_computation:
        if instruction.opcode is Opcode.FUSION:
            body = module.computation(instruction.attributes["calls"])
            free = (Opcode.PARAMETER, Opcode.CONSTANT, Opcode.BROADCAST)
            assert len([i for i in body if i.opcode not in free]) == 1
    assert count(module).launches == 15


def test_launches_and_bytes_of_the_unfused_program_follow_the_stated_rule() -> None:
    text = """HloModule m
    s { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
    ENTRY e {
      x = f32[4,8] parameter(0)
      c = f32[] constant(2)
      b = f32[4,8] broadcast(c), dimensions={}
      m = f32[4,8] multiply(x, b)
      q = f32[4,8] multiply(m, m)
      r = f32[32] reshape(q)
      z = f32[] constant(0)
      ROOT t = f32[] reduce(r, z), dimensions={0}, to_apply=s
    }"""
    array = 4 * 8 * 4
    found = count(parse_module(text))
    assert found.launches == 3
    assert found.bytes_moved == 3 * array + 2 * array + (array + 4 + 4)
    module = run_hlo_passes(parse_module(text), Options(), Journal())
    assert (count(module).launches, count(module).bytes_moved) == (1, array + 4)


def decisions(text: str) -> tuple[Module, list[FusionDecision]]:
    journal = Journal()
    module = run_hlo_passes(parse_module(text), Options(), journal)
    found = [e.decision for e in journal.entries if isinstance(e.decision, FusionDecision)]
    return module, found


def refusals(text: str) -> list[str]:
    return [d.because for d in decisions(text)[1] if not d.is_fused]


def kinds(module: Module) -> list[FusionKind]:
    entry = module.entry_computation
    return [i.attributes["kind"] for i in entry if i.opcode is Opcode.FUSION]


def test_a_dot_takes_its_epilogue_and_says_so() -> None:
    text = """HloModule m
    ENTRY e {
      x = f32[4,8] parameter(0)
      w = f32[8,16] parameter(1)
      b = f32[16] parameter(2)
      d = f32[4,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      s = f32[4,16] broadcast(b), dimensions={1}
      a = f32[4,16] add(d, s)
      ROOT t = f32[4,16] tanh(a)
    }"""
    module, found = decisions(text)
    assert kinds(module) == [FusionKind.OUTPUT]
    assert any("epilogue of the dot" in d.because for d in found)


def test_the_operand_of_a_dot_stays_in_memory() -> None:
    text = """HloModule m
    ENTRY e {
      x = f32[4,8] parameter(0)
      w = f32[8,16] parameter(1)
      n = f32[4,8] negate(x)
      ROOT d = f32[4,16] dot(n, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    }"""
    module, _ = decisions(text)
    assert count(module).launches == 2
    assert any("dot" in reason for reason in refusals(text))


def test_a_reduce_over_the_rows_of_a_reduce_is_a_boundary() -> None:
    text = f"""HloModule m
    {ADD}
    {MAX}
    ENTRY e {{
      x = f32[4,8] parameter(0)
      z = f32[] constant(0)
      r = f32[4] reduce(x, z), dimensions={{1}}, to_apply=add_f32
      ROOT t = f32[] reduce(r, z), dimensions={{0}}, to_apply=max_f32
    }}"""
    assert count(decisions(text)[0]).launches == 2
    assert any(reason.startswith("reduction boundary") for reason in refusals(text))


def test_a_reduced_value_used_at_another_row_is_not_fused() -> None:
    text = f"""HloModule m
    {ADD}
    ENTRY e {{
      x = f32[4,4] parameter(0)
      z = f32[] constant(0)
      r = f32[4] reduce(x, z), dimensions={{1}}, to_apply=add_f32
      b = f32[4,4] broadcast(r), dimensions={{1}}
      c = f32[4,4] broadcast(r), dimensions={{0}}
      ROOT t = f32[4,4] add(b, c)
    }}"""
    assert count(decisions(text)[0]).launches == 2
    assert any("several rows" in reason for reason in refusals(text))


def test_an_expensive_value_is_not_computed_again_for_every_row() -> None:
    text = """HloModule m
    ENTRY e {
      x = f32[512,64] parameter(0)
      b = f32[64] parameter(1)
      t = f32[64] tanh(b)
      s = f32[512,64] broadcast(t), dimensions={1}
      ROOT r = f32[512,64] add(x, s)
    }"""
    assert count(decisions(text)[0]).launches == 2
    assert any("would compute t 512 times" in reason for reason in refusals(text))


def test_a_cheap_producer_is_copied_into_kernels_that_cannot_join() -> None:
    text = f"""HloModule m
    {ADD}
    ENTRY e {{
      x = f32[64,32] parameter(0)
      n = f32[64,32] negate(x)
      z = f32[] constant(0)
      a = f32[64] reduce(n, z), dimensions={{1}}, to_apply=add_f32
      b = f32[32] reduce(n, z), dimensions={{0}}, to_apply=add_f32
      ROOT t = (f32[64], f32[32]) tuple(a, b)
    }}"""
    module, found = decisions(text)
    assert count(module).launches == 2
    assert [d.subject for d in found if d.code_duplicated] == ["n", "n"]


def test_kernels_that_read_the_same_array_become_one_with_several_results() -> None:
    text = """HloModule m
    ENTRY e {
      x = f32[64] parameter(0)
      a = f32[64] sine(x)
      b = f32[64] tanh(x)
      ROOT t = (f32[64], f32[64]) tuple(a, b)
    }"""
    module, found = decisions(text)
    assert count(module).launches == 1
    assert any(d.how.name == "SIBLING" for d in found)


def test_too_many_operands_are_refused_by_number() -> None:
    inputs = "\n".join(f"p{n} = f32[8] parameter({n})" for n in range(40))
    sums = ["s0 = f32[8] add(p0, p1)"]
    sums += [f"s{n} = f32[8] add(s{n - 1}, p{n + 1})" for n in range(1, 39)]
    text = f"HloModule m\nENTRY e {{\n{inputs}\n" + "\n".join(sums[:-1]) + f"\nROOT {sums[-1]}\n}}"
    module, _ = decisions(text)
    assert 2 < count(module).launches < 6
    assert any(reason.startswith("too many operands") for reason in refusals(text))


def test_a_pair_that_would_close_a_cycle_is_kept_apart() -> None:
    text = """HloModule m
    less { a = f32[] parameter(0) b = f32[] parameter(1)
      ROOT r = pred[] compare(a, b), direction=LT
    }
    ENTRY e {
      x = f32[8] parameter(0)
      a = f32[8] sine(x)
      s = f32[8] sort(a), dimensions={0}, to_apply=less
      ROOT r = f32[8] add(s, a)
    }"""
    module, _ = decisions(text)
    assert count(module).launches == 3
    assert any("stands between" in reason for reason in refusals(text))


def test_every_kernel_tells_what_it_holds_and_saves() -> None:
    journal = Journal()
    module = run_hlo_passes(case("softmax"), Options(), journal)
    (formed,) = [e.decision for e in journal.entries if isinstance(e.decision, KernelFormed)]
    assert formed.subject == module.entry_computation.root
    assert "exp.1" in formed.instructions and len(formed.stages) == 3
    assert formed.bytes_after == count(module).bytes_moved == 6144


def test_counting_looks_into_calls() -> None:
    module = case("mlp_fwd")
    flat = inline.run(module, PassContext())
    assert count(module) == count(flat)


def test_much_independent_work_is_not_put_side_by_side() -> None:
    lines = "\n".join(f"v{n} = f32[64] {'tanh' if n % 2 else 'sine'}(p{n})" for n in range(12))
    shifts = "\n".join(
        f"k{n} = f32[] constant({n})\nb{n} = f32[64] broadcast(k{n}), dimensions={{}}\n"
        f"p{n} = f32[64] add(x, b{n})"
        for n in range(12)
    )
    names = ", ".join(f"v{n}" for n in range(12))
    shapes = ", ".join("f32[64]" for _ in range(12))
    text = (
        f"HloModule m\nENTRY e {{\nx = f32[64] parameter(0)\n{shifts}\n{lines}\n"
        f"ROOT t = ({shapes}) tuple({names})\n}}"
    )
    module, _ = decisions(text)
    assert count(module).launches == 2
    assert any("independent work" in reason for reason in refusals(text))
