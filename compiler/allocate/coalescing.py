"""Coalescing: values that a copy connects become one interval when they may share a register.

Loops make many copies: each loop-carried value is copied at the end of the body into the register
in which the next iteration expects it, and instructions with a tied operand copy that operand
first. If source and destination do not interfere, they may share one register and the copy vanishes
(Chaitin, *Register Allocation and Spilling via Graph Coloring*, 1982, section "subsumption").
Copies are visited from the innermost loop outwards. Holes count here: two values interfere when
their segments meet, except between the copy itself and the end of its block, while neither is
written: there both hold the same.

What cannot be joined leaves a *hint*, so that linear scan still gives both one register if it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from compiler.allocate.intervals import Interval, Segment, common, segments_of, union
from compiler.allocate.linear_scan import Hint
from compiler.allocate.liveness import Liveness
from compiler.allocate.moves import view_for
from compiler.machine.code import (
    AnyRegister,
    MachineFunction,
    ParallelCopy,
    VirtualRegister,
)
from isas.model import Machine
from isas.registers import Register


@dataclass(frozen=True, slots=True)
class Wish:
    """A copy that would vanish if both sides sat in one register. `equal` is where both hold the
    same value for certain: from the copy to the end of its block, as long as neither is written
    again.
    """

    destination: AnyRegister
    source: AnyRegister
    weight: float
    equal: Segment


@dataclass(frozen=True, slots=True)
class Intervals:
    """The intervals of a function: `of` maps a virtual register's number to its interval, `fixed` a
    storage to the segments in which instructions use or clobber it themselves."""

    all: tuple[Interval, ...]
    of: Mapping[int, Interval]
    fixed: Mapping[int, tuple[Segment, ...]]
    segments: Mapping[int, tuple[Segment, ...]]
    hints: Mapping[Interval, tuple[Hint, ...]]


@dataclass(slots=True)
class _Group:
    """Virtual registers that will share a register."""

    members: list[VirtualRegister]
    segments: tuple[Segment, ...]
    writes: tuple[int, ...]


@dataclass(slots=True)
class _Groups:
    """A union-find forest with the groups at its roots."""

    parent: dict[int, int] = field(default_factory=dict)
    group: dict[int, _Group] = field(default_factory=dict)

    def root(self, number: int) -> int:
        while self.parent[number] != number:
            self.parent[number] = self.parent[self.parent[number]]
            number = self.parent[number]
        return number

    def join(self, one: int, other: int) -> None:
        kept, gone = sorted((one, other))
        group, merged = self.group[kept], self.group.pop(gone)
        self.parent[gone] = kept
        group.members += merged.members
        group.segments = union((group.segments, merged.segments))
        group.writes = tuple(sorted(group.writes + merged.writes))


def build_intervals(
    function: MachineFunction,
    live: Liveness,
    machine: Machine,
    unspillable: frozenset[int] = frozenset(),
    homed: frozenset[int] = frozenset(),
) -> Intervals:
    """All intervals of `function`, copies joined where nothing interferes. Virtual registers whose
    number is in `unspillable` stay alone and must get registers; those in `homed` live in memory
    and have no interval.
    """
    segments = segments_of(function, live)
    registers = virtual_registers(live)
    weights = access_weights(function, live)
    fixed = {-1 - key: value for key, value in segments.items() if key < 0}
    writes = _write_positions(function, live)
    groups = _Groups()
    for number, register in sorted(registers.items()):
        if number not in homed:
            groups.parent[number] = number
            own = tuple(writes.get(number, ()))
            groups.group[number] = _Group([register], segments[number], own)
    wishes = tuple(wish for wish in copies(function) if not _is_homed(wish, homed))
    _coalesce(groups, wishes, unspillable)
    made: list[Interval] = []
    of: dict[int, Interval] = {}
    for _, group in sorted(groups.group.items()):
        interval = _interval(group, machine, weights, unspillable)
        made.append(interval)
        of.update((member.number, interval) for member in group.members)
    return Intervals(tuple(made), of, fixed, segments, _hints(wishes, of))


def virtual_registers(live: Liveness) -> dict[int, VirtualRegister]:
    """Every virtual register that is read or written, by number (the widest, where bits differ)."""
    found: dict[int, VirtualRegister] = {}
    for rows in live.nodes.values():
        for row in rows:
            for register in row.reads + row.writes:
                if isinstance(register, VirtualRegister):
                    known = found.get(register.number)
                    if known is None or known.bits < register.bits:
                        found[register.number] = register
    return found


def access_weights(function: MachineFunction, live: Liveness) -> dict[int, float]:
    """Estimated executed accesses of each virtual register: 10 to the power of the loop depth
    each.
    """
    weights: dict[int, float] = {}
    for block in function.blocks:
        each = 10.0**block.loop_depth
        for row in live.nodes[block.name]:
            for key in (*row.read_keys, *row.write_keys):
                if key >= 0:
                    weights[key] = weights.get(key, 0.0) + each
    return weights


def _write_positions(function: MachineFunction, live: Liveness) -> dict[int, list[int]]:
    """Where each virtual register is written, ascending."""
    found: dict[int, list[int]] = {}
    position = 1
    for block in function.blocks:
        for row in live.nodes[block.name]:
            for key in row.write_keys:
                if key >= 0:
                    found.setdefault(key, []).append(position)
            position += 2
    return found


def copies(function: MachineFunction) -> list[Wish]:
    """Every single copy of the function's parallel copies, innermost loops first."""
    found: list[Wish] = []
    start = 0
    for block in function.blocks:
        end = start + 2 * len(block.instructions)
        for place, node in enumerate(block.instructions):
            if isinstance(node, ParallelCopy):
                equal = Segment(start + 2 * place + 1, end)
                found += (Wish(d, s, 10.0**block.loop_depth, equal) for d, s in node.moves)
        start = end
    return sorted(found, key=lambda wish: -wish.weight)


