"""The pipeline diagram: executed instructions by cycles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from rich.style import Style

from isas.program import Program
from tui import look
from tui.widgets.sheet import Codes, Sheet
from vm.diagram import STAGE_LETTERS, row_label, window
from vm.timeline import Timeline


class Pipeline(Sheet):
    """Rows are executed instructions. `culprit` is a row to point at, `breaks` rows with a mark."""

    glyphs: ClassVar[str] = STAGE_LETTERS
    styles_of: ClassVar[Sequence[Style]] = look.STAGES

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id)
        self.timeline: Timeline | None = None
        self.programs: tuple[Program, ...] = ()
        self.culprit: int | None = None
        self.title = "#"

    def show(self, timeline: Timeline, programs: tuple[Program, ...]) -> None:
        """Another run."""
        self.timeline, self.programs, self.culprit = timeline, programs, None
        self.fit()
        self.resize(len(timeline), timeline.cycles + 1)

    def clear(self) -> None:
        """No run."""
        self.timeline, self.programs, self.culprit = None, (), None
        self.resize(0, 0)

    def fit(self) -> None:
        """The gutter takes up to two fifths of the width."""
        self.label_width = max(24, min(46, self.size.width * 2 // 5))

    def on_resize(self) -> None:
        self.fit()
        if self.timeline is not None:
            self.resize(self.rows, self.columns)

    def cells(self, first_row: int, rows: int, first_column: int, columns: int) -> Codes:
        if self.timeline is None:
            return np.zeros((rows, columns), np.uint8)
        return window(self.timeline, first_row, rows, first_column, columns)

    def label(self, row: int) -> str:
        if self.timeline is None:
            return ""
        mark = "▸" if row == self.row else "◂" if row == self.culprit else " "
        return mark + row_label(self.timeline, self.programs, row)

    def label_style(self, row: int) -> Style:
        return look.CULPRIT if row == self.culprit else super().label_style(row)

    def heading(self) -> str:
        return self.title

    def nearest_column(self, row: int, column: int) -> int:
        """Within the instruction's life, so that there is something under the cursor."""
        if self.timeline is None or not 0 <= row < len(self.timeline):
            return column
        start, end = self.life(row)
        return min(max(column, start), end)

    def life(self, row: int) -> tuple[int, int]:
        """First and last cycle in which the instruction is in the pipeline."""
        if self.timeline is None:
            return 0, 0
        end = int(self.timeline.retire[row])
        if self.timeline.simt is not None:
            return int(self.timeline.dispatch[row]), max(int(self.timeline.complete_of(row)), end)
        return int(self.timeline.fetch[row]), end
