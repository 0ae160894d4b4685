"""Schedules keep the meaning, use no more cycles than before, and keep registers within bounds."""

from __future__ import annotations

import random

import pytest

from compiler.allocate.allocate import allocate
from compiler.journal import Journal
from compiler.machine.code import (
    Address,
    Immediate,
    Label,
    MachineFunction,
    MachineInstruction,
    MachineNode,
    ParallelCopy,
)
from compiler.options import Options
from compiler.schedule import AFTER_ALLOCATION, BEFORE_ALLOCATION, schedule
from compiler.schedule.schedule import BlockScheduled, Scheduled
from isas import load_machine
from isas.model import Machine
from tests.allocate.machine_oracle import trace_of
from tests.allocate.machine_programs import random_function
from tests.allocate.small import Writer, copy
from tests.schedule.naive import identity, in_order_cycles, last_writers, producers

MACHINES = ("x86/zen3", "arm/cortex-a53", "simt/volta")
ZEN3 = load_machine("x86/zen3")
A53 = load_machine("arm/cortex-a53")
VOLTA = load_machine("simt/volta")


def flags(machine: Machine) -> set[tuple[str, int]]:
    fixed = machine.isa.registers.fixed.values()
    return {("storage", s) for r in fixed if not r.class_name for s in r.storages}


def check_order(before: MachineFunction, after: MachineFunction, machine: Machine) -> None:
    """Every read finds the same writer, and every register leaves its block with the same one."""
    for old, new in zip(before.blocks, after.blocks, strict=True):
        assert set(map(identity, old.instructions)) == set(map(identity, new.instructions))
        assert len(old.instructions) == len(new.instructions)
        one, other = old.instructions, new.instructions
        assert producers(one, machine) == producers(other, machine)
        free = flags(machine)
        leaving = [
            {
                place: node
                for place, node in last_writers(code, machine).items()
                if place not in free
            }
            for code in (one, other)
        ]
        assert leaving[0] == leaving[1]


def same_effect(one: MachineFunction, other: MachineFunction, machine: Machine) -> bool:
    own = frozenset(slot.number for slot in one.slots)
    first, second = (trace_of(function, machine, 5, own) for function in (one, other))
    return (first.bytes, first.path) == (second.bytes, second.path)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("seed", range(5))
def test_both_stages_keep_every_dependence_and_the_meaning(name: str, seed: int) -> None:
    machine = load_machine(name)
    function = random_function(machine, seed, random.Random(seed).choice([10, 30, 50]))
    scheduled = schedule(function, machine, Options(), Journal(), BEFORE_ALLOCATION)
    check_order(function, scheduled, machine)
    assert same_effect(function, scheduled, machine)
    allocated = allocate(scheduled, machine, Options(), Journal()).function
    again = schedule(allocated, machine, Options(), Journal(), AFTER_ALLOCATION)
    check_order(allocated, again, machine)
    assert same_effect(allocated, again, machine)


@pytest.mark.parametrize("name", MACHINES)
def test_orders_are_shorter_on_a_naive_in_order_clock(name: str) -> None:
    machine = load_machine(name)
    before = after = 0
    for seed in range(6):
        function = random_function(machine, 100 + seed, 40)
        scheduled = schedule(function, machine, Options(), Journal(), AFTER_ALLOCATION)
        for old, new in zip(function.blocks, scheduled.blocks):
            before += in_order_cycles(old.instructions, machine)
            after += in_order_cycles(new.instructions, machine)
    assert after < before


@pytest.mark.parametrize("name", MACHINES)
def test_the_journal_never_reports_a_longer_block(name: str) -> None:
    machine = load_machine(name)
    journal = Journal()
    schedule(random_function(machine, 7, 60), machine, Options(), journal, AFTER_ALLOCATION)
    blocks = [e.decision for e in journal.entries if isinstance(e.decision, BlockScheduled)]
    assert blocks and all(d.cycles_after <= d.cycles_before for d in blocks)


def titles(nodes: list[MachineNode]) -> list[str]:
    return ["copy" if isinstance(n, ParallelCopy) else n.shape.card.name for n in nodes]


