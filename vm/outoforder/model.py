"""Out-of-order timing of a CPU run: from core and events to arrays, from arrays to a timeline.

The machine itself is `kernel`; what its phases mean is told there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isas.cores import Core, Order
from isas.errors import InternalError
from isas.tables import MachineTables
from vm import numeric
from vm.charges import Columns, charge
from vm.events import Events
from vm.numeric import Arrays, Ints, Table
from vm.outoforder import kernel
from vm.stalls import Stall
from vm.stream import Stream
from vm.timeline import Causes, Column, MicroOpRows, Timeline, causes, column

_CAUSES = (
    Stall.RETIRING, Stall.START, Stall.FETCH, Stall.TAKEN_BRANCH, Stall.BRANCH, Stall.DISPATCH,
    Stall.REORDER_BUFFER, Stall.SCHEDULER, Stall.LOAD_QUEUE, Stall.STORE_QUEUE,
)  # fmt: skip
"""The kernel's cause numbers in words; 0 is no delay."""

_RUNS = (
    Stall.RETIRING, Stall.CACHE_MISS, Stall.CACHE_MISS, Stall.STORE_FORWARD, Stall.FORWARD_BLOCKED
)  # fmt: skip
"""Where a load's data came from, as the cause of its time; 0 is the cache, as usual."""

_WINDOW_CYCLES = 8
"""Fetched instructions a core holds before dispatch when its file does not say: so many cycles'."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """Sizes, widths (per cycle) and latencies (cycles) of an out-of-order core.

    `forward` and `forward_blocked` count from the issue of a load whose data an older store still
    holds: at the earliest one cycle after the issue of the stored data.
    """

    fetch_width: int
    fetch_queue: int
    rename_width: int
    issue_width: int
    retire_width: int
    reorder_buffer: int
    scheduler_entries: int
    load_queue: int
    store_queue: int
    commit_width: int
    mispredict: int
    forward: int
    forward_blocked: int
    miss_latency: int
    ports: tuple[str, ...]


def parameters_of(core: Core) -> Parameters:
    """What an out-of-order core's file says, with the defaults it leaves to us."""
    return Parameters(
        fetch_width=core.fetch_width,
        fetch_queue=core.fetch_queue or _WINDOW_CYCLES * core.fetch_width,
        rename_width=core.rename_width,
        issue_width=core.issue_width,
        retire_width=core.retire_width,
        reorder_buffer=core.reorder_buffer,
        scheduler_entries=core.scheduler_entries,
        load_queue=core.load_queue,
        store_queue=core.store_queue,
        commit_width=core.store_commit_width,
        mispredict=max(1, core.mispredict_cycles),
        forward=max(1, core.store_forward_cycles - 1),
        forward_blocked=max(
            1, (core.store_forward_blocked_cycles or 3 * core.store_forward_cycles) - 1
        ),
        miss_latency=core.memory_latency_cycles,
        ports=core.ports,
    )


def time_run(
    stream: Stream,
    tables: MachineTables,
    events: Events,
    parameters: Parameters,
    is_compiled: bool = False,
) -> Timeline:
    """The timeline of a CPU stream on an out-of-order core."""
    arrays = Arrays(is_compiled)
    static, core = _static(tables, parameters, arrays)
    counts = np.diff(tables.first_micro_op)[events.static]
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    work = _work(tables, parameters, arrays, len(events), int(first[-1]), len(static.class_ports))
    cycles = numeric.run(kernel.FUNCTIONS, is_compiled, static, _events(events, arrays), work, core)
    if cycles < 0:
        raise InternalError(
            f"the out-of-order model cannot go on at row {work.now[kernel.HEAD]}, "
            f"cycle {work.now[kernel.CYCLE]}"
        )
    return _timeline(stream, tables, events, parameters, work, first, cycles)


def _static(
    tables: MachineTables, parameters: Parameters, arrays: Arrays
) -> tuple[kernel.Static, Ints]:
    masks = sorted({int(mask) for mask in tables.ports if mask})
    number = {mask: index for index, mask in enumerate(masks)} | {0: -1}
    port_class = np.array([number[int(mask)] for mask in tables.ports], dtype=np.int64)
    needs_entry = np.concatenate([[0], np.cumsum(port_class >= 0)])
    entries = np.diff(needs_entry[tables.first_micro_op])
    static = kernel.Static(
        instructions=arrays.table(
            [tables.slots, entries, tables.loads, tables.stores, tables.alias]
            + [tables.first_micro_op[:-1], tables.first_micro_op[1:]]
        ),
        uops=arrays.table(
            [tables.role, port_class, tables.latency, tables.busy]
            + [tables.first_read[:-1], tables.first_read[1:]]
            + [tables.first_write[:-1], tables.first_write[1:]]
        ),
        reads=arrays.table([tables.read_storage, tables.read_late]),
        write_storage=arrays.take(tables.write_storage),
        class_ports=arrays.take(masks),
    )
    return static, _core(parameters, len(masks), arrays)


def _core(parameters: Parameters, classes: int, arrays: Arrays) -> Ints:
    core = arrays.full(kernel.CORE_SIZE)
    core[kernel.FETCH_WIDTH] = parameters.fetch_width
    core[kernel.FETCH_QUEUE] = parameters.fetch_queue
    core[kernel.RENAME_WIDTH] = parameters.rename_width
    core[kernel.ISSUE_WIDTH] = parameters.issue_width
    core[kernel.RETIRE_WIDTH] = parameters.retire_width
    core[kernel.ROB] = parameters.reorder_buffer
    core[kernel.SCHEDULER] = parameters.scheduler_entries
    core[kernel.LOAD_QUEUE] = parameters.load_queue
    core[kernel.STORE_QUEUE] = parameters.store_queue
    core[kernel.COMMIT_WIDTH] = parameters.commit_width
    core[kernel.MISPREDICT] = parameters.mispredict
    core[kernel.FORWARD] = parameters.forward
    core[kernel.FORWARD_BLOCKED] = parameters.forward_blocked
    core[kernel.MISS_LATENCY] = parameters.miss_latency
    core[kernel.PORTS] = len(parameters.ports)
    core[kernel.CLASSES] = classes
    return core


