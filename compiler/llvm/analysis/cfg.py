"""Edits of the control-flow graph that keep phis in step."""

from __future__ import annotations

from compiler.llvm.analysis.dominators import reverse_postorder
from compiler.llvm.ir import BasicBlock, Constant, Function, Instruction


def remove_incoming(block: BasicBlock, predecessor: BasicBlock) -> None:
    """One edge from `predecessor` to `block` is gone: its phis forget one value each."""
    for phi in block.phis:
        index = phi.blocks.index(predecessor)
        pairs = [p for n, p in enumerate(zip(phi.operands, phi.blocks)) if n != index]
        phi.drop_operands()
        phi.blocks.clear()
        for value, source in pairs:
            phi.add_incoming(value, source)


def replace_predecessor(block: BasicBlock, old: BasicBlock, new: BasicBlock) -> None:
    """The edge from `old` to `block` now comes from `new`."""
    for phi in block.phis:
        phi.blocks = [new if source is old else source for source in phi.blocks]


def retarget(terminator: Instruction, old: BasicBlock, new: BasicBlock) -> None:
    """Makes a branch go to `new` instead of `old`; phis are the caller's business."""
    terminator.blocks = [new if target is old else target for target in terminator.blocks]


def remove_unreachable(function: Function) -> bool:
    """Deletes blocks that cannot be reached from the entry."""
    reachable = set(reverse_postorder(function))
    dead = [block for block in function.blocks if block not in reachable]
    for block in dead:
        for successor in block.successors:
            if successor in reachable:
                remove_incoming(successor, block)
    for block in dead:
        for instruction in block.instructions:
            instruction.replace_all_uses_with(Constant(instruction.type, None))
            instruction.drop_operands()
    for block in dead:
        for instruction in block.instructions:
            instruction.block = None
        block.instructions.clear()
        block.function = None
        function.blocks.remove(block)
    return bool(dead)
