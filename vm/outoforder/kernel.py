"""The numeric core of the out-of-order model: an event-driven machine over integer arrays.

Each cycle has five phases, in this order; what a phase frees, a later one can use at once.

1. *commit*: retired stores write the cache, in program order.
2. *retire*: instructions complete before this cycle leave the reorder buffer, in program order.
3. *issue*: micro-ops dispatched before this cycle whose operands are there go to free ports, the
   oldest first, each to the lowest free port it may use. A port stays taken for `busy` cycles.
4. *dispatch*: fetched instructions enter reorder buffer, scheduler and queues, in program order.
5. *fetch*: instructions enter the front end, until the width, a taken branch or a wrong guess.

Only cycles in which something can happen are visited. A micro-op knows how many producers have not
issued; when the last of them issues, the time at which it is ready is known and it goes to the
`wake` heap; at that time it moves to the ready heap of its class (micro-ops with the same ports),
so that a cycle looks at one micro-op per class and not at the whole scheduler.

Cache levels, branch outcomes and the store each load takes its data from are inputs, found in
program order. An instruction enters, dispatches and retires whole; one that is wider than the
machine does so alone. Arrays are lists in plain runs and NumPy arrays in compiled ones.
"""

from __future__ import annotations

from typing import NamedTuple

from vm.numeric import Ints, Table

# Places in `Work.now`: the scalars of the machine's state.
CYCLE, FETCHED, DISPATCHED, HEAD, NEXT_UOP, ROB_USED, SCHEDULER_USED, LOADS_USED = range(8)
STORE_FIRST, STORE_LAST, WAKE_SIZE, FREE_EDGE, BLOCKED_BY, REDIRECT, STORES_USED = range(8, 15)
NOW_SIZE = 15

# Places in `core`: the parameters.
FETCH_WIDTH, FETCH_QUEUE, RENAME_WIDTH, ISSUE_WIDTH, RETIRE_WIDTH, ROB, SCHEDULER = range(7)
LOAD_QUEUE, STORE_QUEUE, COMMIT_WIDTH, MISPREDICT, FORWARD, FORWARD_BLOCKED = range(7, 13)
MISS_LATENCY, PORTS, CLASSES = range(13, 16)
CORE_SIZE = 16

COMPUTE, LOAD, STORE_ADDRESS, STORE_DATA = range(4)
"""Micro-op roles, as in `isas.tables`."""

HIT, MISS, LINE_FILL, FORWARDED, BLOCKED = range(5)
"""Where a load's data came from (`Work.memory`)."""

KEY_SHIFT = 31
"""Heap keys are cycle << 31 | micro-op."""
KEY_MASK = (1 << KEY_SHIFT) - 1

ON_TIME, START, FETCH, TAKEN_BRANCH, BRANCH, DISPATCH = range(6)
REORDER_BUFFER, SCHEDULER_FULL, LOAD_QUEUE_FULL, STORE_QUEUE_FULL = range(6, 10)
"""Causes of a late fetch or dispatch, numbered here so that a compiled core depends on one file."""


# Tables are lists of columns; these are the columns' places.
# Static instructions (`Static.instructions`):
I_SLOTS, I_ENTRIES, I_LOADS, I_STORES, I_ALIAS, I_FIRST, I_END = range(7)
# Static micro-ops (`Static.uops`); the port class is -1 when it is done at rename:
S_ROLE, S_PORT_CLASS, S_LATENCY, S_BUSY, S_FIRST_READ, S_END_READ = range(6)
S_FIRST_WRITE, S_END_WRITE = range(6, 8)
# Reads of static micro-ops (`Static.reads`):
D_STORAGE, D_LATE = range(2)
# What happened to each row (`events`; see `vm.events`):
E_STATIC, E_IS_TAKEN, E_IS_MISPREDICTED, E_IS_MISS, E_OWNER = range(5)
E_SOURCE, E_IS_COVERED = range(5, 7)
# Rows (`Work.rows`): results, then state; `fill` is when the line it misses is there:
R_FETCH, R_DISPATCH, R_RETIRE, R_FETCH_CAUSE, R_FETCH_CULPRIT = range(5)
R_DISPATCH_CAUSE, R_DISPATCH_CULPRIT, R_FIRST_UOP, R_LEFT, R_DONE = range(5, 10)
R_COMMIT, R_FILL, R_STORE_DATA = range(10, 13)
R_COUNT = 13
# Micro-ops (`Work.uops`): results (`producer`: whose result came last; `blocker`: who held the
# port), then state (`edge`: first of the list of micro-ops that wait for it):
U_READY, U_ISSUE, U_COMPLETE, U_PORT, U_PRODUCER, U_BLOCKER, U_MEMORY = range(7)
U_STATIC, U_ROW, U_PENDING, U_EDGE = range(7, 11)
U_COUNT = 11
# Ports (`Work.ports`) and edges from producer to consumer (`Work.edges`, with a free list):
P_FREE, P_USER = range(2)
P_COUNT = 2
G_NEXT, G_UOP, G_LATE = range(3)
G_COUNT = 3


