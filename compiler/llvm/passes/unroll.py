"""Writes small loops out: every iteration becomes straight code.

Loops with a small constant count cost more for counting and branching than for what they do; they
come from short dimensions, and from vectorisation: what is left over after the vectors, and vector
loops that run once. Only innermost loops with one exit are written out, in rounds, so that a nest
of small loops dissolves from the inside.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.journal import Decision
from compiler.llvm.analysis.cfg import remove_unreachable, retarget
from compiler.llvm.analysis.loops import Loop, Trips, all_loops, loop_forest, trips
from compiler.llvm.clone import copy_instruction
from compiler.llvm.context import Context
from compiler.llvm.ir import BasicBlock, Function, Instruction, Opcode, Value, subject_of
from compiler.llvm.types import VOID

MOST_ITERATIONS = 8
LARGEST_RESULT = 64  # instructions after writing out; a loop that runs once may be of any size


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrolled(Decision):
    """A loop became straight code, or stayed because of its size."""

    count: int = 0
    size: int = 0

    @property
    def template(self) -> str:
        if self.chosen == "kept":
            return "loop {subject} stays a loop, because {because}"
        return "loop {subject}: its {count} iterations of {size} instructions are written out"


def run(function: Function, context: Context) -> bool:
    """Writes out what is small; returns whether anything changed."""
    changed = False
    refused: set[BasicBlock] = set()
    while True:
        found = _next(function, refused, context)
        if found is None:
            return changed
        _write_out(function, *found)
        changed = True


def _next(
    function: Function, refused: set[BasicBlock], context: Context
) -> tuple[Loop, Trips, int] | None:
    """An innermost loop small enough, with its count."""
    for loop in all_loops(loop_forest(function)):
        if not loop.is_innermost or loop.header in refused or loop.preheader() is None:
            continue
        found = trips(loop)
        if found is None or found.count is None:
            continue
        if _is_small(loop, found.count, refused, context):
            return loop, found, found.count
    return None


def _is_small(loop: Loop, count: int, refused: set[BasicBlock], context: Context) -> bool:
    size = sum(
        i.opcode is not Opcode.PHI and not i.opcode.is_terminator for i in loop.instructions()
    )
    origins = tuple(dict.fromkeys(o for i in loop.instructions() for o in i.origins))
    subject = subject_of(loop.header)
    if count <= 1 or (count <= MOST_ITERATIONS and size * count <= LARGEST_RESULT):
        context.record(
            Unrolled(subject=subject, origins=origins, chosen="unrolled", count=count, size=size)
        )
        return True
    refused.add(loop.header)
    if count <= MOST_ITERATIONS:
        reason = f"{count} times {size} instructions are more than {LARGEST_RESULT}"
        context.record(
            Unrolled(
                subject=subject,
                origins=origins,
                chosen="kept",
                because=reason,
                count=count,
                size=size,
            )
        )
    return False


def _write_out(function: Function, loop: Loop, found: Trips, count: int) -> None:
    """Replaces the loop by `count` copies (and a last copy of a header that tests first)."""
    preheader, latch = loop.preheader(), loop.latch
    if preheader is None or latch is None or preheader.terminator is None:
        return
    values: dict[Value, Value] = {p: p.incoming_from(preheader) for p in loop.header.phis}
    source, old = preheader.terminator, loop.header
    is_tested_first = found.exiting is loop.header and loop.header is not latch
    last = function.blocks[function.blocks.index(preheader)]
    end: BasicBlock = preheader
    for number in range(count):
        blocks = _copies(function, loop, loop.blocks, last)
        last = blocks[loop.blocks[-1]]
        _fill(function, loop, loop.blocks, values, blocks)
        retarget(source, old, blocks[loop.header])
        is_final = number == count - 1 and not is_tested_first
        _decide(blocks[found.exiting], found, blocks, goes_on=not is_final)
        end = blocks[found.exiting]
        source, old = _end_of(blocks[latch]), loop.header
        if number < count - 1 or is_tested_first:
            values = {
                p: values.get(v, v) for p in loop.header.phis for v in [p.incoming_from(latch)]
            }
    if is_tested_first:
        blocks = _copies(function, loop, (loop.header,), last)
        _fill(function, loop, (loop.header,), values, blocks)
        retarget(source, old, blocks[loop.header])
        _decide(blocks[loop.header], found, blocks, goes_on=False)
        end = blocks[loop.header]
    _leave(function, loop, found, values, end)


def _copies(
    function: Function, loop: Loop, blocks: tuple[BasicBlock, ...], after: BasicBlock
) -> dict[BasicBlock, BasicBlock]:
    found: dict[BasicBlock, BasicBlock] = {}
    for block in blocks:
        after = found[block] = function.add_block(block.name, after)
    return found


def _fill(
    function: Function,
    loop: Loop,
    originals: tuple[BasicBlock, ...],
    values: dict[Value, Value],
    blocks: dict[BasicBlock, BasicBlock],
) -> None:
    """Copies the instructions of one iteration; `values` grows by what they define. The back edge
    keeps pointing at the loop's header."""
    targets = {old: new for old, new in blocks.items() if old is not loop.header}
    for block in originals:
        for instruction in block.instructions:
            if instruction.opcode is Opcode.PHI and block is loop.header:
                continue
            is_phi = instruction.opcode is Opcode.PHI
            copy = copy_instruction(instruction, values, blocks if is_phi else targets)
            if copy.type != VOID:
                copy.name = function.fresh_name(instruction.name)
            blocks[block].append(copy)
            values[instruction] = copy


def _end_of(block: BasicBlock) -> Instruction:
    if block.terminator is None:
        raise ValueError(f"{block.name} has no end")
    return block.terminator


def _decide(
    block: BasicBlock, found: Trips, blocks: dict[BasicBlock, BasicBlock], goes_on: bool
) -> None:
    """The copy of the exiting block knows which way it goes."""
    branch = _end_of(block)
    inside = [t for t in branch.blocks if t is not found.exit]
    branch.drop_operands()
    branch.blocks = [inside[0] if goes_on else found.exit]


def _leave(
    function: Function, loop: Loop, found: Trips, values: dict[Value, Value], end: BasicBlock
) -> None:
    """Everything behind the loop reads the last copies; the loop itself goes."""
    for phi in found.exit.phis:
        for index, block in enumerate(phi.blocks):
            if block is found.exiting:
                phi.set_operand(index, values.get(phi.operands[index], phi.operands[index]))
                phi.blocks[index] = end
    for instruction in list(loop.instructions()):
        for user in dict.fromkeys(instruction.users):
            if user.block is not None and user.block not in loop.members:
                for index, operand in enumerate(user.operands):
                    if operand is instruction:
                        user.set_operand(index, values[instruction])
    exiting = _end_of(found.exiting)
    exiting.drop_operands()
    exiting.erase()
    found.exiting.append(Instruction(Opcode.UNREACHABLE, VOID))
    remove_unreachable(function)