def _is_homed(wish: Wish, homed: frozenset[int]) -> bool:
    sides = (wish.destination, wish.source)
    return any(isinstance(side, VirtualRegister) and side.number in homed for side in sides)


def _coalesce(groups: _Groups, wishes: Iterable[Wish], alone: frozenset[int]) -> None:
    for wish in wishes:
        one, other = wish.destination, wish.source
        if not (isinstance(one, VirtualRegister) and isinstance(other, VirtualRegister)):
            continue
        if one.register_class != other.register_class or one.bits != other.bits:
            continue
        if one.number in alone or other.number in alone:
            continue
        left, right = groups.root(one.number), groups.root(other.number)
        if left != right and _may_join(groups.group[left], groups.group[right], wish.equal):
            groups.join(left, right)


def _may_join(one: _Group, other: _Group, equal: Segment) -> bool:
    """Whether the groups are alive together only where the copy has just made them equal."""
    shared = common(one.segments, other.segments)
    if not shared:
        return True
    if shared[0].start < equal.start or shared[-1].end > equal.end:
        return False
    last = shared[-1].end
    return not any(
        equal.start < position < last for group in (one, other) for position in group.writes
    ) and _writes_once(one, other, equal.start)


def _writes_once(one: _Group, other: _Group, position: int) -> bool:
    return (one.writes + other.writes).count(position) == 1


def _interval(
    group: _Group, machine: Machine, weights: Mapping[int, float], unspillable: frozenset[int]
) -> Interval:
    members = tuple(sorted(group.members, key=lambda member: member.number))
    bits = max(member.bits for member in members)
    view = view_for(machine, members[0].register_class, bits)
    return Interval(
        members,
        group.segments,
        view.storages_per_register,
        sum(weights.get(member.number, 0.0) for member in members),
        not any(member.number in unspillable for member in members),
    )


def _hints(wishes: Sequence[Wish], of: Mapping[int, Interval]) -> dict[Interval, tuple[Hint, ...]]:
    found: dict[Interval, list[Hint]] = {}
    for wish in wishes:
        sides = (wish.destination, wish.source)
        for one, other in (sides, sides[::-1]):
            if not isinstance(one, VirtualRegister):
                continue
            interval = of[one.number]
            if isinstance(other, Register):
                hint = Hint(wish.weight, place=other.index)
            elif of[other.number] is interval:
                continue
            else:
                hint = Hint(wish.weight, interval=of[other.number])
            found.setdefault(interval, []).append(hint)
    return {interval: tuple(hints) for interval, hints in found.items()}
