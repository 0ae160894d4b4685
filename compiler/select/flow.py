"""Loop nesting and common dominators of a function's blocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from compiler.llvm.analysis.dominators import DominatorTree, dominator_tree
from compiler.llvm.ir import BasicBlock, Function


@dataclass(frozen=True, slots=True)
class Flow:
    """`depth` counts the natural loops around each reachable block; `loops` are their blocks."""

    tree: DominatorTree
    depth: dict[BasicBlock, int]
    loops: tuple[frozenset[BasicBlock], ...]

    def common_depth(self, a: BasicBlock, b: BasicBlock) -> int:
        """How many loops contain both blocks."""
        return sum(a in loop and b in loop for loop in self.loops)

    def place_for(self, blocks: Iterable[BasicBlock]) -> BasicBlock:
        """The block, in as few loops as possible, that dominates all of `blocks`."""
        wanted = list(blocks)
        place = wanted[0]
        while not all(self.tree.dominates(place, block) for block in wanted):
            place = self._above(place)
        best = place
        while self.depth[best] > 0:
            above = self.tree.parent[best]
            if above is None:
                break
            best = above
        return best

    def _above(self, block: BasicBlock) -> BasicBlock:
        above = self.tree.parent[block]
        return block if above is None else above


def flow_of(function: Function) -> Flow:
    """Dominators and loop depths. A natural loop is a back edge's target with all blocks that reach
    its source without passing the target (Aho, Lam, Sethi, Ullman, *Compilers*, section 9.6.6)."""
    tree = dominator_tree(function)
    predecessors = function.predecessors()
    depth = dict.fromkeys(tree.order, 0)
    loops: list[frozenset[BasicBlock]] = []
    for header in tree.order:
        latches = [
            p for p in predecessors[header] if tree.is_reachable(p) and tree.dominates(header, p)
        ]
        if not latches:
            continue
        body = _loop_body(header, latches, predecessors, tree)
        loops.append(frozenset(body))
        for block in body:
            depth[block] += 1
    return Flow(tree, depth, tuple(loops))


def _loop_body(
    header: BasicBlock,
    latches: list[BasicBlock],
    predecessors: dict[BasicBlock, list[BasicBlock]],
    tree: DominatorTree,
) -> list[BasicBlock]:
    found = {header: None}
    stack = list(latches)
    while stack:
        block = stack.pop()
        if block not in found and tree.is_reachable(block):
            found[block] = None
            stack.extend(predecessors[block])
    return list(found)
