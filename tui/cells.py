"""Text in terminal cells: East Asian characters take two, marks none."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from lab.words.width import right, wrapped

__all__ = ["fitted", "right", "width", "wrapped"]


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