class Static(NamedTuple):
    """The program and the core's costs (see `isas.tables.MachineTables`)."""

    instructions: Table
    uops: Table
    reads: Table
    write_storage: Ints
    class_ports: Ints


class Work(NamedTuple):
    """The machine's state and the results."""

    now: Ints
    rows: Table
    uops: Table
    ports: Table
    edges: Table
    last_writer: Ints  # by storage
    wake: Ints
    ready_heap: Ints  # one stretch per class
    ready_size: Ints
    store_ring: Ints


def push(heap: Ints, base: int, size: int, key: int) -> None:
    """Adds `key` to the binary heap of `size` keys that starts at `base`."""
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        if heap[base + parent] <= key:
            break
        heap[base + i] = heap[base + parent]
        i = parent
    heap[base + i] = key


def pop(heap: Ints, base: int, size: int) -> int:
    """Removes and returns the least of `size` keys."""
    least = heap[base]
    last = size - 1
    key = heap[base + last]
    i = 0
    while 2 * i + 1 < last:
        child = 2 * i + 1
        if child + 1 < last and heap[base + child + 1] < heap[base + child]:
            child += 1
        if heap[base + child] >= key:
            break
        heap[base + i] = heap[base + child]
        i = child
    heap[base + i] = key
    return least


def commit_stores(w: Work, core: Ints) -> int:
    """Phase 1. Frees store queue entries of stores that retired before this cycle."""
    now = w.now
    count = 0
    while now[STORE_FIRST] < now[STORE_LAST] and count < core[COMMIT_WIDTH]:
        row = w.store_ring[now[STORE_FIRST] % len(w.store_ring)]
        if w.rows[R_RETIRE][row] < 0 or w.rows[R_RETIRE][row] >= now[CYCLE]:
            break
        w.rows[R_COMMIT][row] = now[CYCLE]
        now[STORE_FIRST] += 1
        count += 1
    return count


def retire_rows(p: Static, r: Table, w: Work, core: Ints) -> int:
    """Phase 2. Frees reorder buffer slots and load queue entries."""
    now = w.now
    used = 0
    while now[HEAD] < now[DISPATCHED]:
        row = now[HEAD]
        if w.rows[R_LEFT][row] > 0 or w.rows[R_DONE][row] >= now[CYCLE]:
            break
        slots = p.instructions[I_SLOTS][r[E_STATIC][row]]
        if used > 0 and used + slots > core[RETIRE_WIDTH]:
            break
        used += slots
        w.rows[R_RETIRE][row] = now[CYCLE]
        now[ROB_USED] -= slots
        now[LOADS_USED] -= p.instructions[I_LOADS][r[E_STATIC][row]]
        now[HEAD] += 1
    return used


def free_port(p: Static, w: Work, c: int, cycle: int) -> int:
    """The lowest port of class `c` that is free in this cycle, or -1."""
    mask = p.class_ports[c]
    port = 0
    while mask > 0:
        if mask & 1 and w.ports[P_FREE][port] <= cycle:
            return port
        mask >>= 1
        port += 1
    return -1


