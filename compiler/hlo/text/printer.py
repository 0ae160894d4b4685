"""Writes modules as HLO text that parses back to the same module."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode, Phase
from compiler.hlo.shape import ArrayShape, Shape, TupleShape
from compiler.hlo.text.codecs import write_attribute
from compiler.hlo.text.literals import print_literal
from isas.document import Document, Printer

_ASYNC_PHASES = {
    Opcode.ASYNC_START: Phase.START,
    Opcode.ASYNC_UPDATE: Phase.UPDATE,
    Opcode.ASYNC_DONE: Phase.DONE,
}
_UNPRINTED = ("parameter_number", "wrapped_opcode")


@dataclass(frozen=True, slots=True)
class PrintOptions:
    """What to print. The defaults lose nothing; `LISTING` is for people."""

    metadata: bool = True
    tables: bool = True
    layouts: bool = True
    literal_limit: int | None = None
    """Constants of more elements print as ``{...}``; None: never."""


LOSSLESS = PrintOptions()
LISTING = PrintOptions(metadata=False, tables=False, literal_limit=16)


def print_module(module: Module, options: PrintOptions = LOSSLESS) -> str:
    """The module as HLO text, with a final newline."""
    return str(module_document(module, options)) + "\n"


def print_computation(computation: Computation, options: PrintOptions = LOSSLESS) -> str:
    """One computation as HLO text."""
    printer = Printer(computation.name)
    _add_computation(printer, computation, "", options)
    return str(printer.finish())


def module_document(module: Module, options: PrintOptions = LOSSLESS) -> Document:
    """The module as a document: every instruction's line has its name and its origins."""
    printer = Printer(module.name)
    printer.add(_header(module))
    printer.add("")
    if options.tables:
        for table in module.tables:
            printer.add(table.name)
            for row in table.rows:
                printer.add(row)
            printer.add("")
    for computation in module.computations:
        entry = "ENTRY " if computation.name == module.entry else ""
        _add_computation(printer, computation, entry, options)
        printer.add("")
    printer.lines.pop()
    return printer.finish()


def _header(module: Module) -> str:
    parts = [f"HloModule {module.name}"]
    layout = module.entry_layout
    for key, value in module.attributes.items():
        parts.append(write_attribute(key, value))
    if layout is not None:
        parts.append(f"entry_computation_layout={layout}")
    return ", ".join(parts)


def _add_computation(
    printer: Printer, computation: Computation, prefix: str, options: PrintOptions
) -> None:
    printer.add(f"{prefix}{computation.name} {{", computation.name)
    for instruction in computation.instructions:
        root = "ROOT " if instruction.name == computation.root else ""
        text = f"  {root}{print_instruction(instruction, options)}"
        printer.add(text, instruction.name, instruction.origins)
    trailer = [write_attribute(key, value) for key, value in computation.attributes.items()]
    printer.add(", ".join(["}", *trailer]))


def print_instruction(instruction: Instruction, options: PrintOptions = LOSSLESS) -> str:
    """One instruction as HLO text, without ROOT and indentation."""
    shape = instruction.shape if options.layouts else without_layouts(instruction.shape)
    head = f"{instruction.name} = {shape} {opcode_text(instruction)}"
    tail = "".join(f", {part}" for part in _attribute_texts(instruction, options))
    return f"{head}({_operand_text(instruction, options)}){tail}"


def opcode_text(instruction: Instruction) -> str:
    """The opcode, asynchronous ones in the short form (``custom-call-start``) they were written
    in.
    """
    wrapped = instruction.attributes.get("wrapped_opcode")
    if isinstance(wrapped, Opcode):
        return f"{wrapped.text}-{_ASYNC_PHASES[instruction.opcode].value}"
    return instruction.opcode.text


def _operand_text(instruction: Instruction, options: PrintOptions) -> str:
    if instruction.opcode is Opcode.PARAMETER:
        return str(instruction.parameter_number)
    if instruction.literal is not None:
        return print_literal(instruction.literal, instruction.shape, options.literal_limit)
    return ", ".join(instruction.operands)


def _attribute_texts(instruction: Instruction, options: PrintOptions) -> Iterator[str]:
    for key, value in instruction.attributes.items():
        if key not in _UNPRINTED:
            yield write_attribute(key, value)
    if options.metadata and instruction.metadata is not None:
        yield f"metadata={instruction.metadata.text}"


def without_layouts(shape: Shape) -> Shape:
    """The shape as people read it, layouts left out."""
    if isinstance(shape, TupleShape):
        return TupleShape(tuple(map(without_layouts, shape.elements)))
    return shape.with_layout(None) if isinstance(shape, ArrayShape) else shape
