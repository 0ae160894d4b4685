"""Gives every machine instruction the name of an HLO instruction it is there for."""

from __future__ import annotations

from compiler.machine.code import MachineFunction


def fill_origins(function: MachineFunction) -> None:
    """Instructions that stem from no HLO instruction by themselves (counters, arguments, constants)
    take the names of what they are nearest to: what follows in their block, what precedes, else
    what the function begins with."""
    names = [node.origins for node in function.instructions() if node.origins]
    if not names:
        return
    for block in function.blocks:
        for nodes in (block.instructions[::-1], block.instructions):
            nearest: tuple[str, ...] = ()
            for node in nodes:
                if node.origins:
                    nearest = node.origins
                else:
                    node.origins = nearest
        for node in block.instructions:
            node.origins = node.origins or names[0]
