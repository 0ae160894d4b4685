"""What stands behind a cause of lost cycles: the kinds of instructions that lost most of them.

For a report's line `data 27 %: vsubps waits on vmovups (4 cycles)`. A highlight is a typed fact
with one English template per kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isas.program import Program, ProgramInstruction
from vm.stalls import STALLS, Group, Stall
from vm.timeline import Timeline

Rows = NDArray[np.int64]

_TEMPLATES = {
    Group.DATA: "{instruction} waits on {culprit} ({latency:.3g} cycles)",
    Group.PORTS: "{ports} busy with {culprit}",
    Group.MEMORY: "{instruction} waits on {culprit} ({latency:.3g} cycles)",
    Group.BRANCH: "{culprit}",
    Group.WARPS: "{culprit}",
}


@dataclass(frozen=True, slots=True)
class Highlight:
    """The largest part of one cause: `cycles` of it were lost at instructions like `instruction`
    because of ones like `culprit` (None: no one in particular), which took `latency` cycles on
    average, `times` times. The two are the worst pair of their kinds; `ports` are those the
    instruction could have used."""

    stall: Stall
    cycles: float
    instruction: ProgramInstruction
    culprit: ProgramInstruction | None
    latency: float
    ports: tuple[str, ...]
    times: int

    @property
    def origins(self) -> tuple[str, ...]:
        """The HLO instructions concerned, the one held up first."""
        both = (self.instruction, self.culprit)
        return tuple(dict.fromkeys(i.origin for i in both if i is not None and i.origin))

    @property
    def template(self) -> str:
        """An English sentence with places for `instruction`, `culprit` (the instruction itself
        where there is none), `latency` in cycles and `ports`."""
        if self.stall is Stall.CACHE_MISS:
            return "{culprit} misses the cache"
        if self.stall is Stall.LATENCY:
            return "{instruction} executes"
        return _TEMPLATES.get(self.stall.group, "{instruction}")

    def __str__(self) -> str:
        return self.template.format(
            instruction=_name(self.instruction),
            culprit=_name(self.culprit or self.instruction),
            latency=self.latency,
            ports=" ".join(self.ports),
        )


def _name(instruction: ProgramInstruction) -> str:
    """`vmovups`, or `reload v41 (vmovups)` when the instruction has a remark."""
    mnemonic = instruction.shape.mnemonic
    return f"{instruction.note} ({mnemonic})" if instruction.note else mnemonic


def highlight(timeline: Timeline, programs: Sequence[Program], stall: Stall) -> Highlight | None:
    """The kinds of instructions behind most cycles of `stall`; None when no row was charged."""
    charges = timeline.charges
    chosen = np.flatnonzero((charges.cause == stall.code) & (charges.row >= 0))
    if not len(chosen):
        return None
    charged = charges.row[chosen]
    rows, culprits = _pairs(timeline, charged, stall)
    instructions = [i for program in programs for i in program.instructions]
    place, worst = _largest(timeline, rows, culprits, charges.slots[chosen], instructions)
    mine = place == place[worst]
    sums = charges.slots[chosen][mine].sum()
    culprit = int(culprits[worst])
    behind = culprits[mine]
    behind = behind[behind >= 0]
    latency = timeline.complete[behind] - timeline.issue[behind] if len(behind) else np.zeros(1)
    return Highlight(
        stall=stall,
        cycles=float(sums) / charges.slots_per_cycle,
        instruction=instructions[int(timeline.static[rows[worst]])],
        culprit=instructions[int(timeline.static[culprit])] if culprit >= 0 else None,
        latency=float(latency.mean()),
        ports=_ports(timeline, int(rows[worst])),
        times=len(np.unique(rows[mine])),
    )


def _largest(
    timeline: Timeline,
    rows: Rows,
    culprits: Rows,
    slots: NDArray[np.float64],
    instructions: Sequence[ProgramInstruction],
) -> tuple[Rows, int]:
    """Groups (held up, culprit) pairs by the instructions' names. Returns each pair's group, and
    an entry of the group with the most slots: of its pair of instructions that lost most."""
    names = [_name(instruction) for instruction in instructions]
    number = {name: place for place, name in enumerate(dict.fromkeys(names))}
    kind = np.array([number[name] for name in names] + [len(number)], np.int64)
    one = timeline.static[rows].astype(np.int64)
    other = np.where(culprits >= 0, timeline.static[culprits], len(names)).astype(np.int64)
    group = kind[one] * (len(number) + 1) + kind[other]
    _, place = np.unique(group, return_inverse=True)
    place = place.reshape(-1)
    best = place == int(np.argmax(np.bincount(place, slots)))
    pairs, where = np.unique(one * (len(names) + 1) + other, return_inverse=True)
    sums = np.bincount(where.reshape(-1), np.where(best, slots, 0.0), len(pairs))
    worst = int(np.flatnonzero(best & (where.reshape(-1) == int(np.argmax(sums))))[0])
    return place, worst


def _pairs(timeline: Timeline, rows: NDArray[np.int32], stall: Stall) -> tuple[Rows, Rows]:
    """(held up, culprit) for each charged row; culprits are -1 where there is none.

    A row that executes while others wait for its result is the culprit, the first of them the one
    held up.
    """
    culprits = _culprits(timeline, rows, stall)
    if stall is not Stall.DATA or timeline.simt is not None:
        return rows.astype(np.int64), culprits
    uops = timeline.micro_ops
    waits = np.flatnonzero((uops.wait == stall.code) & (uops.producer >= 0))[::-1]
    consumer = np.full(len(timeline), -1, np.int64)
    consumer[uops.row[uops.producer[waits]]] = uops.row[waits]
    last = timeline.first_micro_op[rows + 1] - 1
    is_behind = (culprits < 0) | (uops.hold[last] == Stall.ISSUE_ORDER.code)
    is_culprit = is_behind & (consumer[rows] >= 0)
    return np.where(is_culprit, consumer[rows], rows), np.where(is_culprit, rows, culprits)


def _culprits(timeline: Timeline, rows: NDArray[np.int32], stall: Stall) -> Rows:
    """The row behind each row's delay by `stall`, or -1."""
    uops, first = timeline.micro_ops, timeline.first_micro_op
    found = np.full(len(rows), -1, np.int64)
    widest = int(np.diff(first).max(initial=1))
    for step in range(widest):
        u = np.minimum(first[rows] + step, first[rows + 1] - 1)
        for cause, culprit in ((uops.wait, uops.producer), (uops.hold, uops.blocker)):
            is_it = (found < 0) & (cause[u] == stall.code) & (culprit[u] >= 0)
            found = np.where(is_it, uops.row[culprit[u]], found)
        is_run = (found < 0) & (uops.run[u] == stall.code)
        found = np.where(is_run, uops.run_culprit[u], found)
    for cause, culprit in (
        (timeline.fetch_cause, timeline.fetch_culprit),
        (timeline.dispatch_cause, timeline.dispatch_culprit),
    ):
        is_it = (found < 0) & (cause[rows] == stall.code)
        found = np.where(is_it, culprit[rows], found)
    return found


def _ports(timeline: Timeline, row: int) -> tuple[str, ...]:
    """The ports that the row's micro-ops could use."""
    mask = 0
    for u in timeline.micro_op_range(row):
        mask |= int(timeline.tables.ports[timeline.micro_ops.static[u]])
    return tuple(name for i, name in enumerate(timeline.ports) if mask >> i & 1)


def highlights(timeline: Timeline, programs: Sequence[Program]) -> dict[Stall, Highlight]:
    """A highlight for each cause that any row was charged with, in the order of `stalls()`."""
    found = {stall: highlight(timeline, programs, stall) for stall in timeline.stalls()}
    return {stall: h for stall, h in found.items() if h is not None and stall is not STALLS[0]}
