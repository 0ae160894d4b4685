"""`hob why` in words: what is inside a kernel and why it ends there, or where an instruction
went.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler.buffers.assign import Assignment, assign
from compiler.compilation import Compilation
from compiler.hlo.kernels import launching_computations
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.text.printer import PrintOptions, print_instruction, without_layouts
from compiler.journal import Journal
from compiler.options import Options
from compiler.pipeline import trace_hlo_passes
from isas.document import Document, Printer
from isas.errors import UnsupportedError
from isas.model import Machine
from lab import road
from lab.report import size
from lab.whereabouts import Finder, Place, Story, code_of
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
    printer = Printer(name)
    lines: Iterator[str] = iter(())
    if fusion is not None:
        lines = _kernel(finder, fusion, below)
    elif found is not None:
        lines = _instruction(finder, *found, below)
    for text in lines:
        printer.add(text)
    return printer.finish()


def _fact(name: str, *texts: str) -> Iterator[str]:
    """A label and its lines, wrapped."""
    label = name
    for text in texts:
        for part in textwrap.wrap(text, WIDTH - 12, subsequent_indent="  ") or [""]:
            yield f"  {label:<9} {part}"
            label = ""


def _few(texts: Sequence[str]) -> list[str]:
    if len(texts) <= MOST_LINES:
        return list(texts)
    return [*texts[:MOST_LINES], f"and {len(texts) - MOST_LINES} more"]


def _kernel(finder: Finder, kernel: Instruction, below: Below) -> Iterator[str]:
    (body,) = finder.final.callees(kernel)
    parent = _parent(finder.final, kernel)
    kind = kernel.attributes["kind"].value
    yield f"{kernel.name} · {kind} · {without_layouts(kernel.shape)} · in {parent.name}"
    formed = finder.formed.get(kernel.name)
    inside = [i for i in body if i.opcode not in (Opcode.PARAMETER, Opcode.TUPLE)]
    yield from _fact("holds", *(print_instruction(i, _SHORT) for i in inside))
    if formed is not None:
        yield from _fact("runs as", *formed.stages)
        launches = f"{formed.launches_before} launches → 1"
        moved = f"{size(formed.bytes_before)} → {size(formed.bytes_after)} moved"
        yield from _fact("saves", f"{launches}; {moved}")
    joined = [str(d) for d in finder.pairs(kernel) if d.is_fused]
    yield from _fact("grew", *(_few(joined)))
    yield from _fact("stops at", *_borders(finder, parent, kernel))
    yield from _code(below, [o for i in inside for o in i.origins])


def _parent(module: Module, kernel: Instruction) -> Computation:
    return next(c for c in launching_computations(module) if kernel.name in c)


def _borders(finder: Finder, parent: Computation, kernel: Instruction) -> Iterator[str]:
    for name in dict.fromkeys(kernel.operands):
        source = _made_by(parent, name)
        if source.opcode is Opcode.PARAMETER:
            yield f"reads {name}: a parameter, which lies in memory"
        elif source.opcode is Opcode.CONSTANT:
            yield f"reads {name}: a constant array"
        else:
            yield f"reads {name}: {_apart(finder, source, kernel)}"
    for user in _users(parent, kernel.name):
        if user.name == parent.root and user.opcode.is_view:
            yield "writes a result of the computation"
        elif not user.opcode.is_view:
            yield f"read by {user.name}: {_apart(finder, kernel, user)}"
    if kernel.name == parent.root:
        yield "writes the result of the computation"
    yield from _turned_down(finder, kernel)


def _turned_down(finder: Finder, kernel: Instruction) -> Iterator[str]:
    """Pairs that were considered on the way and given up, although both are inside now."""
    ours = finder.members(kernel)
    for pair in finder.pairs(kernel):
        if not pair.is_fused and {pair.subject, pair.consumer} <= ours:
            yield f"(at first {pair})"


def _apart(finder: Finder, producer: Instruction, consumer: Instruction) -> str:
    found = finder.between(producer, consumer)
    if found is not None:
        return found.because
    if consumer.opcode.is_control or producer.opcode.is_control:
        return "loops and branches are no part of kernels"
    if any(_is_late_copy(finder, i) for i in (producer, consumer)):
        return "copies are inserted after fusion"
    return "no decision was taken about the two (fusion may be switched off)"


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
    finder: Finder, computation: Computation, instruction: Instruction, below: Below
) -> Iterator[str]:
    line = f"line {instruction.line} of " if instruction.line else ""
    yield f"{print_instruction(instruction, _SHORT)} · {line}{computation.name}"
    if instruction.name not in instruction.origins:
        yield from _fact("made of", " ".join(instruction.origins))
    story = finder.story(instruction.name)
    yield from _passes(story)
    yield from _fact("now", *_few(list(_destinations(finder, story))))
    names = [o for place in story.places for o in place.instruction.origins]
    if story.places:
        yield from _memory(story.places, below)
        mine = [n for n in story.names if n in names] or names[:1]
        yield from _code(below, mine)


def _passes(story: Story) -> Iterator[str]:
    by_pass: dict[str, list[str]] = {}
    for step in story.steps:
        by_pass.setdefault(step.pass_name, []).append(_told(step.decision, story))
    for name, texts in by_pass.items():
        yield from _fact(name, *_few(list(dict.fromkeys(texts))))


def _told(decision: object, story: Story) -> str:
    """A decision in words; of a removal, only that it is one of several."""
    names = getattr(decision, "names", None)
    if isinstance(names, tuple):
        mine = [n for n in names if n in story.names] or list(names[:1])
        return f"{' '.join(mine)} goes away: nobody needs it"
    return str(decision)


def _destinations(finder: Finder, story: Story) -> Iterator[str]:
    if len(story.names) > 1:
        yield f"{story.names[-1]} stands for it"
    if not story.places:
        is_called = _is_called(finder, story.names[-1])
        yield is_called or "nothing is left of it"
    for place in story.places:
        yield _destination(finder, place)


def _is_called(finder: Finder, name: str) -> str:
    """Instructions of reducers and comparators are code of whoever calls them."""
    for computation in finder.final.computations:
        if name in computation:
            callers = [
                i.name
                for c in finder.final.computations
                for i in c
                if computation.name in i.callees
            ]
            return f"part of {computation.name}, which {' and '.join(callers[:3])} applies"
    return ""


def _destination(finder: Finder, place: Place) -> str:
    instruction, kernel = place.instruction, place.kernel
    if kernel is None:
        return f"{instruction.name} ({instruction.opcode}): free, it only names memory"
    parent = _parent(finder.final, kernel)
    where = f"launched in {parent.name}"
    if kernel is instruction:
        return f"{kernel.name} ({kernel.opcode}), a kernel of its own, {where}"
    return f"{instruction.name} ({instruction.opcode}) inside {kernel.name}, {where}"


def _memory(places: Sequence[Place], below: Below) -> Iterator[str]:
    slices = below.assignment.slices
    names = dict.fromkeys(n for p in places for n in (p.instruction.name,))
    found = [f"{name} lies at bytes {slices[name, ()]}" for name in names if (name, ()) in slices]
    yield from _fact("memory", *(found or ["never: it lives in registers inside its kernel"]))


def _code(below: Below, names: Sequence[str]) -> Iterator[str]:
    if below.refusal is not None:
        yield from _fact("code", f"none: {below.refusal.message}")
    if below.compilation is None:
        return
    code = code_of(below.compilation, names)
    yield from _fact("LLVM", f"{code.values} lines as lowered, {code.optimized} as optimised")
    shown = [f"{name} x{number}" for name, number in code.mnemonics[:10]]
    more = " …" if len(code.mnemonics) > 10 else ""
    yield from _fact("machine", f"{code.instructions} instructions: {', '.join(shown)}{more}")
    if below.cycles is not None and below.total_cycles:
        mine = sum(below.cycles.get(name, 0.0) for name in dict.fromkeys(names))
        share = mine / below.total_cycles
        yield from _fact("cycles", f"{mine:.0f} of {below.total_cycles} ({share:.0%})")
