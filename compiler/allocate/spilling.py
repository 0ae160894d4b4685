"""Spill code: a spilled value lives in its home, and tiny intervals carry it to and from
instructions.

The home of a spilled value is a frame slot; or, for a constant, nothing at all, because the
instruction that makes it is simply run again (rematerialisation, Briggs, Cooper and Torczon 1992);
or, for a class that memory cannot hold (simt's predicates), a register of another class, which may
be spilled in its turn.

Around every instruction that reads the value stands a reload into a fresh virtual register, after
every one that writes it a store; where the card has a shape with memory in place of the register
the reload is folded into the instruction. Parallel copies keep naming the value: they are resolved
between homes and registers at the end (`compiler.allocate.resolution`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from compiler.allocate.intervals import Interval
from compiler.allocate.moves import (
    MoveCards,
    latency_cycles,
    memory_instruction,
    park_instruction,
    required,
    unpark_instruction,
)
from compiler.allocate.preparation import Working
from compiler.allocate.shortcuts import address_of, foldable, remade, single_definitions
from compiler.journal import Decision
from compiler.machine.accesses import accesses
from compiler.machine.code import (
    AnyRegister,
    MachineFunction,
    MachineInstruction,
    MachineNode,
    ParallelCopy,
    Role,
    Slot,
    VirtualRegister,
)
from compiler.machine.rewriting import with_registers
from isas.model import Machine


@dataclass(frozen=True, slots=True, kw_only=True)
class SpillCode(Decision):
    """How a spilled value is kept: `home` (slot4, a constant, a register of another class) and how
    many stores, reloads and folded memory operands that took.
    """

    worded: ClassVar[tuple[str, ...]] = ("chosen", "because", "home")

    home: str
    stores: int
    reloads: int
    folded: int

    @property
    def template(self) -> str:
        return "{subject} lives in {home}: {stores} stores, {reloads} reloads, {folded} folded"


@dataclass(frozen=True, slots=True)
class Home:
    """Where a spilled value lives: exactly one of the three is set."""

    slot: Slot | None = None
    constant: MachineInstruction | None = None
    parked: VirtualRegister | None = None

    def __str__(self) -> str:
        if self.slot is not None:
            return str(self.slot)
        return f"{self.parked}" if self.parked is not None else "a constant"


@dataclass(slots=True)
class _Counts:
    stores: int = 0
    reloads: int = 0
    folded: int = 0


@dataclass(slots=True)
class Spiller:
    """Rewrites a working function round by round. `homes` maps the numbers of spilled virtual
    registers to their homes; `unspillable` are the numbers of the tiny ones made here.
    """

    working: Working
    machine: Machine
    cards: MoveCards
    homes: dict[int, Home] = field(default_factory=dict)
    unspillable: set[int] = field(default_factory=set)
    counts: dict[int, _Counts] = field(default_factory=dict)
    tiny_of: dict[int, VirtualRegister] = field(default_factory=dict)

    @property
    def function(self) -> MachineFunction:
        return self.working.function

    def spill(self, intervals: Sequence[Interval]) -> list[SpillCode]:
        """Gives every interval a home and rewrites the function. Returns the decisions, in
        order.
        """
        free_slots = _SlotSharing(self.function)
        definitions = single_definitions(self.function, self.machine)
        for interval in sorted(intervals, key=lambda i: (i.start, i.members[0].number)):
            home = self._home(interval, definitions, free_slots)
            for member in interval.members:
                self.homes[member.number] = home
                self.counts[member.number] = _Counts()
        fresh = {member.number for interval in intervals for member in interval.members}
        for block in self.function.blocks:
            block.instructions = self._rewritten(block.instructions, fresh)
        return [self._decision(interval) for interval in intervals]

    def _decision(self, interval: Interval) -> SpillCode:
        counts = [self.counts[member.number] for member in interval.members]
        return SpillCode(
            subject=interval.name,
            chosen=f"lives in {self.homes[interval.members[0].number]}",
            home=str(self.homes[interval.members[0].number]),
            stores=sum(count.stores for count in counts),
            reloads=sum(count.reloads for count in counts),
            folded=sum(count.folded for count in counts),
        )

    def _home(
        self,
        interval: Interval,
        definitions: Mapping[int, MachineInstruction],
        free_slots: _SlotSharing,
    ) -> Home:
        constant = self.constant_of(interval, definitions)
        if constant is not None:
            return Home(constant=constant)
        name, bits = interval.register_class, interval.bits
        park = self.cards.park(name)
        can_park = park is not None and self.cards.unpark(name) is not None
        if park is not None and can_park and self.cards.store(name, bits) is None:
            kind = park.by_name[park.facts.writes[0]].kind
            return Home(parked=self.function.new_virtual(kind.class_name, kind.bits))
        return Home(slot=free_slots.take(interval, self.cards.slot_bytes(name, bits)))

    def constant_of(
        self, interval: Interval, definitions: Mapping[int, MachineInstruction]
    ) -> MachineInstruction | None:
        """The instruction that makes the interval's value anywhere, when running it again costs no
        more than a reload.
        """
        definition = definitions.get(interval.members[0].number)
        if definition is None or len(interval.members) > 1:
            return None
        again = latency_cycles(definition.shape, self.machine.core)
        reload = self.cards.reload_cycles(interval.register_class, interval.bits)
        return definition if again <= reload else None

    def _rewritten(self, nodes: Sequence[MachineNode], fresh: set[int]) -> list[MachineNode]:
        result: list[MachineNode] = []
        for place, node in enumerate(nodes):
            if isinstance(node, ParallelCopy):
                following = nodes[place + 1] if place + 1 < len(nodes) else None
                result += self._rewritten_copy(node, following, fresh)
            else:
                result += self._rewritten_instruction(node, fresh)
        return result

    def _rewritten_instruction(
        self, node: MachineInstruction, fresh: set[int]
    ) -> Iterator[MachineNode]:
        row = accesses(node, self.machine.isa.registers)
        read = _virtual(row.reads, fresh)
        written = _virtual(row.writes, fresh)
        if not read and not written:
            yield node
            return
        if self._is_dropped(node, written):
            return
        node, read = self._folded(node, read, written)
        tiny: dict[int, VirtualRegister] = {}
        for register in {**read, **written}.values():
            carried = self.tiny_of.pop(register.number, None)
            tiny[register.number] = carried or self._tiny(register)
            if register.number in read and carried is None:
                yield from self._reload(register, tiny[register.number])
        made = self._renamed(node, tiny)
        yield made
        for number, register in written.items():
            yield from self._store(register, tiny[number])

    def _is_dropped(self, node: MachineInstruction, written: Mapping[int, VirtualRegister]) -> bool:
        """Whether the instruction only makes a constant that will be made again at its uses."""
        homes = [self.homes[number] for number in written]
        return len(homes) == 1 and homes[0].constant is node

    def _tiny(self, register: VirtualRegister) -> VirtualRegister:
        made = self.function.new_virtual(register.register_class, register.bits)
        self.unspillable.add(made.number)
        return made

    def _renamed(
        self, node: MachineInstruction, tiny: Mapping[int, VirtualRegister]
    ) -> MachineInstruction:
        made = with_registers(node, lambda register, _: _substitute(register, tiny))
        if node in self.working.source:
            self.working.source[made] = self.working.source.pop(node)
        return made

    def _reload(
        self, register: VirtualRegister, into: VirtualRegister
    ) -> Iterator[MachineInstruction]:
        home = self.homes[register.number]
        self.counts[register.number].reloads += 1
        if home.constant is not None:
            yield remade(home.constant, into, register)
        elif home.parked is not None:
            unpark = required(self.cards.unpark(register.register_class), f"unpark {register}")
            yield unpark_instruction(unpark, into, home.parked, register)
        elif home.slot is not None:
            found = self.cards.load(register.register_class, register.bits)
            load = required(found, f"reload {register}")
            yield memory_instruction(load, into, home.slot, Role.RELOAD, register)

    def _store(
        self, register: VirtualRegister, source: VirtualRegister
    ) -> Iterator[MachineInstruction]:
        home = self.homes[register.number]
        self.counts[register.number].stores += 1
        if home.parked is not None:
            park = required(self.cards.park(register.register_class), f"park {register}")
            yield park_instruction(park, home.parked, source, register)
        elif home.slot is not None:
            found = self.cards.store(register.register_class, register.bits)
            store = required(found, f"store {register}")
            yield memory_instruction(store, source, home.slot, Role.SPILL, register)

    def _folded(
        self,
        node: MachineInstruction,
        read: dict[int, VirtualRegister],
        written: Mapping[int, VirtualRegister],
    ) -> tuple[MachineInstruction, dict[int, VirtualRegister]]:
        """The instruction with one reload turned into its memory operand, where the card has the
        shape.
        """
        for number, register in read.items():
            home = self.homes[number]
            place = address_of(home.slot, home.constant)
            if place is None or number in written or number in self.tiny_of:
                continue
            address, bits = place
            found = foldable(node, register, bits, self.machine)
            if found is None:
                continue
            shape, name = found
            operands = {**node.operands, name: address}
            made = replace(node, shape=shape, operands=operands)
            if node in self.working.source:
                self.working.source[made] = self.working.source.pop(node)
            self.counts[number].folded += int(home.slot is not None)
            return made, {key: value for key, value in read.items() if key != number}
        return node, read

    def _rewritten_copy(
        self, node: ParallelCopy, following: MachineNode | None, fresh: set[int]
    ) -> Iterator[MachineNode]:
        """A parallel copy between homes. A destination that the next instruction reads and writes
        stays in a register until then; parked values are unparked before and parked by the copy.
        """
        parks: list[MachineInstruction] = []
        unparks: list[MachineInstruction] = []
        moves: list[tuple[AnyRegister, AnyRegister]] = []
        for destination, source in node.moves:
            into, out_of = self._parked(destination, fresh), self._parked(source, fresh)
            if into is not None and out_of is not None:
                moves.append((into, out_of))
            elif into is not None and isinstance(destination, VirtualRegister):
                carrier = self._tiny(into)
                parks.append(self._park(destination, carrier, source))
                moves.append((into, carrier))
            elif out_of is not None and isinstance(source, VirtualRegister):
                carrier = self._tiny(source)
                unparks += self._reload(source, carrier)
                moves.append((destination, carrier))
            else:
                moves.append((self._kept(destination, following, fresh), source))
        yield from parks
        yield from unparks
        yield ParallelCopy(tuple(move for move in moves if move[0] != move[1]), node.origins)

    def _parked(self, register: AnyRegister, fresh: set[int]) -> VirtualRegister | None:
        """The register of another class that a value spilled in this round is parked in."""
        if isinstance(register, VirtualRegister) and register.number in fresh:
            return self.homes[register.number].parked
        return None

    def _kept(
        self, destination: AnyRegister, following: MachineNode | None, fresh: set[int]
    ) -> AnyRegister:
        """The tiny register that carries a spilled destination to the instruction which updates
        it.
        """
        if not isinstance(destination, VirtualRegister) or destination.number not in fresh:
            return destination
        if not isinstance(following, MachineInstruction):
            return destination
        row = accesses(following, self.machine.isa.registers)
        if destination not in row.reads or destination not in row.writes:
            return destination
        tiny = self.tiny_of[destination.number] = self._tiny(destination)
        return tiny

    def _park(
        self, register: VirtualRegister, home: VirtualRegister, source: AnyRegister
    ) -> MachineInstruction:
        park = required(self.cards.park(register.register_class), f"park {register}")
        self.counts[register.number].stores += 1
        return park_instruction(park, home, source, register)


@dataclass(slots=True)
class _SlotSharing:
    """Hands out slots of one round: intervals that never meet may share one."""

    function: MachineFunction
    taken: list[tuple[Slot, int]] = field(default_factory=list)

    def take(self, interval: Interval, size_bytes: int) -> Slot:
        for place, (slot, end) in enumerate(self.taken):
            if slot.size_bytes == size_bytes and end <= interval.start:
                self.taken[place] = (slot, interval.end)
                return slot
        slot = self.function.new_slot(size_bytes, size_bytes)
        self.taken.append((slot, interval.end))
        return slot


def _virtual(registers: Iterable[AnyRegister], numbers: set[int]) -> dict[int, VirtualRegister]:
    """The virtual registers among `registers` whose number is in `numbers`, by number."""
    return {
        register.number: register
        for register in registers
        if isinstance(register, VirtualRegister) and register.number in numbers
    }


def _substitute(register: AnyRegister, tiny: Mapping[int, VirtualRegister]) -> AnyRegister:
    if isinstance(register, VirtualRegister):
        return tiny.get(register.number, register)
    return register
