"""The checker finds allocations that were broken on purpose, and accepts no changed meaning."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from compiler.allocate.allocate import allocate
from compiler.allocate.checker import check_allocation
from compiler.allocate.result import AllocationResult
from compiler.journal import Journal
from compiler.machine.code import (
    Address,
    MachineBlock,
    MachineFunction,
    MachineInstruction,
    Role,
    Slot,
)
from compiler.options import Options
from isas import load_machine
from isas.errors import CheckFailed, InputError
from isas.model import Machine
from isas.registers import Register
from tests.allocate.machine_oracle import trace_of
from tests.allocate.machine_programs import random_function

MACHINES = ("x86/zen3", "arm/cortex-a53", "simt/volta")
INSERTED = (Role.SPILL, Role.RELOAD, Role.COPY, Role.REMATERIALIZE)


def tight(machine: Machine, seed: int, size: int) -> tuple[MachineFunction, AllocationResult]:
    """A random function allocated with the fewest registers that do."""
    function = random_function(machine, seed, size)
    for count in (3, 4, 6, 8, 12):
        classes = [c.name for c in machine.isa.registers.classes.values() if c.allocatable]
        options = Options(registers=tuple((name, count) for name in classes))
        try:
            return function, allocate(function, machine, options, Journal())
        except InputError:
            continue
    raise AssertionError("no count was enough")


def places(function: MachineFunction, roles: tuple[Role, ...]) -> list[tuple[MachineBlock, int]]:
    return [
        (block, place)
        for block in function.blocks
        for place, node in enumerate(block.instructions)
        if isinstance(node, MachineInstruction) and node.role in roles
    ]


def copied(function: MachineFunction) -> MachineFunction:
    blocks = [replace(b, instructions=list(b.instructions)) for b in function.blocks]
    return replace(function, blocks=blocks)


def drop(function: MachineFunction, source: random.Random, machine: Machine) -> bool:
    """Leaves out a spill, reload, copy or remade constant."""
    found = places(function, INSERTED)
    if not found:
        return False
    block, place = source.choice(found)
    del block.instructions[place]
    return True


def other_register(
    function: MachineFunction, source: random.Random, machine: Machine
) -> tuple[MachineInstruction, MachineInstruction] | None:
    """Puts another register into one operand."""
    block, place = source.choice(places(function, tuple(Role)))
    node = block.instructions[place]
    assert isinstance(node, MachineInstruction)
    names = [n for n, o in node.operands.items() if isinstance(o, Register) and o.class_name]
    if not names:
        return None
    name = source.choice(names)
    register = node.operands[name]
    assert isinstance(register, Register)
    step = len(register.storages)
    changed = machine.isa.registers.register(
        register.class_name, register.view, (register.index + step) % (8 * step)
    )
    made = replace(node, operands={**node.operands, name: changed})
    block.instructions[place] = made
    return node, made


def other_slot(
    function: MachineFunction, source: random.Random, machine: Machine
) -> tuple[MachineInstruction, MachineInstruction] | None:
    """Spills to, or reloads from, another slot of the same size."""
    found = places(function, (Role.SPILL, Role.RELOAD))
    if not found:
        return None
    block, place = source.choice(found)
    node = block.instructions[place]
    assert isinstance(node, MachineInstruction)
    for name, operand in node.operands.items():
        if isinstance(operand, Address) and isinstance(operand.base, Slot):
            size = operand.base.size_bytes
            others = [s for s in function.slots if s.size_bytes == size and s != operand.base]
            if others:
                changed = replace(operand, base=source.choice(others))
                made = replace(node, operands={**node.operands, name: changed})
                block.instructions[place] = made
                return node, made
    return None


def swap(function: MachineFunction, source: random.Random, machine: Machine) -> bool:
    """Exchanges an inserted instruction with its neighbour."""
    found = [(b, p) for b, p in places(function, INSERTED) if p + 1 < len(b.instructions)]
    if not found:
        return False
    block, place = source.choice(found)
    code = block.instructions
    code[place], code[place + 1] = code[place + 1], code[place]
    return True


def mutants(
    result: AllocationResult, machine: Machine, seed: int
) -> Iterator[tuple[str, MachineFunction, dict[MachineInstruction, MachineInstruction]]]:
    """Broken versions of an allocation, with the map from their instructions to the original's."""
    source = random.Random(seed)
    for mutate in (drop, other_register, other_slot, swap) * 6:
        function = copied(result.function)
        origin = dict(result.source)
        changed = mutate(function, source, machine)
        if isinstance(changed, tuple) and changed[0] in origin:
            origin[changed[1]] = origin.pop(changed[0])
        if changed:
            yield mutate.__name__, function, origin


@pytest.mark.parametrize("name", MACHINES)
def test_no_mutant_that_stores_something_else_is_accepted(name: str) -> None:
    machine = load_machine(name)
    refused = harmful = 0
    for seed in range(4):
        function, result = tight(machine, seed, 25)
        own = frozenset(slot.number for slot in function.slots)
        check_allocation(function, result.function, result.source, machine, Options())
        expected = trace_of(function, machine, seed, own)
        for kind, mutant, origin in mutants(result, machine, seed):
            try:
                check_allocation(function, mutant, origin, machine, Options())
                is_refused = False
            except CheckFailed:
                is_refused = True
            is_harmful = trace_of(mutant, machine, seed, own) != expected
            assert is_refused or not is_harmful, (name, seed, kind)
            refused += is_refused
            harmful += is_harmful
    assert refused >= harmful >= 10


def test_registers_beyond_the_limit_are_refused() -> None:
    machine = load_machine("x86/zen3")
    function = random_function(machine, 1, 25)
    result = allocate(function, machine, Options(), Journal())
    used = len(result.classes["gpr"].used)
    limits = Options(registers=(("gpr", used - 1),))
    with pytest.raises(CheckFailed, match=f"{used} gpr registers are used"):
        check_allocation(function, result.function, result.source, machine, limits)


def test_a_block_that_lost_its_end_is_refused() -> None:
    machine = load_machine("arm/cortex-a53")
    function = random_function(machine, 2, 15)
    result = allocate(function, machine, Options(), Journal())
    result.function.blocks[-1].instructions.pop()
    with pytest.raises(CheckFailed, match="ret  has been dropped"):
        check_allocation(function, result.function, result.source, machine, Options())
