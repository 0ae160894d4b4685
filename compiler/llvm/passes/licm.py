"""Moves what does not change in a loop in front of it.

An instruction is invariant when its operands are computed outside. Arithmetic can be moved freely
(it cannot trap); a division only by a constant; a load only when nothing in the loop writes its
object and the loop is known to reach it, so that no address is read that the program would not have
read.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.journal import Decision
from compiler.llvm.analysis.affine import address_of, may_alias
from compiler.llvm.analysis.dominators import DominatorTree, dominator_tree
from compiler.llvm.analysis.loops import Loop, all_loops, loop_forest, runs_at_least_once, trips
from compiler.llvm.context import Context
from compiler.llvm.ir import Constant, Function, Instruction, Opcode, subject_of

_DIVISIONS = frozenset({Opcode.SDIV, Opcode.UDIV, Opcode.SREM, Opcode.UREM})
_NEVER = frozenset({Opcode.PHI, Opcode.ALLOCA, Opcode.LOAD})


@dataclass(frozen=True, slots=True, kw_only=True)
class Hoisted(Decision):
    """What left a loop."""

    count: int = 0
    values: str = ""

    @property
    def template(self) -> str:
        return (
            "loop {subject}: {count} instructions do not change in it and go before it ({values})"
        )


def run(function: Function, context: Context) -> bool:
    """Empties loops from the inside out; returns whether anything moved."""
    tree = dominator_tree(function)
    changed = False
    for loop in all_loops(loop_forest(function, tree)):
        changed |= _hoist(loop, tree, context)
    return changed


def _hoist(loop: Loop, tree: DominatorTree, context: Context) -> bool:
    preheader = loop.preheader()
    if preheader is None or preheader.terminator is None:
        return False
    writes = [i for i in loop.instructions() if i.has_side_effects]
    moved: list[Instruction] = []
    for block in loop.blocks:
        for instruction in list(block.instructions):
            if all(map(loop.is_invariant, instruction.operands)) and _is_movable(
                instruction, loop, tree, writes
            ):
                block.instructions.remove(instruction)
                preheader.insert_before(preheader.terminator, instruction)
                moved.append(instruction)
    if moved:
        context.record(
            Hoisted(
                subject=subject_of(loop.header),
                origins=tuple(dict.fromkeys(o for i in moved for o in i.origins)),
                chosen="hoisted",
                count=len(moved),
                values=", ".join(str(i) for i in moved),
            )
        )
    return bool(moved)


def _is_movable(i: Instruction, loop: Loop, tree: DominatorTree, writes: list[Instruction]) -> bool:
    if i.has_side_effects:
        return False
    if i.opcode is Opcode.LOAD:
        return _is_movable_load(i, loop, tree, writes)
    if i.opcode in _DIVISIONS:
        divisor = i.operands[1]
        return isinstance(divisor, Constant) and divisor.splat_value not in (None, 0, -1)
    return i.opcode not in _NEVER


def _is_movable_load(
    load: Instruction, loop: Loop, tree: DominatorTree, writes: list[Instruction]
) -> bool:
    if load.block is None or not all(tree.dominates(load.block, latch) for latch in loop.latches):
        return False
    if load.block is not loop.header and not runs_at_least_once(trips(loop), loop):
        return False
    address = address_of(load.operands[0])
    for write in writes:
        if write.opcode is Opcode.CALL:
            return False
        if write.opcode is Opcode.STORE and may_alias(address, address_of(write.operands[1])):
            return False
    return True
