"""The numeric core of the SIMT model: one launch on all its SMs, driven by events.

Blocks wait in order; the next one goes to the SM with the fewest resident blocks that has room (the
lowest of equals), at the launch's start and whenever a block has left. Its warps take the lowest
free warp slots; slot s belongs to scheduler s mod schedulers. In a cycle, each scheduler of an SM,
lowest first, issues one instruction of one eligible warp: greedy-then-oldest or round robin. A warp
is eligible when its previous instruction issued in an earlier cycle, its operands are there (a
scoreboard per warp), its branch is resolved, its barrier has opened, and a port is free. Ports
belong to a scheduler and stay taken for the unit's `busy` cycles. Global and shared accesses also
need the SM's one memory pipe, for as many cycles as they touch lines, or rounds of banks.

Loads look up each sector in the SM's cache (sectored lines, least recently used, empty at the
launch's start): there, on its way, in the second level (when any SM touched the sector before) or
in memory. Stores write through. Cache state advances in the order of issue. A block leaves in the
cycle after all its instructions are complete. Rows are sorted by warp; a warp's are contiguous.
"""

from __future__ import annotations

from typing import NamedTuple

from vm.numeric import Ints, Table

# Places in `core`: the parameters of the machine and of the launch.
SMS, SCHEDULERS, SLOTS, BLOCK_SLOTS, PORTS, STORAGES, IS_GREEDY = range(7)
SETS, WAYS, PARTS, L2_LATENCY, MEMORY_LATENCY = range(7, 12)
START_CYCLE, BLOCKS, WARPS_PER_BLOCK, FIRST_WARP = range(12, 16)
CORE_SIZE = 16

# Places in `Work.now`:
NEXT_BLOCK, LEFT_BLOCKS, STAMP, SOON = range(4)
NOW_SIZE = 4

NEVER = (1 << 31) - 1
"""Later than any cycle: the ready time of a warp at a barrier."""

NOTHING, GLOBAL_LOAD, GLOBAL_STORE, SHARED, OTHER_MEMORY = range(5)
"""Kinds of memory access (E_KIND)."""

ON_TIME, DATA, MISSED, OVERWRITE, RESOLVE, BARRIER = range(6)
"""Causes of waiting (R_WAIT)."""
SELECTED, NOT_SELECTED, PORT, UNIT, COALESCING, CONFLICT = range(6)
"""Causes of not issuing when ready (R_HOLD, R_LOST_CAUSE)."""

IS_BRANCH, IS_CONDITIONAL, IS_BARRIER = 1, 2, 4
"""Instruction flags, as in `isas.tables`."""

# Tables are lists of columns; these are the columns' places.
# Static instructions (`Static.instructions`):
I_PORTS, I_LATENCY, I_BUSY, I_FLAGS, I_FIRST_READ, I_END_READ, I_FIRST_WRITE, I_END_WRITE = range(8)
# Reads (`Static.reads`):
D_STORAGE, D_LATE = range(2)
# Rows as they happened (`events`): `rounds` are lines or bank rounds, at least 1:
E_STATIC, E_KIND, E_ROUNDS, E_FIRST_SECTOR, E_END_SECTOR = range(5)
# Sectors touched (`sectors`): its number among all, its line, its place in the line:
X_SECTOR, X_LINE, X_PART = range(3)
# Rows (`Work.rows`):
R_ENTER, R_READY, R_ISSUE, R_COMPLETE, R_PORT, R_WAIT, R_PRODUCER, R_HOLD, R_BLOCKER = range(9)
R_IS_MISS, R_LOST_WAIT, R_LOST_HOLD, R_LOST_CAUSE, R_SM, R_SCHEDULER = range(9, 15)
R_COUNT = 15
# Warp slots (`Work.warps`), by SM and slot; `next` is -1 when there is nothing to issue:
W_NEXT, W_END, W_READY, W_BLOCK, W_AGE, W_IS_RESIDENT, W_IS_WAITING = range(7)
W_COUNT = 7
# Block slots (`Work.blocks`), by SM and slot; `live` warps have rows to issue:
B_IS_RESIDENT, B_LIVE, B_ARRIVED, B_FINISH = range(4)
B_COUNT = 4
# SMs (`Work.sms`); the pipe is that of memory accesses; `draining` blocks have issued everything:
M_NEXT, M_RESIDENT, M_IS_USED, M_PIPE_FREE, M_PIPE_USER, M_DRAINING = range(6)
M_COUNT = 6
# Schedulers (`Work.schedulers`), by SM and scheduler; `charged`: slots accounted for up to here:
C_LAST, C_LAST_ROW, C_CHARGED, C_IDLE = range(4)
C_COUNT = 4
# Ports (`Work.ports`), by SM, scheduler and port:
P_FREE, P_USER = range(2)
P_COUNT = 2
# Cache ways (`Work.cache`), by SM, set and way:
K_LINE, K_STAMP = range(2)
K_COUNT = 2