def test_loads_go_first_on_an_in_order_core_and_the_journal_says_why() -> None:
    writer = Writer(A53)
    x = writer.new("gpr", 64)
    writer.function.incoming = [(x, A53.isa.registers.by_name("x0"))]
    code = writer.block("entry")
    for n in range(3):
        value, result = writer.new("vec", 32), writer.new("vec", 32)
        code.append(writer.do("ldr s, m32", value, Address(x, displacement=4 * n)))
        code.append(writer.do("fadd s, s, s", result, value, value))
    code.append(writer.do("ret "))
    journal = Journal()
    found = schedule(writer.function, A53, Options(), journal, BEFORE_ALLOCATION)
    assert titles(found.blocks[0].instructions) == ["ldr"] * 3 + ["fadd"] * 3 + ["ret"]
    steps = [e.decision for e in journal.entries if isinstance(e.decision, Scheduled)]
    assert [step.cycle for step in steps] == [0, 1, 2, 7, 8, 9]
    assert "cycles depend on it" in steps[0].because
    assert steps[0].alternatives


def test_pressure_keeps_loads_back_when_registers_are_few() -> None:
    writer = Writer(ZEN3)
    x = writer.new("gpr", 64)
    writer.function.incoming = [(x, ZEN3.isa.registers.by_name("rdi"))]
    code = writer.block("entry")
    total = None
    for n in range(12):
        value = writer.new("vec", 256)
        code.append(writer.do("vmovups ymm, m256", value, Address(x, displacement=32 * n)))
        if total is None:
            total = value
            continue
        result = writer.new("vec", 256)
        code.append(writer.do("vaddps ymm, ymm, ymm", result, total, value))
        total = result
    code += [writer.do("vmovups m256, ymm", Address(x), total), writer.do("ret ")]
    for count in (3, 4, 16):
        options = Options(registers=(("vec", count),))
        found = schedule(writer.function, ZEN3, options, Journal(), BEFORE_ALLOCATION)
        result = allocate(found, ZEN3, options, Journal())
        assert not result.spilled
        assert len(result.classes["vec"].used) <= count
    free = schedule(writer.function, ZEN3, Options(), Journal(), AFTER_ALLOCATION)
    assert titles(free.blocks[0].instructions)[:6].count("vmovups") == 6


def store_then_load(writer: Writer, store: Address, load: Address) -> list[str]:
    """A store that waits for a division, then a load: the order the scheduler gives them."""
    value = writer.new("vec", 256)
    code = writer.function.blocks[0].instructions
    divided, loaded, used = (writer.new("vec", 256) for _ in range(3))
    code += [
        writer.do("vmovups ymm, m256", value, Address(writer.function.incoming[0][0])),
        writer.do("vdivps ymm, ymm, ymm", divided, value, value),
        writer.do("vmovups m256, ymm", store, divided),
        writer.do("vmovups ymm, m256", loaded, load),
        writer.do("vsqrtps ymm, ymm", used, loaded),
        writer.do("vmovupd m256, ymm", Address(writer.function.incoming[2][0]), used),
        writer.do("ret "),
    ]
    found = schedule(writer.function, ZEN3, Options(), Journal(), BEFORE_ALLOCATION)
    return [
        node.shape.title for node in found.blocks[0].instructions
        if isinstance(node, MachineInstruction) and node.shape.card.name == "vmovups"
    ][1:]  # fmt: skip


def three_pointers(noalias: frozenset[str]) -> tuple[Writer, list]:  # type: ignore[type-arg]
    writer = Writer(ZEN3)
    pointers = [writer.new("gpr", 64) for _ in range(3)]
    names = ("rdi", "rsi", "rdx")
    writer.function.incoming = [
        (p, ZEN3.isa.registers.by_name(name)) for p, name in zip(pointers, names)
    ]
    writer.function.parameters = ("x", "y", "z")
    writer.function.noalias = noalias
    writer.block("entry")
    return writer, pointers


STORE, LOAD = "vmovups m256, ymm", "vmovups ymm, m256"


def test_a_load_passes_a_store_through_another_noalias_parameter() -> None:
    writer, (_, y, z) = three_pointers(frozenset({"x", "y", "z"}))
    assert store_then_load(writer, Address(z, displacement=999), Address(y)) == [LOAD, STORE]
    writer, (_, y, z) = three_pointers(frozenset())
    assert store_then_load(writer, Address(z, displacement=999), Address(y)) == [STORE, LOAD]


def test_a_load_passes_a_store_at_another_displacement_of_the_same_base_and_index() -> None:
    for distance, order in ((32, [LOAD, STORE]), (31, [STORE, LOAD])):
        writer, (_, y, z) = three_pointers(frozenset())
        store, load = Address(y, z, 4, 0), Address(y, z, 4, distance)
        assert store_then_load(writer, store, load) == order


def test_pointers_that_were_advanced_by_a_constant_are_still_compared() -> None:
    for distance, order in ((64, [LOAD, STORE]), (16, [STORE, LOAD])):
        writer, (_, y, _z) = three_pointers(frozenset())
        moved = writer.new("gpr", 64)
        code = writer.function.blocks[0].instructions
        code.append(writer.do("add r64, imm32", moved, Immediate(distance), tied={"d": y}))
        assert store_then_load(writer, Address(y), Address(moved)) == order


