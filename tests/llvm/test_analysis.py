"""Dominators, loops, trip counts and linear addresses against naive definitions."""

from __future__ import annotations

import random

import networkx as nx
import pytest

from compiler.llvm.analysis.affine import address_of, linear_form
from compiler.llvm.analysis.dominators import (
    dominance_frontiers,
    dominator_tree,
    immediate_postdominators,
)
from compiler.llvm.analysis.loops import all_loops, loop_forest, trips
from compiler.llvm.ir import BasicBlock, Constant, Function, Instruction, Opcode
from compiler.llvm.parse import parse_function
from compiler.llvm.types import I1, VOID


def random_graph(seed: int) -> Function:
    """A function whose blocks branch at random; the entry has no predecessors."""
    rng = random.Random(seed)
    function = Function("g")
    blocks = [function.add_block(f"b{n}") for n in range(rng.randint(2, 12))]
    for block in blocks:
        count = rng.choice([0, 1, 1, 2, 2])
        targets = [rng.choice(blocks[1:]) for _ in range(count)]
        if count == 0:
            block.append(Instruction(Opcode.RET, VOID))
        else:
            conditions = [Constant(I1, 1)] if count == 2 else []
            block.append(Instruction(Opcode.BR, VOID, conditions, blocks=targets))
    return function


def graph_of(function: Function) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(function.blocks)
    graph.add_edges_from((b, s) for b in function.blocks for s in b.successors)
    return graph


@pytest.mark.parametrize("group", range(4))
def test_dominators_and_frontiers_are_networkx_s(group: int) -> None:
    for seed in range(group * 50, group * 50 + 50):
        function = random_graph(seed)
        tree = dominator_tree(function)
        graph = graph_of(function)
        expected = nx.immediate_dominators(graph, function.entry)
        found = {b: p or function.entry for b, p in tree.parent.items()}
        assert found == {b: expected.get(b) or function.entry for b in found}, seed
        reachable = nx.descendants(graph, function.entry) | {function.entry}
        assert set(tree.order) == reachable
        frontiers = nx.dominance_frontiers(graph.subgraph(reachable), function.entry)
        ours = dominance_frontiers(function, tree)
        for block in tree.order:
            assert set(ours[block]) == set(frontiers[block]), (seed, block)


@pytest.mark.parametrize("group", range(2))
def test_dominance_is_what_removing_a_block_shows(group: int) -> None:
    for seed in range(group * 30, group * 30 + 30):
        function = random_graph(seed)
        tree, graph = dominator_tree(function), graph_of(function)
        for a in tree.order:
            without = graph.subgraph([b for b in graph if b is not a])
            left: set[BasicBlock] = set()
            if function.entry is not a:
                left = nx.descendants(without, function.entry) | {function.entry}
            for b in tree.order:
                assert tree.dominates(a, b) == (b not in left), (seed, a, b)


def test_postdominators_are_dominators_of_the_reversed_graph() -> None:
    for seed in range(100):
        function = random_graph(seed)
        graph = graph_of(function).reverse()
        for block in function.blocks:
            if not block.successors:
                graph.add_edge("end", block)
        found = immediate_postdominators(function)
        if "end" not in graph:
            assert set(found.values()) == {None}
            continue
        expected = nx.immediate_dominators(graph, "end")
        for block, above in found.items():
            other = expected.get(block)
            assert above is (None if other == "end" else other), (seed, block)


COUNTED = """define void @f() {{
e:
  br label %h
h:
  %i = phi {type} [ {start}, %e ], [ %n, %b ]
  %c = icmp {predicate} {type} {tested}, {bound}
  br i1 %c, label %{yes}, label %{no}
b:
  %n = add {type} %i, {step}
  br label %h
x:
  ret void
}}"""


@pytest.mark.parametrize(
    ("predicate", "start", "bound", "step", "count"),
    [
        ("ult", 0, 10, 1, 10),
        ("slt", 0, 10, 3, 4),
        ("sle", 0, 9, 3, 4),
        ("ne", 0, 12, 3, 4),
        ("ne", 0, 10, 3, None),
        ("sgt", 10, 0, -1, 10),
        ("sge", 10, 0, -2, 6),
        ("ult", 5, 5, 1, 0),
        ("slt", -5, 5, 1, 10),
        ("ult", -5, 5, 1, 0),
        ("slt", 0, 10, -1, None),
    ],
)
def test_trip_counts(predicate: str, start: int, bound: int, step: int, count: int | None) -> None:
    source = COUNTED.format(
        type="i64", start=start, predicate=predicate, bound=bound, step=step, tested="%i",
        yes="b", no="x",
    )  # fmt: skip
    (loop,) = loop_forest(parse_function(source))
    found = trips(loop)
    assert found is not None
    assert found.count == count


def test_a_test_in_the_latch_counts_the_body_once_more() -> None:
    function = parse_function(
        """define void @f() {
        e:
          br label %l
        l:
          %i = phi i64 [ 0, %e ], [ %n, %l ]
          %n = add i64 %i, 8
          %c = icmp ne i64 %n, 48
          br i1 %c, label %l, label %x
        x:
          ret void
        }"""
    )
    found = trips(loop_forest(function)[0])
    assert found is not None
    assert (found.count, found.after_step) == (6, True)


def test_loops_nest_as_written() -> None:
    function = parse_function(
        """define void @f(i1 %c) {
        e:
          br label %a
        a:
          br i1 %c, label %b, label %x
        b:
          br i1 %c, label %b, label %d
        d:
          br i1 %c, label %d2, label %a
        d2:
          br i1 %c, label %d, label %a
        x:
          ret void
        }"""
    )
    (outer,) = loop_forest(function)
    assert outer.header.name == "a"
    assert [child.header.name for child in outer.children] == ["b", "d"]
    assert [(loop.header.name, loop.depth) for loop in all_loops([outer])] == [
        ("b", 2), ("d", 2), ("a", 1),
    ]  # fmt: skip
    assert {block.name for block in outer.blocks} == {"a", "b", "d", "d2"}


def test_an_index_is_taken_apart_into_counters() -> None:
    function = parse_function(
        """define void @f(ptr %x, i64 %i, i64 %j) {
        e:
          %row = mul nsw i64 %i, 48
          %twice = shl i64 %j, 1
          %sum = add i64 %row, %twice
          %less = sub i64 %sum, 3
          %p = getelementptr inbounds float, ptr %x, i64 %less
          %q = getelementptr inbounds i8, ptr %p, i64 2
          store float 1.0, ptr %q, align 1
          ret void
        }"""
    )
    store = next(i for i in function.instructions() if i.opcode is Opcode.STORE)
    address = address_of(store.operands[1])
    x, i, j = function.arguments
    assert address.root is x
    assert address.offset.terms == {i: 192, j: 8}
    assert address.offset.constant == -10
    assert linear_form(Constant(i.type, -1)).constant == -1