class Static(NamedTuple):
    """The program, the core's costs, and where each warp's rows start."""

    instructions: Table
    reads: Table
    write_storage: Ints
    sectors: Table
    first_row: Ints  # by warp of all launches; one more entry than warps


class Work(NamedTuple):
    """The machine's state and the results."""

    now: Ints
    rows: Table
    warps: Table
    blocks: Table
    sms: Table
    schedulers: Table
    ports: Table
    cache: Table
    fill: Ints  # by cache way and part: cycle at which the sector is there, -1: absent
    is_known: Ints  # by sector: touched before, hence in the second level
    last_writer: Ints  # by warp slot and storage


def port_place(core: Ints, sm: int, scheduler: int, port: int) -> int:
    """Where a port's state stands."""
    return (sm * core[SCHEDULERS] + scheduler) * core[PORTS] + port


def needs_pipe(e: Table, row: int) -> bool:
    """Whether a row goes through the SM's memory pipe."""
    return NOTHING < e[E_KIND][row] < OTHER_MEMORY


def free_at(p: Static, e: Table, w: Work, core: Ints, sm: int, scheduler: int, row: int) -> int:
    """The first cycle in which a port for `row`, and the pipe if it needs it, are free."""
    mask = p.instructions[I_PORTS][e[E_STATIC][row]]
    best = 0 if mask == 0 else NEVER
    place = port_place(core, sm, scheduler, 0)
    free = w.ports[P_FREE]
    while mask > 0:
        if mask & 1 and free[place] < best:
            best = free[place]
        mask >>= 1
        place += 1
    return max(best, w.sms[M_PIPE_FREE][sm]) if needs_pipe(e, row) else best


def pick_port(w: Work, core: Ints, sm: int, scheduler: int, mask: int, cycle: int) -> int:
    """The lowest port of `mask` that is free, or -1."""
    for port in range(core[PORTS]):
        if mask >> port & 1 and w.ports[P_FREE][port_place(core, sm, scheduler, port)] <= cycle:
            return port
    return -1


def user_of(p: Static, e: Table, w: Work, core: Ints, sm: int, scheduler: int, row: int) -> int:
    """The row that holds what `row` needs: the pipe, or the port that is free first; or -1."""
    mask = p.instructions[I_PORTS][e[E_STATIC][row]]
    best = -1
    for port in range(core[PORTS]):
        if mask >> port & 1:
            place = port_place(core, sm, scheduler, port)
            if best < 0 or w.ports[P_FREE][place] < w.ports[P_FREE][best]:
                best = place
    free = w.ports[P_FREE][best] if best >= 0 else 0
    if needs_pipe(e, row) and w.sms[M_PIPE_FREE][sm] >= free:
        return w.sms[M_PIPE_USER][sm]
    return w.ports[P_USER][best] if best >= 0 else -1


