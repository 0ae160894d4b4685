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
from typing import NamedTuple

from compiler.buffers.liveness import Block, aligned


@dataclass(frozen=True, slots=True)
class Packing:
    """``offsets`` in bytes, one per block, and the bytes that all of them span."""

    offsets: tuple[int, ...]
    size_bytes: int


MOST_REPAIRS = 24
"""How often a block that sticks out is placed earlier, in the hope of a smaller arena."""

MOST_REPAIRED = 600
"""With more blocks than this no repairs are tried."""


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
    """The smallest arena among several orders of placement.

    What is alive throughout is stacked at the bottom, in the given order; the rest lies above.
    """
    first = min((b.start for b in blocks), default=0)
    last = max((b.end for b in blocks), default=0)
    offsets = [0] * len(blocks)
    base = 0
    spans: list[_Span] = []
    for number, block in enumerate(blocks):
        size = aligned(block.size_bytes)
        if (block.start, block.end) == (first, last):
            offsets[number] = base
            base += size
        else:
            spans.append(_Span(number, block.start, block.end, size))
    above, size = _best(spans, lower_bound(blocks) - base)
    for span in spans:
        offsets[span.number] = base + above[span.number]
    return Packing(tuple(offsets), base + size)


class _Span(NamedTuple):
    """A block in plain numbers: its place in the list, first and last step, bytes."""

    number: int
    start: int
    end: int
    size: int


def _best(spans: Sequence[_Span], bound: int) -> tuple[dict[int, int], int]:
    """Offsets by block number and the bytes they span, for the best order found."""
    best: tuple[dict[int, int], int] = ({}, 0)
    for place, key in enumerate(_ORDERS):
        order = sorted(spans, key=key)
        found = _repaired(order, *_place(order), bound)
        if not place or found[1] < best[1]:
            best = found
        if best[1] <= bound:
            break
    return best


def _by_size(span: _Span) -> tuple[int, ...]:
    return (-span.size, span.start, span.number)


def _by_area(span: _Span) -> tuple[int, ...]:
    return (-span.size * (span.end - span.start + 1), span.start, span.number)


def _by_start(span: _Span) -> tuple[int, ...]:
    return (span.start, -span.size, span.number)


def _by_length(span: _Span) -> tuple[int, ...]:
    return (span.start - span.end, -span.size, span.number)


_ORDERS: tuple[Callable[[_Span], tuple[int, ...]], ...] = (
    _by_size,
    _by_length,
    _by_area,
    _by_start,
)


def _repaired(
    order: list[_Span], offsets: dict[int, int], size: int, bound: int
) -> tuple[dict[int, int], int]:
    """Places the topmost block first and tries again, as long as that may help."""
    best = (offsets, size)
    for _ in range(MOST_REPAIRS if len(order) < MOST_REPAIRED else 0):
        if best[1] <= bound:
            break
        top = max(order, key=lambda span: offsets[span.number] + span.size)
        order.remove(top)
        order.insert(0, top)
        offsets, size = _place(order)
        if size < best[1]:
            best = (offsets, size)
    return best


def _place(order: Sequence[_Span]) -> tuple[dict[int, int], int]:
    offsets: dict[int, int] = {}
    placed: list[tuple[int, int, int, int]] = []
    top = 0
    for number, start, end, size in order:
        taken = [(low, high) for s, e, low, high in placed if s <= end and start <= e]
        taken.sort()
        offset = _best_gap(taken, size)
        offsets[number] = offset
        placed.append((start, end, offset, offset + size))
        top = max(top, offset + size)
    return offsets, top


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
