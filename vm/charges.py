"""Charging every retire slot of a CPU once: to useful work, or to what held up the oldest row.

While slots go unused, the oldest instruction that has not retired is the one to ask. Its life is
cut into stretches, each with a cause: before its fetch, before dispatch, waiting for operands,
waiting for a port, executing, and complete but not retired. Executing is charged to what made it
late: to a cache miss beyond the hit latency, else to what it last waited for, and only when it
waited for nothing to its own latency. In that last case the cycles that every instruction needs are
charged to what made it enter late.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isas.tables import MachineTables
from vm.stalls import Stall
from vm.timeline import Causes, Charges, Column, MicroOpRows

Integers = NDArray[Any]
_WHOLE_RUN = (Stall.STORE_FORWARD.code, Stall.FORWARD_BLOCKED.code)


@dataclass(frozen=True, slots=True)
class Columns:
    """What charging needs of each row; causes are `Stall` codes, 0 where there was no delay."""

    fetch: Column
    dispatch: Column
    retire: Column
    fetch_cause: Causes
    dispatch_cause: Causes


@dataclass(frozen=True, slots=True)
class _Lost:
    """Rows before which slots were lost: cycles `start` to `end` - 1, `leftover` in the first."""

    rows: Integers
    start: Integers
    end: Integers
    leftover: Integers
    width: int

    def slots(self, low: Integers, high: Integers) -> Integers:
        """Lost slots in the cycles from `low` to `high` - 1."""
        a, b = np.maximum(low, self.start), np.minimum(high, self.end)
        has_first = (low <= self.start) & (self.start < high)
        whole = np.maximum(b - a, 0) * self.width
        return whole - np.where(has_first, self.width - self.leftover, 0)


def charge(
    columns: Columns,
    micro_ops: MicroOpRows,
    first_micro_op: Column,
    tables: MachineTables,
    static: Column,
    width: int,
) -> Charges:
    """The charges of a CPU run that retires `width` slots per cycle."""
    rows = len(static)
    if rows == 0:
        return Charges(_rows([]), np.zeros(0, np.int8), np.zeros(0), float(width))
    slots = np.minimum(tables.slots[static], width)
    lost, leftover_at_end = _lost(columns.retire, slots, width)
    row, cause, count = _stretches(columns, micro_ops, first_micro_op, tables, lost)
    last = np.array([rows - 1])
    return Charges(
        row=np.concatenate([np.arange(rows), row, last]).astype(np.int32),
        cause=np.concatenate([np.zeros(rows), cause, [Stall.END.code]]).astype(np.int8),
        slots=np.concatenate([slots, count, [leftover_at_end]]).astype(np.float64),
        slots_per_cycle=float(width),
    )


def _rows(values: list[int]) -> Column:
    return np.array(values, dtype=np.int32)


def _lost(retire: Column, slots: Integers, width: int) -> tuple[_Lost, int]:
    """The rows that made the machine wait, and the unused slots of the last cycle."""
    leader = np.flatnonzero(np.diff(retire, prepend=-1))  # first to retire in its cycle
    used = np.add.reduceat(slots, leader)
    start = np.concatenate([[0], retire[leader[:-1]]])
    leftover = np.concatenate([[width], width - used[:-1]])
    return _Lost(leader, start, retire[leader].astype(np.int64), leftover, width), width - used[-1]


def _critical(micro_ops: MicroOpRows, first_micro_op: Column, rows: Integers) -> Integers:
    """The micro-op of each row that completes last (the later one of equals)."""
    counts = np.diff(first_micro_op)
    most = int(counts.max())
    place = np.arange(len(micro_ops)) - np.repeat(first_micro_op[:-1], counts)
    key = micro_ops.complete.astype(np.int64) * most + place
    best = np.maximum.reduceat(key, first_micro_op[:-1]) % most
    return (first_micro_op[:-1] + best)[rows]


def _group_leaders(cycle: Column) -> Integers:
    """For each row the first row that has the same cycle (rows are in cycle order)."""
    starts = np.diff(cycle, prepend=-1) != 0
    return np.maximum.accumulate(np.where(starts, np.arange(len(cycle)), 0))


def _stretches(
    columns: Columns,
    micro_ops: MicroOpRows,
    first_micro_op: Column,
    tables: MachineTables,
    lost: _Lost,
) -> tuple[Integers, Integers, Integers]:
    """(row, cause, slots) of every stretch in which slots were lost."""
    rows = lost.rows
    uop = _critical(micro_ops, first_micro_op, rows)
    fetch, dispatch = columns.fetch[rows], columns.dispatch[rows]
    ready, issue = micro_ops.ready[uop], micro_ops.issue[uop]
    complete, run = micro_ops.complete[uop], micro_ops.run[uop]
    fetch_cause = columns.fetch_cause[_group_leaders(columns.fetch)[rows]]
    leader_cause = columns.dispatch_cause[_group_leaders(columns.dispatch)[rows]]
    late = np.where((dispatch > fetch + 1) & (leader_cause > 0), leader_cause, fetch_cause)
    waited = np.where(ready > dispatch + 1, micro_ops.wait[uop], late)
    own = np.where(issue > ready, micro_ops.hold[uop], np.where(ready > dispatch + 1, waited, 0))
    hit = np.where(
        run == Stall.CACHE_MISS.code,
        np.minimum(issue + tables.latency[micro_ops.static[uop]], complete),
        complete,
    )
    is_whole = np.isin(run, _WHOLE_RUN)
    inner = np.where(is_whole, run, np.where(own > 0, own, Stall.LATENCY.code))
    edge = np.where(is_whole, run, np.where(own > 0, own, late))
    pieces = [
        (0 * fetch, fetch, fetch_cause),
        (fetch, dispatch, late),
        (dispatch, ready, waited),
        (ready, issue, micro_ops.hold[uop]),
        (issue, np.minimum(issue + 1, hit), edge),
        (np.minimum(issue + 1, hit), hit, inner),
        (hit, complete + 1, np.where(hit < complete, Stall.CACHE_MISS.code, edge)),
        (complete + 1, lost.end, np.full(len(rows), Stall.RETIRE_WIDTH.code)),
    ]
    found = [(rows, cause, lost.slots(low, high)) for low, high, cause in pieces]
    row, cause, slots = (np.concatenate(parts) for parts in zip(*found))
    kept = slots > 0
    return row[kept], cause[kept], slots[kept]
