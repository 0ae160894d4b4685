"""Why an instruction was where it was in a cycle: the cause, the culprit and the stretch, in words.

A `Reason` is a typed fact. Its English sentence comes from the cause's template (see `vm.stalls`);
translations use the same fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isas.cores import Order
from isas.program import Program
from vm.diagram import Stage, row_label, window
from vm.stalls import STALLS, Stall
from vm.timeline import Column, Timeline


@dataclass(frozen=True, slots=True)
class Reason:
    """Row `row` is in `stage` in the cycles `first` to `last`.

    `stall` is why it is not further (None: it moves on), `culprit` the row behind that (None: no
    one in particular), `what` the register waited for ("" when it is not one). The two texts name
    the instructions.
    """

    row: int
    stage: Stage
    first: int
    last: int
    stall: Stall | None
    culprit: int | None
    what: str
    text: str
    culprit_text: str

    def __str__(self) -> str:
        cycles = f"cycle {self.first}" if self.first == self.last else (
            f"cycles {self.first}–{self.last}"
        )  # fmt: skip
        if self.stall is None:
            return f"{self.text}, {cycles}: {STAGE_WORDS[self.stage]}"
        sentence = self.stall.glossary.template.format(
            culprit=self.culprit_text or "an older instruction", what=self.what or "an operand"
        )
        return f"{self.text}, {cycles}: {sentence}"


STAGE_WORDS = {
    Stage.ABSENT: "is not in the pipeline",
    Stage.FETCH: "is fetched",
    Stage.DISPATCH: "is dispatched",
    Stage.WAIT_DATA: "waits for data",
    Stage.WAIT_RESOURCE: "waits for a resource",
    Stage.ISSUE: "issues",
    Stage.EXECUTE: "executes",
    Stage.DONE: "is complete and waits for older instructions to retire",
    Stage.RETIRE: "retires",
}


def reason_at(timeline: Timeline, programs: Sequence[Program], row: int, cycle: int) -> Reason:
    """What row `row` did in `cycle`, and why it was not further."""
    stage = Stage(int(window(timeline, row, 1, cycle, 1)[0, 0]))
    first, last = _stretch(timeline, row, cycle, stage)
    stall, culprit, what = _cause(timeline, programs, row, cycle, stage)
    if culprit == row and stall is not Stall.CACHE_MISS:
        culprit = None
    return Reason(
        row, stage, first, last, stall, culprit, what, row_label(timeline, programs, row),
        "" if culprit is None else row_label(timeline, programs, culprit),
    )  # fmt: skip


def _stretch(timeline: Timeline, row: int, cycle: int, stage: Stage) -> tuple[int, int]:
    """The cycles around `cycle` in which the row stays in that stage."""
    if stage is Stage.ABSENT:
        return cycle, cycle
    start, end = int(timeline.fetch[row]), int(timeline.retire[row])
    line = window(timeline, row, 1, start, end - start + 1)[0] == stage
    other = np.flatnonzero(~line) + start
    before, after = other[other < cycle], other[other > cycle]
    first = int(before[-1]) + 1 if len(before) else start
    return first, int(after[0]) - 1 if len(after) else end


Cause = tuple[Stall | None, int | None, str]
_NO_CAUSE: Cause = (None, None, "")


def _cause(
    timeline: Timeline, programs: Sequence[Program], row: int, cycle: int, stage: Stage
) -> Cause:
    if cycle < timeline.fetch[row] and timeline.order is not Order.SIMT:
        first = _first_with(timeline.fetch, row)
        return _late(timeline.fetch_cause[first], timeline.fetch_culprit[first])
    if cycle <= timeline.dispatch[row] and timeline.order is not Order.SIMT:
        first = _first_with(timeline.dispatch, row)
        is_waiting = stage is Stage.WAIT_RESOURCE
        causes = timeline.dispatch_cause[first], timeline.dispatch_culprit[first]
        return _late(*causes) if is_waiting else _NO_CAUSE
    uops = timeline.micro_ops
    for u in timeline.micro_op_range(row):
        if stage is Stage.WAIT_DATA and cycle < uops.ready[u]:
            producer = int(uops.producer[u])
            what = _register(timeline, programs, u, producer)
            return STALLS[uops.wait[u]], _row_of(timeline, producer), what
        if stage is Stage.WAIT_RESOURCE and uops.ready[u] <= cycle < uops.issue[u]:
            return STALLS[uops.hold[u]], _row_of(timeline, int(uops.blocker[u])), ""
        if stage is Stage.EXECUTE and uops.issue[u] < cycle <= uops.complete[u] and uops.run[u]:
            return STALLS[uops.run[u]], int(uops.run_culprit[u]), ""
    return _NO_CAUSE


def _first_with(cycles: Column, row: int) -> int:
    """The first row that passed the stage in the same cycle: what held it up held up the rest."""
    return int(np.searchsorted(cycles, cycles[row], side="left"))


def _late(code: int, culprit: int) -> Cause:
    return (STALLS[code], int(culprit) if culprit >= 0 else None, "") if code else _NO_CAUSE


def _row_of(timeline: Timeline, micro_op: int) -> int | None:
    return int(timeline.micro_ops.row[micro_op]) if micro_op >= 0 else None


def _register(
    timeline: Timeline, programs: Sequence[Program], consumer: int, producer: int
) -> str:  # fmt: skip
    """The register that carries the value from one micro-op to the other, by name."""
    tables, static = timeline.tables, timeline.micro_ops.static
    if producer < 0 or not programs:
        return ""
    one, other = int(static[producer]), int(static[consumer])
    written = tables.write_storage[tables.first_write[one] : tables.first_write[one + 1]]
    read = tables.read_storage[tables.first_read[other] : tables.first_read[other + 1]]
    for storage in np.intersect1d(written, read):
        if storage < len(tables.storages):
            return programs[0].isa.registers.storage_name(tables.storages[storage])
    return ""
