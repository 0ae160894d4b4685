"""The dependence graph of a block: who must come before whom, why, and how many cycles before.

Nodes are indices into the block's instructions; an edge u → v carries `kind` and `latency`, the
least distance between the cycles at which u and v issue (Muchnick, *Advanced Compiler Design and
Implementation*, 1997, section 9.2). Of several edges between two nodes the longest is kept.

- *data*: v reads what u wrote. The result is there after u's latency; v may need the operand late.
- *anti*: v overwrites what u reads; *output*: both write the same place.
- *memory*: the accesses may meet and one is a store.
- *flag*: the same for condition flags, except that writes nobody reads (most integer instructions
of x86 destroy the flags) only have to stay out of the stretch between a write and its readers.
- *order*: barriers keep memory on their side; before allocation, instructions that hand each other
a fixed register stay together, so that the register is taken as briefly as possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

import networkx as nx

from compiler.machine.accesses import Accesses, keys, storage_key
from compiler.machine.code import (
    Address,
    AnyRegister,
    MachineInstruction,
    MachineNode,
    VirtualRegister,
)
from compiler.machine.timing import Timings
from compiler.schedule.memory import MemoryAccess, MemoryModel
from isas.model import Machine
from isas.registers import Register


class Dependence(Enum):
    """Why one instruction must come before another."""

    DATA = "data"
    ANTI = "anti"
    OUTPUT = "output"
    MEMORY = "memory"
    FLAG = "flag"
    ORDER = "order"


@dataclass(frozen=True, slots=True)
class Body:
    """What is scheduled of a block: its nodes up to the branches and copies at its end. `live_out`
    are the keys somebody reads after them.
    """

    nodes: Sequence[MachineNode]
    rows: Sequence[Accesses]
    live_out: frozenset[int]


def dependences(
    body: Body,
    machine: Machine,
    timings: Timings,
    accesses: Sequence[MemoryAccess],
    model: MemoryModel,
) -> nx.DiGraph:
    """The graph over the indices of `body.nodes`. `accesses` are its loads and stores in order."""
    builder = _Builder(body, machine, timings)
    builder.graph.add_nodes_from(range(len(body.nodes)))
    builder.registers()
    builder.memory(accesses, model)
    builder.barriers({access.node for access in accesses})
    return builder.graph


def groups(body: Body, machine: Machine) -> list[range]:
    """Runs of nodes between which an allocatable register is alive: they stay together, in
    order.
    """
    allocatable = {
        storage_key(c.first_storage + index)
        for c in machine.isa.registers.classes.values()
        for index in c.allocatable
    }
    live = {key for key in body.live_out if key in allocatable}
    is_held = [False] * (len(body.nodes) + 1)
    for place in range(len(body.nodes) - 1, -1, -1):
        is_held[place + 1] = bool(live)
        live.difference_update(body.rows[place].write_keys)
        live.update(key for key in body.rows[place].read_keys if key in allocatable)
    found: list[range] = []
    start = 0
    for place in range(1, len(body.nodes) + 1):
        if place == len(body.nodes) or not is_held[place]:
            found.append(range(start, place))
            start = place
    return [group for group in found if len(group) > 1]


def keep_together(graph: nx.DiGraph, group: range) -> None:
    """Makes whatever any member of the group waits for come before its first member."""
    first = group[0]
    for place in group[1:]:
        for before in [p for p in graph.predecessors(place) if p < first]:
            if not graph.has_edge(before, first):
                graph.add_edge(before, first, kind=Dependence.ORDER, latency=0)
        if not graph.has_edge(place - 1, place):
            graph.add_edge(place - 1, place, kind=Dependence.ORDER, latency=0)


@dataclass(slots=True)
class _Builder:
    """Collects the edges of one block."""

    body: Body
    machine: Machine
    timings: Timings
    graph: nx.DiGraph = field(default_factory=nx.DiGraph)

    def add(self, before: int, after: int, kind: Dependence, latency: int) -> None:
        """An edge; of several between the same two the longest counts."""
        if before == after:
            return
        known = self.graph.get_edge_data(before, after)
        if known is None or known["latency"] < latency:
            self.graph.add_edge(before, after, kind=kind, latency=latency)

    def registers(self) -> None:
        """Data, anti and output edges over everything but the flags."""
        flags = _flag_keys(self.machine)
        writer: dict[int, int] = {}
        readers: dict[int, list[int]] = {}
        for place, row in enumerate(self.body.rows):
            for key in dict.fromkeys(row.read_keys):
                if key in writer and key not in flags:
                    self._data(writer[key], place, key)
                readers.setdefault(key, []).append(place)
            for key in dict.fromkeys(row.write_keys):
                if key not in flags:
                    for reader in readers.pop(key, ()):
                        self.add(reader, place, Dependence.ANTI, 0)
                    if key in writer:
                        self.add(writer[key], place, Dependence.OUTPUT, 1)
                    writer[key] = place
        for key in sorted(flags):
            self._flags(key)

    def _data(self, before: int, after: int, key: int) -> None:
        latency = self._result_cycles(before) - self._needed(after, key)
        self.add(before, after, Dependence.DATA, max(0, latency))

    def _result_cycles(self, place: int) -> int:
        node = self.body.nodes[place]
        return self.timings.of(node.shape).latency if isinstance(node, MachineInstruction) else 0

    def _needed(self, place: int, key: int) -> int:
        """Cycles after issue at which the node first needs the register with this key."""
        node = self.body.nodes[place]
        if not isinstance(node, MachineInstruction):
            return 0
        timing = self.timings.of(node.shape)
        found = [
            timing.needed_after(name, isinstance(operand, Address))
            for name, operand in node.operands.items()
            if any(key in keys(register) for register in _registers_in(node, name))
        ]
        return min(found, default=0)

    def _flags(self, key: int) -> None:
        """Edges over one flags storage."""
        writers = [place for place, row in enumerate(self.body.rows) if key in row.write_keys]
        end = len(self.body.rows)
        starts = [-1, *writers]
        idle: list[int] = []
        busy: list[int] = []
        for writer, following in zip(starts, [*writers, end]):
            readers = [
                place
                for place in range(writer + 1, min(following + 1, end))
                if key in self.body.rows[place].read_keys
            ]
            is_live = bool(readers) or (following == end and key in self.body.live_out)
            if writer >= 0:
                for before in busy:
                    self.add(before, writer, Dependence.FLAG, 0)
                if is_live:
                    for before in idle:
                        self.add(before, writer, Dependence.FLAG, 0)
            if not is_live:
                idle += [writer] if writer >= 0 else []
                continue
            for reader in readers:
                if writer >= 0:
                    self.add(writer, reader, Dependence.FLAG, self._result_cycles(writer))
            busy = [writer, *readers] if writer >= 0 else readers
            idle = []

    def memory(self, found: Sequence[MemoryAccess], model: MemoryModel) -> None:
        """Edges between accesses that may meet, one of them a store."""
        forward = self.machine.core.store_forward_cycles
        for place, later in enumerate(found):
            for earlier in found[:place]:
                if earlier.node == later.node or not (earlier.is_store or later.is_store):
                    continue
                if model.may_meet(earlier, later):
                    is_forwarded = earlier.is_store and not later.is_store
                    cycles = forward if is_forwarded else int(earlier.is_store)
                    self.add(earlier.node, later.node, Dependence.MEMORY, cycles)

    def barriers(self, touching: Iterable[int]) -> None:
        """Barriers order all memory accesses and each other."""
        ordered = set(touching)
        for barrier, node in enumerate(self.body.nodes):
            if isinstance(node, MachineInstruction) and node.shape.facts.is_barrier:
                for place in sorted(ordered):
                    before, after = sorted((place, barrier))
                    self.add(before, after, Dependence.ORDER, 0)
                ordered.add(barrier)


def _flag_keys(machine: Machine) -> frozenset[int]:
    """The keys of the condition flags."""
    fixed = machine.isa.registers.fixed.values()
    return frozenset(
        storage_key(storage)
        for register in fixed
        if not register.class_name
        for storage in register.storages
    )


def _registers_in(node: MachineInstruction, name: str) -> tuple[AnyRegister, ...]:
    operand = node.operands[name]
    if isinstance(operand, Address):
        return operand.registers()
    register = node.tied.get(name, operand)
    return (register,) if isinstance(register, VirtualRegister | Register) else ()
