"""The memory of what loops and branches run, planned before anybody knows where it will lie.

A loop keeps its state where it lies, in the places of the loop's results: its condition and body
read it there, and new state is written over the old as soon as nobody needs that any more. Where
the old is needed until the end of the iteration, new state waits in scratch memory and is moved
afterwards. A branch reads its operands where they lie and leaves results in the conditional's
places. Everything else that a body, condition or branch computes shares one piece of scratch
memory, which its caller allocates for the step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from compiler.buffers.aliases import Value, paths
from compiler.buffers.liveness import Array, Block, Facts, Lifetimes, Role, lifetimes, steps_of
from compiler.buffers.packing import pack
from compiler.hlo.module import Computation, Instruction
from compiler.hlo.opcodes import Opcode

Home: TypeAlias = int | Value
"""Where an array lies: at an offset in the scratch memory, or in the place of a caller's array."""

_OWN = (Role.TEMPORARY, Role.SCRATCH, Role.OUTPUT)


@dataclass(frozen=True, slots=True)
class Transfer:
    """An array that moves after the last launch: from one of the computation's arrays (or from an
    offset in the scratch memory) to a caller's array (or to such an offset)."""

    source: Home
    target: Home
    size_bytes: int
    is_outward: bool = True
    """True when the target is the caller's; else the source is an array and the target scratch."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One computation that a control instruction runs: live ranges, homes by array, the moves after
    its last launch, and the bytes of scratch memory it needs."""

    facts: Facts
    found: Lifetimes
    homes: Mapping[Value, Home]
    transfers: tuple[Transfer, ...]
    scratch_bytes: int

    @property
    def computation(self) -> Computation:
        return self.facts.computation


def plan_of(facts: Facts, caller: Instruction) -> Plan:
    """The plan of one of a control instruction's computations."""
    if caller.opcode is Opcode.WHILE and facts.computation.name == caller.attributes["body"]:
        return _Planner(with_state(facts), caller).body()
    return _Planner(facts, caller).other()


def with_state(facts: Facts) -> Facts:
    """A body may overwrite its state, best of all with the new state of the same place."""
    parameters = facts.computation.parameters
    state = frozenset((p.name, path) for p in parameters for path, _ in paths(p.shape))
    root = facts.computation.root
    given = ((facts.sources.get((root, path)), (name, path)) for name, path in sorted(state))
    wanted = {new: old for new, old in given if new is not None and new != old}
    return replace(facts, donated=state, wanted=wanted)


