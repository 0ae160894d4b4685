"""Text in terminal cells: East Asian characters take two, marks none."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size


def width(text: str) -> int:
    """How many cells the text takes."""
    return cell_len(text)


def fitted(text: str, cells: int) -> str:
    """The text in exactly `cells` cells: padded, or cut with an ellipsis."""
    if cells <= 0:
        return ""
    if cell_len(text) <= cells:
        return text + " " * (cells - cell_len(text))
    return set_cell_size(set_cell_size(text, cells - 1).rstrip() + "…", cells)


def right(text: str, cells: int) -> str:
    """The text at the right end of `cells` cells; longer text stays whole."""
    return " " * max(0, cells - cell_len(text)) + text


def wrapped(text: str, cells: int) -> list[str]:
    """Lines of at most `cells` cells, broken at spaces, and anywhere between wide characters."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for piece in _pieces(paragraph):
            if cell_len(line) + cell_len(piece.rstrip()) > cells and line:
                lines.append(line.rstrip())
                line = piece.lstrip()
            else:
                line += piece
            while cell_len(line.rstrip()) > cells:
                head = set_cell_size(line, cells).rstrip()
                lines.append(head)
                line = line[len(head) :]
        lines.append(line.rstrip())
    return lines


_CLOSING = "，。；：、）】」』！？…·,.;:)]"


def _pieces(text: str) -> list[str]:
    """What stays together: words with their space, single wide characters with their comma."""
    pieces: list[str] = []
    for character in text:
        is_wide = cell_len(character) == 2
        joins = bool(pieces) and not pieces[-1].endswith(" ")
        if (joins and character in _CLOSING) or (
            joins and not is_wide and cell_len(pieces[-1][-1]) < 2
        ):
            pieces[-1] += character
        else:
            pieces.append(character)
    return pieces
