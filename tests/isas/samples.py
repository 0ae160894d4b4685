"""Sample instructions: every shape of an ISA with plausible operands, for assemblers to look at."""

from __future__ import annotations

from collections.abc import Iterator

from isas.immediates import fits
from isas.model import Isa, OperandKind, Role, Shape, ShapeOperand
from isas.program import (
    Immediate,
    LabelTarget,
    MemoryOperand,
    ProgramInstruction,
    ProgramOperand,
    RegisterOperand,
)

LABEL, SYMBOL = "loop", "c0"
_INDICES = (1, 2, 3, 9, 10)
_NUMBERS = (3, 1, 15, 255, -1, 0, 8, 64)


def sample_instructions(isa: Isa) -> Iterator[ProgramInstruction]:
    """Two instructions of every shape: with different registers, addresses and immediates."""
    for shape in isa.shapes:
        for variant in range(2):
            yield sample(isa, shape, variant)


def sample(isa: Isa, shape: Shape, variant: int) -> ProgramInstruction:
    """The shape with operands that its kinds allow."""
    operands = {
        operand.name: _operand(isa, operand, place, variant)
        for place, operand in enumerate(shape.operands)
    }
    return ProgramInstruction(shape, operands)


def _operand(isa: Isa, operand: ShapeOperand, place: int, variant: int) -> ProgramOperand:
    kind = operand.kind
    if kind.role is Role.REGISTER:
        step = isa.registers.classes[kind.class_name].views[kind.view].storages_per_register
        count = isa.registers.classes[kind.class_name].count
        index = _INDICES[(place + variant) % len(_INDICES)] * step % count
        return RegisterOperand(isa.registers.register(kind.class_name, kind.view, index))
    if kind.role is Role.LABEL:
        return LabelTarget(LABEL)
    if kind.role is Role.IMMEDIATE:
        return Immediate(_immediate(operand, variant))
    return _address(isa, kind, variant)


def _immediate(operand: ShapeOperand, variant: int) -> int | float:
    form = operand.kind.immediate
    assert form is not None
    if operand.type.is_float:
        return (1.0, -2.5)[variant]
    numbers = (*_NUMBERS, form.minimum, form.maximum)
    bits = operand.kind.bits
    return [number for number in numbers if fits(form, number, bits)][variant]


def _address(isa: Isa, kind: OperandKind, variant: int) -> MemoryOperand:
    form = kind.address
    assert form is not None
    if not form.has_base:
        return MemoryOperand(symbol=SYMBOL, displacement=16 if form.maximum else 0)
    base, index = _pointer(isa, 6), _pointer(isa, 8)
    if form.requires_index or (form.scales and variant):
        return MemoryOperand(base, index, form.scales[-variant])
    return MemoryOperand(base, displacement=form.multiple * 3 if form.maximum else 0)


def _pointer(isa: Isa, index: int):  # type: ignore[no-untyped-def]
    for register_class in isa.registers.classes.values():
        for view in register_class.views.values():
            if view.bits == isa.pointer_bits and view.name in ("r64", "x", "rd"):
                return isa.registers.register(register_class.name, view.name, index)
    raise AssertionError(f"{isa.name} has no register for pointers")
