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
from dataclasses import dataclass, field, replace

from compiler.select.addresses import AddressMatch, match_address, symbol_match
from compiler.select.immediates import immediate_for, lanes_immediate
from compiler.select.nodes import (
    Node,
    NodeKind,
    bits_to_number,
    constant_bits,
    constant_node,
    scalar_bits,
)
from compiler.select.tiles import BRANCH, STORE, Goal, Tile, TileSet, flags_goal, is_bitwise
from isas.effects import Apply, Constant, Effect, Expression, Implicit, Operand, Rule
from isas.model import Role
from isas.values import I32, I64, ValueType


@dataclass(frozen=True, slots=True)
class RegisterLeaf:
    """Operand `name` takes `node` in a register of class `goal`."""

    name: str
    node: Node
    goal: Goal


@dataclass(frozen=True, slots=True)
class ImmediateLeaf:
    """Operand `name` is the number `value`."""

    name: str
    value: int


@dataclass(frozen=True, slots=True)
class AddressLeaf:
    """Memory operand `name`; `load` is the node whose value it reads (None: a store or an
    address)."""

    name: str
    match: AddressMatch
    load: Node | None = None


@dataclass(frozen=True, slots=True)
class FlagsLeaf:
    """The compare `node`, wanted in the flags so that `goal`'s condition reads it."""

    node: Node
    goal: Goal


@dataclass(frozen=True, slots=True)
class FixedLeaf:
    """The fixed register `name` must hold `node`."""

    name: str
    node: Node
    goal: Goal


Leaf = RegisterLeaf | ImmediateLeaf | AddressLeaf | FlagsLeaf | FixedLeaf


@dataclass(frozen=True, slots=True)
class Available:
    """The node's own register, computed elsewhere."""

    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Alias:
    """The register of another node already holds the value (in its low bits)."""

    cost: float
    node: Node
    goal: Goal
    rule: str


@dataclass(frozen=True, slots=True)
class Tiled:
    """An instruction with its leaves; `covered` are the nodes inside the tile, root first."""

    cost: float
    tile: Tile
    leaves: tuple[Leaf, ...]
    covered: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Moved:
    """A copy from another register class, where the same node is cheaper to have."""

    cost: float
    tile: Tile
    source: Goal


_HELD_COST = 0.05
"""What using a constant's register counts, so that an immediate is preferred where one fits."""

Choice = Available | Alias | Tiled | Moved
Labels = dict[Goal, Choice]


