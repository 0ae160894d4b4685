"""What the allocator makes of small functions, machine by machine."""

from __future__ import annotations

import pytest

from compiler.allocate.allocate import allocate
from compiler.allocate.checker import check_allocation
from compiler.allocate.limits import check_register_limits
from compiler.allocate.result import AllocationResult
from compiler.journal import Journal
from compiler.machine.code import (
    Address,
    Immediate,
    Label,
    MachineFunction,
    MachineInstruction,
    Role,
    Symbol,
)
from compiler.options import Options
from isas import load_machine
from isas.errors import InputError
from isas.model import Machine
from tests.allocate.machine_oracle import trace_of
from tests.allocate.small import Writer, copy

ZEN3 = load_machine("x86/zen3")
A53 = load_machine("arm/cortex-a53")
VOLTA = load_machine("simt/volta")


def allocated(
    function: MachineFunction, machine: Machine, journal: Journal | None = None, **registers: int
) -> AllocationResult:
    """Allocates, checks, and compares what both versions store."""
    options = Options(registers=tuple(sorted(registers.items())))
    result = allocate(function, machine, options, journal or Journal())
    check_allocation(function, result.function, result.source, machine, options)
    own = frozenset(slot.number for slot in function.slots)
    assert trace_of(result.function, machine, 3, own) == trace_of(function, machine, 3, own)
    return result


def roles(result: AllocationResult, role: Role) -> list[MachineInstruction]:
    return [
        node
        for node in result.function.instructions()
        if isinstance(node, MachineInstruction) and node.role is role
    ]


def accumulating_loop(writer: Writer) -> None:
    """acc += x[i] * x[i], with the counter and the accumulator copied at the latch."""
    registers = writer.machine.isa.registers
    x, out = writer.new("gpr", 64), writer.new("gpr", 64)
    writer.function.incoming = [(x, registers.by_name("rdi")), (out, registers.by_name("rsi"))]
    i, i_next = writer.new("gpr", 64), writer.new("gpr", 64)
    acc, acc_next, value = (writer.new("vec", 256) for _ in range(3))
    entry = writer.block("entry", ["loop"])
    start, zero = writer.new("gpr", 64), writer.new("vec", 256)
    entry += [
        writer.do("mov r64, imm32", start, Immediate(0)),
        writer.do("vmovups ymm, m256", zero, Address(x)),
        copy((i, start), (acc, zero)),
    ]
    loop = writer.block("loop", ["loop", "exit"], 1)
    loop += [
        writer.do("vmovups ymm, m256", value, Address(x, i, 4)),
        writer.do("vfmadd231ps ymm, ymm, ymm", acc_next, value, value, tied={"d": acc}),
        writer.do("add r64, imm32", i_next, Immediate(8), tied={"d": i}),
        writer.do("cmp r64, imm32", i_next, Immediate(64)),
        copy((i, i_next), (acc, acc_next)),
        writer.do("jl label", Label("loop")),
    ]
    done = writer.block("exit")
    done += [writer.do("vmovups m256, ymm", Address(out), acc_next), writer.do("ret ")]


def test_loop_carried_values_and_tied_operands_need_no_moves() -> None:
    writer = Writer(ZEN3)
    accumulating_loop(writer)
    result = allocated(writer.function, ZEN3)
    assert not roles(result, Role.COPY)
    assert len(result.function.block("loop").instructions) == 5


def test_the_input_function_is_left_as_it_was() -> None:
    writer = Writer(ZEN3)
    accumulating_loop(writer)
    before = [list(block.instructions) for block in writer.function.blocks]
    assert allocated(writer.function, ZEN3, gpr=2).spilled
    assert [block.instructions for block in writer.function.blocks] == before
    assert not writer.function.slots


def sum_of_loads(writer: Writer, count: int) -> None:
    """Loads `count` vectors first and adds them up afterwards, in reverse order."""
    pointer = writer.new("gpr", 64)
    writer.function.incoming = [(pointer, writer.machine.isa.registers.by_name("rdi"))]
    code = writer.block("entry")
    values = [writer.new("vec", 256) for _ in range(count)]
    code += [
        writer.do("vmovups ymm, m256", value, Address(pointer, displacement=32 * n))
        for n, value in enumerate(values)
    ]
    total = values.pop()
    while values:
        result = writer.new("vec", 256)
        code.append(writer.do("vaddps ymm, ymm, ymm", result, total, values.pop()))
        total = result
    code += [writer.do("vmovups m256, ymm", Address(pointer), total), writer.do("ret ")]


