"""The five instructions of the code generation tutorial on x86, with three vector registers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compiler.allocate.allocate import allocate
from compiler.allocate.checker import check_allocation
from compiler.journal import Journal
from compiler.machine.code import Address, VirtualRegister
from compiler.machine.text import document
from compiler.options import Options
from isas import load_machine
from tests.allocate.machine_oracle import trace_of
from tests.allocate.small import Writer

ZEN3 = load_machine("x86/zen3")


def five_instructions(loads_first: bool) -> Writer:
    """add, mul, matmul (a product), add, relu (a maximum), on vectors loaded from memory: all
    of them before, or each where it is needed."""
    writer = Writer(ZEN3)
    pointer = writer.new("gpr", 64)
    writer.function.incoming = [(pointer, ZEN3.isa.registers.by_name("rdi"))]
    code = writer.block("entry")
    inputs = [writer.new("vec", 256) for _ in range(6)]
    loads = [
        writer.do("vmovups ymm, m256", value, Address(pointer, displacement=32 * n))
        for n, value in enumerate(inputs)
    ]
    code += loads if loads_first else loads[:1]
    left: VirtualRegister = inputs[0]
    cards = ("vaddps", "vmulps", "vmulps", "vaddps", "vmaxps")
    for card, right, load in zip(cards, inputs[1:], loads[1:]):
        result = writer.new("vec", 256)
        code += [] if loads_first else [load]
        code.append(writer.do(f"{card} ymm, ymm, ymm", result, left, right))
        left = result
    code += [writer.do("vmovups m256, ymm", Address(pointer), left), writer.do("ret ")]
    return writer


@pytest.mark.parametrize("loads_first", [False, True], ids=["loads_in_place", "loads_first"])
def test_the_replay_reads_as_stored(loads_first: bool, golden: Callable[[str, str], None]) -> None:
    function = five_instructions(loads_first).function
    options, journal = Options(registers=(("vec", 3),)), Journal()
    result = allocate(function, ZEN3, options, journal)
    check_allocation(function, result.function, result.source, ZEN3, options)
    assert trace_of(result.function, ZEN3, 0, frozenset()) == trace_of(
        function, ZEN3, 0, frozenset()
    )
    lines: list[str] = []
    for step in result.steps:
        if step.number == 0:
            lines.append(f"round {step.round}")
        lines.append(f"  {step}")
        lines += [f"    ended  {entry}" for entry in step.expired]
        lines += [f"    active {entry}" for entry in step.active]
        lines.append(f"    free   {' '.join(step.free) or '-'}")
        lines += [f"    choice {choice}" for choice in step.alternatives]
    shown = [f"{value} in {slot}" for value, slot in result.spilled.items()]
    lines += [
        f"spilled: {', '.join(shown) or 'nothing'}",
        "",
        str(document(result.function, ZEN3.isa)),
    ]
    golden(
        f"tutorial_{'loads_first' if loads_first else 'loads_in_place'}.txt",
        "\n".join(lines) + "\n",
    )
    assert bool(result.spilled) is loads_first
