"""Liveness equals what a search over paths finds, and intervals cover it."""

from __future__ import annotations

import pytest

from compiler.allocate.coalescing import build_intervals
from compiler.allocate.intervals import covers
from compiler.allocate.liveness import liveness
from compiler.machine.accesses import Accesses
from compiler.machine.code import MachineFunction
from isas import load_machine
from tests.allocate.machine_programs import random_function


def is_read_on_some_path(
    function: MachineFunction, rows: dict[str, tuple[Accesses, ...]], name: str, key: int
) -> bool:
    """Whether some path from the start of a block reads the key before writing it."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        block = waiting.pop()
        if block in seen:
            continue
        seen.add(block)
        for row in rows[block]:
            if key in row.read_keys:
                return True
            if key in row.write_keys:
                break
        else:
            waiting += function.block(block).successors
    return False


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["x86/zen3", "simt/volta"])
def test_live_in_is_what_some_path_still_reads(name: str, seed: int) -> None:
    machine = load_machine(name)
    function = random_function(machine, seed, 25)
    live = liveness(function, machine.isa.registers)
    rows = dict(live.nodes)
    touched = {k for r in rows.values() for row in r for k in (*row.read_keys, *row.write_keys)}
    for block in function.blocks:
        found = set(live.space.members(live.live_in[block.name]))
        naive = {k for k in touched if is_read_on_some_path(function, rows, block.name, k)}
        assert found == naive


@pytest.mark.parametrize("seed", range(4))
def test_intervals_cover_every_access_and_every_live_border(seed: int) -> None:
    machine = load_machine("arm/cortex-a53")
    function = random_function(machine, seed, 25)
    live = liveness(function, machine.isa.registers)
    built = build_intervals(function, live, machine)
    position = 0
    for block in function.blocks:
        borders = (
            (live.live_in[block.name], position),
            (live.live_out[block.name], position + 2 * len(block.instructions) - 1),
        )
        for mask, place in borders if block.instructions else ():
            for key in live.space.members(mask):
                if key >= 0:
                    assert covers(built.of[key].segments, place)
        for row in live.nodes[block.name]:
            assert all(covers(built.segments[key], position) for key in row.read_keys)
            assert all(covers(built.segments[key], position + 1) for key in row.write_keys)
            position += 2
