"""Liveness: which registers still have a reader, at every block border.

The classic backward dataflow (Aho, Lam, Sethi, Ullman, *Compilers*, 2nd ed., section 9.2.5):

    live_out(b) = union of live_in(s) over the successors s of b
    live_in(b)  = use(b) | (live_out(b) - def(b))

The facts are keys (see `compiler.machine.accesses`): virtual registers and storages of physical
registers in one universe, so that a fixed register or the flags take part like any value. A set is
one Python integer with a bit per key, which makes union and difference single operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from compiler.machine.accesses import Accesses, accesses
from compiler.machine.code import MachineFunction
from isas.registers import RegisterFile


@dataclass(frozen=True, slots=True)
class KeySpace:
    """Numbers the bits of a key set: virtual registers first, then storages."""

    virtual_count: int

    def bit(self, key: int) -> int:
        """The set holding only `key`."""
        return 1 << (key if key >= 0 else self.virtual_count - 1 - key)

    def mask(self, keys: Iterable[int]) -> int:
        """The set of `keys`."""
        result = 0
        for key in keys:
            result |= self.bit(key)
        return result

    def members(self, mask: int) -> Iterator[int]:
        """The keys of a set: virtual registers ascending, then storages ascending."""
        while mask:
            low = mask & -mask
            place = low.bit_length() - 1
            yield place if place < self.virtual_count else self.virtual_count - 1 - place
            mask ^= low


@dataclass(frozen=True, slots=True)
class Liveness:
    """`live_in` and `live_out` of every block as sets of `space`; `nodes` are the accesses of every
    node, block by block in the function's order.
    """

    space: KeySpace
    live_in: Mapping[str, int]
    live_out: Mapping[str, int]
    nodes: Mapping[str, tuple[Accesses, ...]]


def liveness(function: MachineFunction, file: RegisterFile) -> Liveness:
    """Solves the equations for all blocks of `function`."""
    space = KeySpace(function.next_virtual)
    nodes = {
        block.name: tuple(accesses(node, file) for node in block.instructions)
        for block in function.blocks
    }
    local = {name: _local_sets(rows, space) for name, rows in nodes.items()}
    live_in = {block.name: local[block.name][0] for block in function.blocks}
    live_out = {block.name: 0 for block in function.blocks}
    is_changed = True
    while is_changed:
        is_changed = False
        for block in reversed(function.blocks):
            out = 0
            for successor in block.successors:
                out |= live_in[successor]
            uses, definitions = local[block.name]
            entering = uses | (out & ~definitions)
            is_changed |= out != live_out[block.name] or entering != live_in[block.name]
            live_out[block.name], live_in[block.name] = out, entering
    return Liveness(space, live_in, live_out, nodes)


def _local_sets(rows: Iterable[Accesses], space: KeySpace) -> tuple[int, int]:
    """(keys read before any write in the block, keys written in the block)."""
    uses = definitions = 0
    for row in rows:
        uses |= space.mask(row.read_keys) & ~definitions
        definitions |= space.mask(row.write_keys)
    return uses, definitions
