"""Core files price all work, and say where each figure is from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import isas
from isas.corefiles import core_micro_ops, units_of
from isas.cores import MicroOpRole, Order
from isas.parsing import parse_instruction

MACHINES = isas.machine_names()


def test_the_four_machines_are_there() -> None:
    assert {"x86/zen3", "x86/skylake", "arm/cortex-a53", "simt/volta"} <= set(MACHINES)


@pytest.mark.parametrize("name", MACHINES)
def test_every_unit_of_every_shape_has_a_cost(name: str) -> None:
    machine = isas.load_machine(name)
    for shape in machine.shapes:
        for unit, width in units_of(machine.core, shape):
            assert machine.core.unit(unit, width) is not None, f"{shape.title}: {unit}.{width}"


@pytest.mark.parametrize("name", MACHINES)
def test_loads_and_stores_have_micro_ops_of_that_role(name: str) -> None:
    machine = isas.load_machine(name)
    for shape in machine.shapes:
        roles = {micro_op.role for micro_op in core_micro_ops(machine.core, shape)}
        assert (MicroOpRole.LOAD in roles) == bool(shape.facts.loads), shape.title
        assert (MicroOpRole.STORE_DATA in roles) == bool(shape.facts.stores), shape.title


@pytest.mark.parametrize("name", MACHINES)
def test_late_operands_exist_on_every_shape_of_their_unit(name: str) -> None:
    machine = isas.load_machine(name)
    for shape in machine.shapes:
        for micro_op in core_micro_ops(machine.core, shape):
            for operand, cycles in micro_op.late.items():
                assert operand in shape.by_name, f"{shape.title} has no {operand}"
                assert 0 < cycles < micro_op.latency


@pytest.mark.parametrize("name", MACHINES)
def test_sizes_are_whole_and_orders_have_what_they_need(name: str) -> None:
    core = isas.load_machine(name).core
    assert core.l1.size_bytes == core.l1.sets * core.l1.ways * core.l1.line_bytes
    assert core.l1.line_bytes.bit_count() == 1
    if core.order is Order.OUT_OF_ORDER:
        assert min(core.reorder_buffer, core.scheduler_entries, core.load_queue) > 0
    assert (core.simt is not None) == (core.order is Order.SIMT)
    assert len(core.sources) > 40


@pytest.mark.parametrize("name", MACHINES)
def test_every_line_with_a_latency_says_where_it_is_from(name: str) -> None:
    isa, core = name.split("/")
    path = Path(isas.load_isa(isa).folder) / "cores" / f"{core}.yaml"
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines):
        if not re.match(
            r"  [a-z_0-9]+(\.\d+)?: \{ports|  [a-z_0-9]+(\.\d+)?:$|  [a-z_0-9]+(\.\d+)?: *#", line
        ):
            continue
        near = line if "#" in line else lines[number - 1]
        assert "#" in near, f"{path.name}:{number + 1} names no source"


def test_a_memory_operand_adds_a_load() -> None:
    machine = isas.load_machine("x86/skylake")
    text = "vaddps ymm0, ymm1, ymmword ptr [rdi]"
    micro_ops = core_micro_ops(machine.core, parse_instruction(machine.isa, text).shape)
    assert [(m.role, m.latency) for m in micro_ops] == [
        (MicroOpRole.LOAD, 8),
        (MicroOpRole.COMPUTE, 4),
    ]


def test_the_accumulator_of_a_fused_multiply_add_may_come_late_on_the_a53() -> None:
    machine = isas.load_machine("arm/cortex-a53")
    shape = parse_instruction(machine.isa, "fmla v0.4s, v1.4s, v2.4s").shape
    (micro_op,) = core_micro_ops(machine.core, shape)
    assert (micro_op.latency, dict(micro_op.late)) == (8, {"d": 4})
