"""The last step: virtual registers are replaced by physical ones and parallel copies by moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from compiler.allocate.coalescing import Intervals
from compiler.allocate.intervals import covers
from compiler.allocate.linear_scan import Pool, ScanResult
from compiler.allocate.moves import MoveCards, view_for
from compiler.allocate.preparation import Working
from compiler.allocate.resolution import Location, Resolver, SpareKey, Transfer
from compiler.allocate.spilling import Home
from compiler.machine.code import (
    AnyRegister,
    MachineFunction,
    MachineInstruction,
    ParallelCopy,
    Slot,
    VirtualRegister,
)
from compiler.machine.rewriting import with_registers
from isas.model import Machine
from isas.registers import Register


@dataclass(slots=True)
class Assigner:
    """Applies the last round's places to a working function."""

    machine: Machine
    cards: MoveCards
    working: Working
    pools: Mapping[str, Pool]
    built: Intervals
    scan: ScanResult
    homes: Mapping[int, Home]
    spare: dict[SpareKey, Slot] = field(default_factory=dict)

    def apply(self) -> MachineFunction:
        """Rewrites all blocks in place and returns the function."""
        function = self.working.function
        position = 0
        for block in function.blocks:
            made: list[MachineInstruction] = []
            for node in block.instructions:
                if isinstance(node, ParallelCopy):
                    made += self._resolved(node, position)
                else:
                    made.append(self._assigned(node))
                position += 2
            block.instructions = list(made)
        return function

    def register_of(self, register: VirtualRegister) -> Register:
        """The physical register that holds a virtual one, in the narrowest view that fits it."""
        interval = self.built.of[register.number]
        name = register.register_class
        view = view_for(self.machine, name, register.bits)
        return self.machine.isa.registers.register(name, view.name, self.scan.places[interval])

    def _assigned(self, node: MachineInstruction) -> MachineInstruction:
        def physical(register: AnyRegister, name: str) -> AnyRegister:
            if isinstance(register, VirtualRegister):
                register = self.register_of(register)
            return self._seen_through(register, node, name)

        made = with_registers(node, physical)
        if node in self.working.source:
            self.working.source[made] = self.working.source.pop(node)
        return made

    def _seen_through(self, register: Register, node: MachineInstruction, name: str) -> Register:
        """The register in the view that the operand's kind asks for."""
        kind = node.shape.by_name[name].kind if name else None
        if kind is None or not kind.is_register or kind.class_name != register.class_name:
            return register
        if kind.view == register.view:
            return register
        return self.machine.isa.registers.view_of(register, kind.view)

    def _resolved(self, node: ParallelCopy, position: int) -> Iterator[MachineInstruction]:
        transfers = [self._transfer(destination, source) for destination, source in node.moves]
        resolver = Resolver(
            self.machine,
            self.cards,
            self.working.function,
            self.pools,
            lambda: self._busy(position),
            self.spare,
        )
        for made in resolver.resolve(transfers):
            in_views = self._assigned(made)
            yield replace(in_views, origins=node.origins or made.origins)

    def _transfer(self, destination: AnyRegister, source: AnyRegister) -> Transfer:
        bits = min(destination.bits, source.bits)
        about = next((r for r in (destination, source) if isinstance(r, VirtualRegister)), None)
        origin: Location | MachineInstruction | None = self._constant(source)
        if origin is None:
            origin = self._place(source)
        return Transfer(self._place(destination), origin, bits, _class_of(destination), about)

    def _constant(self, register: AnyRegister) -> MachineInstruction | None:
        home = self.homes.get(register.number) if isinstance(register, VirtualRegister) else None
        return home.constant if home is not None else None

    def _place(self, register: AnyRegister) -> Location:
        if isinstance(register, Register):
            return register
        home = self.homes.get(register.number)
        if home is not None and home.slot is not None:
            return home.slot
        return self.register_of(register)

    def _busy(self, position: int) -> frozenset[int]:
        """Storages that hold something alive when the node at `position` reads or writes."""
        busy: set[int] = set()
        for storage, segments in self.built.fixed.items():
            if covers(segments, position) or covers(segments, position + 1):
                busy.add(storage)
        for interval, place in self.scan.places.items():
            segments = interval.segments
            if interval.start > position + 1 or interval.end <= position:
                continue
            if covers(segments, position) or covers(segments, position + 1):
                pool = self.pools[interval.register_class]
                busy.update(pool.storages(place, interval.storages))
        return frozenset(busy)


def _class_of(register: AnyRegister) -> str:
    if isinstance(register, VirtualRegister):
        return register.register_class
    return register.class_name
