"""A deliberately naive SIMT machine: every SM, every scheduler, every warp, one cycle at a time.

The oracle for `vm.simt`: it shares no code with it. Memory accesses are given as each row's sectors
(global) or its rounds (shared), which have a test of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from isas.cores import WarpPolicy
from isas.tables import IS_BARRIER, IS_BRANCH, SPACES


@dataclass(eq=False)
class Row:
    index: int
    static: int
    addresses: list
    size: int
    issue: int | None = None
    complete: int | None = None
    sm: int | None = None


@dataclass(eq=False)
class Warp:
    age: int
    rows: list
    block: Block = None
    slot: int = -1
    done: int = 0
    waits: bool = False
    not_before: int = 0
    writer: dict = field(default_factory=dict)

    @property
    def next(self):
        return self.rows[self.done] if self.done < len(self.rows) else None


@dataclass(eq=False)
class Block:
    warps: list
    start: int = 0

    def is_over(self, cycle):
        if any(w.next is not None for w in self.warps):
            return False
        return max([self.start - 1] + [r.complete for w in self.warps for r in w.rows]) < cycle


class Sm:
    def __init__(self, ports, schedulers):
        self.blocks, self.slots, self.cache = [], {}, {}
        self.pipe_free = 0
        self.own_free = [[0] * ports for _ in range(schedulers)]
        self.last = [None] * schedulers


class Machine:
    def __init__(self, tables, parameters, launches, occupancy):
        self.t, self.p, self.simt = tables, parameters, parameters.simt
        self.launches, self.occupancy = launches, occupancy
        self.known = set()
        self.cycle = 0

    def ports(self, uop):
        return [p for p in range(len(self.p.ports)) if int(self.t.ports[uop]) >> p & 1]

    def run(self, warps_of_launch):
        for number, launch in enumerate(self.launches):
            self.cycle += self.simt.launch_overhead_cycles
            self.run_launch(launch, warps_of_launch[number], self.occupancy[number])
        return self.cycle

    def run_launch(self, launch, warps, occupancy):
        per = launch.warps_per_block
        waiting = [Block(warps[i : i + per]) for i in range(0, len(warps), per)]
        self.room, self.slot_count = occupancy.blocks_per_sm, occupancy.warps_per_sm
        self.sms = [Sm(len(self.p.ports), self.simt.schedulers) for _ in range(self.simt.sm_count)]
        while True:
            for sm in self.sms:
                for block in [b for b in sm.blocks if b.is_over(self.cycle)]:
                    sm.blocks.remove(block)
                    for warp in block.warps:
                        del sm.slots[warp.slot]
            while waiting:
                sm = min(self.sms, key=lambda sm: len(sm.blocks))
                if len(sm.blocks) >= self.room:
                    break
                self.place(sm, waiting.pop(0))
            if not waiting and not any(sm.blocks for sm in self.sms):
                return
            for number, sm in enumerate(self.sms):
                for scheduler in range(self.simt.schedulers):
                    self.step(sm, number, scheduler)
            self.cycle += 1
            assert self.cycle < 100_000

    def place(self, sm, block):
        block.start = self.cycle
        sm.blocks.append(block)
        for warp in block.warps:
            warp.slot = min(s for s in range(self.slot_count) if s not in sm.slots)
            sm.slots[warp.slot] = warp
            warp.block = block
            warp.not_before = self.cycle

    def step(self, sm, number, scheduler):
        mine = [w for s, w in sorted(sm.slots.items()) if s % self.simt.schedulers == scheduler]
        able = [w for w in mine if self.is_eligible(sm, scheduler, w)]
        if not able:
            return
        last = sm.last[scheduler]
        if self.simt.policy is WarpPolicy.GREEDY_THEN_OLDEST:
            chosen = next((w for w in able if w.slot == last), min(able, key=lambda w: w.age))
        else:
            behind = -1 if last is None else last
            after = [w for w in able if w.slot > behind]
            chosen = (after or able)[0]
        sm.last[scheduler] = chosen.slot
        self.issue(sm, number, scheduler, chosen)

    def free_ports(self, sm, scheduler, row):
        ports = self.ports(int(self.t.first_micro_op[row.static]))
        return [p for p in ports if sm.own_free[scheduler][p] <= self.cycle]

    def needs_pipe(self, row):
        has_memory = self.t.loads[row.static] or self.t.stores[row.static]
        return has_memory and SPACES[int(self.t.space[row.static])] in ("", "global", "shared")

    def uops(self, row):
        return range(self.t.first_micro_op[row.static], self.t.first_micro_op[row.static + 1])

    def latency(self, row):
        return max(1, sum(int(self.t.latency[u]) for u in self.uops(row)))

    def is_eligible(self, sm, scheduler, warp):
        row, t = warp.next, self.t
        if row is None or warp.waits or warp.not_before > self.cycle:
            return False
        for u in self.uops(row):
            for i in range(t.first_read[u], t.first_read[u + 1]):
                writer = warp.writer.get(int(t.read_storage[i]))
                if writer is not None and (
                    writer.issue >= self.cycle or writer.complete - int(t.read_late[i]) > self.cycle
                ):
                    return False
            for i in range(t.first_write[u], t.first_write[u + 1]):
                writer = warp.writer.get(int(t.write_storage[i]))
                if writer is not None and self.cycle + self.latency(row) <= writer.complete:
                    return False
        if self.needs_pipe(row) and sm.pipe_free > self.cycle:
            return False
        has_port = bool(self.ports(int(t.first_micro_op[row.static])))
        return not has_port or bool(self.free_ports(sm, scheduler, row))

    def issue(self, sm, number, scheduler, warp):
        row, t = warp.next, self.t
        rounds, there = self.access(sm, row)
        row.issue, row.sm = self.cycle, number
        row.complete = max(self.cycle + self.latency(row), there) + rounds - 1
        free = self.free_ports(sm, scheduler, row)
        if free:
            busy = max(int(t.busy[u]) for u in self.uops(row))
            sm.own_free[scheduler][free[0]] = self.cycle + busy
        if self.needs_pipe(row):
            sm.pipe_free = self.cycle + rounds
        for u in self.uops(row):
            for i in range(t.first_write[u], t.first_write[u + 1]):
                if t.write_storage[i] < len(t.storages):
                    warp.writer[int(t.write_storage[i])] = row
        warp.done += 1
        warp.not_before = self.cycle + 1
        if warp.next is not None and t.flags[row.static] & IS_BARRIER:
            warp.waits = True
        elif warp.next is not None and t.flags[row.static] & IS_BRANCH:
            warp.not_before = max(self.cycle + 1, row.complete)
        self.open_barrier(warp.block)

    def open_barrier(self, block):
        running = [w for w in block.warps if w.next is not None]
        if running and all(w.waits for w in running):
            for warp in running:
                warp.waits = False
                warp.not_before = self.cycle + self.latency(warp.rows[warp.done - 1])

    def access(self, sm, row):
        """(rounds, cycle at which the data is there) of a row issued now."""
        t, space = self.t, SPACES[int(self.t.space[row.static])]
        is_store = bool(t.stores[row.static])
        if not (t.loads[row.static] or is_store) or not row.addresses:
            return 1, 0
        if space == "shared":
            return self.bank_rounds(row), 0
        if space not in ("", "global"):
            return 1, 0
        size, line_bytes = self.simt.sector_bytes, self.p.l1.line_bytes
        sectors = sorted(
            {b // size for a in row.addresses for b in (a, a + row.size - 1)}
        )  # fmt: skip
        lines = {sector * size // line_bytes for sector in sectors}
        there = 0
        for sector in sectors:
            if not is_store:
                there = max(there, self.load(sm, sector, self.latency(row)))
            self.known.add(sector)
        return len(lines), there

    def bank_rounds(self, row):
        words = {b // 4 for a in row.addresses for b in range(a, a + row.size)}
        banks = [word % self.simt.shared_banks for word in words]
        return max(banks.count(bank) for bank in set(banks))

    def load(self, sm, sector, hit):
        line = sector * self.simt.sector_bytes // self.p.l1.line_bytes
        ways = sm.cache.setdefault(line % self.p.l1.sets, [])  # most recent last
        entry = next((e for e in ways if e[0] == line), None)
        if entry is None:
            entry = (line, {})
            if len(ways) == self.p.l1.ways:
                ways.pop(0)
        else:
            ways.remove(entry)
        ways.append(entry)
        if sector not in entry[1]:
            is_known = sector in self.known
            near = max(self.simt.l2_latency_cycles, hit)
            entry[1][sector] = self.cycle + (near if is_known else hit + self.p.memory_latency)
        return max(self.cycle + hit, entry[1][sector])
