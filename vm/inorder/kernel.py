"""The numeric core of the in-order model: program order, one instruction after the other.

Nothing overtakes, so every cycle of an instruction follows from the cycles of older ones, and no
clock is needed. An instruction is fetched, decoded in the next cycle, and then its micro-ops issue
one by one, in program order. A micro-op issues in the first cycle in which

- it is at least the cycle after decoding, and no older micro-op has yet to issue,
- fewer than `issue width` micro-ops have issued in it,
- its operands are there (a scoreboard keeps when each storage's value can be used),
- its result comes after that of an older instruction that writes the same storage,
- a port that it may use is free (ports stay taken for `busy` cycles), and
- no instruction that it may not be paired with has issued in it.

Results are written back in program order. A mispredicted branch restarts fetching when it is
complete. Loads find their line in the cache, on its way, or in memory; a miss stops nobody but
those who need its value. Arrays are lists in plain runs and NumPy arrays in compiled ones.
"""

from __future__ import annotations

from typing import NamedTuple

from vm.numeric import Ints, Table

# Places in `Work.now`: what the next instruction meets in each stage.
FETCH_AT, FETCHED, STOPPED_BY, ISSUE_AT, ISSUED, ISSUED_CLASSES, RETIRE_AT, RETIRED = range(8)
NEXT_UOP, LATE_CAUSE, LATE_CULPRIT, PAIRED_ROW = range(8, 12)
NOW_SIZE = 12

# Places in `core`: the parameters.
FETCH_WIDTH, FETCH_QUEUE, ISSUE_WIDTH, RETIRE_WIDTH, MISPREDICT, MISS_LATENCY, STORAGES = range(7)
CORE_SIZE = 7

COMPUTE, LOAD, STORE_ADDRESS, STORE_DATA = range(4)
"""Micro-op roles, as in `isas.tables`."""

HIT, MISS, LINE_FILL = range(3)
"""Where a load's data came from (U_MEMORY)."""

ON_TIME, START, FETCH, TAKEN_BRANCH, BRANCH, QUEUE = range(6)
"""Causes of a late fetch, numbered here so that a compiled core depends on one file."""

ORDER, WIDTH, OVERWRITE, PORT, UNIT, PAIRING = range(1, 7)
"""Causes of a late issue (U_HOLD); 0: none."""

# Tables are lists of columns; these are the columns' places.
# Static instructions (`Static.instructions`):
I_SLOTS, I_PAIRING, I_FIRST, I_END = range(4)
# Static micro-ops (`Static.uops`):
S_ROLE, S_PORTS, S_LATENCY, S_BUSY, S_FIRST_READ, S_END_READ, S_FIRST_WRITE, S_END_WRITE = range(8)
# Reads of static micro-ops (`Static.reads`):
D_STORAGE, D_LATE = range(2)
# What happened to each row (`events`; see `vm.events`):
E_STATIC, E_IS_TAKEN, E_IS_MISPREDICTED, E_IS_MISS, E_OWNER = range(5)
# Rows (`Work.rows`): results, then state:
R_FETCH, R_RETIRE, R_FETCH_CAUSE, R_FETCH_CULPRIT, R_ISSUED, R_COMPLETE, R_FILL = range(7)
R_COUNT = 7
# Micro-ops (`Work.uops`):
U_ROW, U_STATIC, U_READY, U_ISSUE, U_COMPLETE, U_PORT, U_PRODUCER, U_HOLD, U_BLOCKER = range(9)
U_MEMORY = 9
U_COUNT = 10
# Ports (`Work.ports`):
P_FREE, P_USER = range(2)
P_COUNT = 2


class Static(NamedTuple):
    """The program and the core's costs (see `isas.tables.MachineTables`)."""

    instructions: Table
    uops: Table
    reads: Table
    write_storage: Ints
    forbidden: Ints


class Work(NamedTuple):
    """The machine's state and the results."""

    now: Ints
    rows: Table
    uops: Table
    ports: Table
    last_writer: Ints  # by storage


def late_fetch(w: Work, cycle: int, cause: int, culprit: int) -> None:
    """Moves the front end to a later cycle, if it is one, and remembers why."""
    now = w.now
    if cycle > now[FETCH_AT]:
        now[FETCH_AT] = cycle
        now[FETCHED] = 0
        now[LATE_CAUSE] = cause
        now[LATE_CULPRIT] = culprit