def test_slots_are_apart_from_each_other_and_from_pointers_until_their_address_is_taken() -> None:
    writer, (_, y, _z) = three_pointers(frozenset())
    one, other = writer.function.new_slot(32, 32), writer.function.new_slot(32, 32)
    assert store_then_load(writer, Address(one), Address(other)) == [LOAD, STORE]
    writer, (_, y, _z) = three_pointers(frozenset())
    one = writer.function.new_slot(32, 32)
    assert store_then_load(writer, Address(one), Address(y)) == [LOAD, STORE]
    writer, (_, y, _z) = three_pointers(frozenset())
    one = writer.function.new_slot(32, 32)
    taken = writer.new("gpr", 64)
    code = writer.function.blocks[0].instructions
    code.append(writer.do("lea r64, m", taken, Address(one)))
    assert store_then_load(writer, Address(one), Address(taken)) == [STORE, LOAD]


def test_nothing_that_destroys_the_flags_comes_between_a_comparison_and_its_reader() -> None:
    writer, (x, y, z) = three_pointers(frozenset())
    code = writer.function.blocks[0].instructions
    writer.function.blocks[0].successors = ("entry", "exit")
    sums = [writer.new("gpr", 64) for _ in range(4)]
    code.append(writer.do("cmp r64, r64", x, y))
    picked = writer.new("gpr", 64)
    code.append(writer.do("cmovl r64, r64", picked, y, tied={"d": x}))
    last = z
    for value in sums:
        code.append(writer.do("imul r64, r64", value, last, tied={"d": last}))
        last = value
    code.append(writer.do("mov m64, r64", Address(y), picked))
    code.append(writer.do("cmp r64, r64", last, y))
    code.append(copy((x, last)))
    code.append(writer.do("jl label", Label("entry")))
    writer.block("exit").append(writer.do("ret "))
    found = schedule(writer.function, ZEN3, Options(), Journal(), BEFORE_ALLOCATION)
    order = titles(found.blocks[0].instructions)
    assert order.index("cmovl") == order.index("cmp") + 1
    assert order[-3:] == ["cmp", "copy", "jl"]
    check_order(writer.function, found, ZEN3)


def test_fixed_registers_are_handed_over_without_anything_between() -> None:
    writer, (x, y, z) = three_pointers(frozenset())
    registers = ZEN3.isa.registers
    rax, rdx = registers.by_name("rax"), registers.by_name("rdx")
    low = writer.new("gpr", 64)
    other = [writer.new("gpr", 64) for _ in range(3)]
    code = writer.function.blocks[0].instructions
    code += [
        copy((rax, x), (rdx, y)),
        writer.do("div m64", Address(z)),
        copy((low, rax)),
        *(writer.do("mov r64, m64", value, Address(x, displacement=8 * n))
          for n, value in enumerate(other)),
        *(writer.do("mov m64, r64", Address(y, displacement=8 * n), value)
          for n, value in enumerate([*other, low])),
        writer.do("ret "),
    ]  # fmt: skip
    found = schedule(writer.function, ZEN3, Options(), Journal(), BEFORE_ALLOCATION)
    order = titles(found.blocks[0].instructions)
    place = order.index("div")
    assert order[place - 1] == order[place + 1] == "copy"


def test_barriers_keep_memory_on_their_side() -> None:
    writer = Writer(VOLTA)
    pointer, value, other = writer.new("reg", 64), writer.new("reg", 32), writer.new("reg", 32)
    code = writer.block("entry")
    barrier = next(s for s in VOLTA.shapes if s.facts.is_barrier)
    given = {o.name: Immediate(0) for o in barrier.operands}
    code += [
        writer.do("mov.u64 rd, imm64", pointer, Immediate(0)),
        writer.do("mov.u32 r, imm32", value, Immediate(1)),
        writer.do("st.shared.u32 s32, r", Address(pointer), value),
        MachineInstruction(barrier, given),
        writer.do("ld.shared.u32 r, s32", other, Address(pointer, displacement=64)),
        writer.do("st.global.u32 g32, r", Address(pointer), other),
        writer.do("ret "),
    ]
    found = schedule(writer.function, VOLTA, Options(), Journal(), BEFORE_ALLOCATION)
    order = found.blocks[0].instructions
    place = next(i for i, n in enumerate(order) if getattr(n, "shape", None) is barrier)
    assert titles(order[:place]).count("st.shared.u32") == 1
    assert "ld.shared.u32" in titles(order[place:])
