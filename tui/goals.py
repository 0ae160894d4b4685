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
    left. A row or cycle that lies before counts only when it is asked for by `find`."""
    if not len(timeline):
        return None
    if goal.kind is GoalKind.CYCLE:
        return row_at(timeline, goal.number) if goal.number > cycle else None
    rows = rows_of(timeline, goal)
    later = rows[rows > row]
    return _entry(timeline, goal, int(later[0])) if len(later) else None


def find(timeline: Timeline, goal: Goal, row: int) -> tuple[int, int] | None:
    """Where to go: the next place of the goal after `row`, else the first one in the whole run;
    None when there is none."""
    if not len(timeline):
        return None
    if goal.kind is GoalKind.CYCLE:
        return row_at(timeline, min(goal.number, timeline.cycles))
    rows = rows_of(timeline, goal)
    if not len(rows):
        return None
    later = rows[rows > row]
    return _entry(timeline, goal, int(later[0] if len(later) else rows[0]))


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


def _entry(timeline: Timeline, goal: Goal, row: int) -> tuple[int, int]:
    """For a cause the cycle in which it holds; else the first cycle of the row."""
    first = timeline.dispatch if timeline.simt is not None else timeline.fetch
    if goal.kind is not GoalKind.CAUSE or goal.stall is None:
        return row, int(first[row])
    uops, code = timeline.micro_ops, goal.stall.code
    for u in timeline.micro_op_range(row):
        if uops.wait[u] == code and uops.ready[u] > timeline.dispatch[row] + 1:
            return row, int(uops.ready[u]) - 1
        if uops.hold[u] == code:
            return row, int(uops.issue[u]) - 1
        if uops.run[u] == code:
            return row, int(uops.complete[u])
    if timeline.dispatch_cause[row] == code:
        return row, int(timeline.dispatch[row]) - 1
    return row, int(first[row])
