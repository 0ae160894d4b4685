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

from vm.numeric import Ints

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


class Static(NamedTuple):
    """Per static instruction and per static micro-op (see `isas.tables.MachineTables`)."""

    slots: Ints
    entries: Ints  # scheduler entries it needs
    loads: Ints  # load queue entries
    stores: Ints  # store queue entries, 0 or 1
    alias: Ints  # storage whose value an eliminated move passes on, or -1
    first: Ints  # first micro-op of the instruction; one more entry than instructions
    role: Ints
    port_class: Ints  # -1: done at rename
    latency: Ints
    busy: Ints
    first_read: Ints
    read_storage: Ints
    read_late: Ints
    first_write: Ints
    write_storage: Ints
    class_ports: Ints  # port masks by class


class Rows(NamedTuple):
    """Per dynamic instruction: what happened, found in program order."""

    static: Ints
    is_taken: Ints
    is_mispredicted: Ints
    is_miss: Ints
    owner: Ints  # row that brought the line in, or -1
    source: Ints  # youngest older store that overlaps, or -1
    is_covered: Ints  # that store has every byte


class Work(NamedTuple):
    """The machine's state and the results."""

    now: Ints
    # results, per row
    fetch: Ints
    dispatch: Ints
    retire: Ints
    fetch_cause: Ints
    fetch_culprit: Ints
    dispatch_cause: Ints
    dispatch_culprit: Ints
    # results, per dynamic micro-op
    ready: Ints
    issue: Ints
    complete: Ints
    port: Ints
    producer: Ints  # micro-op whose result came last, or -1
    blocker: Ints  # micro-op that held the port, or -1
    memory: Ints
    # state, per row
    first_uop: Ints
    left: Ints
    done: Ints
    commit: Ints
    fill: Ints
    store_data: Ints
    # state, per dynamic micro-op
    static_uop: Ints
    row: Ints
    pending: Ints
    edge_head: Ints
    # state of the machine
    last_writer: Ints  # by storage
    port_free: Ints
    port_user: Ints
    edge_next: Ints
    edge_uop: Ints
    edge_late: Ints
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
        if w.retire[row] < 0 or w.retire[row] >= now[CYCLE]:
            break
        w.commit[row] = now[CYCLE]
        now[STORE_FIRST] += 1
        count += 1
    return count


def retire_rows(p: Static, r: Rows, w: Work, core: Ints) -> int:
    """Phase 2. Frees reorder buffer slots and load queue entries."""
    now = w.now
    used = 0
    while now[HEAD] < now[DISPATCHED]:
        row = now[HEAD]
        if w.left[row] > 0 or w.done[row] >= now[CYCLE]:
            break
        slots = p.slots[r.static[row]]
        if used > 0 and used + slots > core[RETIRE_WIDTH]:
            break
        used += slots
        w.retire[row] = now[CYCLE]
        now[ROB_USED] -= slots
        now[LOADS_USED] -= p.loads[r.static[row]]
        now[HEAD] += 1
    return used


def free_port(p: Static, w: Work, c: int, cycle: int) -> int:
    """The lowest port of class `c` that is free in this cycle, or -1."""
    mask = p.class_ports[c]
    port = 0
    while mask > 0:
        if mask & 1 and w.port_free[port] <= cycle:
            return port
        mask >>= 1
        port += 1
    return -1


def issue_ready(p: Static, r: Rows, w: Work, core: Ints) -> int:
    """Phase 3. Sends ready micro-ops to ports, the oldest first."""
    now = w.now
    cycle = now[CYCLE]
    capacity = len(w.wake)
    while now[WAKE_SIZE] > 0 and w.wake[0] >> KEY_SHIFT <= cycle:
        uop = pop(w.wake, 0, now[WAKE_SIZE]) & KEY_MASK
        now[WAKE_SIZE] -= 1
        c = p.port_class[w.static_uop[uop]]
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


def issue_uop(p: Static, r: Rows, w: Work, core: Ints, uop: int, port: int) -> None:
    """Takes the port, fixes the completion and tells the consumers."""
    now = w.now
    cycle = now[CYCLE]
    static = w.static_uop[uop]
    row = w.row[uop]
    latency = p.latency[static]
    if p.role[static] == LOAD:
        latency = load_latency(r, w, core, uop, row, latency)
    elif p.role[static] == STORE_ADDRESS and r.is_miss[row] and w.fill[row] < 0:
        w.fill[row] = cycle + latency + core[MISS_LATENCY]
    if w.ready[uop] < cycle:
        w.blocker[uop] = w.port_user[port]
    w.issue[uop] = cycle
    w.port[uop] = port
    w.port_user[port] = uop
    w.port_free[port] = cycle + p.busy[static]
    now[SCHEDULER_USED] -= 1
    finish(r, w, core, uop, row, cycle + latency)
    wake_consumers(w, uop)


