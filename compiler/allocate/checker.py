"""The allocation checker: does every use still read the value that the original program meant?

It shares no code with the allocator. Like the checker of regalloc2 (Fallin, *Cranelift, Part 4: A
New Register Allocator*, 2022, section "checker") it runs the allocated function symbolically beside
the original: a forward dataflow whose facts say which values certainly lie in which registers and
slots. At a join only what all predecessors agree on remains. Instructions of the original check
their operands and define values; instructions that the allocator inserted may only carry values
from place to place, and are understood from their effects alone; copies of the original (parallel
copies and register moves) only give a value a second name.

Beside values it checks that fixed registers stay, that nothing is written to slots of the original,
and that no more registers are used than allowed; arguments may arrive in others, to be read at
entry only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from compiler.allocate.checker_shapes import Violation
from compiler.allocate.checker_state import State, storage_places
from compiler.allocate.checker_steps import WHOLE, Steps
from compiler.machine.code import (
    Address,
    AnyRegister,
    MachineBlock,
    MachineFunction,
    MachineInstruction,
    MachineNode,
    ParallelCopy,
    VirtualRegister,
)
from compiler.options import Options
from isas.errors import CheckFailed
from isas.model import Machine
from isas.registers import Register


def check_allocation(
    original: MachineFunction,
    allocated: MachineFunction,
    source: Mapping[MachineInstruction, MachineInstruction],
    machine: Machine,
    options: Options,
) -> None:
    """Raises CheckFailed when `allocated` is no allocation of `original`.

    `source` maps the instructions of `allocated` to those of `original` that they stand for; what
    is not in it has been inserted.
    """
    names = {r.number: r for r in _virtual_registers(original)}
    checker = _Checker(original, allocated, source, machine, names)
    checker.check_values()
    _check_limits(original, allocated, source, machine, options)


@dataclass(slots=True)
class _Checker:
    original: MachineFunction
    allocated: MachineFunction
    source: Mapping[MachineInstruction, MachineInstruction]
    machine: Machine
    names: Mapping[int, VirtualRegister]
    entering: dict[str, State] = field(default_factory=dict)
    parts: dict[int, int] = field(default_factory=dict)

    def check_values(self) -> None:
        """Iterates to the fixed point, then walks all blocks once more and checks."""
        names = [block.name for block in self.allocated.blocks]
        if names != [block.name for block in self.original.blocks]:
            raise CheckFailed("the allocated function has other blocks than the original")
        before = {block.name: block for block in self.original.blocks}
        self.entering[names[0]] = self._at_entry()
        order = {name: place for place, name in enumerate(names)}
        waiting = {names[0]}
        while waiting:
            name = min(waiting, key=order.__getitem__)
            waiting.discard(name)
            after = self.allocated.block(name)
            if after.successors != before[name].successors:
                raise CheckFailed("successors differ from the original", where=name)
            leaving = self._walk(before[name], after, is_checking=False)
            for successor in after.successors:
                if self._flow(leaving, successor):
                    waiting.add(successor)
        for name in names:
            if name in self.entering:
                self._walk(before[name], self.allocated.block(name), is_checking=True)

    def _at_entry(self) -> State:
        state = State()
        for register in _named_registers(self.original):
            for place in storage_places(register):
                state.put(place, {(-1 - place[1], 0): WHOLE})
        for virtual, register in self.original.incoming:
            for part, place in enumerate(storage_places(register)):
                state.put(place, {**state.values_in(place), (virtual.number, part): virtual.bits})
        return state

    def _flow(self, leaving: State, successor: str) -> bool:
        known = self.entering.get(successor)
        if known is None:
            self.entering[successor] = leaving.copy()
            return True
        return known.meet(leaving)

    def _walk(self, before: MachineBlock, after: MachineBlock, is_checking: bool) -> State:
        """Runs a block's two versions side by side and returns the state at its end."""
        state = self.entering[before.name].copy()
        steps = Steps(self.original, self.machine, state, is_checking, self.names, self.parts)
        kept = {self.source[n] for n in _instructions(after) if n in self.source}
        originals = list(before.instructions)
        place, has_branched = 0, False
        try:
            place = _skip(originals, place, kept, steps)
            for node in _instructions(after):
                if node not in self.source:
                    if has_branched:
                        raise Violation(f"{node.shape} stands behind a branch")
                    steps.carry(node)
                    continue
                has_branched |= node.shape.facts.is_branch
                if place >= len(originals) or originals[place] is not self.source[node]:
                    raise Violation(f"{node.shape} does not stand where the original has it")
                steps.execute(self.source[node], node)
                place = _skip(originals, place + 1, kept, steps)
            if place < len(originals):
                raise Violation("the block ends too early")
        except Violation as violation:
            raise CheckFailed(
                f"wrong allocation: {violation}", where=f"{self.original.name}, {after.name}"
            ) from None
        return steps.state


