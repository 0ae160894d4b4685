"""The pass: schedules every block of a function, before allocation or after it.

Blocks are scheduled one by one; nothing moves between them. Branches, and the copies for phis in
front of them, stay at the end. The new order of a block is kept only if it is better than the one
it came in: first fewer registers beyond what there is, then fewer cycles on an in-order core.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import networkx as nx

from compiler.journal import Alternative, Decision, Journal
from compiler.machine.accesses import Accesses, accesses
from compiler.machine.code import (
    MachineBlock,
    MachineFunction,
    MachineInstruction,
    MachineNode,
    ParallelCopy,
    place_name,
)
from compiler.machine.timing import Timings
from compiler.options import Options
from compiler.schedule.dependences import Body, dependences, groups, keep_together
from compiler.schedule.list_scheduler import MOST_SHOWN, InOrder, ListScheduler, Placement, in_order
from compiler.schedule.memory import MemoryModel
from compiler.schedule.pressure import Need, Pressure, most_live, needs, pressure_limits
from compiler.schedule.regions import points_to
from isas.model import Machine

BEFORE_ALLOCATION = "scheduled"
"""The stage over virtual registers: register pressure counts, fixed registers are held briefly."""

AFTER_ALLOCATION = "rescheduled"
"""The stage over physical registers: only cycles count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled(Decision):
    """Where one instruction went: it begins at `cycle` of its block, counted in the scheduler's own
    model; `was` is its place in the block before, `height` the cycles from its issue to the block's
    end.
    """

    block: str
    cycle: int
    height: int
    was: int
    text: str

    @property
    def template(self) -> str:
        return "{subject} ({text}): cycle {cycle}, because {because}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockScheduled(Decision):
    """What scheduling a block gave: cycles in the in-order model before and after."""

    cycles_before: int
    cycles_after: int

    @property
    def template(self) -> str:
        return "{subject}: {cycles_before} → {cycles_after} cycles, {chosen}: {because}"


def schedule(
    function: MachineFunction,
    machine: Machine,
    options: Options,
    journal: Journal,
    stage: str = BEFORE_ALLOCATION,
) -> MachineFunction:
    """A copy of `function` with the instructions of every block in a better order. `stage` is the
    name of the stage that is made: BEFORE_ALLOCATION or AFTER_ALLOCATION.
    """
    return _Pass(function, machine, options, journal, stage).run()


