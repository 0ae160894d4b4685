"""Warps by cycles: what every warp of a SIMT run did in each cycle.

A warp's state is that of its current instruction: from the cycle in which it becomes the warp's
next one until the following one does. Rows of the picture are the warps of all launches, in order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vm.diagram import Stages, window
from vm.timeline import Timeline

Integers = NDArray[np.int64]


class WarpRows:
    """The executed instructions of each warp, in order. `launch` and `warp` name each picture row;
    `first[i]` to `first[i + 1]` are its places in `order`, which holds the timeline's rows."""

    def __init__(self, timeline: Timeline) -> None:
        stream = timeline.stream
        rows = np.arange(len(stream))
        self.timeline = timeline
        self.order: Integers = np.lexsort((rows, stream.warp, stream.launch))
        key = stream.launch.astype(np.int64) << 32 | stream.warp.astype(np.int64)
        names, first = np.unique(key[self.order], return_index=True)
        self.launch: Integers = names >> 32
        self.warp: Integers = names & 0xFFFFFFFF
        self.first: Integers = np.append(first, len(rows)).astype(np.int64)

    def __len__(self) -> int:
        return len(self.warp)

    def rows_of(self, index: int) -> Integers:
        """The timeline's rows of picture row `index`, in order."""
        return self.order[self.first[index] : self.first[index + 1]]

    def index_of(self, row: int) -> int:
        """The picture row in which the timeline's row `row` is."""
        stream = self.timeline.stream
        same = (self.launch == stream.launch[row]) & (self.warp == stream.warp[row])
        return int(np.flatnonzero(same)[0])

    def current(self, index: int, cycle: int) -> int:
        """The timeline's row that is the warp's current instruction in `cycle`; the first one
        before the warp has begun."""
        rows = self.rows_of(index)
        place = np.searchsorted(self.timeline.dispatch[rows], cycle, side="right") - 1
        return int(rows[max(0, int(place))])

    def window(self, first_row: int, rows: int, first_cycle: int, columns: int) -> Stages:
        """The stages [rows, columns] of warps and cycles; beyond them ABSENT."""
        grid = np.zeros((rows, columns), np.uint8)
        for line in range(max(0, min(rows, len(self) - first_row))):
            self._paint(grid[line], first_row + line, first_cycle)
        return grid

    def _paint(self, line: Stages, index: int, origin: int) -> None:
        rows = self.rows_of(index)
        begins = self.timeline.dispatch[rows]
        low = max(0, int(np.searchsorted(begins, origin, side="right")) - 1)
        high = int(np.searchsorted(begins, origin + len(line), side="left"))
        for place in range(low, high):
            row = int(rows[place])
            start = max(0, int(begins[place]) - origin)
            line[start:] = window(self.timeline, row, 1, origin + start, len(line) - start)[0]
