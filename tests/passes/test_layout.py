"""Layouts: the caller's stand, moves become free where they can, copies stand where they must."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.buffers.assign import assign
from compiler.hlo.evaluate import evaluate
from compiler.hlo.kernels import count
from compiler.hlo.module import Module
from compiler.hlo.passes.layout import CopyInserted, LayoutChosen, LayoutsAssigned, OperandRead
from compiler.hlo.text import parse_module
from compiler.journal import Journal
from compiler.options import Options
from compiler.pipeline import run_hlo_passes
from tests.buffers.arena import Arena
from tests.passes.helpers import assert_same_bits

LESS = (
    "less { a = f32[] parameter(0) b = f32[] parameter(1) "
    "ROOT r = pred[] compare(a, b), direction=LT\n}\n"
)


def compiled(header: str, body: str) -> tuple[Module, Journal]:
    journal = Journal()
    text = f"HloModule m{header}\n{LESS}\nENTRY e {{\n{body}\n}}"
    module = run_hlo_passes(parse_module(text), Options(), journal)
    rng = np.random.default_rng(0)
    parameters = parse_module(text).entry_computation.parameters
    arrays = [rng.standard_normal(p.array.dimensions).astype(np.float32) for p in parameters]
    wanted = evaluate(parse_module(text), *arrays)
    assert_same_bits(evaluate(module, *arrays), wanted, "passes")
    arena = Arena(module, assign(module, Options(), Journal()), by_rows=True)
    assert_same_bits(arena.run(arrays), wanted, "arena")
    return module, journal


def result_layout(module: Module) -> str:
    return str(module.entry_computation.root_instruction.array.layout)


def opcodes(module: Module) -> list[str]:
    return [i.opcode.text for i in module.entry_computation]


def test_a_transpose_between_kernels_is_a_bitcast() -> None:
    module, _ = compiled(
        "",
        "x = f32[3,4]{1,0} parameter(0)\ns = f32[3,4]{1,0} sort(x), dimensions={1}, to_apply=less\n"
        "t = f32[4,3]{0,1} transpose(s), dimensions={1,0}\nROOT r = f32[4,3]{0,1} sine(t)",
    )
    assert count(module).launches == 2
    assert result_layout(module) == "{0,1}"


def test_a_transposed_parameter_in_the_right_layout_is_returned_as_it_is() -> None:
    module, _ = compiled(
        ", entry_computation_layout={(f32[3,4]{1,0})->f32[4,3]{0,1}}",
        "x = f32[3,4] parameter(0)\nROOT t = f32[4,3] transpose(x), dimensions={1,0}",
    )
    assert opcodes(module) == ["parameter", "bitcast"]
    found = assign(module, Options(), Journal())
    assert found.outputs[0].slice == found.parameters[0].slice


@pytest.mark.parametrize(
    ("header", "launches"),
    [
        (", entry_computation_layout={(f32[3,4]{1,0})->f32[3,4]{1,0}}", 0),
        (", entry_computation_layout={(f32[3,4]{0,1})->f32[3,4]{1,0}}", 1),
        (", entry_computation_layout={(f32[3,4]{1,0})->f32[3,4]{0,1}}", 1),
    ],
)
def test_a_copy_stands_only_where_two_given_layouts_differ(header: str, launches: int) -> None:
    module, _ = compiled(header, "ROOT x = f32[3,4] parameter(0)")
    assert count(module).launches == launches


def test_results_lie_as_the_caller_wants_without_a_copy() -> None:
    module, journal = compiled(
        ", entry_computation_layout={(f32[3,4]{0,1}, f32[3,4]{1,0})->f32[3,4]{0,1}}",
        "x = f32[3,4] parameter(0)\ny = f32[3,4] parameter(1)\nROOT r = f32[3,4] add(x, y)",
    )
    assert count(module).launches == 1
    assert result_layout(module) == "{0,1}"
    told = [e.decision for e in journal.entries if isinstance(e.decision, LayoutChosen)]
    assert "the caller wants" in told[0].because


def test_one_value_in_two_layouts_is_copied_once() -> None:
    module, _ = compiled(
        ", entry_computation_layout={(f32[3,4]{1,0})->(f32[3,4]{1,0}, f32[3,4]{0,1})}",
        "x = f32[3,4] parameter(0)\ns = f32[3,4] sine(x)\n"
        "ROOT r = (f32[3,4], f32[3,4]) tuple(s, s)",
    )
    shape = module.entry_computation.root_instruction.shape
    assert str(shape) == "(f32[3,4]{1,0}, f32[3,4]{0,1})"
    assert count(module).launches <= 2


def test_an_operation_without_element_form_reads_row_by_row() -> None:
    module, journal = compiled(
        ", entry_computation_layout={(f32[3,4]{0,1})->f32[3,4]{1,0}}",
        "x = f32[3,4] parameter(0)\nROOT s = f32[3,4] sort(x), dimensions={0}, to_apply=less",
    )
    assert count(module).launches == 2
    (copy,) = [e.decision for e in journal.entries if isinstance(e.decision, CopyInserted)]
    assert "sort" in copy.because and copy.size_bytes == 48
    (total,) = [e.decision for e in journal.entries if isinstance(e.decision, LayoutsAssigned)]
    assert (total.copies, total.copied_bytes) == (1, 48)


def test_a_bitcast_that_came_with_the_program_keeps_its_meaning() -> None:
    module, _ = compiled(
        "",
        "x = f32[3,4]{0,1} parameter(0)\nb = f32[2,6]{1,0} bitcast(x)\n"
        "ROOT r = f32[2,6]{1,0} negate(b)",
    )
    assert count(module).launches == 1


def test_an_integer_bitcast_that_came_with_the_program_keeps_its_meaning() -> None:
    compiled(
        "",
        "x = f32[3,4]{0,1} parameter(0)\nb = s32[4,3]{1,0} bitcast(x)\n"
        "ROOT r = s32[4,3]{1,0} negate(b)",
    )


def test_dots_and_reduces_take_operands_in_any_layout() -> None:
    module, _ = compiled(
        ", entry_computation_layout={(f32[3,4]{0,1}, f32[4,5]{0,1})->f32[5,3]{1,0}}",
        "x = f32[3,4] parameter(0)\ny = f32[4,5] parameter(1)\n"
        "d = f32[3,5] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "ROOT t = f32[5,3] transpose(d), dimensions={1,0}",
    )
    assert opcodes(module).count("copy") == 0
    assert count(module).launches == 1


def test_every_product_says_how_its_operands_lie() -> None:
    _, journal = compiled(
        ", entry_computation_layout={(f32[3,4]{0,1},f32[4,3]{1,0})->f32[3,3]{1,0}}",
        "x = f32[3,4] parameter(0)\ny = f32[4,3] parameter(1)\n"
        "ROOT d = f32[3,3] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    )
    told = [e.decision for e in journal.entries if isinstance(e.decision, OperandRead)]
    assert [(d.operand, d.chosen) for d in told] == [("x", "column-major"), ("y", "row-major")]
