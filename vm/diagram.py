"""The pipeline diagram: rows are executed instructions, columns are cycles, a letter per stage.

`window` gives the stages of any rectangle of the timeline as an array (for screens), `diagram`
prints one as text. Two glyphs tell waiting for data (●) from waiting for a resource (○).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from isas.cores import Order
from isas.document import Document, Printer
from isas.program import Program, ProgramInstruction
from vm.timeline import Timeline


class Stage(IntEnum):
    """What an instruction does in a cycle. Numbers, because windows are arrays of them."""

    ABSENT = 0
    FETCH = 1
    DISPATCH = 2
    WAIT_DATA = 3
    WAIT_RESOURCE = 4
    ISSUE = 5
    EXECUTE = 6
    DONE = 7
    RETIRE = 8

    @property
    def letter(self) -> str:
        """The character that stands for the stage."""
        return STAGE_LETTERS[self]


STAGE_LETTERS = " FD●○IE-W"
"""The stages' characters by number: fetch, dispatch (in order: decode), waiting for data, waiting
for a resource, issue, execute, complete but not retired, retire (in order: write back)."""

Stages = NDArray[np.uint8]


def window(
    timeline: Timeline, first_row: int, rows: int, first_cycle: int, columns: int
) -> Stages:  # fmt: skip
    """The stages of `rows` rows in `columns` cycles, as `Stage` numbers [rows, columns].

    Rows and cycles beyond the run are ABSENT.
    """
    grid = np.zeros((rows, columns), np.uint8)
    for line in range(max(0, min(rows, len(timeline) - first_row))):
        _paint(grid[line], timeline, first_row + line, first_cycle)
    return grid


def _paint(line: Stages, timeline: Timeline, row: int, origin: int) -> None:
    """One row: waiting first, then what is stronger over it."""

    def fill(start: int, end: int, stage: Stage) -> None:
        low, high = max(int(start) - origin, 0), int(end) - origin
        if high > low:
            line[low:high] = stage

    fetch, dispatch = int(timeline.fetch[row]), int(timeline.dispatch[row])
    uops, places = timeline.micro_ops, timeline.micro_op_range(row)
    is_simt = timeline.order is Order.SIMT
    entered = dispatch if is_simt else dispatch + 1
    fill(fetch + 1, dispatch, Stage.WAIT_RESOURCE)
    complete = max(int(uops.complete[u]) for u in places)
    for u in places:
        fill(entered, uops.ready[u], Stage.WAIT_DATA)
    for u in places:
        fill(uops.ready[u], uops.issue[u], Stage.WAIT_RESOURCE)
    fill(complete + 1, timeline.retire[row], Stage.DONE)
    for u in places:
        fill(uops.issue[u] + 1, uops.complete[u] + 1, Stage.EXECUTE)
    for u in places:
        fill(uops.issue[u], uops.issue[u] + 1, Stage.ISSUE)
    if not is_simt:
        fill(fetch, fetch + 1, Stage.FETCH)
        fill(dispatch, dispatch + 1, Stage.DISPATCH)
        fill(timeline.retire[row], int(timeline.retire[row]) + 1, Stage.RETIRE)


def instruction_of(
    timeline: Timeline, programs: Sequence[Program], row: int
) -> ProgramInstruction:  # fmt: skip
    """The instruction that a row executed."""
    stream = timeline.stream
    return programs[int(stream.program[row])].instructions[int(stream.static[row])]


def row_label(timeline: Timeline, programs: Sequence[Program], row: int) -> str:
    """`#611 vmovups ymm2, [rdi]`, on SIMT with the warp: `#611 w3 add.f32 ...`."""
    warp = int(timeline.stream.warp[row])
    place = f"w{warp} " if warp >= 0 else ""
    instruction = instruction_of(timeline, programs, row)
    text = instruction.text or instruction.shape.mnemonic
    return f"#{row} {place}{text.rstrip(';')}"


def diagram(
    timeline: Timeline,
    programs: Sequence[Program],
    first_row: int = 0,
    rows: int = 16,
    first_cycle: int = 0,
    columns: int = 40,
) -> Document:
    """The rectangle as text: a line of cycle numbers, then one line per executed instruction."""
    last = min(first_row + rows, len(timeline))
    labels = [row_label(timeline, programs, row) for row in range(first_row, last)]
    width = max([len(label) for label in labels], default=0)
    printer = Printer("pipeline")
    printer.add(f"{'':{width}}  {_ruler(first_cycle, columns)}".rstrip())
    grid = window(timeline, first_row, len(labels), first_cycle, columns)
    for row, label in enumerate(labels, first_row):
        cells = "".join(STAGE_LETTERS[stage] for stage in grid[row - first_row])
        origin = instruction_of(timeline, programs, row).origin
        printer.add(
            f"{label:{width}}  {cells}".rstrip(), f"#{row}", (origin,) if origin else ()
        )  # fmt: skip
    return printer.finish()


def _ruler(first_cycle: int, columns: int) -> str:
    """Cycle numbers, left-aligned at every tenth cycle."""
    text = [" "] * columns
    for cycle in range(-(-first_cycle // 10) * 10, first_cycle + columns, 10):
        for place, digit in enumerate(str(cycle), cycle - first_cycle):
            if place < columns:
                text[place] = digit
    return "".join(text)
