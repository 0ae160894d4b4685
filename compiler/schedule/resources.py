"""The reservation table: which ports of the core are taken in which cycle, and how many may issue.

The table holds a row per cycle; placing an instruction marks the ports of its micro-ops for as long
as they stay busy (Muchnick 1997, chapter 17; Davidson 1971). A micro-op that may go to several
ports takes the first free one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from compiler.machine.timing import Timing
from isas.cores import Core, Order, PairingRule


@dataclass(slots=True)
class ReservationTable:
    """The ports of `core` over time. `width` is how many instructions (in order, simt) or micro-ops
    may begin per cycle.
    """

    core: Core
    width: int = field(init=False)
    taken: dict[int, int] = field(default_factory=dict)
    begun: dict[int, int] = field(default_factory=dict)
    units: dict[int, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.width = max(1, min(self.core.rename_width, self.core.issue_width))

    def fits(self, timing: Timing, unit: str, cycle: int) -> bool:
        """Whether an instruction can begin at `cycle`."""
        if self.begun.get(cycle, 0) + self._begins(timing) > self.width and self.begun.get(cycle):
            return False
        for rule in self.core.pairing:
            if _clash(rule, unit, self.units.get(cycle, ())):
                return False
        return self._ports(timing, cycle) is not None

    def take(self, timing: Timing, unit: str, cycle: int) -> None:
        """Places an instruction that fits."""
        for port, start, busy in self._ports(timing, cycle) or ():
            for step in range(start, start + busy):
                self.taken[step] = self.taken.get(step, 0) | (1 << port)
        self.begun[cycle] = self.begun.get(cycle, 0) + self._begins(timing)
        self.units.setdefault(cycle, []).append(unit)

    def _begins(self, timing: Timing) -> int:
        if self.core.order is not Order.OUT_OF_ORDER:
            return 1
        return max(1, len(timing.micro_ops))

    def _ports(self, timing: Timing, cycle: int) -> list[tuple[int, int, int]] | None:
        """(port, first cycle, cycles) of every micro-op, or None when some port is taken."""
        chosen: list[tuple[int, int, int]] = []
        extra: dict[int, int] = {}
        for timed in timing.micro_ops:
            micro_op, start = timed.micro_op, cycle + timed.start
            if not micro_op.ports:
                continue
            span = range(start, start + micro_op.busy)
            used = 0
            for step in span:
                used |= self.taken.get(step, 0) | extra.get(step, 0)
            port = next((p for p in micro_op.ports if not used >> p & 1), None)
            if port is None:
                return None
            chosen.append((port, start, micro_op.busy))
            for step in span:
                extra[step] = extra.get(step, 0) | (1 << port)
        return chosen


def _clash(rule: PairingRule, unit: str, others: Sequence[str]) -> bool:
    """Whether `unit` may not begin together with one of `others`."""
    first, second = unit in rule.first, unit in rule.second
    return any((first and o in rule.second) or (second and o in rule.first) for o in others)
