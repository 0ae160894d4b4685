"""Where diverged threads meet again: the immediate post-dominator of each branch.

Control flow of a program as a graph of instruction indices at block leaders; a branch's two sides
reconverge at the nearest instruction that every path from it to the end passes (Fung, Sham, Yuan
and Aamodt, "Dynamic Warp Formation", MICRO 2007, section 2, call it the PDOM mechanism).
"""

from __future__ import annotations

import networkx as nx

from isas.program import LabelTarget, Program, ProgramInstruction


def is_branch(instruction: ProgramInstruction) -> bool:
    """Whether the instruction may set the program counter."""
    facts = instruction.shape.facts
    return facts.is_branch or facts.is_return


def leaders(program: Program) -> list[int]:
    """The instruction indices where a straight line may begin: the entry, labels, after branches
    and after barriers. Sorted."""
    count = len(program.instructions)
    places = {0, program.entry, *(place for place in program.labels.values() if place < count)}
    for index, instruction in enumerate(program.instructions):
        ends = is_branch(instruction) or instruction.shape.facts.is_barrier
        if ends and index + 1 < count:
            places.add(index + 1)
    return sorted(places)


def branch_target(program: Program, instruction: ProgramInstruction) -> int | None:
    """The index a branch goes to; None for a return."""
    for assignment in instruction.shape.effects:
        if assignment.is_branch:
            for operand in instruction.operands.values():
                if isinstance(operand, LabelTarget):
                    return program.labels[operand.label]
    return None


def _graph(program: Program, starts: list[int]) -> nx.DiGraph:
    count = len(program.instructions)
    graph = nx.DiGraph()
    graph.add_nodes_from([*starts, count])
    for start, end in zip(starts, [*starts[1:], count]):
        last = program.instructions[end - 1]
        facts = last.shape.facts
        may_fall = last.guard is not None or facts.is_conditional or not is_branch(last)
        if may_fall:
            graph.add_edge(start, end)
        if facts.is_return:
            graph.add_edge(start, count)
        elif facts.is_branch:
            target = branch_target(program, last)
            graph.add_edge(start, count if target is None else target)
    return graph


def reconvergence_points(program: Program) -> dict[int, int]:
    """For the index of each branch, the index where its sides meet (the program's end: never)."""
    starts = leaders(program)
    count = len(program.instructions)
    graph = _graph(program, starts)
    reachable = nx.ancestors(graph, count) | {count}
    after = nx.immediate_dominators(graph.subgraph(reachable).reverse(), count)
    return {
        end - 1: after.get(start, count)
        for start, end in zip(starts, [*starts[1:], count])
        if is_branch(program.instructions[end - 1])
    }
