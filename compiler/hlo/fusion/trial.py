"""What would come of a group: its border, its row structure, and whether it pays.

A trial is made without touching the graph, so that refusing costs nothing but the time. Kernels
grow one producer at a time; where the rest of the analysis cannot change, only what is new is
walked (`compiler.hlo.fusion.growth`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from compiler.hlo.attributes import Attributes
from compiler.hlo.fusion.graph import Graph
from compiler.hlo.fusion.growth import LARGEST_CODE, Analysis, Spent, analysed, grown
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.rows import WhyNot, row_structure
from compiler.hlo.shape import TupleShape

LARGEST_BORDER = 16
"""Operands and results of one kernel: each is a pointer that wants a general register (x86-64 and
AArch64 have 15 and 31 of them beside the stack pointer)."""

LAUNCH_COST = 500.0
"""What one launch costs in simple operations: fetching arguments, calling, filling the pipeline."""

BYTE_COST = 0.25
"""What moving one byte costs in simple operations: a vector of 32 bytes takes a load or store
and its share of misses."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A group as one kernel: what others need of it, the bytes it moves, the analysis of its
    rows."""

    outputs: tuple[str, ...]
    bytes_moved: int
    analysis: Analysis

    @property
    def spent(self) -> Spent:
        return self.analysis.spent


@dataclass(slots=True)
class Trials:
    """Tries groups of one computation. ``known`` are the analyses of groups that were made."""

    module: Module
    graph: Graph
    known: dict[int, Analysis] = field(default_factory=dict)

    def join(self, numbers: list[int]) -> Trial | str:
        """Several groups as one kernel, or why not. Two are the producer and its consumer."""
        if len(numbers) == 2:
            producer, consumer = numbers
            return self._attempt(numbers, numbers, producer, consumer)
        return self._attempt(numbers, numbers)

    def copy(self, number: int, consumer: int) -> Trial | str:
        """A consumer that computes a producer for itself, or why not."""
        return self._attempt([number, consumer], [consumer], number, consumer)

    def recomputed(self, number: int) -> float:
        """What a group as it is spends on computing elements again."""
        found = self.known.get(number)
        return 0.0 if found is None else found.spent.total

    def accept(self, number: int, trial: Trial) -> None:
        """Remembers a trial that became, or is becoming, this group."""
        trial.analysis.settle()
        self.known[number] = trial.analysis

    def _attempt(
        self, numbers: list[int], merged: list[int], producer: int = -1, consumer: int = -1
    ) -> Trial | str:
        """Some groups as one kernel in place of ``merged``."""
        inputs = self.graph.merged_inputs(numbers)
        outputs = tuple(self.graph.outputs(merged))
        if len(inputs) + len(outputs) > LARGEST_BORDER:
            return f"too many operands ({len(inputs)} and {len(outputs)} results)"
        analysis = self._grown(producer, consumer, outputs) or self._analysed(numbers, outputs)
        if isinstance(analysis, str):
            return analysis
        return Trial(outputs, bytes_at_border(self.graph, (*inputs, *outputs)), analysis)

    def _grown(self, producer: int, consumer: int, outputs: tuple[str, ...]) -> Analysis | None:
        known = self.known.get(consumer)
        if known is None or known.outputs != outputs:
            return None
        groups = self.graph.groups
        return grown(self.graph, known, groups[producer], groups[consumer])

    def _analysed(self, numbers: list[int], outputs: tuple[str, ...]) -> Analysis | str:
        names = frozenset().union(*(self.graph.groups[n].names for n in numbers))
        inputs = tuple(self.graph.inputs(names))
        structure = row_structure(self.module, computation_of(self.graph, names, inputs, outputs))
        if isinstance(structure, WhyNot):
            return str(structure)
        if structure.scalar_values > LARGEST_CODE:
            return f"code too large ({structure.scalar_values} values)"
        return analysed(self.graph, structure, outputs, names)


def computation_of(
    graph: Graph, names: Iterable[str], inputs: tuple[str, ...], outputs: tuple[str, ...]
) -> Computation:
    """The fusion computation: a parameter in the place, and under the name, of every input."""
    parameters = [
        Instruction(
            name=name,
            opcode=Opcode.PARAMETER,
            shape=graph.instruction(name).shape,
            attributes=Attributes(parameter_number=number),
            origin=graph.instruction(name).origins,
        )
        for number, name in enumerate(inputs)
    ]
    body = [graph.instruction(name) for name in graph.closure(names)]
    if len(outputs) == 1:
        return Computation("fused", tuple(parameters + body), outputs[0])
    shape = TupleShape(tuple(graph.instruction(name).shape for name in outputs))
    root = Instruction("fused.results", Opcode.TUPLE, shape, outputs)
    return Computation("fused", (*parameters, *body, root), root.name)


def bytes_at_border(graph: Graph, names: Iterable[str]) -> int:
    """The bytes that a kernel with this border moves."""
    return sum(graph.instruction(name).shape.size_bytes for name in names)
