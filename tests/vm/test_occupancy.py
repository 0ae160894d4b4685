"""Occupancy against limits worked out by hand (64 K registers, 64 warps, 96 KB shared per SM)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from isas.catalogue import load_machine
from isas.errors import UnsupportedError
from tests.vm.traces import kernel
from vm.simt.occupancy import occupancy_of
from vm.stream import Launch


def occupancy(registers: int, warps: int, shared: int) -> tuple[int, str]:
    machine = load_machine("simt/volta")
    assert machine.core.simt is not None
    used = {"reg": tuple(range(registers)), "pred": (0, 1)}
    program = replace(kernel(machine, "ret"), registers_used=used, shared_size_bytes=shared)
    found = occupancy_of(program, Launch(0, 1, warps), machine.core.simt)
    assert found.warps_per_sm == found.blocks_per_sm * warps
    return found.blocks_per_sm, found.limit


def test_each_resource_sets_the_limit_in_turn() -> None:
    assert occupancy(16, 1, 0) == (32, "blocks")
    assert occupancy(16, 4, 0) == (16, "warps")
    # 96 registers x 32 lanes = 3072 per warp, 12288 per block of 4: 65536 hold 5.
    assert occupancy(96, 4, 0) == (5, "registers")
    assert occupancy(16, 4, 40 * 1024) == (2, "shared memory")


def test_registers_are_handed_out_in_units() -> None:
    # 33 x 32 = 1056, rounded up to 1280 per warp: 65536 // 5120 = 12.
    assert occupancy(33, 4, 0) == (12, "registers")


def test_a_block_that_does_not_fit_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="not enough shared memory"):
        occupancy(16, 4, 200 * 1024)
