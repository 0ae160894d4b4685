"""Every operation of StableHLO and CHLO, as programs that check their own results."""

from __future__ import annotations

import re

import pytest

from compiler.frontend.stablehlo import parse_programs, parse_stablehlo, print_stablehlo
from compiler.frontend.stablehlo.lower.table import HANDLERS
from compiler.hlo.evaluate import evaluate_checked
from compiler.hlo.module import Module
from compiler.hlo.text import parse_module, print_module
from compiler.hlo.verify import verify
from tests.frontend.programs import operation_files, operation_programs

PROGRAMS = operation_programs()
IDS = [f"{m.source}-{m.name}" for m in PROGRAMS]
UNWRITTEN = frozenset(
    {"arith.constant", "arith.index_cast", "shape.shape_of", "chlo.minimum_broadcast_shapes",
     "sdy.sharding_constraint"}
)  # fmt: skip
"""Operations of neighbouring dialects, tried in `test_stablehlo_forms`."""


def _failures(module: Module) -> list[str]:
    checks = evaluate_checked(module).checks
    assert checks, "a program that checks nothing proves nothing"
    return [str(check) for check in checks if not check.passed]


@pytest.mark.parametrize("module", PROGRAMS, ids=IDS)
def test_a_program_passes_its_own_checks(module: Module) -> None:
    assert _failures(module) == []


@pytest.mark.parametrize("module", PROGRAMS, ids=IDS)
def test_a_program_keeps_its_meaning_as_hlo_text(module: Module) -> None:
    again = verify(parse_module(print_module(module)))
    assert again == module
    assert _failures(again) == []


@pytest.mark.parametrize("module", PROGRAMS, ids=IDS)
def test_a_program_keeps_its_meaning_printed_as_stablehlo(module: Module) -> None:
    text = print_stablehlo(module)
    again = parse_stablehlo(text)
    assert _failures(again) == []
    assert len(evaluate_checked(again).checks) == len(evaluate_checked(module).checks)


def test_every_operation_that_can_be_lowered_occurs_in_a_program() -> None:
    text = "\n".join(file.read_text() for file in operation_files())
    written = set(re.findall(r"\b((?:stablehlo|chlo|check|func|interpreter)\.[\w\-]+)", text))
    missing = set(HANDLERS) - written - UNWRITTEN
    broadcasting = {name for name in missing if name.startswith("chlo.broadcast_")}
    assert missing - broadcasting == set()


OPERANDS_OF_THEIR_OWN = {"chlo.broadcast_select", "chlo.broadcast_compare"}
"""Written out in chlo.mlir instead."""
BROADCASTING = {n for n in HANDLERS if n.startswith("chlo.broadcast_")} - OPERANDS_OF_THEIR_OWN


@pytest.mark.parametrize("name", sorted(BROADCASTING))
def test_a_broadcasting_operation_equals_the_plain_one_on_spread_operands(name: str) -> None:
    plain = name.replace("broadcast_", "").replace("chlo", "stablehlo")
    kind = "i32" if any(w in name for w in ("shift", "_and", "_or", "_xor")) else "f32"
    numbers = "[[5], [3]]" if kind == "i32" else "[[5.5], [3.25]]"
    others = "[1, 2, 3]" if kind == "i32" else "[1.5, 2.0, 3.0]"
    result = "complex<f32>" if name.endswith("complex") else kind
    if plain in ("stablehlo.next_after", "stablehlo.polygamma", "stablehlo.zeta"):
        plain = plain.replace("stablehlo", "chlo")
    text = f"""func.func @main() {{
      %a = stablehlo.constant dense<{numbers}> : tensor<2x1x{kind}>
      %b = stablehlo.constant dense<{others}> : tensor<3x{kind}>
      %0 = {name} %a, %b : (tensor<2x1x{kind}>, tensor<3x{kind}>) -> tensor<2x3x{result}>
      %c = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<2x1x{kind}>) -> tensor<2x3x{kind}>
      %d = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<3x{kind}>) -> tensor<2x3x{kind}>
      %1 = "{plain}"(%c, %d) : (tensor<2x3x{kind}>, tensor<2x3x{kind}>) -> tensor<2x3x{result}>
      check.expect_eq %0, %1 : tensor<2x3x{result}>
      return
    }}"""
    assert _failures(parse_programs(text)[0]) == []