def _events(events: Events, arrays: Arrays) -> Table:
    return arrays.table(
        [events.static, events.is_taken, events.is_mispredicted, events.is_miss]
        + [events.owner, events.source, events.is_covered]
    )


def _work(
    tables: MachineTables,
    parameters: Parameters,
    arrays: Arrays,
    rows: int,
    uops: int,
    classes: int,
) -> kernel.Work:
    most_uops = int(np.diff(tables.first_micro_op).max(initial=1))
    most_reads = int(np.diff(tables.first_read).max(initial=0)) + 1
    entries = parameters.scheduler_entries + most_uops
    return kernel.Work(
        now=arrays.full(kernel.NOW_SIZE),
        rows=arrays.full_table(kernel.R_COUNT, rows, -1),
        uops=arrays.full_table(kernel.U_COUNT, uops, -1),
        ports=arrays.full_table(kernel.P_COUNT, len(parameters.ports)),
        edges=arrays.full_table(kernel.G_COUNT, entries * most_reads),
        last_writer=arrays.full(tables.storage_count, -1),
        wake=arrays.full(entries),
        ready_heap=arrays.full(entries * max(classes, 1)),
        ready_size=arrays.full(max(classes, 1)),
        store_ring=arrays.full(parameters.store_queue + 1),
    )


def _timeline(
    stream: Stream,
    tables: MachineTables,
    events: Events,
    parameters: Parameters,
    work: kernel.Work,
    first: Column,
    cycles: int,
) -> Timeline:
    static, rows = column(events.static), work.rows
    columns = Columns(
        fetch=column(rows[kernel.R_FETCH]),
        dispatch=column(rows[kernel.R_DISPATCH]),
        retire=column(rows[kernel.R_RETIRE]),
        fetch_cause=causes(rows[kernel.R_FETCH_CAUSE], _CAUSES),
        dispatch_cause=causes(rows[kernel.R_DISPATCH_CAUSE], _CAUSES),
    )
    micro_ops = _micro_ops(work, tables, events, columns.dispatch)
    return Timeline(
        order=Order.OUT_OF_ORDER,
        cycles=cycles,
        stream=stream,
        tables=tables,
        ports=parameters.ports,
        static=static,
        fetch=columns.fetch,
        dispatch=columns.dispatch,
        retire=columns.retire,
        fetch_cause=columns.fetch_cause,
        fetch_culprit=column(rows[kernel.R_FETCH_CULPRIT]),
        dispatch_cause=columns.dispatch_cause,
        dispatch_culprit=column(rows[kernel.R_DISPATCH_CULPRIT]),
        first_micro_op=first,
        micro_ops=micro_ops,
        charges=charge(columns, micro_ops, first, tables, static, parameters.retire_width),
    )


def _micro_ops(
    work: kernel.Work, tables: MachineTables, events: Events, dispatch: Column
) -> MicroOpRows:
    uops = work.uops
    row, static = column(uops[kernel.U_ROW]), column(uops[kernel.U_STATIC])
    ready, issue = column(uops[kernel.U_READY]), column(uops[kernel.U_ISSUE])
    producer = column(uops[kernel.U_PRODUCER])
    memory = np.asarray(uops[kernel.U_MEMORY], dtype=np.int64)
    blocker = np.where(issue > ready, column(uops[kernel.U_BLOCKER]), -1).astype(np.int32)
    is_late = ready > dispatch[row] + 1
    from_store = (producer >= 0) & (row[producer] == events.source[row]) & (
        (memory == kernel.FORWARDED) | (memory == kernel.BLOCKED)
    )  # fmt: skip
    data = np.where(from_store, Stall.STORE_FORWARD.code, Stall.DATA.code)
    culprit = np.select(
        [memory == kernel.LINE_FILL, memory >= kernel.FORWARDED, memory == kernel.MISS],
        [events.owner[row], events.source[row], row],
        -1,
    )
    return MicroOpRows(
        row=row,
        static=static,
        ready=ready,
        issue=issue,
        complete=column(uops[kernel.U_COMPLETE]),
        port=column(uops[kernel.U_PORT]),
        wait=np.where(is_late, data, 0).astype(np.int8),
        producer=np.where(is_late, producer, -1).astype(np.int32),
        hold=_holds(tables, static, ready, issue, blocker),
        blocker=blocker,
        run=causes(memory, _RUNS),
        run_culprit=column(culprit),
    )


def _holds(
    tables: MachineTables, static: Column, ready: Column, issue: Column, blocker: NDArray[Any]
) -> Causes:
    """Why ready micro-ops did not issue: the port was given away, its unit busy, or neither."""
    busy = tables.busy[static[blocker]]
    taken_until = np.where(blocker >= 0, issue[blocker] + busy, 0)
    hold = np.where(busy > 1, Stall.UNIT.code, Stall.PORT.code)
    hold = np.where(taken_until < issue, Stall.ISSUE_WIDTH.code, hold)
    return np.where(issue > ready, hold, 0).astype(np.int8)
