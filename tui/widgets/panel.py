"""A panel of finished lines: each a list of (text, style) pieces; what does not fit is cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from tui import look
from tui.cells import width, wrapped

Piece = tuple[str, Style]
Line = Sequence[Piece]


class Panel(Widget):
    """Shows lines from the top; `first` is the first one in sight."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lines: tuple[Line, ...] = ()
        self.first = 0

    def show(self, lines: Iterable[Line]) -> None:
        """Other lines."""
        self.lines = tuple(lines)
        self.first = 0
        self.refresh()

    def scroll_lines(self, count: int) -> None:
        """Moves the view by `count` lines, as far as there are any."""
        last = max(0, len(self.lines) - self.size.height)
        self.first = max(0, min(self.first + count, last))
        self.refresh()

    @property
    def text(self) -> str:
        """All lines as plain text."""
        return "\n".join("".join(piece for piece, _ in line) for line in self.lines)

    def render_line(self, y: int) -> Strip:
        place = self.first + y
        pieces = self.lines[place] if place < len(self.lines) else ()
        strip = Strip([Segment(text, style) for text, style in pieces if text])
        if strip.cell_length > self.size.width:
            cut = strip.crop(0, self.size.width - 1)
            strip = Strip([*cut, Segment("…", look.DIM)])
        return strip.adjust_cell_length(self.size.width, look.PLAIN)


def plain(text: str) -> Line:
    """A line in the ordinary style."""
    return [(text, look.PLAIN)]


def paragraphs(texts: Iterable[tuple[str, Style]], cells: int) -> list[Line]:
    """Wrapped paragraphs as lines."""
    return [[(line, style)] for text, style in texts for line in wrapped(text, max(8, cells))]


def beside(left: Piece, right_side: Piece, cells: int) -> Line:
    """Two pieces at both ends of a line."""
    gap = max(1, cells - width(left[0]) - width(right_side[0]))
    return [left, (" " * gap, look.PLAIN), right_side]
