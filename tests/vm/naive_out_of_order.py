"""A deliberately naive out-of-order machine: every cycle, every instruction, plain objects.

The oracle for `vm.outoforder`: it shares no code with it, advances one cycle at a time, and
searches where the model keeps queues.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from isas.tables import LOAD, STORE_ADDRESS, STORE_DATA


@dataclass(eq=False)
class Uop:
    static: int
    row: Row
    sources: list = field(default_factory=list)  # (producer uop, late)
    entered: int | None = None
    issue: int | None = None
    complete: int | None = None


@dataclass(eq=False)
class Row:
    index: int
    static: int
    uops: list = field(default_factory=list)
    fetch: int | None = None
    dispatch: int | None = None
    retire: int | None = None
    commit: int | None = None
    fill: int | None = None

    def is_done(self, cycle):
        return all(u.complete is not None and u.complete < cycle for u in self.uops)


class Machine:
    def __init__(self, tables, events, parameters):
        self.t, self.e, self.p = tables, events, parameters
        self.rows = [Row(i, int(static)) for i, static in enumerate(events.static)]
        for row in self.rows:
            first, last = tables.first_micro_op[row.static : row.static + 2]
            row.uops = [Uop(static, row) for static in range(first, last)]
        self.writer = {}
        self.port_free = [0] * len(parameters.ports)
        self.cycle = 0

    def run(self):
        while any(row.retire is None for row in self.rows):
            self.commit()
            self.retire()
            self.issue()
            self.dispatch()
            self.fetch()
            self.cycle += 1
            assert self.cycle < 100_000
        return self.rows

    def slots(self, row):
        return int(self.t.slots[row.static])

    def commit(self):
        waiting = [r for r in self.rows if self.t.stores[r.static] and r.commit is None]
        for row in waiting[: self.p.commit_width]:
            if row.retire is None or row.retire >= self.cycle:
                return
            row.commit = self.cycle

    def retire(self):
        used = 0
        for row in [r for r in self.rows if r.retire is None]:
            if row.dispatch is None or not row.is_done(self.cycle):
                return
            if used and used + self.slots(row) > self.p.retire_width:
                return
            used += self.slots(row)
            row.retire = self.cycle

    def issue(self):
        issued = 0
        for row in self.rows:
            for uop in row.uops:
                if issued == self.p.issue_width:
                    return
                if row.dispatch is None or row.dispatch >= self.cycle or uop.issue is not None:
                    continue
                if not all(self.is_there(*source) for source in uop.sources):
                    continue
                free = [
                    port
                    for port in range(len(self.p.ports))
                    if int(self.t.ports[uop.static]) >> port & 1
                    and self.port_free[port] <= self.cycle
                ]
                if not free:
                    continue
                self.port_free[free[0]] = self.cycle + int(self.t.busy[uop.static])
                uop.issue = self.cycle
                uop.complete = self.cycle + self.latency(uop)
                issued += 1

    def is_there(self, producer, late):
        if producer.complete is None or producer.issue >= self.cycle:
            return False
        return producer.complete - late <= self.cycle

    def latency(self, uop):
        latency, row = int(self.t.latency[uop.static]), uop.row
        is_miss, owner = self.e.is_miss[row.index], int(self.e.owner[row.index])
        if self.t.role[uop.static] == STORE_ADDRESS and is_miss and row.fill is None:
            row.fill = self.cycle + latency + self.p.miss_latency
        if self.t.role[uop.static] != LOAD:
            return latency
        source = int(self.e.source[row.index])
        if source >= 0 and self.rows[source].commit is None:
            is_covered = self.e.is_covered[row.index]
            return self.p.forward if is_covered else self.p.forward_blocked
        if is_miss or (owner >= 0 and self.rows[owner].fill is None):
            latency += self.p.miss_latency
        elif owner >= 0:
            latency = max(latency, self.rows[owner].fill - self.cycle)
        if row.fill is None:
            row.fill = self.cycle + latency
        return latency

    def in_flight(self):
        return [r for r in self.rows if r.dispatch is not None and r.retire is None]

    def can_enter(self, row, used):
        slots, flying = self.slots(row), self.in_flight()
        if used and used + slots > self.p.rename_width:
            return False
        if flying and sum(map(self.slots, flying)) + slots > self.p.reorder_buffer:
            return False
        waiting = [u for r in flying for u in r.uops if u.issue is None]
        entries = [u for u in row.uops if self.t.ports[u.static]]
        if entries and waiting and len(waiting) + len(entries) > self.p.scheduler_entries:
            return False
        loads = int(self.t.loads[row.static])
        flying_loads = sum(int(self.t.loads[r.static]) for r in flying)
        if loads and flying_loads and flying_loads + loads > self.p.load_queue:
            return False
        stores = [
            r for r in self.rows
            if self.t.stores[r.static] and r.dispatch is not None and r.commit is None
        ]  # fmt: skip
        return not self.t.stores[row.static] or len(stores) < self.p.store_queue

    def dispatch(self):
        used = 0
        for row in [r for r in self.rows if r.dispatch is None]:
            if row.fetch is None or row.fetch >= self.cycle or not self.can_enter(row, used):
                return
            used += self.slots(row)
            row.dispatch = self.cycle
            self.rename(row)

    def rename(self, row):
        t = self.t
        for uop in row.uops:
            k = uop.static
            reads = range(t.first_read[k], t.first_read[k + 1])
            writes = range(t.first_write[k], t.first_write[k + 1])
            if not t.ports[k]:
                uop.issue = uop.complete = self.cycle
                alias = int(t.alias[row.static])
                writer = self.writer.get(alias) if alias >= 0 else uop
            else:
                for i in reads:
                    producer = self.writer.get(int(t.read_storage[i]))
                    if producer is not None:
                        uop.sources.append((producer, int(t.read_late[i])))
                source = int(self.e.source[row.index])
                if t.role[k] == LOAD and source >= 0 and self.rows[source].commit is None:
                    data = [u for u in self.rows[source].uops if t.role[u.static] == STORE_DATA]
                    uop.sources.append((data[-1], 0))
                writer = uop
            for i in writes:
                self.writer[int(t.write_storage[i])] = writer

    def went_away(self, before):
        return self.e.is_taken[before.index] and before.fetch == self.cycle

    def fetch(self):
        count = 0
        for row in [r for r in self.rows if r.fetch is None]:
            queued = [r for r in self.rows if r.fetch is not None and r.dispatch is None]
            if count == self.p.fetch_width or len(queued) >= self.p.fetch_queue:
                return
            before = self.rows[row.index - 1] if row.index else None
            if before is not None and self.e.is_mispredicted[before.index]:
                done = [u.complete for u in before.uops]
                if before.dispatch is None or None in done:
                    return
                if self.cycle < max([before.dispatch, *done]) + self.p.mispredict - 1:
                    return
            elif before is not None and self.went_away(before):
                return
            row.fetch = self.cycle
            count += 1  # noqa: SIM113
            if self.e.is_mispredicted[row.index]:
                return