def fetch_row(r: Table, w: Work, core: Ints, row: int) -> None:
    """The cycle in which a row is fetched, and what kept it from being fetched earlier."""
    now = w.now
    now[LATE_CAUSE] = START if row == 0 else ON_TIME
    now[LATE_CULPRIT] = -1
    if now[FETCHED] >= core[FETCH_WIDTH]:
        late_fetch(w, now[FETCH_AT] + 1, FETCH, -1)
    if row > 0 and r[E_IS_MISPREDICTED][row - 1]:
        restart = w.rows[R_COMPLETE][row - 1] + core[MISPREDICT] - 1
        late_fetch(w, restart, BRANCH, row - 1)
    elif row > 0 and r[E_IS_TAKEN][row - 1]:
        late_fetch(w, w.rows[R_FETCH][row - 1] + 1, TAKEN_BRANCH, row - 1)
    oldest = row - core[FETCH_QUEUE]
    if oldest >= 0:
        late_fetch(w, w.rows[R_ISSUED][oldest], QUEUE, oldest)
    w.rows[R_FETCH][row] = now[FETCH_AT]
    w.rows[R_FETCH_CAUSE][row] = now[LATE_CAUSE]
    w.rows[R_FETCH_CULPRIT][row] = now[LATE_CULPRIT]
    now[FETCHED] += 1


def find_operands(p: Static, w: Work, uop: int, static: int) -> None:
    """The first cycle in which all operands are there, and the producer of the last."""
    for i in range(p.uops[S_FIRST_READ][static], p.uops[S_END_READ][static]):
        writer = w.last_writer[p.reads[D_STORAGE][i]]
        if writer >= 0:
            ready = w.uops[U_COMPLETE][writer] - p.reads[D_LATE][i]
            ready = max(ready, w.uops[U_ISSUE][writer] + 1)
            if ready > w.uops[U_READY][uop]:
                w.uops[U_READY][uop] = ready
                w.uops[U_PRODUCER][uop] = writer


def free_port(w: Work, mask: int, cycle: int) -> int:
    """The lowest port of `mask` that is free in this cycle, or -1."""
    port = 0
    while mask > 0:
        if mask & 1 and w.ports[P_FREE][port] <= cycle:
            return port
        mask >>= 1
        port += 1
    return -1


def first_free(w: Work, mask: int) -> int:
    """The port of `mask` that is free first."""
    best = -1
    for port in range(len(w.ports[P_FREE])):
        if mask >> port & 1 and (best < 0 or w.ports[P_FREE][port] < w.ports[P_FREE][best]):
            best = port
    return best


def latency_at(p: Static, r: Table, w: Work, core: Ints, uop: int, cycle: int) -> int:
    """Cycles from an issue in `cycle` to the result: a load's depends on the cache."""
    static, row = w.uops[U_STATIC][uop], w.uops[U_ROW][uop]
    latency = p.uops[S_LATENCY][static]
    w.uops[U_MEMORY][uop] = HIT
    if p.uops[S_ROLE][static] != LOAD:
        return latency
    owner = r[E_OWNER][row]
    if r[E_IS_MISS][row]:
        w.uops[U_MEMORY][uop] = MISS
        return latency + core[MISS_LATENCY]
    if owner >= 0 and w.rows[R_FILL][owner] > cycle + latency:
        w.uops[U_MEMORY][uop] = LINE_FILL
        return w.rows[R_FILL][owner] - cycle
    return latency


def overwritten(p: Static, w: Work, core: Ints, static: int, complete: int) -> int:
    """An older micro-op that would write one of the same storages no earlier, or -1."""
    for i in range(p.uops[S_FIRST_WRITE][static], p.uops[S_END_WRITE][static]):
        storage = p.write_storage[i]
        writer = w.last_writer[storage]
        if storage < core[STORAGES] and writer >= 0 and w.uops[U_COMPLETE][writer] >= complete:
            return writer
    return -1


def hold(w: Work, uop: int, cause: int, blocker: int) -> None:
    """Remembers the latest thing that kept a ready micro-op from issuing."""
    w.uops[U_HOLD][uop] = cause
    w.uops[U_BLOCKER][uop] = blocker


def find_cycle(p: Static, r: Table, w: Work, core: Ints, uop: int) -> int:
    """The cycle in which a micro-op issues, and what kept it longer: older ones or its own need."""
    now = w.now
    static, row = w.uops[U_STATIC][uop], w.uops[U_ROW][uop]
    mask = p.uops[S_PORTS][static]
    forbidden = p.forbidden[p.instructions[I_PAIRING][r[E_STATIC][row]]]
    ready = w.uops[U_READY][uop]
    first = max(ready, now[ISSUE_AT])
    cycle = first
    while True:
        if cycle == now[ISSUE_AT] and now[ISSUED] >= core[ISSUE_WIDTH]:
            hold(w, uop, WIDTH, uop - 1)
            cycle += 1
        elif cycle == now[ISSUE_AT] and forbidden & now[ISSUED_CLASSES]:
            hold(w, uop, PAIRING, now[PAIRED_ROW])
            cycle += 1
        elif mask > 0 and free_port(w, mask, cycle) < 0:
            port = first_free(w, mask)
            user = w.ports[P_USER][port]
            is_busy = p.uops[S_BUSY][w.uops[U_STATIC][user]] > 1
            hold(w, uop, UNIT if is_busy else PORT, user)
            cycle = w.ports[P_FREE][port]
        else:
            complete = cycle + latency_at(p, r, w, core, uop, cycle)
            writer = overwritten(p, w, core, static, complete)
            if writer < 0:
                break
            hold(w, uop, OVERWRITE, writer)
            cycle += 1
    if first - ready > cycle - first:
        hold(w, uop, ORDER, uop - 1)
    return cycle