def _skip(
    originals: list[MachineNode], place: int, kept: set[MachineInstruction], steps: Steps
) -> int:
    """Passes the nodes that have no counterpart: copies, and constants that are made elsewhere."""
    while place < len(originals):
        node = originals[place]
        if isinstance(node, ParallelCopy):
            steps.rename(node.moves)
        elif node not in kept:
            steps.vanish(node)
        else:
            break
        place += 1
    return place


def _instructions(block: MachineBlock) -> Iterator[MachineInstruction]:
    for node in block.instructions:
        if isinstance(node, ParallelCopy):
            raise CheckFailed("a parallel copy is left", where=block.name)
        yield node


def _registers(node: MachineNode) -> Iterator[AnyRegister]:
    """Every register that stands in a node, implicit ones left out."""
    if isinstance(node, ParallelCopy):
        yield from (register for move in node.moves for register in move)
        return
    for operand in node.operands.values():
        if isinstance(operand, VirtualRegister | Register):
            yield operand
        elif isinstance(operand, Address):
            yield from operand.registers()
    yield from node.tied.values()
    if node.guard is not None:
        yield node.guard[0]


def _virtual_registers(function: MachineFunction) -> Iterator[VirtualRegister]:
    for node in function.instructions():
        yield from (r for r in _registers(node) if isinstance(r, VirtualRegister))
    yield from (virtual for virtual, _ in function.incoming)


def _named_registers(function: MachineFunction) -> Iterator[Register]:
    """Physical registers that the original's nodes name, and those in which arguments arrive."""
    for node in function.instructions():
        yield from (r for r in _registers(node) if isinstance(r, Register))
    yield from (register for _, register in function.incoming)


def _check_limits(
    original: MachineFunction,
    allocated: MachineFunction,
    source: Mapping[MachineInstruction, MachineInstruction],
    machine: Machine,
    options: Options,
) -> None:
    """Counts the registers that the code touches, those read only by the copies at entry left
    out.
    """
    at_entry = _entry_reads(allocated, source)
    fixed = {s for register in _named_registers(original) for s in register.storages}
    touched: set[Register] = set()
    for node in allocated.instructions():
        is_entry = isinstance(node, MachineInstruction) and node in at_entry
        found = _written(node) if is_entry else _registers(node)
        touched |= {register for register in found if isinstance(register, Register)}
    for name, register_class in machine.isa.registers.classes.items():
        used = {s for r in touched if r.class_name == name for s in r.storages}
        limit = options.register_limit(name)
        indices = (*register_class.allocatable, *register_class.indices(limit))
        allowed = {register_class.first_storage + index for index in indices}
        if used - allowed - fixed:
            outside = sorted(used - allowed - fixed)
            names = ", ".join(machine.isa.registers.storage_name(s) for s in outside)
            raise CheckFailed(f"{names} may not be used", where=allocated.name)
        if limit is not None and len(used & allowed) > limit:
            raise CheckFailed(
                f"{len(used & allowed)} {name} registers are used, {limit} are allowed",
                where=allocated.name,
            )


def _entry_reads(
    allocated: MachineFunction, source: Mapping[MachineInstruction, MachineInstruction]
) -> frozenset[MachineInstruction]:
    """The inserted instructions before the first one of the original: they may read any
    argument.
    """
    found: list[MachineInstruction] = []
    for node in _instructions(allocated.blocks[0]):
        if node in source:
            break
        found.append(node)
    return frozenset(found)


def _written(node: MachineNode) -> Iterator[AnyRegister]:
    if isinstance(node, MachineInstruction):
        for name in node.shape.facts.writes:
            operand = node.operands[name]
            if isinstance(operand, Register):
                yield operand
