"""Registers as storages and views: who shares bits with whom, and what a write does to the rest.

A *storage* is a row of bits with an integer id. A *register* is a view of one storage (or of
several, lowest first: a 64-bit value on simt is two 32-bit storages). Two registers depend on each
other exactly when they share a storage. Every class owns a block of ids large enough for more
registers than the real ISA has, so that "what if there were 64?" is only another index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from isas.errors import HobError

STORAGES_PER_CLASS = 1024
"""Ids reserved per register class; the real registers come first."""


class WriteRule(Enum):
    """What writing a view does to the storage's other bits."""

    ZERO_REST = "zero"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class Storage:
    """`bits` bits of machine state. Fixed storages (flags, sp) belong to no class."""

    id: int
    name: str
    bits: int
    class_name: str = ""


@dataclass(frozen=True, slots=True)
class Register:
    """One view of one storage (or several, lowest first), with its assembly name.

    `bits` counts the view's own bits starting at `low_bit` of the (first) storage. `is_encodable`
    is false for registers that the real ISA does not have.
    """

    name: str
    class_name: str
    view: str
    index: int
    storages: tuple[int, ...]
    low_bit: int
    bits: int
    write_rule: WriteRule
    is_encodable: bool = True

    def __str__(self) -> str:
        return self.name

    def overlaps(self, other: Register) -> bool:
        """Whether the two share a storage (so that one's write changes what the other reads)."""
        return any(storage in other.storages for storage in self.storages)


@dataclass(frozen=True, slots=True)
class View:
    """One way to name a class's registers: `names` for the real ones, `pattern` for all others.

    `pattern` contains `{n}` for the index. `storages_per_register` is 2 for a simt 64-bit pair,
    whose index is its first storage and therefore a multiple of 2.
    """

    name: str
    class_name: str
    bits: int
    write_rule: WriteRule
    pattern: str
    names: tuple[str, ...] = ()
    low_bit: int = 0
    storages_per_register: int = 1

    def register_name(self, index: int) -> str:
        """The assembly name of register `index` in this view."""
        return self.names[index] if index < len(self.names) else self.pattern.format(n=index)


@dataclass(frozen=True, slots=True)
class RegisterClass:
    """A set of interchangeable registers.

    `count` is how many the real ISA has; `allocatable` lists indices in the order an allocator
    should prefer them, without the stack pointer and other reserved ones. `storage_bits` is the
    width of one storage. `spill_view` is the widest view.
    """

    name: str
    count: int
    storage_bits: int
    first_storage: int
    views: Mapping[str, View]
    allocatable: tuple[int, ...]
    spill_view: str
    doc: str = ""

    def indices(self, count: int | None = None) -> tuple[int, ...]:
        """The `count` indices an allocator may use: the preferred ones, then invented ones.

        None means all that the real ISA offers.
        """
        if count is None:
            return self.allocatable
        invented = range(self.count, self.count + max(0, count - len(self.allocatable)))
        return (self.allocatable + tuple(invented))[:count]

    @property
    def maximum(self) -> int:
        """The largest `count` that `indices` accepts."""
        return len(self.allocatable) + STORAGES_PER_CLASS - self.count


class RegisterError(HobError):
    """A register that does not exist was asked for."""


@dataclass(frozen=True, slots=True)
class RegisterFile:
    """Every storage and register of an ISA.

    `fixed` maps names without a class (flags, sp) to their register; `aliases` maps further
    spellings (`fp`, `lr`) to canonical names.
    """

    classes: Mapping[str, RegisterClass]
    fixed: Mapping[str, Register]
    storage_count: int
    aliases: Mapping[str, str] = field(default_factory=dict)
    _by_name: dict[str, Register | None] = field(default_factory=dict, repr=False, compare=False)
    _by_index: dict[tuple[str, str, int], Register] = field(
        default_factory=dict, repr=False, compare=False
    )

    def register(self, class_name: str, view: str, index: int) -> Register:
        """Register `index` of a class in a view; indices beyond the real ones are synthesised.

        Raises RegisterError for an unknown class or view, or an index out of range.
        """
        key = (class_name, view, index)
        found = self._by_index.get(key)
        if found is None:
            found = self._by_index[key] = self._make(class_name, view, index)
        return found

    def _make(self, class_name: str, view_name: str, index: int) -> Register:
        register_class = self.classes.get(class_name)
        if register_class is None or view_name not in register_class.views:
            raise RegisterError(f"no registers {class_name}.{view_name}")
        view = register_class.views[view_name]
        step = view.storages_per_register
        if not 0 <= index <= STORAGES_PER_CLASS - step or index % step:
            raise RegisterError(f"no register {index} in {class_name}.{view_name}")
        first = register_class.first_storage + index
        return Register(
            view.register_name(index), class_name, view_name, index,
            tuple(range(first, first + step)), view.low_bit, view.bits, view.write_rule,
            index + step <= register_class.count,
        )  # fmt: skip

    def by_name(self, name: str) -> Register | None:
        """The register spelled `name` in assembly (real, invented or fixed), or None."""
        if name not in self._by_name:
            self._by_name[name] = self._find(self.aliases.get(name, name))
        return self._by_name[name]

    def _find(self, name: str) -> Register | None:
        if name in self.fixed:
            return self.fixed[name]
        for register_class in self.classes.values():
            for view in register_class.views.values():
                index = _index_in(view, name)
                if index is not None and index % view.storages_per_register == 0:
                    return self.register(register_class.name, view.name, index)
        return None

    def view_of(self, register: Register, view: str) -> Register:
        """The register with the same (first) storage seen through another view of its class.

        A register without a class (flags, a printed stand-in) has no other views."""
        if not register.class_name:
            return register
        return self.register(register.class_name, view, register.index)

    def storages(self) -> Iterator[Storage]:
        """The real ISA's storages, in id order."""
        rows = [
            Storage(register.storages[0], register.name, register.bits)
            for register in self.fixed.values()
            if not register.class_name
        ]
        for register_class in self.classes.values():
            view = register_class.views[register_class.spill_view]
            rows += [
                Storage(
                    register_class.first_storage + index,
                    view.register_name(index),
                    register_class.storage_bits,
                    register_class.name,
                )
                for index in range(register_class.count)
            ]
        return iter(sorted(rows, key=lambda storage: storage.id))

    def storage_name(self, storage: int) -> str:
        """A readable name for a storage id."""
        for register in self.fixed.values():
            if storage in register.storages:
                return register.name
        for register_class in self.classes.values():
            index = storage - register_class.first_storage
            if 0 <= index < STORAGES_PER_CLASS:
                widest = register_class.views[register_class.spill_view]
                return widest.register_name(index)
        return f"storage{storage}"


def _index_in(view: View, name: str) -> int | None:
    if name in view.names:
        return view.names.index(name)
    prefix, _, suffix = view.pattern.partition("{n}")
    if not (name.startswith(prefix) and name.endswith(suffix)):
        return None
    digits = name[len(prefix) : len(name) - len(suffix)]
    if not digits.isdecimal() or (len(digits) > 1 and digits[0] == "0"):
        return None
    index = int(digits)
    return index if len(view.names) <= index < STORAGES_PER_CLASS else None