def busy_cause(p: Static, e: Table, w: Work, user: int) -> int:
    """What a port is busy with, as a cause for those who wait for it."""
    if user < 0:
        return PORT
    if e[E_ROUNDS][user] > 1 and e[E_KIND][user] == SHARED:
        return CONFLICT
    if e[E_ROUNDS][user] > 1:
        return COALESCING
    return UNIT if p.instructions[I_BUSY][e[E_STATIC][user]] > 1 else PORT


def later(w: Work, slot: int, row: int, cycle: int, cause: int, producer: int) -> None:
    """Moves a row's ready time to a later cycle, if it is one, and remembers why."""
    if cycle > w.warps[W_READY][slot]:
        w.warps[W_READY][slot] = cycle
        w.rows[R_WAIT][row] = cause
        w.rows[R_PRODUCER][row] = producer


def find_operands(p: Static, e: Table, w: Work, core: Ints, slot: int) -> None:
    """Completes the ready time of a warp's next row by its operands and its result's place."""
    row = w.warps[W_NEXT][slot]
    static = e[E_STATIC][row]
    base = slot * core[STORAGES]
    for i in range(p.instructions[I_FIRST_READ][static], p.instructions[I_END_READ][static]):
        writer = w.last_writer[base + p.reads[D_STORAGE][i]]
        if writer >= 0:
            there = w.rows[R_COMPLETE][writer] - p.reads[D_LATE][i]
            there = max(there, w.rows[R_ISSUE][writer] + 1)
            cause = MISSED if w.rows[R_IS_MISS][writer] else DATA
            later(w, slot, row, there, cause, writer)
    latency = p.instructions[I_LATENCY][static]
    for i in range(p.instructions[I_FIRST_WRITE][static], p.instructions[I_END_WRITE][static]):
        writer = w.last_writer[base + p.write_storage[i]]
        if writer >= 0:
            later(w, slot, row, w.rows[R_COMPLETE][writer] - latency + 1, OVERWRITE, writer)
    w.rows[R_READY][row] = w.warps[W_READY][slot]


def charge(p: Static, e: Table, w: Work, core: Ints, sm: int, scheduler: int, cycle: int) -> None:
    """Charges the issue slots before `cycle` in which nothing issued to the oldest warp's row."""
    place = sm * core[SCHEDULERS] + scheduler
    start = w.schedulers[C_CHARGED][place]
    if cycle <= start:
        return
    w.schedulers[C_CHARGED][place] = cycle
    oldest = -1
    first = sm * core[SLOTS]
    rows, ages = w.warps[W_NEXT], w.warps[W_AGE]
    for slot in range(first + scheduler, first + core[SLOTS], core[SCHEDULERS]):
        if rows[slot] >= 0 and (oldest < 0 or ages[slot] < ages[oldest]):
            oldest = slot
    if oldest < 0:
        w.schedulers[C_IDLE][place] += cycle - start
        return
    row = w.warps[W_NEXT][oldest]
    waiting = max(0, min(cycle, w.warps[W_READY][oldest]) - start)
    w.rows[R_LOST_WAIT][row] += waiting
    if waiting < cycle - start:
        w.rows[R_LOST_HOLD][row] += cycle - start - waiting
        user = user_of(p, e, w, core, sm, scheduler, row)
        w.rows[R_LOST_CAUSE][row] = busy_cause(p, e, w, user)


