"""Parallel copies become sequences of moves.

All sources of a parallel copy are read before any destination is written. One after the other, a
move may go as soon as no waiting move still reads what it overwrites. When every waiting move is
blocked they form cycles (a ← b, b ← a); one source is then set aside: swapped by an exchange card
if the ISA has one, else copied to a free register, else to a frame slot, after which the others can
go (Boissinot et al., *Revisiting Out-of-SSA Translation*, CGO 2009, algorithm 1). A move from slot
to slot goes through a free register; if none is free, one is saved for the moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from compiler.allocate.linear_scan import Pool
from compiler.allocate.moves import (
    MoveCards,
    exchange_instruction,
    memory_instruction,
    move_instruction,
    view_for,
)
from compiler.allocate.spilling import remade
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


@dataclass(slots=True)
class Resolver:
    """Turns the transfers of one parallel copy into instructions. `pools` are the usable registers
    and `busy` the storages that hold something alive around the copy.
    """

    machine: Machine
    cards: MoveCards
    function: MachineFunction
    pools: Mapping[str, Pool]
    busy: set[int]

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
            size = self.cards.slot_bytes(first.register_class, first.bits)
            aside = self.function.new_slot(size, size)
        else:
            self.busy |= _atoms(aside)
        saving = tuple(self._move(replace(first, destination=aside)))
        return saving, [replace(first, source=aside), *waiting[1:]]

    def _free_register(self, register_class: str, bits: int) -> Register | None:
        view = view_for(self.machine, register_class, bits)
        pool = self.pools[register_class]
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
        if isinstance(destination, Slot):
            yield from self._into_slot(transfer, destination)
        elif isinstance(source, MachineInstruction):
            yield remade(source, destination, _made_by(source))
        elif isinstance(source, Slot):
            load = _needed(self.cards.load(name, bits), transfer)
            yield memory_instruction(load, destination, source, Role.RELOAD, about)
        else:
            card = _needed(self.cards.move(name, bits), transfer)
            yield move_instruction(card, destination, source, about)

    def _into_slot(self, transfer: Transfer, slot: Slot) -> Iterator[MachineInstruction]:
        """A store; a source that is no register is first brought into one."""
        store = _needed(self.cards.store(transfer.register_class, transfer.bits), transfer)
        if isinstance(transfer.source, Register):
            yield memory_instruction(store, transfer.source, slot, Role.SPILL, transfer.about)
            return
        through = self._free_register(transfer.register_class, transfer.bits)
        if through is not None:
            yield from self._move(replace(transfer, destination=through))
            yield memory_instruction(store, through, slot, Role.SPILL, transfer.about)
            return
        yield from self._through_saved(transfer, store, slot)

    def _through_saved(
        self, transfer: Transfer, store: Shape, slot: Slot
    ) -> Iterator[MachineInstruction]:
        """Saves a register that is in use, moves through it, and restores it."""
        name = transfer.register_class
        view = view_for(self.machine, name, transfer.bits)
        bits = self._saved_bits(name, view)
        size = self.cards.slot_bytes(name, bits)
        place = self.pools[name].places(view.storages_per_register)[0]
        through = self.machine.isa.registers.register(name, view.name, place)
        kept = self.function.new_slot(size, size)
        save = _needed(self.cards.store(name, bits), transfer)
        restore = _needed(self.cards.load(name, bits), transfer)
        yield memory_instruction(save, through, kept, Role.SPILL, None)
        yield from self._move(replace(transfer, destination=through))
        yield memory_instruction(store, through, slot, Role.SPILL, transfer.about)
        yield memory_instruction(restore, through, kept, Role.RELOAD, None)

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