@pytest.mark.parametrize(("count", "is_enough"), [(8, True), (7, False), (4, False), (2, False)])
def test_spills_stop_exactly_at_the_count_that_is_reported(count: int, is_enough: bool) -> None:
    writer = Writer(ZEN3)
    sum_of_loads(writer, 8)
    result = allocated(writer.function, ZEN3, vec=count)
    assert result.classes["vec"].enough == 8
    assert (not result.spilled) is is_enough
    assert (result.spills + result.reloads == 0) is is_enough
    assert len(result.classes["vec"].used) <= count


def test_a_reload_becomes_a_memory_operand_where_the_card_has_one() -> None:
    writer = Writer(ZEN3)
    sum_of_loads(writer, 4)
    result = allocated(writer.function, ZEN3, vec=2)
    titles = [n.shape.title for n in result.function.instructions()]  # type: ignore[union-attr]
    assert "vaddps ymm, ymm, m256" in titles
    assert result.reloads == sum(title == "vaddps ymm, ymm, m256" for title in titles)


def test_spills_name_their_value_and_their_slot() -> None:
    writer = Writer(ZEN3)
    sum_of_loads(writer, 4)
    journal = Journal()
    result = allocated(writer.function, ZEN3, journal, vec=2)
    assert {node.about for node in roles(result, Role.SPILL)} == set(result.spilled)
    said = [str(entry.decision) for entry in journal.entries]
    for register, slot in result.spilled.items():
        assert any(line.startswith(f"{register} lives in {slot}: 1 stores") for line in said)


def test_constants_are_made_again_instead_of_kept_in_memory() -> None:
    writer = Writer(ZEN3)
    pointer = writer.new("gpr", 64)
    writer.function.incoming = [(pointer, ZEN3.isa.registers.by_name("rdi"))]
    constants = [writer.new("vec", 256) for _ in range(4)]
    code = writer.block("entry")
    code += [
        writer.do("vmovups ymm, m256", value, Address(Symbol(f".LC{n}")))
        for n, value in enumerate(constants)
    ]
    for value in constants:
        result = writer.new("vec", 256)
        code.append(writer.do("vmulps ymm, ymm, ymm", result, constants[0], value))
        code.append(writer.do("vmovups m256, ymm", Address(pointer), result))
    code.append(writer.do("ret "))
    result = allocated(writer.function, ZEN3, vec=2)
    assert result.rematerializations and not result.spills
    assert set(result.spilled.values()) == {None}


def test_a_swap_with_every_register_taken_goes_through_memory() -> None:
    writer = Writer(ZEN3)
    pointer, one, other = (writer.new("gpr", 64) for _ in range(3))
    registers = ZEN3.isa.registers
    writer.function.incoming = [
        (v, registers.by_name(name)) for v, name in ((pointer, "rdi"), (one, "rsi"), (other, "rdx"))
    ]
    code = writer.block("entry", ["loop"])
    code.append(writer.do("cmp r64, r64", one, other))
    loop = writer.block("loop", ["loop", "exit"], 1)
    loop += [
        writer.do("mov m64, r64", Address(pointer), one),
        writer.do("cmp r64, r64", one, other),
        copy((one, other), (other, one)),
        writer.do("jl label", Label("loop")),
    ]
    writer.block("exit").append(writer.do("ret "))
    for count in (3, 2):
        result = allocated(writer.function, ZEN3, gpr=count)
        assert len(result.classes["gpr"].used) == count


def test_arguments_outside_the_allowed_registers_are_read_at_entry_only() -> None:
    writer = Writer(A53)
    registers = A53.isa.registers
    pointers = [writer.new("gpr", 64) for _ in range(6)]
    writer.function.incoming = [(p, registers.by_name(f"x{n}")) for n, p in enumerate(pointers)]
    code = writer.block("entry")
    for source, target in zip(pointers[:3], reversed(pointers)):
        value = writer.new("vec", 128)
        code.append(writer.do("ldr q, m128", value, Address(source)))
        code.append(writer.do("str q, m128", value, Address(target)))
    code.append(writer.do("ret "))
    result = allocated(writer.function, A53, gpr=2)
    assert len(result.classes["gpr"].used) == 2