def place_block(p: Static, e: Table, w: Work, core: Ints, sm: int, cycle: int) -> None:
    """Puts the next block on an SM: its warps take the lowest free slots."""
    for scheduler in range(core[SCHEDULERS]):
        charge(p, e, w, core, sm, scheduler, cycle)
    block = w.now[NEXT_BLOCK]
    w.now[NEXT_BLOCK] += 1
    w.sms[M_RESIDENT][sm] += 1
    w.sms[M_IS_USED][sm] = 1
    w.sms[M_NEXT][sm] = cycle
    place = sm * core[BLOCK_SLOTS]
    while w.blocks[B_IS_RESIDENT][place]:
        place += 1
    w.blocks[B_IS_RESIDENT][place] = 1
    w.blocks[B_LIVE][place] = 0
    w.blocks[B_ARRIVED][place] = 0
    w.blocks[B_FINISH][place] = cycle - 1
    slot = sm * core[SLOTS]
    for i in range(core[WARPS_PER_BLOCK]):
        while w.warps[W_IS_RESIDENT][slot]:
            slot += 1
        warp = core[FIRST_WARP] + block * core[WARPS_PER_BLOCK] + i
        w.warps[W_IS_RESIDENT][slot] = 1
        w.warps[W_BLOCK][slot] = place
        w.warps[W_AGE][slot] = warp
        w.warps[W_IS_WAITING][slot] = 0
        w.warps[W_READY][slot] = cycle
        w.warps[W_NEXT][slot] = -1
        w.warps[W_END][slot] = p.first_row[warp + 1]
        for storage in range(core[STORAGES]):
            w.last_writer[slot * core[STORAGES] + storage] = -1
        if p.first_row[warp] < p.first_row[warp + 1]:
            w.blocks[B_LIVE][place] += 1
            w.warps[W_NEXT][slot] = p.first_row[warp]
            w.rows[R_ENTER][p.first_row[warp]] = cycle
            find_operands(p, e, w, core, slot)
    if w.blocks[B_LIVE][place] == 0:
        w.sms[M_DRAINING][sm] += 1


def free_blocks(w: Work, core: Ints, sm: int, cycle: int) -> None:
    """Lets the blocks leave whose instructions were all complete before this cycle."""
    if w.sms[M_DRAINING][sm] == 0:
        return
    for place in range(sm * core[BLOCK_SLOTS], (sm + 1) * core[BLOCK_SLOTS]):
        is_over = w.blocks[B_LIVE][place] == 0 and w.blocks[B_FINISH][place] < cycle
        if w.blocks[B_IS_RESIDENT][place] and is_over:
            w.blocks[B_IS_RESIDENT][place] = 0
            w.sms[M_RESIDENT][sm] -= 1
            w.sms[M_DRAINING][sm] -= 1
            w.now[LEFT_BLOCKS] -= 1
            for slot in range(sm * core[SLOTS], (sm + 1) * core[SLOTS]):
                if w.warps[W_IS_RESIDENT][slot] and w.warps[W_BLOCK][slot] == place:
                    w.warps[W_IS_RESIDENT][slot] = 0


def place_blocks(p: Static, e: Table, w: Work, core: Ints, cycle: int) -> None:
    """Places waiting blocks while an SM has room for one."""
    while w.now[NEXT_BLOCK] < core[BLOCKS]:
        best = 0
        for sm in range(1, core[SMS]):
            if w.sms[M_RESIDENT][sm] < w.sms[M_RESIDENT][best]:
                best = sm
        if w.sms[M_RESIDENT][best] >= core[BLOCK_SLOTS]:
            return
        place_block(p, e, w, core, best, cycle)


def find_way(w: Work, core: Ints, sm: int, line: int) -> int:
    """The cache way that holds `line`, emptied for it when it was absent."""
    first = (sm * core[SETS] + line % core[SETS]) * core[WAYS]
    oldest = first
    for way in range(first, first + core[WAYS]):
        if w.cache[K_LINE][way] == line:
            return way
        if w.cache[K_STAMP][way] < w.cache[K_STAMP][oldest]:
            oldest = way
    w.cache[K_LINE][oldest] = line
    for part in range(core[PARTS]):
        w.fill[oldest * core[PARTS] + part] = -1
    return oldest


