"""Byte memory of a run: a guard page, the arena, every program's constants, and the stack on top.

Addresses are plain integers. Accesses outside the mapped range are faults: a compiled program that
makes one is wrong, and says which instruction did it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from isas.errors import InternalError
from isas.program import Executable

ARENA_BASE = 4096
"""The arena's first address: the page below stays unmapped, so that null pointers fault."""
STACK_BYTES = 1 << 20
PAGE = 4096


class MemoryFault(InternalError):
    """A program touched memory that is not its own."""


@dataclass(slots=True)
class Memory:
    """`data[address]` for `ARENA_BASE <= address < len(data)`; `constants` gives each kernel's pool
    address, `stack_top` the highest address plus one (64-byte aligned)."""

    data: bytearray
    constants: Mapping[str, int] = field(default_factory=dict)
    stack_top: int = 0


def layout(executable: Executable) -> Memory:
    """A fresh memory for `executable` with constants in place and everything else zero."""
    place = ARENA_BASE + _rounded(executable.arena_size_bytes)
    pools: dict[str, int] = {}
    for name, program in executable.programs.items():
        pools[name] = place
        place += _rounded(len(program.constants))
    stack_top = place + STACK_BYTES
    memory = Memory(bytearray(stack_top), pools, stack_top)
    for name, program in executable.programs.items():
        start = pools[name]
        memory.data[start : start + len(program.constants)] = program.constants
    for placement, content in executable.constants:
        start = ARENA_BASE + placement.offset
        memory.data[start : start + len(content)] = content
    return memory


def _rounded(size_bytes: int) -> int:
    return (size_bytes + PAGE - 1) // PAGE * PAGE


def fault(address: int, size_bytes: int, memory: Memory, place: str) -> MemoryFault:
    """The error for an access of `size_bytes` at `address` by the instruction `place`."""
    limit = len(memory.data)
    return MemoryFault(
        f"access of {size_bytes} bytes at {address:#x} is outside {ARENA_BASE:#x}..{limit:#x}",
        where=place,
        hint="the compiled program is wrong; please report it with the HLO file",
    )
