"""Counters of a run up to a row or a cycle, quick for runs of millions of rows. No widgets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vm.stalls import STALLS, Stall
from vm.timeline import Timeline

_BLOCK = 4096
"""Charges between two sums that are kept."""


class Totals:
    """What one timeline adds up to; made once per run, in time proportional to its rows."""

    def __init__(self, timeline: Timeline) -> None:
        charges = timeline.charges
        known = charges.row >= 0
        cycles = timeline.retire[charges.row[known]]
        order = np.argsort(cycles, kind="stable")
        self.timeline = timeline
        self._cycle = cycles[order]
        self._cause = charges.cause[known][order]
        self._slots = charges.slots[known][order]
        self._sums = self._block_sums()
        self._retire = np.sort(timeline.retire)
        self.stalls: dict[Stall, float] = timeline.stalls()
        self._waiting: NDArray[np.int64] | None = None

    def _block_sums(self) -> NDArray[np.float64]:
        """[blocks + 1, causes]: slots by cause before each block of charges."""
        count, causes = -(-len(self._cycle) // _BLOCK), len(STALLS)
        key = np.arange(len(self._cycle)) // _BLOCK * causes + self._cause
        each = np.bincount(key, self._slots, count * causes).reshape(count, causes)
        return np.concatenate([np.zeros((1, causes)), np.cumsum(each, axis=0)])

    def lost_until(self, cycle: int) -> NDArray[np.float64]:
        """Cycles by cause code that are charged to what has retired by the end of `cycle`."""
        end = int(np.searchsorted(self._cycle, cycle, side="right"))
        block = end // _BLOCK
        rest = slice(block * _BLOCK, end)
        sums = self._sums[block] + np.bincount(self._cause[rest], self._slots[rest], len(STALLS))
        return np.asarray(sums / self.timeline.charges.slots_per_cycle, np.float64)

    def retired_until(self, cycle: int) -> int:
        """Instructions that have retired by the end of `cycle`."""
        return int(np.searchsorted(self._retire, cycle, side="right"))

    @property
    def waiting_rows(self) -> NDArray[np.int64]:
        """The rows that waited for data or for a resource, ascending."""
        if self._waiting is None:
            uops = self.timeline.micro_ops
            entered = self.timeline.dispatch[uops.row] + 1
            waits = (uops.wait > 0) & (uops.ready > entered) | (uops.hold > 0)
            is_waiting = np.zeros(len(self.timeline), np.bool_)
            is_waiting[uops.row[waits]] = True
            self._waiting = np.flatnonzero(is_waiting)
        return self._waiting
