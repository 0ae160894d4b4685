"""Puts every computation that runs launch by launch into the order that needs least memory.

`compiler.buffers.order` proposes orders and measures their largest live sets; this pass writes the
best one down, so that what is printed is what runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.buffers.decisions import record_order
from compiler.buffers.facts import gather_facts
from compiler.buffers.order import candidates
from compiler.buffers.plans import with_state
from compiler.hlo.kernels import launching_computations
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.passes.context import PassContext


def run(module: Module, context: PassContext) -> Module:
    """Reorders the entry, bodies and branches, inner ones first."""
    names = dict.fromkeys(c.name for c in launching_computations(module))
    for name in reversed(names):
        facts = gather_facts(module, module.computation(name))
        if name != module.entry:
            facts = with_state(facts)
        tried = candidates(facts)
        best = min(tried, key=lambda candidate: candidate.bytes_alive)
        if len(tried) > 1:
            record_order(context.journal, facts.computation, tried, best)
        ordered = _ordered(facts.computation, best.steps)
        if ordered is not facts.computation:
            module = _with(module, ordered)
    return module


def _ordered(computation: Computation, steps: Sequence[str]) -> Computation:
    """The computation with its steps in this order, everything else in front of its first user."""
    placed: dict[str, Instruction] = {}
    for parameter in computation.parameters:
        placed[parameter.name] = parameter
    for name in (*steps, computation.root):
        _place(computation, name, placed)
    for instruction in computation:
        _place(computation, instruction.name, placed)
    ordered = tuple(placed.values())
    if ordered == computation.instructions:
        return computation
    return replace(computation, instructions=ordered)


def _place(computation: Computation, name: str, placed: dict[str, Instruction]) -> None:
    """Puts an instruction down after whatever it needs."""
    stack = [name]
    while stack:
        instruction = computation.instruction(stack[-1])
        needed = (*instruction.operands, *instruction.control_predecessors)
        missing = [n for n in needed if n not in placed]
        if missing:
            stack.extend(reversed(missing))
        else:
            placed.setdefault(instruction.name, instruction)
            stack.pop()


def _with(module: Module, computation: Computation) -> Module:
    computations = (computation if c.name == computation.name else c for c in module.computations)
    return module.with_computations(tuple(computations))
