"""Tidies control flow after the copies: jumps to jumps, empty blocks, jumps to what follows."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.machine.code import Label, MachineBlock, MachineFunction, MachineInstruction
from compiler.select.control import drop_fallthrough_jumps, is_jump, target_of_branch


def tidy(function: MachineFunction) -> None:
    """Removes blocks that do nothing but go on, and jumps to the next block."""
    drop_fallthrough_jumps(function)
    forward = _forwarding(function)
    if forward:
        _redirect_all(function, forward)
        kept = [b for b in function.blocks if b.name not in forward]
        function.blocks[:] = kept
    _invert_over_jumps(function)
    drop_fallthrough_jumps(function)


def _forwarding(function: MachineFunction) -> dict[str, str]:
    """Maps each block that only goes on to the block where that ends up."""
    direct: dict[str, str] = {}
    following = {a.name: b.name for a, b in zip(function.blocks, function.blocks[1:])}
    for block in function.blocks[1:]:
        target = _only_goes_to(block, following)
        if target is not None:
            direct[block.name] = target
    return {name: end for name in direct if (end := _end(name, direct)) != name}


def _only_goes_to(block: MachineBlock, following: Mapping[str, str]) -> str | None:
    if not block.instructions:
        return following.get(block.name)
    only = block.instructions[0]
    if len(block.instructions) == 1 and isinstance(only, MachineInstruction) and is_jump(only):
        return target_of_branch(only)
    return None


def _end(name: str, direct: Mapping[str, str]) -> str:
    """Where a chain of forwarding blocks ends; a cycle ends where it began."""
    seen = {name}
    place = name
    while place in direct:
        place = direct[place]
        if place in seen:
            return name
        seen.add(place)
    return place


def _redirect_all(function: MachineFunction, forward: Mapping[str, str]) -> None:
    for block in function.blocks:
        block.successors = tuple(
            dict.fromkeys(forward.get(name, name) for name in block.successors)
        )
        for node in block.instructions:
            if isinstance(node, MachineInstruction):
                node.operands = {
                    name: Label(forward.get(operand.block, operand.block))
                    if isinstance(operand, Label)
                    else operand
                    for name, operand in node.operands.items()
                }


def _invert_over_jumps(function: MachineFunction) -> None:
    """A two-way branch whose ways became one is no branch."""
    for block, following in zip(function.blocks, [*function.blocks[1:], None]):
        last = block.instructions[-1] if block.instructions else None
        if (
            following is not None
            and isinstance(last, MachineInstruction)
            and last.shape.facts.is_branch
            and target_of_branch(last) == following.name
        ):
            block.instructions.pop()
