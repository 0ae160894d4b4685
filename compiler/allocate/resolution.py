"""Parallel copies become sequences of moves.

All sources of a parallel copy are read before any destination is written. One after the other, a
move may go as soon as no waiting move still reads what it overwrites. When every waiting move is
blocked they form cycles (a ← b, b ← a); one source is then set aside: swapped by an exchange card
if the ISA has one, else copied to a free register, else to a frame slot, after which the others can
go (Boissinot et al., *Revisiting Out-of-SSA Translation*, CGO 2009, algorithm 1). A move from slot
to slot goes through a free register; if none is free, one is saved for the moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from compiler.allocate.linear_scan import Pool
from compiler.allocate.moves import (
    MoveCards,
    exchange_instruction,
    memory_instruction,
    move_instruction,
    park_instruction,
    unpark_instruction,
    view_for,
)
from compiler.allocate.shortcuts import remade
from compiler.machine.code import (
    MachineFunction,
    MachineInstruction,
    Role,
    Slot,
    VirtualRegister,
)
from isas.errors import UnsupportedError
from isas.model import Machine, Shape
from isas.registers import Register, View

SpareKey = tuple[str, int, int]
"""Purpose, size and number of a slot that parallel copies use for a moment."""

Location = Register | Slot
"""Where a value lies: a physical register or a frame slot."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """One move of a parallel copy between places. A `constant` source is made on the spot. `bits`
    is the width of the value, `about` the virtual register that the copy is for.
    """

    destination: Location
    source: Location | MachineInstruction
    bits: int
    register_class: str
    about: VirtualRegister | None = None

    @property
    def written(self) -> frozenset[int]:
        return _atoms(self.destination)

    @property
    def read(self) -> frozenset[int]:
        return frozenset() if isinstance(self.source, MachineInstruction) else _atoms(self.source)

    @property
    def is_nothing(self) -> bool:
        return not isinstance(self.source, MachineInstruction) and self.written == self.read


def _atoms(location: Location) -> frozenset[int]:
    """What a location shares with others: storage ids, or a negative number for a slot."""
    if isinstance(location, Slot):
        return frozenset((-1 - location.number,))
    return frozenset(location.storages)


@dataclass(frozen=True, slots=True)
class Borrowed:
    """A register for the moment, with the instructions that save and restore what is in it."""

    register: Register
    before: tuple[MachineInstruction, ...] = ()
    after: tuple[MachineInstruction, ...] = ()


@dataclass(slots=True)
class Resolver:
    """Turns the transfers of one parallel copy into instructions. `pools` are the usable registers
    and `find_busy` tells the storages that hold something alive around the copy; `busy` adds what
    is set aside.
    """

    machine: Machine
    cards: MoveCards
    function: MachineFunction
    pools: Mapping[str, Pool]
    find_busy: Callable[[], frozenset[int]]
    spare: dict[SpareKey, Slot]
    in_use: list[SpareKey] = field(default_factory=list)
    busy: set[int] = field(default_factory=set)
    is_asked: bool = False

    def resolve(self, transfers: Sequence[Transfer]) -> Iterator[MachineInstruction]:
        """The instructions, in order."""
        waiting = [transfer for transfer in transfers if not transfer.is_nothing]
        while waiting:
            ready = next((t for t in waiting if not _is_blocked(t, waiting)), None)
            if ready is not None:
                waiting.remove(ready)
                yield from self._move(ready)
                continue
            instructions, waiting = self._unblocked(waiting)
            yield from instructions

    def _unblocked(
        self, waiting: list[Transfer]
    ) -> tuple[Sequence[MachineInstruction], list[Transfer]]:
        """Breaks a cycle: the instructions for it, and the moves that remain."""
        first = waiting[0]
        aside: Location | None = self._free_register(first.register_class, first.bits)
        if aside is None:
            swapped = self._exchanged(waiting)
            if swapped is not None:
                return swapped
            aside = self._spare_slot("aside", *self._kept_as(first))
        else:
            self.busy |= _atoms(aside)
        saving = tuple(self._move(replace(first, destination=aside)))
        return saving, [replace(first, source=aside), *waiting[1:]]

    def _kept_as(self, transfer: Transfer) -> tuple[str, int]:
        """The class and width in which memory holds the value: a parked predicate is an integer."""
        park = self.cards.park(transfer.register_class)
        if self.cards.store(transfer.register_class, transfer.bits) is None and park is not None:
            kind = park.by_name[park.facts.writes[0]].kind
            return kind.class_name, kind.bits
        return transfer.register_class, transfer.bits

    def _spare_slot(self, purpose: str, register_class: str, bits: int) -> Slot:
        """A slot that is only used inside one parallel copy, and then again inside others."""
        size = self.cards.slot_bytes(register_class, bits)
        count = sum(1 for key in self.in_use if key[:2] == (purpose, size))
        key = (purpose, size, count)
        self.in_use.append(key)
        if key not in self.spare:
            self.spare[key] = self.function.new_slot(size, size)
        return self.spare[key]

    def _free_register(self, register_class: str, bits: int) -> Register | None:
        view = view_for(self.machine, register_class, bits)
        pool = self.pools[register_class]
        if not self.is_asked:
            self.busy |= self.find_busy()
            self.is_asked = True
        for place in pool.places(view.storages_per_register):
            if self.busy.isdisjoint(pool.storages(place, view.storages_per_register)):
                return self.machine.isa.registers.register(register_class, view.name, place)
        return None

    def _exchanged(
        self, waiting: list[Transfer]
    ) -> tuple[Sequence[MachineInstruction], list[Transfer]] | None:
        """A swap of the two registers of the first move, after which it is done."""
        first = waiting[0]
        one, other = first.destination, first.source
        if not isinstance(one, Register) or not isinstance(other, Register):
            return None
        card = self.cards.exchange(first.register_class, _whole_bits(self.machine, first))
        swapped = {first.written: other, first.read: one}
        both = first.written | first.read
        if card is None or any(t.read not in swapped and t.read & both for t in waiting):
            return None
        left = [replace(t, source=swapped[t.read]) if t.read in swapped else t for t in waiting[1:]]
        swap = exchange_instruction(card, one, other, first.about)
        return (swap,), [transfer for transfer in left if not transfer.is_nothing]

    def _move(self, transfer: Transfer) -> Iterator[MachineInstruction]:
        destination, source = transfer.destination, transfer.source
        name, bits, about = transfer.register_class, transfer.bits, transfer.about
        kept = self._kept_as(transfer)
        if isinstance(destination, Slot):
            yield from self._into_slot(transfer, destination)
        elif isinstance(source, MachineInstruction):
            yield remade(source, destination, _made_by(source))
        elif isinstance(source, Slot) and kept[0] != name:
            yield from self._unparked(transfer, destination, source)
        elif isinstance(source, Slot):
            load = _needed(self.cards.load(name, bits), transfer)
            yield memory_instruction(load, destination, source, Role.RELOAD, about)
        else:
            card = _needed(self.cards.move(name, bits), transfer)
            yield move_instruction(card, destination, source, about)

    def _into_slot(self, transfer: Transfer, slot: Slot) -> Iterator[MachineInstruction]:
        """A store; a source that is no register is first brought into one, a predicate is
        parked.
        """
        name, bits = self._kept_as(transfer)
        store = _needed(self.cards.store(name, bits), transfer)
        if isinstance(transfer.source, Register) and name == transfer.register_class:
            yield memory_instruction(store, transfer.source, slot, Role.SPILL, transfer.about)
            return
        name, bits = self._carrier(transfer, name, bits)
        store = _needed(self.cards.store(name, bits), transfer)
        through = self._borrow(name, bits)
        yield from through.before
        if isinstance(transfer.source, Register):
            park = _needed(self.cards.park(transfer.register_class), transfer)
            yield park_instruction(park, through.register, transfer.source, transfer.about)
        else:
            brought = replace(
                transfer, destination=through.register, register_class=name, bits=bits
            )
            yield from self._move(brought)
        yield memory_instruction(store, through.register, slot, Role.SPILL, transfer.about)
        yield from through.after

    def _unparked(
        self, transfer: Transfer, destination: Register, slot: Slot
    ) -> Iterator[MachineInstruction]:
        """Reloads a parked predicate."""
        name, bits = self._kept_as(transfer)
        through = self._borrow(name, bits)
        load = _needed(self.cards.load(name, bits), transfer)
        unpark = _needed(self.cards.unpark(transfer.register_class), transfer)
        yield from through.before
        yield memory_instruction(load, through.register, slot, Role.RELOAD, transfer.about)
        yield unpark_instruction(unpark, destination, through.register, transfer.about)
        yield from through.after

    def _carrier(self, transfer: Transfer, name: str, bits: int) -> tuple[str, int]:
        """The class and width of the register that takes a value from slot to slot: another class
        does as well when it has a free register and this one has not.
        """
        if not isinstance(transfer.source, Slot) or self._free_register(name, bits) is not None:
            return name, bits
        size = self.cards.slot_bytes(name, bits)
        for other in sorted(self.pools):
            views = self.machine.isa.registers.classes[other].views.values()
            is_exact = any(view.bits == size * 8 for view in views)
            if is_exact and self._moves_through(other, size):
                return other, size * 8
        return name, bits

    def _moves_through(self, name: str, size: int) -> bool:
        """Whether registers of a class carry exactly `size` bytes and one is free."""
        if self.cards.store(name, size * 8) is None:
            return False
        is_exact = self.cards.slot_bytes(name, size * 8) == size
        return is_exact and self._free_register(name, size * 8) is not None

    def _borrow(self, name: str, bits: int) -> Borrowed:
        """A free register, or one in use that is saved before and restored after."""
        free = self._free_register(name, bits)
        if free is not None:
            return Borrowed(free)
        view = view_for(self.machine, name, bits)
        whole = self._saved_bits(name, view)
        place = self.pools[name].places(view.storages_per_register)[0]
        register = self.machine.isa.registers.register(name, view.name, place)
        kept = self._spare_slot("kept", name, whole)
        save, restore = self.cards.store(name, whole), self.cards.load(name, whole)
        if save is None or restore is None:
            raise UnsupportedError(f"no card saves a {whole}-bit {name} register")
        return Borrowed(
            register,
            (memory_instruction(save, register, kept, Role.SPILL, None),),
            (memory_instruction(restore, register, kept, Role.RELOAD, None),),
        )

    def _saved_bits(self, name: str, view: View) -> int:
        """The widest value that the registers of such a view may hold and memory can keep."""
        views = self.machine.isa.registers.classes[name].views.values()
        return max(
            other.bits
            for other in views
            if other.storages_per_register == view.storages_per_register
            and self.cards.store(name, other.bits) is not None
        )


def _made_by(constant: MachineInstruction) -> VirtualRegister | None:
    target = constant.operands[constant.shape.facts.writes[0]]
    return target if isinstance(target, VirtualRegister) else None


def _is_blocked(transfer: Transfer, waiting: Sequence[Transfer]) -> bool:
    return any(
        other is not transfer and not transfer.written.isdisjoint(other.read) for other in waiting
    )


def _whole_bits(machine: Machine, transfer: Transfer) -> int:
    register_class = machine.isa.registers.classes[transfer.register_class]
    count = len(transfer.written)
    return max(v.bits for v in register_class.views.values() if v.storages_per_register == count)


def _needed(shape: Shape | None, transfer: Transfer) -> Shape:
    if shape is None:
        raise UnsupportedError(
            f"no card moves a {transfer.bits}-bit {transfer.register_class} value "
            f"from {transfer.source} to {transfer.destination}"
        )
    return shape
