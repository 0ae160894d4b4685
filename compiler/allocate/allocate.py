"""The pass: liveness, intervals, linear scan and spill code in rounds, then physical registers.

`allocate` leaves the function it is given as it was and returns a new one.
"""

from __future__ import annotations

from collections.abc import Mapping

from compiler.allocate.coalescing import build_intervals
from compiler.allocate.intervals import Interval
from compiler.allocate.limits import (
    check_register_limits,
    fixed_storages,
    limits_of,
    make_pools,
    real_counts,
)
from compiler.allocate.linear_scan import Pool, ScanProblem, SpillRule, linear_scan
from compiler.allocate.liveness import liveness
from compiler.allocate.moves import MoveCards
from compiler.allocate.preparation import prepare
from compiler.allocate.report import Outcome, allocation_result
from compiler.allocate.result import AllocationResult
from compiler.allocate.shortcuts import single_definitions
from compiler.allocate.spilling import Spiller
from compiler.journal import Journal
from compiler.machine.code import MachineFunction, MachineInstruction
from compiler.options import Options
from isas.errors import InputError, InternalError
from isas.model import Machine

_MOST_ROUNDS = 100


def allocate(
    function: MachineFunction,
    machine: Machine,
    options: Options,
    journal: Journal,
    rule: SpillRule = SpillRule.FURTHEST_END,
) -> AllocationResult:
    """Gives every virtual register of `function` a physical register or a slot.

    Raises InputError when the limits of `options` name an unknown class or leave a class with fewer
    registers than some instruction needs; the message says how many would do.
    """
    check_register_limits(machine, options)
    counts = limits_of(machine, options)
    outcome = _run(function, machine, counts, rule)
    if outcome.short_of:
        raise _too_few(function, machine, counts, rule, outcome.short_of)
    for scan, code in zip(outcome.scans, outcome.spill_code):
        for decision in (*scan.steps, *code):
            journal.record(decision)
    return allocation_result(outcome)


def _run(
    function: MachineFunction,
    machine: Machine,
    counts: Mapping[str, int | None],
    rule: SpillRule,
) -> Outcome:
    """Rounds of linear scan and spill code until a round spills nothing or gets stuck."""
    working = prepare(function, machine)
    spiller = Spiller(working, machine, MoveCards(machine))
    needed = fixed_storages(function, machine)
    pools = make_pools(machine, counts, needed)
    outcome = Outcome(machine, pools, needed, working, spiller)
    outcome.short_of = _short_of(machine, pools, needed)
    if outcome.short_of:
        return outcome
    for number in range(_MOST_ROUNDS):
        problem = _problem(outcome, rule, number)
        scan = linear_scan(problem)
        outcome.problems.append(problem)
        outcome.scans.append(scan)
        if scan.stuck is not None:
            outcome.short_of = scan.stuck.register_class
            return outcome
        outcome.spill_code.append(spiller.spill(scan.spilled) if scan.spilled else [])
        if not scan.spilled:
            return outcome
    raise InternalError(f"{function.name}: allocation did not end in {_MOST_ROUNDS} rounds")


def _short_of(machine: Machine, pools: Mapping[str, Pool], needed: frozenset[int]) -> str:
    """A class whose pool lacks a register that some instruction names itself, or ""."""
    for name, pool in sorted(pools.items()):
        register_class = machine.isa.registers.classes[name]
        wanted = {i for i in register_class.allocatable if pool.first_storage + i in needed}
        if not wanted <= set(pool.indices):
            return name
    return ""


def _problem(outcome: Outcome, rule: SpillRule, number: int) -> ScanProblem:
    """The next round's problem; its intervals are kept in `outcome.built`."""
    function, spiller = outcome.working.function, outcome.spiller
    live = liveness(function, outcome.machine.isa.registers)
    built = build_intervals(
        function, live, outcome.machine, frozenset(spiller.unspillable), frozenset(spiller.homes)
    )
    outcome.built.append(built)
    outcome.positions.append(2 * sum(len(block.instructions) for block in function.blocks))
    definitions = single_definitions(function, outcome.machine)
    cost = {interval: _cost(interval, spiller, definitions) for interval in built.all}
    return ScanProblem(built.all, outcome.pools, built.fixed, built.hints, cost, rule, number)


def _cost(
    interval: Interval, spiller: Spiller, definitions: Mapping[int, MachineInstruction]
) -> float:
    """Estimated cycles of spill code: an access to memory for each use; constants need no store."""
    again = spiller.constant_of(interval, definitions)
    if again is not None:
        return interval.weight * 0.5
    return interval.weight * spiller.cards.reload_cycles(interval.register_class, interval.bits)


def _too_few(
    function: MachineFunction,
    machine: Machine,
    counts: Mapping[str, int | None],
    rule: SpillRule,
    name: str,
) -> InputError:
    """The error for a class with too few registers, with the smallest count that works."""
    limit = counts[name]
    register_class = machine.isa.registers.classes[name]
    asked = len(register_class.allocatable) if limit is None else limit
    enough = None
    for count in range(asked + 1, min(register_class.maximum, asked + 64) + 1):
        trial = _run(function, machine, {**counts, name: count}, rule)
        if trial.short_of != name:
            enough = count
            break
    remedy = f"at least {name}={enough} is needed here; " if enough is not None else ""
    return InputError(
        f"{asked} {name} registers are too few for the instructions of {function.name}",
        where="--registers",
        hint=f"{remedy}{real_counts(machine)}",
    )