def finish(r: Rows, w: Work, core: Ints, uop: int, row: int, complete: int) -> None:
    """Notes a completion; a mispredicted branch restarts the front end when it is complete."""
    w.complete[uop] = complete
    w.left[row] -= 1
    if complete > w.done[row]:
        w.done[row] = complete
    if w.left[row] == 0 and row == w.now[BLOCKED_BY]:
        w.now[REDIRECT] = w.done[row] + core[MISPREDICT] - 1


def load_latency(r: Rows, w: Work, core: Ints, uop: int, row: int, hit: int) -> int:
    """Cycles until the data is there: forwarded, in the cache, on its way, or in memory."""
    cycle = w.now[CYCLE]
    source = r.source[row]
    if source >= 0 and w.commit[source] < 0:
        w.memory[uop] = FORWARDED if r.is_covered[row] else BLOCKED
        return core[FORWARD] if r.is_covered[row] else core[FORWARD_BLOCKED]
    latency = hit
    owner = r.owner[row]
    # A hit that asks before the older access that brings the line is a miss, too.
    if r.is_miss[row] or (owner >= 0 and w.fill[owner] < 0):
        w.memory[uop] = MISS
        latency = hit + core[MISS_LATENCY]
    elif owner >= 0 and w.fill[owner] > cycle + hit:
        w.memory[uop] = LINE_FILL
        latency = w.fill[owner] - cycle
    if w.fill[row] < 0:
        w.fill[row] = cycle + latency
    return latency


def wake_consumers(w: Work, uop: int) -> None:
    """Gives the micro-ops that wait for `uop` its completion time."""
    edge = w.edge_head[uop]
    while edge >= 0:
        consumer = w.edge_uop[edge]
        operand_ready(w, consumer, uop, w.edge_late[edge])
        w.pending[consumer] -= 1
        if w.pending[consumer] == 0:
            sleep(w, consumer)
        following = w.edge_next[edge]
        w.edge_next[edge] = w.now[FREE_EDGE]
        w.now[FREE_EDGE] = edge
        edge = following
    w.edge_head[uop] = -1


def operand_ready(w: Work, consumer: int, producer: int, late: int) -> None:
    """Moves the consumer's ready time to when this operand is there, if that is later."""
    ready = w.complete[producer] - late
    if ready > w.ready[consumer]:
        w.ready[consumer] = ready
        w.producer[consumer] = producer


def sleep(w: Work, uop: int) -> None:
    """Puts a micro-op whose ready time is known into the wake heap."""
    push(w.wake, 0, w.now[WAKE_SIZE], w.ready[uop] << KEY_SHIFT | uop)
    w.now[WAKE_SIZE] += 1


def depend(w: Work, consumer: int, producer: int, late: int) -> None:
    """Makes `consumer` wait for `producer` (-1: nothing to wait for)."""
    if producer < 0:
        return
    if w.complete[producer] >= 0:
        operand_ready(w, consumer, producer, late)
        return
    edge = w.now[FREE_EDGE]
    w.now[FREE_EDGE] = w.edge_next[edge]
    w.edge_next[edge] = w.edge_head[producer]
    w.edge_uop[edge] = consumer
    w.edge_late[edge] = late
    w.edge_head[producer] = edge
    w.pending[consumer] += 1


def why_not_dispatch(p: Static, w: Work, core: Ints, instruction: int, used: int) -> int:
    """The cause that keeps the next instruction from dispatching now, or -1."""
    now = w.now
    slots = p.slots[instruction]
    if used > 0 and used + slots > core[RENAME_WIDTH]:
        return DISPATCH
    if now[ROB_USED] > 0 and now[ROB_USED] + slots > core[ROB]:
        return REORDER_BUFFER
    entries, used_entries = p.entries[instruction], now[SCHEDULER_USED]
    if entries > 0 and used_entries > 0 and used_entries + entries > core[SCHEDULER]:
        return SCHEDULER_FULL
    loads = p.loads[instruction]
    if loads > 0 and now[LOADS_USED] > 0 and now[LOADS_USED] + loads > core[LOAD_QUEUE]:
        return LOAD_QUEUE_FULL
    if p.stores[instruction] > 0 and now[STORE_LAST] - now[STORE_FIRST] >= core[STORE_QUEUE]:
        return STORE_QUEUE_FULL
    return -1


def dispatch_rows(p: Static, r: Rows, w: Work, core: Ints) -> int:
    """Phase 4. Moves fetched instructions into the reorder buffer, scheduler and queues."""
    now = w.now
    used = 0
    while now[DISPATCHED] < now[FETCHED] and w.fetch[now[DISPATCHED]] < now[CYCLE]:
        row = now[DISPATCHED]
        instruction = r.static[row]
        cause = why_not_dispatch(p, w, core, instruction, used)
        if cause >= 0:
            w.dispatch_cause[row] = cause
            w.dispatch_culprit[row] = now[HEAD]
            if cause == STORE_QUEUE_FULL:
                w.dispatch_culprit[row] = w.store_ring[now[STORE_FIRST] % len(w.store_ring)]
            break
        used += p.slots[instruction]
        w.dispatch[row] = now[CYCLE]
        now[ROB_USED] += p.slots[instruction]
        now[DISPATCHED] += 1
        enter(p, r, w, core, row, instruction)
    return used


