"""Whole programs: from HLO text to cycles on every machine, equal to what JAX computed."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import isas
from compiler.compilation import Stage
from compiler.options import Options
from lab import road
from lab.compare import Tolerance
from vm.stalls import Stall

CASES = Path(__file__).parents[1] / "cases" / "jax"
PROGRAMS = (
    "element_wise_chain", "ew_chain", "ew_fma", "gelu_tanh", "logsumexp", "softmax", "layernorm",
    "matmul", "mlp_fwd", "attention", "where_select", "reductions", "transcendentals",
)  # fmt: skip
SMALL = ("element_wise_chain", "softmax", "matmul", "where_select", "reductions")


@cache
def index() -> dict[str, Any]:
    rows = json.loads((CASES / "index.json").read_text())["programs"]
    return {row["name"]: row for row in rows}


def run(name: str, machine: str, **registers: int) -> road.Result:
    module = road.load(CASES / f"{name}.hlo")
    row = index()[name]
    return road.run(
        module, machine, Options(registers=tuple(sorted(registers.items()))),
        data=road.read_data(module, CASES / f"{name}.npz"),
        tolerance=Tolerance(row["rtol"], row["atol"]),
    )  # fmt: skip


@pytest.mark.parametrize("machine", isas.machine_names())
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_is_right_on_every_machine(name: str, machine: str) -> None:
    result = run(name, machine)
    assert result.evaluator.matches, str(result.evaluator)
    assert result.expected is not None
    assert result.expected.matches, str(result.expected)
    stalls = result.timeline.stalls()
    assert sum(stalls.values()) == pytest.approx(result.cycles, rel=1e-9)
    assert 0 < stalls[Stall.RETIRING] < result.cycles


@pytest.mark.parametrize("machine", ["x86/zen3", "arm/cortex-a53"])
def test_four_vector_registers_make_softmax_pay_and_stay_right(machine: str) -> None:
    free, tight = run("softmax", machine), run("softmax", machine, vec=4)
    assert tight.matches
    assert tight.cycles > free.cycles
    kernels = tight.compilation.kernels
    assert sum(k.spills + k.reloads for k in kernels) > 0
    assert all(k.registers["vec"].used <= 4 for k in kernels)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize(
    ("machine", "limits"),
    [("x86/zen3", {"vec": 5, "gpr": 6}), ("arm/cortex-a53", {"vec": 5, "gpr": 6}),
     ("simt/volta", {"reg": 16, "pred": 2}), ("x86/zen3", {"vec": 40, "gpr": 30})],
)  # fmt: skip
def test_programs_are_right_with_other_register_counts(
    name: str, machine: str, limits: dict[str, int]
) -> None:
    result = run(name, machine, **limits)
    assert result.matches
    for kernel in result.compilation.kernels:
        for register_class, use in kernel.registers.items():
            if register_class in limits:
                assert use.allowed == limits[register_class]


def test_every_line_of_machine_code_names_its_hlo_instruction() -> None:
    result = run("softmax", "x86/zen3", vec=4)
    names = {i.name for c in result.compilation.source.computations for i in c}
    for stage in (
        Stage.SELECTED,
        Stage.SCHEDULED,
        Stage.ALLOCATED,
        Stage.RESCHEDULED,
        Stage.ASSEMBLY,
    ):
        document = result.compilation.documents[stage]
        code = [line for line in document.lines if line.text.startswith("    ") and line.subject]
        assert len(code) > 50
        for line in code:
            assert line.origins, line.text
            assert set(line.origins) <= names, line.text


def test_compiling_twice_gives_the_same_documents() -> None:
    module = road.load(CASES / "softmax.hlo")
    first, second = road.compile(module, "x86/zen3"), road.compile(module, "x86/zen3")
    for stage in Stage:
        assert str(first.documents[stage]) == str(second.documents[stage])
