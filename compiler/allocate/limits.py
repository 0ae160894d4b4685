"""Which registers the allocator may hand out: the user's counts against what the ISA has.

A count excludes the stack pointer and other reserved registers. More than the real ISA has is
allowed: the ISA invents names for the rest, and the bytes are then not encodable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compiler.allocate.linear_scan import Pool
from compiler.machine.accesses import accesses
from compiler.machine.code import MachineFunction
from compiler.options import Options
from isas.errors import InputError
from isas.model import Machine
from isas.registers import RegisterClass


def check_register_limits(machine: Machine, options: Options) -> None:
    """Raises InputError for a class that the ISA does not have or a count that no program can
    use.
    """
    classes = machine.isa.registers.classes
    for name, count in options.registers:
        if name not in classes or not classes[name].allocatable:
            raise InputError(
                f"{machine.isa.name} has no register class '{name}'",
                where="--registers",
                hint=f"possible: {possible_counts(machine)}",
            )
        if not 1 <= count <= classes[name].maximum:
            raise InputError(
                f"{count} {name} registers cannot be used",
                where="--registers",
                hint=f"possible: {possible_counts(machine)}; {real_counts(machine)}",
            )


def possible_counts(machine: Machine) -> str:
    """`gpr=1..1023, vec=1..1024`."""
    return ", ".join(f"{c.name}=1..{c.maximum}" for c in _handed_out(machine))


def real_counts(machine: Machine) -> str:
    """`x86 itself has gpr=15, vec=16`."""
    counts = ", ".join(f"{c.name}={len(c.allocatable)}" for c in _handed_out(machine))
    return f"{machine.isa.name} itself has {counts}"


def _handed_out(machine: Machine) -> Iterable[RegisterClass]:
    return [c for c in machine.isa.registers.classes.values() if c.allocatable]


def make_pools(
    machine: Machine, counts: Mapping[str, int | None], needed: frozenset[int]
) -> dict[str, Pool]:
    """The usable registers of every class. `needed` are the storages that instructions name
    themselves: they come first into a limited set, since the function cannot do without them.
    """
    return {c.name: make_pool(c, counts.get(c.name), needed) for c in _handed_out(machine)}


def make_pool(register_class: RegisterClass, count: int | None, needed: frozenset[int]) -> Pool:
    """The usable registers of one class."""
    indices = register_class.indices(count)
    first = register_class.first_storage
    if count is not None:
        wanted = [i for i in register_class.allocatable if first + i in needed]
        rest = [i for i in indices if i not in wanted]
        chosen = frozenset((wanted + rest)[:count])
        order = dict.fromkeys((*register_class.allocatable, *indices))
        indices = tuple(index for index in order if index in chosen)
    view = register_class.views[register_class.spill_view]
    names = {index: view.register_name(index) for index in indices}
    return Pool(register_class.name, indices, first, names)


def fixed_storages(function: MachineFunction, machine: Machine) -> frozenset[int]:
    """Storages that instructions read or write by themselves (the arrival of arguments is no
    instruction)."""
    found: set[int] = set()
    for node in function.instructions():
        row = accesses(node, machine.isa.registers)
        found.update(-1 - key for key in (*row.read_keys, *row.write_keys) if key < 0)
    return frozenset(found)


def limits_of(machine: Machine, options: Options) -> dict[str, int | None]:
    """The count of every class, None where the user set none."""
    return {c.name: options.register_limit(c.name) for c in _handed_out(machine)}
