"""Live intervals: where on the line of numbered positions a value needs a register.

The function's nodes are numbered in order. Node i reads at position 2i and writes at 2i + 1, so a
value that is read for the last time at i ends before one that is written at i begins, and the two
may share a register. A *segment* [start, end) is a stretch without holes; the *interval* of a
value is the span from its first segment to its last, holes included (Poletto and Sarkar 1999 work
on spans). Segments serve where holes matter: coalescing and fixed registers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from compiler.allocate.liveness import Liveness
from compiler.machine.code import MachineFunction, VirtualRegister


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """Positions start <= p < end."""

    start: int
    end: int

    def __str__(self) -> str:
        return f"[{self.start},{self.end})"


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """What linear scan hands a register to: one virtual register, or several that copies joined.

    `members` ascend by number, and the first names the interval. `storages` is how many
    neighbouring storages it needs (2 for a 64-bit value in 32-bit registers). `weight` estimates
    the executed accesses, 10 to the loop depth each. `can_spill` is false for the tiny intervals
    that spill code itself needs. `hints` are places (first storage indices) and other intervals'
    members that copies would like it to share.
    """

    members: tuple[VirtualRegister, ...]
    segments: tuple[Segment, ...]
    storages: int
    weight: float
    can_spill: bool = True

    @property
    def name(self) -> str:
        return str(self.members[0])

    @property
    def register_class(self) -> str:
        return self.members[0].register_class

    @property
    def bits(self) -> int:
        return max(member.bits for member in self.members)

    @property
    def start(self) -> int:
        return self.segments[0].start

    @property
    def end(self) -> int:
        return self.segments[-1].end

    def __str__(self) -> str:
        return f"{self.name} [{self.start},{self.end})"


def intersect(one: Sequence[Segment], other: Sequence[Segment]) -> bool:
    """Whether two sorted, disjoint lists of segments share a position."""
    i = j = 0
    while i < len(one) and j < len(other):
        if one[i].end <= other[j].start:
            i += 1
        elif other[j].end <= one[i].start:
            j += 1
        else:
            return True
    return False


def common(one: Sequence[Segment], other: Sequence[Segment]) -> list[Segment]:
    """The stretches that two sorted, disjoint lists of segments share, ascending."""
    found: list[Segment] = []
    i = j = 0
    while i < len(one) and j < len(other):
        start, end = max(one[i].start, other[j].start), min(one[i].end, other[j].end)
        if start < end:
            found.append(Segment(start, end))
        if one[i].end <= other[j].end:
            i += 1
        else:
            j += 1
    return found


def union(lists: Iterable[Sequence[Segment]]) -> tuple[Segment, ...]:
    """All positions of the lists as sorted, disjoint, maximal segments."""
    joined: list[Segment] = []
    for segment in sorted(segment for segments in lists for segment in segments):
        if joined and segment.start <= joined[-1].end:
            last = joined.pop()
            segment = Segment(last.start, max(last.end, segment.end))
        joined.append(segment)
    return tuple(joined)


def covers(segments: Sequence[Segment], position: int) -> bool:
    """Whether some segment contains `position`."""
    place = bisect_right(segments, position, key=lambda segment: segment.start) - 1
    return place >= 0 and position < segments[place].end


def segments_of(function: MachineFunction, live: Liveness) -> dict[int, tuple[Segment, ...]]:
    """The segments of every key that is read or written, by key.

    A value written and never read still gets the one position of its write: the write destroys
    whatever else the register holds.
    """
    found: dict[int, list[Segment]] = {}
    end = 2 * sum(len(block.instructions) for block in function.blocks)
    for block in reversed(function.blocks):
        rows = live.nodes[block.name]
        start = end - 2 * len(rows)
        open_until = dict.fromkeys(live.space.members(live.live_out[block.name]), end)
        for offset in range(len(rows) - 1, -1, -1):
            position = start + 2 * offset
            for key in rows[offset].write_keys:
                until = open_until.pop(key, position + 2)
                found.setdefault(key, []).append(Segment(position + 1, until))
            for key in rows[offset].read_keys:
                open_until.setdefault(key, position + 1)
        for key, until in open_until.items():
            if until > start:
                found.setdefault(key, []).append(Segment(start, until))
        end = start
    return {key: union([segments]) for key, segments in sorted(found.items())}
