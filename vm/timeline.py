"""The timeline: when each executed instruction passed each stage, what held it up, and the totals.

A structure of arrays: one row per executed instruction, with its micro-ops as children. Cycles
count from 0. An instruction issues at `issue` and its result can be used by one that issues at
`complete`; so it executes in the cycles issue + 1 to complete. Causes are `Stall` codes, culprits
are rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isas.cores import Order
from isas.program import Program
from isas.tables import MachineTables
from vm.stalls import STALLS, Stall
from vm.stream import Stream

Column = NDArray[np.int32]
Causes = NDArray[np.int8]


def column(values: Any) -> Column:
    """What a numeric core left (a list or an array) as a column of the timeline."""
    return np.asarray(values).astype(np.int32)


def causes(numbers: Any, words: Sequence[Stall]) -> Causes:
    """A numeric core's own small numbers as codes of `Stall`: number n means `words[n]`."""
    codes = np.array([stall.code for stall in words], dtype=np.int8)
    return codes[np.asarray(numbers, dtype=np.int64)]


@dataclass(frozen=True, slots=True)
class MicroOpRows:
    """One entry per executed micro-op, in program order.

    row, static        the instruction's row; index into the tables' micro-ops
    ready              first cycle in which its operands allow it to issue
    issue, complete    leaves for a port; its result can be used
    port               index into the core's ports, -1: none needed
    wait, producer     why it was not ready when it entered (DATA, STORE_FORWARD, BARRIER, ...; 0:
                       it was), and the micro-op waited for (-1: none)
    hold, blocker      why it did not issue when ready (PORT, UNIT, ...; 0: it did), and the
                       micro-op in the way
    run, run_culprit   what made it take longer than its latency (CACHE_MISS, ...; 0: nothing),
                       and the row behind that
    """

    row: Column
    static: Column
    ready: Column
    issue: Column
    complete: Column
    port: Column
    wait: Causes
    producer: Column
    hold: Causes
    blocker: Column
    run: Causes
    run_culprit: Column

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, slots=True)
class Charges:
    """Where the slots went: `slots` slots of `cause` while the machine waited for (or did) `row`.

    `row` is -1 where there was none. A cycle has `slots_per_cycle` slots; all slots of all cycles
    are here exactly once. Slots are floats because a half-active warp uses half of one.
    """

    row: Column
    cause: Causes
    slots: NDArray[np.float64]
    slots_per_cycle: float

    def by_cause(self) -> dict[Stall, float]:
        """Cycles per cause, the largest first; they add up to the total."""
        sums = np.bincount(self.cause, self.slots, len(STALLS)) / self.slots_per_cycle
        order = sorted(range(len(STALLS)), key=lambda code: (-sums[code], code))
        return {STALLS[code]: float(sums[code]) for code in order if sums[code] > 0}

    def by_row(self, rows: int) -> NDArray[np.float64]:
        """Cycles charged to each row, useful and lost."""
        known = self.row >= 0
        sums = np.bincount(self.row[known], self.slots[known], rows)
        return sums.astype(np.float64) / self.slots_per_cycle


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How full a SIMT launch can keep an SM, and which resource sets the limit."""

    blocks_per_sm: int
    warps_per_sm: int
    most_warps: int
    limit: str

    @property
    def fraction(self) -> float:
        """Resident warps as a part of the most the SM can hold."""
        return self.warps_per_sm / self.most_warps


@dataclass(frozen=True, slots=True)
class SimtFacts:
    """What only SIMT runs have. `sm` and `scheduler` tell for each row where its warp ran;
    `sectors` are the 32-byte sectors (shared memory: bank rounds) of each row's memory access.
    `occupancy` has one entry per launch, `launch_start` the cycle at which each began."""

    sm: Column
    scheduler: Column
    sectors: Column
    occupancy: tuple[Occupancy, ...]
    launch_start: tuple[int, ...]
    sms_used: int
    warps: int
    active_lanes: float
    sectors_per_request: float
    bank_rounds_per_request: float

    @property
    def divergence(self) -> float:
        """The part of all lanes' slots that was switched off."""
        return 1.0 - self.active_lanes


