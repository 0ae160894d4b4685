"""List scheduling: an order for the instructions of a block that keeps the core busy.

Muchnick, *Advanced Compiler Design and Implementation*, 1997, section 17.1.2; Gibbons and Muchnick
1986.

The scheduler walks cycle by cycle. An instruction is *ready* when everything it depends on has been
placed, and can *begin* when its operands have arrived and the reservation table has its ports free.
Of those that can begin, the one with the longest *critical path* goes first: the most cycles of
latency between its issue and the end of the block, for delaying it delays everything. If none can
begin, the cycle passes. Ties go to the instruction that more others wait for, then to the earlier
one.

Keeping the core busy wants many values in flight, and each takes a register. Before allocation,
when the next choice would keep more values alive than there are registers, the scheduler switches
to *pressure order* until there is room again: the ready instruction that frees most registers goes
first, whether or not it has to wait (Goodman and Hsu, *Code Scheduling and Register Allocation in
Large Basic Blocks*, 1988).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import networkx as nx

from compiler.machine.code import MachineInstruction, MachineNode
from compiler.machine.timing import Timing, Timings
from compiler.schedule.pressure import Pressure
from compiler.schedule.resources import ReservationTable
from isas.cores import Core

MOST_SHOWN = 6
"""How many other ready instructions a placement names."""

_NOTHING = Timing((), 0, 0, {})


@dataclass(frozen=True, slots=True)
class Placement:
    """One step: `place` (index in the source order) begins at `cycle`. `ready` are the others that
    were ready, best first; `reason` says why this one.
    """

    place: int
    cycle: int
    height: int
    ready: tuple[int, ...]
    reason: str


def heights(graph: nx.DiGraph, nodes: Sequence[MachineNode], timings: Timings) -> list[int]:
    """Cycles from each node's issue to the end of the block along the longest path."""
    found = [0] * len(nodes)
    for place in reversed(list(nx.topological_sort(graph))):
        after = [
            edge["latency"] + found[successor]
            for _, successor, edge in graph.out_edges(place, data=True)
        ]
        found[place] = max([timing_of(nodes[place], timings).latency, *after])
    return found


def timing_of(node: MachineNode, timings: Timings) -> Timing:
    """The timing of a node; copies that become no instruction yet cost nothing."""
    return timings.of(node.shape) if isinstance(node, MachineInstruction) else _NOTHING


def unit_of(node: MachineNode) -> str:
    """The class of work of a node."""
    return node.shape.unit if isinstance(node, MachineInstruction) else ""


