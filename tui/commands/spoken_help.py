"""Help pages in another language than English: the library's own words ("Usage", "required") are
said through the catalogues, and columns and lines are measured in terminal cells.

The library names its formatter in a command's context; commands get a context that names ours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import typer

from lab.words.width import cell_width, padded, wrapped
from lab.words.words import Words

_Formatter: Any = typer.Context.formatter_class
_REMARKS = re.compile(r"(?:(?P<help>.*)  )?\[(?P<remarks>[^\[\]]*)\]", re.DOTALL)
"""What stands behind an option's own help: `[default: x; required]`."""
_KIND = re.compile(r"<[a-z ]+>")
_WIDEST = 30
"""Cells of the first column at most."""


def spoken_context(base: type, words: Words) -> type:
    """A context like `base` whose help pages are in the language of `words`."""

    class Formatter(_Formatter):
        """Writes help in the language; the interface is the library's."""

        def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
            said = " ".join(words(word) for word in args.split(" "))
            super().write_usage(prog, said, prefix or words("Usage: "))

        def write_heading(self, heading: str) -> None:
            self.write(f"{' ' * self.current_indent}{words(heading)}{words(':')}\n")

        def write_text(self, text: str) -> None:
            indent = " " * self.current_indent
            for line in wrapped(words(one_line(text)), self.width - self.current_indent):
                self.write(f"{indent}{line}".rstrip() + "\n")

        def write_dl(
            self, rows: Sequence[tuple[str, str]], col_max: int = _WIDEST, col_spacing: int = 2
        ) -> None:
            said = [(_kind_said(name, words), _help_said(text, words)) for name, text in rows]
            first = min(max(cell_width(name) for name, _ in said), col_max) + col_spacing
            for line in _table(said, first, self.width - self.current_indent):
                self.write(f"{' ' * self.current_indent}{line}".rstrip() + "\n")

    return type("SpokenContext", (base,), {"formatter_class": Formatter})


def one_line(text: str) -> str:
    """A docstring as it stands in the catalogue."""
    return " ".join(text.split())


def _table(rows: Sequence[tuple[str, str]], first: int, width: int) -> list[str]:
    """Two columns; a name too long for the first stands on a line of its own."""
    lines: list[str] = []
    for name, text in rows:
        texts = wrapped(text, max(width - first, 10)) if text else [""]
        if cell_width(name) > first - 2:
            lines.append(name)
            name = ""
        lines += [
            padded(head, first) + each for head, each in zip([name, *[""] * len(texts)], texts)
        ]
    return lines


def _kind_said(name: str, words: Words) -> str:
    """`PROGRAM <str>` with its kind in the language."""
    return _KIND.sub(lambda found: words(found[0]), name)


def _help_said(text: str, words: Words) -> str:
    """An option's help and the remarks behind it in the language."""
    found = _REMARKS.fullmatch(text)
    if found is None:
        return words(one_line(text))
    remarks = words("; ").join(words.told(remark) for remark in found["remarks"].split("; "))
    help_text = f"{words(one_line(found['help']))}  " if found["help"] else ""
    return f"{help_text}[{remarks}]"