class _Pass:
    """One run over a function."""

    def __init__(
        self,
        function: MachineFunction,
        machine: Machine,
        options: Options,
        journal: Journal,
        stage: str,
    ) -> None:
        self.function, self.machine, self.journal = function, machine, journal
        self.stage = stage
        self.timings = Timings(machine.core)
        self.limits = pressure_limits(machine, options)
        file = machine.isa.registers
        self.rows = {
            block.name: [accesses(node, file) for node in block.instructions]
            for block in function.blocks
        }
        self.live_in = _live_in(function, self.rows)
        self.needs: dict[int, Need] = {}
        for rows in self.rows.values():
            self.needs.update(needs(rows, machine))
        self.model = MemoryModel(function, machine, points_to(function, machine))

    def run(self) -> MachineFunction:
        blocks = [self._block(block) for block in self.function.blocks]
        return replace(self.function, blocks=blocks)

    def _block(self, block: MachineBlock) -> MachineBlock:
        count = _body_length(block.instructions)
        nodes, rows = block.instructions[:count], self.rows[block.name]
        body = Body(nodes, rows[:count], self._live_after(block, count))
        if count < 2:
            return replace(block, instructions=list(block.instructions))
        found = [access for access in self.model.read(block) if access.node < count]
        graph = dependences(body, self.machine, self.timings, found, self.model)
        placed = self._placed(block, body, graph)
        order = self._better(block, body, graph, placed)
        code = [self._put(nodes[was], block, place) for place, was in enumerate(order)]
        return replace(block, instructions=code + block.instructions[count:])

    def _subject(self, block: MachineBlock, place: int) -> str:
        return f"{self.function.name}/{block.name}:{place}"

    def _put(self, node: MachineNode, block: MachineBlock, place: int) -> MachineNode:
        """The node with its place in the new order on it, for whoever asks why it is there."""
        if isinstance(node, ParallelCopy):
            return node
        name = place_name(self.stage, self._subject(block, place))
        return replace(node, places=(*node.places, name))

    def _placed(self, block: MachineBlock, body: Body, graph: nx.DiGraph) -> list[Placement]:
        """The list schedule of a block."""
        scheduler = ListScheduler(body.nodes, graph, self.timings, self.machine.core)
        if self.stage == BEFORE_ALLOCATION:
            together: dict[int, int] = {}
            for group in groups(body, self.machine):
                keep_together(graph, group)
                together.update(pairwise(group))
            scheduler.together = together
            scheduler.limits = self.limits
            scheduler.pressure = Pressure(body, self.needs)
            scheduler.pressure.start(self.live_in[block.name])
        return scheduler.run()

    def _better(
        self, block: MachineBlock, body: Body, graph: nx.DiGraph, placed: Sequence[Placement]
    ) -> list[int]:
        """The scheduled order or the one that came in, with the decisions recorded."""
        before, after = list(range(len(body.nodes))), [p.place for p in placed]
        runs = [
            in_order(order, body.nodes, graph, self.timings, self.machine.core)
            for order in (before, after)
        ]
        excess = [self._excess(block, body, order) for order in (before, after)]
        is_kept = (excess[0], runs[0].end) <= (excess[1], runs[1].end)
        because = _comparison([run.end for run in runs], excess)
        self.journal.record(
            BlockScheduled(
                subject=f"{self.function.name}/{block.name}",
                chosen="the order stays" if is_kept else "reordered",
                because=because,
                cycles_before=runs[0].end,
                cycles_after=runs[0].end if is_kept else runs[1].end,
            )
        )
        self._record(block, body, _as_it_was(placed, runs[0]) if is_kept else placed)
        return before if is_kept else after

    def _excess(self, block: MachineBlock, body: Body, order: Sequence[int]) -> int:
        """Registers that the order keeps alive beyond the limits, over all classes."""
        if self.stage != BEFORE_ALLOCATION:
            return 0
        most = most_live(body, order, self.needs, self.live_in[block.name])
        return sum(max(0, count - self.limits.get(name, count)) for name, count in most.items())

    def _record(self, block: MachineBlock, body: Body, placed: Sequence[Placement]) -> None:
        height = {step.place: step.height for step in placed}
        for place, step in enumerate(placed):
            node = body.nodes[step.place]
            others = tuple(
                Alternative(name=_title(body.nodes[other]), cost=height[other])
                for other in step.ready[:MOST_SHOWN]
            )
            self.journal.record(
                Scheduled(
                    subject=self._subject(block, place),
                    origins=node.origins,
                    chosen=f"cycle {step.cycle}",
                    because=step.reason,
                    alternatives=others,
                    block=block.name,
                    cycle=step.cycle,
                    height=step.height,
                    was=step.place,
                    text=_title(node),
                )
            )

    def _live_after(self, block: MachineBlock, count: int) -> frozenset[int]:
        """The keys alive after the first `count` nodes of a block."""
        live: set[int] = set()
        for successor in block.successors:
            live |= self.live_in[successor]
        for row in reversed(self.rows[block.name][count:]):
            live.difference_update(row.write_keys)
            live.update(row.read_keys)
        return frozenset(live)


def _as_it_was(placed: Sequence[Placement], run: InOrder) -> list[Placement]:
    """Placements for a block whose order stays."""
    heights = {step.place: step.height for step in placed}
    return [
        Placement(place, cycle, heights[place], (), "the block keeps its order")
        for place, cycle in enumerate(run.cycles)
    ]


def _comparison(cycles: Sequence[int], excess: Sequence[int]) -> str:
    if excess[0] != excess[1]:
        return f"registers beyond the limit {excess[0]} before, {excess[1]} after"
    return f"{cycles[0]} cycles before, {cycles[1]} after"


def _title(node: MachineNode) -> str:
    if isinstance(node, ParallelCopy):
        return "copy"
    return f"{node.shape.card.name} → {node.value}" if node.value else node.shape.title


def _body_length(nodes: Sequence[MachineNode]) -> int:
    """How many nodes come before the branches and the copies in front of them."""
    count = len(nodes)
    while count and _is_end(nodes[count - 1]):
        count -= 1
    return count


def _is_end(node: MachineNode) -> bool:
    return isinstance(node, ParallelCopy) or (
        isinstance(node, MachineInstruction) and node.shape.facts.is_branch
    )


def _live_in(
    function: MachineFunction, rows: dict[str, list[Accesses]]
) -> dict[str, frozenset[int]]:
    """The keys alive at the start of every block, by the usual backward dataflow."""
    local = {name: _use_definition(block_rows) for name, block_rows in rows.items()}
    live: dict[str, frozenset[int]] = {name: uses for name, (uses, _) in local.items()}
    is_changed = True
    while is_changed:
        is_changed = False
        for block in reversed(function.blocks):
            out: frozenset[int] = frozenset().union(*(live[s] for s in block.successors))
            uses, definitions = local[block.name]
            entering = uses | (out - definitions)
            if entering != live[block.name]:
                live[block.name] = entering
                is_changed = True
    return live


def _use_definition(rows: Iterable[Accesses]) -> tuple[frozenset[int], frozenset[int]]:
    uses: set[int] = set()
    definitions: set[int] = set()
    for row in rows:
        uses.update(key for key in row.read_keys if key not in definitions)
        definitions.update(row.write_keys)
    return frozenset(uses), frozenset(definitions)
