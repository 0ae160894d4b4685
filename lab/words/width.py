"""Text in terminal cells: East Asian characters take two cells, combining marks none."""

from __future__ import annotations

from unicodedata import combining, east_asian_width


def cell_width(text: str) -> int:
    """How many cells the text takes."""
    return sum(map(_cells, text))


def _cells(character: str) -> int:
    if combining(character):
        return 0
    return 2 if east_asian_width(character) in ("W", "F") else 1


def padded(text: str, cells: int) -> str:
    """The text with blanks up to `cells` cells; longer text stays whole."""
    return text + " " * max(0, cells - cell_width(text))


def shortened(text: str, cells: int) -> str:
    """The text in at most `cells` cells, cut with an ellipsis."""
    if cell_width(text) <= cells:
        return text
    kept, used = "", 0
    for character in text:
        used += _cells(character)
        if used > cells - 1:
            break
        kept += character
    return kept + "…"
