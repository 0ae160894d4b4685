"""A screen as SVG in which every character stands at its own place on the grid.

Each `<text>` is one word and carries an x for every cell, so that nothing depends on how a viewer
spaces fonts or treats blanks; a wide character is a `<text>` of its own, since some viewers
(librsvg) heed only the first x. Frames are drawn as lines, so that they join from row to row in any
font. Output is deterministic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from xml.sax.saxutils import escape

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from textual.strip import Strip

from tui import look

CELL_WIDTH, LINE_HEIGHT, FONT_SIZE, MARGIN = 8.43, 18, 14, 8
"""A cell is as wide as DejaVu Sans Mono's advance at that size (1233 of 2048 units)."""
FONT = "'DejaVu Sans Mono','Noto Sans Mono CJK SC','Noto Sans CJK SC',monospace"
_ARMS = {
    "│": "ud", "─": "lr", "┌": "rd", "┐": "ld", "└": "ru", "┘": "lu", "╭": "rd", "╮": "ld",
    "╰": "ru", "╯": "lu", "├": "udr", "┤": "udl", "┬": "lrd", "┴": "lru", "┼": "lrud",
}  # fmt: skip
"""Where the lines of a box drawing character lead from its cell's middle: up, down, left, right."""
_THEME = TerminalTheme(
    (22, 24, 29), (214, 217, 222),
    [(0, 0, 0), (213, 94, 0), (0, 158, 115), (230, 159, 0), (0, 114, 178), (204, 121, 167),
     (86, 180, 233), (214, 217, 222)],
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Paper:
    """The colours of what has none of its own, hexadecimal."""

    ink: str
    ground: str


COLOURED = Paper(look.INK, look.GROUND)
GREY = Paper("#d9d9d9", "#181818")
"""The same two as Textual's monochrome filter makes them, for pictures without colours."""


def strips_svg(
    strips: Sequence[Strip], columns: int, title: str = "", paper: Paper = COLOURED
) -> str:
    """Rows of cells as an SVG picture, `columns` cells wide."""
    width = columns * CELL_WIDTH + 2 * MARGIN
    height = len(strips) * LINE_HEIGHT + 2 * MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.1f} {height}" '
        f'width="{width:.1f}" height="{height}" font-family="{FONT}" font-size="{FONT_SIZE}">'
    )
    parts = [head]
    if title:
        parts.append(f"<title>{escape(title)}</title>")
    parts.append(f'<rect width="100%" height="100%" rx="6" fill="{paper.ground}"/>')
    texts: list[str] = []
    for y, strip in enumerate(strips):
        column = 0
        for segment in strip:
            cells = cell_len(segment.text)
            ink, ground = _colours(segment.style or Style.null(), paper)
            if ground != paper.ground:
                parts.append(_box(column, y, cells, ground))
            texts += _texts(segment, column, y, ink)
            column += cells
    return "\n".join([*parts, *texts, "</svg>"]) + "\n"


def _colours(style: Style, paper: Paper) -> tuple[str, str]:
    """Ink and ground as hexadecimal colours."""
    ink, ground = paper.ink, paper.ground
    if style.color is not None and not style.color.is_default:
        ink = style.color.get_truecolor(_THEME).hex
    if style.bgcolor is not None and not style.bgcolor.is_default:
        ground = style.bgcolor.get_truecolor(_THEME, foreground=False).hex
    return (ground, ink) if style.reverse else (ink, ground)


def _box(column: int, row: int, cells: int, colour: str) -> str:
    x, y = MARGIN + column * CELL_WIDTH, MARGIN + row * LINE_HEIGHT
    return (
        f'<rect x="{x:.1f}" y="{y}" width="{cells * CELL_WIDTH:.1f}" height="{LINE_HEIGHT}" '
        f'fill="{colour}" shape-rendering="crispEdges"/>'
    )


def _texts(segment: Segment, column: int, row: int, ink: str) -> Iterator[str]:
    """The words of a segment, each character with its x; blanks are left out."""
    style = segment.style or Style.null()
    lines = "".join(_lines(segment.text, column, row))
    if lines:
        yield f'<path d="{lines}" stroke="{ink}" fill="none"/>'
    weight = ' font-weight="bold"' if style.bold else ""
    weight += ' text-decoration="underline"' if style.underline else ""
    y = MARGIN + row * LINE_HEIGHT + FONT_SIZE
    for start, word in _words(segment.text, column):
        places = " ".join(
            f"{MARGIN + (start + place) * CELL_WIDTH:.1f}" for place in range(cell_len(word))
        )
        if cell_len(word[0]) == 2:
            places = places.split()[0]
        yield f'<text x="{places}" y="{y}" fill="{ink}"{weight}>{escape(word)}</text>'


def _lines(text: str, column: int, row: int) -> Iterator[str]:
    """The path commands of a text's box drawing characters, a run of `─` as one line."""
    middle = MARGIN + (row + 0.5) * LINE_HEIGHT
    for arms, characters in groupby(text, lambda character: _ARMS.get(character, "")):
        run = "".join(characters)
        cells = cell_len(run)
        left, right = (MARGIN + place * CELL_WIDTH for place in (column, column + cells))
        column += cells
        if arms == "lr":
            yield f"M{left:.1f} {middle}H{right:.1f}"
        elif arms:
            yield from (_cross(arms, left + place * CELL_WIDTH, middle) for place in range(cells))


def _cross(arms: str, left: float, middle: float) -> str:
    """The lines of one character whose cell begins at `left`."""
    x, half, tall = left + CELL_WIDTH / 2, CELL_WIDTH / 2, LINE_HEIGHT / 2
    steps = {"u": f"v{-tall}", "d": f"v{tall}", "l": f"h{-half:.1f}", "r": f"h{half:.1f}"}
    return "".join(f"M{x:.1f} {middle}{steps[arm]}" for arm in arms)


def _words(text: str, column: int) -> Iterator[tuple[int, str]]:
    """(column, characters) of every run of narrow characters, and of every wide one alone."""
    start, word = column, ""
    for character in text:
        cells = cell_len(character)
        is_blank = character == " " or character in _ARMS
        if word and (is_blank or cells == 2 or cell_len(word[0]) == 2) and cells:
            yield start, word
            word = ""
        if not is_blank and (cells or word):
            start = start if word else column
            word += character
        column += cells
    if word:
        yield start, word
