"""Bytes of x86 instructions, from the `code` of their shapes (`codes.py` explains the notation).

Of the alternatives that fit the operands the shortest is taken, the first among equals, as LLVM's
assembler does. Where two sources may be swapped, and that saves a VEX byte, they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from isas.codes import IMMEDIATE_SIZES, Code, EncodingError, parse_code
from isas.effects import COMMUTATIVE, Apply, Expression, Operand
from isas.model import Isa, Shape
from isas.modrm import ModRm, memory_modrm, register_modrm
from isas.operands import OperandKind, Role
from isas.program import (
    Immediate,
    LabelTarget,
    MemoryOperand,
    ProgramInstruction,
    ProgramOperand,
    RegisterOperand,
)
from isas.templates import placeholders


@dataclass(slots=True)
class _Parts:
    """What the operands of one instruction put into the fields of one alternative."""

    reg: int = 0
    vvvv: int = 0
    modrm: ModRm | None = None
    opcode_register: int = 0
    tail: bytes = b""
    byte_registers: list[int] = field(default_factory=list)


def encode(isa: Isa, instruction: ProgramInstruction, distance: int | None = None) -> bytes:
    """The instruction's bytes; `distance` goes from its end to the branch target (None: far, 0).

    A symbol's address is left 0, for the linker. Raises EncodingError when there are no bytes.
    """
    shape = instruction.shape
    if not shape.code:
        raise EncodingError(f"{shape.title} has no code on its card")
    _refuse_invented(instruction)
    found = [
        data
        for code, operands in _candidates(isa, instruction)
        if (data := _encode(shape, code, operands, distance)) is not None
    ]
    if not found:
        raise EncodingError(f"no code of {shape.title} fits its operands")
    return min(found, key=len)


def _refuse_invented(instruction: ProgramInstruction) -> None:
    for operand in instruction.operands.values():
        parts = [getattr(operand, name, None) for name in ("register", "base", "index")]
        for register in parts:
            if register is not None and not register.is_encodable:
                raise EncodingError(f"the real ISA has no register {register}")


Operands = list[tuple[OperandKind, ProgramOperand]]


def _candidates(isa: Isa, instruction: ProgramInstruction) -> Iterator[tuple[Code, Operands]]:
    """Every alternative with the operands in text order; symmetric ones also with two swapped."""
    shape = instruction.shape
    names = [name for _, name in placeholders(shape.template) if name is not None]
    operands = [(shape.by_name[name].kind, instruction.operands[name]) for name in names]
    for code in parse_code(shape.code):
        yield code, operands
        if code.roles == "RVM" and _can_swap(shape, names, operands):
            yield code, [operands[0], operands[2], operands[1]]


def _can_swap(shape: Shape, names: list[str], operands: Operands) -> bool:
    first, second = operands[1:]
    return first[0] == second[0] and _is_symmetric(shape, names[1], names[2])


@cache
def _is_symmetric(shape: Shape, first: str, second: str) -> bool:
    swap = {first: second, second: first}
    return shape.rest is None and all(
        _normal(effect.expression, {}) == _normal(effect.expression, swap)
        for effect in shape.effects
    )


def _normal(node: Expression, names: Mapping[str, str]) -> str:
    if isinstance(node, Operand):
        return names.get(node.name, node.name)
    if not isinstance(node, Apply):
        return str(node)
    parts = [_normal(argument, names) for argument in node.arguments]
    if node.effect in COMMUTATIVE:
        parts.sort()
    return f"{node.effect}({', '.join(parts)}){node.attributes}"


def _encode(shape: Shape, code: Code, operands: Operands, distance: int | None) -> bytes | None:
    if len(code.roles) != len(operands):
        return None
    parts = _Parts()
    for role, (kind, operand) in zip(code.roles, operands):
        if not _place(code, role, kind, operand, parts, distance):
            return None
    if code.digit is not None:
        parts.reg = code.digit
    wide = code.wide if code.wide is not None else _is_wide(operands)
    if code.is_vex:
        return _vex(code, parts, wide, _is_256(operands))
    return _legacy(code, parts, wide, operands)


def _place(
    code: Code,
    role: str,
    kind: OperandKind,
    operand: ProgramOperand,
    parts: _Parts,
    distance: int | None,
) -> bool:
    """Put one operand into its field; False when the alternative does not take it."""
    if isinstance(operand, Immediate):
        return _place_immediate(code, role, operand, parts)
    if isinstance(operand, LabelTarget):
        return _place_label(code, role, distance, parts)
    if role in "MAO" and code.size not in (None, _text_bits(kind)):
        return False
    if role == "M":
        parts.modrm = _modrm(operand)
        if isinstance(operand, RegisterOperand) and _text_bits(kind) == 8:
            parts.byte_registers.append(operand.register.index)
        return True
    if not isinstance(operand, RegisterOperand) or role not in "RVOA4":
        return False
    return _place_register(role, kind, operand.register.index, parts)


def _place_register(role: str, kind: OperandKind, index: int, parts: _Parts) -> bool:
    if _text_bits(kind) == 8:
        parts.byte_registers.append(index)
    if role == "R":
        parts.reg = index
    elif role == "V":
        parts.vvvv = index
    elif role == "O":
        parts.opcode_register = index
    elif role == "4":
        parts.tail += bytes([index << 4])
    return role != "A" or index == 0


def _modrm(operand: ProgramOperand) -> ModRm:
    if isinstance(operand, MemoryOperand):
        return memory_modrm(operand)
    assert isinstance(operand, RegisterOperand)
    return register_modrm(operand.register.index)


def _place_immediate(code: Code, role: str, operand: Immediate, parts: _Parts) -> bool:
    value = int(operand.value)
    if role == "1":
        return value == 1
    if role != "I" or not code.immediate:
        return False
    size = IMMEDIATE_SIZES[code.immediate]
    low = -(1 << (8 * size - 1))
    unsigned_byte = size == 1 and (code.is_vex or code.opcode[0] in (0xC1, 0xC0))
    if not low <= value < (1 << (8 * size if unsigned_byte else 8 * size - 1)):
        return False
    parts.tail += (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
    return True


def _place_label(code: Code, role: str, distance: int | None, parts: _Parts) -> bool:
    if role != "I" or code.immediate not in ("cb", "cd"):
        return False
    size = IMMEDIATE_SIZES[code.immediate]
    if size == 1 and (distance is None or not -128 <= distance <= 127):
        return False
    parts.tail += ((distance or 0) & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
    return True


def _text_bits(kind: OperandKind) -> int:
    """The width that the text shows: `r64as32` is spelled eax, a memory operand by its access."""
    names = {"r8": 8, "r16": 16, "r32": 32, "r64": 64, "xmm": 128, "ymm": 256, "zmm": 512}
    return names.get(kind.text_view or kind.view, kind.bits)


def _is_wide(operands: Operands) -> bool:
    """Whether a 64-bit general register (or, without any register, a 64-bit access) asks for W."""
    registers = [kind for kind, _ in operands if kind.role is Role.REGISTER]
    general = [kind for kind in registers if kind.class_name == "gpr"]
    if general:
        return any(_text_bits(kind) == 64 for kind in general)
    memory = [kind for kind, _ in operands if kind.role is Role.MEMORY]
    return not registers and any(kind.bits == 64 for kind in memory)


def _is_256(operands: Operands) -> bool:
    return any(kind.role is Role.REGISTER and _text_bits(kind) == 256 for kind, _ in operands)


def _vex(code: Code, parts: _Parts, wide: bool, is_256: bool) -> bytes:
    modrm = parts.modrm or register_modrm(0)
    high_reg, low = parts.reg >> 3 & 1, parts.reg & 7
    fields = (~parts.vvvv & 15) << 3 | is_256 << 2 | code.prefix
    if code.opcode_map == 1 and not wide and not modrm.high_index and not modrm.high_base:
        head = bytes([0xC5, (high_reg ^ 1) << 7 | fields])
    else:
        inverted = (high_reg ^ 1) << 7 | (modrm.high_index ^ 1) << 6 | (modrm.high_base ^ 1) << 5
        head = bytes([0xC4, inverted | code.opcode_map, wide << 7 | fields])
    return head + code.opcode + modrm.data(low) + parts.tail + code.literal


def _legacy(code: Code, parts: _Parts, wide: bool, operands: Operands) -> bytes:
    modrm = parts.modrm
    prefix, opcode = b"", code.opcode
    while opcode[0] in (0x66, 0xF2, 0xF3) and len(opcode) > 1:
        prefix, opcode = prefix + opcode[:1], opcode[1:]
    is_16 = any(_text_bits(kind) == 16 for kind, _ in operands) and opcode[0] != 0x0F
    rex = wide << 3 | (parts.reg >> 3 & 1) << 2
    if modrm is not None:
        rex |= modrm.high_index << 1 | modrm.high_base
    rex |= parts.opcode_register >> 3 & 1
    if rex or any(4 <= index <= 7 for index in parts.byte_registers):
        rex |= 0x40
    opcode = opcode[:-1] + bytes([opcode[-1] + (parts.opcode_register & 7)])
    body = modrm.data(parts.reg & 7) if modrm is not None else b""
    head = (b"\x66" if is_16 else b"") + prefix + (bytes([rex]) if rex else b"")
    return head + opcode + body + parts.tail + code.literal
