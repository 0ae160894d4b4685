"""What an instruction costs on a core, as scheduling and spilling see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from isas.corefiles import core_micro_ops
from isas.cores import Core, MicroOp, MicroOpRole, Order
from isas.model import Shape


@dataclass(frozen=True, slots=True)
class TimedMicroOp:
    """A micro-op and the cycles after its instruction's issue at which it starts."""

    micro_op: MicroOp
    start: int


@dataclass(frozen=True, slots=True)
class Timing:
    """A shape on a core. `latency` is cycles from issue to result; register operands are needed
    `wait` cycles after issue (a folded load runs before the computation), those in `late` as many
    cycles later still; registers inside addresses are needed at once.
    """

    micro_ops: tuple[TimedMicroOp, ...]
    latency: int
    wait: int
    late: Mapping[str, int]

    def needed_after(self, operand: str, is_address: bool) -> int:
        """Cycles after issue at which an operand must be there."""
        return 0 if is_address else self.wait + self.late.get(operand, 0)


@dataclass(slots=True)
class Timings:
    """The timing of every shape on one core as a scheduler should assume it, each worked out once.

    Cores that cannot work around a waiting instruction (in order, simt) want loads early: kernels
    stream through memory, so each load is given its share of the cache misses.
    """

    core: Core
    _known: dict[Shape, Timing] = field(default_factory=dict)

    def of(self, shape: Shape) -> Timing:
        """The timing of `shape`."""
        found = self._known.get(shape)
        if found is None:
            found = self._known[shape] = timing(shape, self.core, self._misses(shape))
        return found

    def _misses(self, shape: Shape) -> int:
        """Cycles that a load waits for memory on average when it streams: every line is fetched
        once and serves as many accesses as fit into it (on simt, an access is a warp's).
        """
        core = self.core
        if core.order is Order.OUT_OF_ORDER or not shape.facts.loads:
            return 0
        kind = shape.by_name[shape.facts.loads[0]].kind
        if kind.address is None or kind.address.space not in ("", "global"):
            return 0
        lanes = core.simt.warp_size if core.simt is not None else 1
        share = min(1.0, lanes * kind.bits / 8 / core.l1.line_bytes)
        return round(core.memory_latency_cycles * share)


def timing(shape: Shape, core: Core, misses: int = 0) -> Timing:
    """The timing of `shape` on `core`: its loads first, then its computation, then its store. Loads
    take `misses` cycles more than a cache hit."""
    timed: list[TimedMicroOp] = []
    loaded = computed = 0
    late: dict[str, int] = {}
    for micro_op in core_micro_ops(core, shape):
        if micro_op.role is MicroOpRole.LOAD:
            timed.append(TimedMicroOp(micro_op, 0))
            loaded = computed = max(loaded, micro_op.latency + misses)
        elif micro_op.role is MicroOpRole.STORE_ADDRESS:
            timed.append(TimedMicroOp(micro_op, 0))
        else:
            timed.append(TimedMicroOp(micro_op, computed))
            late.update((name, computed - loaded + n) for name, n in micro_op.late.items())
            computed += micro_op.latency
    has_compute = any(t.micro_op.role is not MicroOpRole.LOAD for t in timed)
    return Timing(tuple(timed), computed, loaded if has_compute else 0, MappingProxyType(late))
