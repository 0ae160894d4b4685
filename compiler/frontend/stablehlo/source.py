"""A StableHLO text with a place in it: what every parser of this package reads from.

The position always stands at the beginning of a token: white space and ``//`` comments are skipped
as soon as something was taken.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from compiler.hlo.errors import HloSyntaxError, HloUnsupportedError, HloVerifyError
from compiler.hlo.text.tokens import error_at
from isas.errors import HobError

_SKIPPED = re.compile(r"(?:\s+|//[^\n]*)*")
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|->|[<>\[\](){}]')
_CLOSING = {"<": ">", "[": "]", "(": ")", "{": "}"}
_SHOWN = 24

MAX_DEPTH = 100
"""How deep regions, types and attributes may nest."""


class Source:
    """One text, a position in it, and how deep the parsers are nested."""

    __slots__ = ("_newlines", "depth", "file", "position", "text")

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.depth = 0
        self.position = 0
        self._newlines: list[int] = []
        self.skip()

    def skip(self) -> None:
        match = _SKIPPED.match(self.text, self.position)
        if match is not None:
            self.position = match.end()

    @property
    def at_end(self) -> bool:
        return self.position >= len(self.text)

    def peek(self, literal: str) -> bool:
        """True when this punctuation or beginning of a word comes next."""
        return self.text.startswith(literal, self.position)

    def accept(self, literal: str) -> bool:
        """Takes this punctuation when it comes next."""
        if not self.text.startswith(literal, self.position):
            return False
        self.position += len(literal)
        self.skip()
        return True

    def accept_word(self, word: str) -> bool:
        """Takes a word when it comes next as a whole."""
        end = self.position + len(word)
        follows = self.text[end : end + 1]
        if not self.peek(word) or follows.isalnum() or follows in ("_", "."):
            return False
        return self.accept(word)

    def expect(self, literal: str, where: str) -> None:
        if not self.accept(literal):
            raise self.error(f"expected '{literal}' {where}, found {self.shown()}")

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Takes what the pattern matches here, if it does."""
        match = pattern.match(self.text, self.position)
        if match is not None:
            self.position = match.end()
            self.skip()
        return match

    def require(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        match = self.match(pattern)
        if match is None:
            raise self.error(f"expected {what}, found {self.shown()}")
        return match

    def balanced(self) -> str:
        """Takes a bracket with everything up to its partner; the text between the two."""
        start = self.position
        stack: list[str] = []
        for match in _BRACKETS.finditer(self.text, start):
            token = match[0]
            if token in _CLOSING:
                stack.append(_CLOSING[token])
            elif token[0] == '"' or token == "->":
                continue
            elif not stack or stack.pop() != token:
                raise self.error(f"'{token}' closes nothing", match.start())
            if not stack:
                self.position = match.end()
                self.skip()
                return self.text[start + 1 : match.start()]
        raise self.error("this bracket is never closed", start)

    def enter(self) -> None:
        """One level deeper. Raises HloSyntaxError at `MAX_DEPTH`."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"nested more than {MAX_DEPTH} deep")

    def leave(self) -> None:
        self.depth -= 1

    def shown(self) -> str:
        """What comes next, for messages."""
        if self.at_end:
            return "the end of the text"
        word = re.compile(r"[%#@!^]?[\w.$]+|->|.", re.DOTALL).match(self.text, self.position)
        return f"'{word[0][:_SHOWN]}'" if word else "nothing"

    def line_of(self, offset: int) -> int:
        """The line of an offset, counted from 1."""
        if not self._newlines:
            self._newlines = [-1, *(match.start() for match in re.finditer("\n", self.text))]
        return bisect_right(self._newlines, offset - 1)

    def error(self, message: str, at: int | None = None) -> HloSyntaxError:
        """An error here or at an offset, with file:line:column, the line and a caret."""
        return error_at(self.text, self.file, self.position if at is None else at, message)

    def refused(self, message: str, at: int) -> HobError:
        """The text is valid but says something that Hob does not do."""
        return self._as(HloUnsupportedError, message, at)

    def broken(self, message: str, at: int) -> HobError:
        """The text is StableHLO but breaks a rule."""
        return self._as(HloVerifyError, message, at)

    def _as(self, kind: type[HobError], message: str, at: int) -> HobError:
        shown = self.error(message, at)
        return kind(shown.message, shown.where)
