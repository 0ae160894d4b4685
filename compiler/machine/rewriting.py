"""Replacing the registers of machine nodes: one walk over operands, addresses, guards and ties."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from compiler.machine.code import (
    Address,
    AnyRegister,
    MachineInstruction,
    Operand,
    VirtualRegister,
)
from isas.registers import Register

Substitution = Callable[[AnyRegister, str], AnyRegister]
"""From a register and the operand it stands in ("" for the guard) to what shall stand there."""


def with_registers(node: MachineInstruction, substitute: Substitution) -> MachineInstruction:
    """A copy of `node` in which `substitute` has been asked about every register."""

    def of_operand(name: str, operand: Operand) -> Operand:
        if isinstance(operand, VirtualRegister | Register):
            return substitute(operand, name)
        if isinstance(operand, Address):
            return _of_address(operand, name, substitute)
        return operand

    operands = {name: of_operand(name, operand) for name, operand in node.operands.items()}
    tied = {name: substitute(register, name) for name, register in node.tied.items()}
    guard = node.guard
    if guard is not None:
        guard = (substitute(guard[0], ""), guard[1])
    return replace(node, operands=operands, tied=tied, guard=guard)


def _of_address(address: Address, name: str, substitute: Substitution) -> Address:
    base, index = address.base, address.index
    if isinstance(base, VirtualRegister | Register):
        base = substitute(base, name)
    if index is not None:
        index = substitute(index, name)
    return replace(address, base=base, index=index)
