"""The stages of a compilation as lines, with their size and the milliseconds that they took."""

from __future__ import annotations

from compiler.compilation import Compilation, Stage
from tui import look
from tui.cells import fitted, right, width
from tui.widgets.panel import Line

ROOM_FOR_NUMBERS = 20
"""Cells from which on the numbers stand beside the names."""


def stage_lines(compilation: Compilation, active: Stage, other: Stage, cells: int) -> list[Line]:
    """A line per stage, the two that are shown marked, and the whole time."""
    lines: list[Line] = []
    for stage in Stage:
        mark = "▸" if stage is active else "›" if stage is other else " "
        milliseconds = compilation.seconds.get(stage, 0.0) * 1000
        size = len(compilation.documents[stage].lines)
        tail = right(str(size), 5) + right(f"{milliseconds:.0f}ms", 7)
        tail = tail if cells >= ROOM_FOR_NUMBERS else ""
        name = fitted(stage.value, cells - 1 - width(tail))
        lines.append([(f"{mark}{name}{tail}", look.ROW if mark != " " else look.PLAIN)])
    total = sum(compilation.seconds.values()) * 1000
    lines.append([(right(f"{total:.0f}ms", cells), look.DIM)])
    return lines
