"""Places in a run that one can go to or stop at: a row, a cycle, an instruction, a cause.

Written `#611` (the 611th executed instruction), `c412` (a cycle), `@12` or a label (an instruction
of the code), or the name of a cause such as `cache-miss`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum

import numpy as np

from isas.errors import InputError
from isas.program import Program
from vm.stalls import STALLS, Stall
from vm.timeline import Timeline


class GoalKind(Enum):
    """What a goal names."""

    ROW = "row"
    CYCLE = "cycle"
    INSTRUCTION = "instruction"
    CAUSE = "cause"


@dataclass(frozen=True, slots=True)
class Goal:
    """`number` is a row, a cycle, or an instruction's index in program number `program` (-1: in
    every program); `stall` the cause of a CAUSE."""

    kind: GoalKind
    text: str
    number: int = 0
    program: int = -1
    stall: Stall | None = None

    def __str__(self) -> str:
        return self.text


def read_goal(text: str, programs: Sequence[Program]) -> Goal:
    """The goal that a text names. Raises InputError saying what can be written."""
    found = text.strip()
    for prefix, kind in (("#", GoalKind.ROW), ("c", GoalKind.CYCLE), ("@", GoalKind.INSTRUCTION)):
        digits = found.removeprefix(prefix)
        if found.startswith(prefix) and _is_number(digits):
            return Goal(kind, found, int(digits))
    if _is_number(found):
        return Goal(GoalKind.ROW, f"#{found}", int(found))
    for number, program in enumerate(programs):
        for label, place in program.labels.items():
            if found.lstrip(".").removeprefix("L") in (label, label.removeprefix("L")):
                return Goal(GoalKind.INSTRUCTION, label, place, number)
    for stall in STALLS[1:]:
        if found == stall.value:
            return Goal(GoalKind.CAUSE, found, stall=stall)
    raise _unknown(found)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


def _unknown(text: str) -> InputError:
    names = [stall.value for stall in STALLS[1:]]
    near = get_close_matches(text, names, 1)
    hint = f"did you mean {near[0]}?" if near else (
        "write #611 for a row, c412 for a cycle, @12 or a label for an instruction, "
        "or a cause such as cache-miss"
    )  # fmt: skip
    return InputError(f"'{text}' is no place in this run", hint=hint)


def next_place(timeline: Timeline, goal: Goal, row: int, cycle: int) -> tuple[int, int] | None:
    """Row and cycle of the first place after `row` and `cycle` that fits; None when there is none
    left. Places follow each other in time, those of one cycle by row, so that going from goal to
    goal never comes back."""
    if not len(timeline):
        return None
    rows, cycles = _places(timeline, goal)
    later = (cycles > cycle) | ((cycles == cycle) & (rows > row))
    if not later.any():
        return None
    rows, cycles = rows[later], cycles[later]
    first = int(np.argmin(cycles * (len(timeline) + 1) + rows))
    return int(rows[first]), int(cycles[first])


def find(timeline: Timeline, goal: Goal, row: int) -> tuple[int, int] | None:
    """Where to go: the goal's next place in a row after `row`, else the first one in the whole run;
    None when there is none."""
    if not len(timeline):
        return None
    rows, cycles = _places(timeline, goal)
    if not len(rows):
        return None
    place = int(np.searchsorted(rows, row, side="right")) % len(rows)
    return int(rows[place]), int(cycles[place])


def _places(timeline: Timeline, goal: Goal) -> tuple[np.ndarray, np.ndarray]:
    """All rows that fit, ascending, and the cycle in which each is the goal: that in which a cause
    holds, else the first cycle of the row."""
    if goal.kind is GoalKind.CYCLE:
        row, cycle = row_at(timeline, min(goal.number, timeline.cycles))
        return np.array([row], np.int64), np.array([cycle], np.int64)
    rows = rows_of(timeline, goal)
    first = timeline.dispatch if timeline.simt is not None else timeline.fetch
    cycles = first.astype(np.int64)
    if goal.kind is GoalKind.CAUSE and goal.stall is not None:
        _hold_in(timeline, goal.stall.code, cycles)
    return rows, cycles[rows]


def _hold_in(timeline: Timeline, code: int, cycles: np.ndarray) -> None:
    """Puts the cycle in which the cause holds in place of a row's first one: while its first
    micro-op concerned waits for data, else is held up, else executes; else before dispatch."""
    uops = timeline.micro_ops
    is_late = timeline.dispatch_cause == code
    cycles[is_late] = timeline.dispatch[is_late] - 1
    waits = (uops.wait == code) & (uops.ready > timeline.dispatch[uops.row] + 1)
    held, runs = uops.hold == code, uops.run == code
    within = np.where(waits, uops.ready - 1, np.where(held, uops.issue - 1, uops.complete))
    concerned = np.flatnonzero(waits | held | runs)[::-1]
    cycles[uops.row[concerned]] = within[concerned]


def rows_of(timeline: Timeline, goal: Goal) -> np.ndarray:
    """All rows that fit, ascending."""
    stream = timeline.stream
    if goal.kind is GoalKind.ROW:
        return np.array([min(goal.number, max(0, len(timeline) - 1))], np.int64)
    if goal.kind is GoalKind.CAUSE and goal.stall is not None:
        return timeline.rows_stalled(goal.stall)
    fits = stream.static == goal.number
    if goal.program >= 0:
        fits &= stream.program == goal.program
    return np.flatnonzero(fits)


def row_at(timeline: Timeline, cycle: int) -> tuple[int, int]:
    """The oldest row that is still in the pipeline in `cycle`."""
    if timeline.simt is not None:
        begun = np.flatnonzero(timeline.dispatch <= cycle)
        last = int(begun[np.argmax(timeline.dispatch[begun])]) if len(begun) else 0
        return last, cycle
    row = int(np.searchsorted(timeline.retire, cycle, side="left"))
    return min(row, max(0, len(timeline) - 1)), cycle
