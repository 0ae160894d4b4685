"""Phis, branches and what machine code may not do."""

from __future__ import annotations

import pytest

from compiler.journal import Journal
from compiler.llvm.parse import parse_function
from compiler.machine.code import MachineInstruction, ParallelCopy, VirtualRegister
from compiler.machine.text import document
from compiler.machine.verify import verify_machine_function
from compiler.options import Options
from compiler.select import select
from compiler.select.decisions import EdgeSplit
from isas import load_machine
from isas.errors import InternalError

SWAP = """
define void @f(ptr %a) {
entry:
  br label %loop
loop:
  %x = phi i64 [ 1, %entry ], [ %y, %loop ]
  %y = phi i64 [ 2, %entry ], [ %x, %loop ]
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, 5
  br i1 %more, label %loop, label %done
done:
  store i64 %USED, ptr %a
  ret void
}
"""


def code(text: str, name: str = "x86/zen3", journal: Journal | None = None):  # type: ignore[no-untyped-def]
    return select(parse_function(text), load_machine(name), Options(), journal or Journal())


@pytest.mark.parametrize("name", ["x86/zen3", "arm/cortex-a53", "simt/volta"])
def test_phis_that_swap_become_one_parallel_copy(name: str) -> None:
    function = code(SWAP.replace("USED", "x"), name)
    copies = [n for n in function.instructions() if isinstance(n, ParallelCopy)]
    swaps = [{str(d): str(s) for d, s in copy.moves} for copy in copies]
    assert any(moves.get(moves[d]) == d for moves in swaps for d in moves)


def test_copies_get_a_block_of_their_own_when_the_other_way_needs_the_old_value() -> None:
    journal = Journal()
    code(SWAP.replace("USED", "x"), journal=journal)
    splits = [e.decision for e in journal.entries if isinstance(e.decision, EdgeSplit)]
    assert len(splits) == 1 and "still needs" in splits[0].because


def test_a_loop_closed_by_its_own_counter_needs_no_extra_block_and_no_jump() -> None:
    function = code(SWAP.replace("USED", "next"))
    assert [block.name for block in function.blocks] == ["entry", "loop", "done"]
    last = function.block("loop").instructions[-1]
    assert isinstance(last, MachineInstruction) and last.shape.facts.is_conditional


@pytest.mark.parametrize("name", ["x86/zen3", "arm/cortex-a53", "simt/volta"])
def test_every_line_names_an_hlo_instruction(name: str) -> None:
    text = SWAP.replace("USED", "next").replace("ptr %a\n", "ptr %a ; %out.1\n")
    function = code(text, name)
    lines = document(function, load_machine(name).isa).lines
    assert all("%out.1" in line.text for line in lines if line.text.startswith("    "))


def test_reading_what_only_one_path_wrote_is_refused() -> None:
    machine = load_machine("x86/zen3")
    function = code(SWAP.replace("USED", "next"))
    verify_machine_function(function, machine)
    function.block("entry").instructions.clear()
    with pytest.raises(InternalError, match="read before it is written"):
        verify_machine_function(function, machine)


def test_an_operand_of_another_class_is_refused() -> None:
    machine = load_machine("x86/zen3")
    function = code(SWAP.replace("USED", "next"))
    add = next(
        n for n in function.block("loop").instructions
        if isinstance(n, MachineInstruction) and n.shape.facts.writes
    )  # fmt: skip
    wrong = VirtualRegister(99, "vec", 64)
    add.operands = {**add.operands, add.shape.facts.writes[0]: wrong}
    with pytest.raises(InternalError, match="of class gpr"):
        verify_machine_function(function, machine)
