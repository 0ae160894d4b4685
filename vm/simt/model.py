"""SIMT timing of a run: from stream and core to arrays, launch by launch, to a timeline.

The machine itself is `kernel`; its rules are told there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isas.cores import Cache, Core, Order, Simt, WarpPolicy
from isas.errors import InternalError, UnsupportedError
from isas.program import Program
from isas.tables import SPACES, MachineTables
from vm import numeric
from vm.numeric import Arrays, Ints
from vm.simt import kernel
from vm.simt.access import Requests, find_requests
from vm.simt.charging import charge
from vm.simt.occupancy import occupancy_of
from vm.stalls import Stall
from vm.stream import Stream
from vm.timeline import Column, MicroOpRows, Occupancy, SimtFacts, Timeline, causes

Integers = NDArray[np.int64]

_WAITS = (
    Stall.RETIRING, Stall.DATA, Stall.CACHE_MISS, Stall.OVERWRITE, Stall.WARP_BRANCH, Stall.BARRIER
)  # fmt: skip
_HOLDS = (
    Stall.RETIRING, Stall.NOT_SELECTED, Stall.PORT, Stall.UNIT, Stall.COALESCING,
    Stall.BANK_CONFLICT,
)  # fmt: skip
"""The kernel's causes in words; 0 is no delay."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """What the model needs of a SIMT core. `memory_latency` is what a load costs beyond an L1 hit
    when no cache level has its data (the second level's latency counts from the issue)."""

    simt: Simt
    l1: Cache
    memory_latency: int
    ports: tuple[str, ...]


def parameters_of(core: Core) -> Parameters:
    """The parameters in a core's file. Raises UnsupportedError when it has no `simt` part."""
    if core.simt is None:
        raise UnsupportedError(f"the core {core.name} has no simt section", where=core.file)
    return Parameters(core.simt, core.l1, core.memory_latency_cycles, core.ports)


@dataclass(frozen=True, slots=True)
class Sorted:
    """The stream sorted by warp: `order` gives the stream's row of each sorted row; the rows of
    warp `w` (all launches counted through) are first_row[w] to first_row[w + 1]."""

    order: Integers
    first_row: Integers
    first_warp: tuple[int, ...]


def time_run(
    stream: Stream,
    tables: MachineTables,
    programs: Sequence[Program],
    parameters: Parameters,
    is_compiled: bool = False,
) -> Timeline:
    """The timeline of a SIMT stream."""
    occupancy = tuple(
        occupancy_of(programs[launch.program], launch, parameters.simt)
        for launch in stream.launches
    )
    return time_launches(stream, tables, occupancy, parameters, is_compiled)


def time_launches(
    stream: Stream,
    tables: MachineTables,
    occupancy: Sequence[Occupancy],
    parameters: Parameters,
    is_compiled: bool = False,
) -> Timeline:
    """As `time_run`, with the occupancy of each launch given."""
    arrays, simt = Arrays(is_compiled), parameters.simt
    static = tables.instruction_base[stream.program] + stream.static
    kind = _kinds(tables)[static]
    is_global = np.isin(kind, (kernel.GLOBAL_LOAD, kernel.GLOBAL_STORE))
    requests = find_requests(
        stream, is_global.astype(np.int64), (kind == kernel.SHARED).astype(np.int64), simt,
        parameters.l1,
    )  # fmt: skip
    by_warp = sort_by_warp(stream)
    events = _events(static, kind, requests, by_warp.order, arrays)
    program = _static(tables, requests, by_warp, arrays)
    work = _work(stream, tables, requests, occupancy, parameters, arrays)
    core = _core(tables, parameters, arrays)
    bounds: list[tuple[int, int]] = []
    charges: list[tuple[int, int]] = []
    for number in range(len(stream.launches)):
        start = (bounds[-1][1] if bounds else 0) + simt.launch_overhead_cycles
        _set_launch(core, stream, number, occupancy[number], start, by_warp)
        end = numeric.run(kernel.FUNCTIONS, is_compiled, program, events, work, core)
        if end < 0:
            raise InternalError(f"the SIMT model cannot go on in launch {number}")
        bounds.append((start, end))
        used = np.flatnonzero(np.asarray(work.sms[kernel.M_IS_USED]))
        idle = np.asarray(work.schedulers[kernel.C_IDLE]).reshape(-1, simt.schedulers)
        charges.append((len(used), int(idle[used].sum())))
    results = _results(work, by_warp.order)
    return _timeline(
        stream, tables, static, kind, requests, results, occupancy, bounds, charges, parameters
    )


def sort_by_warp(stream: Stream) -> Sorted:
    """Sorts rows by launch and warp, keeping each warp's order. Raises InternalError when the
    stream has a warp that its launch does not."""
    counts = [launch.blocks * launch.warps_per_block for launch in stream.launches]
    first_warp = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    warp = first_warp[stream.launch] + stream.warp
    if len(warp) and (stream.warp.min() < 0 or (warp >= first_warp[stream.launch + 1]).any()):
        raise InternalError("the stream names a warp that its launch does not have")
    order = np.argsort(warp, kind="stable")
    rows = np.concatenate([[0], np.cumsum(np.bincount(warp, minlength=int(first_warp[-1])))])
    return Sorted(order, rows, tuple(int(first) for first in first_warp))


def _kinds(tables: MachineTables) -> Integers:
    """The kind of memory access of every static instruction."""
    spaces = np.array([SPACES.index(name) for name in ("", "global")])
    has_access = (tables.loads > 0) | (tables.stores > 0)
    is_global = has_access & np.isin(tables.space, spaces)
    return np.select(
        [~has_access, is_global & (tables.stores > 0), is_global]
        + [tables.space == SPACES.index("shared")],
        [kernel.NOTHING, kernel.GLOBAL_STORE, kernel.GLOBAL_LOAD, kernel.SHARED],
        kernel.OTHER_MEMORY,
    )


def _events(
    static: Integers, kind: Integers, requests: Requests, order: Integers, arrays: Arrays
) -> numeric.Table:
    return arrays.table(
        [static[order], kind[order], requests.rounds[order]]
        + [requests.first[:-1][order], requests.first[1:][order]]
    )


def _static(
    tables: MachineTables, requests: Requests, by_warp: Sorted, arrays: Arrays
) -> kernel.Static:
    """Micro-ops joined to instructions: the first one's ports, the sum of the latencies."""
    first, last = tables.first_micro_op[:-1], tables.first_micro_op[1:]
    ranges = [range(int(a), int(b)) for a, b in zip(first, last)]
    reads = [_reads(tables, range_) for range_ in ranges]
    writes = [_writes(tables, range_) for range_ in ranges]
    first_read = np.cumsum([0] + [len(row) for row in reads])
    first_write = np.cumsum([0] + [len(row) for row in writes])
    latency = np.array([tables.latency[a:b].sum() for a, b in zip(first, last)], dtype=np.int64)
    busy = np.array([tables.busy[a:b].max(initial=1) for a, b in zip(first, last)])
    return kernel.Static(
        instructions=arrays.table(
            [tables.ports[first], np.maximum(latency, 1), busy, tables.flags]
            + [first_read[:-1], first_read[1:], first_write[:-1], first_write[1:]]
        ),
        reads=arrays.table(
            [
                np.array([storage for row in reads for storage, _ in row], dtype=np.int64),
                np.array([late for row in reads for _, late in row], dtype=np.int64),
            ]
        ),
        write_storage=arrays.take([storage for row in writes for storage in row]),
        sectors=arrays.table([requests.sector, requests.line, requests.part]),
        first_row=arrays.take(by_warp.first_row),
    )


def _reads(tables: MachineTables, micro_ops: range) -> list[tuple[int, int]]:
    """Storages (without temporaries) that any micro-op reads, and how late."""
    return [
        (int(tables.read_storage[i]), int(tables.read_late[i]))
        for u in micro_ops
        for i in range(int(tables.first_read[u]), int(tables.first_read[u + 1]))
        if tables.read_storage[i] < len(tables.storages)
    ]


def _writes(tables: MachineTables, micro_ops: range) -> list[int]:
    return [
        int(tables.write_storage[i])
        for u in micro_ops
        for i in range(int(tables.first_write[u]), int(tables.first_write[u + 1]))
        if tables.write_storage[i] < len(tables.storages)
    ]


def _work(
    stream: Stream,
    tables: MachineTables,
    requests: Requests,
    occupancy: Sequence[Occupancy],
    parameters: Parameters,
    arrays: Arrays,
) -> kernel.Work:
    simt, l1 = parameters.simt, parameters.l1
    blocks = max([launch.blocks for launch in stream.launches], default=1)
    sms = min(simt.sm_count, max(blocks, 1))
    slots = sms * max([o.warps_per_sm for o in occupancy], default=1)
    block_slots = sms * max([o.blocks_per_sm for o in occupancy], default=1)
    ways = sms * l1.sets * l1.ways
    parts = max(1, l1.line_bytes // simt.sector_bytes)
    rows = arrays.full_table(kernel.R_COUNT, len(stream))
    for column in (kernel.R_PORT, kernel.R_PRODUCER, kernel.R_BLOCKER):
        rows[column][:] = arrays.full(len(stream), -1)
    return kernel.Work(
        now=arrays.full(kernel.NOW_SIZE),
        rows=rows,
        warps=arrays.full_table(kernel.W_COUNT, slots),
        blocks=arrays.full_table(kernel.B_COUNT, block_slots),
        sms=arrays.full_table(kernel.M_COUNT, sms),
        schedulers=arrays.full_table(kernel.C_COUNT, sms * simt.schedulers),
        ports=arrays.full_table(kernel.P_COUNT, sms * simt.schedulers * len(parameters.ports)),
        cache=arrays.full_table(kernel.K_COUNT, ways),
        fill=arrays.full(ways * parts, -1),
        is_known=arrays.full(requests.sector_count),
        last_writer=arrays.full(slots * len(tables.storages), -1),
    )


def _core(tables: MachineTables, parameters: Parameters, arrays: Arrays) -> Ints:
    simt, l1 = parameters.simt, parameters.l1
    core = arrays.full(kernel.CORE_SIZE)
    core[kernel.SCHEDULERS] = simt.schedulers
    core[kernel.PORTS] = len(parameters.ports)
    core[kernel.STORAGES] = len(tables.storages)
    core[kernel.IS_GREEDY] = int(simt.policy is WarpPolicy.GREEDY_THEN_OLDEST)
    core[kernel.SETS] = l1.sets
    core[kernel.WAYS] = l1.ways
    core[kernel.PARTS] = max(1, l1.line_bytes // simt.sector_bytes)
    core[kernel.L2_LATENCY] = simt.l2_latency_cycles
    core[kernel.MEMORY_LATENCY] = parameters.memory_latency
    core[kernel.SMS] = simt.sm_count
    return core


def _set_launch(
    core: Ints,
    stream: Stream,
    number: int,
    occupancy: Occupancy,
    start: int,
    by_warp: Sorted,
) -> None:
    launch = stream.launches[number]
    most = max([each.blocks for each in stream.launches], default=1)
    core[kernel.SMS] = min(core[kernel.SMS], max(most, 1))
    # Blocks spread evenly, so an SM never holds more than its share of a small grid.
    resident = max(1, min(occupancy.blocks_per_sm, -(-launch.blocks // core[kernel.SMS])))
    core[kernel.SLOTS] = resident * launch.warps_per_block
    core[kernel.BLOCK_SLOTS] = resident
    core[kernel.START_CYCLE] = start
    core[kernel.BLOCKS] = launch.blocks
    core[kernel.WARPS_PER_BLOCK] = launch.warps_per_block
    core[kernel.FIRST_WARP] = by_warp.first_warp[number]


def _results(work: kernel.Work, order: Integers) -> list[Integers]:
    """The kernel's columns in the stream's row order, culprits as the stream's rows."""
    columns = []
    for number in range(kernel.R_COUNT):
        values = np.asarray(work.rows[number], dtype=np.int64)
        if number in (kernel.R_PRODUCER, kernel.R_BLOCKER) and len(order):
            values = np.where(values >= 0, order[values], -1)
        column = np.zeros(len(order), np.int64)
        column[order] = values
        columns.append(column)
    return columns


def _micro_ops(results: list[Integers], tables: MachineTables, static: Integers) -> MicroOpRows:
    rows = np.arange(len(static))
    is_miss = results[kernel.R_IS_MISS] > 0
    is_late = results[kernel.R_READY] > results[kernel.R_ENTER]  # a barrier may open at once

    def column(number: int) -> Column:
        return results[number].astype(np.int32)

    return MicroOpRows(
        row=rows.astype(np.int32),
        static=tables.first_micro_op[static].astype(np.int32),
        ready=column(kernel.R_READY),
        issue=column(kernel.R_ISSUE),
        complete=column(kernel.R_COMPLETE),
        port=column(kernel.R_PORT),
        wait=np.where(is_late, causes(results[kernel.R_WAIT], _WAITS), 0).astype(np.int8),
        producer=np.where(is_late, column(kernel.R_PRODUCER), -1).astype(np.int32),
        hold=causes(results[kernel.R_HOLD], _HOLDS),
        blocker=column(kernel.R_BLOCKER),
        run=np.where(is_miss, Stall.CACHE_MISS.code, 0).astype(np.int8),
        run_culprit=np.where(is_miss, rows, -1).astype(np.int32),
    )


def _timeline(
    stream: Stream,
    tables: MachineTables,
    static: Integers,
    kind: Integers,
    requests: Requests,
    results: list[Integers],
    occupancy: Sequence[Occupancy],
    bounds: list[tuple[int, int]],
    charges: list[tuple[int, int]],
    parameters: Parameters,
) -> Timeline:
    micro_ops = _micro_ops(results, tables, static)
    enter = results[kernel.R_ENTER].astype(np.int32)
    nothing = np.zeros(len(stream), np.int8)
    nobody = np.full(len(stream), -1, np.int32)
    lost = (
        (causes(results[kernel.R_WAIT], _WAITS), results[kernel.R_LOST_WAIT]),
        (causes(results[kernel.R_LOST_CAUSE], _HOLDS), results[kernel.R_LOST_HOLD]),
    )
    return Timeline(
        order=Order.SIMT,
        cycles=bounds[-1][1] if bounds else 0,
        stream=stream,
        tables=tables,
        ports=parameters.ports,
        static=static.astype(np.int32),
        fetch=enter,
        dispatch=enter,
        retire=micro_ops.complete,
        fetch_cause=nothing,
        fetch_culprit=nobody,
        dispatch_cause=nothing,
        dispatch_culprit=nobody,
        first_micro_op=np.arange(len(stream) + 1, dtype=np.int32),
        micro_ops=micro_ops,
        charges=charge(stream, lost, bounds, charges, parameters.simt),
        simt=_facts(stream, kind, requests, results, occupancy, bounds, charges, parameters.simt),
    )


def _facts(
    stream: Stream,
    kind: Integers,
    requests: Requests,
    results: list[Integers],
    occupancy: Sequence[Occupancy],
    bounds: list[tuple[int, int]],
    charges: list[tuple[int, int]],
    simt: Simt,
) -> SimtFacts:
    sectors = np.diff(requests.first)
    is_global = np.isin(kind, (kernel.GLOBAL_LOAD, kernel.GLOBAL_STORE)) & (sectors > 0)
    is_shared = kind == kernel.SHARED
    rounds = requests.rounds[is_shared]
    lanes = stream.active_lanes()
    return SimtFacts(
        sm=results[kernel.R_SM].astype(np.int32),
        scheduler=results[kernel.R_SCHEDULER].astype(np.int32),
        sectors=np.where(is_shared, requests.rounds, sectors).astype(np.int32),
        occupancy=tuple(occupancy),
        launch_start=tuple(start for start, _ in bounds),
        sms_used=max([used for used, _ in charges], default=0),
        warps=sum(launch.blocks * launch.warps_per_block for launch in stream.launches),
        active_lanes=float(lanes.mean()) / simt.warp_size if len(lanes) else 1.0,
        sectors_per_request=float(sectors[is_global].mean()) if is_global.any() else 0.0,
        bank_rounds_per_request=float(rounds.mean()) if len(rounds) else 0.0,
    )
