"""Gathers what placing arrays needs to know, loops and branches looked into.

A loop keeps its state where it lies. What its body computes beside that, and new state that is
ready while the old is still needed, takes scratch memory for the time of the loop.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.buffers.aliases import InPlace, Value, in_place_pairs, paths
from compiler.buffers.aliases import sources as sources_of
from compiler.buffers.liveness import Array, Block, Facts, Lifetimes, Role, lifetimes, steps_of
from compiler.buffers.packing import pack
from compiler.hlo.kernels import launched_callees
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode


def gather_facts(module: Module, computation: Computation) -> Facts:
    """What placing the arrays of a computation needs to know, whatever the order."""
    in_place: dict[str, tuple[InPlace, ...]] = {}
    scratch: dict[str, int] = {}
    for name in steps_of(computation):
        instruction = computation.instruction(name)
        in_place[name] = in_place_pairs(module, computation, instruction)
        if instruction.opcode.is_control:
            needed = _scratch_bytes(module, instruction)
            if needed:
                scratch[name] = needed
    donated = _donated(module) if computation.name == module.entry else frozenset()
    return Facts(module, computation, sources_of(module, computation), in_place, scratch, donated)


def _donated(module: Module) -> frozenset[Value]:
    parameters = {p.parameter_number: p.name for p in module.entry_computation.parameters}
    return frozenset(
        (parameters[a.parameter], a.parameter_index)
        for a in module.aliases
        if a.parameter in parameters
    )


def _scratch_bytes(module: Module, instruction: Instruction) -> int:
    """Memory that a loop's body or a branch needs beside its own operands and results."""
    sizes = [0]
    for name in dict.fromkeys(launched_callees(instruction)):
        facts = gather_facts(module, module.computation(name))
        if instruction.opcode is Opcode.WHILE and name == instruction.attributes.get("body"):
            found = _loop_blocks(facts)
        else:
            found = _branch_blocks(facts)
        sizes.append(pack(found).size_bytes)
    return max(sizes)


def _branch_blocks(facts: Facts) -> list[Block]:
    """What a branch allocates; parameters and results belong to the instruction running it."""
    found = lifetimes(facts, steps_of(facts.computation))
    mine = (Role.TEMPORARY, Role.SCRATCH)
    return [b for b in found.blocks if all(a.role in mine for a in b.arrays)]


def _loop_blocks(facts: Facts) -> list[Block]:
    """What a loop's body allocates beside the state."""
    computation = facts.computation
    state = frozenset((p.name, path) for p in computation.parameters for path, _ in paths(p.shape))
    found = lifetimes(replace(facts, donated=state), steps_of(computation))
    blocks = {a.value: block for block in found.blocks for a in block.arrays}
    apart = [b for b in found.blocks if all(a.role in _OWN for a in b.arrays)]
    root = computation.root_instruction
    for path, _ in paths(root.shape):
        old = (computation.parameters[0].name, path)
        new = facts.sources[(root.name, path)]
        if new == old or _settles(blocks, old, new):
            if new in blocks and blocks[new] in apart:
                apart.remove(blocks[new])
        elif new in state or blocks[new] not in apart:
            apart.append(_copy(found, new))
    return apart


_OWN = (Role.TEMPORARY, Role.SCRATCH, Role.OUTPUT)


def _settles(blocks: dict[Value, Block], old: Value, new: Value) -> bool:
    """True when new state can be written to its place at once: over the old, or after its end."""
    if old not in blocks or new not in blocks:
        return True
    if blocks[new] is blocks[old]:
        return True
    return blocks[new].arrays[0].role in _OWN and blocks[old].end < blocks[new].start


def _copy(found: Lifetimes, value: Value) -> Block:
    """A place for new state that lies where other state lies, until the iteration ends."""
    last = len(found.steps)
    size = found.arrays[value].size_bytes
    return Block((Array(value, size, Role.SCRATCH, last, last),))
