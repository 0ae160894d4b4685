"""Gathers what placing arrays needs to know, loops and branches looked into."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.buffers.aliases import InPlace, Value, in_place_pairs
from compiler.buffers.aliases import sources as sources_of
from compiler.buffers.liveness import Facts, Returned, steps_of
from compiler.buffers.plans import Plan, plan_of
from compiler.hlo.kernels import launched_callees
from compiler.hlo.module import Computation, Instruction, Module


def gather_facts(module: Module, computation: Computation) -> Facts:
    """What placing the arrays of a computation needs to know, whatever the order."""
    in_place: dict[str, tuple[InPlace, ...]] = {}
    scratch: dict[str, int] = {}
    plans: dict[str, tuple[Plan, ...]] = {}
    for name in steps_of(computation):
        instruction = computation.instruction(name)
        in_place[name] = in_place_pairs(module, computation, instruction)
        if instruction.opcode.is_control:
            plans[name] = _plans(module, instruction)
            needed = max((plan.scratch_bytes for plan in plans[name]), default=0)
            if needed:
                scratch[name] = needed
    sources = sources_of(module, computation)
    is_entry = computation.name == module.entry
    donated = _donated(module) if is_entry else frozenset()
    returned = tuple(_returned(module, sources)) if is_entry else ()
    return Facts(module, computation, sources, in_place, scratch, donated, plans, returned)


def _plans(module: Module, instruction: Instruction) -> tuple[Plan, ...]:
    names = dict.fromkeys(launched_callees(instruction))
    found = (gather_facts(module, module.computation(name)) for name in names)
    return tuple(plan_of(facts, instruction) for facts in found)


def _donated(module: Module) -> frozenset[Value]:
    parameters = {p.parameter_number: p.name for p in module.entry_computation.parameters}
    return frozenset(
        (parameters[a.parameter], a.parameter_index)
        for a in module.aliases
        if a.parameter in parameters
    )


def _returned(module: Module, sources: Mapping[Value, Value]) -> Iterator[Returned]:
    """What ``input_output_alias`` asks for, as arrays of the entry."""
    entry = module.entry_computation
    parameters = {p.parameter_number: p.name for p in entry.parameters}
    for alias in module.aliases:
        result = sources.get((entry.root, alias.output_index))
        name = parameters.get(alias.parameter)
        if result is not None and name is not None:
            yield Returned(result, (name, alias.parameter_index), alias.must)
