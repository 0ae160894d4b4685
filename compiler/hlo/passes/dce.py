"""Dead code elimination: what neither the result nor a side effect needs goes away.

Instructions, elements of a loop's state that only keep themselves alive, and computations that
nobody calls. Parameters stay: they are the caller's business.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from compiler.hlo.loop_state import without_dead_state
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.passes.context import PassContext
from compiler.journal import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed(Decision):
    """Instructions of one computation that nobody needed."""

    worded: ClassVar[tuple[str, ...]] = ("because",)

    names: tuple[str, ...]

    @property
    def template(self) -> str:
        return "{subject} loses {chosen}: nobody needs them"


def run(module: Module, context: PassContext) -> Module:
    """Removes dead instructions everywhere, then computations that are not reachable."""
    effects = effectful(module)
    kept = tuple(_live(computation, effects) for computation in module.computations)
    cleaned = without_dead_state(_with(module, kept), effects)
    live = tuple(_live(computation, effects) for computation in cleaned.computations)
    for before, after in zip(module.computations, live, strict=True):
        _record(before, after, context)
    cleaned = _with(module, live)
    reachable = {c.name for c in cleaned.computations_post_order()}
    return _with(module, tuple(c for c in live if c.name in reachable))


def _with(module: Module, computations: tuple[Computation, ...]) -> Module:
    same = len(computations) == len(module.computations) and all(
        a is b for a, b in zip(computations, module.computations, strict=True)
    )
    return module if same else module.with_computations(computations)


def _record(before: Computation, after: Computation, context: PassContext) -> None:
    gone = tuple(i.name for i in before if i.name not in after)
    if gone:
        origins = tuple(dict.fromkeys(o for n in gone for o in before.instruction(n).origins))
        context.record(
            Removed(subject=before.name, origins=origins, chosen=" ".join(gone), names=gone)
        )


def effectful(module: Module) -> frozenset[str]:
    """The computations that run something with a side effect, at any depth."""
    found: set[str] = set()
    for computation in module.computations_post_order():
        if any(i.has_side_effect or found.intersection(i.callees) for i in computation):
            found.add(computation.name)
    return frozenset(found)


def _live(computation: Computation, effects: frozenset[str]) -> Computation:
    needed = {computation.root}
    for instruction in reversed(computation.instructions):
        acts = instruction.has_side_effect or not effects.isdisjoint(instruction.callees)
        if instruction.name in needed or acts:
            needed.add(instruction.name)
            needed.update(instruction.operands)
    needed.update(i.name for i in computation if i.opcode is Opcode.PARAMETER)
    if len(needed) == len(computation):
        return computation
    kept = (i for i in computation if i.name in needed)
    return replace(computation, instructions=tuple(_after(computation, i, needed) for i in kept))


def _after(computation: Computation, instruction: Instruction, needed: set[str]) -> Instruction:
    """The instruction, waiting for what remains of its control predecessors.

    One that goes away hands on what it waited for itself: its operands and its predecessors.
    """
    if needed.issuperset(instruction.control_predecessors):
        return instruction
    found: dict[str, None] = {}
    pending = list(reversed(instruction.control_predecessors))
    while pending:
        name = pending.pop()
        if name in needed:
            found[name] = None
            continue
        gone = computation.instruction(name)
        pending.extend(reversed((*gone.operands, *gone.control_predecessors)))
    attributes = instruction.attributes.without("control-predecessors")
    if found:
        attributes = attributes.updated({"control-predecessors": tuple(found)})
    return replace(instruction, attributes=attributes)
