"""What would come of a group: its computation, its row structure, and whether it pays.

A trial is built without touching the graph, so that refusing costs nothing but the time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from compiler.hlo.attributes import Attributes
from compiler.hlo.costs import cost_of
from compiler.hlo.fusion.graph import Graph
from compiler.hlo.indices import Variable
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.rows import Kind, Read, RowStructure, WhyNot, row_structure
from compiler.hlo.shape import TupleShape

LARGEST_BORDER = 16
"""Operands and results of one kernel: each is a pointer that wants a general register (x86-64 and
AArch64
have 15 and 31 of them beside the stack pointer)."""

LARGEST_CODE = 1200
"""Scalar values that the code of one kernel computes per element or row."""

LAUNCH_COST = 500.0
"""What one launch costs in simple operations: fetching arguments, calling, filling the pipeline."""

BYTE_COST = 0.25
"""What moving one byte costs in simple operations: a vector of 32 bytes takes a load or store
and its share of misses."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A group as a computation, with its border and the analysis of its rows."""

    names: frozenset[str]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    computation: Computation
    structure: RowStructure


def attempt(
    module: Module, graph: Graph, names: Iterable[str], merged: Iterable[int]
) -> Trial | str:
    """Some instructions as one kernel in place of the groups ``merged``, or why not."""
    held = frozenset(names)
    inputs = tuple(graph.inputs(held))
    outputs = tuple(graph.outputs(held, merged))
    if len(inputs) + len(outputs) > LARGEST_BORDER:
        return f"too many operands ({len(inputs)} and {len(outputs)} results)"
    computation = computation_of(graph, held, inputs, outputs)
    structure = row_structure(module, computation)
    if isinstance(structure, WhyNot):
        return str(structure)
    if structure.scalar_values > LARGEST_CODE:
        return f"code too large ({structure.scalar_values} values)"
    return Trial(held, inputs, outputs, computation, structure)


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


def executions(structure: RowStructure, name: str) -> int:
    """How many elements of a value the kernel computes, what depends on outer loops only computed
    once per outer iteration, and kept values once."""
    reads = structure.reads.get(name, ())
    if name in structure.kept:
        reads = reads[:1]
    return sum(_executions(structure, read) for read in reads)


def _executions(structure: RowStructure, read: Read) -> int:
    loops = structure.rows + structure.stages[read.stage].columns
    depths = [_depth(structure, v) for index in read.at for v in index.variables()]
    return prod(loops[: max(depths, default=0)])


def _depth(structure: RowStructure, variable: Variable) -> int:
    number = int(variable.name[1:]) + 1
    return number if variable.name.startswith("r") else len(structure.rows) + number


def recomputation(graph: Graph, trial: Trial, names: Iterable[str]) -> tuple[float, str]:
    """The simple operations spent on computing elements again, and a word on the worst of them."""
    total, worst, word = 0.0, 0.0, ""
    for name in names:
        instruction = graph.instruction(name)
        if not instruction.is_array or cost_of(instruction) == 0:
            continue
        elements = max(instruction.array.element_count, 1)
        runs = executions(trial.structure, name)
        extra = max(runs - elements, 0) * cost_of(instruction)
        total += extra
        if extra > worst:
            worst, word = extra, f"would compute {name} {runs / elements:.3g} times"
    return total, word


def bytes_at_border(graph: Graph, inputs: Iterable[str], outputs: Iterable[str]) -> int:
    """The bytes that a kernel with this border moves."""
    return sum(graph.instruction(name).shape.size_bytes for name in (*inputs, *outputs))


def is_dot(trial: Trial) -> bool:
    return trial.structure.kind is Kind.DOT
