"""Dominators and post-dominators of a function's blocks.

A block D dominates B when every path from the entry to B goes through D. The immediate dominators
form a tree. They are found as in Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm"
(2001): visit the blocks in reverse post-order and set each block's dominator to the common ancestor
of its predecessors', until nothing changes; the common ancestor is found by walking up from
whichever block is later in the order. Post-dominators are the same on the reversed graph, with a
virtual exit (None) behind every return.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from compiler.llvm.ir import BasicBlock, Function, Instruction, Opcode

Node = BasicBlock | None
N = TypeVar("N")


def reverse_postorder(function: Function) -> list[BasicBlock]:
    """The blocks reachable from the entry, each before its successors except along back edges."""
    return _reverse_postorder(function, lambda block: iter(block.successors))


def reading_order(function: Function) -> list[BasicBlock]:
    """A reverse postorder with every loop's body between its header and its exit, where headers
    name their body first."""
    return _reverse_postorder(function, lambda block: reversed(block.successors))


def _reverse_postorder(
    function: Function, successors_of: Callable[[BasicBlock], Iterator[BasicBlock]]
) -> list[BasicBlock]:
    order: list[BasicBlock] = []
    seen = {function.entry}
    stack = [(function.entry, successors_of(function.entry))]
    while stack:
        block, successors = stack[-1]
        for successor in successors:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, successors_of(successor)))
                break
        else:
            order.append(block)
            stack.pop()
    return order[::-1]


@dataclass(frozen=True, slots=True)
class DominatorTree:
    """`parent` maps each reachable block to its immediate dominator (the root to None). `number` is
    the place in preorder, `last` the highest place in the subtree, so that dominance is two
    comparisons."""

    order: tuple[BasicBlock, ...]
    parent: dict[BasicBlock, BasicBlock | None]
    children: dict[BasicBlock, tuple[BasicBlock, ...]]
    number: dict[BasicBlock, int]
    last: dict[BasicBlock, int]

    def is_reachable(self, block: BasicBlock) -> bool:
        return block in self.number

    def dominates(self, a: BasicBlock, b: BasicBlock) -> bool:
        """Whether `a` dominates `b`; a block dominates itself. Unreachable blocks are dominated by
        all."""
        if b not in self.number:
            return True
        return a in self.number and self.number[a] <= self.number[b] <= self.last[a]

    def is_available(self, definition: Instruction, user: Instruction) -> bool:
        """Whether `definition`'s value may be used by `user` where it stands (a phi: at its edges'
        ends)."""
        if definition.block is None or user.block is None:
            return False
        if user.opcode is Opcode.PHI:
            edges = [b for b, v in zip(user.blocks, user.operands) if v is definition]
            return all(self.dominates(definition.block, edge) for edge in edges)
        if definition.block is not user.block:
            return self.dominates(definition.block, user.block)
        instructions = definition.block.instructions
        return instructions.index(definition) < instructions.index(user)


def dominator_tree(function: Function) -> DominatorTree:
    """The dominator tree of the reachable blocks."""
    order = reverse_postorder(function)
    predecessors = function.predecessors()
    parent = _immediate_dominators(order, lambda block: predecessors[block])
    return _tree(order, parent)


def immediate_postdominators(function: Function) -> dict[BasicBlock, BasicBlock | None]:
    """Each reachable block's immediate post-dominator; None where only the function's end is (also
    for blocks of loops that never end)."""
    blocks = reverse_postorder(function)
    predecessors = function.predecessors()
    order = _exits_first(blocks, predecessors)
    found = _immediate_dominators(order, _forward(set(order)))
    return {block: found.get(block) for block in blocks}


def _forward(known: set[Node]) -> Callable[[Node], Sequence[Node]]:
    """Successors as predecessors of the reversed graph; a block without any leads to the virtual
    exit."""

    def successors(block: Node) -> Sequence[Node]:
        if block is None:
            return ()
        after = [s for s in block.successors if s in known]
        return after or (None,)

    return successors


def _exits_first(
    blocks: list[BasicBlock], predecessors: dict[BasicBlock, list[BasicBlock]]
) -> list[Node]:
    """Reverse post-order of the reversed graph, from the virtual exit."""
    exits = [block for block in blocks if not block.successors]
    reachable = set(blocks)
    order: list[Node] = []
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(None, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            before = exits if node is None else predecessors[node]
            stack.extend((b, False) for b in before if b in reachable and b not in seen)
    return order[::-1]


def _immediate_dominators(
    order: Sequence[N], predecessors: Callable[[N], Sequence[N]]
) -> dict[N, N | None]:
    place = {node: index for index, node in enumerate(order)}
    root = order[0]
    parent: dict[N, N] = {root: root}
    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            known = [p for p in predecessors(node) if p in parent]
            new = known[0]
            for other in known[1:]:
                new = _common(parent, place, new, other)
            if parent.get(node, root) is not new or node not in parent:
                parent[node] = new
                changed = True
    return {node: None if node is root else above for node, above in parent.items()}


def _common(parent: dict[N, N], place: dict[N, int], a: N, b: N) -> N:
    while a is not b:
        while place[a] > place[b]:
            a = parent[a]
        while place[b] > place[a]:
            b = parent[b]
    return a


def _tree(order: list[BasicBlock], parent: dict[BasicBlock, BasicBlock | None]) -> DominatorTree:
    children: dict[BasicBlock, list[BasicBlock]] = {block: [] for block in order}
    for block in order:
        above = parent[block]
        if above is not None:
            children[above].append(block)
    number: dict[BasicBlock, int] = {}
    last: dict[BasicBlock, int] = {}
    stack = [(order[0], False)]
    while stack:
        block, done = stack.pop()
        if done:
            last[block] = len(number) - 1
            continue
        number[block] = len(number)
        stack.append((block, True))
        stack.extend((child, False) for child in reversed(children[block]))
    frozen = {block: tuple(below) for block, below in children.items()}
    return DominatorTree(tuple(order), parent, frozen, number, last)


def dominance_frontiers(
    function: Function, tree: DominatorTree
) -> dict[BasicBlock, list[BasicBlock]]:
    """For each block B the blocks where B's dominance ends: B dominates a predecessor of F but not
    F itself strictly. In the order of the tree, without repeats (Cooper, Harvey and Kennedy, figure
    5)."""
    frontiers: dict[BasicBlock, dict[BasicBlock, None]] = {block: {} for block in tree.order}
    predecessors = function.predecessors()
    for block in tree.order:
        before = [p for p in predecessors[block] if tree.is_reachable(p)]
        if len(before) < 2 and block is not function.entry:
            continue
        for runner in before:
            step: BasicBlock | None = runner
            while step is not None and step is not tree.parent[block]:
                frontiers[step][block] = None
                step = tree.parent[step]
    return {block: list(found) for block, found in frontiers.items()}