def issue_ready(p: Static, r: Table, w: Work, core: Ints) -> int:
    """Phase 3. Sends ready micro-ops to ports, the oldest first."""
    now = w.now
    cycle = now[CYCLE]
    capacity = len(w.wake)
    while now[WAKE_SIZE] > 0 and w.wake[0] >> KEY_SHIFT <= cycle:
        uop = pop(w.wake, 0, now[WAKE_SIZE]) & KEY_MASK
        now[WAKE_SIZE] -= 1
        c = p.uops[S_PORT_CLASS][w.uops[U_STATIC][uop]]
        push(w.ready_heap, c * capacity, w.ready_size[c], uop)
        w.ready_size[c] += 1
    count = 0
    while count < core[ISSUE_WIDTH]:
        best = -1
        best_class = -1
        best_port = -1
        for c in range(core[CLASSES]):
            if w.ready_size[c] > 0:
                uop = w.ready_heap[c * capacity]
                if best < 0 or uop < best:
                    port = free_port(p, w, c, cycle)
                    if port >= 0:
                        best = uop
                        best_class = c
                        best_port = port
        if best < 0:
            break
        pop(w.ready_heap, best_class * capacity, w.ready_size[best_class])
        w.ready_size[best_class] -= 1
        issue_uop(p, r, w, core, best, best_port)
        count += 1
    return count


def issue_uop(p: Static, r: Table, w: Work, core: Ints, uop: int, port: int) -> None:
    """Takes the port, fixes the completion and tells the consumers."""
    now = w.now
    cycle = now[CYCLE]
    static = w.uops[U_STATIC][uop]
    row = w.uops[U_ROW][uop]
    latency = p.uops[S_LATENCY][static]
    if p.uops[S_ROLE][static] == LOAD:
        latency = load_latency(r, w, core, uop, row, latency)
    elif p.uops[S_ROLE][static] == STORE_ADDRESS and r[E_IS_MISS][row] and w.rows[R_FILL][row] < 0:
        w.rows[R_FILL][row] = cycle + latency + core[MISS_LATENCY]
    if w.uops[U_READY][uop] < cycle:
        w.uops[U_BLOCKER][uop] = w.ports[P_USER][port]
    w.uops[U_ISSUE][uop] = cycle
    w.uops[U_PORT][uop] = port
    w.ports[P_USER][port] = uop
    w.ports[P_FREE][port] = cycle + p.uops[S_BUSY][static]
    now[SCHEDULER_USED] -= 1
    finish(r, w, core, uop, row, cycle + latency)
    wake_consumers(w, uop)


def finish(r: Table, w: Work, core: Ints, uop: int, row: int, complete: int) -> None:
    """Notes a completion; a mispredicted branch restarts the front end when it is complete."""
    w.uops[U_COMPLETE][uop] = complete
    w.rows[R_LEFT][row] -= 1
    if complete > w.rows[R_DONE][row]:
        w.rows[R_DONE][row] = complete
    if w.rows[R_LEFT][row] == 0 and row == w.now[BLOCKED_BY]:
        w.now[REDIRECT] = w.rows[R_DONE][row] + core[MISPREDICT] - 1


def load_latency(r: Table, w: Work, core: Ints, uop: int, row: int, hit: int) -> int:
    """Cycles until the data is there: forwarded, in the cache, on its way, or in memory."""
    cycle = w.now[CYCLE]
    source = r[E_SOURCE][row]
    if source >= 0 and w.rows[R_COMMIT][source] < 0:
        w.uops[U_MEMORY][uop] = FORWARDED if r[E_IS_COVERED][row] else BLOCKED
        return core[FORWARD] if r[E_IS_COVERED][row] else core[FORWARD_BLOCKED]
    latency = hit
    owner = r[E_OWNER][row]
    # A hit that asks before the older access that brings the line is a miss, too.
    if r[E_IS_MISS][row] or (owner >= 0 and w.rows[R_FILL][owner] < 0):
        w.uops[U_MEMORY][uop] = MISS
        latency = hit + core[MISS_LATENCY]
    elif owner >= 0 and w.rows[R_FILL][owner] > cycle + hit:
        w.uops[U_MEMORY][uop] = LINE_FILL
        latency = w.rows[R_FILL][owner] - cycle
    if w.rows[R_FILL][row] < 0:
        w.rows[R_FILL][row] = cycle + latency
    return latency