@dataclass(slots=True)
class _Match:
    """A tile being matched: what it has bound so far and what that costs."""

    tile: Tile
    cost: float
    leaves: list[Leaf] = field(default_factory=list)
    covered: list[Node] = field(default_factory=list)
    bound: dict[str, Node] = field(default_factory=dict)


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
        self._zeros: dict[ValueType, Node] = {}
        self._structural: dict[Node, Labels] = {}
        self._visible: dict[Node, Labels] = {}
        self._copy_cost = 1.0 / max(1, tiles.machine.core.rename_width)

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
            return labels
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

    def statement(self, node: Node) -> Tiled | None:
        """The cheapest instruction for a store or a conditional branch."""
        labels: Labels = {}
        is_store = node.kind is NodeKind.STORE
        for tile in self.tiles.stores if is_store else self.tiles.branches:
            self._try(tile, node, labels)
        found = labels.get(STORE if is_store else BRANCH)
        return found if isinstance(found, Tiled) else None

    # Matching

    def _try(self, tile: Tile, node: Node, labels: Labels) -> None:
        match = _Match(tile, tile.cost)
        if not self._match_root(match, tile, node):
            return
        self._bind_rest(match)
        for name, other in tile.same:
            match.bound[name] = match.bound[other]
        choice = Tiled(match.cost, tile, tuple(match.leaves), tuple(match.covered))
        self.alternatives.setdefault(node, []).append((tile, match.cost))
        self._offer(labels, tile.goal, choice)

    def _bind_rest(self, match: _Match) -> None:
        """A destination whose upper bits stay as they were starts as zero."""
        shape = match.tile.shape
        rest = shape.rest
        if rest is None or rest in match.bound or rest not in shape.facts.writes:
            return
        operand = shape.by_name[rest]
        if operand.type not in self._zeros:
            self._zeros[operand.type] = constant_node(
                0.0 if operand.type.is_float else 0, operand.type
            )
        self._match_operand(match, Operand(rest, operand.type), self._zeros[operand.type], False)

    def _offer(self, labels: Labels, goal: Goal, choice: Choice) -> None:
        before = labels.get(goal)
        if before is None or choice.cost < before.cost - 1e-9:
            labels[goal] = choice

    def _match_root(self, match: _Match, tile: Tile, node: Node) -> bool:
        if node.kind is NodeKind.STORE:
            value, address = node.children
            match.covered.append(node)
            return self._match_store(match, tile, node, value, address)
        if node.kind is NodeKind.BRANCH:
            match.covered.append(node)
            return self._match(match, tile.expression, node.children[0], False)
        return self._match(match, tile.expression, node, False, is_tile_root=True)

    def _match_store(
        self, match: _Match, tile: Tile, node: Node, value: Node, address: Node
    ) -> bool:
        kind = tile.shape.by_name[tile.pattern.result].kind
        assert kind.address is not None
        if kind.bits != node.type.total_bits or not _is_space(kind.address.space, node.attributes):
            return False
        if not self._match(match, tile.expression, value, True):
            return False
        return self._bind_address(match, tile.pattern.result, address, None)

    def _match(
        self,
        match: _Match,
        wanted: Expression,
        node: Node,
        is_bitwise_use: bool,
        is_tile_root: bool = False,
    ) -> bool:
        if isinstance(wanted, Operand):
            return self._match_operand(match, wanted, node, is_bitwise_use)
        if isinstance(wanted, Constant):
            return _is_constant(node, wanted)
        if isinstance(wanted, Implicit):
            return self._bind_fixed(match, wanted, node)
        if wanted.effect.rule is Rule.CONDITION:
            return self._bind_flags(match, flags_goal(wanted.effect), node)
        if wanted.effect is Effect.LOAD:
            return self._match_load(match, wanted, node, is_tile_root)
        return self._match_apply(match, wanted, node, is_bitwise_use, is_tile_root)

    def _match_operand(
        self, match: _Match, wanted: Operand, node: Node, is_bitwise_use: bool
    ) -> bool:
        kind = match.tile.shape.by_name[wanted.name].kind
        if kind.role is Role.IMMEDIATE:
            return self._bind_immediate(match, wanted, node)
        if kind.role is Role.MEMORY:
            return self._bind_address(match, wanted.name, node, None)
        if kind.role is not Role.REGISTER or not _fits(wanted.type, node.type, is_bitwise_use):
            return False
        if wanted.name in match.bound:
            return match.bound[wanted.name] is node
        choice = self.labels(node).get(kind.class_name)
        if choice is None or (
            match.tile.needs_mask and not self._is_chosen_by_mask(match, wanted, node)
        ):
            return False
        match.bound[wanted.name] = node
        match.leaves.append(RegisterLeaf(wanted.name, node, kind.class_name))
        match.cost += choice.cost
        if wanted.name == match.tile.result and self._outlives(node, choice):
            match.cost += self._copy_cost
        return True

    def _is_chosen_by_mask(self, match: _Match, wanted: Operand, node: Node) -> bool:
        """The operand whose sign a bit-by-bit select looks at must be a mask."""
        select = match.tile.expression
        assert isinstance(select, Apply)
        condition = select.arguments[0]
        is_condition = isinstance(condition, Apply) and wanted in condition.arguments
        return node.is_mask or not is_condition

    def _outlives(self, node: Node, choice: Choice) -> bool:
        """Whether the register is still needed after this use, so that overwriting it costs a
        copy."""
        if node.kind is NodeKind.CONSTANT:
            return isinstance(choice, Available)
        return node.is_root and (node.value is None or len(node.value.users) > 1)

    def _match_apply(
        self,
        match: _Match,
        wanted: Apply,
        node: Node,
        is_bitwise_use: bool,
        is_tile_root: bool,
    ) -> bool:
        if node.kind is NodeKind.CONSTANT and wanted.effect is Effect.SPLAT:
            return self._match_splat_constant(match, wanted, node)
        is_inner = not is_tile_root and wanted.effect is Effect.LOW
        if is_inner and isinstance(wanted.arguments[0], Operand):
            # The low half of a register operand is any value of that size in the register.
            whole = replace(wanted.arguments[0], type=wanted.type)
            if self._match_operand(match, whole, node, is_bitwise_use):
                return True
        if node.kind is not NodeKind.OPERATION:
            return False
        if not is_tile_root and node.is_root and not node.is_ghost:
            return False
        if wanted.effect is Effect.MUL and node.effect is Effect.SHL:
            node = _as_product(node)
        if node.effect is not wanted.effect and not _is_harmless(wanted.effect, node):
            return self._match_through_bitcast(match, wanted, node, is_bitwise_use)
        is_free = is_bitwise(wanted.effect)
        if not _fits(wanted.type, node.type, is_free and (is_bitwise_use or is_tile_root)):
            return False
        match.covered.append(node)
        lanes = self._match_attributes(match, wanted, node)
        if lanes is None or len(wanted.arguments) - lanes != len(node.children):
            return False
        return all(
            self._match(match, argument, child, is_free)
            for argument, child in zip(wanted.arguments, node.children)
        )

    def _match_through_bitcast(
        self, match: _Match, wanted: Apply, node: Node, is_bitwise_use: bool
    ) -> bool:
        """Bitcasts move no bits, so a pattern may see what is behind one, or leave its own out."""
        if node.effect is Effect.BITCAST:
            inner = node.children[0]
            if _fits(wanted.type, inner.type, is_bitwise_use):
                match.covered.append(node)
                return self._match(match, wanted, inner, is_bitwise_use)
        if wanted.effect is Effect.BITCAST:
            return self._match(match, wanted.arguments[0], node, is_bitwise_use)
        return False

    def _match_attributes(self, match: _Match, wanted: Apply, node: Node) -> int | None:
        """Compares lane lists and numbers; the number of pattern arguments they used up, or
        None."""
        if wanted.effect not in (Effect.SHUFFLE, Effect.EXTRACT, Effect.INSERT):
            return 0
        lanes = tuple(int(lane) for lane in node.attributes)
        if wanted.attributes:
            is_same = len(lanes) == len(wanted.attributes) and all(
                lane in (-1, fixed) for lane, fixed in zip(lanes, wanted.attributes)
            )
            return 0 if is_same else None
        chooser = wanted.arguments[-1]
        if not isinstance(chooser, Operand):
            return None
        form = match.tile.shape.by_name[chooser.name].kind.immediate
        if form is None or not lanes:
            return None if form is not None or lanes else 0
        if wanted.effect is Effect.SHUFFLE:
            value = lanes_immediate(form, lanes, wanted.arguments[0].type)
        else:
            value = immediate_for(form, lanes[0], I32)
        if value is None:
            return None
        match.leaves.append(ImmediateLeaf(chooser.name, value))
        return 1

    def _match_splat_constant(self, match: _Match, wanted: Apply, node: Node) -> bool:
        scalar = splat_scalar(node)
        if scalar is None or not _fits(wanted.type, node.type, False):
            return False
        match.covered.append(node)
        return self._match(match, wanted.arguments[0], scalar, True)

    def _match_load(self, match: _Match, wanted: Apply, node: Node, is_tile_root: bool) -> bool:
        address = wanted.arguments[0]
        assert isinstance(address, Operand)
        while node.effect is Effect.BITCAST and not node.is_root and not is_tile_root:
            node = node.children[0]
        if node.type.total_bits != wanted.type.total_bits:
            return False
        kind = match.tile.shape.by_name[address.name].kind
        assert kind.address is not None
        if node.kind is NodeKind.CONSTANT:
            symbol = symbol_match(node, kind.address)
            if symbol is None or node in self.hoisted:
                return False
            if address.name in match.bound:
                return match.bound[address.name] is node
            match.bound[address.name] = node
            match.leaves.append(AddressLeaf(address.name, symbol))
            return True
        if node.effect is not Effect.LOAD or (node.is_root and not is_tile_root):
            return False
        if not _is_space(kind.address.space, node.attributes):
            return False
        match.covered.append(node)
        return self._bind_address(match, address.name, node.children[0], node)

    # Binding leaves

    def _bind_address(self, match: _Match, name: str, node: Node, load: Node | None) -> bool:
        form = match.tile.shape.by_name[name].kind.address
        assert form is not None
        if name in match.bound:
            return match.bound[name] is node
        is_computed = isinstance(match.tile.expression, Operand) and load is None
        found = match_address(
            node, form, self._address_cost, _is_transparent, is_computed and bool(match.tile.result)
        )
        if found is None:
            return False
        match.bound[name] = node
        match.leaves.append(AddressLeaf(name, found, load))
        match.cost += found.cost
        return True

    def _address_cost(self, node: Node) -> float | None:
        choice = self.labels(node).get(self.home(I64)) if node.type == I64 else None
        return None if choice is None else choice.cost

    def _bind_immediate(self, match: _Match, wanted: Operand, node: Node) -> bool:
        scalar = node.constant if node.kind is NodeKind.CONSTANT else None
        if isinstance(scalar, tuple):
            scalar = scalar[0] if len(set(scalar)) == 1 else None
        form = match.tile.shape.by_name[wanted.name].kind.immediate
        if scalar is None or form is None or not _fits(wanted.type, node.type, False):
            return False
        if wanted.type.is_float != node.type.is_float and wanted.type.is_vector:
            return False
        value = immediate_for(form, _as_type(scalar, node.type, wanted.type), wanted.type.element)
        if value is None:
            return False
        match.leaves.append(ImmediateLeaf(wanted.name, value))
        return True

    def _bind_flags(self, match: _Match, goal: Goal, node: Node) -> bool:
        choice = self.labels(node).get(goal)
        if choice is None:
            return False
        match.leaves.append(FlagsLeaf(node, goal))
        match.cost += choice.cost
        return True

    def _bind_fixed(self, match: _Match, wanted: Implicit, node: Node) -> bool:
        register = self.tiles.machine.isa.registers.by_name(wanted.name)
        if register is None or not register.class_name:
            return False
        if wanted.name in match.bound:
            return match.bound[wanted.name] is node
        choice = self.labels(node).get(register.class_name)
        if choice is None or not _fits(wanted.type, node.type, False):
            return False
        match.bound[wanted.name] = node
        match.leaves.append(FixedLeaf(wanted.name, node, register.class_name))
        match.cost += choice.cost + self._copy_cost
        return True

    # Rules that are not instructions

    def _aliases(self, node: Node) -> Iterator[Alias]:
        for source, rule in _alias_sources(node):
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
            return {self.home_of(node): Available(_HELD_COST)}
        for tile in self.tiles.constants:
            if tile.type.total_bits == node.type.total_bits and _same_in_lanes(tile.type, node):
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
        match = _Match(tile, tile.cost)
        if self._match(match, tile.expression, node, True):
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