def load_sector(p: Static, w: Work, core: Ints, sm: int, x: int, cycle: int, hit: int) -> int:
    """The cycle in which one sector's data is there; fetches it when it is absent."""
    sector = p.sectors[X_SECTOR][x]
    way = find_way(w, core, sm, p.sectors[X_LINE][x])
    w.now[STAMP] += 1
    w.cache[K_STAMP][way] = w.now[STAMP]
    place = way * core[PARTS] + p.sectors[X_PART][x]
    if w.fill[place] < 0:
        far = hit + core[MEMORY_LATENCY]
        w.fill[place] = cycle + (max(core[L2_LATENCY], hit) if w.is_known[sector] else far)
    w.is_known[sector] = 1
    return max(cycle + hit, w.fill[place])


def access(p: Static, e: Table, w: Work, core: Ints, sm: int, row: int, cycle: int) -> int:
    """The completion of a row issued in `cycle`; loads find each of their sectors."""
    latency = p.instructions[I_LATENCY][e[E_STATIC][row]]
    kind = e[E_KIND][row]
    complete = cycle + latency
    if kind == GLOBAL_LOAD:
        for x in range(e[E_FIRST_SECTOR][row], e[E_END_SECTOR][row]):
            complete = max(complete, load_sector(p, w, core, sm, x, cycle, latency))
        if complete > cycle + latency:
            w.rows[R_IS_MISS][row] = 1
    elif kind == GLOBAL_STORE:
        for x in range(e[E_FIRST_SECTOR][row], e[E_END_SECTOR][row]):
            w.is_known[p.sectors[X_SECTOR][x]] = 1
    return complete + e[E_ROUNDS][row] - 1


def open_barrier(p: Static, e: Table, w: Work, core: Ints, slot: int, row: int, cycle: int) -> None:
    """Releases the block's waiting warps when all warps that still run have arrived."""
    place = w.warps[W_BLOCK][slot]
    if w.blocks[B_ARRIVED][place] == 0 or w.blocks[B_ARRIVED][place] < w.blocks[B_LIVE][place]:
        return
    w.blocks[B_ARRIVED][place] = 0
    first = slot // core[SLOTS] * core[SLOTS]
    for other in range(first, first + core[SLOTS]):
        is_mine = w.warps[W_IS_RESIDENT][other] and w.warps[W_BLOCK][other] == place
        if is_mine and w.warps[W_IS_WAITING][other]:
            w.warps[W_IS_WAITING][other] = 0
            following = w.warps[W_NEXT][other]
            latency = p.instructions[I_LATENCY][e[E_STATIC][following - 1]]
            w.warps[W_READY][other] = cycle + max(1, latency)
            w.rows[R_PRODUCER][following] = row
            find_operands(p, e, w, core, other)