def wake_consumers(w: Work, uop: int) -> None:
    """Gives the micro-ops that wait for `uop` its completion time."""
    edge = w.uops[U_EDGE][uop]
    while edge >= 0:
        consumer = w.edges[G_UOP][edge]
        operand_ready(w, consumer, uop, w.edges[G_LATE][edge])
        w.uops[U_PENDING][consumer] -= 1
        if w.uops[U_PENDING][consumer] == 0:
            sleep(w, consumer)
        following = w.edges[G_NEXT][edge]
        w.edges[G_NEXT][edge] = w.now[FREE_EDGE]
        w.now[FREE_EDGE] = edge
        edge = following
    w.uops[U_EDGE][uop] = -1


def operand_ready(w: Work, consumer: int, producer: int, late: int) -> None:
    """Moves the consumer's ready time to when this operand is there, if that is later.

    However late an operand may come, the consumer issues after the producer.
    """
    ready = max(w.uops[U_COMPLETE][producer] - late, w.uops[U_ISSUE][producer] + 1)
    if ready > w.uops[U_READY][consumer]:
        w.uops[U_READY][consumer] = ready
        w.uops[U_PRODUCER][consumer] = producer


def sleep(w: Work, uop: int) -> None:
    """Puts a micro-op whose ready time is known into the wake heap."""
    push(w.wake, 0, w.now[WAKE_SIZE], w.uops[U_READY][uop] << KEY_SHIFT | uop)
    w.now[WAKE_SIZE] += 1


def depend(w: Work, consumer: int, producer: int, late: int) -> None:
    """Makes `consumer` wait for `producer` (-1: nothing to wait for)."""
    if producer < 0:
        return
    if w.uops[U_COMPLETE][producer] >= 0:
        operand_ready(w, consumer, producer, late)
        return
    edge = w.now[FREE_EDGE]
    w.now[FREE_EDGE] = w.edges[G_NEXT][edge]
    w.edges[G_NEXT][edge] = w.uops[U_EDGE][producer]
    w.edges[G_UOP][edge] = consumer
    w.edges[G_LATE][edge] = late
    w.uops[U_EDGE][producer] = edge
    w.uops[U_PENDING][consumer] += 1


def why_not_dispatch(p: Static, w: Work, core: Ints, instruction: int, used: int) -> int:
    """The cause that keeps the next instruction from dispatching now, or -1."""
    now = w.now
    slots = p.instructions[I_SLOTS][instruction]
    if used > 0 and used + slots > core[RENAME_WIDTH]:
        return DISPATCH
    if now[ROB_USED] > 0 and now[ROB_USED] + slots > core[ROB]:
        return REORDER_BUFFER
    entries, used_entries = p.instructions[I_ENTRIES][instruction], now[SCHEDULER_USED]
    if entries > 0 and used_entries > 0 and used_entries + entries > core[SCHEDULER]:
        return SCHEDULER_FULL
    loads = p.instructions[I_LOADS][instruction]
    if loads > 0 and now[LOADS_USED] > 0 and now[LOADS_USED] + loads > core[LOAD_QUEUE]:
        return LOAD_QUEUE_FULL
    stores = now[STORE_LAST] - now[STORE_FIRST]
    if p.instructions[I_STORES][instruction] > 0 and stores >= core[STORE_QUEUE]:
        return STORE_QUEUE_FULL
    return -1


def dispatch_rows(p: Static, r: Table, w: Work, core: Ints) -> int:
    """Phase 4. Moves fetched instructions into the reorder buffer, scheduler and queues."""
    now = w.now
    used = 0
    while now[DISPATCHED] < now[FETCHED] and w.rows[R_FETCH][now[DISPATCHED]] < now[CYCLE]:
        row = now[DISPATCHED]
        instruction = r[E_STATIC][row]
        cause = why_not_dispatch(p, w, core, instruction, used)
        if cause >= 0:
            w.rows[R_DISPATCH_CAUSE][row] = cause
            w.rows[R_DISPATCH_CULPRIT][row] = now[HEAD]
            if cause == STORE_QUEUE_FULL:
                w.rows[R_DISPATCH_CULPRIT][row] = w.store_ring[now[STORE_FIRST] % len(w.store_ring)]
            break
        used += p.instructions[I_SLOTS][instruction]
        w.rows[R_DISPATCH][row] = now[CYCLE]
        now[ROB_USED] += p.instructions[I_SLOTS][instruction]
        now[DISPATCHED] += 1
        enter(p, r, w, core, row, instruction)
    return used


