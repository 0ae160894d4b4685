"""Register pressure while a block is being scheduled: what is alive, and what placing a node
changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from compiler.machine.accesses import Accesses
from compiler.machine.code import VirtualRegister
from compiler.options import Options
from compiler.schedule.dependences import Body
from isas.model import Machine


@dataclass(frozen=True, slots=True)
class Need:
    """What a virtual register takes: `storages` registers of its class."""

    register_class: str
    storages: int


def needs(rows: Iterable[Accesses], machine: Machine) -> dict[int, Need]:
    """The need of every virtual register in `rows`, by number."""
    found: dict[int, Need] = {}
    for row in rows:
        for register in (*row.reads, *row.writes):
            if isinstance(register, VirtualRegister) and register.number not in found:
                found[register.number] = _need(register, machine)
    return found


def _need(register: VirtualRegister, machine: Machine) -> Need:
    views = machine.isa.registers.classes[register.register_class].views.values()
    wide = [view.storages_per_register for view in views if view.bits >= register.bits]
    return Need(register.register_class, min(wide, default=1))


def pressure_limits(machine: Machine, options: Options) -> dict[str, int]:
    """How many registers of each class a schedule may keep alive: those that may be used less an
    eighth for what the allocator needs beside; on simt no more than lets all warps be resident.
    """
    limits: dict[str, int] = {}
    simt = machine.core.simt
    for name, register_class in machine.isa.registers.classes.items():
        count = options.register_limit(name) or len(register_class.allocatable)
        limits[name] = max(1, count - count // 8)
        if simt is not None and register_class.count >= simt.registers_per_thread:
            resident = simt.registers_per_sm // (simt.warps_per_sm * simt.warp_size)
            limits[name] = min(limits[name], max(1, resident))
    return limits


@dataclass(slots=True)
class Pressure:
    """The live virtual registers at one point of a schedule."""

    body: Body
    needs: Mapping[int, Need]
    reads: list[frozenset[int]] = field(init=False)
    writes: list[frozenset[int]] = field(init=False)
    uses: dict[int, int] = field(default_factory=dict)
    live: set[int] = field(default_factory=set)
    now: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.reads = [self._virtual(row.read_keys) for row in self.body.rows]
        self.writes = [self._virtual(row.write_keys) for row in self.body.rows]

    def _virtual(self, keys: Iterable[int]) -> frozenset[int]:
        return frozenset(key for key in keys if key in self.needs)

    def start(self, live_in: Iterable[int]) -> None:
        """Before the first node; `live_in` are the keys alive there."""
        for keys in self.reads:
            for key in keys:
                self.uses[key] = self.uses.get(key, 0) + 1
        for key in live_in:
            if key in self.needs:
                self._add(key)

    def change(self, place: int) -> dict[str, int]:
        """Registers of each class that placing the node takes (or, negative, frees)."""
        delta: dict[str, int] = {}
        for key in self.reads[place]:
            if key in self.live and self._is_last(key) and key not in self.writes[place]:
                self._count(delta, key, -1)
        for key in self.writes[place]:
            if key not in self.live and self._is_wanted(key):
                self._count(delta, key, 1)
        return delta

    def place(self, place: int) -> None:
        """The node has been placed."""
        for key in self.reads[place]:
            self.uses[key] -= 1
            if not self.uses[key] and key in self.live and not self._is_wanted(key):
                self._remove(key)
        for key in self.writes[place]:
            if key not in self.live and self._is_wanted(key):
                self._add(key)

    def _is_last(self, key: int) -> bool:
        return self.uses[key] == 1 and key not in self.body.live_out

    def _is_wanted(self, key: int) -> bool:
        return self.uses.get(key, 0) > 0 or key in self.body.live_out

    def _count(self, delta: dict[str, int], key: int, sign: int) -> None:
        need = self.needs[key]
        delta[need.register_class] = delta.get(need.register_class, 0) + sign * need.storages

    def _add(self, key: int) -> None:
        self.live.add(key)
        self._count(self.now, key, 1)

    def _remove(self, key: int) -> None:
        self.live.discard(key)
        self._count(self.now, key, -1)


def most_live(
    body: Body, order: Sequence[int], all_needs: Mapping[int, Need], live_in: Iterable[int]
) -> dict[str, int]:
    """The greatest number of live registers of each class when the nodes run in `order`."""
    pressure = Pressure(body, all_needs)
    pressure.start(live_in)
    most = dict(pressure.now)
    for place in order:
        pressure.place(place)
        for name, count in pressure.now.items():
            most[name] = max(most.get(name, 0), count)
    return most