def _alias_sources(node: Node) -> Iterator[tuple[Node, str]]:
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
    elif effect is Effect.INSERT and node.attributes == (0,) and _is_poison(children[0]):
        yield children[1], "the other lanes do not matter"
    elif effect is Effect.CONCAT and _is_poison(children[1]):
        yield children[0], "the upper half does not matter"


def _as_product(node: Node) -> Node:
    """A shift by a constant, seen as a multiplication."""
    amount = node.children[1].constant
    if node.children[1].kind is not NodeKind.CONSTANT or not isinstance(amount, int):
        return node
    if not 0 <= amount < node.type.bits - 1:
        return node
    factor = constant_node(1 << amount, node.type)
    children = (node.children[0], factor)
    return Node(
        NodeKind.OPERATION, node.type, Effect.MUL, children, value=node.value,
        is_root=node.is_root, is_ghost=node.is_ghost,
    )  # fmt: skip


def _is_harmless(saturating: Effect, node: Node) -> bool:
    """Whether a saturating truncation truncates this node: nothing is cut off that could
    saturate."""
    if node.effect is not Effect.TRUNC:
        return False
    most = largest(node.children[0])
    if saturating is Effect.TRUNC_USAT:
        return most < 1 << node.type.bits
    return saturating is Effect.TRUNC_SSAT and most < 1 << (node.type.bits - 1)


