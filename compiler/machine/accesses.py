"""What a machine node reads and writes, over virtual registers and storages alike.

Two nodes depend on each other exactly when they touch a common *key*. A virtual register's key is
its number; a storage's key is negative, so that both live in one set and partial views of one
register meet in its storage.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from compiler.machine.code import (
    Address,
    AnyRegister,
    MachineInstruction,
    MachineNode,
    ParallelCopy,
    VirtualRegister,
)
from isas.model import Shape
from isas.registers import Register, RegisterFile, WriteRule

_CODE_PLACES = frozenset({"pc", "next"})


@dataclass(frozen=True, slots=True)
class Accesses:
    """Registers read and written by one node. A destination that keeps some of its old bits (a
    merging view, a guarded write) is read as well.
    """

    reads: tuple[AnyRegister, ...]
    writes: tuple[AnyRegister, ...]

    @property
    def read_keys(self) -> tuple[int, ...]:
        return tuple(key for register in self.reads for key in keys(register))

    @property
    def write_keys(self) -> tuple[int, ...]:
        return tuple(key for register in self.writes for key in keys(register))


def storage_key(storage: int) -> int:
    """The key of a storage id: negative, never a virtual register's number."""
    return -1 - storage


def keys(register: AnyRegister) -> tuple[int, ...]:
    """The keys of a register: its number, or those of its storages."""
    if isinstance(register, VirtualRegister):
        return (register.number,)
    return tuple(storage_key(storage) for storage in register.storages)


def implicit_reads(shape: Shape, registers: RegisterFile) -> tuple[Register, ...]:
    """The fixed registers and flags a shape reads beside its operands."""
    return _named(shape.facts.implicit_reads, registers)


def implicit_writes(shape: Shape, registers: RegisterFile) -> tuple[Register, ...]:
    """The fixed registers and flags a shape writes beside its operands."""
    return _named(shape.facts.implicit_writes, registers)


def _named(names: Iterable[str], registers: RegisterFile) -> tuple[Register, ...]:
    found = (registers.by_name(name) for name in names if name not in _CODE_PLACES)
    return tuple(register for register in found if register is not None)


def keeps_old_bits(register: AnyRegister, operand: str, shape: Shape, file: RegisterFile) -> bool:
    """Whether writing `register` through `operand` leaves some of the register's bits as they
    were.
    """
    kind = shape.by_name[operand].kind
    view = file.classes[kind.class_name].views[kind.view]
    if view.write_rule is WriteRule.ZERO_REST:
        return False
    if isinstance(register, VirtualRegister):
        return view.bits < register.bits
    return view.bits < file.classes[kind.class_name].storage_bits * len(register.storages)


def accesses(node: MachineNode, file: RegisterFile) -> Accesses:
    """The registers that `node` reads and writes, in a fixed order and possibly repeated."""
    if isinstance(node, ParallelCopy):
        return Accesses(
            tuple(source for _, source in node.moves),
            tuple(destination for destination, _ in node.moves),
        )
    return _instruction_accesses(node, file)


def _instruction_accesses(node: MachineInstruction, file: RegisterFile) -> Accesses:
    shape, facts = node.shape, node.shape.facts
    reads: list[AnyRegister] = []
    writes: list[AnyRegister] = []
    for name, operand in node.operands.items():
        if isinstance(operand, Address):
            reads += operand.registers()
        elif isinstance(operand, VirtualRegister | Register):
            is_written = name in facts.writes
            if name in facts.reads or name == shape.rest:
                reads.append(node.tied.get(name, operand))
            elif is_written and (node.guard or keeps_old_bits(operand, name, shape, file)):
                reads.append(operand)
            if is_written:
                writes.append(operand)
    if node.guard is not None:
        reads.append(node.guard[0])
    reads += implicit_reads(shape, file)
    writes += implicit_writes(shape, file)
    return Accesses(tuple(reads), tuple(writes))
