"""Warps by cycles: the state of every warp of a SIMT run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from rich.style import Style

from tui import look
from tui.widgets.sheet import Codes, Sheet
from vm.diagram import STAGE_LETTERS
from vm.warps import WarpRows


class WarpSheet(Sheet):
    """Rows are the warps of all launches."""

    glyphs: ClassVar[str] = STAGE_LETTERS
    styles_of: ClassVar[Sequence[Style]] = look.STAGES

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id)
        self.warps: WarpRows | None = None
        self.culprit: int | None = None
        self.label_width = 14

    def show(self, warps: WarpRows) -> None:
        """Another run."""
        self.warps, self.culprit = warps, None
        self.resize(len(warps), warps.timeline.cycles + 1)

    def clear(self) -> None:
        """No run."""
        self.warps, self.culprit = None, None
        self.resize(0, 0)

    def cells(self, first_row: int, rows: int, first_column: int, columns: int) -> Codes:
        if self.warps is None:
            return np.zeros((rows, columns), np.uint8)
        return self.warps.window(first_row, rows, first_column, columns)

    def label(self, row: int) -> str:
        if self.warps is None:
            return ""
        mark = "▸" if row == self.row else "◂" if row == self.culprit else " "
        facts = self.warps.timeline.simt
        where = ""
        if facts is not None:
            first = int(self.warps.rows_of(row)[0])
            where = f" sm{int(facts.sm[first])}"
        return f"{mark}{int(self.warps.launch[row])}.w{int(self.warps.warp[row])}{where}"

    def label_style(self, row: int) -> Style:
        return look.CULPRIT if row == self.culprit else super().label_style(row)
