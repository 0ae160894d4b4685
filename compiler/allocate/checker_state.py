"""The facts of the allocation checker: which values of the original program lie in which places.

A *value* is a virtual register or a physical storage of the original function, by part (the lower
and the upper half of a 64-bit value in two 32-bit registers are two parts). A *place* is a storage
or a part of a frame slot. A value that is not in the table is not defined yet: anything may stand
for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from compiler.machine.code import MachineInstruction, Slot
from isas.registers import Register

MOST_PARTS = 8
"""More neighbouring storages than any value needs."""

PARKED = MOST_PARTS
"""The part number of a predicate's value that is kept as 0 or 1 in a register of another class."""

Value = tuple[int, int]
"""(virtual register's number, or -1 - storage, of the original; part)."""

Place = tuple[str, int, int]
"""("storage", id, 0) or ("slot", number, part)."""


def storage_places(register: Register) -> tuple[Place, ...]:
    """The places of a physical register, lowest part first."""
    return tuple(("storage", storage, 0) for storage in register.storages)


def slot_places(slot: Slot, parts: int) -> tuple[Place, ...]:
    """The first `parts` places of a slot."""
    return tuple(("slot", slot.number, part) for part in range(parts))


@dataclass(slots=True)
class State:
    """Where every defined value certainly is (`where`: place and how many of its low bits), and the
    places turned around (`what`). `made` maps the numbers of values that are constants to the
    instruction of the original that makes them."""

    where: dict[Value, dict[Place, int]] = field(default_factory=dict)
    what: dict[Place, set[Value]] = field(default_factory=dict)
    made: dict[int, MachineInstruction] = field(default_factory=dict)

    def copy(self) -> State:
        """An independent copy."""
        return State(
            {value: dict(places) for value, places in self.where.items()},
            {place: set(values) for place, values in self.what.items()},
            dict(self.made),
        )

    def holds(self, place: Place, value: Value, bits: int) -> bool:
        """Whether reading `bits` bits of `place` certainly gives those of `value` (anything does
        for an undefined value).
        """
        places = self.where.get(value)
        return places is None or places.get(place, 0) >= bits

    def values_in(self, place: Place) -> dict[Value, int]:
        """The defined values that certainly lie in `place`, with how many bits of each."""
        return {value: self.where[value][place] for value in sorted(self.what.get(place, ()))}

    def destroy(self, place: Place) -> None:
        """Nothing known lies in `place` any more."""
        for value in self.what.pop(place, ()):
            self.where[value].pop(place, None)

    def put(self, place: Place, values: Mapping[Value, int]) -> None:
        """`place` now holds exactly these bits of these values."""
        self.destroy(place)
        for value, bits in values.items():
            self.where.setdefault(value, {})[place] = bits
            self.what.setdefault(place, set()).add(value)

    def redefine(self, number: int, parts: Iterable[int]) -> None:
        """The value gets a new meaning: it is defined, and no place holds it yet."""
        self.made.pop(number, None)
        for value in [(number, PARKED), *((number, part) for part in parts)]:
            for place in self.where.get(value, ()):
                self.what[place].discard(value)
            if value[1] != PARKED or value in self.where:
                self.where[value] = {}

    def forget(self, number: int) -> None:
        """The value counts as undefined again."""
        self.made.pop(number, None)
        for part in (*range(MOST_PARTS), PARKED):
            for place in self.where.pop((number, part), ()):
                self.what[place].discard((number, part))

    def parts_of(self, number: int) -> Iterator[tuple[int, dict[Place, int]]]:
        """The known parts of a value with their places."""
        for part in (*range(MOST_PARTS), PARKED):
            places = self.where.get((number, part))
            if places is not None:
                yield part, dict(places)

    def meet(self, other: State) -> bool:
        """Keeps what both states know; says whether this one lost anything or learnt of a
        definition."""
        is_changed = self._meet_constants(other)
        for value, places in other.where.items():
            own = self.where.get(value)
            if own == places:
                continue
            if own is None:
                kept = dict(places)
            else:
                kept = {p: min(bits, places[p]) for p, bits in own.items() if p in places}
            if own is None or kept != own:
                is_changed = True
                for place in (own or {}).keys() - kept.keys():
                    self.what[place].discard(value)
                for place in kept:
                    self.what.setdefault(place, set()).add(value)
                self.where[value] = kept
        return is_changed

    def _meet_constants(self, other: State) -> bool:
        is_changed = False
        for number in sorted(self.made.keys() | other.made.keys()):
            own, theirs = self.made.get(number), other.made.get(number)
            if own is theirs:
                continue
            if (number, 0) not in self.where and theirs is not None:
                self.made[number] = theirs
                is_changed = True
            elif own is not None and (number, 0) in other.where:
                del self.made[number]
                is_changed = True
        return is_changed
