"""Puts the plans of loops and branches into the arena, once their callers lie somewhere."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compiler.buffers.aliases import Value, paths
from compiler.buffers.liveness import Array, Facts
from compiler.buffers.places import Move, Placement, Slice
from compiler.buffers.plans import Plan, Transfer
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode

ConstantPlaces = Mapping[tuple[str, str], Slice]
"""Where constants lie, by computation and name."""


class Part(enum.Enum):
    """What a computation is for the instruction that runs it."""

    BODY = "body"
    CONDITION = "condition"
    BRANCH = "branch"
    CALLED = "called computation"


@dataclass(frozen=True, slots=True)
class Region:
    """The memory of one computation that a loop or branch runs launch by launch: ``part`` of the
    instruction ``caller``, which stands in the computation ``holder``.

    ``slices`` give a place to every array of every instruction, as in `Assignment`. ``starts`` are
    the moves before a loop among its launches begins, by the loop's name: first state that does not
    lie in the loop's places yet. ``moves`` come after the last launch (of every iteration): results
    that do not lie where the caller has them. ``placements`` tell live ranges in steps of this
    computation.
    """

    computation: str
    caller: str
    holder: str
    part: Part
    launches: tuple[str, ...]
    slices: Mapping[Value, Slice]
    starts: Mapping[str, tuple[Move, ...]]
    moves: tuple[Move, ...]
    placements: tuple[Placement, ...]


def place_regions(
    facts: Facts, slices: Mapping[Value, Slice], constants: ConstantPlaces
) -> dict[str, Region]:
    """The regions of everything that a computation's loops and branches run, by computation."""
    found: dict[str, Region] = {}
    for caller, plans in facts.plans.items():
        running = facts.computation.instruction(caller)
        for plan in plans:
            region = _place(plan, running, facts.computation.name, slices, constants)
            found[region.computation] = region
            found.update(place_regions(plan.facts, region.slices, constants))
    return found


def starts_of(facts: Facts, slices: Mapping[Value, Slice]) -> dict[str, tuple[Move, ...]]:
    """The moves that bring the first state of every loop of a computation to its places."""
    found = {}
    for name in facts.plans:
        loop = facts.computation.instruction(name)
        if loop.opcode is Opcode.WHILE:
            moves = tuple(_start_moves(loop, slices))
            if moves:
                found[name] = moves
    return found


def _start_moves(loop: Instruction, slices: Mapping[Value, Slice]) -> Iterator[Move]:
    for path, _ in paths(loop.shape):
        source = slices.get((loop.operands[0], path))
        target = slices.get((loop.name, path))
        if source is not None and target is not None and source != target:
            yield Move(source, target)


def _part(caller: Instruction, computation: str) -> Part:
    if caller.opcode is Opcode.WHILE:
        return Part.BODY if caller.attributes["body"] == computation else Part.CONDITION
    return Part.BRANCH if caller.opcode is Opcode.CONDITIONAL else Part.CALLED


def _place(
    plan: Plan,
    caller: Instruction,
    holder: str,
    outside: Mapping[Value, Slice],
    constants: ConstantPlaces,
) -> Region:
    scratch = outside.get((caller.name, (-1,)), Slice(0, 0))
    places: dict[Value, Slice] = {}
    placements: list[Placement] = []
    for array in plan.found.arrays.values():
        place = _slice(plan, array, scratch, outside, constants)
        if place is not None:
            places[array.value] = place
            placements.append(Placement(array, place))
    slices = {v: places[s] for v, s in plan.facts.sources.items() if s in places}
    slices.update({v: p for v, p in places.items() if v not in slices})
    return Region(
        plan.computation.name,
        caller.name,
        holder,
        _part(caller, plan.computation.name),
        plan.found.steps,
        slices,
        starts_of(plan.facts, slices),
        tuple(_moves(plan.transfers, places, scratch, outside)),
        tuple(sorted(placements, key=lambda p: (p.array.start, p.slice.offset))),
    )


def _slice(
    plan: Plan,
    array: Array,
    scratch: Slice,
    outside: Mapping[Value, Slice],
    constants: ConstantPlaces,
) -> Slice | None:
    home = plan.homes.get(array.value)
    if home is None:
        return constants.get((plan.computation.name, array.value[0]))
    if isinstance(home, int):
        return Slice(scratch.offset + home, array.size_bytes)
    place = outside.get(home)
    return None if place is None else Slice(place.offset, array.size_bytes)


def _moves(
    transfers: Sequence[Transfer],
    places: Mapping[Value, Slice],
    scratch: Slice,
    outside: Mapping[Value, Slice],
) -> Iterator[Move]:
    for transfer in transfers:
        source = _end(transfer.source, transfer.size_bytes, places, scratch)
        table = outside if transfer.is_outward else places
        target = _end(transfer.target, transfer.size_bytes, table, scratch)
        if source is not None and target is not None and source != target:
            yield Move(source, target)


def _end(
    home: int | Value, size_bytes: int, places: Mapping[Value, Slice], scratch: Slice
) -> Slice | None:
    if isinstance(home, int):
        return Slice(scratch.offset + home, size_bytes)
    return places.get(home)
