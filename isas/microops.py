"""What the micro-ops of one instruction read and write.

Loads come first, then the computation (one micro-op after the other), then store address and store
data. Between them values pass through two temporary storages. What is loaded as it stands is ready
with the load.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from isas.cores import MicroOp, MicroOpRole
from isas.effects import Apply, Assignment, Effect, Implicit, Operand, walk
from isas.model import Machine
from isas.program import MemoryOperand, ProgramInstruction, RegisterOperand
from isas.registers import Register, WriteRule

ROLES: tuple[MicroOpRole, ...] = tuple(MicroOpRole)
"""Micro-op roles by number: compute, load, store address, store data."""

LOADED, CHAIN = -1, -2
"""Stand-ins for the temporary storages: what was loaded, what the last micro-op computed."""


@dataclass(slots=True)
class MicroOpRow:
    """A micro-op with the storages it reads (and how late each may come) and writes."""

    micro_op: MicroOp
    reads: list[tuple[int, int]] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)


def _fixed(name: str, machine: Machine) -> tuple[int, ...]:
    register = machine.isa.registers.by_name(name)
    return () if register is None else register.storages


def _operand_storages(instruction: ProgramInstruction, name: str) -> tuple[int, ...]:
    """The storages of a register operand, or of the registers in an address."""
    operand = instruction.operands.get(name)
    if isinstance(operand, RegisterOperand):
        return operand.register.storages
    if isinstance(operand, MemoryOperand):
        registers = (operand.base, operand.index)
        return tuple(s for register in registers if register for s in register.storages)
    return ()


def read_storages(instruction: ProgramInstruction, machine: Machine) -> Iterator[int]:
    """Storages the computation reads: operands, flags, what a merging or guarded write keeps."""
    for _, storage in _named_reads(instruction, machine):
        yield storage


def _named_reads(
    instruction: ProgramInstruction, machine: Machine
) -> Iterator[tuple[str, int]]:  # fmt: skip
    shape, facts = instruction.shape, instruction.shape.facts
    rest = () if shape.rest is None else (shape.rest,)
    for name in dict.fromkeys(facts.reads + rest + facts.addresses):
        for storage in _operand_storages(instruction, name):
            yield name, storage
    for name in facts.implicit_reads:
        for storage in _fixed(name, machine):
            yield name, storage
    for name in facts.writes:
        register = instruction.register(name)
        if register is not None and _keeps_rest(register, instruction):
            for storage in register.storages:
                yield name, storage
    if instruction.guard is not None:
        for storage in instruction.guard.register.storages:
            yield "guard", storage


def _keeps_rest(register: Register, instruction: ProgramInstruction) -> bool:
    return register.write_rule is WriteRule.MERGE or instruction.guard is not None


def written_storages(instruction: ProgramInstruction, machine: Machine) -> list[int]:
    facts = instruction.shape.facts
    storages = [s for name in facts.writes for s in _operand_storages(instruction, name)]
    return storages + [s for name in facts.implicit_writes for s in _fixed(name, machine)]


def _target_storages(
    target: Operand | Implicit | None, instruction: ProgramInstruction, machine: Machine
) -> tuple[int, ...]:
    if isinstance(target, Operand):
        return _operand_storages(instruction, target.name)
    return () if target is None or target.name == "pc" else _fixed(target.name, machine)


def _is_plain_load(assignment: Assignment) -> bool:
    expression = assignment.expression
    return isinstance(expression, Apply) and expression.effect is Effect.LOAD


def _uses_load(assignment: Assignment) -> bool:
    return any(
        isinstance(node, Apply) and node.effect is Effect.LOAD
        for node in walk(assignment.expression)
    )


def connect(
    instruction: ProgramInstruction, machine: Machine, micro_ops: list[MicroOp]
) -> list[MicroOpRow]:
    """Gives every micro-op its reads and writes."""
    rows = [MicroOpRow(micro_op) for micro_op in micro_ops]
    by_role = {role: [row for row in rows if row.micro_op.role is role] for role in ROLES}
    loads, computes = by_role[MicroOpRole.LOAD], by_role[MicroOpRole.COMPUTE]
    addresses = by_role[MicroOpRole.STORE_ADDRESS]
    stored = by_role[MicroOpRole.STORE_DATA]
    facts = instruction.shape.facts
    for row in loads:
        for name in facts.loads:
            row.reads += [(s, 0) for s in _operand_storages(instruction, name)]
    for row in addresses or stored:
        for name in facts.stores:
            row.reads += [(s, 0) for s in _operand_storages(instruction, name)]
    workers = computes or stored or loads
    _connect_reads(instruction, machine, loads if workers is not loads else [], workers)
    # A micro-op without latency only takes its port: nothing waits for it.
    chain = [row for row in workers if row.micro_op.latency > 0] or workers
    for earlier, later in pairwise(chain if workers is not loads else ()):
        earlier.writes.append(CHAIN)
        later.reads.append((CHAIN, 0))
    if computes and stored:
        chain[-1].writes.append(CHAIN)
        for row in stored:
            row.reads.append((CHAIN, 0))
    _connect_writes(instruction, machine, loads, chain)
    return rows


def _connect_reads(
    instruction: ProgramInstruction,
    machine: Machine,
    loads: list[MicroOpRow],
    workers: list[MicroOpRow],
) -> None:
    """Operands go to the micro-op that lists them as late, else to the first.

    `loads` are those that come before the `workers`.
    """
    if not workers:
        return
    first = workers[0]
    for name, storage in _named_reads(instruction, machine):
        row = next((w for w in workers if name in w.micro_op.late), first)
        row.reads.append((storage, row.micro_op.late.get(name, 0)))
    effects = instruction.shape.effects
    for row in loads:
        row.writes.append(LOADED)
    is_used = any(_uses_load(a) and not _is_plain_load(a) for a in effects)
    if loads and (is_used or instruction.shape.facts.stores):
        first.reads.append((LOADED, 0))


def _connect_writes(
    instruction: ProgramInstruction,
    machine: Machine,
    loads: list[MicroOpRow],
    workers: list[MicroOpRow],
) -> None:
    """What is loaded as it stands is ready with the load, everything else with the last step."""
    for assignment in instruction.shape.effects:
        if assignment.is_store:
            continue
        target = assignment.target
        rows = loads if loads and _is_plain_load(assignment) else workers
        if rows:
            rows[-1].writes += _target_storages(target, instruction, machine)
