"""Prints the IR as LLVM's own assembly language (opaque pointers), one document line per
instruction.

Real LLVM parses and verifies what is printed, at every stage. Instructions carry the HLO
instructions they stem from as a trailing comment; `compiler.llvm.parse` reads the text, and that
comment, back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from compiler.llvm.ir import (
    Argument,
    Constant,
    Function,
    Instruction,
    Module,
    Opcode,
    Scalar,
    Value,
    same_bits,
    subject_of,
)
from compiler.llvm.numbers import float_literal, wrap_int
from compiler.llvm.types import VOID, Type
from isas.document import Document, Printer

COMMENT_COLUMN = 64

# The order in which LLVM writes flags (LangRef, "Fast-Math Flags" and the instructions' own
# syntax).
_FLAG_ORDER = (
    "fast", "reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn",
    "inbounds", "nusw", "nuw", "nsw", "exact", "disjoint", "nneg", "samesign",
)  # fmt: skip
_PLAIN_NAME = re.compile(r"[-a-zA-Z$._][-a-zA-Z$._0-9]*\Z")


def document(item: Module | Function) -> Document:
    """The text of a module (with target and declarations) or of one function (with
    declarations)."""
    if isinstance(item, Function):
        printer = Printer(item.name)
        _print_function(printer, item)
        _print_declarations(printer, [item])
        return printer.finish()
    return _module_document(item)


def text(item: Module | Function) -> str:
    """`document` as one string that ends in a newline."""
    return f"{document(item)}\n"


def _module_document(module: Module) -> Document:
    printer = Printer(module.name)
    printer.add(f"; ModuleID = '{module.name}'")
    if module.data_layout:
        printer.add(f'target datalayout = "{module.data_layout}"')
    if module.triple:
        printer.add(f'target triple = "{module.triple}"')
    for function in module.functions:
        printer.add("")
        _print_function(printer, function)
    _print_declarations(printer, module.functions)
    return printer.finish()


def instruction_text(instruction: Instruction) -> str:
    """One instruction as it stands in the text, without indentation and comment."""
    body = _body(instruction)
    return body if instruction.type == VOID else f"{local(instruction)} = {body}"


def _print_function(printer: Printer, function: Function) -> None:
    attributes = [a for a in function.attributes if a != "ptx_kernel"]
    convention = "ptx_kernel " if "ptx_kernel" in function.attributes else ""
    parameters = ", ".join(_parameter(a) for a in function.arguments)
    tail = "".join(f" {a}" for a in attributes)
    origins = dict.fromkeys(o for a in function.arguments for o in a.origins)
    printer.add(
        f"define {convention}void {symbol(function.name)}({parameters}){tail} {{",
        function.name,
        origins,
    )
    for number, block in enumerate(function.blocks):
        if number:
            printer.add("")
        printer.add(f"{quoted(block.name)}:", subject_of(block))
        for instruction in block.instructions:
            _print_instruction(printer, instruction)
    printer.add("}", function.name)


def _print_instruction(printer: Printer, instruction: Instruction) -> None:
    line = f"  {instruction_text(instruction)}"
    if instruction.origins:
        names = ", ".join(f"%{origin.removeprefix('%')}" for origin in instruction.origins)
        line = f"{line:<{COMMENT_COLUMN}} ; {names}"
    printer.add(line, subject_of(instruction), instruction.origins)


def _parameter(argument: Argument) -> str:
    return " ".join((str(argument.type), *argument.attributes, local(argument)))


def _print_declarations(printer: Printer, functions: Iterable[Function]) -> None:
    functions = list(functions)
    defined = {f.name for f in functions}
    calls = {i.callee: i for f in functions for i in f.instructions() if i.opcode is Opcode.CALL}
    missing = sorted(calls.keys() - defined)
    if missing:
        printer.add("")
    for callee in missing:
        call = calls[callee]
        types = ", ".join(str(operand.type) for operand in call.operands)
        printer.add(f"declare {call.type} {symbol(callee)}({types})", callee)


def quoted(name: str) -> str:
    """A name as LLVM wants it, in quotes where it has other characters than LLVM's identifiers."""
    if _PLAIN_NAME.match(name):
        return name
    escaped = "".join(c if 32 <= ord(c) < 127 and c not in '"\\' else _escaped(c) for c in name)
    return f'"{escaped}"'


def _escaped(character: str) -> str:
    return "".join(f"\\{byte:02X}" for byte in character.encode())


def symbol(name: str) -> str:
    return f"@{quoted(name)}"


def local(value: Value) -> str:
    return f"%{quoted(value.name)}"


