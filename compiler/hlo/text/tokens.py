"""Cuts HLO text into tokens with one compiled regular expression.

Tokens are as large as they can be while one pattern still finds their end: a whole array shape
with its layout, a whole ``key={...}`` attribute without inner braces, a whole ``constant(...)``.
That keeps their number small (about ten per instruction) and lets the parser memorise what a token
means.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from compiler.hlo.errors import HloSyntaxError

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_NAME = r"[A-Za-z_][\w.]*+(?:-(?!>)[\w.]*+)*+"
_BRACES = rf'\{{[^{{}}"]*+(?:{_STRING}[^{{}}"]*+)*+\}}'
_LAYOUT = r"\{\s*+(?:[\d:][^{}]*+(?:\{[^{}]*+\}[^{}]*+)*+)?\}"
_PARENS = r"\([^()]*+\)"
_NESTED_PARENS = rf"\([^()]*+(?:{_PARENS}[^()]*+)*+\)"

_COMMENT = r"(?://[^\r\n]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*+\*/)"

TOKEN = re.compile(
    rf"""
    \s*+(?:{_COMMENT}\s*+)*+
    (
      %?{_NAME}                                      # a name, an opcode, a keyword, or with
      (?: \[[^\[\]"]*+\](?:\s*{_LAYOUT})?             # dimensions: an array shape with its layout
        | =(?:{_BRACES}|{_STRING}|[\w.%\->]++)?      # an equals sign: an attribute with its value
        | (?<=[\s=,(]constant)                       # the one name: a constant with its literal
          \([^()]*+(?:{_NESTED_PARENS}[^()]*+)*+\)
      )?
    | ->
    | -?(?:\d|\.\d)[\w.]*+(?:(?<=[eE])[+-]\d++)?    # a number
    | {_STRING}
    | [^\s]
    | \Z                                             # the end, comments before it included
    )
    """,
    re.VERBOSE,
)

NAME = re.compile(rf"%?{_NAME}\Z")
_COMMENTS = re.compile(_COMMENT)


def without_comments(text: str) -> str:
    """The text with nothing in the places of its comments."""
    return _COMMENTS.sub("", text)


class Tokens:
    """The tokens of a text, or of a part of it, with their offsets.

    The last one is empty and stands for the end. Offsets count from the start of the whole text.
    """

    __slots__ = ("_newlines", "file", "starts", "text", "texts")

    def __init__(self, text: str, file: str, begin: int = 0, end: int | None = None) -> None:
        self.text = text
        self.file = file
        matches = list(TOKEN.finditer(text, begin, len(text) if end is None else end))
        self.texts: list[str] = [match[1] for match in matches]
        self.starts: list[int] = [match.start(1) for match in matches]
        self._newlines: list[int] = []

    def end(self, index: int) -> int:
        """The offset just after a token."""
        return self.starts[index] + len(self.texts[index])

    def slice(self, first: int, last: int) -> str:
        """The text from one token to another, both included, comments and all."""
        return self.text[self.starts[first] : self.end(last)]

    def line_of(self, offset: int) -> int:
        """The line of an offset, counted from 1."""
        if not self._newlines:
            self._newlines = [-1, *(m.start() for m in re.finditer("\n", self.text))]
        return bisect_right(self._newlines, offset - 1)

    def error(self, offset: int, message: str) -> HloSyntaxError:
        """An error at an offset, with file:line:column, the line and a caret."""
        return error_at(self.text, self.file, offset, message)


_SHOWN = 100


def error_at(text: str, file: str, offset: int, message: str) -> HloSyntaxError:
    """An error at an offset of a text, with file:line:column, the line and a caret."""
    offset = min(offset, len(text))
    line = text.count("\n", 0, offset) + 1
    begin = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", begin)
    whole = text[begin : len(text) if end < 0 else end]
    column = offset - begin
    left = max(0, column - _SHOWN // 2) if len(whole) > _SHOWN else 0
    shown = "".join(c if c.isprintable() else " " for c in whole[left : left + _SHOWN])
    caret = " " * (column - left) + "^"
    return HloSyntaxError(f"{message}\n  {shown}\n  {caret}", f"{file}:{line}:{column + 1}")