@dataclass(slots=True)
class _Planner:
    """Homes and moves as they are found."""

    facts: Facts
    caller: Instruction
    homes: dict[Value, Home] = field(default_factory=dict)
    loose: list[Block] = field(default_factory=list)
    moves: list[tuple[Value, Value]] = field(default_factory=list)
    detours: list[tuple[Value, Value]] = field(default_factory=list)

    def body(self) -> Plan:
        """A loop's body: parameters and results share the state's places."""
        found = lifetimes(self.facts, steps_of(self.facts.computation))
        blocks = {a.value: block for block in found.blocks for a in block.arrays}
        self._place_parameters(found)
        state = self.facts.computation.parameters[0].name
        pairs = [
            ((state, path), self.facts.sources[(self.facts.computation.root, path)], path)
            for path, _ in paths(self.facts.computation.root_instruction.shape)
        ]
        settled: set[Value] = set()
        for old, new, path in pairs:
            slot = (self.caller.name, path)
            if new == old or self.homes.get(new) == slot:
                settled.add(slot)
            elif self._settles(blocks, old, new):
                self._home(blocks[new], slot)
                settled.add(slot)
        slots = [(new, (self.caller.name, path)) for _, new, path in pairs]
        self._move([(new, slot) for new, slot in slots if slot not in settled])
        return self._finish(found)

    def _settles(self, blocks: Mapping[Value, Block], old: Value, new: Value) -> bool:
        """True when new state can be written to its place at once: the old is dead by then."""
        block = blocks.get(new)
        if block is None or new in self.homes or block.arrays[0].role not in _OWN:
            return False
        return old not in blocks or blocks[old].end < block.start

    def _move(self, pending: list[tuple[Value, Value]]) -> None:
        """New state that lies elsewhere at the end of an iteration is moved, each element before
        its place is overwritten; where they move in a circle, one goes by way of scratch memory."""
        while pending:
            homes = [self.homes.get(new) for new, _ in pending]
            free = (n for n, (_, slot) in enumerate(pending) if slot not in homes)
            number = next(free, None)
            if number is None:
                self.detours.append(pending.pop(0))
            else:
                self.moves.append(pending.pop(number))

    def other(self) -> Plan:
        """A condition or a branch: operands are read where they lie."""
        found = lifetimes(self.facts, steps_of(self.facts.computation))
        self._place_parameters(found)
        if self.caller.opcode is not Opcode.WHILE:
            self._place_results(found)
        return self._finish(found)

    def _place_results(self, found: Lifetimes) -> None:
        """A branch writes its results to the conditional's places, or has them moved there."""
        blocks = {a.value: block for block in found.blocks for a in block.arrays}
        root = self.facts.computation.root_instruction
        for path, _ in paths(root.shape):
            new = self.facts.sources[(root.name, path)]
            slot = (self.caller.name, path)
            block = blocks.get(new)
            if block is not None and block.arrays[0].role in _OWN and new not in self.homes:
                self._home(block, slot)
            else:
                self.moves.append((new, slot))

    def _place_parameters(self, found: Lifetimes) -> None:
        for block in found.blocks:
            first = block.arrays[0]
            if first.role is Role.PARAMETER:
                self._home(block, self._given(first))

    def _given(self, parameter: Array) -> Value:
        """The caller's array that a parameter's array is."""
        name, path = parameter.value
        if self.caller.opcode is Opcode.WHILE:
            return (self.caller.name, path)
        return (self.caller.operands[self._position(name)], path)

    def _position(self, parameter: str) -> int:
        """Which operand of its caller a parameter takes."""
        number = self.facts.computation.instruction(parameter).parameter_number
        if self.caller.opcode is not Opcode.CONDITIONAL:
            return number
        return 1 + _branch_names(self.caller).index(self.facts.computation.name)

    def _home(self, block: Block, slot: Value) -> None:
        for array in block.arrays:
            self.homes[array.value] = slot

    def _finish(self, found: Lifetimes) -> Plan:
        """Packs what has no home yet into scratch memory."""
        loose = [
            b
            for b in found.blocks
            if b.arrays[0].role in _OWN and b.arrays[0].value not in self.homes
        ]
        last = len(found.steps)
        extra = [
            Block((Array(slot, found.arrays[new].size_bytes, Role.SCRATCH, last, last),))
            for new, slot in self.detours
        ]
        packing = pack([*loose, *extra])
        for block, offset in zip(loose, packing.offsets):
            for array in block.arrays:
                self.homes[array.value] = offset
        transfers: list[Transfer] = []
        back: list[Transfer] = []
        for (new, slot), offset in zip(self.detours, packing.offsets[len(loose) :]):
            size = found.arrays[new].size_bytes
            transfers.append(Transfer(new, offset, size, is_outward=False))
            back.append(Transfer(offset, slot, size))
        moved = [Transfer(new, slot, found.arrays[new].size_bytes) for new, slot in self.moves]
        every = (*transfers, *moved, *back)
        return Plan(self.facts, found, self.homes, every, packing.size_bytes)


def _branch_names(conditional: Instruction) -> tuple[str, ...]:
    """The branches of a conditional, true before false."""
    found = conditional.attributes.get("branch_computations")
    if found is not None:
        return tuple(found)
    keys = ("true_computation", "false_computation")
    return tuple(conditional.attributes[key] for key in keys)