def enter(p: Static, r: Table, w: Work, core: Ints, row: int, instruction: int) -> None:
    """Renames one instruction: its micro-ops get their producers and become the last writers."""
    now = w.now
    first = p.instructions[I_FIRST][instruction]
    last = p.instructions[I_END][instruction]
    w.rows[R_FIRST_UOP][row] = now[NEXT_UOP]
    w.rows[R_LEFT][row] = last - first
    w.rows[R_DONE][row] = now[CYCLE]
    now[LOADS_USED] += p.instructions[I_LOADS][instruction]
    if p.instructions[I_STORES][instruction] > 0:
        w.store_ring[now[STORE_LAST] % len(w.store_ring)] = row
        now[STORE_LAST] += 1
    for static in range(first, last):
        uop = now[NEXT_UOP]
        now[NEXT_UOP] += 1
        w.uops[U_STATIC][uop] = static
        w.uops[U_ROW][uop] = row
        w.uops[U_READY][uop] = now[CYCLE] + 1
        if p.uops[S_ROLE][static] == STORE_DATA:
            w.rows[R_STORE_DATA][row] = uop
        if p.uops[S_PORT_CLASS][static] < 0:
            rename_only(p, r, w, core, uop, row)
        else:
            enter_scheduler(p, r, w, uop, row)


def rename_only(p: Static, r: Table, w: Work, core: Ints, uop: int, row: int) -> None:
    """An eliminated micro-op completes as it is renamed; a move passes its source's producer on."""
    static = w.uops[U_STATIC][uop]
    w.uops[U_READY][uop] = w.now[CYCLE]
    w.uops[U_ISSUE][uop] = w.now[CYCLE]
    writer = uop
    if p.instructions[I_ALIAS][r[E_STATIC][row]] >= 0:
        writer = w.last_writer[p.instructions[I_ALIAS][r[E_STATIC][row]]]
    for i in range(p.uops[S_FIRST_WRITE][static], p.uops[S_END_WRITE][static]):
        w.last_writer[p.write_storage[i]] = writer
    finish(r, w, core, uop, row, w.now[CYCLE])


def enter_scheduler(p: Static, r: Table, w: Work, uop: int, row: int) -> None:
    """Finds the producers of a micro-op and puts it to sleep when all their times are known."""
    static = w.uops[U_STATIC][uop]
    w.now[SCHEDULER_USED] += 1
    for i in range(p.uops[S_FIRST_READ][static], p.uops[S_END_READ][static]):
        depend(w, uop, w.last_writer[p.reads[D_STORAGE][i]], p.reads[D_LATE][i])
    source = r[E_SOURCE][row]
    if p.uops[S_ROLE][static] == LOAD and source >= 0 and w.rows[R_COMMIT][source] < 0:
        depend(w, uop, w.rows[R_STORE_DATA][source], 0)
    for i in range(p.uops[S_FIRST_WRITE][static], p.uops[S_END_WRITE][static]):
        w.last_writer[p.write_storage[i]] = uop
    if w.uops[U_PENDING][uop] == 0:
        sleep(w, uop)


