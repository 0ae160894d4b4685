"""Draws the arena: offset upwards, time to the right, one box per array.

A box covers the steps in which its array is alive and the bytes it occupies. Rows are stretched or
shrunk: every distinct range of offsets gets at least one, large ones more, so that small arrays
can be seen; the bytes stand at the left.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from compiler.buffers.assign import Assignment
from compiler.buffers.liveness import Role, aligned
from compiler.buffers.places import Placement, Timeline
from compiler.buffers.regions import Region
from isas.document import Document, Printer
from isas.saying import Say, english

MOST_COLUMNS = 88
MOST_ROWS = 28
WIDEST_STEP = 14

MARKS = {
    Role.PARAMETER: "░",
    Role.OUTPUT: "▓",
    Role.TEMPORARY: "▒",
    Role.SCRATCH: "█",
    Role.CONSTANT: "·",
}


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of cells, ends not included, with its array."""

    left: int
    right: int
    bottom: int
    top: int
    placement: Placement


@dataclass(slots=True)
class Canvas:
    """Cells by row (from the bottom) and column."""

    rows: int
    columns: int
    cells: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cells = [[" "] * self.columns for _ in range(self.rows)]

    def fill(self, box: Box, mark: str) -> None:
        for row in range(box.bottom, box.top):
            for column in range(box.left, box.right):
                self.cells[row][column] = mark

    def write(self, box: Box, text: str) -> None:
        """Puts text in the middle row of a box, as much as fits."""
        room = box.right - box.left - 2
        if room < 1:
            return
        shown = text if len(text) <= room else text[: room - 1] + "…"
        row = self.cells[(box.bottom + box.top - 1) // 2]
        row[box.left + 1 : box.left + 1 + len(shown)] = list(shown)


def boxes(timeline: Timeline) -> tuple[list[Box], list[int], int]:
    """The boxes of all arrays, the offset at which each row starts, and the number of columns."""
    starts, heights = _rows(timeline.placements)
    bottoms = dict(zip(starts, _cumulated(heights)))
    steps = len(timeline.launches) + 2
    wide = max(1, min(WIDEST_STEP, MOST_COLUMNS // steps))
    columns = min(MOST_COLUMNS, steps * wide)
    overwritten = {(p.slice.offset, p.array.start) for p in timeline.placements}
    found = []
    for placement in timeline.placements:
        if not placement.slice.size_bytes:
            continue
        array, place = placement.array, placement.slice
        end = array.end + 1 - (array.start < array.end and (place.offset, array.end) in overwritten)
        left = (array.start + 1) * columns // steps
        right = max((end + 1) * columns // steps, left + 1)
        found.append(Box(left, right, bottoms[place.offset], bottoms[_end(placement)], placement))
    offsets = [s for s, height in zip(starts, heights) for _ in range(height)]
    return found, offsets, columns


def _rows(placements: Sequence[Placement]) -> tuple[list[int], list[int]]:
    """The borders between arrays, and the rows that each range between two of them gets."""
    edges = {p.slice.offset for p in placements} | {_end(p) for p in placements}
    starts = sorted(edges) or [0]
    total = max(starts[-1], 1)
    spare = max(0, MOST_ROWS - len(starts))
    sizes = [after - before for before, after in itertools.pairwise(starts)]
    return starts, [1 + size * spare // total for size in sizes] + [0]


def _cumulated(heights: Sequence[int]) -> list[int]:
    found = [0]
    for height in heights[:-1]:
        found.append(found[-1] + height)
    return found


def _end(placement: Placement) -> int:
    """Where the next array may begin."""
    return placement.slice.offset + aligned(placement.slice.size_bytes)


def draw(timeline: Timeline, say: Say = english) -> Document:
    """The arena in characters, the highest offset first, steps numbered below; `say` says the
    roles in the user's language."""
    printer = Printer("arena")
    found, offsets, columns = boxes(timeline)
    canvas = Canvas(len(offsets), columns)
    for box in sorted(found, key=lambda b: b.placement.array.start):
        canvas.fill(box, MARKS[box.placement.array.role])
    for box in found:
        canvas.write(box, box.placement.array.name)
    for row in range(len(offsets) - 1, -1, -1):
        first = row == 0 or offsets[row] != offsets[row - 1]
        label = f"{offsets[row]:>10} " if first else " " * 11
        printer.add(f"{label}│{''.join(canvas.cells[row])}│")
    printer.add(" " * 11 + "└" + _ruler(len(timeline.launches), columns) + "┘")
    printer.add(" " * 12 + _numbers(len(timeline.launches), columns))
    legend = (f"{MARKS[role]} {say(role.value)}" for role in _shown(timeline))
    printer.add(" " * 12 + "   ".join(legend))
    return printer.finish()


def heading(assignment: Assignment, region: Region, say: Say) -> str:
    """Which computation a loop or branch runs, and where that stands."""
    outer = assignment.regions.get(region.holder)
    steps = assignment.launches if outer is None else outer.launches
    return say(
        "{part} of {caller}, step {step} of {holder}: {computation}, {count} launches",
        part=say(region.part.value),
        caller=region.caller,
        step=steps.index(region.caller),
        holder=region.holder,
        computation=region.computation,
        count=len(region.launches),
    )


def _shown(timeline: Timeline) -> list[Role]:
    used = {p.array.role for p in timeline.placements}
    return [role for role in Role if role in used]


def _ruler(steps: int, columns: int) -> str:
    marks = ["─"] * columns
    for step in range(steps):
        marks[(step + 1) * columns // (steps + 2)] = "┴"
    return "".join(marks)


def _numbers(steps: int, columns: int) -> str:
    """The numbers of the steps under their first column, as many as there is room for."""
    row = [" "] * (columns + 8)
    free = 0
    for step in range(steps):
        place = (step + 1) * columns // (steps + 2)
        text = str(step)
        if place >= free:
            row[place : place + len(text)] = list(text)
            free = place + len(text) + 1
    return "".join(row).rstrip()
