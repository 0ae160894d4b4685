"""In-order timing of a CPU run: from core and events to arrays, from arrays to a timeline.

The machine itself is `kernel`; its rules are told there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isas.cores import Core, Order
from isas.tables import MachineTables
from vm import numeric
from vm.charges import Columns, charge
from vm.events import Events
from vm.inorder import kernel
from vm.numeric import Arrays, Ints
from vm.stalls import Stall
from vm.stream import Stream
from vm.timeline import Column, MicroOpRows, Timeline, causes, column

_CAUSES = (
    Stall.RETIRING, Stall.START, Stall.FETCH, Stall.TAKEN_BRANCH, Stall.BRANCH, Stall.FETCH
)  # fmt: skip
"""The kernel's causes of a late fetch in words; 0 is no delay."""

_HOLDS = (
    Stall.RETIRING, Stall.ISSUE_ORDER, Stall.ISSUE_WIDTH, Stall.OVERWRITE, Stall.PORT, Stall.UNIT,
    Stall.PAIRING,
)  # fmt: skip
"""The kernel's causes of a late issue in words; 0 is no delay."""

_RUNS = (Stall.RETIRING, Stall.CACHE_MISS, Stall.CACHE_MISS)
"""Where a load's data came from, as the cause of its time; 0 is the cache, as usual."""

_WINDOW_CYCLES = 8
"""Fetched instructions a core holds before issue when its file does not say: so many cycles'."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """Widths (per cycle), sizes and latencies (cycles) of an in-order core."""

    fetch_width: int
    fetch_queue: int
    issue_width: int
    retire_width: int
    mispredict: int
    miss_latency: int
    ports: tuple[str, ...]


def parameters_of(core: Core) -> Parameters:
    """What an in-order core's file says, with the defaults it leaves to us."""
    return Parameters(
        fetch_width=core.fetch_width,
        fetch_queue=core.fetch_queue or _WINDOW_CYCLES * core.fetch_width,
        issue_width=core.issue_width,
        retire_width=core.retire_width,
        mispredict=max(1, core.mispredict_cycles),
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
    """The timeline of a CPU stream on an in-order core."""
    arrays = Arrays(is_compiled)
    counts = np.diff(tables.first_micro_op)[events.static]
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    work = kernel.Work(
        now=arrays.full(kernel.NOW_SIZE),
        rows=arrays.full_table(kernel.R_COUNT, len(events), -1),
        uops=arrays.full_table(kernel.U_COUNT, int(first[-1]), -1),
        ports=arrays.full_table(kernel.P_COUNT, len(parameters.ports)),
        last_writer=arrays.full(tables.storage_count, -1),
    )
    happened = arrays.table(
        [events.static, events.is_taken, events.is_mispredicted, events.is_miss, events.owner]
    )
    core = _core(tables, parameters, arrays)
    cycles = numeric.run(
        kernel.FUNCTIONS, is_compiled, _static(tables, arrays), happened, work, core
    )
    return _timeline(stream, tables, events, parameters, work, first, cycles)


def _static(tables: MachineTables, arrays: Arrays) -> kernel.Static:
    return kernel.Static(
        instructions=arrays.table(
            [tables.slots, tables.pairing, tables.first_micro_op[:-1], tables.first_micro_op[1:]]
        ),
        uops=arrays.table(
            [tables.role, tables.ports, tables.latency, tables.busy]
            + [tables.first_read[:-1], tables.first_read[1:]]
            + [tables.first_write[:-1], tables.first_write[1:]]
        ),
        reads=arrays.table([tables.read_storage, tables.read_late]),
        write_storage=arrays.take(tables.write_storage),
        forbidden=arrays.take(tables.forbidden),
    )


def _core(tables: MachineTables, parameters: Parameters, arrays: Arrays) -> Ints:
    core = arrays.full(kernel.CORE_SIZE)
    core[kernel.FETCH_WIDTH] = parameters.fetch_width
    core[kernel.FETCH_QUEUE] = parameters.fetch_queue
    core[kernel.ISSUE_WIDTH] = parameters.issue_width
    core[kernel.RETIRE_WIDTH] = parameters.retire_width
    core[kernel.MISPREDICT] = parameters.mispredict
    core[kernel.MISS_LATENCY] = parameters.miss_latency
    core[kernel.STORAGES] = len(tables.storages)
    return core


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
    fetch = column(rows[kernel.R_FETCH])
    columns = Columns(
        fetch=fetch,
        dispatch=fetch + 1,
        retire=column(rows[kernel.R_RETIRE]),
        fetch_cause=causes(rows[kernel.R_FETCH_CAUSE], _CAUSES),
        dispatch_cause=np.zeros(len(static), np.int8),
    )
    micro_ops = _micro_ops(work, events, columns.dispatch)
    return Timeline(
        order=Order.IN_ORDER,
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
        dispatch_culprit=np.full(len(static), -1, np.int32),
        first_micro_op=first,
        micro_ops=micro_ops,
        charges=charge(columns, micro_ops, first, tables, static, parameters.retire_width),
    )


def _micro_ops(work: kernel.Work, events: Events, decode: Column) -> MicroOpRows:
    uops = work.uops
    row = column(uops[kernel.U_ROW])
    ready = column(uops[kernel.U_READY])
    is_late = ready > decode[row] + 1
    memory = np.asarray(uops[kernel.U_MEMORY], dtype=np.int64)
    culprit = np.where(memory == kernel.LINE_FILL, events.owner[row], row)
    return MicroOpRows(
        row=row,
        static=column(uops[kernel.U_STATIC]),
        ready=ready,
        issue=column(uops[kernel.U_ISSUE]),
        complete=column(uops[kernel.U_COMPLETE]),
        port=column(uops[kernel.U_PORT]),
        wait=np.where(is_late, Stall.DATA.code, 0).astype(np.int8),
        producer=column(uops[kernel.U_PRODUCER]),
        hold=causes(uops[kernel.U_HOLD], _HOLDS),
        blocker=column(uops[kernel.U_BLOCKER]),
        run=causes(memory, _RUNS),
        run_culprit=column(np.where(memory > 0, culprit, -1)),
    )
