"""Assembly text out of instructions, and instructions out of assembly text.

Both directions come from the shapes' templates; the three syntaxes differ only in how registers'
addresses, immediates and guards are spelled (Intel for x86, GNU for arm, PTX for simt).
"""

from __future__ import annotations

import struct

from isas.model import Isa, OperandKind, ShapeOperand, Syntax
from isas.program import (
    Guard,
    Immediate,
    LabelTarget,
    MemoryOperand,
    Program,
    ProgramInstruction,
    ProgramOperand,
    RegisterOperand,
)
from isas.registers import Register
from isas.templates import placeholders


def instruction_text(isa: Isa, instruction: ProgramInstruction) -> str:
    """The instruction as its assembler wants it, without indentation or comment."""
    shape = instruction.shape
    parts = []
    for literal, name in placeholders(shape.template):
        parts.append(literal)
        if name is not None:
            operand = shape.by_name[name]
            is_bare = literal.endswith("[")
            parts.append(operand_text(isa, operand, instruction.operands[name], is_bare))
    text = guard_text(isa, instruction.guard) + "".join(parts)
    return text + ";" if isa.syntax is Syntax.PTX else text


def guard_text(isa: Isa, guard: Guard | None) -> str:
    """`@%p1 ` or `@!%p1 `, or nothing."""
    if guard is None or isa.guards is None:
        return ""
    pattern = isa.guards.negative if guard.is_negated else isa.guards.positive
    return pattern.replace("{p}", guard.register.name)


def operand_text(
    isa: Isa, operand: ShapeOperand, value: ProgramOperand, is_bare: bool = False
) -> str:
    """One operand's text. `is_bare` leaves out arm's `#` (lane numbers in brackets)."""
    if isinstance(value, RegisterOperand):
        return register_text(isa, operand.kind, value.register)
    if isinstance(value, LabelTarget):
        return label_text(isa, value.label)
    if isinstance(value, Immediate):
        return immediate_text(isa, operand, value.value, is_bare)
    return _ADDRESS[isa.syntax](operand.kind, value)


def register_text(isa: Isa, kind: OperandKind, register: Register) -> str:
    """A register's name as the operand kind spells it."""
    if kind.text_view:
        register = isa.registers.view_of(register, kind.text_view)
    return register.name + kind.suffix


def label_text(isa: Isa, label: str) -> str:
    """A label as the assembler accepts it: local to the object file (`.L`, in PTX `$`)."""
    return ("$" if isa.syntax is Syntax.PTX else ".L") + label


def immediate_text(
    isa: Isa, operand: ShapeOperand, value: int | float, is_bare: bool = False
) -> str:
    """A number; PTX floats in hexadecimal bits, arm with `#`."""
    if isa.syntax is Syntax.PTX:
        return ptx_number(operand, value)
    mark = "#" if isa.syntax is Syntax.GNU_ARM and not is_bare else ""
    return f"{mark}{value!r}"


def ptx_number(operand: ShapeOperand, value: int | float) -> str:
    """`0f3F800000`, `0d3FF0000000000000`, or a decimal integer."""
    if not operand.type.is_float:
        return str(value)
    if operand.type.bits == 64:
        return "0d" + struct.pack(">d", value).hex().upper()
    return "0f" + struct.pack(">f", value).hex().upper()


def _intel_address(kind: OperandKind, address: MemoryOperand) -> str:
    terms = []
    if address.symbol is not None:
        terms.append("rip + " + symbol_text(address.symbol))
    if address.base is not None:
        terms.append(address.base.name)
    if address.index is not None:
        scale = f"{address.scale}*" if address.scale != 1 else ""
        terms.append(scale + address.index.name)
    inside = " + ".join(terms)
    if address.displacement or not terms:
        sign = (" - " if address.displacement < 0 else " + ") if terms else ""
        amount = abs(address.displacement) if terms else address.displacement
        inside += f"{sign}{amount}"
    return f"{kind.pointer} [{inside}]" if kind.pointer else f"[{inside}]"


def _arm_address(kind: OperandKind, address: MemoryOperand) -> str:
    if address.symbol is not None:
        offset = f"+{address.displacement}" if address.displacement else ""
        return symbol_text(address.symbol) + offset
    base = address.base.name if address.base is not None else "?"
    if address.index is not None:
        shift = address.scale.bit_length() - 1
        turned = f", lsl #{shift}" if shift else ""
        return f"[{base}, {address.index.name}{turned}]"
    return f"[{base}, #{address.displacement}]" if address.displacement else f"[{base}]"


def _ptx_address(kind: OperandKind, address: MemoryOperand) -> str:
    if address.base is not None:
        start = address.base.name
    elif address.symbol is not None:
        start = address.symbol
    else:
        return f"[{address.displacement}]"
    return f"[{start}+{address.displacement}]" if address.displacement else f"[{start}]"


_ADDRESS = {
    Syntax.INTEL: _intel_address,
    Syntax.GNU_ARM: _arm_address,
    Syntax.PTX: _ptx_address,
}


def symbol_text(symbol: str) -> str:
    """A constant's label: local to the object file."""
    return f".L{symbol}"


def program_text(program: Program, with_notes: bool = True) -> str:
    """The whole kernel: labels, instructions, and (as comments) origins and notes."""
    lines = []
    marks: dict[int, list[str]] = {}
    for label in sorted(program.labels):
        marks.setdefault(program.labels[label], []).append(label)
    for index, instruction in enumerate(program.instructions):
        lines += [label_text(program.isa, label) + ":" for label in marks.get(index, ())]
        lines.append("    " + _commented(program, instruction, with_notes))
    end = len(program.instructions)
    lines += [label_text(program.isa, label) + ":" for label in marks.get(end, ())]
    return "\n".join(lines) + "\n"


def _commented(program: Program, instruction: ProgramInstruction, with_notes: bool) -> str:
    text = instruction.text or instruction_text(program.isa, instruction)
    remarks = [part for part in (instruction.origin, instruction.note) if part]
    if not with_notes or not remarks:
        return text
    return f"{text:<44} {program.isa.comment} {' · '.join(remarks)}"


def constants_text(program: Program) -> str:
    """The constant pool as data directives that define every symbol, for CPU assemblers."""
    if not program.constants:
        return ""
    lines = [".section .rodata", ".p2align 6"]
    places: dict[int, list[str]] = {}
    for name in sorted(program.symbols):
        places.setdefault(program.symbols[name], []).append(name)
    stops = sorted({*places, len(program.constants)})
    for start, stop in zip(stops, [*stops[1:], len(program.constants)]):
        lines += [f"{symbol_text(name)}:" for name in places.get(start, ())]
        chunk = program.constants[start:stop]
        if chunk:
            lines.append("    .byte " + ", ".join(str(byte) for byte in chunk))
    return "\n".join(lines) + "\n"