def largest(node: Node) -> int:
    """An upper bound of a node's lanes, read as unsigned numbers."""
    bits = node.type.bits
    if node.bound is not None:
        return node.bound
    if node.kind is NodeKind.CONSTANT:
        lanes = node.constant if isinstance(node.constant, tuple) else (node.constant,)
        return max(scalar_bits(lane, node.type.element) for lane in lanes)
    if node.effect is Effect.AND:
        return min(largest(child) for child in node.children)
    if node.effect is Effect.LSHR and node.children[1].kind is NodeKind.CONSTANT:
        scalar = splat_scalar(node.children[1])
        count = scalar.constant if scalar is not None else node.children[1].constant
        return (1 << bits) - 1 >> (count if isinstance(count, int) and count >= 0 else 0)
    if node.effect is Effect.ZEXT:
        return largest(node.children[0])
    if node.effect in (Effect.LOW, Effect.HIGH):
        return largest(node.children[0])
    return (1 << bits) - 1


def _is_poison(node: Node) -> bool:
    return node.kind is NodeKind.CONSTANT and node.constant is None


def _same_in_lanes(type: ValueType, node: Node) -> bool:
    """Whether the constant is one number in every lane of `type`, not only of its own type: an
    immediate repeats by the instruction's lanes."""
    if type.lanes == node.type.lanes or not node.type.is_vector:
        return True
    scalar = splat_scalar(node)
    return scalar is not None and repr(scalar.constant) in ("0", "-1", "0.0")


