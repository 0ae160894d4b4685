"""In which order to launch, so that little memory is alive at once.

Two orders are compared with the one given: a list schedule that always takes the ready step which
frees most (allocates least), and a depth-first one that finishes an operand's whole
subtree before starting the next, the hungriest first (after Sethi and Ullman's numbering). The
order with the smallest largest live set wins, the given one when nothing is gained.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compiler.buffers.aliases import Value
from compiler.buffers.liveness import Facts, aligned, lifetimes, shape_of, steps_of, values_read
from compiler.buffers.packing import lower_bound
from compiler.hlo.module import Instruction

LONGEST_SEARCH = 3000
"""With more steps than this the given order is kept."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An order by name with the bytes of its largest live set."""

    name: str
    steps: tuple[str, ...]
    bytes_alive: int


def candidates(facts: Facts) -> tuple[Candidate, ...]:
    """The given order and the alternatives to it, each with its largest live set."""
    given = steps_of(facts.computation)
    found = [_candidate("as given", facts, given)]
    if 2 < len(given) <= LONGEST_SEARCH:
        needs = _needs(facts, given)
        found.append(_candidate("least memory first", facts, _greedy(facts, given, needs)))
        found.append(_candidate("deepest first", facts, _depth_first(facts, given, needs)))
    return tuple(found)


def _candidate(name: str, facts: Facts, steps: tuple[str, ...]) -> Candidate:
    return Candidate(name, steps, lower_bound(lifetimes(facts, steps).movable))


def _needs(facts: Facts, steps: Sequence[str]) -> dict[str, frozenset[str]]:
    """For every step, the steps that must come before it."""
    numbered = set(steps)
    needs: dict[str, set[str]] = {name: set() for name in steps}
    previous: str | None = None
    for name in steps:
        instruction = facts.computation.instruction(name)
        needs[name] |= _operand_steps(facts, instruction, numbered)
        if _has_effects(facts, instruction):
            if previous is not None:
                needs[name].add(previous)
            previous = name
    return {name: frozenset(found - {name}) for name, found in needs.items()}


def _has_effects(facts: Facts, instruction: Instruction) -> bool:
    return instruction.has_side_effect or instruction.opcode.is_control


def _operand_steps(facts: Facts, instruction: Instruction, numbered: set[str]) -> set[str]:
    found: set[str] = set()
    waiting = [*instruction.operands, *instruction.control_predecessors]
    while waiting:
        name = waiting.pop()
        if name in numbered:
            found.add(name)
        else:
            source = facts.computation.instruction(name)
            waiting.extend((*source.operands, *source.control_predecessors))
    return found


@dataclass(slots=True)
class _Pressure:
    """The steps that still have to read every array, and the bytes that each step would add to
    what is alive, up to date while steps run."""

    facts: Facts
    readers: dict[Value, set[str]] = field(default_factory=dict)
    read: dict[str, set[Value]] = field(default_factory=dict)
    change: dict[str, int] = field(default_factory=dict)

    def count(self, steps: Sequence[str]) -> None:
        for name in steps:
            instruction = self.facts.computation.instruction(name)
            self.read[name] = set(values_read(self.facts, instruction))
            self.change[name] = aligned(instruction.shape.size_bytes)
            for value in self.read[name]:
                self.readers.setdefault(value, set()).add(name)
        for value, readers in self.readers.items():
            self._frees(value, readers)

    def _frees(self, value: Value, readers: set[str]) -> str | None:
        """The only step that still reads an array that a step wrote: running it frees that."""
        if len(readers) != 1 or value[0] not in self.read:
            return None
        (last,) = readers
        self.change[last] -= self._size(value)
        return last

    def run(self, name: str) -> list[str]:
        """Lets a step run; the steps that add less from now on."""
        found = []
        for value in self.read[name]:
            readers = self.readers[value]
            readers.discard(name)
            last = self._frees(value, readers)
            if last is not None:
                found.append(last)
        return found

    def _size(self, value: Value) -> int:
        return aligned(shape_of(self.facts.computation, value).size_bytes)


def _greedy(
    facts: Facts, given: tuple[str, ...], needs: Mapping[str, frozenset[str]]
) -> tuple[str, ...]:
    places = {name: place for place, name in enumerate(given)}
    pressure = _Pressure(facts)
    pressure.count(given)
    waiting = {name: len(found) for name, found in needs.items()}
    followers: dict[str, list[str]] = {name: [] for name in given}
    for name, found in needs.items():
        for needed in found:
            followers[needed].append(name)
    ready = [(pressure.change[name], places[name], name) for name in given if not waiting[name]]
    heapq.heapify(ready)
    order: dict[str, None] = {}
    while ready:
        change, _, chosen = heapq.heappop(ready)
        if chosen in order or change != pressure.change[chosen]:
            continue
        order[chosen] = None
        cheaper = pressure.run(chosen)
        for follower in followers[chosen]:
            waiting[follower] -= 1
        for name in (*followers[chosen], *cheaper):
            if not waiting[name]:
                heapq.heappush(ready, (pressure.change[name], places[name], name))
    return tuple(order)


def _depth_first(
    facts: Facts, given: tuple[str, ...], needs: Mapping[str, frozenset[str]]
) -> tuple[str, ...]:
    weights: dict[str, int] = {}
    for name in given:
        size = aligned(facts.computation.instruction(name).shape.size_bytes)
        weights[name] = max([size, *(weights[n] for n in needs[name])])
    order: dict[str, None] = {}
    for name in given:
        _visit(name, needs, weights, order)
    return tuple(order)


def _visit(
    name: str,
    needs: Mapping[str, frozenset[str]],
    weights: Mapping[str, int],
    order: dict[str, None],
) -> None:
    stack = [name]
    while stack:
        top = stack[-1]
        open_needs = [n for n in needs[top] if n not in order]
        if not open_needs:
            order[stack.pop()] = None
        else:
            stack.append(max(open_needs, key=lambda n: (weights[n], n)))
