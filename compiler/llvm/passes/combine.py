"""Replaces single instructions by simpler ones, again and again until no rule applies.

Each rule (`compiler.llvm.rules`) looks at one instruction and its operands and names a simpler
value for it, or nothing. Rules never change a rounding, the sign of a zero or whether a result is
NaN: x * 1 goes, x + 0 stays (x may be -0). After a replacement the users are looked at anew,
because they may have become simpler, and so are the operands, because they may have lost their last
user and go then.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from compiler.journal import Decision
from compiler.llvm.analysis.dominators import reverse_postorder
from compiler.llvm.builder import Builder
from compiler.llvm.context import Context
from compiler.llvm.ir import Function, Instruction, Opcode, Value
from compiler.llvm.rules import floats, integers, vectors
from compiler.llvm.rules.fold import fold

Rule = Callable[[Instruction, Builder], Value | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined(Decision):
    """How often each rule was applied in a function; the reasons are the rules' names."""

    worded: ClassVar[tuple[str, ...]] = ("chosen",)

    rewrites: int = 0

    @property
    def template(self) -> str:
        return "{subject}: {rewrites} rewrites ({because})"


# The rules of each opcode, with the name the journal counts them under.
RULES: dict[Opcode, tuple[tuple[str, Rule], ...]] = {
    Opcode.ADD: (("constant right", integers.constant_to_the_right), ("add", integers.add)),
    Opcode.SUB: (("sub", integers.sub),),
    Opcode.MUL: (("constant right", integers.constant_to_the_right), ("mul", integers.mul)),
    Opcode.SHL: (("shift", integers.shift),),
    Opcode.LSHR: (("shift", integers.shift),),
    Opcode.ASHR: (("shift", integers.shift),),
    Opcode.UDIV: (("udiv", integers.unsigned_divide),),
    Opcode.UREM: (("urem", integers.unsigned_divide),),
    Opcode.SDIV: (("sdiv", integers.signed_divide),),
    Opcode.SREM: (("srem", integers.signed_divide),),
    Opcode.AND: (("constant right", integers.constant_to_the_right), ("logic", integers.logic)),
    Opcode.OR: (("constant right", integers.constant_to_the_right), ("logic", integers.logic)),
    Opcode.XOR: (("constant right", integers.constant_to_the_right), ("logic", integers.logic)),
    Opcode.ICMP: (("compare", integers.compare),),
    Opcode.SELECT: (("select", integers.select),),
    Opcode.GETELEMENTPTR: (("address", integers.address),),
    Opcode.BR: (("branch", integers.branch),),
    Opcode.FADD: (("constant right", integers.constant_to_the_right), ("fadd", floats.add)),
    Opcode.FSUB: (("fsub", floats.sub),),
    Opcode.FMUL: (("constant right", integers.constant_to_the_right), ("fmul", floats.mul)),
    Opcode.FDIV: (("fdiv", floats.div),),
    Opcode.FNEG: (("fneg", floats.neg),),
    Opcode.CALL: (("intrinsic", floats.call),),
    Opcode.EXTRACTELEMENT: (("lane", vectors.extract),),
    Opcode.INSERTELEMENT: (("lane", vectors.insert),),
    Opcode.SHUFFLEVECTOR: (("shuffle", vectors.shuffle),),
    Opcode.PHI: (("phi", vectors.phi),),
    Opcode.FREEZE: (("freeze", vectors.freeze),),
    **{opcode: (("cast", integers.cast),) for opcode in Opcode if opcode.is_cast},
}
_ANY: tuple[tuple[str, Rule], ...] = (("fold", fold),)


def run(function: Function, context: Context) -> bool:
    """Applies the rules until none does; returns whether anything changed."""
    worker = _Worker(function)
    worker.drain()
    if worker.counts:
        parts = ", ".join(f"{name} {count}" for name, count in sorted(worker.counts.items()))
        context.record(
            Combined(
                subject=function.name,
                chosen="simplified",
                because=parts,
                rewrites=sum(worker.counts.values()),
            )
        )
    return bool(worker.counts)


class _Worker:
    """The instructions still to look at, each at most once at a time."""

    def __init__(self, function: Function) -> None:
        self.builder = Builder(function)
        self.counts: Counter[str] = Counter()
        self.queue: deque[Instruction] = deque()
        self.queued: set[Instruction] = set()
        for block in reverse_postorder(function):
            for instruction in block.instructions:
                self.push(instruction)

    def push(self, instruction: Value) -> None:
        if isinstance(instruction, Instruction) and instruction not in self.queued:
            self.queue.append(instruction)
            self.queued.add(instruction)

    def drain(self) -> None:
        while self.queue:
            instruction = self.queue.popleft()
            self.queued.discard(instruction)
            if instruction.block is not None:
                self._visit(instruction)

    def _visit(self, i: Instruction) -> None:
        if not i.users and not i.has_side_effects:
            self.counts["dead"] += 1
            self._erase(i)
            return
        for name, rule in (*_ANY, *RULES.get(i.opcode, ())):
            if i.block is None:
                return
            self.builder.at(i.block, i).origins = i.origins
            before = list(i.operands)
            found = rule(i, self.builder)
            if found is not None:
                self.counts[name] += 1
                self._replace(i, found, before)
                return

    def _replace(self, i: Instruction, found: Value, before: list[Value]) -> None:
        for user in i.users:
            self.push(user)
        if found is i:
            self.push(i)
            for operand in before:
                self.push(operand)
            return
        if isinstance(found, Instruction) and not found.users:
            found.name, i.name = i.name, ""
            self.push(found)
        i.replace_all_uses_with(found)
        self._erase(i)

    def _erase(self, i: Instruction) -> None:
        operands = list(i.operands)
        i.erase()
        for operand in operands:
            self.push(operand)
