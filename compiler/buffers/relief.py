"""Takes a dot out of a kernel of several results where the memory peak asks for it.

While a dot and its epilogue run as one kernel, the dot's operands and all results are alive at
once. Alone, the dot leaves one array, its operands can go, and the epilogue writes over that array.
This costs a launch and the array written and read once more, so it is done only for a kernel that
runs at the peak of the entry computation, and only when the peak falls by `LEAST_SAVED`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from compiler.buffers.facts import gather_facts
from compiler.buffers.liveness import lifetimes
from compiler.buffers.order import Candidate, candidates
from compiler.buffers.packing import live_bytes
from compiler.hlo.attributes import Attributes, FusionKind
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.passes.context import PassContext
from compiler.hlo.rewriter import Rewriter
from compiler.hlo.shape import TupleShape
from compiler.journal import Decision

LEAST_SAVED = 0.02
"""The part of the peak that a split must save."""

MOST_SPLITS = 8
"""So many kernels are split at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DotTakenOut(Decision):
    """A kernel whose dot runs by itself: the largest live set before and after, and the bytes that
    are written and read once more."""

    worded: ClassVar[tuple[str, ...]] = ("because",)

    alive_before: int
    alive_after: int
    bytes_moved: int

    @property
    def template(self) -> str:
        return (
            "{chosen} runs before {subject}, not inside: {alive_before} → {alive_after} bytes "
            "alive, for one launch and {bytes_moved} bytes moved"
        )


def run(module: Module, context: PassContext) -> Module:
    """Splits kernels of the entry computation, the one at the peak first."""
    if not context.options.fuse or not any(_is_wide(i) for i in module.entry_computation):
        return module
    best, peak = _best(module)
    for _ in range(MOST_SPLITS):
        kernel = module.entry_computation.instruction(peak) if peak else None
        if kernel is None or not _is_wide(kernel):
            break
        split = _split(module, kernel)
        after, peak = _best(split)
        if after.bytes_alive > best.bytes_alive * (1 - LEAST_SAVED):
            break
        context.record(_told(module, kernel, best, after))
        module, best = split, after
    return module


def _is_wide(instruction: Instruction) -> bool:
    """True of a dot with an epilogue of several results."""
    is_dot = instruction.attributes.get("kind") is FusionKind.OUTPUT
    return instruction.opcode is Opcode.FUSION and is_dot and _is_tuple(instruction)


def _is_tuple(instruction: Instruction) -> bool:
    return isinstance(instruction.shape, TupleShape)


def _best(module: Module) -> tuple[Candidate, str]:
    """The order with the smallest peak, and the step at which that is."""
    facts = gather_facts(module, module.entry_computation)
    best = min(candidates(facts), key=lambda candidate: candidate.bytes_alive)
    live = live_bytes(lifetimes(facts, best.steps).movable)
    place = live.index(max(live)) - 1 if live else -1
    return best, best.steps[place] if 0 <= place < len(best.steps) else ""


def _told(module: Module, kernel: Instruction, before: Candidate, after: Candidate) -> DotTakenOut:
    dot = _dot_of(module, kernel)
    return DotTakenOut(
        subject=kernel.name,
        origins=kernel.origins,
        chosen=dot.name,
        because="the dot's operands need not be alive with all results",
        alive_before=before.bytes_alive,
        alive_after=after.bytes_alive,
        bytes_moved=2 * dot.shape.size_bytes,
    )


def _dot_of(module: Module, kernel: Instruction) -> Instruction:
    body = module.computation(kernel.attributes["calls"])
    return next(i for i in body if i.opcode is Opcode.DOT)


def _split(module: Module, kernel: Instruction) -> Module:
    """The module with the dot of a kernel in front of it."""
    body = module.computation(kernel.attributes["calls"])
    dot = _dot_of(module, kernel)
    outer = {p.name: kernel.operands[p.parameter_number] for p in body.parameters}
    rewriter = Rewriter(module)
    operands = tuple(outer[name] for name in dot.operands)
    alone = replace(dot, operands=operands, origin=dot.origins)
    rest = tuple(_without(body, dot, rewriter.names.fresh(dot.name)))
    given = tuple(outer.get(i.name, dot.name) for i in rest if i.opcode is Opcode.PARAMETER)
    attributes = Attributes(kind=FusionKind.LOOP, calls=body.name)
    epilogue = replace(kernel, operands=given, attributes=attributes)
    placed: list[Instruction] = []
    for instruction in module.entry_computation:
        placed += [alone, epilogue] if instruction is kernel else [instruction]
    rewriter.replace_computation(Computation(body.name, rest, body.root))
    rewriter.replace_computation(replace(module.entry_computation, instructions=tuple(placed)))
    return rewriter.build()


def _without(body: Computation, dot: Instruction, name: str) -> Iterator[Instruction]:
    """The instructions with a parameter in the place of the dot; parameters that only it read are
    left out, the others numbered anew."""
    used = {n for i in body if i is not dot for n in i.operands} | {body.root}
    number = 0
    for instruction in body:
        if instruction.opcode is Opcode.PARAMETER and instruction.name not in used:
            continue
        if instruction is dot or instruction.opcode is Opcode.PARAMETER:
            instruction = replace(
                instruction,
                name=name if instruction is dot else instruction.name,
                opcode=Opcode.PARAMETER,
                operands=(),
                attributes=Attributes(parameter_number=number),
                origin=instruction.origins,
            )
            number += 1
        operands = tuple(name if n == dot.name else n for n in instruction.operands)
        yield instruction.with_operands(operands)