def fetch_rows(r: Table, w: Work, core: Ints) -> int:
    """Phase 5. Brings instructions into the front end and notes what stops it."""
    now = w.now
    count = 0
    while now[FETCHED] < len(w.rows[R_FETCH]):
        row = now[FETCHED]
        if now[BLOCKED_BY] >= 0:
            if now[REDIRECT] < 0 or now[CYCLE] < now[REDIRECT]:
                w.rows[R_FETCH_CAUSE][row] = BRANCH
                w.rows[R_FETCH_CULPRIT][row] = now[BLOCKED_BY]
                break
            now[BLOCKED_BY] = -1
            now[REDIRECT] = -1
        if count >= core[FETCH_WIDTH]:
            w.rows[R_FETCH_CAUSE][row] = FETCH
            break
        if row - now[DISPATCHED] >= core[FETCH_QUEUE]:
            w.rows[R_FETCH_CAUSE][row] = DISPATCH
            w.rows[R_FETCH_CULPRIT][row] = now[DISPATCHED]
            break
        w.rows[R_FETCH][row] = now[CYCLE]
        now[FETCHED] += 1
        count += 1
        if r[E_IS_MISPREDICTED][row]:
            now[BLOCKED_BY] = row
        elif r[E_IS_TAKEN][row]:
            if now[FETCHED] < len(w.rows[R_FETCH]):
                w.rows[R_FETCH_CAUSE][row + 1] = TAKEN_BRANCH
                w.rows[R_FETCH_CULPRIT][row + 1] = row
            break
    return count


def next_event(p: Static, w: Work, core: Ints) -> int:
    """The first later cycle in which anything can happen, when nothing did now; -1: never."""
    now = w.now
    cycle = now[CYCLE]
    best = -1
    if now[WAKE_SIZE] > 0:
        best = w.wake[0] >> KEY_SHIFT
    for c in range(core[CLASSES]):
        if w.ready_size[c] > 0:
            for port in range(core[PORTS]):
                if p.class_ports[c] >> port & 1 and w.ports[P_FREE][port] > cycle:
                    best = sooner(best, w.ports[P_FREE][port])
    head = now[HEAD]
    if head < now[DISPATCHED] and w.rows[R_LEFT][head] == 0:
        best = sooner(best, w.rows[R_DONE][head] + 1)
    if now[REDIRECT] > cycle:
        best = sooner(best, now[REDIRECT])
    return best


def sooner(one: int, other: int) -> int:
    """The lesser of two cycles, where -1 as the first means never."""
    return other if one < 0 or other < one else one


def prepare(w: Work) -> int:
    """Sets what does not start at -1 (tables of rows and micro-ops) or 0 (everything else)."""
    for row in range(len(w.rows[R_LEFT])):
        w.rows[R_FETCH_CAUSE][row] = ON_TIME
        w.rows[R_DISPATCH_CAUSE][row] = ON_TIME
        w.rows[R_LEFT][row] = 0
    for uop in range(len(w.uops[U_READY])):
        w.uops[U_READY][uop] = 0
        w.uops[U_MEMORY][uop] = HIT
        w.uops[U_PENDING][uop] = 0
    for port in range(len(w.ports[P_USER])):
        w.ports[P_USER][port] = -1
    edges = len(w.edges[G_NEXT])
    for edge in range(edges):
        w.edges[G_NEXT][edge] = edge + 1 if edge + 1 < edges else -1
    w.now[BLOCKED_BY] = -1
    w.now[REDIRECT] = -1
    return edges


def simulate(p: Static, r: Table, w: Work, core: Ints) -> int:
    """Runs all rows; returns the number of cycles, or -1 when the machine cannot go on."""
    now = w.now
    prepare(w)
    rows = len(w.rows[R_FETCH])
    if rows > 0:
        w.rows[R_FETCH_CAUSE][0] = START
    while now[HEAD] < rows:
        moved = commit_stores(w, core)
        moved += retire_rows(p, r, w, core)
        moved += issue_ready(p, r, w, core)
        moved += dispatch_rows(p, r, w, core)
        moved += fetch_rows(r, w, core)
        if moved > 0:
            now[CYCLE] += 1
        else:
            now[CYCLE] = next_event(p, w, core)
            if now[CYCLE] < 0:
                return -1
    return w.rows[R_RETIRE][rows - 1] + 1 if rows > 0 else 0


FUNCTIONS = (
    push, pop, commit_stores, retire_rows, free_port, load_latency, operand_ready,
    sleep, depend, wake_consumers, finish, issue_uop, issue_ready, why_not_dispatch, rename_only,
    enter_scheduler, enter, dispatch_rows, fetch_rows, sooner, next_event, prepare, simulate,
)  # fmt: skip
"""The functions to compile, callees first."""