@dataclass(frozen=True, slots=True)
class Timeline:
    """The result of timing one run. Columns have a row per executed instruction.

    fetch, dispatch, retire   cycles (in order: fetched, decoded, written back; SIMT: both are
                              the cycle in which it becomes its warp's next instruction)
    static                    index into `tables`
    first_micro_op [n + 1]    its micro-ops are first_micro_op[i] to first_micro_op[i + 1]
    fetch_cause, ...          what delayed fetching and dispatch (0: nothing), and which row
    """

    order: Order
    cycles: int
    stream: Stream
    tables: MachineTables
    ports: tuple[str, ...]
    static: Column
    fetch: Column
    dispatch: Column
    retire: Column
    fetch_cause: Causes
    fetch_culprit: Column
    dispatch_cause: Causes
    dispatch_culprit: Column
    first_micro_op: Column
    micro_ops: MicroOpRows
    charges: Charges
    simt: SimtFacts | None = None

    def __len__(self) -> int:
        return len(self.static)

    def __repr__(self) -> str:
        return f"<Timeline {self.order.value}: {len(self)} instructions in {self.cycles} cycles>"

    @property
    def instructions(self) -> int:
        """Executed instructions (on SIMT: of warps)."""
        return len(self.static)

    @property
    def ipc(self) -> float:
        """Instructions per cycle; 0 for an empty run."""
        return self.instructions / self.cycles if self.cycles else 0.0

    @property
    def issue(self) -> Column:
        """Cycle in which each row's first micro-op issued."""
        return _reduce(np.minimum, self.micro_ops.issue, self.first_micro_op)

    @property
    def complete(self) -> Column:
        """Cycle in which each row's last micro-op was complete."""
        return _reduce(np.maximum, self.micro_ops.complete, self.first_micro_op)

    def complete_of(self, row: int) -> int:
        """Cycle in which row `row`'s last micro-op was complete."""
        places = self.micro_op_range(row)
        return int(self.micro_ops.complete[places.start : places.stop].max())

    def rows_stalled(self, stall: Stall) -> NDArray[np.int64]:
        """The rows that this cause delayed anywhere on their way, ascending."""
        uops, code = self.micro_ops, stall.code
        held = (uops.wait == code) | (uops.hold == code) | (uops.run == code)
        late = (self.fetch_cause == code) | (self.dispatch_cause == code)
        return np.union1d(uops.row[held], np.flatnonzero(late)).astype(np.int64)

    def stalls(self) -> dict[Stall, float]:
        """Cycles per cause (RETIRING: useful work), the largest first; they add up to `cycles`."""
        return self.charges.by_cause()

    def cycles_per_row(self) -> NDArray[np.float64]:
        """Cycles charged to each executed instruction."""
        return self.charges.by_row(len(self))

    def cycles_per_instruction(self) -> NDArray[np.float64]:
        """Cycles charged to each static instruction of the tables (all programs in a row)."""
        sums = np.bincount(self.static, self.cycles_per_row(), len(self.tables.slots))
        return sums.astype(np.float64)

    def micro_op_range(self, row: int) -> range:
        """The indices of row `row`'s micro-ops."""
        return range(int(self.first_micro_op[row]), int(self.first_micro_op[row + 1]))


def _reduce(function: Any, values: Column, first: Column) -> Column:
    if len(first) < 2:
        return np.zeros(0, np.int32)
    result: Column = function.reduceat(values, first[:-1])
    return result


def cycles_by_origin(timeline: Timeline, programs: Sequence[Program]) -> dict[str, float]:
    """Cycles charged to each HLO instruction that machine code came from, the largest first.

    Code without an origin (frames, branches) is under "". What no instruction is charged with
    (empty schedulers, launch overhead) is left out.
    """
    origins = [i.origin for program in programs for i in program.instructions]
    sums: dict[str, float] = {}
    for origin, cycles in zip(origins, timeline.cycles_per_instruction().tolist()):
        if cycles > 0:
            sums[origin] = sums.get(origin, 0.0) + cycles
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))
