"""Linear scan register allocation: one walk over the live intervals, in the order in which they
start.

Poletto and Sarkar, *Linear Scan Register Allocation*, ACM TOPLAS 21(5), 1999.

Every value is an interval on a line of positions. The scan keeps the list of *active* intervals,
those that have begun and not ended, each sitting in a register. For the next interval it

1. *expires* the active intervals that have ended, whose registers become free;
2. takes a free register if there is one (a register that a copy would like, if it is free);
3. otherwise *spills*: among the active intervals and the new one, the interval whose end is
   furthest away goes to memory, for it would block a register for the longest time. If that is an
   active one, the new interval takes over its register.

A spilled interval lives in memory from its beginning to its end. Instructions still want registers,
so spill code splits it into tiny intervals around each use and each definition
(`compiler.allocate.spilling`), and the scan runs again over the new function: a *round*. Tiny
intervals cannot be spilled, which makes every round smaller than the one before; when a round
spills nothing, the allocation is complete.

Beyond the paper: an interval may need several neighbouring registers (a 64-bit value on a 32-bit
machine) and is then weighed by the place it would take; registers that instructions fix or clobber
are avoided where their segments meet the interval's; among equal ends the cheaper spill goes first.
Each step is recorded with what was active and free, so that it can be replayed in both directions.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from compiler.allocate.intervals import Interval, Segment, intersect
from compiler.journal import Alternative, Decision


class SpillRule(Enum):
    """Which interval goes to memory when no register is free."""

    FURTHEST_END = "furthest end"
    LOWEST_COST = "lowest cost"


class ScanAction(Enum):
    """What a step did with its interval."""

    ASSIGN = "assign"
    SPILL = "spill"
    TAKE_OVER = "take over"


@dataclass(frozen=True, slots=True)
class Pool:
    """The registers of one class that may be used: indices in the order of preference."""

    register_class: str
    indices: tuple[int, ...]
    first_storage: int
    names: Mapping[int, str] = field(default_factory=dict)

    def places(self, storages: int) -> tuple[int, ...]:
        """First indices of `storages` neighbouring, aligned registers, preferred first."""
        if storages == 1:
            return self.indices
        allowed = set(self.indices)
        return tuple(
            index
            for index in sorted(self.indices, key=self.indices.index)
            if index % storages == 0 and allowed.issuperset(range(index, index + storages))
        )

    def storages(self, place: int, count: int) -> range:
        """The storage ids of the `count` registers from index `place` on."""
        return range(self.first_storage + place, self.first_storage + place + count)

    def name(self, place: int) -> str:
        return self.names.get(place, f"{self.register_class}{place}")


@dataclass(frozen=True, slots=True)
class ActiveEntry:
    """An interval that holds a register, as a step shows it."""

    interval: str
    register: str
    end: int

    def __str__(self) -> str:
        return f"{self.interval} {self.register} {self.end}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanStep(Decision):
    """One step of the scan. `active` (by end) and `free` are as found after expiring `expired`,
    before the choice. `spilled` names the interval sent to memory, `register` the register given
    (or "").
    """

    round: int
    number: int
    register_class: str
    start: int
    end: int
    action: ScanAction
    expired: tuple[ActiveEntry, ...]
    active: tuple[ActiveEntry, ...]
    free: tuple[str, ...]
    register: str = ""
    spilled: str = ""

    @property
    def template(self) -> str:
        return "{subject} [{start},{end}): {chosen}, because {because}"


@dataclass(frozen=True, slots=True)
class Hint:
    """A wish of an interval: to sit at `place`, or (place None) where `interval` sits."""

    weight: float
    place: int | None = None
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class ScanProblem:
    """What a scan works on. `fixed` are the segments in which a storage is taken by instructions
    themselves; `spill_cost` is the estimated cost of the spill code of an interval, in cycles."""

    intervals: Sequence[Interval]
    pools: Mapping[str, Pool]
    fixed: Mapping[int, Sequence[Segment]] = field(default_factory=dict)
    hints: Mapping[Interval, Sequence[Hint]] = field(default_factory=dict)
    spill_cost: Mapping[Interval, float] = field(default_factory=dict)
    rule: SpillRule = SpillRule.FURTHEST_END
    round: int = 0
    is_recorded: bool = True
    is_trial: bool = False


@dataclass(frozen=True, slots=True)
class ScanResult:
    """Places (first index) of the intervals in registers, the spilled ones, and the steps. `stuck`
    is an interval that found no register although it cannot be spilled: the class has too few.
    """

    places: Mapping[Interval, int]
    spilled: tuple[Interval, ...]
    steps: tuple[ScanStep, ...]
    stuck: Interval | None = None


def linear_scan(problem: ScanProblem) -> ScanResult:
    """Walks the intervals by start and gives each a place or sends it to memory."""
    scan = _Scan(problem)
    order = sorted(problem.intervals, key=lambda i: (i.start, i.end, i.members[0].number))
    for interval in order:
        if not scan.step(interval):
            return scan.result(stuck=interval)
        if problem.is_trial and scan.spilled:
            break
    return scan.result()


@dataclass(frozen=True, slots=True, order=True)
class _Active:
    """An active interval, ordered by end."""

    end: int
    number: int
    interval: Interval = field(compare=False)
    place: int = field(compare=False)
    entry: ActiveEntry = field(compare=False)


class _Scan:
    """The state of one walk."""

    def __init__(self, problem: ScanProblem) -> None:
        self.problem = problem
        self.active: dict[str, list[_Active]] = {name: [] for name in problem.pools}
        self.free = {name: list(pool.indices) for name, pool in problem.pools.items()}
        self.rank = {
            name: {index: rank for rank, index in enumerate(pool.indices)}
            for name, pool in problem.pools.items()
        }
        self.holder: dict[int, _Active] = {}
        self.places: dict[Interval, int] = {}
        self.spilled: list[Interval] = []
        self.steps: list[ScanStep] = []

    def result(self, stuck: Interval | None = None) -> ScanResult:
        return ScanResult(self.places, tuple(self.spilled), tuple(self.steps), stuck)

    def step(self, interval: Interval) -> bool:
        """Handles the next interval; False when it is stuck."""
        pool = self.problem.pools[interval.register_class]
        expired = self._expire(interval.register_class, interval.start)
        found = self._found(interval, pool, expired)
        place = self._free_place(interval, pool)
        if place is not None:
            return self._assign(found, pool, *place)
        return self._spill(found, pool)

    def _found(self, interval: Interval, pool: Pool, expired: tuple[ActiveEntry, ...]) -> _Found:
        if not self.problem.is_recorded:
            return _Found(interval, (), (), ())
        before = tuple(entry.entry for entry in self.active[interval.register_class])
        free = tuple(pool.name(index) for index in self.free[interval.register_class])
        return _Found(interval, expired, before, free)

    def _expire(self, register_class: str, start: int) -> tuple[ActiveEntry, ...]:
        active = self.active[register_class]
        count = 0
        while count < len(active) and active[count].end <= start:
            self._release(active[count])
            count += 1
        gone = tuple(entry.entry for entry in active[:count])
        del active[:count]
        return gone

    def _release(self, entry: _Active) -> None:
        name = entry.interval.register_class
        pool, rank = self.problem.pools[name], self.rank[name]
        for storage in pool.storages(entry.place, entry.interval.storages):
            del self.holder[storage]
            insort(self.free[name], storage - pool.first_storage, key=rank.__getitem__)

    def _is_allowed(self, interval: Interval, pool: Pool, place: int) -> bool:
        """Whether no instruction fixes or clobbers the place while the interval needs it."""
        fixed = self.problem.fixed
        if not fixed:
            return True
        return not any(
            storage in fixed and intersect(fixed[storage], interval.segments)
            for storage in pool.storages(place, interval.storages)
        )

    def _free_place(self, interval: Interval, pool: Pool) -> tuple[int, str] | None:
        name = interval.register_class
        places = self.free[name] if interval.storages == 1 else self._free_runs(interval, pool)
        open_places = [place for place in places if self._is_allowed(interval, pool, place)]
        if not open_places:
            return None
        hinted = self._hinted(interval, open_places)
        if hinted is not None:
            return hinted, "a copy wants this register, and it is free"
        if interval.storages == 1 and any(e.interval.storages > 1 for e in self.active[name]):
            free = frozenset(self.free[name])
            halves = [p for p in open_places if p ^ 1 in self.rank[name] and p ^ 1 not in free]
            return (halves or open_places)[0], "it is free"
        return open_places[0], "it is free"

    def _free_runs(self, interval: Interval, pool: Pool) -> list[int]:
        """Free places for an interval of several registers."""
        free = frozenset(self.free[interval.register_class])
        count = interval.storages
        return [
            place
            for place in pool.places(count)
            if all(index in free for index in range(place, place + count))
        ]

    def _hinted(self, interval: Interval, open_places: Sequence[int]) -> int | None:
        for hint in sorted(self.problem.hints.get(interval, ()), key=lambda hint: -hint.weight):
            place = hint.place
            if hint.interval is not None:
                place = self.places.get(hint.interval)
            if place in open_places:
                return place
        return None

    def _assign(self, found: _Found, pool: Pool, place: int, because: str) -> bool:
        self._take(found.interval, pool, place)
        self._record(found, ScanAction.ASSIGN, pool.name(place), "", because, ())
        return True

    def _take(self, interval: Interval, pool: Pool, place: int) -> None:
        shown = ActiveEntry(interval.name, pool.name(place), interval.end)
        entry = _Active(interval.end, interval.members[0].number, interval, place, shown)
        insort(self.active[pool.register_class], entry)
        for storage in pool.storages(place, interval.storages):
            self.holder[storage] = entry
            self.free[interval.register_class].remove(storage - pool.first_storage)
        self.places[interval] = place

    def _spill(self, found: _Found, pool: Pool) -> bool:
        """No place is free: sends the interval that the rule picks to memory."""
        interval = found.interval
        choices = sorted(self._choices(interval, pool), key=lambda choice: choice.rank)
        if not choices:
            return False
        best = choices[0]
        shown = tuple(choice.shown for choice in choices)
        because = f"no register is free and the rule is {self.problem.rule.value}: {best.reason}"
        for victim in best.victims:
            self._evict(victim)
        names = ", ".join(victim.interval.name for victim in best.victims)
        if best.place is None:
            self.spilled.append(interval)
            self._record(found, ScanAction.SPILL, "", interval.name, because, shown)
            return True
        self._take(interval, pool, best.place)
        register = pool.name(best.place)
        self._record(found, ScanAction.TAKE_OVER, register, names, because, shown)
        return True

    def _evict(self, victim: _Active) -> None:
        self._release(victim)
        self.active[victim.interval.register_class].remove(victim)
        del self.places[victim.interval]
        self.spilled.append(victim.interval)

    def _choices(self, interval: Interval, pool: Pool) -> Iterable[_Choice]:
        if interval.can_spill:
            yield _Choice(None, (), (self._badness(interval),), interval.name, interval.end)
        for place in pool.places(interval.storages):
            storages = pool.storages(place, interval.storages)
            held = {self.holder[s].number: self.holder[s] for s in storages if s in self.holder}
            victims = tuple(held[number] for number in sorted(held))
            if not victims or not all(victim.interval.can_spill for victim in victims):
                continue
            if self._is_allowed(interval, pool, place):
                badness = tuple(sorted(self._badness(victim.interval) for victim in victims))
                name = " and ".join(victim.interval.name for victim in victims)
                end = min(victim.end for victim in victims)
                yield _Choice(place, victims, badness[::-1], name, end, pool.name(place))

    def _badness(self, interval: Interval) -> tuple[float, float, int]:
        """How much one would regret spilling the interval: less is better."""
        cost = self.problem.spill_cost.get(interval, interval.weight)
        if self.problem.rule is SpillRule.LOWEST_COST:
            length = interval.end - interval.start
            return (cost / length, -interval.end, -interval.members[0].number)
        return (-interval.end, cost, -interval.members[0].number)

    def _record(
        self,
        found: _Found,
        action: ScanAction,
        register: str,
        spilled: str,
        because: str,
        alternatives: tuple[Alternative, ...],
    ) -> None:
        if not self.problem.is_recorded:
            return
        interval = found.interval
        spill = f"spill {spilled}" if spilled else ""
        step = ScanStep(
            subject=interval.name,
            chosen=", ".join(part for part in (spill, register) if part),
            because=because,
            alternatives=alternatives,
            round=self.problem.round,
            number=len(self.steps),
            register_class=interval.register_class,
            start=interval.start,
            end=interval.end,
            action=action,
            expired=found.expired,
            active=found.active,
            free=found.free,
            register=register,
            spilled=spilled,
        )
        self.steps.append(step)


@dataclass(frozen=True, slots=True)
class _Found:
    """What a step found before it chose."""

    interval: Interval
    expired: tuple[ActiveEntry, ...]
    active: tuple[ActiveEntry, ...]
    free: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Choice:
    """A way out when nothing is free: spill `victims` and take `place`, or (None) the new
    interval.
    """

    place: int | None
    victims: tuple[_Active, ...]
    rank: tuple[tuple[float, float, int], ...]
    name: str
    end: int
    register: str = ""

    @property
    def reason(self) -> str:
        return f"{self.name} ends at {self.end}"

    @property
    def shown(self) -> Alternative:
        return Alternative(name=f"spill {self.name}", cost=self.end, note=self.register)
