"""What a core is: widths, queues, ports, caches, and what each unit of work costs on it.

The ISA says what an instruction does, the core says when. Throughput is nowhere written: it
follows from ports and busy cycles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Order(Enum):
    """How instructions leave for execution."""

    IN_ORDER = "in-order"
    OUT_OF_ORDER = "out-of-order"
    SIMT = "simt"


class Predictor(Enum):
    """How conditional branches are guessed; every branch has its own entry."""

    STATIC = "static"  # backward taken, forward not taken
    TWO_BIT = "two-bit"
    LOOP = "loop"  # two-bit, and the end of a run as long as the last two is foreseen


class WarpPolicy(Enum):
    """Which eligible warp a SIMT scheduler issues for."""

    GREEDY_THEN_OLDEST = "greedy-then-oldest"
    ROUND_ROBIN = "round-robin"


class MicroOpRole(Enum):
    """What a micro-op does for its instruction."""

    COMPUTE = "compute"
    LOAD = "load"
    STORE_ADDRESS = "store-address"
    STORE_DATA = "store-data"


@dataclass(frozen=True, slots=True)
class MicroOp:
    """One micro-op: it may go to any of `ports` (indices into `Core.ports`).

    `latency` is cycles from issue to a usable result; `busy` is cycles the port stays taken (1 when
    pipelined). `late` maps operand names to cycles after issue at which they are first needed.
    The compute micro-ops of an instruction run one after the other. No ports: done at rename.
    """

    role: MicroOpRole
    ports: tuple[int, ...]
    latency: int
    busy: int = 1
    late: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unit:
    """A class of work on a core. `latency` of several micro-ops is their sum.

    With `breaks_dependency`, an instruction whose sources are one register (xor x, x) does not wait
    for it; with `is_eliminated`, it needs no port at all.
    """

    name: str
    micro_ops: tuple[MicroOp, ...]
    is_eliminated: bool = False


@dataclass(frozen=True, slots=True)
class Cache:
    """A set-associative cache with least-recently-used replacement."""

    size_bytes: int
    ways: int
    line_bytes: int
    latency_cycles: int

    @property
    def sets(self) -> int:
        """Number of sets."""
        return self.size_bytes // (self.ways * self.line_bytes)


@dataclass(frozen=True, slots=True)
class PairingRule:
    """Two instructions that may not issue in one cycle: any of `first` with any of `second`."""

    first: tuple[str, ...]
    second: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Simt:
    """What only a SIMT core has. Sizes are per streaming multiprocessor (SM)."""

    warp_size: int
    schedulers: int
    sm_count: int
    warps_per_sm: int
    blocks_per_sm: int
    threads_per_block: int
    registers_per_sm: int
    registers_per_thread: int
    register_allocation_unit: int
    shared_bytes_per_sm: int
    shared_bytes_per_block: int
    shared_banks: int
    shared_latency_cycles: int
    sector_bytes: int
    l2_latency_cycles: int
    launch_overhead_cycles: int
    policy: WarpPolicy = WarpPolicy.GREEDY_THEN_OLDEST


@dataclass(frozen=True, slots=True)
class Core:
    """A microarchitecture. Widths are instructions (in order) or micro-ops per cycle.

    `units` maps a unit name, or `name.WIDTH` for one operand width in bits, to its cost.
    `issue_width` limits issues per cycle over all ports. `memory_latency_cycles` is what a miss
    costs beyond a hit; `mispredict_cycles` runs from the branch's completion to the dispatch of
    the right path. Store forwarding runs from the issue of the stored data to the load's
    result; it is blocked when the store wrote only a part (0: 3 times as long). `fetch_queue`
    holds fetched instructions before dispatch (0: 8 cycles' worth). `zero_idioms` names cards
    that give zero without waiting when their sources are one register; `move_elimination` names
    units done at rename. `scheduler_entries` is the sum over queues.
    """

    name: str
    title: str
    isa_name: str
    order: Order
    features: tuple[str, ...]
    vector_bits: int
    clock_ghz: float
    fetch_width: int
    rename_width: int
    issue_width: int
    retire_width: int
    reorder_buffer: int
    scheduler_entries: int
    load_queue: int
    store_queue: int
    ports: tuple[str, ...]
    units: Mapping[str, Unit]
    l1: Cache
    memory_latency_cycles: int
    mispredict_cycles: int
    store_forward_cycles: int
    store_forward_blocked_cycles: int = 0
    store_commit_width: int = 1
    fetch_queue: int = 0
    predictor: Predictor = Predictor.LOOP
    pairing: tuple[PairingRule, ...] = ()
    zero_idioms: tuple[str, ...] = ()
    simt: Simt | None = None
    sources: str = ""
    file: str = ""

    def unit(self, name: str, width: int) -> Unit | None:
        """The cost of unit `name` on operands of `width` bits (0: no matter), or None."""
        return self.units.get(f"{name}.{width}") or self.units.get(name)