def advance(p: Static, e: Table, w: Work, core: Ints, slot: int, row: int, cycle: int) -> None:
    """Moves a warp on to the row after `row`, which issued in `cycle`."""
    flags = p.instructions[I_FLAGS][e[E_STATIC][row]]
    place = w.warps[W_BLOCK][slot]
    following = row + 1
    if following == w.warps[W_END][slot]:
        w.warps[W_NEXT][slot] = -1
        w.blocks[B_LIVE][place] -= 1
        if w.blocks[B_LIVE][place] == 0:
            w.sms[M_DRAINING][slot // core[SLOTS]] += 1
        open_barrier(p, e, w, core, slot, row, cycle)
        return
    w.warps[W_NEXT][slot] = following
    w.warps[W_READY][slot] = cycle + 1
    w.rows[R_ENTER][following] = cycle + 1
    if flags & IS_BARRIER:
        w.warps[W_READY][slot] = NEVER
        w.warps[W_IS_WAITING][slot] = 1
        w.rows[R_WAIT][following] = BARRIER
        w.blocks[B_ARRIVED][place] += 1
        open_barrier(p, e, w, core, slot, row, cycle)
        return
    if flags & IS_BRANCH:
        later(w, slot, following, w.rows[R_COMPLETE][row], RESOLVE, row)
    find_operands(p, e, w, core, slot)


def note_hold(
    p: Static, e: Table, w: Work, core: Ints, sm: int, scheduler: int, row: int, cycle: int
) -> None:
    """Why a row that was ready before did not issue in the cycle before this one."""
    if free_at(p, e, w, core, sm, scheduler, row) < cycle:
        w.rows[R_HOLD][row] = NOT_SELECTED
        place = sm * core[SCHEDULERS] + scheduler
        w.rows[R_BLOCKER][row] = w.schedulers[C_LAST_ROW][place]
        return
    user = user_of(p, e, w, core, sm, scheduler, row)
    w.rows[R_HOLD][row] = busy_cause(p, e, w, user)
    w.rows[R_BLOCKER][row] = user


def issue_row(
    p: Static, e: Table, w: Work, core: Ints, sm: int, scheduler: int, slot: int, cycle: int
) -> None:
    """Issues a warp's next row: port, completion, scoreboard; then the warp moves on."""
    row = w.warps[W_NEXT][slot]
    static = e[E_STATIC][row]
    if w.rows[R_READY][row] < cycle:
        note_hold(p, e, w, core, sm, scheduler, row, cycle)
    complete = access(p, e, w, core, sm, row, cycle)
    w.rows[R_ISSUE][row] = cycle
    w.rows[R_COMPLETE][row] = complete
    w.rows[R_SM][row] = sm
    w.rows[R_SCHEDULER][row] = scheduler
    if p.instructions[I_PORTS][static] > 0:
        port = pick_port(w, core, sm, scheduler, p.instructions[I_PORTS][static], cycle)
        place = port_place(core, sm, scheduler, port)
        w.rows[R_PORT][row] = port
        w.ports[P_FREE][place] = cycle + p.instructions[I_BUSY][static]
        w.ports[P_USER][place] = row
    if needs_pipe(e, row):
        w.sms[M_PIPE_FREE][sm] = cycle + e[E_ROUNDS][row]
        w.sms[M_PIPE_USER][sm] = row
    for i in range(p.instructions[I_FIRST_WRITE][static], p.instructions[I_END_WRITE][static]):
        w.last_writer[slot * core[STORAGES] + p.write_storage[i]] = row
    block = w.warps[W_BLOCK][slot]
    if complete > w.blocks[B_FINISH][block]:
        w.blocks[B_FINISH][block] = complete
    place = sm * core[SCHEDULERS] + scheduler
    w.schedulers[C_LAST][place] = slot
    w.schedulers[C_LAST_ROW][place] = row
    w.schedulers[C_CHARGED][place] = cycle + 1
    advance(p, e, w, core, slot, row, cycle)


def pick_warp(p: Static, e: Table, w: Work, core: Ints, sm: int, scheduler: int, cycle: int) -> int:
    """The slot of the warp to issue for, or -1; notes when there is something to do next."""
    last = w.schedulers[C_LAST][sm * core[SCHEDULERS] + scheduler]
    rows, ready = w.warps[W_NEXT], w.warps[W_READY]
    best = -1
    best_rank = NEVER
    soon = NEVER
    first = sm * core[SLOTS]
    for slot in range(first + scheduler, first + core[SLOTS], core[SCHEDULERS]):
        if rows[slot] < 0:
            continue
        if ready[slot] > cycle:
            soon = min(soon, ready[slot])
            continue
        rank = warp_rank(w, core, slot, last)
        if rank < best_rank:
            when = free_at(p, e, w, core, sm, scheduler, rows[slot])
            if when > cycle:
                soon = min(soon, when)
            else:
                best = slot
                best_rank = rank
    w.now[SOON] = min(w.now[SOON], cycle + 1 if best >= 0 else soon)
    return best


def warp_rank(w: Work, core: Ints, slot: int, last: int) -> int:
    """Who goes first among eligible warps: the least. `last` is the slot that issued last."""
    if not core[IS_GREEDY]:
        return (slot - last - 1) % (core[SLOTS] + core[SCHEDULERS])
    return -1 if slot == last else w.warps[W_AGE][slot]


def step_sm(p: Static, e: Table, w: Work, core: Ints, sm: int, cycle: int) -> None:
    """One cycle of one SM: every scheduler issues if it can; then the next event is known.

    After an issue that is the next cycle, which also covers a barrier that opened.
    """
    w.now[SOON] = NEVER
    for scheduler in range(core[SCHEDULERS]):
        slot = pick_warp(p, e, w, core, sm, scheduler, cycle)
        charge(p, e, w, core, sm, scheduler, cycle)
        if slot >= 0:
            issue_row(p, e, w, core, sm, scheduler, slot, cycle)
    if w.sms[M_DRAINING][sm] > 0:
        for place in range(sm * core[BLOCK_SLOTS], (sm + 1) * core[BLOCK_SLOTS]):
            if w.blocks[B_IS_RESIDENT][place] and w.blocks[B_LIVE][place] == 0:
                leaves = max(w.blocks[B_FINISH][place] + 1, cycle + 1)
                w.now[SOON] = min(w.now[SOON], leaves)
    w.sms[M_NEXT][sm] = w.now[SOON]


def reset(w: Work, core: Ints) -> None:
    """An empty machine at the launch's start; what the second level knows stays."""
    w.now[NEXT_BLOCK] = 0
    w.now[LEFT_BLOCKS] = core[BLOCKS]
    for sm in range(core[SMS]):
        w.sms[M_NEXT][sm] = core[START_CYCLE]
        w.sms[M_RESIDENT][sm] = 0
        w.sms[M_IS_USED][sm] = 0
        w.sms[M_PIPE_FREE][sm] = 0
        w.sms[M_PIPE_USER][sm] = -1
        w.sms[M_DRAINING][sm] = 0
    for slot in range(len(w.warps[W_NEXT])):
        w.warps[W_IS_RESIDENT][slot] = 0
        w.warps[W_NEXT][slot] = -1
    for place in range(len(w.blocks[B_IS_RESIDENT])):
        w.blocks[B_IS_RESIDENT][place] = 0
    for place in range(len(w.schedulers[C_LAST])):
        w.schedulers[C_LAST][place] = place // core[SCHEDULERS] * core[SLOTS] - 1
        w.schedulers[C_LAST_ROW][place] = -1
        w.schedulers[C_CHARGED][place] = core[START_CYCLE]
        w.schedulers[C_IDLE][place] = 0
    for place in range(len(w.ports[P_FREE])):
        w.ports[P_FREE][place] = 0
        w.ports[P_USER][place] = -1
    for way in range(len(w.cache[K_LINE])):
        w.cache[K_LINE][way] = -1
        w.cache[K_STAMP][way] = 0


def run_launch(p: Static, e: Table, w: Work, core: Ints) -> int:
    """Runs one launch; returns the first cycle after its end, or -1 when it cannot go on."""
    reset(w, core)
    cycle = core[START_CYCLE]
    while True:
        for sm in range(core[SMS]):
            if w.sms[M_NEXT][sm] == cycle:
                free_blocks(w, core, sm, cycle)
        place_blocks(p, e, w, core, cycle)
        if w.now[LEFT_BLOCKS] == 0:
            break
        following = NEVER
        for sm in range(core[SMS]):
            if w.sms[M_NEXT][sm] == cycle:
                step_sm(p, e, w, core, sm, cycle)
            following = min(following, w.sms[M_NEXT][sm])
        if following >= NEVER:
            return -1
        cycle = following
    for sm in range(core[SMS]):
        for scheduler in range(core[SCHEDULERS]):
            charge(p, e, w, core, sm, scheduler, cycle)
    return cycle


FUNCTIONS = (
    port_place, needs_pipe, free_at, pick_port, user_of, busy_cause, later, find_operands, charge,
    place_block, free_blocks, place_blocks, find_way, load_sector, access, open_barrier, advance,
    note_hold, issue_row, warp_rank, pick_warp, step_sm, reset, run_launch,
)  # fmt: skip
"""The functions to compile, callees first."""