def enter(p: Static, r: Rows, w: Work, core: Ints, row: int, instruction: int) -> None:
    """Renames one instruction: its micro-ops get their producers and become the last writers."""
    now = w.now
    first = p.first[instruction]
    last = p.first[instruction + 1]
    w.first_uop[row] = now[NEXT_UOP]
    w.left[row] = last - first
    w.done[row] = now[CYCLE]
    now[LOADS_USED] += p.loads[instruction]
    if p.stores[instruction] > 0:
        w.store_ring[now[STORE_LAST] % len(w.store_ring)] = row
        now[STORE_LAST] += 1
    for static in range(first, last):
        uop = now[NEXT_UOP]
        now[NEXT_UOP] += 1
        w.static_uop[uop] = static
        w.row[uop] = row
        w.ready[uop] = now[CYCLE] + 1
        if p.role[static] == STORE_DATA:
            w.store_data[row] = uop
        if p.port_class[static] < 0:
            rename_only(p, r, w, core, uop, row)
        else:
            enter_scheduler(p, r, w, uop, row)


def rename_only(p: Static, r: Rows, w: Work, core: Ints, uop: int, row: int) -> None:
    """An eliminated micro-op completes as it is renamed; a move passes its source's producer on."""
    static = w.static_uop[uop]
    w.ready[uop] = w.now[CYCLE]
    w.issue[uop] = w.now[CYCLE]
    writer = uop
    if p.alias[r.static[row]] >= 0:
        writer = w.last_writer[p.alias[r.static[row]]]
    for i in range(p.first_write[static], p.first_write[static + 1]):
        w.last_writer[p.write_storage[i]] = writer
    finish(r, w, core, uop, row, w.now[CYCLE])


def enter_scheduler(p: Static, r: Rows, w: Work, uop: int, row: int) -> None:
    """Finds the producers of a micro-op and puts it to sleep when all their times are known."""
    static = w.static_uop[uop]
    w.now[SCHEDULER_USED] += 1
    for i in range(p.first_read[static], p.first_read[static + 1]):
        depend(w, uop, w.last_writer[p.read_storage[i]], p.read_late[i])
    source = r.source[row]
    if p.role[static] == LOAD and source >= 0 and w.commit[source] < 0:
        depend(w, uop, w.store_data[source], 0)
    for i in range(p.first_write[static], p.first_write[static + 1]):
        w.last_writer[p.write_storage[i]] = uop
    if w.pending[uop] == 0:
        sleep(w, uop)


def fetch_rows(r: Rows, w: Work, core: Ints) -> int:
    """Phase 5. Brings instructions into the front end and notes what stops it."""
    now = w.now
    count = 0
    while now[FETCHED] < len(w.fetch):
        row = now[FETCHED]
        if now[BLOCKED_BY] >= 0:
            if now[REDIRECT] < 0 or now[CYCLE] < now[REDIRECT]:
                w.fetch_cause[row] = BRANCH
                w.fetch_culprit[row] = now[BLOCKED_BY]
                break
            now[BLOCKED_BY] = -1
            now[REDIRECT] = -1
        if count >= core[FETCH_WIDTH]:
            w.fetch_cause[row] = FETCH
            break
        if row - now[DISPATCHED] >= core[FETCH_QUEUE]:
            w.fetch_cause[row] = DISPATCH
            w.fetch_culprit[row] = now[DISPATCHED]
            break
        w.fetch[row] = now[CYCLE]
        now[FETCHED] += 1
        count += 1
        if r.is_mispredicted[row]:
            now[BLOCKED_BY] = row
        elif r.is_taken[row]:
            if now[FETCHED] < len(w.fetch):
                w.fetch_cause[row + 1] = TAKEN_BRANCH
                w.fetch_culprit[row + 1] = row
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
                if p.class_ports[c] >> port & 1 and w.port_free[port] > cycle:
                    best = sooner(best, w.port_free[port])
    head = now[HEAD]
    if head < now[DISPATCHED] and w.left[head] == 0:
        best = sooner(best, w.done[head] + 1)
    if now[REDIRECT] > cycle:
        best = sooner(best, now[REDIRECT])
    return best


def sooner(one: int, other: int) -> int:
    """The lesser of two cycles, where -1 as the first means never."""
    return other if one < 0 or other < one else one


def simulate(p: Static, r: Rows, w: Work, core: Ints) -> int:
    """Runs all rows; returns the number of cycles, or -1 when the machine cannot go on."""
    now = w.now
    rows = len(w.fetch)
    if rows > 0:
        w.fetch_cause[0] = START
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
    return w.retire[rows - 1] + 1 if rows > 0 else 0


FUNCTIONS = (
    push, pop, commit_stores, retire_rows, free_port, load_latency, operand_ready,
    sleep, depend, wake_consumers, finish, issue_uop, issue_ready, why_not_dispatch, rename_only,
    enter_scheduler, enter, dispatch_rows, fetch_rows, sooner, next_event, simulate,
)  # fmt: skip
"""The functions to compile, callees first."""
