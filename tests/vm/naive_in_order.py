"""A deliberately naive in-order machine: advances one cycle at a time, plain objects.

The oracle for `vm.inorder`: it shares no code with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from isas.tables import COMPUTE, LOAD


@dataclass(eq=False)
class Uop:
    static: int
    row: int
    issue: int | None = None
    complete: int | None = None


@dataclass(eq=False)
class Row:
    index: int
    static: int
    uops: list = field(default_factory=list)
    fetch: int | None = None
    retire: int | None = None
    fill: int | None = None

    @property
    def is_issued(self):
        return all(uop.issue is not None for uop in self.uops)


class Machine:
    def __init__(self, tables, events, parameters):
        self.t, self.e, self.p = tables, events, parameters
        self.rows = [Row(i, int(static)) for i, static in enumerate(events.static)]
        for row in self.rows:
            first, last = tables.first_micro_op[row.static : row.static + 2]
            row.uops = [Uop(static, row.index) for static in range(first, last)]
        self.writer = {}
        self.port_free = [0] * len(parameters.ports)
        self.cycle = 0

    def run(self):
        while any(row.retire is None for row in self.rows):
            self.retire()
            self.issue()
            self.fetch()
            self.cycle += 1
            assert self.cycle < 100_000
        return self.rows

    def retire(self):
        used = 0
        for row in [r for r in self.rows if r.retire is None]:
            slots = int(self.t.slots[row.static])
            if not row.is_issued or max(u.complete for u in row.uops) >= self.cycle:
                return
            if used and used + slots > self.p.retire_width:
                return
            used += slots
            row.retire = self.cycle

    def issue(self):
        issued = []
        for row in [r for r in self.rows if not r.is_issued]:
            for uop in [u for u in row.uops if u.issue is None]:
                if len(issued) == self.p.issue_width or not self.can_issue(row, uop, issued):
                    return
                self.start(row, uop)
                issued.append(row)

    def can_issue(self, row, uop, issued):
        if row.fetch is None or row.fetch + 2 > self.cycle:
            return False
        t, k = self.t, uop.static
        for i in range(t.first_read[k], t.first_read[k + 1]):
            producer = self.writer.get(int(t.read_storage[i]))
            if producer is None:
                continue
            if producer.issue >= self.cycle:
                return False
            if producer.complete - int(t.read_late[i]) > self.cycle:
                return False
        forbidden = int(t.forbidden[t.pairing[row.static]])
        others = [other for other in issued if other is not row]
        if any(forbidden >> int(t.pairing[other.static]) & 1 for other in others):
            return False
        if int(t.ports[k]) and not self.free_ports(k):
            return False
        for i in range(t.first_write[k], t.first_write[k + 1]):
            storage = int(t.write_storage[i])
            producer = self.writer.get(storage)
            is_register = producer is not None and storage < len(t.storages)
            if is_register and self.cycle + self.latency(row, uop) <= producer.complete:
                return False
        return True

    def free_ports(self, static):
        mask = int(self.t.ports[static])
        ports = range(len(self.p.ports))
        return [p for p in ports if mask >> p & 1 and self.port_free[p] <= self.cycle]

    def latency(self, row, uop):
        latency = int(self.t.latency[uop.static])
        if self.t.role[uop.static] == LOAD:
            owner = int(self.e.owner[row.index])
            if self.e.is_miss[row.index]:
                latency += self.p.miss_latency
            elif owner >= 0:
                latency = max(latency, self.rows[owner].fill - self.cycle)
        return latency

    def start(self, row, uop):
        t, k = self.t, uop.static
        uop.issue = self.cycle
        uop.complete = self.cycle + self.latency(row, uop)
        if int(t.ports[k]):
            self.port_free[self.free_ports(k)[0]] = self.cycle + int(t.busy[k])
        if t.role[k] != COMPUTE and row.fill is None:
            is_late = t.role[k] != LOAD and self.e.is_miss[row.index]
            row.fill = uop.complete + (self.p.miss_latency if is_late else 0)
        for i in range(t.first_write[k], t.first_write[k + 1]):
            self.writer[int(t.write_storage[i])] = uop

    def went_away(self, before):
        return self.e.is_taken[before.index] and before.fetch == self.cycle

    def fetch(self):
        count = 0
        for row in [r for r in self.rows if r.fetch is None]:
            queued = [r for r in self.rows if r.fetch is not None and not r.is_issued]
            if count == self.p.fetch_width or len(queued) >= self.p.fetch_queue:
                return
            before = self.rows[row.index - 1] if row.index else None
            if before is not None and self.e.is_mispredicted[before.index]:
                if not before.is_issued:
                    return
                done = max(u.complete for u in before.uops)
                if self.cycle < done + self.p.mispredict - 1 or self.cycle == before.fetch:
                    return
            elif before is not None and self.went_away(before):
                return
            row.fetch = self.cycle
            count += 1  # noqa: SIM113
