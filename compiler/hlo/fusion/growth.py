"""The analysis of a kernel that grows by one producer, without looking at all of it again.

A producer that is plain arithmetic and moves, and whose every result stays inside, leaves the rows,
the stages and the old members of a kernel as they are: what is new is which elements of the new
members are needed. They follow from the places at which the kernel read them as parameters. So a
kernel of a thousand instructions costs a thousand short walks instead of a thousand long ones.
Whatever does not fit this picture is left to `compiler.hlo.rows`, which sees the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

from compiler.hlo.costs import cost_of
from compiler.hlo.fusion.graph import Graph, Group
from compiler.hlo.indices import Variable
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.reduced_rows import WORTH_KEEPING
from compiler.hlo.rows import Kind, Read, RowStructure, StageKind
from compiler.hlo.walks import Refused, enter

LARGEST_CODE = 1200
"""Scalar values that the code of one kernel computes per element or row."""

_NOT_PLAIN = (Opcode.REDUCE, Opcode.DOT, Opcode.GET_TUPLE_ELEMENT)


@dataclass(frozen=True, slots=True)
class Spent:
    """Simple operations spent on computing elements again: in all, and for the ``worst`` member,
    the first one in the computation's order among equals."""

    total: float = 0.0
    most: float = 0.0
    worst: str = ""
    times: float = 0.0
    position: int = 0

    def __str__(self) -> str:
        return f"would compute {self.worst} {self.times:.3g} times" if self.worst else ""

    def plus(self, other: Spent) -> Spent:
        """What two disjoint sets of members spend together."""
        worse = max(self, other, key=lambda spent: (spent.most, -spent.position))
        total = self.total + other.total
        return Spent(total, worse.most, worse.worst, worse.times, worse.position)


@dataclass(slots=True)
class Analysis:
    """What is known of a kernel. ``structure`` is how it was before it grew: kind, loops and kept
    values are still right. ``reads`` are the elements needed of every member and parameter, those
    of grown kernels included; ``values`` counts them. Grown kernels share ``reads``: only the
    latest analysis of a kernel may be asked."""

    structure: RowStructure
    outputs: tuple[str, ...]
    reads: dict[str, dict[Read, None]]
    values: int
    spent: Spent
    pending: Mapping[str, dict[Read, None]]

    @property
    def is_dot(self) -> bool:
        return self.structure.kind is Kind.DOT

    def settle(self) -> None:
        """Makes a trial's reads the kernel's own, once it was accepted."""
        for name, reads in self.pending.items():
            self.reads.setdefault(name, {}).update(reads)
        self.pending = {}


def analysed(
    graph: Graph, structure: RowStructure, outputs: tuple[str, ...], names: Iterable[str]
) -> Analysis:
    """The analysis of a kernel that was looked at as a whole."""
    reads = {name: dict.fromkeys(found) for name, found in structure.reads.items()}
    spent = _spent(graph, structure, reads, graph.ordered(names))
    return Analysis(structure, outputs, reads, structure.scalar_values, spent, {})


def grown(graph: Graph, known: Analysis, producer: Group, consumer: Group) -> Analysis | None:
    """The analysis of a consumer with the producer inside, whose results are not needed elsewhere;
    None when all of it must be looked at, or when the code would be too large."""
    new = producer.names - consumer.names
    if not all(_is_plain(known, graph.instruction(name)) for name in new):
        return None
    if _bottom(graph, known.structure) & producer.inside:
        return None
    inside = producer.inside | (consumer.inside - consumer.names)
    try:
        pending = _walk(graph, known, new, inside, consumer.names)
    except Refused:
        return None
    values = known.values + sum(map(len, pending.values())) if pending is not None else 0
    if pending is None or values > LARGEST_CODE:
        return None
    places = {n: {**known.reads.get(n, {}), **pending.get(n, {})} for n in new}
    spent = known.spent.plus(_spent(graph, known.structure, places, graph.ordered(new)))
    return Analysis(known.structure, known.outputs, known.reads, values, spent, pending)


def _is_plain(known: Analysis, instruction: Instruction) -> bool:
    """True of a member that is neither a stage's work of its own nor worth keeping for others."""
    if instruction.opcode in _NOT_PLAIN or not instruction.is_array:
        return False
    loops = sum(stage.kind is not StageKind.ROW for stage in known.structure.stages)
    return loops < 2 or cost_of(instruction) < WORTH_KEEPING


def _bottom(graph: Graph, structure: RowStructure) -> set[str]:
    """The operands of a kernel's dot, which must stay in memory."""
    return set() if structure.dot is None else set(graph.instruction(structure.dot).operands)


def _walk(
    graph: Graph, known: Analysis, new: set[str], inside: set[str], old: set[str]
) -> dict[str, dict[Read, None]] | None:
    """What is needed beyond the old reads; None when an old member is needed at a new place."""
    found: dict[str, dict[Read, None]] = {}
    waiting = [(name, read) for name in new for read in known.reads.get(name, ())]
    while waiting:
        name, read = waiting.pop()
        for operand, at in enter(graph.computation, name, read.at):
            needed = Read(read.stage, at)
            if needed in known.reads.get(operand, ()) or needed in found.get(operand, ()):
                continue
            if operand in old:
                return None
            found.setdefault(operand, {})[needed] = None
            if operand in inside:
                waiting.append((operand, needed))
    return found


def _spent(
    graph: Graph,
    structure: RowStructure,
    reads: Mapping[str, Iterable[Read]],
    names: Iterable[str],
) -> Spent:
    spent = Spent()
    for name in names:
        instruction = graph.instruction(name)
        if not instruction.is_array or cost_of(instruction) == 0:
            continue
        elements = max(instruction.array.element_count, 1)
        runs = sum(_executions(structure, name, reads.get(name, ())))
        extra = max(runs - elements, 0) * cost_of(instruction)
        if extra:
            again = Spent(extra, extra, name, runs / elements, graph.positions[name])
            spent = spent.plus(again)
    return spent


def _executions(structure: RowStructure, name: str, reads: Iterable[Read]) -> Iterator[int]:
    """How many elements of a value the kernel computes for each read, what depends on outer loops
    only computed once per outer iteration, and kept values once."""
    for read in reads:
        loops = structure.rows + structure.stages[read.stage].columns
        depths = [_depth(structure, v) for index in read.at for v in index.variables()]
        yield prod(loops[: max(depths, default=0)])
        if name in structure.kept:
            return


def _depth(structure: RowStructure, variable: Variable) -> int:
    number = int(variable.name[1:]) + 1
    return number if variable.name.startswith("r") else len(structure.rows) + number
