"""Gives every loop body, condition and branch one caller: shared ones are copied.

What runs launch by launch has a place in memory for each of its arrays, so a body that two loops
share would need two sets of places (XLA flattens its call graph for the same reason).
Reducers and comparators, which are code inside kernels, stay shared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from compiler.hlo.kernels import launched_callees
from compiler.hlo.module import CALLEE_KEYS, Computation, Instruction, Module
from compiler.hlo.passes.context import PassContext
from compiler.hlo.rewriter import Names
from compiler.journal import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Unshared(Decision):
    """A computation that a second caller got a copy of."""

    worded: ClassVar[tuple[str, ...]] = ("because",)

    @property
    def template(self) -> str:
        return "{subject} runs {chosen}, its own copy: {because}"


def run(module: Module, context: PassContext) -> Module:
    """Copies computations that several loops or branches run."""
    taken = Names([c.name for c in module.computations])
    inner = Names([i.name for c in module.computations for i in c])
    while True:
        found = _second_caller(module)
        if found is None:
            return module
        parent, instruction, shared = found
        name = taken.fresh(shared)
        copy = _copied(module.computation(shared), name, inner)
        context.record(
            Unshared(
                subject=instruction.name,
                origins=instruction.origins,
                chosen=name,
                because=f"{shared} has another caller",
            )
        )
        changed = _calling(instruction, shared, name)
        module = _with(module, parent, changed, copy)


def _second_caller(module: Module) -> tuple[Computation, Instruction, str] | None:
    """The first call of something that was called before (twice by one branch counts)."""
    seen: set[str] = set()
    for computation in module.computations_post_order():
        for instruction in computation:
            for name in launched_callees(instruction):
                if name in seen:
                    return computation, instruction, name
                seen.add(name)
    return None


def _copied(computation: Computation, name: str, names: Names) -> Computation:
    """The computation under a new name, its instructions too."""
    stands = {i.name: names.fresh(i.name) for i in computation}
    placed = []
    for instruction in computation:
        current = instruction.with_operands(tuple(stands[n] for n in instruction.operands))
        before = tuple(stands[n] for n in current.control_predecessors)
        if before:
            attributes = current.attributes.updated({"control-predecessors": before})
            current = replace(current, attributes=attributes)
        placed.append(replace(current, name=stands[instruction.name], origin=instruction.origins))
    return replace(
        computation, name=name, instructions=tuple(placed), root=stands[computation.root]
    )


def _calling(instruction: Instruction, old: str, new: str) -> Instruction:
    """The instruction with the last mention of one computation replaced by another."""
    for key in reversed(CALLEE_KEYS):
        value = instruction.attributes.get(key)
        if value == old:
            return replace(instruction, attributes=instruction.attributes.updated({key: new}))
        if isinstance(value, tuple) and old in value:
            names = list(value)
            names[len(names) - 1 - names[::-1].index(old)] = new
            attributes = instruction.attributes.updated({key: tuple(names)})
            return replace(instruction, attributes=attributes)
    return instruction


def _with(module: Module, parent: Computation, changed: Instruction, copy: Computation) -> Module:
    placed = tuple(changed if i.name == changed.name else i for i in parent)
    computations: list[Computation] = []
    for computation in module.computations:
        if computation.name == parent.name:
            computations += [copy, replace(computation, instructions=placed)]
        else:
            computations.append(computation)
    return module.with_computations(tuple(computations))
