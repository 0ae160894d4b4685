"""Which constants get a register for the whole function.

A constant that no immediate field can hold must be made or loaded somewhere. Inside loops that
would happen again and again, so the most used ones are made once, in front of all loops, as long as
half of the class's registers remain for other values; the rest are read from the constant pool
where they are used (as memory operands, where instructions have them).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from compiler.journal import Journal
from compiler.llvm.ir import BasicBlock
from compiler.select.choices import (
    AddressLeaf,
    Alias,
    Available,
    Choice,
    FrameLeaf,
    ImmediateLeaf,
    Moved,
    Tiled,
)
from compiler.select.decisions import ConstantPlaced
from compiler.select.nodes import Node, NodeKind
from compiler.select.tile import Goal
from compiler.select.tiling import Tiler
from isas.values import ValueType


@dataclass(slots=True)
class ConstantUse:
    """How often a constant is needed, in a register or memory; `weight` grows tenfold per loop."""

    uses: int = 0
    weight: float = 0.0
    origins: dict[str, None] = field(default_factory=dict)
    blocks: dict[BasicBlock, None] = field(default_factory=dict)


@dataclass(slots=True)
class Survey:
    """Follows choices without emitting anything: which roots are reached, which constants made."""

    tiler: Tiler
    home: Callable[[ValueType], Goal]
    depth: Mapping[BasicBlock, int]
    uses: dict[Node, ConstantUse] = field(default_factory=dict)
    seen: set[Node] = field(default_factory=set)
    pending: list[Node] = field(default_factory=list)
    origins: tuple[str, ...] = ()

    def visit(
        self,
        node: Node,
        choice: Choice | None,
        block: BasicBlock,
        labels: Mapping[Goal, Choice] | None = None,
    ) -> None:
        """`labels` is the table that the choice is from, where that is not what users see."""
        if choice is None:
            return
        if node.kind is NodeKind.CONSTANT and not isinstance(choice, Available):
            self._count(node, block)
            return
        if isinstance(choice, Available):
            self._reach(node)
        elif isinstance(choice, Alias):
            self.visit(choice.node, self.tiler.labels(choice.node).get(choice.goal), block)
        elif isinstance(choice, Moved):
            table = labels if labels is not None else self.tiler.labels(node)
            self.visit(node, table.get(choice.source), block, table)
        else:
            self._visit_leaves(choice, block)

    def _reach(self, node: Node) -> None:
        if node not in self.seen and node.kind is NodeKind.OPERATION:
            self.seen.add(node)
            self.pending.append(node)

    def _visit_leaves(self, choice: Tiled, block: BasicBlock) -> None:
        for leaf in choice.leaves:
            if isinstance(leaf, AddressLeaf):
                self._visit_address(leaf, block)
            elif not isinstance(leaf, ImmediateLeaf | FrameLeaf):
                self.visit(leaf.node, self.tiler.labels(leaf.node).get(leaf.goal), block)

    def _visit_address(self, leaf: AddressLeaf, block: BasicBlock) -> None:
        for node in (leaf.match.base, leaf.match.index):
            if node is None or node.kind is NodeKind.FRAME:
                continue
            if node.kind is NodeKind.CONSTANT:
                self._count(node, block)
            else:
                choice = self.tiler.labels(node).get(node.home or self.home(node.type))
                self.visit(node, choice, block)

    def _count(self, node: Node, block: BasicBlock) -> None:
        use = self.uses.setdefault(node, ConstantUse())
        use.uses += 1
        use.weight += 10.0 ** self.depth[block]
        use.blocks[block] = None
        use.origins.update(dict.fromkeys(self.origins[:1]))


def choose_hoisted(
    survey: Survey, budget: Callable[[Goal], int], journal: Journal, function: str
) -> dict[Node, ConstantUse]:
    """The constants to keep in registers, most used first, within each class's budget."""
    ranked = sorted(survey.uses.items(), key=lambda item: -item[1].weight)
    taken: dict[Goal, int] = {}
    hoisted: dict[Node, ConstantUse] = {}
    for node, use in ranked:
        if node.constant is None or (use.uses < 2 and use.weight < 10.0):
            continue
        goal = survey.home(node.type)
        if goal not in survey.tiler.labels(node):
            continue
        fits = taken.get(goal, 0) < budget(goal)
        if fits:
            taken[goal] = taken.get(goal, 0) + 1
            hoisted[node] = use
        journal.record(
            ConstantPlaced(
                subject=f"{function}/{_shown(node)}",
                uses=use.uses,
                chosen=f"a {goal} register" if fits else "made or read where it is used",
                because=_reason(fits, budget(goal), goal),
            )
        )
    return hoisted


def _reason(fits: bool, budget: int, goal: Goal) -> str:
    if fits:
        return "it would be made again at every use"
    return f"the {budget} {goal} registers for constants hold those used more"


def _shown(node: Node) -> str:
    lanes = node.constant
    if isinstance(lanes, tuple) and all(repr(lane) == repr(lanes[0]) for lane in lanes):
        return f"{node.type} {lanes[0]}"
    return f"{node.type} {lanes}"
