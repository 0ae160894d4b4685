"""Charging every retire slot of a CPU once: to useful work, or to what held up the oldest row.

While slots go unused, the oldest instruction that has not retired is the one to ask. Its life is
cut into stretches, each with a cause: before its fetch, before dispatch, waiting for operands,
waiting for a port, executing, and complete but not retired. Executing is charged to what made it
late: to a cache miss beyond the hit latency, else to what it last waited for. When it waited for
nothing (or, in order, only behind older instructions), executing is data that others wait for or,
when nobody does, its own latency; the cycles that every instruction needs are then charged to what
made it enter late. Waiting behind an older instruction is charged to what held up that one.
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
_LATENCY = Stall.LATENCY.code
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
    row, cause, count = _stretches(columns, micro_ops, first_micro_op, tables, static, lost)
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


def _is_awaited(micro_ops: MicroOpRows, rows: int) -> NDArray[np.bool_]:
    """For each row whether a micro-op of another waited for its result."""
    waits = (micro_ops.wait == Stall.DATA.code) & (micro_ops.producer >= 0)
    producer = micro_ops.row[micro_ops.producer[waits]]
    found = np.zeros(rows, np.bool_)
    found[producer[producer != micro_ops.row[waits]]] = True
    return found


def _holds(micro_ops: MicroOpRows) -> Integers:
    """Causes of not issuing when ready; who waited behind another waited for the same as it."""
    is_behind = micro_ops.hold == Stall.ISSUE_ORDER.code
    root = np.maximum.accumulate(np.where(is_behind, 0, np.arange(len(micro_ops))))
    cause = np.where(micro_ops.hold[root] > 0, micro_ops.hold[root], micro_ops.wait[root])
    return np.where(is_behind & (cause > 0), cause, micro_ops.hold)


Pieces = list[tuple[Integers, Integers, Integers]]
"""Stretches of all rows in `_Lost`: first cycle, first cycle after, cause."""


def _stretches(
    columns: Columns,
    micro_ops: MicroOpRows,
    first_micro_op: Column,
    tables: MachineTables,
    static: Column,
    lost: _Lost,
) -> tuple[Integers, Integers, Integers]:
    """(row, cause, slots) of every stretch in which slots were lost."""
    rows = lost.rows
    fetch, dispatch = columns.fetch[rows], columns.dispatch[rows]
    fetch_cause = columns.fetch_cause[_group_leaders(columns.fetch)[rows]]
    leader_cause = columns.dispatch_cause[_group_leaders(columns.dispatch)[rows]]
    late = np.where((dispatch > fetch + 1) & (leader_cause > 0), leader_cause, fetch_cause)
    latency = np.where(_is_awaited(micro_ops, len(static))[rows], Stall.DATA.code, _LATENCY)
    life = _Life(micro_ops, tables, _holds(micro_ops), late, latency, dispatch, 0 * late)
    pieces: Pieces = [(0 * fetch, fetch, fetch_cause), (fetch, dispatch, late)]
    for uops in _chain(micro_ops, _critical(micro_ops, first_micro_op, rows)):
        pieces += life.pass_through(uops, dispatch)
    pieces.append((life.cursor, life.cursor + 1, np.where(life.own > 0, life.own, late)))
    retire_width = np.full(len(rows), Stall.RETIRE_WIDTH.code)
    pieces.append((life.cursor + 1, lost.end, retire_width))
    found = [(rows, cause, lost.slots(low, high)) for low, high, cause in pieces]
    row, cause, slots = (np.concatenate(parts) for parts in zip(*found))
    kept = slots > 0
    return row[kept], cause[kept], slots[kept]


def _chain(micro_ops: MicroOpRows, uops: Integers) -> list[Integers]:
    """The micro-ops of each row that lead to `uops`, first ones first; -1 where there are fewer."""
    levels = [uops]
    while True:
        last = levels[-1]
        producer = np.where(last >= 0, micro_ops.producer[last], -1)
        is_own = (producer >= 0) & (micro_ops.row[producer] == micro_ops.row[last])
        if not is_own.any():
            return levels[::-1]
        levels.append(np.where(is_own, producer, -1))


@dataclass(slots=True)
class _Life:
    """Walks along the micro-ops of each row: `cursor` is how far, `own` the last thing it waited
    for (0: nothing)."""

    micro_ops: MicroOpRows
    tables: MachineTables
    holds: Integers
    late: Integers
    latency: Integers
    cursor: Integers
    own: Integers

    def pass_through(self, uops: Integers, dispatch: Integers) -> Pieces:
        """The stretches of one micro-op of each row (-1: none): waiting, then executing."""
        m, is_here = self.micro_ops, uops >= 0
        ready, issue, complete = (
            np.where(is_here, column[uops], self.cursor)
            for column in (m.ready, m.issue, m.complete)
        )
        producer = m.producer[uops]
        is_inner = (producer >= 0) & (m.row[producer] == m.row[uops])
        has_waited = is_here & ~is_inner & (ready > dispatch + 1)
        waited = np.where(has_waited, m.wait[uops], np.where(self.own > 0, self.own, self.late))
        own = np.where(has_waited, waited, self.own)
        own = np.where(is_here & (issue > ready), m.hold[uops], own)
        own = np.where(own == Stall.ISSUE_ORDER.code, 0, own)
        run = np.where(is_here, m.run[uops], 0)
        own = np.where(np.isin(run, _WHOLE_RUN), run, own)
        usual = np.minimum(issue + self.tables.latency[m.static[uops]], complete)
        hit = np.where(run == Stall.CACHE_MISS.code, usual, complete)
        start, self.cursor = self.cursor, complete
        self.own = np.where(hit < complete, Stall.CACHE_MISS.code, own)
        begun = np.minimum(issue + 1, hit)
        return [
            (start, ready, waited),
            (ready, issue, self.holds[uops]),
            (issue, begun, np.where(own > 0, own, self.late)),
            (begun, hit, np.where(own > 0, own, self.latency)),
            (hit, complete, np.full(len(uops), Stall.CACHE_MISS.code)),
        ]
