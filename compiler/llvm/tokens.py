"""Cuts lines of LLVM assembly into tokens and reads types, constants and attributes from them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from compiler.llvm.ir import Constant, Scalar
from compiler.llvm.numbers import parse_float_literal
from compiler.llvm.types import BF16, F16, F32, F64, I1, PTR, VOID, Kind, Type, pointer
from isas.errors import InputError, UnsupportedError

_TOKEN = re.compile(
    r'\s*(?:([%@!#]?"(?:[^"\\]|\\.)*"|[%@!#][-a-zA-Z$._0-9]+|!\{[^}]*\}|!|'
    r"[-+]?[a-zA-Z0-9$._][-+a-zA-Z$._0-9]*|[()\[\]{}<>,=*:])|$)"
)
_NAMED_TYPES = {
    "void": VOID, "half": F16, "bfloat": BF16, "float": F32, "double": F64, "ptr": PTR,
}  # fmt: skip
_INTEGER_TYPE = re.compile(r"i([0-9]+)\Z")
_CONSTANT = re.compile(
    r"[-+]?[0-9]|f0x|[-+]?(inf|nan|qnan|snan)|(true|false|null|poison|undef|zeroinitializer|splat|"
    r"getelementptr|inttoptr|ptrtoint|bitcast)\Z"
)
_HEX_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2})")


def unquoted(token: str) -> str:
    """A name token without sigil and quotes."""
    name = token[1:] if token[:1] in "%@" else token
    if not name.startswith('"'):
        return name
    raw = _HEX_ESCAPE.sub(lambda m: chr(int(m.group(1), 16)), name[1:-1])
    return raw.encode("latin-1", "replace").decode("utf-8", "replace")


@dataclass(slots=True)
class Tokens:
    """The tokens of one line with a place. Reading past the end yields the empty token."""

    items: list[str]
    line: int
    at: int = 0

    def peek(self, ahead: int = 0) -> str:
        position = self.at + ahead
        return self.items[position] if position < len(self.items) else ""

    def next(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def take(self, token: str) -> bool:
        """Whether `token` came next; it is consumed then."""
        if self.peek() != token:
            return False
        self.at += 1
        return True

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise self.error(f"expected '{token}', found '{self.peek() or 'the end of the line'}'")

    def error(self, message: str) -> InputError:
        return InputError(message, where=f"LLVM IR line {self.line}")

    def skip_group(self) -> str:
        """Consumes a balanced `( ... )` and returns its text."""
        parts = [self.next()]
        depth = 1
        while depth and self.peek():
            token = self.next()
            depth += {"(": 1, ")": -1}.get(token, 0)
            parts.append(token)
        return "".join(f"{p} " if p == "," else p for p in parts)

    def integer(self) -> int:
        token = self.next()
        try:
            return int(token)
        except ValueError:
            raise self.error(f"expected an integer, found '{token}'") from None

    def type(self) -> Type:
        """A scalar, vector or pointer type."""
        if self.take("<"):
            lanes = self.integer()
            self.expect("x")
            element = self.type()
            self.expect(">")
            return Type(element.kind, element.bits, lanes, element.address_space)
        token = self.next()
        integer = _INTEGER_TYPE.match(token)
        if integer:
            return Type(Kind.INT, int(integer.group(1)))
        named = _NAMED_TYPES.get(token)
        if named is None:
            raise self.error(f"'{token}' is not a type of Hob's subset of LLVM IR")
        if named == PTR and self.peek() == "addrspace":
            self.at += 1
            self.expect("(")
            space = self.integer()
            self.expect(")")
            return pointer(space)
        return named

    def starts_type(self) -> bool:
        token = self.peek()
        return token == "<" or token in _NAMED_TYPES or _INTEGER_TYPE.match(token) is not None

    def attributes(self) -> tuple[str, ...]:
        """Parameter attributes up to the value or the closing token."""
        found: list[str] = []
        while self._is_attribute():
            word = self.next()
            if self.peek() == "(":
                word += self.skip_group()
            elif word in ("align", "alignstack") and self.peek().isdigit():
                word += f" {self.next()}"
            elif self.take("="):
                word += f"={self.next()}"
            found.append(word)
        return tuple(found)

    def _is_attribute(self) -> bool:
        token = self.peek()
        if token in ("", ",", ")", "{") or token[0] in "%@<[":
            return False
        return _CONSTANT.match(token) is None and not self.starts_type()

    def constant(self, type: Type) -> Constant:
        """A constant of a known type. `undef` is read as poison, undefined lanes of a vector as
        zero."""
        if self.peek() in ("poison", "undef"):
            self.at += 1
            return Constant(type, None)
        if self.take("zeroinitializer"):
            zero: Scalar = 0.0 if type.is_float else 0
            return Constant(type, (zero,) * type.lanes if type.lanes else zero)
        if type.lanes:
            return Constant(type, self._lanes(type))
        return Constant(type, self._scalar(type))

    def _lanes(self, type: Type) -> tuple[Scalar, ...]:
        if self.take("splat"):
            self.expect("(")
            self.type()
            value = self._scalar(type.scalar)
            self.expect(")")
            return (value,) * type.lanes
        self.expect("<")
        lanes = [self._lane()]
        while self.take(","):
            lanes.append(self._lane())
        self.expect(">")
        if len(lanes) != type.lanes:
            raise self.error(f"{type} has {type.lanes} lanes, the constant {len(lanes)}")
        return tuple(lanes)

    def _lane(self) -> Scalar:
        constant = self.constant(self.type())
        if isinstance(constant.value, (int, float)):
            return constant.value
        return 0.0 if constant.type.is_float else 0

    def _scalar(self, type: Type) -> Scalar:
        token = self.next()
        try:
            if type.is_float:
                return parse_float_literal(token, type)
            if type.is_pointer and token == "null":
                return 0
            if type == I1 and token in ("true", "false"):
                return int(token == "true")
            if type.is_int:
                return int(token)
        except ValueError:
            pass
        if token in ("getelementptr", "inttoptr", "ptrtoint", "bitcast"):
            raise UnsupportedError("constant expressions", where=f"LLVM IR line {self.line}")
        raise self.error(f"'{token}' is not a constant of type {type}")


def tokenize(text: str, line: int) -> Tokens:
    """The tokens of one line; comments must be gone already."""
    items: list[str] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise InputError(
                f"unexpected character '{text[position:].strip()[:1]}'",
                where=f"LLVM IR line {line}",
            )
        if match.group(1) is not None:
            items.append(match.group(1))
        position = match.end() if match.end() > position else len(text)
    return Tokens(items, line)


def split_comment(line: str) -> tuple[str, str]:
    """The code and the comment (without `;`) of a line; a `;` inside quotes is no comment."""
    in_quotes = False
    for index, character in enumerate(line):
        if character == '"':
            in_quotes = not in_quotes
        elif character == ";" and not in_quotes:
            return line[:index], line[index + 1 :].strip()
    return line, ""
