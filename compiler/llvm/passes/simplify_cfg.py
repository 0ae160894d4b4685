"""Straightens control flow: branches on constants, blocks that only jump on, blocks with one way in
from a block with one way out, and code nothing reaches.
"""

from __future__ import annotations

from compiler.llvm.analysis.cfg import (
    remove_incoming,
    remove_unreachable,
    replace_predecessor,
    retarget,
)
from compiler.llvm.analysis.dominators import dominator_tree
from compiler.llvm.context import Context
from compiler.llvm.ir import BasicBlock, Constant, Function, Opcode


def run(function: Function, context: Context) -> bool:
    """Repeats the simplifications until none applies; returns whether anything changed."""
    changed = False
    while _round(function):
        changed = True
    return changed


def _round(function: Function) -> bool:
    changed = remove_unreachable(function)
    for block in list(function.blocks):
        if block.function is not None and block in function.blocks:
            changed |= _fold_branch(block)
            changed |= _merge_into_predecessor(function, block) or _skip_empty(function, block)
    return changed


def _fold_branch(block: BasicBlock) -> bool:
    """A conditional branch with a constant condition or two equal targets."""
    branch = block.terminator
    if branch is None or branch.opcode is not Opcode.BR or not branch.operands:
        return False
    condition = branch.operands[0]
    taken, other = branch.blocks
    if taken is not other:
        if not isinstance(condition, Constant) or not isinstance(condition.value, int):
            return False
        if not condition.value & 1:
            taken, other = other, taken
    remove_incoming(other, block)
    branch.drop_operands()
    branch.blocks = [taken]
    return True


def _merge_into_predecessor(function: Function, block: BasicBlock) -> bool:
    """Appends a block to its only predecessor when that goes nowhere else."""
    before = function.predecessors()[block]
    if block is function.entry or len(before) != 1 or len(before[0].successors) != 1:
        return False
    above = before[0]
    if above is block:
        return False
    for phi in block.phis:
        phi.replace_all_uses_with(phi.operands[0])
        phi.erase()
    jump = above.terminator
    if jump is not None:
        jump.erase()
    for successor in dict.fromkeys(block.successors):
        replace_predecessor(successor, block, above)
    for instruction in block.instructions:
        instruction.block = above
    above.instructions.extend(block.instructions)
    block.instructions = []
    block.function = None
    function.blocks.remove(block)
    return True


def _skip_empty(function: Function, block: BasicBlock) -> bool:
    """A block that holds only a jump: its predecessors go to the target themselves. Preheaders and
    latches of loops stay, because passes over loops want them."""
    jump = block.instructions[0] if len(block.instructions) == 1 else None
    if block is function.entry or jump is None or jump.opcode is not Opcode.BR or jump.operands:
        return False
    target = jump.blocks[0]
    predecessors = function.predecessors()
    before = predecessors[block]
    if target is block or not before or _is_kept(function, target, before, predecessors):
        return False
    for phi in target.phis:
        value = phi.incoming_from(block)
        for above in before:
            phi.add_incoming(value, above)
    remove_incoming(target, block)
    for above in before:
        if above.terminator is not None:
            retarget(above.terminator, block, target)
    jump.erase()
    block.function = None
    function.blocks.remove(block)
    return True


def _is_kept(
    function: Function,
    target: BasicBlock,
    before: list[BasicBlock],
    predecessors: dict[BasicBlock, list[BasicBlock]],
) -> bool:
    """Whether skipping an empty block would give a phi two values from one predecessor, or lose a
    loop's preheader or its only latch."""
    if target.phis and any(above in predecessors[target] for above in before):
        return True
    if any(len(above.successors) > 1 for above in before) and len(before) > 1 and target.phis:
        return True
    tree = dominator_tree(function)
    return any(tree.dominates(target, above) for above in predecessors[target])
