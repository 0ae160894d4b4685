"""Tiling by dynamic programming: the cheapest way to cover each value's tree with instructions.

Values with several users cut the graph into trees. For every node, bottom-up, and every *goal* (a
register class, the flags under a condition) the cheapest tile whose tree fits is found, given the
best costs of the goals at its leaves; moves between classes close the table, as chain rules do.
This is the scheme of Aho, Ganapathi and Tjiang, "Code Generation Using Tree Matching and Dynamic
Programming" (ACM TOPLAS 11(4), 1989); Fraser, Hanson and Proebsting, "Engineering a Simple,
Efficient Code-Generator Generator" (ACM LOPLAS 1(3), 1992) precompute the rules' indices, as
`compiler.select.tiles` does by the effect at a pattern's root. Optimal per tree under an additive
cost; what is shared is paid for once.

Some values cost nothing because bits need not move: a bitcast inside one class, the low half of a
register, lane 0 of a vector. They become *aliases*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from compiler.select.choices import (
    HELD_COST,
    Alias,
    Available,
    Choice,
    FrameLeaf,
    Labels,
    Match,
    Moved,
    Tiled,
)
from compiler.select.fitting import is_poison
from compiler.select.matching import Matcher
from compiler.select.nodes import Node, NodeKind, constant_bits, constant_node
from compiler.select.tile import BRANCH, STORE, Goal, Tile
from compiler.select.tiles import TileSet
from isas.effects import Apply, Effect, Operand, Rule
from isas.model import Role
from isas.values import I32, I64, ValueType


class Tiler:
    """Finds the cheapest tilings of one function's nodes. `hoisted` constants live in registers all
    the time; `alternatives` lists, per root node, every tile that fitted with its cost."""

    def __init__(
        self,
        tiles: TileSet,
        homes: Callable[[ValueType], Goal],
        hoisted: frozenset[Node] = frozenset(),
    ) -> None:
        self.tiles = tiles
        self.home = homes
        self.hoisted = hoisted
        self.alternatives: dict[Node, list[tuple[Tile, float]]] = {}
        self.matcher = Matcher(self)
        self._structural: dict[Node, Labels] = {}
        self._visible: dict[Node, Labels] = {}
        self.copy_cost = 1.0 / max(1, tiles.machine.core.rename_width)

    def home_of(self, node: Node) -> Goal:
        """The class that a root's register belongs to."""
        return node.home or self.home(node.type)

    def labels(self, node: Node) -> Labels:
        """What a user sees: a root is in its home register, anything else is computed in place."""
        found = self._visible.get(node)
        if found is None:
            found = self._visible[node] = self._see(node)
        return found

    def _see(self, node: Node) -> Labels:
        if node.kind in (NodeKind.LEAF, NodeKind.INPUT):
            return self._closed({self.home_of(node): Available()}, node)
        if node.is_available:
            return self._closed({**self.structural(node), self.home_of(node): Available()}, node)
        if not node.is_root or node.is_ghost:
            return self.structural(node)
        labels: Labels = {self.home_of(node): Available()}
        if node.effect is not None and node.effect.rule in (Rule.ICMP, Rule.FCMP):
            flags = {g: c for g, c in self.structural(node).items() if g.startswith("flags:")}
            labels = flags | labels
        return self._closed(labels, node)

    def structural(self, node: Node) -> Labels:
        """How the node itself can be computed."""
        found = self._structural.get(node)
        if found is None:
            found = self._structural[node] = self._closed(self._compute(node), node)
        return found

    def _compute(self, node: Node) -> Labels:
        if node.kind is NodeKind.CONSTANT:
            return self._constant(node)
        if node.kind in (NodeKind.LEAF, NodeKind.INPUT):
            return {self.home_of(node): Available()}
        labels: Labels = {}
        if node.kind is NodeKind.FRAME:
            for tile in self.tiles.addresses:
                self._try(tile, node, labels)
            return labels or self._frame_place(node)
        assert node.effect is not None
        for alias in self._aliases(node):
            self._offer(labels, alias.goal, alias)
        for tile in self.tiles.computing(node.effect, node.type):
            self._try(tile, node, labels)
        if node.effect is Effect.SHL:
            for tile in self.tiles.computing(Effect.MUL, node.type):
                self._try(tile, node, labels)
        if node.effect in (Effect.ADD, Effect.SHL, Effect.MUL) and node.type == I64:
            for tile in self.tiles.addresses:
                self._try(tile, node, labels)
        if node.effect is Effect.SHUFFLE:
            self._permute(node, labels)
        return labels

    def _frame_place(self, node: Node) -> Labels:
        """Without an instruction for addresses: the stack pointer plus a number."""
        labels: Labels = {}
        if self.tiles.machine.isa.calling.stack_pointer is None:
            return labels
        for tile in self.tiles.computing(Effect.ADD, node.type):
            names = _base_and_number(tile)
            if names is not None:
                leaf = FrameLeaf(*names, node)
                self._offer(labels, tile.goal, Tiled(tile.cost, tile, (leaf,), (node,)))
        return labels

    def statement(self, node: Node) -> Tiled | None:
        """The cheapest instruction for a store or a conditional branch."""
        labels: Labels = {}
        is_store = node.kind is NodeKind.STORE
        for tile in self.tiles.stores if is_store else self.tiles.branches:
            self._try(tile, node, labels)
        found = labels.get(STORE if is_store else BRANCH)
        return found if isinstance(found, Tiled) else None

    def _try(self, tile: Tile, node: Node, labels: Labels) -> None:
        match = Match(tile, tile.cost)
        if not self.matcher.root(match, tile, node):
            return
        self.matcher.bind_rest(match)
        for name, other in tile.same:
            match.bound[name] = match.bound[other]
        choice = Tiled(match.cost, tile, tuple(match.leaves), tuple(match.covered))
        self.alternatives.setdefault(node, []).append((tile, match.cost))
        self._offer(labels, tile.goal, choice)

    def _offer(self, labels: Labels, goal: Goal, choice: Choice) -> None:
        before = labels.get(goal)
        if before is None or choice.cost < before.cost - 1e-9:
            labels[goal] = choice

    # Rules that are not instructions

    def _aliases(self, node: Node) -> Iterator[Alias]:
        for source, rule in alias_sources(node):
            for goal, choice in self.labels(source).items():
                if self._may_alias(goal, source, node.type):
                    yield Alias(choice.cost, source, goal, rule)

    def _may_alias(self, goal: Goal, node: Node, result: ValueType) -> bool:
        """Whether a class holds both types in the same storage, one in the low bits of the
        other."""
        source = node.type
        register_class = self.tiles.machine.isa.registers.classes.get(goal)
        if register_class is None:
            return False
        if source.total_bits == result.total_bits:
            return True
        if self.home_of(node) != goal or not self._may_live_in(goal, result):
            return False
        return max(source.total_bits, result.total_bits) <= register_class.storage_bits

    def _may_live_in(self, goal: Goal, type: ValueType) -> bool:
        """Whether values of a type can be in a class at all: it is their home, or they can go
        home."""
        home = self.home(type)
        return home == goal or (goal, home, type.total_bits) in self.tiles.moves

    def _permute(self, node: Node, labels: Labels) -> None:
        """A shuffle of one source is a permutation by constant lane numbers."""
        lanes = tuple(int(lane) for lane in node.attributes)
        count = node.children[0].type.lanes
        if node.children[0] is not node.children[1] or len(lanes) != count:
            return
        type = ValueType(I32.kind, node.type.bits, count)
        chosen = constant_node(tuple(max(0, lane) % count for lane in lanes), type)
        children = (node.children[0], chosen)
        stand_in = Node(NodeKind.OPERATION, node.type, Effect.PERMUTE, children, value=node.value)
        for tile in self.tiles.computing(Effect.PERMUTE, node.type):
            self._try(tile, stand_in, labels)

    def _constant(self, node: Node) -> Labels:
        labels: Labels = {}
        if node in self.hoisted:
            return {self.home_of(node): Available(HELD_COST)}
        for tile in self.tiles.constants:
            if tile.type.total_bits == node.type.total_bits:
                self._try_constant(tile, node, labels)
        self._constant_in_wider(node, labels)
        for tile in self.tiles.computing(Effect.LOAD, node.type):
            self._try(tile, node, labels)
        if node.type.is_vector:
            for tile in self.tiles.computing(Effect.SPLAT, node.type):
                self._try(tile, node, labels)
        return labels

    def _constant_in_wider(self, node: Node, labels: Labels) -> None:
        """A narrow number is the low part of one with the same bits in a wider register."""
        if node.type.is_vector or not 8 <= node.type.bits < 32:
            return
        wide = constant_node(constant_bits(node.constant, node.type), I32)
        goal = self.home_of(node)
        choice = self.labels(wide).get(goal)
        if choice is not None:
            self._offer(labels, goal, Alias(choice.cost, wide, goal, "the low part of a register"))

    def _try_constant(self, tile: Tile, node: Node, labels: Labels) -> None:
        match = Match(tile, tile.cost)
        if self.matcher.match(match, tile.expression, node, True):
            choice = Tiled(match.cost, tile, tuple(match.leaves), (node,))
            self._offer(labels, tile.goal, choice)

    def _closed(self, labels: Labels, node: Node) -> Labels:
        """Adds what moves between register classes reach."""
        bits = node.type.total_bits
        for (source, goal, width), tiles in self.tiles.moves.items():
            if width == bits and source in labels and source != goal:
                cost = labels[source].cost + tiles[0].cost
                self._offer(labels, goal, Moved(cost, tiles[0], source))
        return labels