def issue_uop(p: Static, r: Table, w: Work, core: Ints, uop: int) -> None:
    """Issues the next micro-op: takes its port and writes its results' times."""
    now = w.now
    static, row = w.uops[U_STATIC][uop], w.uops[U_ROW][uop]
    find_operands(p, w, uop, static)
    cycle = find_cycle(p, r, w, core, uop)
    if cycle > now[ISSUE_AT]:
        now[ISSUE_AT] = cycle
        now[ISSUED] = 0
        now[ISSUED_CLASSES] = 0
    now[ISSUED] += 1
    latency = latency_at(p, r, w, core, uop, cycle)
    w.uops[U_ISSUE][uop] = cycle
    w.uops[U_COMPLETE][uop] = cycle + latency
    if p.uops[S_PORTS][static] > 0:
        port = free_port(w, p.uops[S_PORTS][static], cycle)
        w.uops[U_PORT][uop] = port
        w.ports[P_FREE][port] = cycle + p.uops[S_BUSY][static]
        w.ports[P_USER][port] = uop
    if p.uops[S_ROLE][static] != COMPUTE and w.rows[R_FILL][row] < 0:
        is_late = r[E_IS_MISS][row] and p.uops[S_ROLE][static] != LOAD
        w.rows[R_FILL][row] = cycle + latency + (core[MISS_LATENCY] if is_late else 0)
    for i in range(p.uops[S_FIRST_WRITE][static], p.uops[S_END_WRITE][static]):
        w.last_writer[p.write_storage[i]] = uop


def issue_row(p: Static, r: Table, w: Work, core: Ints, row: int) -> None:
    """Issues all micro-ops of a row; others may not be paired with it in the last one's cycle."""
    now = w.now
    instruction = r[E_STATIC][row]
    for static in range(p.instructions[I_FIRST][instruction], p.instructions[I_END][instruction]):
        uop = now[NEXT_UOP]
        now[NEXT_UOP] += 1
        w.uops[U_ROW][uop] = row
        w.uops[U_STATIC][uop] = static
        w.uops[U_READY][uop] = w.rows[R_FETCH][row] + 2
        w.uops[U_HOLD][uop] = 0
        issue_uop(p, r, w, core, uop)
        if w.uops[U_COMPLETE][uop] > w.rows[R_COMPLETE][row]:
            w.rows[R_COMPLETE][row] = w.uops[U_COMPLETE][uop]
    w.rows[R_ISSUED][row] = now[ISSUE_AT]
    now[ISSUED_CLASSES] |= 1 << p.instructions[I_PAIRING][instruction]
    now[PAIRED_ROW] = now[NEXT_UOP] - 1


def retire_row(p: Static, r: Table, w: Work, core: Ints, row: int) -> None:
    """Writes a row back, in program order."""
    now = w.now
    slots = p.instructions[I_SLOTS][r[E_STATIC][row]]
    cycle = max(w.rows[R_COMPLETE][row] + 1, now[RETIRE_AT])
    if cycle == now[RETIRE_AT] and now[RETIRED] > 0 and now[RETIRED] + slots > core[RETIRE_WIDTH]:
        cycle += 1
    if cycle > now[RETIRE_AT]:
        now[RETIRE_AT] = cycle
        now[RETIRED] = 0
    now[RETIRED] += slots
    w.rows[R_RETIRE][row] = cycle


def simulate(p: Static, r: Table, w: Work, core: Ints) -> int:
    """Runs all rows; returns the number of cycles."""
    for port in range(len(w.ports[P_USER])):
        w.ports[P_USER][port] = -1
    rows = len(w.rows[R_FETCH])
    for row in range(rows):
        fetch_row(r, w, core, row)
        issue_row(p, r, w, core, row)
        retire_row(p, r, w, core, row)
    return w.now[RETIRE_AT] + 1 if rows > 0 else 0


FUNCTIONS = (
    late_fetch, fetch_row, find_operands, free_port, first_free, latency_at, overwritten, hold,
    find_cycle, issue_uop, issue_row, retire_row, simulate,
)  # fmt: skip
"""The functions to compile, callees first."""