def splat_scalar(node: Node) -> Node | None:
    """The scalar constant in every lane of a constant vector, or None."""
    lanes = node.constant
    if isinstance(lanes, tuple) and all(repr(lane) == repr(lanes[0]) for lane in lanes):
        return constant_node(lanes[0], node.type.element)
    return None


def _as_type(value: int | float, type: ValueType, wanted: ValueType) -> int | float:
    """The same bits read as the wanted kind of number."""
    if type.is_float == wanted.is_float:
        return value
    return bits_to_number(scalar_bits(value, type.element), wanted.element)


def _is_constant(node: Node, wanted: Constant) -> bool:
    if node.kind is not NodeKind.CONSTANT or not _fits(wanted.type, node.type, True):
        return False
    if node.constant is None:
        return False
    return constant_bits(node.constant, node.type) == constant_bits(wanted.value, wanted.type)


def _is_space(space: str, attributes: tuple[int | str, ...]) -> bool:
    """Whether memory of this space may be accessed so; generic pointers of kernels are global
    ones."""
    wanted = attributes[0] if attributes else ""
    return space == wanted or (wanted == "" and space == "global")


def _fits(wanted: ValueType, found: ValueType, is_bitwise_use: bool) -> bool:
    """Whether a value of type `found` may stand where a card says `wanted`.

    Lanes must agree unless only bits matter; whether a lane is read as an integer or a float is the
    effect's business, but half and bfloat are never mistaken for each other."""
    if wanted.total_bits != found.total_bits:
        return False
    if is_bitwise_use:
        return True
    if wanted.lanes != found.lanes:
        return False
    return not (wanted.is_float and found.is_float and wanted.kind is not found.kind)


def _is_transparent(node: Node) -> bool:
    """Whether an address may look inside `node`: it is part of this tree, or exists for
    addresses."""
    return not node.is_root or node.is_ghost