def alias_sources(node: Node) -> Iterator[tuple[Node, str]]:
    """Nodes whose register holds this node's value in its low bits."""
    effect, children = node.effect, node.children
    if effect is Effect.BITCAST:
        yield children[0], "a bitcast moves no bits"
    elif effect is Effect.TRUNC and not node.type.is_vector and node.type.bits >= 8:
        yield children[0], "the low part of a register"
    elif effect is Effect.LOW:
        yield children[0], "the low half of a register"
    elif effect is Effect.EXTRACT and node.attributes == (0,):
        yield children[0], "lane 0 is the register's low part"
    elif effect is Effect.INSERT and node.attributes == (0,) and is_poison(children[0]):
        yield children[1], "the other lanes do not matter"
    elif effect is Effect.CONCAT and is_poison(children[1]):
        yield children[0], "the upper half does not matter"


def _base_and_number(tile: Tile) -> tuple[str, str] | None:
    """The operands of an addition of a register and an immediate."""
    expression = tile.expression
    if tile.rule or tile.type.is_vector or not isinstance(expression, Apply):
        return None
    if not all(isinstance(argument, Operand) for argument in expression.arguments):
        return None
    base, number = (tile.shape.by_name[str(getattr(a, "name", ""))] for a in expression.arguments)
    if not base.kind.is_register or number.kind.role is not Role.IMMEDIATE:
        return None
    return base.name, number.name
