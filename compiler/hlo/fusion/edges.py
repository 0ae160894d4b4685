"""The pairs that fusion never had to decide about: those where one side stands alone by its nature,
or whose border is memory anyway. Told here, so that every edge that is left between kernels has
its reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.hlo.fusion.decisions import FusionDecision, How
from compiler.hlo.fusion.graph import Graph
from compiler.hlo.kernels import is_kernel
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode

Pair = tuple[str, str]
"""Producer and consumer of a decision, by name."""

Keys = set[int | str]
"""An instruction's name and the numbers of the kernels that compute it."""


def untold_edges(graph: Graph, told: set[Pair]) -> Iterator[FusionDecision]:
    """One decision for every producer and consumer left apart without a word so far."""
    about = {
        (before, after)
        for producer, consumer in told
        for before in _keys(graph, producer)
        for after in _keys(graph, consumer)
    }
    for consumer in graph.computation:
        if not _is_kernel(graph, consumer):
            continue
        for name in dict.fromkeys(consumer.operands):
            producer = _computed(graph, name, graph.reads_memory(consumer))
            if not _is_kernel(graph, producer) or _is_told(graph, about, producer, consumer):
                continue
            yield _apart(producer, consumer, _reason(graph, producer, consumer))


def _is_kernel(graph: Graph, instruction: Instruction) -> bool:
    if graph.is_absorbed(instruction.name):
        filled = instruction.opcode is Opcode.BROADCAST
        return filled and graph.is_materialised(instruction.name)
    return is_kernel(graph.computation, instruction) and not graph.is_free_move(instruction.name)


def _computed(graph: Graph, name: str, reads_memory: bool) -> Instruction:
    """The instruction whose memory a value is, views looked through, and scalar broadcasts but
    those that are read from memory."""
    instruction = graph.instruction(name)
    while instruction.operands and (
        instruction.opcode.is_view
        or graph.is_free_move(instruction.name)
        or (graph.is_absorbed(instruction.name) and not reads_memory)
    ):
        instruction = graph.instruction(instruction.operands[0])
    return instruction


def _is_told(
    graph: Graph,
    about: set[tuple[int | str, int | str]],
    producer: Instruction,
    consumer: Instruction,
) -> bool:
    """Whether the two share a kernel, or something was said about the kernels they are in."""
    ours, theirs = (graph.holders(i.name) for i in (producer, consumer))
    if set(theirs) <= set(ours) and theirs:
        return True
    if graph.is_absorbed(producer.name) and theirs and consumer.opcode is not Opcode.DOT:
        return True
    before, after = (_keys(graph, i.name) for i in (producer, consumer))
    return any((one, other) in about for one in before for other in after)


def _keys(graph: Graph, name: str) -> Keys:
    return {name, *graph.holders(name)}


def _reason(graph: Graph, producer: Instruction, consumer: Instruction) -> str:
    for alone in (consumer, producer):
        if alone.has_side_effect:
            return f"{alone.name} has a side effect and runs as it stands"
        if not graph.holders(alone.name) and not graph.is_absorbed(alone.name):
            return f"no element by element form: {alone.name} is a {alone.opcode}"
    if consumer.opcode is Opcode.DOT:
        return f"{consumer.name} is a dot, which reads its operands from memory"
    return "what lies between them is needed in memory as well"


def _apart(producer: Instruction, consumer: Instruction, because: str) -> FusionDecision:
    return FusionDecision(
        subject=producer.name,
        origins=tuple(dict.fromkeys(producer.origins + consumer.origins)),
        chosen=How.APART.value,
        because=because,
        consumer=consumer.name,
        how=How.APART,
    )
