"""Assembly text back into instructions, by trying the shapes of the mnemonic in card order."""

from __future__ import annotations

import difflib
import re
import struct
from functools import cache

from isas.assembly import instruction_text, label_text
from isas.errors import InputError
from isas.immediates import fits
from isas.model import Isa, OperandKind, Role, Shape, ShapeOperand, Syntax
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


class AssemblyError(InputError):
    """A line of assembly that no card of the ISA accepts."""


_GUARD = re.compile(r"@(!?)(%\w+)\s+(.*)")
_LABEL = re.compile(r"([.$A-Za-z_][\w.$]*):\s*")
_GROUPS = {
    Role.MEMORY: r"(?:\w+ ptr )?\[[^\[\]]*\]|\.L[\w.+]+",
    Role.IMMEDIATE: r"#?-?[\w.+-]+",
    Role.LABEL: r"[.$\w]+",
}


def parse_program(isa: Isa, text: str, name: str, parameters: tuple[str, ...] = ()) -> Program:
    """A kernel out of assembly text: one instruction or label per line, comments ignored.

    Raises AssemblyError with the line's number.
    """
    instructions: list[ProgramInstruction] = []
    labels: dict[str, int] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        line = strip_comment(isa, raw)
        while match := _LABEL.match(line):
            labels[_plain_label(isa, match[1])] = len(instructions)
            line = line[match.end() :]
        if line:
            instructions.append(parse_instruction(isa, line, f"{name}:{number}"))
    return Program(isa, name, tuple(instructions), labels, parameters)


def strip_comment(isa: Isa, line: str) -> str:
    """The line without its comment and surrounding blanks."""
    return line.split(isa.comment)[0].strip()


def parse_instruction(isa: Isa, text: str, where: str | None = None) -> ProgramInstruction:
    """The instruction that `text` writes; its `text` is the canonical spelling.

    Raises AssemblyError when no card accepts it.
    """
    rest = " ".join(text.split()).removesuffix(";").rstrip()
    guard, rest = _guard(isa, rest, where)
    mnemonic = rest.split(" ")[0]
    candidates = _shapes(isa).get(mnemonic, ())
    for shape in candidates:
        operands = _match(isa, shape, rest)
        if operands is not None:
            found = ProgramInstruction(shape, operands, guard)
            return ProgramInstruction(shape, operands, guard, text=instruction_text(isa, found))
    raise _refusal(isa, text, mnemonic, candidates, where)


def _refusal(
    isa: Isa, text: str, mnemonic: str, candidates: tuple[Shape, ...], where: str | None
) -> AssemblyError:
    if candidates:
        known = "; ".join(shape.title for shape in candidates)
        return AssemblyError(f"no form of {mnemonic} fits '{text}'", where, f"forms: {known}")
    close = difflib.get_close_matches(mnemonic, _shapes(isa), n=3)
    hint = f"close: {', '.join(close)}" if close else None
    return AssemblyError(f"{isa.name} has no instruction '{mnemonic}'", where, hint)


@cache
def _shapes(isa: Isa) -> dict[str, tuple[Shape, ...]]:
    found: dict[str, list[Shape]] = {}
    for shape in isa.shapes:
        found.setdefault(shape.template.split(" ")[0], []).append(shape)
    return {mnemonic: tuple(shapes) for mnemonic, shapes in found.items()}


@cache
def _matcher(shape: Shape) -> re.Pattern[str]:
    parts, seen = [], set()
    for literal, name in placeholders(shape.template):
        parts.append(re.escape(literal).replace(r"\ ", " ").replace(", ", r"\s*,\s*"))
        if name is None:
            continue
        group = _group(shape.by_name[name].kind)
        parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>{group})")
        seen.add(name)
    return re.compile("".join(parts))


def _group(kind: OperandKind) -> str:
    if kind.role is Role.REGISTER:
        return r"[%\w]+" + re.escape(kind.suffix)
    return _GROUPS[kind.role]


def _match(isa: Isa, shape: Shape, text: str) -> dict[str, ProgramOperand] | None:
    match = _matcher(shape).fullmatch(text)
    if match is None:
        return None
    operands: dict[str, ProgramOperand] = {}
    for operand in shape.operands:
        value = _operand(isa, operand, match[operand.name])
        if value is None:
            return None
        operands[operand.name] = value
    return operands


def _guard(isa: Isa, text: str, where: str | None) -> tuple[Guard | None, str]:
    match = _GUARD.match(text)
    if match is None:
        return None, text
    register = isa.registers.by_name(match[2])
    if isa.guards is None or register is None or register.class_name != isa.guards.class_name:
        raise AssemblyError(f"'{match[2]}' cannot guard an instruction", where)
    return Guard(register, match[1] == "!"), match[3]


def _operand(isa: Isa, operand: ShapeOperand, text: str) -> ProgramOperand | None:
    kind = operand.kind
    if kind.role is Role.REGISTER:
        register = _register(isa, kind, text)
        return None if register is None else RegisterOperand(register)
    if kind.role is Role.LABEL:
        return LabelTarget(_plain_label(isa, text))
    if kind.role is Role.IMMEDIATE:
        return _immediate(isa, operand, text)
    return _PARSE_ADDRESS[isa.syntax](isa, kind, text)


def _register(isa: Isa, kind: OperandKind, text: str) -> Register | None:
    if not text.endswith(kind.suffix):
        return None
    register = isa.registers.by_name(text.removesuffix(kind.suffix))
    if register is None or register.class_name != kind.class_name:
        return None
    if register.view != (kind.text_view or kind.view):
        return None
    return isa.registers.view_of(register, kind.view) if kind.text_view else register


