"""Gives every machine instruction an origin, also where no HLO instruction asked for it itself.

A constant, a copy or an address computed ahead belongs to whoever reads it first; frame code and
jumps belong to what stands next to them.
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.machine.accesses import accesses
from compiler.machine.code import MachineFunction, MachineNode
from isas.registers import RegisterFile


def complete_origins(function: MachineFunction, file: RegisterFile) -> None:
    """Fills empty `origins` in place; nothing else changes."""
    nodes = list(function.instructions())
    _from_readers(nodes, file)
    _from_neighbours(nodes)
    _from_neighbours(list(reversed(nodes)))


def _from_readers(nodes: list[MachineNode], file: RegisterFile) -> None:
    """Walks backwards, so that a chain of such instructions passes its reader's origin along."""
    reader: dict[int, tuple[str, ...]] = {}
    for node in reversed(nodes):
        row = accesses(node, file)
        if not node.origins:
            node.origins = _first(reader.get(key, ()) for key in row.write_keys)
        for key in row.write_keys:
            reader.pop(key, None)
        if node.origins:
            reader.update(dict.fromkeys(row.read_keys, node.origins))


def _first(found: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return next((origins for origins in found if origins), ())


def _from_neighbours(nodes: list[MachineNode]) -> None:
    """What is still without an origin takes that of the node behind it in the list."""
    behind: tuple[str, ...] = ()
    for node in reversed(nodes):
        if node.origins:
            behind = node.origins
        else:
            node.origins = behind
