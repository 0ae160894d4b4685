"""Naive witnesses for the scheduler: which pairs may not be swapped, and how long an order takes.

Both are written from the cards alone and share no code with `compiler.schedule`.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.machine.code import (
    Address,
    AnyRegister,
    MachineInstruction,
    MachineNode,
    ParallelCopy,
    VirtualRegister,
)
from isas.corefiles import core_micro_ops
from isas.cores import MicroOp, MicroOpRole, Order
from isas.model import Machine
from isas.registers import Register, WriteRule

Place = tuple[str, int]


def of(register: AnyRegister) -> set[Place]:
    """What a register shares with others."""
    if isinstance(register, VirtualRegister):
        return {("virtual", register.number)}
    return {("storage", storage) for storage in register.storages}


def reads(node: MachineNode, machine: Machine) -> set[Place]:
    if isinstance(node, ParallelCopy):
        return set().union(*(of(source) for _, source in node.moves))
    found: set[Place] = set()
    facts = node.shape.facts
    for name, operand in node.operands.items():
        if isinstance(operand, Address):
            found |= set().union(*(of(r) for r in operand.registers()))
        elif isinstance(operand, VirtualRegister | Register):
            if name in facts.reads or name == node.shape.rest:
                found |= of(node.tied.get(name, operand))
            elif node.guard is not None or merges(node, name, operand, machine):
                found |= of(operand)
    if node.guard is not None:
        found |= of(node.guard[0])
    return found | named(facts.implicit_reads, machine)


def merges(node: MachineInstruction, name: str, register: AnyRegister, machine: Machine) -> bool:
    kind = node.shape.by_name[name].kind
    view = machine.isa.registers.classes[kind.class_name].views[kind.view]
    whole = register.bits
    if isinstance(register, Register):
        whole = machine.isa.registers.classes[kind.class_name].storage_bits
    return view.write_rule is WriteRule.MERGE and view.bits < whole


def named(names: Sequence[str], machine: Machine) -> set[Place]:
    registers = [machine.isa.registers.by_name(name) for name in names]
    return set().union(*(of(r) for r in registers if r is not None))


def writes(node: MachineNode, machine: Machine) -> set[Place]:
    if isinstance(node, ParallelCopy):
        return set().union(*(of(target) for target, _ in node.moves))
    found = [node.operands[name] for name in node.shape.facts.writes]
    places = set().union(*(of(r) for r in found if isinstance(r, VirtualRegister | Register)))
    return places | named(node.shape.facts.implicit_writes, machine)


def identity(node: MachineNode) -> int:
    """The same for an instruction and its copy with another place, by the operands they share."""
    return id(node.operands if isinstance(node, MachineInstruction) else node)


def producers(order: Sequence[MachineNode], machine: Machine) -> dict[tuple[int, Place], int]:
    """For every read in `order` the node that wrote what it reads (-1: from before), by
    `identity`.
    """
    found: dict[tuple[int, Place], int] = {}
    for place, node in enumerate(order):
        for read in reads(node, machine):
            writer = -1
            for earlier in order[:place]:
                if read in writes(earlier, machine):
                    writer = identity(earlier)
            found[identity(node), read] = writer
    return found


def last_writers(order: Sequence[MachineNode], machine: Machine) -> dict[Place, int]:
    """The node that wrote each place last."""
    return {place: identity(node) for node in order for place in writes(node, machine)}


def in_order_cycles(order: Sequence[MachineNode], machine: Machine) -> int:
    """Cycles until the last result of `order` is there: a clock that starts at most `width`
    instructions a cycle, none before the one in front of it, and knows registers and ports only."""
    core = machine.core
    width = min(core.rename_width, core.issue_width)
    ready: dict[Place, int] = {}
    ports: set[tuple[int, int]] = set()
    cycle = started = end = 0
    for node in order:
        if isinstance(node, ParallelCopy):
            arrival = max([ready.get(place, 0) for place in reads(node, machine)], default=0)
            ready.update((place, arrival) for place in writes(node, machine))
            continue
        micro_ops = core_micro_ops(core, node.shape)
        size = max(1, len(micro_ops)) if core.order is Order.OUT_OF_ORDER else 1
        while True:
            taken = claimed(micro_ops, cycle, ports)
            is_late = any(ready.get(place, 0) > cycle for place in reads(node, machine))
            is_full = started > 0 and started + size > width
            if taken is not None and not is_late and not is_full:
                break
            cycle, started = cycle + 1, 0
        ports |= taken
        started += size
        done = cycle + latency(micro_ops)
        end = max(end, done)
        ready.update((place, done) for place in writes(node, machine))
    return end


def latency(micro_ops: Sequence[MicroOp]) -> int:
    loads = [m.latency for m in micro_ops if m.role is MicroOpRole.LOAD]
    rest = (MicroOpRole.LOAD, MicroOpRole.STORE_ADDRESS)
    return max(loads, default=0) + sum(m.latency for m in micro_ops if m.role not in rest)


def claimed(
    micro_ops: Sequence[MicroOp], cycle: int, ports: set[tuple[int, int]]
) -> set[tuple[int, int]] | None:
    """The (port, cycle) pairs that micro-ops starting at `cycle` would take, or None."""
    taken: set[tuple[int, int]] = set()
    start = cycle
    for micro_op in micro_ops:
        if micro_op.ports:
            spans = [{(p, start + k) for k in range(micro_op.busy)} for p in micro_op.ports]
            free = next((span for span in spans if not span & (ports | taken)), None)
            if free is None:
                return None
            taken |= free
        start += 0 if micro_op.role is MicroOpRole.STORE_ADDRESS else micro_op.latency
    return taken
