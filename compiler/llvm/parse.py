"""Reads LLVM assembly into the IR: what `compiler.llvm.text` prints, and what real LLVM (15 to 22)
prints for the same subset after its own passes: numbered values, attribute groups, metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from compiler.llvm.instructions import read_instruction
from compiler.llvm.ir import Argument, BasicBlock, Function, Module, Value
from compiler.llvm.tokens import Tokens, split_comment, tokenize, unquoted
from compiler.llvm.types import VOID, Type
from isas.errors import InputError, UnsupportedError

Lines = Iterator[tuple[int, str]]

_LABEL = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[-a-zA-Z$._0-9]+):\s*\Z')
_ORIGINS = re.compile(r'%("[^"]*"|[^\s,]+)(?:, %("[^"]*"|[^\s,]+))*\Z')
_IGNORED = ("declare", "attributes", "source_filename", "!", "^", "$")


def parse(text: str) -> Module:
    """The module a text describes.

    Raises InputError with the line when the text is malformed, UnsupportedError (naming the
    construct) when it is LLVM IR outside Hob's subset."""
    module = Module("")
    lines = iter(enumerate(text.splitlines(), start=1))
    for number, raw in lines:
        code, comment = split_comment(raw)
        code = code.strip()
        if not code:
            _read_module_name(module, comment)
        elif code.startswith("define"):
            module.functions.append(_read_function(tokenize(code, number), lines))
        elif code.startswith("target"):
            _read_target(module, tokenize(code, number))
        elif not code.startswith(_IGNORED):
            raise UnsupportedError(
                f"'{code.split()[0]}' at module level", where=f"LLVM IR line {number}"
            )
    return module


def parse_function(text: str) -> Function:
    """The only (or first) function of a text; errors as `parse`."""
    functions = parse(text).functions
    if not functions:
        raise InputError("the text defines no function")
    return functions[0]


def _read_module_name(module: Module, comment: str) -> None:
    if comment.startswith("ModuleID = "):
        module.name = comment.removeprefix("ModuleID = ").strip("'")


def _read_target(module: Module, tokens: Tokens) -> None:
    tokens.expect("target")
    what = tokens.next()
    tokens.expect("=")
    value = unquoted(tokens.next())
    if what == "triple":
        module.triple = value
    else:
        module.data_layout = value


_HEADER_WORDS = frozenset(
    {"dso_local", "local_unnamed_addr", "unnamed_addr", "internal", "private", "hidden", "noundef",
     "fastcc", "ccc", "external"}
)  # fmt: skip


def _read_function(tokens: Tokens, lines: Lines) -> Function:
    tokens.expect("define")
    attributes: list[str] = []
    while not tokens.starts_type():
        word = tokens.next()
        if word == "ptx_kernel":
            attributes.append(word)
        elif word not in _HEADER_WORDS:
            raise tokens.error(f"'{word}' before the result type is not known")
    if tokens.type() != VOID:
        raise UnsupportedError("a function with a result", where=f"LLVM IR line {tokens.line}")
    name = unquoted(tokens.next())
    reader = _FunctionReader(Function(name))
    reader.read_arguments(tokens)
    attributes += [a for a in tokens.attributes() if not a.startswith("#")]
    tokens.expect("{")
    reader.function.attributes = tuple(attributes)
    reader.read_body(lines)
    return reader.function


@dataclass(slots=True)
class _FunctionReader:
    """Names on their way to values: what is used before its definition stands in as a
    placeholder."""

    function: Function
    values: dict[str, Value] = field(default_factory=dict)
    blocks: dict[str, BasicBlock] = field(default_factory=dict)
    placeholders: dict[str, Value] = field(default_factory=dict)
    next_number: int = 0

    def read_arguments(self, tokens: Tokens) -> None:
        tokens.expect("(")
        while not tokens.take(")"):
            type = tokens.type()
            attributes = tokens.attributes()
            token = tokens.next() if tokens.peek().startswith("%") else ""
            name = unquoted(token) if token else self.number()
            argument = Argument(type, self.given_name(name, "p"), attributes)
            self.function.arguments.append(argument)
            self.define(name, argument, tokens)
            tokens.take(",")

    def number(self) -> str:
        """The number LLVM gives to the next unnamed value."""
        return str(self.next_number)

    def given_name(self, name: str, stem: str) -> str:
        """A number becomes a stem and that number; names stay."""
        if name.isdigit():
            self.next_number = int(name) + 1
            name = f"{stem}{name}"
        return self.function.fresh_name(name)

    def define(self, name: str, value: Value, tokens: Tokens) -> None:
        if name in self.values:
            raise tokens.error(f"%{name} is defined twice")
        self.values[name] = value
        placeholder = self.placeholders.pop(name, None)
        if placeholder is None:
            return
        if placeholder.type != value.type:
            raise tokens.error(f"%{name} is {value.type} but used as {placeholder.type}")
        placeholder.replace_all_uses_with(value)

    def value(self, tokens: Tokens, type: Type) -> Value:
        """An operand whose type is already read."""
        if not tokens.peek().startswith("%"):
            return tokens.constant(type)
        name = unquoted(tokens.next())
        found = self.values.get(name) or self.placeholders.get(name)
        if found is None:
            found = self.placeholders[name] = Value(type, name)
        if found.type != type:
            raise tokens.error(f"%{name} is {found.type} but used as {type}")
        return found

    def block(self, tokens: Tokens) -> BasicBlock:
        """A block reference `%name`."""
        name = unquoted(tokens.next())
        return self._block(name)

    def _block(self, name: str) -> BasicBlock:
        if name not in self.blocks:
            self.blocks[name] = BasicBlock("")
        return self.blocks[name]

    def open_block(self, name: str) -> BasicBlock:
        block = self._block(name)
        block.name = self.given_name(name, "b")
        block.function = self.function
        self.function.blocks.append(block)
        return block

    def read_body(self, lines: Lines) -> None:
        block: BasicBlock | None = None
        for number, raw in lines:
            code, comment = split_comment(raw)
            code = code.strip()
            if code == "}":
                return self.finish(number)
            label = _LABEL.match(code)
            if label:
                block = self.open_block(unquoted(label.group(1)))
            elif code:
                if block is None:
                    block = self.open_block(self.number())
                self.read_line(block, tokenize(code, number), comment)
        raise InputError(f"the body of @{self.function.name} does not end")

    def read_line(self, block: BasicBlock, tokens: Tokens, comment: str) -> None:
        name = ""
        if tokens.peek(1) == "=":
            name = unquoted(tokens.next())
            tokens.next()
        instruction = read_instruction(self, tokens)
        if instruction is None:
            return
        instruction.origins = _origins(comment)
        block.append(instruction)
        if instruction.type != VOID:
            name = name or self.number()
            instruction.name = self.given_name(name, "v")
            self.define(name, instruction, tokens)

    def finish(self, line: int) -> None:
        where = f"LLVM IR line {line}"
        for name in sorted(self.placeholders):
            raise InputError(f"%{name} is used but never defined", where=where)
        for name, block in self.blocks.items():
            if block.function is None:
                raise InputError(f"the block %{name} is used but never defined", where=where)


def _origins(comment: str) -> tuple[str, ...]:
    """Origins out of a trailing `%a, %b`; LLVM's own comments (`preds = ...`) hold none."""
    if not _ORIGINS.match(comment):
        return ()
    return tuple(name.strip().removeprefix("%") for name in comment.split(","))
