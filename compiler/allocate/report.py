"""Turns the rounds of an allocation into its result: code, counts, and rows for the screens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from compiler.allocate.assignment import Assigner
from compiler.allocate.coalescing import Intervals
from compiler.allocate.intervals import Interval
from compiler.allocate.limits import make_pool
from compiler.allocate.linear_scan import Pool, ScanProblem, ScanResult
from compiler.allocate.preparation import Working
from compiler.allocate.pressure import class_pressure, smallest_count
from compiler.allocate.result import AllocationResult, ClassUse, IntervalRow, Round
from compiler.allocate.spilling import SpillCode, Spiller
from compiler.machine.accesses import accesses
from compiler.machine.code import (
    MachineFunction,
    MachineInstruction,
    Role,
    Slot,
    VirtualRegister,
)
from isas.model import Machine


@dataclass(slots=True)
class Outcome:
    """Everything a run of rounds made, round by round. `needed` are the storages that instructions
    name themselves; `short_of` is the class that had too few registers when the run failed, else
    "".
    """

    machine: Machine
    pools: Mapping[str, Pool]
    needed: frozenset[int]
    working: Working
    spiller: Spiller
    problems: list[ScanProblem] = field(default_factory=list)
    built: list[Intervals] = field(default_factory=list)
    scans: list[ScanResult] = field(default_factory=list)
    spill_code: list[list[SpillCode]] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    short_of: str = ""


def allocation_result(outcome: Outcome) -> AllocationResult:
    """Assigns the last round's registers and gathers what was decided."""
    spiller, scan, built = outcome.spiller, outcome.scans[-1], outcome.built[-1]
    assigner = Assigner(
        outcome.machine, spiller.cards, outcome.working, outcome.pools, built, scan, spiller.homes
    )
    assignment = {
        member: str(assigner.register_of(member))
        for interval in built.all
        for member in interval.members
    }
    function = assigner.apply()
    roles = [node.role for node in _instructions(function)]
    folded = sum(counts.folded for counts in spiller.counts.values())
    return AllocationResult(
        function,
        _spilled(outcome),
        roles.count(Role.SPILL),
        roles.count(Role.RELOAD) + folded,
        roles.count(Role.REMATERIALIZE),
        {name: _class_use(outcome, name, function) for name in sorted(outcome.pools)},
        tuple(_round(outcome, number) for number in range(len(outcome.scans))),
        outcome.working.source,
        assignment,
    )


def _instructions(function: MachineFunction) -> list[MachineInstruction]:
    return [node for node in function.instructions() if isinstance(node, MachineInstruction)]


def _spilled(outcome: Outcome) -> dict[VirtualRegister, Slot | None]:
    homes = outcome.spiller.homes
    members = [m for scan in outcome.scans for i in scan.spilled for m in i.members]
    members.sort(key=lambda member: member.number)
    return {member: homes[member.number].slot for member in members}


def _class_use(outcome: Outcome, name: str, function: MachineFunction) -> ClassUse:
    register_class = outcome.machine.isa.registers.classes[name]
    pool = outcome.pools[name]
    touched: set[int] = set()
    for node in _instructions(function):
        row = accesses(node, outcome.machine.isa.registers)
        touched.update(-1 - key for key in (*row.read_keys, *row.write_keys))
    used = [pool.name(i) for i in pool.indices if pool.first_storage + i in touched]
    enough = smallest_count(
        outcome.problems[0],
        name,
        register_class.maximum,
        lambda count: make_pool(register_class, count, outcome.needed),
    )
    pressure = class_pressure(outcome.built[0], name, outcome.positions[0])
    return ClassUse(name, len(pool.indices), tuple(used), pressure, enough)


def _round(outcome: Outcome, number: int) -> Round:
    scan = outcome.scans[number]
    spilled = frozenset(scan.spilled)
    rows = tuple(
        IntervalRow(
            interval.name,
            tuple(str(member) for member in interval.members),
            interval.register_class,
            tuple((segment.start, segment.end) for segment in interval.segments),
            _place(outcome, interval, scan),
            interval in spilled,
        )
        for interval in sorted(outcome.built[number].all, key=lambda i: (i.start, i.end, i.name))
    )
    return Round(number, rows, scan.steps, outcome.positions[number])


def _place(outcome: Outcome, interval: Interval, scan: ScanResult) -> str:
    if interval in scan.places:
        return outcome.pools[interval.register_class].name(scan.places[interval])
    return str(outcome.spiller.homes[interval.members[0].number])
