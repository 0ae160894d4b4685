"""The state of a SIMT launch: its warps, their lanes, stacks and registers, and what they ran."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isas.effects import Effect
from isas.program import Grid

WARP = 32
LANES = np.arange(WARP)
LANE_BITS = (np.uint64(1) << np.arange(WARP, dtype=np.uint64)).astype(np.uint64)
E = Effect
Array = Any


@dataclass(slots=True)
class Rows:
    """Stream rows of one launch, in pieces: a piece is one instruction run by some warps."""

    static: list[int] = field(default_factory=list)
    warps: list[Array] = field(default_factory=list)
    active: list[Array] = field(default_factory=list)
    taken: list[Array] = field(default_factory=list)
    addresses: list[Array | None] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Split:
    """Lanes waiting: they continue at `counter` with `mask` until `meeting`."""

    counter: int
    mask: Array
    meeting: int


@dataclass(slots=True, eq=False)
class Warps:
    """State of every warp of a launch: counters, active lanes, stacks and registers."""

    grid: Grid
    counter: Array
    active: Array
    meeting: Array
    stacks: list[list[Split]]
    is_done: Array
    is_waiting: Array
    registers: dict[int, Array] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return len(self.counter)

    @property
    def per_block(self) -> int:
        return -(-self.grid.threads_per_block // WARP)


def start_warps(grid: Grid, entry: int, end: int) -> Warps:
    """All warps of `grid` at `entry`; lanes beyond the block's threads are off."""
    per_block = -(-grid.threads_per_block // WARP)
    count = grid.block_count * per_block
    thread = (np.arange(count) % per_block)[:, None] * WARP + LANES
    return Warps(
        grid,
        np.full(count, entry, np.int64),
        thread < grid.threads_per_block,
        np.full(count, end, np.int64),
        [[] for _ in range(count)],
        np.zeros(count, np.bool_),
        np.zeros(count, np.bool_),
    )


def special_registers(warps: Warps) -> dict[Effect, Array]:
    """Every special register as [warps, 32] of u32."""
    block = (np.arange(warps.count) // warps.per_block)[:, None] + np.zeros((1, WARP), np.int64)
    in_block = (np.arange(warps.count) % warps.per_block)[:, None]
    thread = in_block * WARP + LANES
    threads, blocks = warps.grid.threads, warps.grid.blocks
    tables = {
        E.LANE_ID: np.broadcast_to(LANES, thread.shape),
        E.WARP_ID: np.broadcast_to(in_block, thread.shape),
    }
    axes = (
        (E.THREAD_ID_X, E.BLOCK_ID_X),
        (E.THREAD_ID_Y, E.BLOCK_ID_Y),
        (E.THREAD_ID_Z, E.BLOCK_ID_Z),
    )
    sizes = (
        (E.BLOCK_DIM_X, E.GRID_DIM_X),
        (E.BLOCK_DIM_Y, E.GRID_DIM_Y),
        (E.BLOCK_DIM_Z, E.GRID_DIM_Z),
    )
    for axis in range(3):
        tables[axes[axis][0]] = thread // int(np.prod(threads[:axis])) % threads[axis]
        tables[axes[axis][1]] = block // int(np.prod(blocks[:axis])) % blocks[axis]
        tables[sizes[axis][0]] = np.full(thread.shape, threads[axis])
        tables[sizes[axis][1]] = np.full(thread.shape, blocks[axis])
    return {
        effect: np.ascontiguousarray(table).astype(np.uint32) for effect, table in tables.items()
    }
