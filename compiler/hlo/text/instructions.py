"""Parses the instructions of one computation, nested operands and omitted shapes included."""

from __future__ import annotations

from typing import Any

from compiler.hlo.attributes import NO_ATTRIBUTES, Attributes, Metadata
from compiler.hlo.errors import Malformed
from compiler.hlo.infer import InferenceError, infer_shape
from compiler.hlo.literal import Literal
from compiler.hlo.module import CALLEE_KEYS, Computation, Instruction
from compiler.hlo.opcodes import Opcode, SpelledOpcode, spelled_opcode
from compiler.hlo.shape import Shape, compatible
from compiler.hlo.text.cursor import Cursor
from compiler.hlo.text.literals import parse_literal
from compiler.hlo.text.tokens import NAME

MAX_NESTING = 64
"""How deep instructions may stand in one another's operand lists."""

_CONSTANT = "constant("
_AFTER_OPERAND = (",", ")")
_SPELLED_CONSTANT = SpelledOpcode(Opcode.CONSTANT)
_CALLEE_LISTS = ("branch_computations", "called_computations")
_BRACED = ("=", "}")
_CALLEE_STARTS = tuple(f"{key}=" for key in CALLEE_KEYS)


class InstructionParser:
    """Parses ``{ ... }`` of one computation.

    ``computations`` are the earlier ones, known for shape inference; those written in place, as
    ``to_apply={ ... }``, are added to them. ``depth`` counts the ones around this one.
    """

    def __init__(
        self, cursor: Cursor, computation: str, computations: dict[str, Computation], depth: int = 0
    ) -> None:
        self.cursor = cursor
        self.computation = computation
        self.computations = computations
        self.instructions: dict[str, Instruction] = {}
        self.root: str | None = None
        self._opcodes: dict[str, SpelledOpcode | None] = {}
        self._adds_parameters = False
        self._depth = depth

    def parse_block(self) -> tuple[tuple[Instruction, ...], str]:
        """The instructions in the order they stand, and the root's name (the last when
        unmarked).
        """
        cursor = self.cursor
        cursor.expect("{", "before the instructions")
        while cursor.peek() != "}":
            if not cursor.peek():
                message = f"expected '}}' at the end of computation {self.computation}"
                raise cursor.error(f"{message}, found the end of the text")
            self._instruction()
        if not self.instructions:
            raise cursor.error(f"computation {self.computation} has no instructions")
        cursor.advance()
        root = self.root or next(reversed(self.instructions))
        return tuple(self.instructions.values()), root

    def parse_single(self) -> tuple[tuple[Instruction, ...], str]:
        """One instruction up to the end of the text; unknown operands become parameters."""
        cursor = self.cursor
        self._adds_parameters = True
        start = cursor.index
        if cursor.peek() == "ROOT":
            cursor.index += 1
        name = None
        if cursor.peek(1) == "=":
            name = cursor.take_name("an instruction")
            cursor.index += 1
        root = self._right_side(name, start, 0)
        if cursor.peek():
            raise cursor.error(f"expected the end of the text, found {cursor.shown()}")
        return tuple(self.instructions.values()), root

    def _instruction(self) -> None:
        cursor = self.cursor
        texts = cursor.tokens.texts
        start = cursor.index
        is_root = texts[start] == "ROOT"
        if is_root:
            if self.root is not None:
                raise cursor.error(f"computation {self.computation} has a second ROOT")
            cursor.index += 1
        name = cursor.take_name("an instruction")
        if texts[cursor.index] != "=":
            raise cursor.error(f"expected '=' after {name}, found {cursor.shown()}")
        cursor.index += 1
        self._right_side(name, start, 0)
        if is_root:
            self.root = name

    def _right_side(self, name: str | None, start: int, depth: int) -> str:
        """``shape opcode(operands), attributes``; returns the instruction's name."""
        cursor = self.cursor
        shape = self._optional_shape()
        spelled = self._opcode()
        opcode = spelled.opcode
        literal: Literal | None = None
        operands: tuple[str, ...] = ()
        number = None
        if opcode is Opcode.CONSTANT:
            literal = self._literal(shape)
        elif opcode is Opcode.PARAMETER:
            number = self._parameter_number()
        else:
            operands = self._operands(depth)
        attributes, metadata = self._attributes(spelled, number, depth)
        name = self._claim(name, opcode, start)
        instruction = Instruction(
            name,
            opcode,
            shape if shape is not None else self._inferred(opcode, operands, attributes, start),
            operands,
            attributes,
            literal,
            metadata,
            (),
            cursor.line(start),
        )
        self.instructions[name] = instruction
        return name

    def _optional_shape(self) -> Shape | None:
        cursor = self.cursor
        token = cursor.tokens.texts[cursor.index]
        known = cursor.shapes.get(token)
        if known is not None:
            cursor.index += 1
            return known
        if token == "(" or "[" in token or (token == "b" and cursor.peek(1) == "("):
            return cursor.take_shape()
        return None

    def _opcode(self) -> SpelledOpcode:
        cursor = self.cursor
        token = cursor.tokens.texts[cursor.index]
        spelled = self._opcodes.get(token)
        if spelled is not None:
            cursor.index += 1
            return spelled
        if token.startswith(_CONSTANT):
            return _SPELLED_CONSTANT
        spelled = self._opcodes[token] = spelled_opcode(token)
        if spelled is None:
            if NAME.match(token) is None:
                raise cursor.error(f"expected a shape or an operation, found {cursor.shown()}")
            raise cursor.error(f"unknown operation {cursor.shown()}")
        cursor.index += 1
        return spelled

    def _literal(self, shape: Shape | None) -> Literal:
        cursor = self.cursor
        token = cursor.peek()
        start = cursor.tokens.starts[cursor.index]
        if shape is None:
            raise cursor.error("a constant needs its shape")
        if token.startswith(_CONSTANT):
            text, offset = token[len(_CONSTANT) : -1], start + len(_CONSTANT)
            cursor.index += 1
        else:
            if token != "(":
                raise cursor.error(f"expected '(' before the literal, found {cursor.shown()}")
            first = cursor.index
            cursor.skip_balanced()
            text, offset = cursor.tokens.slice(first, cursor.index - 1)[1:-1], start + 1
        try:
            return parse_literal(text, shape)
        except Malformed as error:
            raise cursor.tokens.error(offset, str(error)) from None

    def _parameter_number(self) -> int:
        cursor = self.cursor
        cursor.expect("(", "before the parameter number")
        token = cursor.peek()
        if not token.isdigit() or len(token) > 9:
            raise cursor.error(f"expected a parameter number, found {cursor.shown()}")
        cursor.index += 1
        cursor.expect(")", "after the parameter number")
        return int(token)

    def _operands(self, depth: int) -> tuple[str, ...]:
        cursor = self.cursor
        cursor.expect("(", "before the operands")
        texts = cursor.tokens.texts
        found: list[str] = []
        known = self.instructions
        if texts[cursor.index] == ")":
            cursor.index += 1
            return ()
        while True:
            name = texts[cursor.index].removeprefix("%")
            if name in known and texts[cursor.index + 1] in _AFTER_OPERAND:
                cursor.index += 1
                found.append(name)
            else:
                found.append(self._operand(depth))
            token = texts[cursor.index]
            if token == ",":
                cursor.index += 1
            elif token == ")":
                cursor.index += 1
                return tuple(found)
            else:
                raise cursor.error(f"expected ',' or ')' after an operand, found {cursor.shown()}")

    def _operand(self, depth: int) -> str:
        """``name``, ``shape name``, or an instruction in place."""
        cursor = self.cursor
        start = cursor.index
        shape = self._optional_shape()
        token = cursor.peek()
        if self._adds_parameters and shape is not None and token in _AFTER_OPERAND:
            return self._add_parameter(cursor.fresh_name("parameter.anon"), shape)
        is_nested = token.startswith(_CONSTANT) or cursor.peek(1) in ("(", "=")
        if is_nested and token[:1] != "%":
            return self._nested(start, depth)
        name = cursor.take_name("an operand")
        if name not in self.instructions and self._adds_parameters and shape is not None:
            self._add_parameter(name, shape)
        if name not in self.instructions:
            raise self._undefined(name)
        if shape is not None:
            self._check_operand_shape(name, shape)
        return name

    def _add_parameter(self, name: str, shape: Shape) -> str:
        number = sum(i.opcode is Opcode.PARAMETER for i in self.instructions.values())
        attributes = Attributes(parameter_number=number)
        self.instructions[name] = Instruction(name, Opcode.PARAMETER, shape, (), attributes)
        return name

    def _undefined(self, name: str) -> Exception:
        text = self.cursor.tokens.text
        later = f"{name} =" in text and f"{name} is used before it is defined"
        return self.cursor.error(later or f"{name} is not defined in {self.computation}", -1)

    def _check_operand_shape(self, name: str, shape: Shape) -> None:
        actual = self.instructions[name].shape
        if not compatible(actual, shape):
            raise self.cursor.error(f"{name} has shape {actual}, not {shape}", -1)

    def _nested(self, start: int, depth: int) -> str:
        cursor = self.cursor
        if depth >= MAX_NESTING:
            raise cursor.error(f"instructions are nested more than {MAX_NESTING} deep")
        cursor.index = start
        name = None
        if cursor.peek(1) == "=":
            name = cursor.take_name("an instruction")
            cursor.index += 1
        return self._right_side(name, start, depth + 1)

    def _attributes(
        self, spelled: SpelledOpcode, number: int | None, depth: int
    ) -> tuple[Attributes, Metadata | None]:
        cursor = self.cursor
        texts = cursor.tokens.texts
        if number is None and texts[cursor.index] != "," and spelled.wrapped is None:
            return NO_ATTRIBUTES, None
        entries: dict[str, Any] = {}
        metadata: Metadata | None = None
        if number is not None:
            entries["parameter_number"] = number
        if spelled.wrapped is not None:
            entries["wrapped_opcode"] = spelled.wrapped
        while texts[cursor.index] == ",":
            token = texts[cursor.index + 1]
            if depth and "=" not in token:
                break
            value: Any
            if token.startswith("metadata="):
                key, text = cursor.take_attribute(verbatim=("metadata",))
                value = Metadata(text)
            elif token[-1:] in _BRACED and token.startswith(_CALLEE_STARTS):
                key, value = self._callee_attribute(token.partition("=")[0])
            else:
                key, value = cursor.take_attribute()
            if key in entries or (key == "metadata" and metadata is not None):
                raise cursor.error(f"attribute {key} is given twice", -1)
            if key == "metadata":
                metadata = value
            else:
                entries[key] = value
        return Attributes(entries) if entries else NO_ATTRIBUTES, metadata

    def _callee_attribute(self, key: str) -> tuple[str, Any]:
        """An attribute that names computations or has their instructions in place."""
        mark = self.cursor.index
        inner = self.cursor.take_braced(key)
        if inner is None:
            return self.cursor.take_attribute()
        if key not in _CALLEE_LISTS:
            return key, self._inline_computation(inner)
        if inner.peek(1) != "{":
            self.cursor.index = mark
            return self.cursor.take_attribute()
        inner.advance()
        names = [self._inline_computation(inner)]
        while inner.peek() == ",":
            inner.advance()
            names.append(self._inline_computation(inner))
        inner.expect("}", "after the computations")
        return key, tuple(names)

    def _inline_computation(self, cursor: Cursor) -> str:
        if self._depth >= MAX_NESTING:
            raise cursor.error(f"computations are nested more than {MAX_NESTING} deep")
        name = cursor.fresh_name(f"{self.computation}.inline")
        line = cursor.line(cursor.index)
        body = InstructionParser(cursor, name, self.computations, self._depth + 1)
        instructions, root = body.parse_block()
        self.computations[name] = Computation(name, instructions, root, line=line)
        return name

    def _claim(self, name: str | None, opcode: Opcode, start: int) -> str:
        if name is None:
            return self.cursor.fresh_name(f"{opcode.text}.anon")
        if name in self.instructions:
            raise self.cursor.tokens.error(
                self.cursor.tokens.starts[start], f"{name} is defined twice in {self.computation}"
            )
        return name

    def _inferred(
        self, opcode: Opcode, operands: tuple[str, ...], attributes: Attributes, start: int
    ) -> Shape:
        shapes = tuple(self.instructions[name].shape for name in operands)
        try:
            return infer_shape(opcode, shapes, attributes, self.computations)
        except InferenceError as error:
            message = f"the shape of {opcode} must be written: {error}"
            raise self.cursor.tokens.error(self.cursor.tokens.starts[start], message) from None
