"""A program as the text of its ISA's own assembler: directives, kernel, constant pool."""

from __future__ import annotations

from collections.abc import Iterator

from isas.assembly import constants_text, instruction_text, label_text
from isas.document import Document, Printer
from isas.model import Syntax
from isas.program import Program, ProgramInstruction

COMMENT_COLUMN = 52


def assembly(program: Program) -> Document:
    """The text of a kernel; instructions carry the HLO instruction they come from as a comment."""
    printer = Printer(program.name)
    for line in _head(program):
        printer.add(line)
    _print_code(printer, program)
    for line in _tail(program):
        printer.add(line)
    return printer.finish()


def _head(program: Program) -> Iterator[str]:
    if program.isa.syntax is Syntax.PTX:
        yield from _ptx_head(program)
        return
    if program.isa.syntax is Syntax.INTEL:
        yield ".intel_syntax noprefix"
    yield ".text"
    yield f".globl {program.name}"
    yield ".p2align 4"
    yield f"{program.name}:"


def _ptx_head(program: Program) -> Iterator[str]:
    """PTX ISA 7.0: module directives, entry with its parameters, register declarations."""
    yield ".version 7.0"
    yield ".target sm_70"
    yield ".address_size 64"
    parameters = ", ".join(f".param .u64 {name}" for name in program.parameters)
    yield f".visible .entry {program.name}({parameters})"
    yield "{"
    for register_class in program.isa.registers.classes.values():
        for view in register_class.views.values():
            prefix = view.pattern.replace("{n}", "")
            kind = "pred" if view.bits == 1 else f"b{view.bits}"
            yield f"    .reg .{kind} {prefix}<{register_class.count + 1}>;"
    if program.frame_size_bytes:
        yield f"    .local .align 8 .b8 frame[{program.frame_size_bytes}];"


def _print_code(printer: Printer, program: Program) -> None:
    marks: dict[int, list[str]] = {}
    for label, place in program.labels.items():
        marks.setdefault(place, []).append(label)
    for index, instruction in enumerate(program.instructions):
        for label in marks.get(index, ()):
            printer.add(f"{label_text(program.isa, label)}:", f"{program.name}/{label}")
        printer.add(
            _line(program, instruction),
            f"{program.name}:{index}",
            (instruction.origin,) if instruction.origin else (),
            instruction.names + instruction.places,
        )
    for label in marks.get(len(program.instructions), ()):
        printer.add(f"{label_text(program.isa, label)}:", f"{program.name}/{label}")


def _line(program: Program, instruction: ProgramInstruction) -> str:
    code = "    " + (instruction.text or instruction_text(program.isa, instruction))
    origin = f"%{instruction.origin}" if instruction.origin else ""
    remarks = " · ".join(part for part in (origin, instruction.note) if part)
    return f"{code:<{COMMENT_COLUMN}} {program.isa.comment} {remarks}" if remarks else code


def _tail(program: Program) -> Iterator[str]:
    if program.isa.syntax is Syntax.PTX:
        yield "}"
    yield from constants_text(program).splitlines()
