"""The functional machine of CPUs: decides what happens, instruction by instruction, never when.

A program is compiled once into closures, one per instruction, straight from the cards' effects;
running it calls them and notes the blocks and addresses it went through. That trace, as arrays, is
the dynamic stream that the timing models read. Registers are storages: narrow ones hold Python
ints, wide ones (vectors) hold arrays of bytes whose missing upper bytes are zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from isas.errors import InternalError
from isas.program import Program
from isas.registers import STORAGES_PER_CLASS
from vm.closures import Step, Value
from vm.memory import Memory
from vm.steps import END, NARROW_BITS, Translator

WATCHED_INSTRUCTIONS = 20_000
"""Instructions between two calls of `watch`: a fraction of a second."""


class StepLimit(InternalError):
    """A program ran longer than the caller allowed."""


@dataclass(slots=True)
class Trace:
    """What one launch did: `blocks` in execution order, `addresses` of memory accesses in order."""

    blocks: list[int] = field(default_factory=list)
    addresses: list[int] = field(default_factory=list)


@dataclass(slots=True)
class State:
    """The machine's whole state: a value per storage, and memory."""

    storages: list[Value]
    memory: Memory
    trace: Trace = field(default_factory=Trace)


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions `first` .. `first + len(steps) - 1`; only the last one may branch."""

    first: int
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program as closures over one state. `block_at` maps a leader's index to its block."""

    program: Program
    blocks: tuple[Block, ...]
    block_at: dict[int, int]
    accesses_memory: tuple[bool, ...]

    def run(
        self, state: State, limit: int = 1 << 40, watch: Callable[[], None] | None = None
    ) -> None:
        """Executes from the entry to `ret`. Raises StepLimit after `limit` instructions. `watch` is
        called every so many instructions; what it raises ends the run."""
        blocks, block_at = self.blocks, self.block_at
        visited = state.trace.blocks
        current = block_at[self.program.entry]
        budget = min(limit, WATCHED_INSTRUCTIONS)
        left = limit - budget
        while True:
            block = blocks[current]
            visited.append(current)
            budget -= len(block.steps)
            target: int | None = None
            for step in block.steps:
                target = step()
            if budget < 0:
                if left + budget < 0:
                    raise StepLimit(f"{self.program.name} ran more than {limit} instructions")
                if watch is not None:
                    watch()
                left += budget
                budget = min(left, WATCHED_INSTRUCTIONS)
                left -= budget
            if target is None:
                current += 1
            elif target == END:
                return
            else:
                current = block_at[target]


def new_state(program: Program, memory: Memory) -> State:
    """Registers all zero, over `memory`."""
    registers = program.isa.registers
    storages: list[Value] = [0] * registers.storage_count
    for register_class in registers.classes.values():
        if register_class.storage_bits > NARROW_BITS:
            first = register_class.first_storage
            end = min(len(storages), first + STORAGES_PER_CLASS)
            empty = np.zeros(0, np.uint8)
            storages[first:end] = [empty] * (end - first)
    return State(storages, memory)


def compile_program(program: Program, state: State) -> Compiled:
    """Closures for `program` that read and write `state`."""
    leaders = _leaders(program)
    block_at = {leader: number for number, leader in enumerate(leaders)}
    ends = [*leaders[1:], len(program.instructions)]
    steps = [Translator(program, index, state).step() for index in range(len(program.instructions))]
    blocks = tuple(Block(first, tuple(steps[first:end])) for first, end in zip(leaders, ends))
    accesses = tuple(
        bool(i.shape.facts.loads or i.shape.facts.stores) for i in program.instructions
    )
    return Compiled(program, blocks, block_at, accesses)


def _leaders(program: Program) -> list[int]:
    count = len(program.instructions)
    places = {0, program.entry, *(place for place in program.labels.values() if place < count)}
    for index, instruction in enumerate(program.instructions):
        facts = instruction.shape.facts
        if (facts.is_branch or facts.is_return) and index + 1 < count:
            places.add(index + 1)
    return sorted(places)
