"""A sheet: rows by columns of one-character cells, of any size; only what is seen is drawn.

A row of column numbers stays at the top and a gutter of row labels at the left. A subclass gives
the cells of any rectangle as an array of codes, and the labels. Moving the cursor scrolls.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui import look
from tui.cells import fitted
from tui.messages import Moved

Codes = NDArray[np.uint8]
MARGIN = 4
"""Columns kept in sight beside the cursor."""
ROWS_ABOVE = 2
"""Rows kept in sight above and below it."""


class Sheet(ScrollView, can_focus=True, inherit_bindings=False):
    """The view. `rows` and `columns` are the size, `row` and `column` the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "go(0,-1)", "cycle", key_display="←/→"),
        Binding("right", "go(0,1)", "one cycle on", show=False),
        Binding("up", "go(-1,0)", "one row up", show=False),
        Binding("down", "go(1,0)", "row", key_display="↑/↓"),
        Binding("shift+left", "go(0,-10)", "ten cycles back", show=False),
        Binding("shift+right", "go(0,10)", "ten cycles on", show=False),
        Binding("pageup", "page(-1)", "one page up", show=False),
        Binding("pagedown", "page(1)", "one page down", show=False),
        Binding("home", "first", "to the first row", show=False),
        Binding("end", "last", "to the last row", show=False),
    ]
    glyphs: ClassVar[str] = " "
    styles_of: ClassVar[Sequence[Style]] = (look.PLAIN,)
    headers: ClassVar[int] = 1

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows = 0
        self.columns = 0
        self.row = 0
        self.column = 0
        self.label_width = 20
        self._seen: tuple[tuple[int, int, int, int], Codes] | None = None

    # What subclasses give

    def cells(self, first_row: int, rows: int, first_column: int, columns: int) -> Codes:
        """The codes of a rectangle, [rows, columns]."""
        return np.zeros((rows, columns), np.uint8)

    def label(self, row: int) -> str:
        """What stands in the gutter."""
        return str(row)

    def label_style(self, row: int) -> Style:
        """How it looks."""
        return look.ROW if row == self.row else look.PLAIN

    def marks(self, row: int) -> Sequence[tuple[int, Style]]:
        """Columns of a row that look different, with their style."""
        return ()

    def nearest_column(self, row: int, column: int) -> int:
        """Where the cursor goes when it enters a row at `column`."""
        return column

    def header(self, y: int, x: int, width: int) -> list[Segment]:
        """The sticky line `y` below the column numbers, if there are any."""
        return []

    def heading(self) -> str:
        """What stands above the gutter."""
        return ""

    # Size and cursor

    def resize(self, rows: int, columns: int) -> None:
        """Another size; the cursor stays within it."""
        self.rows, self.columns, self._seen = rows, columns, None
        self.virtual_size = Size(columns + self.label_width, rows + self.headers)
        self.row = max(0, min(self.row, rows - 1))
        self.column = max(0, min(self.column, columns - 1))
        self.refresh()

    @property
    def room(self) -> tuple[int, int]:
        """Rows and columns of cells in sight."""
        size = self.scrollable_content_region.size
        return max(1, size.height - self.headers), max(1, size.width - self.label_width)

    def go_to(self, row: int, column: int) -> None:
        """Moves the cursor, and the view when the cursor would leave it."""
        self.row = max(0, min(row, self.rows - 1))
        self.column = max(0, min(column, self.columns - 1))
        self._bring_into_view()
        self.refresh()
        self.post_message(Moved(self.row, self.column))

    def _bring_into_view(self) -> None:
        height, width = self.room
        left, top = int(self.scroll_offset.x), int(self.scroll_offset.y)
        x, y = left, top
        margin = min(MARGIN, width // 3)
        if not left + margin <= self.column < left + width - margin:
            x = max(0, self.column - width // 3)
        above = min(ROWS_ABOVE, (height - 1) // 3)
        if not top + above <= self.row < top + height - above:
            near = abs(self.row - top) <= 2 * height
            y = self.row - above if self.row < top + above else self.row - height + 1 + above
            y = max(0, y if near else self.row - height // 3)
        if (x, y) != (left, top):
            self.scroll_to(x, y, animate=False, force=True, immediate=True)

    def action_go(self, rows: int, columns: int) -> None:
        row = max(0, min(self.row + rows, self.rows - 1))
        column = self.column + columns
        self.go_to(row, self.nearest_column(row, column) if rows else column)

    def action_page(self, direction: int) -> None:
        row = max(0, min(self.row + direction * (self.room[0] - 1), self.rows - 1))
        self.go_to(row, self.nearest_column(row, self.column))

    def action_first(self) -> None:
        self.go_to(0, self.nearest_column(0, 0))

    def action_last(self) -> None:
        self.go_to(self.rows - 1, self.nearest_column(self.rows - 1, self.columns - 1))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None or offset.y < self.headers:
            return
        row = int(self.scroll_offset.y) + offset.y - self.headers
        column = int(self.scroll_offset.x) + offset.x - self.label_width
        self.go_to(row, column if offset.x >= self.label_width else self.column)

    # Drawing

    def render_line(self, y: int) -> Strip:
        x, top = int(self.scroll_offset.x), int(self.scroll_offset.y)
        height, width = self.room
        total = self.label_width + width
        if y == 0:
            return Strip([*self._ruler(x, width)], total)
        if y < self.headers:
            return Strip(self.header(y, x, width), total)
        row = top + y - self.headers
        codes = self._window(top, height, x, width)
        if not top <= row < top + len(codes):
            return Strip([Segment(" " * total, look.PLAIN)], total)
        line = codes[row - top]
        label = fitted(self.label(row), self.label_width - 1) + " "
        return Strip([Segment(label, self.label_style(row)), *self._line(line, row, x)], total)

    def _window(self, top: int, height: int, x: int, width: int) -> Codes:
        key = (top, height, x, width)
        if self._seen is None or self._seen[0] != key:
            self._seen = (key, self.cells(top, max(0, min(height, self.rows - top)), x, width))
        return self._seen[1]

    def forget(self) -> None:
        """Draws everything anew: the cells have changed."""
        self._seen = None
        self.refresh()

    def _line(self, codes: Codes, row: int, x: int) -> list[Segment]:
        special = {column - x: style for column, style in self.marks(row)}
        if row == self.row:
            special[self.column - x] = look.CURSOR
        cuts = {0, len(codes), *(np.flatnonzero(np.diff(codes)) + 1).tolist()}
        for place in special:
            if 0 <= place < len(codes):
                cuts.update((place, place + 1))
        edges = sorted(cuts)
        return [
            self._run(int(codes[start]), end - start, special.get(start))
            for start, end in pairwise(edges)
        ]

    def _run(self, code: int, length: int, style: Style | None) -> Segment:
        glyph = self.glyphs[code]
        if style is not None and glyph == " ":
            glyph = "·"
        return Segment(glyph * length, style or self.styles_of[code])

    def _ruler(self, x: int, width: int) -> list[Segment]:
        text = [" "] * width
        for column in range(-(-x // 10) * 10, x + width, 10):
            digits = str(column)
            if column - x + len(digits) <= width:
                text[column - x : column - x + len(digits)] = digits
        place = self.column - x
        line = "".join(text)
        head = Segment(fitted(self.heading(), self.label_width - 1) + " ", look.DIM)
        if not 0 <= place < width:
            return [head, Segment(line, look.DIM)]
        return [
            head,
            Segment(line[:place], look.DIM),
            Segment("▼", look.STRONG),
            Segment(line[place + 1 :], look.DIM),
        ]
