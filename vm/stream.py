"""The dynamic stream: what the functional machine did, one row per executed instruction.

The functional machine produces it, the timing models read it. It says which instruction ran and
what timing cannot know from the program alone: addresses, branch outcomes, active lanes. On SIMT
the rows of different warps may be interleaved in any way; the rows of one warp stand in its program
order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

ALL_LANES = 0xFFFFFFFF
"""The `active` mask of a full warp; CPU rows carry it too."""


def _no_lanes() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of `program` (the kernel's index in the executable).

    On SIMT, warp `w` of the launch belongs to block `w // warps_per_block`; `shared_bytes` is what
    each block takes of its SM's shared memory beyond what the program itself declares. On a CPU
    there is one block of one warp.
    """

    program: int
    blocks: int = 1
    warps_per_block: int = 1
    shared_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Stream:
    """`n` executed instructions in execution order.

    static   int32[n]   index into `Program.instructions`
    program  int32[n]   index of the kernel in the executable
    launch   int32[n]   index into `launches` (ascending)
    warp     int32[n]   warp within the launch, -1 on CPU
    address  int64[n]   first byte of the memory access, -1 when there is none
    size     int32[n]   bytes accessed (by one lane on SIMT), 0 when none
    is_taken bool[n]    a branch left the straight line
    active   uint32[n]  lanes that executed it (0: guarded off in all of them)

    `lane_offsets` int64[n + 1] and `lane_addresses` int64[...] hold, for SIMT memory accesses and
    CPU gathers, the address of each active lane in lane order: those of row `i` are
    `lane_addresses[lane_offsets[i]:lane_offsets[i + 1]]`. Both are empty when no row has any.
    """

    static: NDArray[np.int32]
    program: NDArray[np.int32]
    launch: NDArray[np.int32]
    warp: NDArray[np.int32]
    address: NDArray[np.int64]
    size: NDArray[np.int32]
    is_taken: NDArray[np.bool_]
    active: NDArray[np.uint32]
    lane_offsets: NDArray[np.int64] = field(default_factory=_no_lanes)
    lane_addresses: NDArray[np.int64] = field(default_factory=_no_lanes)
    launches: tuple[Launch, ...] = (Launch(0),)

    def __len__(self) -> int:
        return len(self.static)

    def lanes(self, row: int) -> NDArray[np.int64]:
        """The addresses of row `row`, one per active lane; empty when it has none."""
        if not len(self.lane_offsets):
            return self.lane_addresses
        return self.lane_addresses[self.lane_offsets[row] : self.lane_offsets[row + 1]]

    def active_lanes(self) -> NDArray[np.int64]:
        """How many lanes executed each row."""
        octets = np.ascontiguousarray(self.active).view(np.uint8).reshape(-1, 4)
        return np.unpackbits(octets, axis=1).sum(axis=1, dtype=np.int64)


_COLUMNS = tuple(f.name for f in fields(Stream))[:8]


def concatenate(chunks: Sequence[Stream], launches: tuple[Launch, ...]) -> Stream:
    """One stream of all rows of `chunks` in order; `launches` are those of the whole run."""
    if not chunks:
        return empty_stream(launches)
    columns = {name: np.concatenate([getattr(c, name) for c in chunks]) for name in _COLUMNS}
    if not any(len(chunk.lane_addresses) for chunk in chunks):
        return Stream(**columns, launches=launches)
    counts = [
        np.diff(chunk.lane_offsets) if len(chunk.lane_offsets) else np.zeros(len(chunk), np.int64)
        for chunk in chunks
    ]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(counts))])
    addresses = np.concatenate([chunk.lane_addresses for chunk in chunks])
    return Stream(**columns, lane_offsets=offsets, lane_addresses=addresses, launches=launches)


def empty_stream(launches: tuple[Launch, ...] = ()) -> Stream:
    """A stream without rows (a program whose entry computes nothing)."""
    return Stream(
        static=np.zeros(0, np.int32),
        program=np.zeros(0, np.int32),
        launch=np.zeros(0, np.int32),
        warp=np.zeros(0, np.int32),
        address=np.zeros(0, np.int64),
        size=np.zeros(0, np.int32),
        is_taken=np.zeros(0, np.bool_),
        active=np.zeros(0, np.uint32),
        launches=launches,
    )
