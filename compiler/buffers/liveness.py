"""When every array is alive: from the launch that writes it to the last launch that reads it.

Time is counted in steps; a step is one instruction of the entry that is not free. Parameters,
constants and results of the program are alive throughout, before, or to the end. A result that
takes its operand's place (see `compiler.buffers.aliases`) forms one *block* with it: one place
in memory, alive from the first of its arrays to the last.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compiler.buffers.aliases import InPlace, Path, Value, paths, reads_apart
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import Shape, subshape

if TYPE_CHECKING:
    from compiler.buffers.plans import Plan

ALIGNMENT = 64
"""Every array starts at a multiple of this many bytes: a cache line, and the widest vector."""


def aligned(size_bytes: int) -> int:
    """The size rounded up to the alignment."""
    return -(-size_bytes // ALIGNMENT) * ALIGNMENT


class Role(enum.Enum):
    """What an array is for the program."""

    PARAMETER = "parameter"
    CONSTANT = "constant"
    OUTPUT = "output"
    TEMPORARY = "temporary"
    SCRATCH = "scratch"
    """Memory that a loop or branch needs while it runs."""


@dataclass(frozen=True, slots=True)
class Array:
    """One array in memory, alive in the steps ``start`` to ``end``, both included.

    ``start`` is -1 for what is there before the first step; ``end`` is the number of steps for what
    must survive the last.
    """

    value: Value
    size_bytes: int
    role: Role
    start: int
    end: int

    @property
    def name(self) -> str:
        path = "".join(f".{i}" for i in self.value[1])
        return f"{self.value[0]}{path}"


@dataclass(frozen=True, slots=True)
class Block:
    """Arrays that lie at one place, in the order in which they live there."""

    arrays: tuple[Array, ...]

    @property
    def size_bytes(self) -> int:
        return max(a.size_bytes for a in self.arrays)

    @property
    def start(self) -> int:
        return min(a.start for a in self.arrays)

    @property
    def end(self) -> int:
        return max(a.end for a in self.arrays)

    def overlaps(self, other: Block) -> bool:
        """True when some step needs both."""
        return self.start <= other.end and other.start <= self.end


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """All arrays of a computation under one order of steps."""

    steps: tuple[str, ...]
    arrays: Mapping[Value, Array]
    sources: Mapping[Value, Value]
    blocks: tuple[Block, ...] = ()

    @property
    def movable(self) -> tuple[Block, ...]:
        """The blocks that share the arena: all but constants."""
        return tuple(b for b in self.blocks if b.arrays[0].role is not Role.CONSTANT)


@dataclass(frozen=True, slots=True)
class Returned:
    """A result that the caller wants in the place of a donated parameter (input_output_alias)."""

    result: Value
    parameter: Value
    must: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """What does not depend on the order: the computation, its aliases, possible in-place pairs,
    scratch memory of loops and the plans of what they run by instruction, the parameters that may
    be overwritten, the results that the caller wants in their place, and for results that should
    be written over a certain array if they may (new state over old) that array."""

    module: Module
    computation: Computation
    sources: Mapping[Value, Value]
    in_place: Mapping[str, tuple[InPlace, ...]]
    scratch: Mapping[str, int] = field(default_factory=dict)
    donated: frozenset[Value] = frozenset()
    plans: Mapping[str, tuple[Plan, ...]] = field(default_factory=dict)
    returned: tuple[Returned, ...] = ()
    wanted: Mapping[Value, Value] = field(default_factory=dict)


def steps_of(computation: Computation) -> tuple[str, ...]:
    """The instructions that take a step, in the computation's order."""
    return tuple(i.name for i in computation if not i.opcode.is_view)


def lifetimes(facts: Facts, steps: Sequence[str]) -> Lifetimes:
    """Live ranges, and blocks with results written in place, for one order of the steps."""
    arrays = _arrays(facts, steps)
    found = Lifetimes(tuple(steps), arrays, facts.sources)
    return Lifetimes(found.steps, arrays, facts.sources, _blocks(facts, found))


def _arrays(facts: Facts, steps: Sequence[str]) -> dict[Value, Array]:
    times = {name: step for step, name in enumerate(steps)}
    last = len(steps)
    ends = _last_uses(facts, times)
    root = facts.computation.root_instruction
    outputs = {facts.sources[(root.name, path)] for path, _ in paths(root.shape)}
    arrays: dict[Value, Array] = {}
    for instruction in facts.computation:
        for path, shape in paths(instruction.shape):
            value = (instruction.name, path)
            if facts.sources[value] != value:
                continue
            role = _role(instruction, value in outputs)
            start = times.get(instruction.name, -1)
            end = last if value in outputs else ends.get(value, start)
            if role is Role.PARAMETER:
                end = last if value not in facts.donated else end
            arrays[value] = Array(value, shape.size_bytes, role, start, end)
    for name, size in facts.scratch.items():
        value = (name, (-1,))
        arrays[value] = Array(value, size, Role.SCRATCH, times[name], times[name])
    return arrays