def _plain_label(isa: Isa, text: str) -> str:
    return text.removeprefix(label_text(isa, ""))


def _immediate(isa: Isa, operand: ShapeOperand, text: str) -> Immediate | None:
    form = operand.kind.immediate
    value = _ptx_float(text) if text[:2] in ("0f", "0d") else _number(text.removeprefix("#"))
    if form is None or value is None:
        return None
    if operand.type.is_float:
        value = float(value)
    return Immediate(value) if fits(form, value, operand.type.bits) else None


def _ptx_float(text: str) -> float | None:
    code = {10: ">f", 18: ">d"}.get(len(text))
    if code is None:
        return None
    return float(struct.unpack(code, bytes.fromhex(text[2:]))[0])


def _number(text: str) -> int | float | None:
    for convert in (lambda word: int(word, 0), float):
        try:
            value: int | float = convert(text)
            return value
        except ValueError:
            continue
    return None


def _split_displacement(text: str) -> tuple[str, int] | None:
    """`name+8` or `name+-8` or `name`."""
    start, plus, offset = text.partition("+")
    if not plus:
        return start, 0
    value = _number(offset)
    return (start, value) if isinstance(value, int) else None


def _ptx_address(isa: Isa, kind: OperandKind, text: str) -> MemoryOperand | None:
    split = _split_displacement(text[1:-1].replace(" ", ""))
    form = kind.address
    if split is None or form is None:
        return None
    start, displacement = split
    register = isa.registers.by_name(start)
    if register is not None:
        is_fine = form.has_base and register.bits == isa.pointer_bits
        return MemoryOperand(base=register, displacement=displacement) if is_fine else None
    if form.has_base:
        return None
    number = _number(start)
    if isinstance(number, int):
        return MemoryOperand(displacement=number + displacement)
    return MemoryOperand(symbol=start, displacement=displacement) if form.has_symbol else None


def _arm_address(isa: Isa, kind: OperandKind, text: str) -> MemoryOperand | None:
    form = kind.address
    if form is None:
        return None
    if not text.startswith("["):
        split = _split_displacement(text.removeprefix(".L"))
        is_fine = form.has_symbol and text.startswith(".L") and split is not None
        return MemoryOperand(symbol=split[0], displacement=split[1]) if is_fine and split else None
    parts = [part.strip() for part in text[1:-1].split(",")]
    base = isa.registers.by_name(parts[0])
    if base is None or not form.has_base or base.bits != 64:
        return None
    if len(parts) > 1 and not parts[1].startswith("#"):
        return _arm_indexed(isa, kind, base, parts[1:])
    displacement = _number(parts[1].removeprefix("#")) if len(parts) > 1 else 0
    if form.requires_index or len(parts) > 2 or not isinstance(displacement, int):
        return None
    is_fine = form.allows_displacement(displacement)
    return MemoryOperand(base=base, displacement=displacement) if is_fine else None


def _arm_indexed(
    isa: Isa, kind: OperandKind, base: Register, parts: list[str]
) -> MemoryOperand | None:
    index = isa.registers.by_name(parts[0])
    shift = _number(parts[1].removeprefix("lsl #")) if len(parts) > 1 else 0
    if index is None or kind.address is None or not isinstance(shift, int):
        return None
    scale = 1 << shift
    return MemoryOperand(base, index, scale) if scale in kind.address.scales else None


_INTEL_TERM = re.compile(r"([+-])\s*([^+\-\s]+)\s*")


def _intel_address(isa: Isa, kind: OperandKind, text: str) -> MemoryOperand | None:
    pointer, _, inside = text.removesuffix("]").partition("[")
    if pointer.strip() != kind.pointer or kind.address is None:
        return None
    inside = inside.strip()
    if not inside.startswith("-"):
        inside = "+" + inside
    terms = _INTEL_TERM.findall(inside)
    if "".join(sign + term for sign, term in terms) != inside.replace(" ", ""):
        return None
    return _intel_terms(isa, kind, [(sign == "-", term) for sign, term in terms])


def _intel_terms(
    isa: Isa, kind: OperandKind, terms: list[tuple[bool, str]]
) -> MemoryOperand | None:
    registers: list[tuple[Register, int]] = []
    displacement, symbol = 0, None
    for is_negative, term in terms:
        scale, star, name = term.partition("*")
        register = isa.registers.by_name(name if star else term)
        number = _number(term)
        if register is not None:
            registers.append((register, int(scale) if star and scale.isdecimal() else 1))
        elif isinstance(number, int):
            displacement += -number if is_negative else number
        elif term.startswith(".L"):
            symbol = term.removeprefix(".L")
        elif term != "rip":
            return None
    return _intel_operand(kind, registers, displacement, symbol)


def _intel_operand(
    kind: OperandKind,
    registers: list[tuple[Register, int]],
    displacement: int,
    symbol: str | None,
) -> MemoryOperand | None:
    base = next((register for register, scale in registers if scale == 1), None)
    others = [(register, scale) for register, scale in registers if register is not base]
    if base is not None and len(registers) == 2 and not others:
        others = [registers[1]]
    if len(others) > 1 or any(register.bits != 64 for register, _ in registers):
        return None
    index, scale = others[0] if others else (None, 1)
    if kind.address is None or (index is not None and scale not in kind.address.scales):
        return None
    return MemoryOperand(base, index, scale, displacement, symbol)


_PARSE_ADDRESS = {
    Syntax.INTEL: _intel_address,
    Syntax.GNU_ARM: _arm_address,
    Syntax.PTX: _ptx_address,
}
