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


def right(text: str, cells: int) -> str:
    """The text at the right end of `cells` cells; longer text stays whole."""
    return " " * max(0, cells - cell_width(text)) + text


def wrapped(text: str, cells: int) -> list[str]:
    """Lines of at most `cells` cells, broken at spaces, and anywhere between wide characters."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for piece in _pieces(paragraph):
            if cell_width(line) + cell_width(piece.rstrip()) > cells and line:
                lines.append(line.rstrip())
                line = piece.lstrip()
            else:
                line += piece
            while cell_width(line.rstrip()) > cells:
                head = _head(line, cells)
                lines.append(head.rstrip())
                line = line[len(head) :]
        lines.append(line.rstrip())
    return lines


def _head(text: str, cells: int) -> str:
    """The longest beginning of at most `cells` cells, and one character at least."""
    used = 0
    for place, character in enumerate(text):
        used += _cells(character)
        if used > cells:
            return text[: max(place, 1)]
    return text


_CLOSING = "，。；：、）】」』！？…·,.;:)]"


def _pieces(text: str) -> list[str]:
    """What stays together: words with their space, single wide characters with their comma."""
    pieces: list[str] = []
    for character in text:
        is_wide = cell_width(character) == 2
        joins = bool(pieces) and not pieces[-1].endswith(" ")
        if (joins and character in _CLOSING) or (
            joins and not is_wide and cell_width(pieces[-1][-1]) < 2
        ):
            pieces[-1] += character
        else:
            pieces.append(character)
    return pieces
