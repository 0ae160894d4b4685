"""Moves a loop's test from its top to its bottom, where it is known to run at least once.

A loop that tests first needs two branches per iteration: the test at the top and the jump back to
it. Tested at the bottom it needs one. The header keeps its phis; the latch asks about the counter's
next value instead, and what was read from a phi after the loop is read from the value that would
have come back to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.journal import Decision
from compiler.llvm.analysis.cfg import replace_predecessor
from compiler.llvm.analysis.loops import Loop, Trips, all_loops, loop_forest, trips
from compiler.llvm.clone import copy_instruction
from compiler.llvm.context import Context
from compiler.llvm.ir import BasicBlock, Function, Instruction, Opcode, Value, subject_of
from compiler.llvm.types import VOID


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotated(Decision):
    """A loop's test moved to its bottom."""

    @property
    def template(self) -> str:
        return (
            "loop {subject} tests at its bottom: it runs at least once, and saves a jump each time"
        )


def run(function: Function, context: Context) -> bool:
    """Rotates what can be; returns whether anything changed."""
    changed = False
    for loop in list(all_loops(loop_forest(function))):
        found = trips(loop)
        if found is not None and _can_rotate(loop, found):
            context.record(
                Rotated(
                    subject=subject_of(loop.header),
                    origins=found.compare.origins,
                    chosen="rotated",
                )
            )
            _rotate(function, loop, found)
            changed = True
    return changed


def _can_rotate(loop: Loop, found: Trips) -> bool:
    """Tested first, entered at least once, and nothing but the test in the header."""
    latch = loop.latch
    if latch is None or latch is loop.header or found.exiting is not loop.header or not found.count:
        return False
    if len(latch.successors) != 1:
        return False
    others = [i for i in loop.header.instructions if i.opcode is not Opcode.PHI]
    return len(others) == 2 and others[0] is found.compare and len(found.compare.users) == 1


def _rotate(function: Function, loop: Loop, found: Trips) -> None:
    header, latch = loop.header, loop.latch
    branch = header.terminator
    if latch is None or branch is None or latch.terminator is None:
        return
    coming: dict[Value, Value] = {p: p.incoming_from(latch) for p in header.phis}
    test = copy_instruction(found.compare, coming, {})
    test.name, found.compare.name = found.compare.name, ""
    inside = next(b for b in branch.blocks if b is not found.exit)
    end = copy_instruction(branch, {found.compare: test}, {inside: header})
    latch.terminator.erase()
    latch.append(test)
    latch.append(end)
    _read_after(loop, found.exit, coming)
    replace_predecessor(found.exit, header, latch)
    branch.erase()
    found.compare.erase()
    header.append(Instruction(Opcode.BR, VOID, blocks=(inside,), origins=end.origins))


def _read_after(loop: Loop, exit: BasicBlock, coming: dict[Value, Value]) -> None:
    """Users behind the loop take the value that would have come back. That may be another phi, so
    all uses are found before any is changed."""
    uses = [
        (user, index, value)
        for phi, value in coming.items()
        for user in dict.fromkeys(phi.users)
        if user.block not in loop.members
        for index, operand in enumerate(user.operands)
        if operand is phi
    ]
    for user, index, value in uses:
        user.set_operand(index, value)
