"""Buffer assignment: a place in one arena for every array of the program, and the order of
launches.

The arena holds parameters, results and temporaries; constants follow behind it. A place is used
again as soon as nobody needs what lies there. `assign` is the only entrance to this room.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from compiler.buffers.aliases import Path, Value, paths
from compiler.buffers.decisions import record_donations, record_order, record_placements
from compiler.buffers.facts import gather_facts
from compiler.buffers.liveness import (
    ALIGNMENT,
    Array,
    Block,
    Facts,
    Lifetimes,
    Role,
    aligned,
    lifetimes,
)
from compiler.buffers.order import Candidate, candidates
from compiler.buffers.packing import live_bytes, lower_bound, pack
from compiler.buffers.places import Move, Placement, Slice
from compiler.buffers.regions import Region, place_regions, starts_of
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.shape import ArrayShape, Shape
from compiler.journal import Journal
from compiler.options import Options


@dataclass(frozen=True, slots=True)
class Binding:
    """A parameter's or result's array: where it lies and what it is. ``number`` is the parameter's
    number, or the place of the result among the flattened results."""

    number: int
    path: Path
    slice: Slice
    shape: ArrayShape


@dataclass(frozen=True, slots=True)
class Constant:
    """Bytes that must lie in the arena before the first launch, in the order of the layout, and
    the computation whose constant they are."""

    name: str
    slice: Slice
    data: bytes
    computation: str = ""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The memory of a program.

    ``launches`` are the entry's kernels, loops and branches in the order in which to run them;
    ``slices`` give a place to every array of every instruction of the entry, by name and tuple
    path, free instructions included. ``peak_bytes`` is the arena without constants; they lie
    behind it, up to ``arena_bytes``. ``buffer_bytes`` is what the same arrays take when no
    place is used twice, ``lower_bound_bytes`` the largest live set. ``live_bytes`` is alive
    memory by step, from the one before the first launch to the one after the last. ``regions``
    are the same for what loops and branches run, by computation; ``starts`` are the moves that
    bring the first state of the entry's loops to their places, by loop.
    """

    launches: tuple[str, ...]
    slices: Mapping[Value, Slice]
    parameters: tuple[Binding, ...]
    constants: tuple[Constant, ...]
    outputs: tuple[Binding, ...]
    arena_bytes: int
    peak_bytes: int
    buffer_bytes: int
    lower_bound_bytes: int
    placements: tuple[Placement, ...]
    live_bytes: tuple[int, ...]
    alignment: int = ALIGNMENT
    regions: Mapping[str, Region] = field(default_factory=dict)
    starts: Mapping[str, tuple[Move, ...]] = field(default_factory=dict)


def assign(module: Module, options: Options, journal: Journal) -> Assignment:
    """Places every array of the entry computation; the module is taken as it will run."""
    del options  # nothing about memory can be chosen yet
    facts = gather_facts(module, module.entry_computation)
    ordered = candidates(facts)
    best = min(ordered, key=lambda c: c.bytes_alive)
    record_order(journal, facts.computation, ordered, best)
    return _assigned(facts, best, journal)


def _assigned(facts: Facts, order: Candidate, journal: Journal) -> Assignment:
    found = lifetimes(facts, order.steps)
    blocks = sorted(found.movable, key=_block_order)
    packing = pack(blocks)
    places: dict[Value, Slice] = {}
    placements: list[Placement] = []
    for block, offset in zip(blocks, packing.offsets, strict=True):
        for array in block.arrays:
            places[array.value] = Slice(offset, array.size_bytes)
            placements.append(Placement(array, places[array.value]))
    record_placements(journal, facts.computation, found, blocks, packing)
    record_donations(journal, facts, blocks)
    constants = _constants(facts, found, packing.size_bytes)
    known = {(c.computation, c.name): c.slice for c in constants}
    entry = facts.computation.name
    places.update(((n, ()), place) for (where, n), place in known.items() if where == entry)
    end = max((aligned(c.slice.end) for c in constants), default=packing.size_bytes)
    slices = {v: places[s] for v, s in facts.sources.items() if s in places}
    inner = {**slices, **places}
    return Assignment(
        launches=order.steps,
        slices=slices,
        parameters=_parameters(facts, slices),
        constants=constants,
        outputs=_outputs(facts, slices),
        arena_bytes=end,
        peak_bytes=packing.size_bytes,
        buffer_bytes=sum(aligned(p.slice.size_bytes) for p in placements),
        lower_bound_bytes=lower_bound(blocks),
        placements=tuple(sorted(placements, key=lambda p: (p.array.start, p.slice.offset))),
        live_bytes=tuple(live_bytes(blocks)),
        regions=place_regions(facts, inner, known),
        starts=starts_of(facts, slices),
    )


def _block_order(block: Block) -> tuple[int, int, str]:
    """Parameters first, then by birth."""
    first = block.arrays[0]
    return (first.role is not Role.PARAMETER, first.start, first.name)


def _constants(facts: Facts, found: Lifetimes, offset: int) -> tuple[Constant, ...]:
    """The constants that launches read from memory, those inside loops and branches too."""
    constants: list[Constant] = []
    for computation, array in _used_constants(facts, found):
        instruction = computation.instruction(array.value[0])
        place = Slice(offset, array.size_bytes)
        data = constant_bytes(instruction)
        constants.append(Constant(instruction.name, place, data, computation.name))
        offset += aligned(array.size_bytes)
    return tuple(constants)


def _used_constants(facts: Facts, found: Lifetimes) -> Iterator[tuple[Computation, Array]]:
    for array in found.arrays.values():
        if array.role is Role.CONSTANT and array.end > -1:
            yield facts.computation, array
    for plans in facts.plans.values():
        for plan in plans:
            yield from _used_constants(plan.facts, plan.found)


def constant_bytes(instruction: Instruction) -> bytes:
    """A constant's elements as they lie in memory, in the order of its layout."""
    literal = instruction.literal
    if literal is None or literal.array is None:
        return b""
    major_to_minor = tuple(reversed(instruction.array.minor_to_major))
    return np.ascontiguousarray(np.transpose(literal.array, major_to_minor)).tobytes()


def _parameters(facts: Facts, slices: Mapping[Value, Slice]) -> tuple[Binding, ...]:
    found = []
    for parameter in facts.computation.parameters:
        for path, shape in paths(parameter.shape):
            if isinstance(shape, ArrayShape):
                place = slices[(parameter.name, path)]
                found.append(Binding(parameter.parameter_number, path, place, shape))
    return tuple(found)


def _outputs(facts: Facts, slices: Mapping[Value, Slice]) -> tuple[Binding, ...]:
    root = facts.computation.root_instruction
    arrays = [(p, s) for p, s in paths(root.shape) if _is_array(s)]
    return tuple(
        Binding(number, path, slices[(root.name, path)], shape)
        for number, (path, shape) in enumerate(arrays)
        if isinstance(shape, ArrayShape)
    )


def _is_array(shape: Shape) -> bool:
    return isinstance(shape, ArrayShape)
