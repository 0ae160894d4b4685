"""Removes what nothing needs: unreachable blocks, instructions without users (also when they only
use each other in a circle of phis), and stores into stack variables that are never read.
"""

from __future__ import annotations

from compiler.llvm.analysis.cfg import remove_unreachable
from compiler.llvm.context import Context
from compiler.llvm.ir import Function, Instruction, Opcode


def run(function: Function, context: Context) -> bool:
    """Keeps what stores, calls with effects and control flow need, transitively."""
    changed = remove_unreachable(function)
    changed |= _drop_unread_variables(function)
    live: set[Instruction] = set()
    work = [i for i in function.instructions() if i.has_side_effects]
    while work:
        instruction = work.pop()
        if instruction in live:
            continue
        live.add(instruction)
        work.extend(o for o in instruction.operands if isinstance(o, Instruction))
    dead = [i for i in function.instructions() if i not in live]
    for instruction in dead:
        instruction.drop_operands()
    for instruction in dead:
        instruction.erase()
    return changed or bool(dead)


def _drop_unread_variables(function: Function) -> bool:
    """Erases stores whose address derives from an alloca that is never loaded from."""
    changed = False
    for alloca in [i for i in function.entry.instructions if i.opcode is Opcode.ALLOCA]:
        stores = _only_stores(alloca)
        for store in stores or ():
            store.erase()
            changed = True
    return changed


def _only_stores(alloca: Instruction) -> list[Instruction] | None:
    """The stores into an alloca, when there is no other use of its address; else None."""
    stores: list[Instruction] = []
    work = [alloca]
    while work:
        pointer = work.pop()
        for user in pointer.users:
            if user.opcode is Opcode.STORE and user.operands[0] is not pointer:
                stores.append(user)
            elif user.opcode is Opcode.GETELEMENTPTR:
                work.append(user)
            else:
                return None
    return stores
