"""Dots and convolutions in one spelling: transposes, reversals and padding go into the numbers."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.hlo.evaluate import evaluate
from compiler.hlo.module import Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify
from compiler.journal import Journal
from compiler.options import Options
from compiler.pipeline import run_hlo_passes

GENERATOR = np.random.default_rng(7)


def canonical(text: str, *shapes: tuple[int, ...]) -> Module:
    """The module after the pass, checked to compute what it did before."""
    module = verify(parse_module(text))
    found = verify(run_hlo_passes(module, Options(), Journal(), only="canonicalize"))
    arrays = [GENERATOR.standard_normal(s).astype(np.float32) for s in shapes]
    for one, other in zip(evaluate(found, *arrays), evaluate(module, *arrays), strict=True):
        np.testing.assert_array_equal(one, other)
    return found


def used(module: Module) -> set[Opcode]:
    """The operations that the result depends on."""
    entry = module.entry_computation
    waiting, found = [entry.root], set()
    while waiting:
        instruction = entry.instruction(waiting.pop())
        found.add(instruction.opcode)
        waiting.extend(instruction.operands)
    return found - {Opcode.PARAMETER, Opcode.CONSTANT}


def test_a_convolution_reads_transposed_operands_as_they_lie() -> None:
    text = """HloModule m
    ENTRY e {
      x = f32[2,3,8,9] parameter(0)
      k = f32[4,3,3,2] parameter(1)
      xt = f32[2,8,9,3] transpose(x), dimensions={0,2,3,1}
      kt = f32[3,2,3,4] transpose(k), dimensions={2,3,1,0}
      c = f32[2,6,8,4] convolution(xt, kt), window={size=3x2}, dim_labels=b01f_01io->b01f
      ROOT t = f32[2,4,6,8] transpose(c), dimensions={0,3,1,2}
    }"""
    assert used(canonical(text, (2, 3, 8, 9), (4, 3, 3, 2))) == {Opcode.CONVOLUTION}


def test_a_reversed_kernel_is_a_reversed_window_and_zeros_are_padding() -> None:
    text = """HloModule m
    ENTRY e {
      x = f32[2,8,3] parameter(0)
      k = f32[3,3,5] parameter(1)
      z = f32[] constant(0)
      p = f32[2,11,3] pad(x, z), padding=0_0x1_2x0_0
      r = f32[3,3,5] reverse(k), dimensions={0}
      ROOT c = f32[2,5,5] convolution(p, r), window={size=3 stride=2 rhs_reversal=0},
        dim_labels=b0f_0io->b0f
    }"""
    assert used(canonical(text, (2, 8, 3), (3, 3, 5))) == {Opcode.CONVOLUTION}


@pytest.mark.parametrize(
    ("edges", "value", "why"),
    [
        ("1_1x0_0x0_0", "0", "batch"),
        ("0_0x1_1x0_0", "1", "not zero"),
        ("0_0x0_0_1x0_0", "0", "gaps"),
    ],
)
def test_other_padding_stays_a_pad(edges: str, value: str, why: str) -> None:
    batch = 4 if why == "batch" else 2
    width = {"batch": 8, "not zero": 10, "gaps": 15}[why]
    text = f"""HloModule m
    ENTRY e {{
      x = f32[2,8,3] parameter(0)
      k = f32[3,3,5] parameter(1)
      z = f32[] constant({value})
      p = f32[{batch},{width},3] pad(x, z), padding={edges}
      ROOT c = f32[{batch},{width - 2},5] convolution(p, k), window={{size=3}},
        dim_labels=b0f_0io->b0f
    }}"""
    assert Opcode.PAD in used(canonical(text, (2, 8, 3), (3, 3, 5)))


@pytest.mark.parametrize(
    ("labels", "kernel", "result"),
    [
        ("b01f_01io->b01f", (1, 1, 3, 5), (2, 4, 6, 5)),
        ("b01f_io01->bf01", (3, 5, 1, 1), (2, 5, 4, 6)),
        ("b01f_o01i->f01b", (5, 1, 1, 3), (5, 4, 6, 2)),
    ],
)
def test_a_window_of_one_element_is_a_dot(labels: str, kernel: tuple, result: tuple) -> None:
    shapes = [",".join(map(str, s)) for s in (kernel, result)]
    text = f"""HloModule m
    ENTRY e {{
      x = f32[2,4,6,3] parameter(0)
      k = f32[{shapes[0]}] parameter(1)
      ROOT c = f32[{shapes[1]}] convolution(x, k), window={{size=1x1}}, dim_labels={labels}
    }}"""
    found = used(canonical(text, (2, 4, 6, 3), kernel))
    assert Opcode.DOT in found and Opcode.CONVOLUTION not in found


@pytest.mark.parametrize("window", ["size=1 stride=2", "size=1 pad=1_0"])
def test_a_strided_or_padded_window_of_one_stays_a_convolution(window: str) -> None:
    extent = 4 if "stride" in window else 9
    text = f"""HloModule m
    ENTRY e {{
      x = f32[2,8,3] parameter(0)
      k = f32[1,3,5] parameter(1)
      ROOT c = f32[2,{extent},5] convolution(x, k), window={{{window}}}, dim_labels=b0f_0io->b0f
    }}"""
    assert Opcode.CONVOLUTION in used(canonical(text, (2, 8, 3), (1, 3, 5)))
