"""Offsets for blocks of memory with known live ranges: best fit by size, compared over a few
orders.

Finding the smallest arena is NP-hard (dynamic storage allocation); placing the large blocks
first and each into the tightest gap that holds it comes close to the largest live set, below
which nothing can go (the observation behind XLA's heap simulator and TFLite's greedy-by-size
planner; Pisarchyk and Lee, Efficient memory management for deep neural net inference, 2020).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.buffers.liveness import Block, aligned


@dataclass(frozen=True, slots=True)
class Packing:
    """``offsets`` in bytes, one per block, and the bytes that all of them span."""

    offsets: tuple[int, ...]
    size_bytes: int


MOST_REPAIRS = 24
"""How often a block that sticks out is placed earlier, in the hope of a smaller arena."""


def lower_bound(blocks: Sequence[Block]) -> int:
    """Bytes of the largest live set: no placement needs less."""
    return max(live_bytes(blocks), default=0)


def live_bytes(blocks: Sequence[Block]) -> list[int]:
    """Bytes alive in every step, from the one before the first to the one after the last."""
    if not blocks:
        return []
    last = max(b.end for b in blocks)
    change = [0] * (last + 3)
    for block in blocks:
        change[block.start + 1] += aligned(block.size_bytes)
        change[block.end + 2] -= aligned(block.size_bytes)
    total = 0
    totals = []
    for delta in change[:-1]:
        total += delta
        totals.append(total)
    return totals


def pack(blocks: Sequence[Block]) -> Packing:
    """The smallest arena among several orders of placement; what is always alive comes first."""
    bound = lower_bound(blocks)
    best: Packing | None = None
    first = min((b.start for b in blocks), default=0)
    last = max((b.end for b in blocks), default=0)
    lasting = [i for i, b in enumerate(blocks) if (b.start, b.end) == (first, last)]
    others = sorted(set(range(len(blocks))) - set(lasting))
    for key in _ORDERS:
        order = lasting + sorted(others, key=lambda i: (*key(blocks[i]), i))
        found = _place(blocks, order)
        if best is None or found.size_bytes < best.size_bytes:
            best = _repaired(blocks, order, found, bound)
        if best.size_bytes <= bound:
            break
    return best if best is not None else Packing((), 0)


def _by_size(block: Block) -> tuple[int, ...]:
    return (-aligned(block.size_bytes), block.start)


def _by_area(block: Block) -> tuple[int, ...]:
    return (-aligned(block.size_bytes) * (block.end - block.start + 1), block.start)


def _by_start(block: Block) -> tuple[int, ...]:
    return (block.start, -aligned(block.size_bytes))


def _by_length(block: Block) -> tuple[int, ...]:
    return (block.start - block.end, -aligned(block.size_bytes))


_ORDERS: tuple[Callable[[Block], tuple[int, ...]], ...] = (
    _by_size,
    _by_length,
    _by_area,
    _by_start,
)


def _repaired(blocks: Sequence[Block], order: list[int], found: Packing, bound: int) -> Packing:
    """Places the topmost block first and tries again, as long as that may help."""
    best = found
    order = list(order)
    for _ in range(MOST_REPAIRS if len(blocks) < 400 else 0):
        if best.size_bytes <= bound:
            break
        top = max(order, key=lambda i: found.offsets[i] + aligned(blocks[i].size_bytes))
        order.remove(top)
        order.insert(0, top)
        found = _place(blocks, order)
        if found.size_bytes < best.size_bytes:
            best = found
    return best


def _place(blocks: Sequence[Block], order: Sequence[int]) -> Packing:
    offsets = [0] * len(blocks)
    placed: list[int] = []
    size = 0
    for number in order:
        block = blocks[number]
        taken = sorted(
            (offsets[i], offsets[i] + aligned(blocks[i].size_bytes))
            for i in placed
            if blocks[i].overlaps(block)
        )
        offsets[number] = _best_gap(taken, aligned(block.size_bytes))
        size = max(size, offsets[number] + aligned(block.size_bytes))
        placed.append(number)
    return Packing(tuple(offsets), size)


def _best_gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    """The offset of the tightest gap between taken ranges that holds ``size`` bytes."""
    best: tuple[int, int] | None = None
    end = 0
    for low, high in taken:
        room = low - end
        if room >= size and (best is None or room < best[0]):
            best = (room, end)
        end = max(end, high)
    return best[1] if best is not None else end