def test_more_registers_than_the_isa_has_are_invented() -> None:
    writer = Writer(ZEN3)
    sum_of_loads(writer, 40)
    result = allocated(writer.function, ZEN3, vec=64)
    assert not result.spilled
    assert "ymm39" in result.classes["vec"].used
    assert allocated(writer.function, ZEN3).spilled


def test_a_64_bit_value_takes_an_aligned_pair_and_predicates_are_parked() -> None:
    writer = Writer(VOLTA)
    code = writer.block("entry")
    pointer = writer.new("reg", 64)
    code.append(writer.do("ld.param.u64 rd, p64", pointer, Address(Symbol("p"))))
    values = [writer.new("reg", 32) for _ in range(3)]
    predicates = [writer.new("pred", 1) for _ in range(3)]
    for n, value in enumerate(values):
        code.append(writer.do("ld.global.u32 r, g32", value, Address(pointer, displacement=4 * n)))
    for value, predicate in zip(values, predicates):
        code.append(writer.do("setp.lt.s32 p, r, imm32", predicate, value, Immediate(7)))
    for n, (value, predicate) in enumerate(zip(values, reversed(predicates))):
        place = Address(pointer, displacement=64 + 4 * n)
        store = writer.do("st.global.u32 g32, r", place, value, guard=(predicate, n == 1))
        code.append(store)
    code.append(writer.do("ret "))
    result = allocated(writer.function, VOLTA, pred=1, reg=6)
    first = result.function.blocks[0].instructions[0]
    assert isinstance(first, MachineInstruction)
    assert first.operands["d"].storages[0] % 2 == 0  # type: ignore[union-attr]
    assert len(result.classes["pred"].used) == 1
    assert allocated(writer.function, VOLTA).spills == 0


def test_fixed_registers_are_among_the_few_that_may_be_used() -> None:
    writer = Writer(ZEN3)
    registers = ZEN3.isa.registers
    pointer, low, high = (writer.new("gpr", 64) for _ in range(3))
    writer.function.incoming = [(pointer, registers.by_name("rdi"))]
    rax, rdx = registers.by_name("rax"), registers.by_name("rdx")
    code = writer.block("entry")
    code += [
        copy((rax, pointer), (rdx, pointer)),
        writer.do("div m64", Address(pointer)),
        copy((low, rax), (high, rdx)),
        writer.do("mov m64, r64", Address(pointer), low),
        writer.do("mov m64, r64", Address(pointer), high),
        writer.do("ret "),
    ]
    result = allocated(writer.function, ZEN3, gpr=3)
    assert {"rax", "rdx"} <= set(result.classes["gpr"].used)
    with pytest.raises(InputError, match="1 gpr registers are too few"):
        allocated(writer.function, ZEN3, gpr=1)


def test_too_few_registers_for_one_instruction_name_the_count_that_works() -> None:
    writer = Writer(A53)
    pointer = writer.new("gpr", 64)
    writer.function.incoming = [(pointer, A53.isa.registers.by_name("x0"))]
    code = writer.block("entry")
    values = [writer.new("vec", 128) for _ in range(3)]
    code += [
        writer.do("ldr q, m128", value, Address(pointer, displacement=16 * n))
        for n, value in enumerate(values)
    ]
    result = writer.new("vec", 128)
    code += [
        writer.do("fmla v4s, v4s, v4s", result, *values[:2], tied={"d": values[2]}),
        writer.do("str q, m128", result, Address(pointer)),
        writer.do("ret "),
    ]
    allocated(writer.function, A53, vec=3)
    with pytest.raises(InputError) as caught:
        allocated(writer.function, A53, vec=2)
    assert "at least vec=3 is needed here" in str(caught.value)
    assert "vec=32" in str(caught.value)


@pytest.mark.parametrize(
    ("registers", "words"),
    [
        ((("xmm", 4),), ["no register class 'xmm'", "gpr=1..", "vec=1.."]),
        ((("vec", 0),), ["0 vec registers", "gpr=15, vec=16"]),
        ((("gpr", 100_000),), ["100000 gpr registers"]),
    ],
)
def test_impossible_limits_say_what_is_possible(
    registers: tuple[tuple[str, int], ...], words: list[str]
) -> None:
    with pytest.raises(InputError) as caught:
        check_register_limits(ZEN3, Options(registers=registers))
    assert all(word in str(caught.value) for word in words)
