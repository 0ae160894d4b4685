"""Tiles follow from effects alone, whatever the ISA calls its instructions."""

from __future__ import annotations

import pytest

from compiler.llvm.types import F32, F64, I32
from compiler.options import Options
from compiler.select import target_of
from compiler.select.tiles import tiles_of
from isas import load_machine
from isas.effects import Apply, Effect

MACHINES = ("x86/zen3", "x86/skylake", "arm/cortex-a53", "simt/volta")


@pytest.mark.parametrize("name", MACHINES)
def test_every_signed_comparison_can_be_branched_on(name: str) -> None:
    machine = load_machine(name)
    tiles = tiles_of(machine)
    goals = {
        tile.goal
        for effect in (Effect.ICMP_SLT, Effect.ICMP_SGE, Effect.ICMP_EQ, Effect.ICMP_NE)
        for tile in tiles.rooted(effect)
    }
    if machine.isa.guards is not None:
        assert machine.isa.guards.class_name in goals
    else:
        readers = {
            argument.effect
            for tile in tiles.branches
            if isinstance(argument := tile.expression, Apply)
        }
        assert {f"flags:{effect}" for effect in readers} & goals


@pytest.mark.parametrize("name", MACHINES)
def test_a_tile_costs_at_least_one_issue_slot(name: str) -> None:
    tiles = tiles_of(load_machine(name))
    assert all(tile.cost > 0 for found in tiles.by_effect.values() for tile in found)


def test_targets_answer_from_the_cards() -> None:
    x86 = target_of(load_machine("x86/zen3"), Options())
    arm = target_of(load_machine("arm/cortex-a53"), Options())
    simt = target_of(load_machine("simt/volta"), Options(registers=(("reg", 40),)))
    assert x86.legal("fma", F32.with_lanes(8)) and not arm.legal("fma", F32.with_lanes(8))
    assert arm.legal("maximum", F32) and not x86.legal("maximum", F32)
    assert x86.legal("select", I32) and simt.legal("select", F64)
    assert (x86.lanes(F32), arm.lanes(F32), simt.lanes(F32)) == (8, 4, 1)
    assert simt.is_simt and simt.register_count("reg") == 40


@pytest.mark.parametrize("name", ["x86/zen3", "arm/cortex-a53"])
def test_derived_tiles_say_which_rule_made_them(name: str) -> None:
    tiles = tiles_of(load_machine(name))
    rules = {tile.rule for found in tiles.by_effect.values() for tile in found}
    assert {"a narrow write zeroes the rest", "low part of an extension", "lowest lane"} <= rules