@dataclass(slots=True)
class ListScheduler:
    """Schedules one block. `limits` are the registers of each class that may be alive ({}: no
    limit), and `together` maps a node to the one that must follow it at once.
    """

    nodes: Sequence[MachineNode]
    graph: nx.DiGraph
    timings: Timings
    core: Core
    pressure: Pressure | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    together: Mapping[int, int] = field(default_factory=dict)
    table: ReservationTable = field(init=False)
    height: list[int] = field(init=False)
    rank: list[tuple[int, int, int]] = field(init=False)
    earliest: dict[int, int] = field(default_factory=dict)
    waiting: dict[int, int] = field(default_factory=dict)
    cycle: int = 0

    def run(self) -> list[Placement]:
        """All nodes in their new order."""
        self.table = ReservationTable(self.core)
        self.height = heights(self.graph, self.nodes, self.timings)
        self.rank = [
            (-self.height[place], -self.graph.out_degree(place), place)
            for place in range(len(self.nodes))
        ]
        self.waiting = {place: self.graph.in_degree(place) for place in self.graph}
        ready = [place for place in self.graph if not self.waiting[place]]
        done: list[Placement] = []
        follower: int | None = None
        while ready:
            forced = follower if follower in ready else None
            ready.sort(key=self.rank.__getitem__)
            placed = self._next(ready, forced)
            ready.remove(placed.place)
            ready += self._release(placed)
            follower = self.together.get(placed.place)
            done.append(placed)
        return done

    def _release(self, placed: Placement) -> list[int]:
        """Books the node and returns those that become ready by it."""
        node = self.nodes[placed.place]
        self.table.take(timing_of(node, self.timings), unit_of(node), placed.cycle)
        if self.pressure is not None:
            self.pressure.place(placed.place)
        self.cycle = placed.cycle
        freed: list[int] = []
        for _, after, edge in self.graph.out_edges(placed.place, data=True):
            begin = placed.cycle + edge["latency"]
            self.earliest[after] = max(self.earliest.get(after, 0), begin)
            self.waiting[after] -= 1
            if not self.waiting[after]:
                freed.append(after)
        return freed

    def _next(self, ready: list[int], forced: int | None) -> Placement:
        if forced is not None:
            return self._placement(forced, ready, "it hands on a fixed register")
        able = self._able(ready)
        crowded = self._crowded(able[0])
        if crowded:
            best = min(ready, key=lambda place: (self._relief(place, crowded), self.rank[place]))
            reason = f"{crowded} registers run out and it {self._effect(best, crowded)}"
            return self._placement(best, ready, reason)
        return self._placement(able[0], ready, self._why(able, ready))

    def _able(self, ready: Sequence[int]) -> list[int]:
        """The best node, and the second best if there is one, of those that can begin first."""
        cycle = self.cycle
        while True:
            able: list[int] = []
            for place in ready:
                if self._can_begin(place, cycle):
                    able.append(place)
                    if len(able) == 2:
                        return able
            if able:
                return able
            cycle = max(cycle + 1, min(self.earliest.get(place, 0) for place in ready))

    def _placement(self, place: int, ready: Sequence[int], reason: str) -> Placement:
        cycle = max(self.cycle, self.earliest.get(place, 0))
        while not self._can_begin(place, cycle):
            cycle += 1
        others = tuple(other for other in ready[: MOST_SHOWN + 1] if other != place)
        return Placement(place, cycle, self.height[place], others, reason)

    def _can_begin(self, place: int, cycle: int) -> bool:
        if self.earliest.get(place, 0) > cycle:
            return False
        node = self.nodes[place]
        return self.table.fits(timing_of(node, self.timings), unit_of(node), cycle)

    def _crowded(self, place: int) -> str:
        """The class whose limit placing the node would exceed, or ""."""
        if self.pressure is None:
            return ""
        for name, change in sorted(self.pressure.change(place).items()):
            limit = self.limits.get(name)
            if limit is not None and change > 0 and self.pressure.now.get(name, 0) + change > limit:
                return name
        return ""

    def _relief(self, place: int, name: str) -> int:
        return self.pressure.change(place).get(name, 0) if self.pressure is not None else 0

    def _effect(self, place: int, name: str) -> str:
        change = self._relief(place, name)
        if change < 0:
            return f"frees {-change}"
        return f"takes only {change}" if change else "takes none"

    def _why(self, able: Sequence[int], ready: Sequence[int]) -> str:
        path = f"{self.height[able[0]]} cycles depend on it"
        if len(ready) == 1:
            return f"nothing else is ready; {path}"
        if len(able) == 1:
            return f"nothing else can begin yet; {path}"
        if self.height[able[0]] == self.height[able[1]]:
            return f"{path}, as on others, and more wait for it or it came first"
        return path


@dataclass(frozen=True, slots=True)
class InOrder:
    """An order on an in-order core: the cycle at which each node begins, in that order, and the
    cycle at which the last result is there.
    """

    cycles: tuple[int, ...]
    end: int


def in_order(
    order: Sequence[int],
    nodes: Sequence[MachineNode],
    graph: nx.DiGraph,
    timings: Timings,
    core: Core,
) -> InOrder:
    """Runs the nodes in `order`, none beginning before the one in front of it."""
    table = ReservationTable(core)
    earliest: dict[int, int] = {}
    begun: list[int] = []
    cycle = end = 0
    for place in order:
        timing = timing_of(nodes[place], timings)
        cycle = max(cycle, earliest.get(place, 0))
        while not table.fits(timing, unit_of(nodes[place]), cycle):
            cycle += 1
        table.take(timing, unit_of(nodes[place]), cycle)
        begun.append(cycle)
        end = max(end, cycle + timing.latency)
        for _, after, edge in graph.out_edges(place, data=True):
            earliest[after] = max(earliest.get(after, 0), cycle + edge["latency"])
    return InOrder(tuple(begun), end)
