"""Walks over tokens: looking ahead, taking names, shapes and attributes, and raising errors in
place.
"""

from __future__ import annotations

import re
from typing import Any

from compiler.hlo.errors import HloSyntaxError, Malformed
from compiler.hlo.rewriter import Names
from compiler.hlo.shape import Shape
from compiler.hlo.text.codecs import read_attribute
from compiler.hlo.text.shapes import parse_array_shape, parse_shape
from compiler.hlo.text.tokens import NAME, Tokens

_OPENING = {"{": "}", "(": ")", "[": "]"}
_CLOSING = frozenset("})]")
_AFTER_VALUE = ("", ",", "}", ")")
_WORD = re.compile(r"[\w.\-]+")


class Cursor:
    """A position in a token list, with memories of what shape and attribute tokens mean."""

    __slots__ = ("_names", "_outer", "attributes", "index", "shapes", "tokens")

    def __init__(self, tokens: Tokens, outer: Cursor | None = None) -> None:
        self.tokens = tokens
        self.index = 0
        self.shapes: dict[str, Shape] = {}
        self.attributes: dict[str, tuple[str, Any]] = {}
        self._outer = outer
        self._names: Names | None = None

    def fresh_name(self, hint: str) -> str:
        """A name that occurs nowhere in the text and is given once."""
        if self._outer is not None:
            return self._outer.fresh_name(hint)
        if self._names is None:
            self._names = Names(_WORD.findall(self.tokens.text))
        return self._names.fresh(hint)

    def peek(self, ahead: int = 0) -> str:
        texts = self.tokens.texts
        index = self.index + ahead
        return texts[index] if index < len(texts) else ""

    def advance(self) -> str:
        text = self.tokens.texts[self.index]
        if text:
            self.index += 1
        return text

    def shown(self) -> str:
        """The present token for a message."""
        text = self.peek()
        if not text:
            return "the end of the text"
        return f"'{text[:40]}…'" if len(text) > 40 else f"'{text}'"

    def error(self, message: str, ahead: int = 0) -> HloSyntaxError:
        """An error at the present token, or some tokens before or after it."""
        index = max(0, min(self.index + ahead, len(self.tokens.starts) - 1))
        return self.tokens.error(self.tokens.starts[index], message)

    def line(self, index: int) -> int:
        """The line of a token."""
        return self.tokens.line_of(self.tokens.starts[index])

    def expect(self, text: str, where: str) -> None:
        if self.peek() != text:
            raise self.error(f"expected '{text}' {where}, found {self.shown()}")
        self.index += 1

    def take_name(self, what: str) -> str:
        token = self.peek()
        if NAME.match(token) is None:
            raise self.error(f"expected {what}, found {self.shown()}")
        self.index += 1
        return token[1:] if token[0] == "%" else token

    def take_shape(self) -> Shape:
        """An array shape (one token) or a tuple or buffer shape (several)."""
        token = self.peek()
        known = self.shapes.get(token)
        if known is not None:
            self.index += 1
            return known
        first = self.index
        if token == "b" and self.peek(1) == "(":
            self.index += 1
            token = "("
        if token == "(":
            self.skip_balanced()
            text = self.tokens.slice(first, self.index - 1)
        else:
            self.index += 1
            text = token
        return self._remember_shape(text, first)

    def _remember_shape(self, text: str, first: int) -> Shape:
        known = self.shapes.get(text)
        if known is None:
            try:
                known = parse_shape(text) if text[:1] in ("(", "b") else parse_array_shape(text)
            except Malformed as error:
                raise self.tokens.error(self.tokens.starts[first], str(error)) from None
            self.shapes[text] = known
        return known

    def skip_balanced(self) -> None:
        """Passes one token, or a bracket with everything up to the one that closes it."""
        texts = self.tokens.texts
        first = self.index
        expected: list[str] = []
        while True:
            text = texts[self.index]
            if not text:
                closing = expected[-1] if expected else "more"
                message = f"expected '{closing}' before the end of the text; this is never closed"
                raise self.error(message, first - self.index)
            if text in _OPENING:
                expected.append(_OPENING[text])
            elif text in _CLOSING and (not expected or text != expected.pop()):
                opened = f"but the '{texts[first]}' on line {self.line(first)} is not closed"
                raise self.error(
                    f"found '{text}', {opened if self.index > first else 'which closes nothing'}"
                )
            self.index += 1
            if not expected:
                return

    def take_attribute(self, verbatim: tuple[str, ...] = ()) -> tuple[str, Any]:
        """``, key=value`` with its comma; keys in ``verbatim`` give their value as text."""
        self.expect(",", "before an attribute")
        token = self.peek()
        known = self.attributes.get(token)
        if known is not None and self._ends_here(token):
            self.index += 1
            return known
        first = self.index
        key, separator, value = token.partition("=")
        if not separator or not key:
            raise self.error(f"expected an attribute key=value, found {self.shown()}")
        self.index += 1
        if not value or not self._is_end(self.peek()):
            self._skip_value()
            text = self.tokens.slice(first, self.index - 1)
            value = text[len(key) + 1 :]
        if key in verbatim:
            return key, value
        try:
            entry = key, read_attribute(key, value)
        except Malformed as error:
            offset = self.tokens.starts[first] + len(key) + 1
            raise self.tokens.error(offset, f"{key}: {error}") from None
        if len(token) < 200 and text_is_token(token, key, value):
            self.attributes[token] = entry
        return entry

    def take_braced(self, key: str) -> Cursor | None:
        """Passes ``, key={...}`` and gives a cursor over its braces; None: its value has none."""
        mark = self.index
        key, value = self.take_attribute(verbatim=(key,))
        begin = self.tokens.starts[mark + 1] + len(key) + 1
        tokens = Tokens(self.tokens.text, self.tokens.file, begin, begin + len(value))
        if tokens.texts[0] == "{":
            return Cursor(tokens, self)
        self.index = mark
        return None

    def _ends_here(self, token: str) -> bool:
        """True when a one-token attribute is complete: closed, or not continued by what follows."""
        return token[-1] in '"}' or self._is_end(self.tokens.texts[self.index + 1], 1)

    def _is_end(self, text: str, ahead: int = 0) -> bool:
        """True of tokens that can follow a complete attribute on the same or a later line."""
        return text in _AFTER_VALUE or self._on_new_line(self.index + ahead)

    def _on_new_line(self, index: int) -> bool:
        starts = self.tokens.starts
        if index == 0 or index >= len(starts):
            return True
        return "\n" in self.tokens.text[self.tokens.end(index - 1) : starts[index]]

    def _skip_value(self) -> None:
        """Passes tokens up to a comma that a key follows, a closing bracket, the line's end, or the
        next instruction."""
        while True:
            text = self.peek()
            if text in ("", "}", ")", "ROOT") or (self.peek(1) == "=" and NAME.match(text)):
                return
            if text == "," and (self._is_key(self.peek(1)) or self._on_new_line(self.index + 1)):
                return
            if self._on_new_line(self.index) and text not in _OPENING:
                return
            self.skip_balanced()

    def _is_key(self, text: str) -> bool:
        return "=" in text and text[0] not in '"{'


def text_is_token(token: str, key: str, value: str) -> bool:
    """True when an attribute was one token, so that the token alone tells its meaning."""
    return len(token) == len(key) + 1 + len(value)
