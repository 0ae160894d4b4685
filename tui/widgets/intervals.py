"""Live intervals as bars over positions, with the pressure on top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType

from compiler.allocate.result import IntervalRow
from tui import look
from tui.cells import fitted, right
from tui.scan import ScanState
from tui.widgets.sheet import Codes, Sheet

_SHAPES = " ╺━╸─·"
_SPILLED = " ╺╍╸┄·"
_LEVELS = " ▁▂▃▄▅▆▇█▲"
_PRESSURE = 4 * len(_SHAPES)


class Intervals(Sheet, inherit_bindings=False):
    """Rows are the round's intervals of one class; the pressure stands above them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "go(-1,0)", "one row up", show=False),
        Binding("down", "go(1,0)", "interval", key_display="↑/↓"),
        Binding("shift+left", "go(0,-10)", "ten positions back", show=False),
        Binding("shift+right", "go(0,10)", "ten positions on", show=False),
        Binding("pageup", "page(-1)", "one page up", show=False),
        Binding("pagedown", "page(1)", "one page down", show=False),
    ]
    headers: ClassVar[int] = 2
    glyphs: ClassVar[str] = _SHAPES * 3 + _SPILLED + _LEVELS
    styles_of: ClassVar[Sequence[Style]] = (
        *([look.DIM] * 6),
        *[*([Style(color=look.SKY, bgcolor=look.GROUND, bold=True)] * 5), look.DIM],
        *[*([Style(color=look.GREEN, bgcolor=look.GROUND)] * 5), look.DIM],
        *[*([look.WARNING] * 5), look.DIM],
        *([Style(color=look.YELLOW, bgcolor=look.GROUND)] * 9),
        look.WARNING,
    )

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id)
        self.state: ScanState | None = None
        self.pressure: tuple[int, ...] = ()
        self.limit = 0
        self.title = ""
        self.label_width = 17

    def show(self, state: ScanState, pressure: tuple[int, ...], limit: int) -> None:
        """Another state of the walk; the cursor goes to the step's interval."""
        is_same = self.state is not None and self.state.rows == state.rows
        self.state, self.pressure, self.limit = state, pressure, limit
        if not is_same:
            self.resize(len(state.rows), state.round.positions)
        self.forget()
        place = next((i for i, row in enumerate(state.rows) if row.name == state.step.subject), 0)
        self.go_to(place, state.step.start)

    def cells(self, first_row: int, rows: int, first_column: int, columns: int) -> Codes:
        grid = np.zeros((max(0, rows), columns), np.uint8)
        state = self.state
        if state is None:
            return grid
        for line in range(rows):
            place = first_row + line
            if place < len(state.rows):
                row = state.rows[place]
                base = len(_SHAPES) * int(state.standing[row.name])
                grid[line] = base + _bar(row, first_column, columns)
        return grid

    def _pressure(self, first: int, columns: int) -> Codes:
        levels = np.zeros(columns, np.int64)
        known = np.array(self.pressure[first : first + columns], np.int64)
        levels[: len(known)] = known
        scaled = np.ceil(levels * 8 / max(1, self.limit)).astype(np.int64)
        codes = np.where(levels > self.limit, 9, np.minimum(scaled, 8))
        return (codes + _PRESSURE).astype(np.uint8)

    def header(self, y: int, x: int, width: int) -> list[Segment]:
        """The pressure at every position; what is above the limit is a triangle."""
        column = min(self.column, len(self.pressure) - 1)
        now = self.pressure[column] if column >= 0 else 0
        text = f" {self.title} {now}/{self.limit}" if self.pressure else ""
        head = Segment(fitted(text, self.label_width - 1) + " ", look.STRONG)
        return [head, *self._line(self._pressure(x, width), -1, x)]

    def label(self, row: int) -> str:
        state = self.state
        if state is None:
            return ""
        interval = state.rows[row]
        mark = "▸" if interval.name == state.step.subject else " "
        sign = " ●✓↓"[int(state.standing[interval.name])]
        return f"{mark}{fitted(interval.name, 6)}{sign} {right(state.place[interval.name], 7)}"

    def nearest_column(self, row: int, column: int) -> int:
        if self.state is None or not 0 <= row < len(self.state.rows):
            return column
        interval = self.state.rows[row]
        return min(max(column, interval.start), interval.end)

    @property
    def interval(self) -> IntervalRow | None:
        """The interval under the cursor."""
        if self.state is None or not 0 <= self.row < len(self.state.rows):
            return None
        return self.state.rows[self.row]


def _bar(row: IntervalRow, first: int, columns: int) -> Codes:
    """1 start, 2 alive, 3 end, 4 a hole; outside 0, and 5 at every tenth position."""
    line = np.zeros(columns, np.uint8)
    line[-first % 10 :: 10] = 5

    def fill(start: int, end: int, code: int) -> None:
        low, high = max(start - first, 0), end - first
        if high > low:
            line[low:high] = code

    fill(row.start, row.end, 4)
    for start, end in row.segments:
        fill(start, end, 2)
    fill(row.start, row.start + 1, 1)
    fill(row.end - 1, row.end, 3)
    return line