def operand_text(value: Value) -> str:
    """A value as an operand, without its type."""
    return constant_text(value) if isinstance(value, Constant) else local(value)


def typed(value: Value) -> str:
    return f"{value.type} {operand_text(value)}"


def constant_text(constant: Constant) -> str:
    """A constant without its type: poison, zeroinitializer, `splat (float ...)`, a vector or a
    scalar."""
    value, scalar = constant.value, constant.type.scalar
    if value is None:
        return "poison"
    if not isinstance(value, tuple):
        return _scalar_text(value, scalar)
    if all(same_bits(lane, 0.0 if scalar.is_float else 0) for lane in value):
        return "zeroinitializer"
    if constant.is_splat:
        return f"splat ({scalar} {_scalar_text(value[0], scalar)})"
    return "<" + ", ".join(f"{scalar} {_scalar_text(lane, scalar)}" for lane in value) + ">"


def _scalar_text(value: Scalar, type: Type) -> str:
    if type.is_float:
        return float_literal(float(value), type)
    if type.is_pointer:
        return "null"
    if type.bits == 1:
        return "true" if int(value) & 1 else "false"
    return str(wrap_int(int(value), type.bits))


def _flags(instruction: Instruction) -> str:
    if not instruction.flags:
        return ""
    known = [flag for flag in _FLAG_ORDER if flag in instruction.flags]
    rest = sorted(instruction.flags - set(known))
    return "".join(f" {flag}" for flag in (*known, *rest))


def _body(i: Instruction) -> str:
    printer = _SPECIAL.get(i.opcode)
    if printer is not None:
        return printer(i)
    if i.opcode.is_cast:
        return f"{i.opcode.value}{_flags(i)} {typed(i.operands[0])} to {i.type}"
    if i.opcode.is_binary:
        a, b = i.operands
        return f"{i.opcode.value}{_flags(i)} {typed(a)}, {operand_text(b)}"
    operands = ", ".join(typed(operand) for operand in i.operands)
    return f"{i.opcode.value}{_flags(i)} {operands}".rstrip()


def _comparison(i: Instruction) -> str:
    predicate = i.predicate.value if i.predicate is not None else "?"
    a, b = i.operands
    return f"{i.opcode.value}{_flags(i)} {predicate} {typed(a)}, {operand_text(b)}"


def _shuffle(i: Instruction) -> str:
    a, b = i.operands
    if all(lane == 0 for lane in i.mask):
        mask = "zeroinitializer"
    elif all(lane < 0 for lane in i.mask):
        mask = "poison"
    else:
        mask = "<" + ", ".join(f"i32 {lane if lane >= 0 else 'poison'}" for lane in i.mask) + ">"
    return f"shufflevector {typed(a)}, {typed(b)}, <{len(i.mask)} x i32> {mask}"


def _align(i: Instruction) -> str:
    return f", align {i.align}" if i.align else ""


def _alloca(i: Instruction) -> str:
    count = f", i64 {i.count}" if i.count != 1 else ""
    return f"alloca {i.element_type}{count}{_align(i)}"


def _load(i: Instruction) -> str:
    return f"load {i.type}, {typed(i.operands[0])}{_align(i)}"


def _store(i: Instruction) -> str:
    return f"store {typed(i.operands[0])}, {typed(i.operands[1])}{_align(i)}"


def _gep(i: Instruction) -> str:
    base, index = i.operands
    return f"getelementptr{_flags(i)} {i.element_type}, {typed(base)}, {typed(index)}"


def _phi(i: Instruction) -> str:
    incoming = ", ".join(
        f"[ {operand_text(value)}, {local(block)} ]" for value, block in zip(i.operands, i.blocks)
    )
    return f"phi{_flags(i)} {i.type} {incoming}"


def _call(i: Instruction) -> str:
    arguments = ", ".join(typed(operand) for operand in i.operands)
    return f"call{_flags(i)} {i.type} {symbol(i.callee)}({arguments})"


def _br(i: Instruction) -> str:
    targets = ", ".join(f"label {local(block)}" for block in i.blocks)
    return f"br {typed(i.operands[0])}, {targets}" if i.operands else f"br {targets}"


def _ret(i: Instruction) -> str:
    return "ret void"


_SPECIAL = {
    Opcode.ICMP: _comparison,
    Opcode.FCMP: _comparison,
    Opcode.SHUFFLEVECTOR: _shuffle,
    Opcode.ALLOCA: _alloca,
    Opcode.LOAD: _load,
    Opcode.STORE: _store,
    Opcode.GETELEMENTPTR: _gep,
    Opcode.PHI: _phi,
    Opcode.CALL: _call,
    Opcode.BR: _br,
    Opcode.RET: _ret,
}