def _role(instruction: Instruction, is_output: bool) -> Role:
    if instruction.opcode is Opcode.PARAMETER:
        return Role.PARAMETER
    if instruction.opcode is Opcode.CONSTANT:
        return Role.CONSTANT
    return Role.OUTPUT if is_output else Role.TEMPORARY


def _last_uses(facts: Facts, times: Mapping[str, int]) -> dict[Value, int]:
    ends: dict[Value, int] = {}
    for name, step in times.items():
        for value in values_read(facts, facts.computation.instruction(name)):
            ends[value] = max(ends.get(value, -1), step)
    return ends


def values_read(facts: Facts, instruction: Instruction) -> Iterable[Value]:
    """The arrays in memory that an instruction reads."""
    for operand in instruction.operands:
        for path, _ in paths(facts.computation.instruction(operand).shape):
            yield facts.sources[(operand, path)]


def shape_of(computation: Computation, value: Value) -> Shape:
    return subshape(computation.instruction(value[0]).shape, value[1])


def _blocks(facts: Facts, found: Lifetimes) -> tuple[Block, ...]:
    """Blocks of results over their operands, then of donated parameters with what is returned
    there. Where the caller insists on that, neither joins anything else before."""
    leader: dict[Value, Value] = {}
    members: dict[Value, list[Array]] = {v: [a] for v, a in found.arrays.items()}
    kept = {wish.parameter: wish.result for wish in facts.returned if wish.must}
    bound = {result: parameter for parameter, result in kept.items()}
    for step, name in enumerate(found.steps):
        for result, operand, pair in _preferred(facts, name):
            if result in leader or result not in members:
                continue
            if not _is_read_in_place(facts, name, pair.path, operand):
                continue
            place = leader.get(operand, operand)
            if kept.get(place, result) != result or bound.get(result, place) != place:
                continue
            if _may_join(facts, members[place], found.arrays[result], step):
                members[place].append(members.pop(result)[0])
                leader[result] = place
    for wish in facts.returned:
        one, other = (leader.get(v, v) for v in (wish.parameter, wish.result))
        if one != other and _may_follow(members.get(one, []), members.get(other, [])):
            members[one] += members.pop(other)
    return tuple(Block(tuple(arrays)) for arrays in members.values())


def _preferred(facts: Facts, name: str) -> list[tuple[Value, Value, InPlace]]:
    """The results and operands that may share a place, those first that should."""
    pairs = facts.in_place.get(name, ())
    found = [((name, p.path), _operand_value(facts, name, p), p) for p in pairs]
    return sorted(found, key=lambda each: facts.wanted.get(each[0]) != each[1])


def _may_follow(block: list[Array], later: list[Array]) -> bool:
    """True when arrays can lie where others lay before them."""
    if not block or not later or later[0].role in (Role.PARAMETER, Role.CONSTANT):
        return False
    fits = max(a.size_bytes for a in later) <= block[0].size_bytes
    return fits and max(a.end for a in block) < min(a.start for a in later)


def _is_read_in_place(facts: Facts, name: str, path: Path, value: Value) -> bool:
    """True when an instruction may write a result over an array however it reads that: it may get
    the same array as several operands, or as several elements of one."""
    instruction = facts.computation.instruction(name)
    pairs = facts.in_place.get(name, ())
    allowed = {(p.operand, p.operand_path) for p in pairs if p.path == path}
    seen: dict[str, int] = {}
    for number, operand in enumerate(instruction.operands):
        first = seen.setdefault(operand, number)
        place = number if reads_apart(instruction) else first
        for inner, _ in paths(facts.computation.instruction(operand).shape):
            if facts.sources[(operand, inner)] == value and (place, inner) not in allowed:
                return False
    return True


def _operand_value(facts: Facts, name: str, pair: InPlace) -> Value:
    instruction = facts.computation.instruction(name)
    return facts.sources[(instruction.operands[pair.operand], pair.operand_path)]


def _may_join(facts: Facts, block: list[Array], result: Array, step: int) -> bool:
    """True when the block's last array dies at this very step and may be overwritten. A small
    result does not keep the memory of a large operand."""
    last = block[-1]
    if aligned(last.size_bytes) != aligned(result.size_bytes):
        return False
    if last.role is Role.CONSTANT or last.end != step or last.start >= step:
        return False
    return last.role is not Role.PARAMETER or last.value in facts.donated
