"""Finds where an instruction of the input went: passes, kernels, memory, code, cycles.

Facts only, gathered from the runs of the passes, their decisions and the compilation; `lab.why`
puts them into words.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from compiler.compilation import Compilation, Stage
from compiler.hlo.fusion.decisions import FusionDecision, KernelFormed
from compiler.hlo.kernels import launching_computations
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.journal import Decision
from compiler.pipeline import Snapshot
from isas.document import Document
from isas.errors import InputError

Run = Snapshot[Module]


@dataclass(frozen=True, slots=True)
class Place:
    """An instruction of the final module: its computation, and the kernel it is part of (itself
    when it is launched alone, None when it is free)."""

    computation: Computation
    instruction: Instruction
    kernel: Instruction | None


@dataclass(frozen=True, slots=True)
class Step:
    """What one pass decided about an instruction."""

    pass_name: str
    decision: Decision


@dataclass(frozen=True, slots=True)
class Story:
    """All that happened to an instruction. ``names`` are those it went by, in order: itself, then
    the twins that stand for it. ``ending`` is the decision after which nothing was left."""

    names: tuple[str, ...]
    steps: tuple[Step, ...]
    places: tuple[Place, ...]
    ending: Decision | None = None


@dataclass(slots=True)
class Finder:
    """Looks things up in the runs of all passes; the last one made the final module."""

    runs: Sequence[Run]
    source: Module
    final: Module
    formed: dict[str, KernelFormed] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for run in self.runs:
            for decision in run.decisions:
                if isinstance(decision, KernelFormed):
                    self.formed[decision.subject] = decision

    def fusion(self, name: str) -> Instruction | None:
        """The kernel of that name, or whose computation is called so."""
        for computation in launching_computations(self.final):
            for instruction in computation:
                if instruction.opcode is Opcode.FUSION and name in (
                    instruction.name,
                    instruction.attributes.get("calls"),
                ):
                    return instruction
        return None

    def instruction(self, name: str) -> tuple[Computation, Instruction] | None:
        """An instruction of the input, else of the first module that has it."""
        for module in (self.source, *(run.after for run in self.runs)):
            for computation in module.computations:
                if name in computation:
                    return computation, computation.instruction(name)
        return None

    def unknown(self, name: str) -> InputError:
        """The error for a name that occurs nowhere."""
        known = [i.name for m in (self.source, self.final) for c in m.computations for i in c]
        close = difflib.get_close_matches(name, known, 4, 0.5)
        hint = f"did you mean {', '.join(dict.fromkeys(close))}?" if close else None
        return InputError(f"the program has no instruction {name}", self.source.source, hint)

    def story(self, name: str) -> Story:
        """What happened to an instruction, followed from twin to twin."""
        names = [name]
        steps: list[Step] = []
        while True:
            steps += self._steps(names[-1], steps)
            places = tuple(self._places(names[-1]))
            if places:
                return Story(tuple(names), tuple(steps), places)
            following = self._successor(names[-1])
            if following is None or following in names:
                ending = next((s.decision for s in reversed(steps)), None)
                return Story(tuple(names), tuple(steps), (), ending)
            names.append(following)

    def _steps(self, name: str, known: list[Step]) -> Iterator[Step]:
        seen = {id(step.decision) for step in known}
        for run in self.runs:
            for decision in run.decisions:
                if id(decision) not in seen and _concerns(decision, name):
                    yield Step(run.name, decision)

    def _successor(self, name: str) -> str | None:
        """What stands for an instruction that a pass replaced."""
        for run in self.runs:
            present = {i.name for c in run.before.computations for i in c}
            for decision in run.decisions:
                if decision.subject == name and decision.chosen in present:
                    return decision.chosen
        return None

    def _places(self, name: str) -> Iterator[Place]:
        for computation in dict.fromkeys(c.name for c in launching_computations(self.final)):
            yield from self._in(self.final.computation(computation), name)

    def _in(self, computation: Computation, name: str) -> Iterator[Place]:
        for instruction in computation:
            if instruction.opcode is Opcode.FUSION:
                (body,) = self.final.callees(instruction)
                inside = [i for i in body if _is(i, name)]
                yield from (Place(body, i, instruction) for i in inside)
            elif _is(instruction, name):
                is_free = instruction.opcode.is_view or instruction.opcode.is_control
                yield Place(computation, instruction, None if is_free else instruction)

    def members(self, kernel: Instruction) -> set[str]:
        """The names that decisions about a kernel's parts use."""
        formed = self.formed.get(kernel.name)
        return {kernel.name, *(formed.members if formed else ())}

    def pairs(self, kernel: Instruction) -> Iterator[FusionDecision]:
        """Fusion decisions in which a kernel's parts were producer or consumer."""
        ours = self.members(kernel)
        for run in self.runs:
            for decision in run.decisions:
                if isinstance(decision, FusionDecision) and (
                    decision.subject in ours or decision.consumer in ours
                ):
                    yield decision

    def between(self, producer: Instruction, consumer: Instruction) -> FusionDecision | None:
        """The last word on why two kernels stayed apart."""
        ours, theirs = self.members(producer), self.members(consumer)
        found = None
        for decision in self.pairs(producer):
            if decision.subject in ours and decision.consumer in theirs and not decision.is_fused:
                found = decision
        return found


def _is(instruction: Instruction, name: str) -> bool:
    is_parameter = instruction.opcode is Opcode.PARAMETER
    return name == instruction.name or (name in instruction.origins and not is_parameter)


def _concerns(decision: Decision, name: str) -> bool:
    if isinstance(decision, FusionDecision):
        return name in (decision.subject, decision.consumer)
    if isinstance(decision, KernelFormed):
        return False
    return name == decision.subject or name in decision.origins


@dataclass(frozen=True, slots=True)
class Code:
    """What some instructions of the input became below: IR values as lowered and as optimised, and
    machine instructions by mnemonic."""

    values: int
    optimized: int
    mnemonics: tuple[tuple[str, int], ...]

    @property
    def instructions(self) -> int:
        return sum(number for _, number in self.mnemonics)


def code_of(compilation: Compilation, names: Sequence[str]) -> Code:
    """The code that stems from some instructions of the input."""
    wanted = set(names)
    mnemonics = Counter(
        instruction.shape.mnemonic
        for program in compilation.executable.programs.values()
        for instruction in program.instructions
        if instruction.origin in wanted
    )
    lowered, optimized = (
        _values(compilation.documents[stage], wanted)
        for stage in (Stage.LLVM, Stage.LLVM_OPTIMIZED)
    )
    return Code(lowered, optimized, tuple(mnemonics.most_common()))


def _values(document: Document, wanted: set[str]) -> int:
    return sum(1 for line in document.lines if not wanted.isdisjoint(line.origins))
