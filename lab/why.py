"""`hob why` in words: what is inside a kernel and why it ends there, or where an instruction
went.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler.buffers.assign import Assignment, assign
from compiler.compilation import Compilation
from compiler.hlo.fusion.decisions import KernelFormed
from compiler.hlo.kernels import launching_computations
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.text.printer import PrintOptions, print_instruction, without_layouts
from compiler.journal import Decision, Journal
from compiler.options import Options
from compiler.pipeline import trace_hlo_passes
from isas.document import Document, Printer
from isas.errors import UnsupportedError
from isas.model import Machine
from lab import road
from lab.amounts import size_text
from lab.whereabouts import Finder, Place, Story, code_of
from lab.words.width import padded, wrapped
from lab.words.words import ENGLISH, Words
from vm.timeline import cycles_by_origin

WIDTH = 106
MOST_LINES = 8
CHEAP_BYTES = 1 << 20
"""Programs that move no more than this operation by operation are run for their cycles unasked."""

_SHORT = PrintOptions(layouts=False, metadata=False, literal_limit=8)


@dataclass(frozen=True, slots=True)
class Below:
    """The memory; the compilation and the cycles by instruction of the input, or why there is no
    code."""

    assignment: Assignment
    compilation: Compilation | None = None
    cycles: dict[str, float] | None = None
    total_cycles: int = 0
    refusal: UnsupportedError | None = None


def look_below(
    module: Module, final: Module, machine: Machine, options: Options, cycles: bool | None
) -> Below:
    """Compiles, and runs for the cycles when asked for, or when nobody said and it is cheap."""
    assignment = assign(final, options, Journal())
    try:
        compilation = road.compile(module, machine, options)
    except UnsupportedError as error:
        return Below(assignment, refusal=error)
    is_cheap = compilation.unfused.bytes_moved <= CHEAP_BYTES
    if cycles is False or (cycles is None and not is_cheap):
        return Below(assignment, compilation)
    result = road.run(compilation)
    found = cycles_by_origin(result.timeline, result.execution.programs)
    return Below(assignment, compilation, found, result.cycles)


def why_document(
    module: Module,
    name: str,
    machine: Machine,
    options: Options,
    cycles: bool | None = None,
    words: Words = ENGLISH,
) -> Document:
    """Explains the kernel or the instruction of that name; ``cycles`` says whether to run for them
    (None: when the program is small).

    Raises InputError with close names when there is none.
    """
    name = name.removeprefix("%")
    runs = trace_hlo_passes(module, options, Journal())
    finder = Finder(runs, module, runs[-1].after)
    fusion, found = finder.fusion(name), finder.instruction(name)
    if fusion is None and found is None:
        raise finder.unknown(name)
    below = look_below(module, finder.final, machine, options, cycles)
    lines: Iterator[Row] = iter(())
    if fusion is not None:
        lines = _kernel(finder, fusion, below, words)
    elif found is not None:
        lines = _instruction(finder, *found, below, words)
    printer = Printer(name)
    for row in lines:
        for text in row.lines():
            printer.add(text)
    return printer.finish()


@dataclass(frozen=True, slots=True)
class Heading:
    """What is asked about."""

    text: str

    def lines(self) -> Iterator[str]:
        yield self.text


@dataclass(frozen=True, slots=True)
class Facts:
    """A label and its lines, wrapped."""

    label: str
    texts: Sequence[str]

    def lines(self) -> Iterator[str]:
        label = self.label
        for text in self.texts:
            for number, part in enumerate(wrapped(text, WIDTH - 14)):
                hanging = "  " if number else ""
                yield f"  {padded(label, 9)} {hanging}{part}"
                label = ""


Row = Heading | Facts


def _few(texts: Sequence[str], words: Words) -> list[str]:
    if len(texts) <= MOST_LINES:
        return list(texts)
    return [*texts[:MOST_LINES], words("and {count} more", count=len(texts) - MOST_LINES)]


def _kernel(finder: Finder, kernel: Instruction, below: Below, words: Words) -> Iterator[Row]:
    (body,) = finder.final.callees(kernel)
    parent = _parent(finder.final, kernel)
    kind, shape = kernel.attributes["kind"].value, without_layouts(kernel.shape)
    yield Heading(
        words("{kernel} · {kind} · {shape} · in {computation}",
              kernel=kernel.name, kind=kind, shape=shape, computation=parent.name)
    )  # fmt: skip
    formed = finder.formed.get(kernel.name)
    inside = [i for i in body if i.opcode not in (Opcode.PARAMETER, Opcode.TUPLE)]
    yield Facts(words("holds"), [print_instruction(i, _SHORT) for i in inside])
    if formed is not None:
        yield Facts(words("runs as"), [words.told(stage) for stage in formed.stages])
        yield Facts(words("saves"), [_saved(formed, words)])
    joined = [words.decision(d) for d in finder.pairs(kernel) if d.is_fused]
    yield Facts(words("grew"), _few(joined, words))
    yield Facts(words("stops at"), list(_borders(finder, parent, kernel, words)))
    yield from _code(below, [o for i in inside for o in i.origins], words)


def _saved(formed: KernelFormed, words: Words) -> str:
    return words(
        "{launches} launches → 1; {before} → {after} moved",
        launches=formed.launches_before,
        before=size_text(formed.bytes_before),
        after=size_text(formed.bytes_after),
    )


def _parent(module: Module, kernel: Instruction) -> Computation:
    return next(c for c in launching_computations(module) if kernel.name in c)


def _borders(
    finder: Finder, parent: Computation, kernel: Instruction, words: Words
) -> Iterator[str]:
    for name in dict.fromkeys(kernel.operands):
        source = _made_by(parent, name)
        if source.opcode is Opcode.PARAMETER:
            yield words("reads {name}: a parameter, which lies in memory", name=name)
        elif source.opcode is Opcode.CONSTANT:
            yield words("reads {name}: a constant array", name=name)
        else:
            reason = _apart(finder, source, kernel, words)
            yield words("reads {name}: {reason}", name=name, reason=reason)
    for user in _users(parent, kernel.name):
        if user.name == parent.root and user.opcode.is_view:
            yield words("writes a result of the computation")
        elif not user.opcode.is_view:
            reason = _apart(finder, kernel, user, words)
            yield words("read by {name}: {reason}", name=user.name, reason=reason)
    if kernel.name == parent.root:
        yield words("writes the result of the computation")
    yield from _turned_down(finder, kernel, words)


def _turned_down(finder: Finder, kernel: Instruction, words: Words) -> Iterator[str]:
    """Pairs that were considered on the way and given up, although both are inside now."""
    ours = finder.members(kernel)
    for pair in finder.pairs(kernel):
        if not pair.is_fused and {pair.subject, pair.consumer} <= ours:
            yield words("(at first {decision})", decision=words.decision(pair))


def _apart(finder: Finder, producer: Instruction, consumer: Instruction, words: Words) -> str:
    found = finder.between(producer, consumer)
    if found is not None:
        return words.told(found.because)
    if consumer.opcode.is_control or producer.opcode.is_control:
        return words("loops and branches are no part of kernels")
    if any(_is_late_copy(finder, i) for i in (producer, consumer)):
        return words("copies are inserted after fusion")
    return words("no decision was taken about the two (fusion may be switched off)")


def _is_late_copy(finder: Finder, instruction: Instruction) -> bool:
    if instruction.opcode is Opcode.FUSION:
        return instruction.name not in finder.formed
    return instruction.opcode is Opcode.COPY


def _made_by(parent: Computation, name: str) -> Instruction:
    instruction = parent.instruction(name)
    while instruction.opcode.is_view and instruction.operands:
        instruction = parent.instruction(instruction.operands[0])
    return instruction


def _users(parent: Computation, name: str) -> list[Instruction]:
    """Who takes a value, tuple elements and bitcasts looked through."""
    found: dict[str, Instruction] = {}
    waiting = [name]
    while waiting:
        for user in parent.users(waiting.pop()):
            instruction = parent.instruction(user)
            if user not in found:
                found[user] = instruction
                if instruction.opcode.is_view and instruction.opcode is not Opcode.TUPLE:
                    waiting.append(user)
    return list(found.values())


def _instruction(
    finder: Finder, computation: Computation, instruction: Instruction, below: Below, words: Words
) -> Iterator[Row]:
    where = computation.name
    if instruction.line:
        where = words("line {line} of {computation}", line=instruction.line, computation=where)
    yield Heading(f"{print_instruction(instruction, _SHORT)} · {where}")
    if instruction.name not in instruction.origins:
        yield Facts(words("made of"), [" ".join(instruction.origins)])
    story = finder.story(instruction.name)
    yield from _passes(story, words)
    yield Facts(words("now"), _few(list(_destinations(finder, story, words)), words))
    names = [o for place in story.places for o in place.instruction.origins]
    if story.places:
        yield _memory(story.places, below, words)
        mine = [n for n in story.names if n in names] or names[:1]
        yield from _code(below, mine, words)


def _passes(story: Story, words: Words) -> Iterator[Row]:
    by_pass: dict[str, list[str]] = {}
    for step in story.steps:
        by_pass.setdefault(step.pass_name, []).append(_told(step.decision, story, words))
    for name, texts in by_pass.items():
        yield Facts(name, _few(list(dict.fromkeys(texts)), words))


def _told(decision: Decision, story: Story, words: Words) -> str:
    """A decision in words; of a removal, only that it is one of several."""
    names = getattr(decision, "names", None)
    if isinstance(names, tuple):
        mine = [n for n in names if n in story.names] or list(names[:1])
        return words("{names} goes away: nobody needs it", names=" ".join(mine))
    return words.decision(decision)


def _destinations(finder: Finder, story: Story, words: Words) -> Iterator[str]:
    if len(story.names) > 1:
        yield words("{name} stands for it", name=story.names[-1])
    if not story.places:
        yield _callers(finder, story.names[-1], words) or words("nothing is left of it")
    for place in story.places:
        yield _destination(finder, place, words)


def _callers(finder: Finder, name: str, words: Words) -> str:
    """Who applies the reducer or comparator that an instruction is part of; empty: it is part of
    none."""
    for computation in finder.final.computations:
        if name in computation:
            callers = [
                i.name
                for c in finder.final.computations
                for i in c
                if computation.name in i.callees
            ]
            return words(
                "part of {computation}, which {callers} applies",
                computation=computation.name,
                callers=words(" and ").join(callers[:3]),
            )
    return ""


def _destination(finder: Finder, place: Place, words: Words) -> str:
    instruction, kernel = place.instruction, place.kernel
    about = {"name": instruction.name, "opcode": str(instruction.opcode)}
    if kernel is None:
        return words("{name} ({opcode}): free, it only names memory", **about)
    parent = _parent(finder.final, kernel).name
    if kernel is instruction:
        return words(
            "{name} ({opcode}), a kernel of its own, launched in {computation}",
            **about,
            computation=parent,
        )
    return words(
        "{name} ({opcode}) inside {kernel}, launched in {computation}",
        **about,
        kernel=kernel.name,
        computation=parent,
    )


def _memory(places: Sequence[Place], below: Below, words: Words) -> Row:
    slices = below.assignment.slices
    names = dict.fromkeys(place.instruction.name for place in places)
    found = [
        words("{name} lies at bytes {slice}", name=name, slice=str(slices[name, ()]))
        for name in names
        if (name, ()) in slices
    ]
    nowhere = words("never: it lives in registers inside its kernel")
    return Facts(words("memory"), found or [nowhere])


def _code(below: Below, names: Sequence[str], words: Words) -> Iterator[Row]:
    if below.refusal is not None:
        reason = words.told(below.refusal.message)
        yield Facts(words("code"), [words("none: {reason}", reason=reason)])
    if below.compilation is None:
        return
    code = code_of(below.compilation, names)
    lines = words(
        "{lowered} lines as lowered, {optimized} as optimised",
        lowered=code.values,
        optimized=code.optimized,
    )
    yield Facts("LLVM", [lines])
    shown = ", ".join(f"{name} x{number}" for name, number in code.mnemonics[:10])
    shown += " …" if len(code.mnemonics) > 10 else ""
    made = words("{count} instructions: {names}", count=code.instructions, names=shown)
    yield Facts(words("machine"), [made])
    if below.cycles is not None and below.total_cycles:
        mine = sum(below.cycles.get(name, 0.0) for name in dict.fromkeys(names))
        total = below.total_cycles
        share = words(
            "{mine:.0f} of {total} ({share:.0%})", mine=mine, total=total, share=mine / total
        )
        yield Facts(words("cycles"), [share])
