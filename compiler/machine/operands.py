"""Machine operands as operands of programs and assembly text, where each operand's kind says which
view of a register is meant. Virtual registers and frame places get stand-ins that only print."""

from __future__ import annotations

from compiler.machine.code import (
    Address,
    AnyRegister,
    Immediate,
    Label,
    MachineInstruction,
    Operand,
    Slot,
    SlotOffset,
    StackArgument,
    Symbol,
    VirtualRegister,
)
from compiler.select.nodes import bits_to_number
from isas.errors import InternalError
from isas.model import ShapeOperand
from isas.program import (
    Guard,
    LabelTarget,
    MemoryOperand,
    ProgramInstruction,
    ProgramOperand,
    RegisterOperand,
)
from isas.program import Immediate as ProgramImmediate
from isas.registers import Register, RegisterFile, WriteRule


def stand_in(name: str, bits: int = 64) -> Register:
    """A register that exists only to be printed."""
    return Register(name, "", "", 0, (), 0, bits, WriteRule.ZERO_REST)


def program_operand(
    operand: Operand, described: ShapeOperand, registers: RegisterFile
) -> ProgramOperand:
    """The operand as the program type has it; immediates of float type become floats."""
    if isinstance(operand, VirtualRegister | Register):
        return RegisterOperand(_viewed(operand, described.kind.view, registers))
    if isinstance(operand, Label):
        return LabelTarget(operand.block)
    if isinstance(operand, Immediate):
        if described.type.is_float:
            return ProgramImmediate(bits_to_number(operand.value, described.type.element))
        return ProgramImmediate(operand.value)
    if isinstance(operand, SlotOffset):
        return RegisterOperand(stand_in(str(operand)))
    return memory_operand(operand)


def _viewed(register: AnyRegister, view: str, registers: RegisterFile) -> Register:
    if isinstance(register, VirtualRegister):
        return stand_in(str(register), register.bits)
    if not register.class_name or register.view == view:
        return register
    return registers.view_of(register, view)


def memory_operand(address: Address) -> MemoryOperand:
    """An address whose frame places, if any, are only names."""
    symbol = address.base.name if isinstance(address.base, Symbol) else None
    return MemoryOperand(
        _base(address),
        _address_register(address.index),
        address.scale,
        address.displacement,
        symbol,
    )


def _base(address: Address) -> Register | None:
    base = address.base
    if isinstance(base, Slot | StackArgument):
        return stand_in(str(base))
    return None if base is None or isinstance(base, Symbol) else _address_register(base)


def _address_register(register: AnyRegister | None) -> Register | None:
    return stand_in(str(register)) if isinstance(register, VirtualRegister) else register


def program_guard(instruction: MachineInstruction) -> Guard | None:
    """The guard with a register that may be a stand-in."""
    if instruction.guard is None:
        return None
    register, is_negated = instruction.guard
    found = _address_register(register)
    if found is None:
        raise InternalError("a guard without a register")
    return Guard(found, is_negated)


def program_instruction(
    instruction: MachineInstruction, registers: RegisterFile, origin: str = "", note: str = ""
) -> ProgramInstruction:
    """The instruction as the program type has it."""
    operands = {
        name: program_operand(operand, instruction.shape.by_name[name], registers)
        for name, operand in instruction.operands.items()
    }
    return ProgramInstruction(instruction.shape, operands, program_guard(instruction), origin, note)
