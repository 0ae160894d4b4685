"""The working copy that allocation starts from: every copy made visible as a `ParallelCopy`.

Three kinds of copies hide in a selected function: arguments that arrive in fixed registers, tied
operands (the destination must start out as one of the sources), and plain move instructions. All
become parallel copies, which coalescing can remove and which are turned into real moves at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from compiler.machine.code import (
    Address,
    AnyRegister,
    MachineFunction,
    MachineInstruction,
    MachineNode,
    Operand,
    ParallelCopy,
    VirtualRegister,
)
from isas.model import Machine
from isas.registers import Register


@dataclass(slots=True)
class Working:
    """A function under allocation. `source` maps its instructions to those of the function that
    came in; instructions made by the allocator are not in it.
    """

    function: MachineFunction
    source: dict[MachineInstruction, MachineInstruction] = field(default_factory=dict)


def prepare(function: MachineFunction, machine: Machine) -> Working:
    """A copy of `function` in which all copies are parallel copies and no `tied` is left."""
    blocks = [replace(block, instructions=[]) for block in function.blocks]
    copy = replace(
        function, blocks=blocks, slots=list(function.slots), incoming=list(function.incoming)
    )
    working = Working(copy)
    for old, new in zip(function.blocks, blocks):
        for node in old.instructions:
            new.instructions += _prepared(node, working, machine)
    if function.incoming:
        moves: tuple[tuple[AnyRegister, AnyRegister], ...] = tuple(function.incoming)
        blocks[0].instructions.insert(0, ParallelCopy(moves))
    return working


def _prepared(node: MachineNode, working: Working, machine: Machine) -> Iterator[MachineNode]:
    if isinstance(node, ParallelCopy):
        if node.moves:
            yield ParallelCopy(node.moves, node.origins)
        return
    move = pure_move(node, machine)
    if move is not None:
        yield ParallelCopy((move,), node.origins)
        return
    yield from _untied(node, working)


def pure_move(node: MachineInstruction, machine: Machine) -> tuple[AnyRegister, AnyRegister] | None:
    """(destination, source) when the instruction copies all of one register's value and nothing
    else.
    """
    if not node.shape.facts.is_move or len(node.shape.operands) != 2 or node.guard or node.tied:
        return None
    target_name = node.shape.facts.writes[0]
    source_name = node.shape.facts.reads[0]
    target, source = node.operands[target_name], node.operands[source_name]
    if not isinstance(target, VirtualRegister | Register):
        return None
    if not isinstance(source, VirtualRegister | Register):
        return None
    if isinstance(target, Register) and isinstance(source, Register):
        return None
    kinds = [node.shape.by_name[name].kind for name in (target_name, source_name)]
    narrowest = min(kind.bits for kind in kinds)
    is_whole = target.bits == source.bits and narrowest >= target.bits
    return (target, source) if is_whole and _may_be_handed_out(target, source, machine) else None


def _may_be_handed_out(one: AnyRegister, other: AnyRegister, machine: Machine) -> bool:
    """Whether a fixed register among the two is one that the allocator could use (not sp, zero)."""
    return all(
        isinstance(register, VirtualRegister)
        or register.index in machine.isa.registers.classes[register.class_name].allocatable
        for register in (one, other)
    )


def _untied(node: MachineInstruction, working: Working) -> Iterator[MachineNode]:
    """The instruction with its tied operands read from where they are written, copies in front.

    What is written may be narrower than what is read; it is then taken from a register that holds
    both.
    """
    operands: dict[str, Operand] = dict(node.operands)
    before: list[tuple[AnyRegister, AnyRegister]] = []
    after: list[tuple[AnyRegister, AnyRegister]] = []
    for name, source in node.tied.items():
        target = node.operands[name]
        if target == source or not isinstance(target, VirtualRegister | Register):
            continue
        read = min(source.bits, node.shape.by_name[name].kind.bits)
        if isinstance(target, VirtualRegister) and (
            read > target.bits or _is_read_elsewhere(node, name, target)
        ):
            fresh = working.function.new_virtual(target.register_class, max(read, target.bits))
            after.append((target, fresh))
            operands[name] = target = fresh
        before.append((target, source))
    made = replace(node, operands=operands, tied={})
    working.source[made] = node
    if before:
        yield ParallelCopy(tuple(before), node.origins)
    yield made
    if after:
        yield ParallelCopy(tuple(after), node.origins)


def _is_read_elsewhere(node: MachineInstruction, name: str, target: VirtualRegister) -> bool:
    others = (operand for key, operand in node.operands.items() if key != name)
    registers: list[AnyRegister] = []
    for operand in others:
        if isinstance(operand, VirtualRegister):
            registers.append(operand)
        elif isinstance(operand, Address):
            registers += operand.registers()
    if node.guard is not None:
        registers.append(node.guard[0])
    return target in registers
