"""Parses HLO text into a module.

The grammar is the one XLA prints and accepts: names with and without %, omitted result shapes,
nested operands, operand shapes, missing ENTRY or ROOT (the last one counts), computation
signatures, tables after the header, comments. Every defined name is checked where it is used.
"""

from __future__ import annotations

from typing import Any

from compiler.hlo.attributes import NO_ATTRIBUTES, Attributes
from compiler.hlo.errors import HloSyntaxError, Malformed
from compiler.hlo.module import CALLEE_KEYS, Computation, EntryLayout, Module, Table
from compiler.hlo.opcodes import OPCODES
from compiler.hlo.shape import Shape, TupleShape, compatible
from compiler.hlo.text.cursor import Cursor
from compiler.hlo.text.instructions import InstructionParser
from compiler.hlo.text.shapes import parse_shape
from compiler.hlo.text.tokens import NAME, Tokens

_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")


def parse_module(text: str, file: str = "<text>") -> Module:
    """The module that a text spells, not yet verified.

    ``file`` names the text in messages. Raises HloSyntaxError with file:line:column and a caret.
    """
    return _ModuleParser(Cursor(Tokens(text, file))).parse()


class _ModuleParser:
    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.computations: dict[str, Computation] = {}
        self.entry: str | None = None

    def parse(self) -> Module:
        cursor = self.cursor
        if self._is_single_instruction():
            return self._single_instruction()
        name, entries, layout = self._header()
        tables = self._tables()
        while cursor.peek():
            self._computation()
        if not self.computations:
            raise cursor.error("expected a computation, found the end of the text")
        entry = self.entry or next(reversed(self.computations))
        module = Module(
            name=name or entry,
            computations=tuple(self.computations.values()),
            entry=entry,
            entry_layout=layout,
            attributes=Attributes(entries) if entries else NO_ATTRIBUTES,
            tables=tables,
            source=cursor.tokens.file,
        )
        self._check_callees(module)
        return module

    def _is_single_instruction(self) -> bool:
        """True of a text that is one instruction: ``add = f32[2] add(f32[2] x, f32[2] y)``."""
        first, second = self.cursor.peek(), self.cursor.peek(1)
        if first == "ROOT" or (second == "=" and NAME.match(first) is not None):
            return True
        is_shape = "[" in first and NAME.match(first.partition("[")[0]) is not None
        return is_shape or (second == "(" and first in OPCODES)

    def _single_instruction(self) -> Module:
        """A module around one instruction; operands that are not defined become parameters."""
        name = "entry_computation"
        body = InstructionParser(self.cursor, name, self.computations)
        instructions, root = body.parse_single()
        entry = Computation(name, instructions, root)
        computations = (*self.computations.values(), entry)
        return Module(root, computations, name, source=self.cursor.tokens.file)

    def _header(self) -> tuple[str | None, dict[str, Any], EntryLayout | None]:
        cursor = self.cursor
        if cursor.peek() != "HloModule":
            starts_computation = cursor.peek()[:1] == "%" and cursor.peek(1) == "("
            if cursor.peek() == "ENTRY" or starts_computation or cursor.peek(1) == "{":
                return None, {}, None
            found = cursor.shown()
            raise cursor.error(f"expected 'HloModule NAME' at the start of HLO text, found {found}")
        cursor.advance()
        if cursor.peek() == "ENTRY":
            raise cursor.error("expected the module's name, found 'ENTRY'")
        name = cursor.take_name("the module's name")
        if cursor.peek() == ":":
            cursor.advance()
        entries: dict[str, Any] = {}
        layout = None
        while cursor.peek() == ",":
            key, value = cursor.take_attribute(verbatim=("entry_computation_layout",))
            if key in entries or (key == "entry_computation_layout" and layout is not None):
                raise cursor.error(f"attribute {key} is given twice")
            if key == "entry_computation_layout":
                layout = self._entry_layout(value)
            else:
                entries[key] = value
        return name, entries, layout

    def _entry_layout(self, text: str) -> EntryLayout:
        inside = text.strip()
        if inside.startswith("{") and inside.endswith("}") and "->" in inside:
            left, _, right = inside[1:-1].partition("->")
            try:
                parameters = parse_shape(left)
                result = parse_shape(right)
            except Malformed as error:
                raise self.cursor.error(f"entry_computation_layout: {error}", -1) from None
            if isinstance(parameters, TupleShape):
                return EntryLayout(parameters.elements, result)
        message = "expected entry_computation_layout={(shapes)->shape}"
        raise self.cursor.error(message, -1)

    def _tables(self) -> tuple[Table, ...]:
        """FileNames and its like: rows begin with a number and end with their line."""
        cursor = self.cursor
        tables: list[Table] = []
        while cursor.peek() in _TABLES:
            name = cursor.advance()
            rows: list[str] = []
            while cursor.peek()[:1].isdigit():
                rows.append(self._row())
            tables.append(Table(name, tuple(rows)))
        return tuple(tables)

    def _row(self) -> str:
        cursor = self.cursor
        first = cursor.index
        cursor.advance()
        if cursor.peek() == "{" or cursor.peek().startswith('"'):
            cursor.skip_balanced()
        else:
            raise cursor.error(f"expected a string or braces in the table, found {cursor.shown()}")
        return cursor.tokens.slice(first, cursor.index - 1)

    def _computation(self) -> None:
        cursor = self.cursor
        start = cursor.index
        is_entry = cursor.peek() == "ENTRY"
        if is_entry:
            cursor.advance()
        if is_entry and self.entry is not None:
            raise cursor.error("expected only one ENTRY computation", -1)
        name = cursor.take_name("a computation's name")
        if name in self.computations:
            raise cursor.error(f"computation {name} is defined twice", -1)
        result = self._signature() if cursor.peek() != "{" else None
        line = cursor.line(start)
        body = InstructionParser(cursor, name, self.computations)
        instructions, root = body.parse_block()
        attributes = self._trailer()
        computation = Computation(name, instructions, root, attributes, line)
        if result is not None and not compatible(computation.shape, result[0]):
            found = computation.shape
            message = f"computation {name} is said to yield {result[0]}, its root yields {found}"
            raise cursor.tokens.error(cursor.tokens.starts[result[1]], message)
        self.computations[name] = computation
        if is_entry:
            self.entry = name

    def _signature(self) -> tuple[Shape, int] | None:
        """``(x: f32[2], y: (s32[])) -> f32[2]``; the result shape with the index of its token."""
        cursor = self.cursor
        if cursor.peek() != "(":
            raise cursor.error(f"expected '{{' or a signature, found {cursor.shown()}")
        self._parameters()
        if cursor.peek() != "->":
            raise cursor.error(f"expected '->' after the parameters, found {cursor.shown()}")
        cursor.advance()
        start = cursor.index
        return cursor.take_shape(), start

    def _parameters(self) -> None:
        """``(x: f32[2], y: (s32[]))``, read for its form: the parameters themselves have shapes."""
        cursor = self.cursor
        first = cursor.index
        cursor.skip_balanced()
        end = cursor.index
        cursor.index = first + 1
        while cursor.index < end - 1:
            if cursor.index > first + 1:
                cursor.expect(",", "between the parameters of a computation")
            cursor.take_name("a parameter's name")
            if cursor.peek() == ":":
                cursor.advance()
            cursor.take_shape()
        cursor.index = end

    def _trailer(self) -> Attributes:
        cursor = self.cursor
        entries: dict[str, Any] = {}
        while cursor.peek() == ",":
            key, value = cursor.take_attribute()
            entries[key] = value
        return Attributes(entries) if entries else NO_ATTRIBUTES

    def _check_callees(self, module: Module) -> None:
        known = self.computations
        for computation in module.computations:
            for instruction in computation.instructions:
                if not instruction.attributes:
                    continue
                for callee in instruction.callees:
                    if callee not in known:
                        raise self._undefined(callee, instruction.name, instruction.line)

    def _undefined(self, callee: str, name: str, line: int) -> HloSyntaxError:
        """Points at the name where the instruction's line spells it."""
        tokens = self.cursor.tokens
        lines = tokens.text.split("\n")
        offset = sum(len(text) + 1 for text in lines[: line - 1])
        for key in CALLEE_KEYS:
            at = tokens.text.find(f"{key}=", offset)
            end = offset + len(lines[line - 1])
            found = tokens.text.find(callee, at, end) if 0 <= at < end else -1
            if found >= 0:
                offset = found
                break
        message = f"{name} calls computation {callee}, which is not defined"
        return tokens.error(offset, message)
