"""Matching one tile's tree at one node, with what its leaves cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from compiler.select.addresses import match_address, symbol_match
from compiler.select.choices import (
    AddressLeaf,
    Available,
    Choice,
    FixedLeaf,
    FlagsLeaf,
    ImmediateLeaf,
    Labels,
    Match,
    RegisterLeaf,
)
from compiler.select.fitting import (
    as_product,
    as_type,
    fits,
    is_constant,
    is_harmless,
    is_space,
    is_transparent,
    splat_scalar,
)
from compiler.select.immediates import immediate_for, lanes_immediate
from compiler.select.nodes import Node, NodeKind, constant_node
from compiler.select.tile import Goal, Tile, flags_goal, is_bitwise
from compiler.select.tiles import TileSet
from isas.effects import Apply, Constant, Effect, Expression, Implicit, Operand, Rule
from isas.model import Role
from isas.values import I32, I64, ValueType

POOL_LOAD_CYCLES = 2.0
"""What a load from the constant pool counts instead of its latency: its address is known from the
start, so that it is early rather than waited for."""


class Table(Protocol):
    """What a matcher asks of the tiler."""

    tiles: TileSet
    hoisted: frozenset[Node]
    home: Callable[[ValueType], Goal]
    copy_cost: float

    def labels(self, node: Node) -> Labels: ...


class Matcher:
    """Tries tiles for one tiler; `Match` collects what a tile binds."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._zeros: dict[ValueType, Node] = {}

    def bind_rest(self, match: Match) -> None:
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

    def root(self, match: Match, tile: Tile, node: Node) -> bool:
        if node.kind is NodeKind.STORE:
            value, address = node.children
            match.covered.append(node)
            return self._match_store(match, tile, node, value, address)
        if node.kind is NodeKind.BRANCH:
            match.covered.append(node)
            return self.match(match, tile.expression, node.children[0], False)
        return self.match(match, tile.expression, node, False, is_tile_root=True)

    def _match_store(
        self, match: Match, tile: Tile, node: Node, value: Node, address: Node
    ) -> bool:
        kind = tile.shape.by_name[tile.pattern.result].kind
        assert kind.address is not None
        if kind.bits != node.type.total_bits or not is_space(kind.address.space, node.attributes):
            return False
        if not self.match(match, tile.expression, value, True):
            return False
        return self._bind_address(match, tile.pattern.result, address, None)

    def match(
        self,
        match: Match,
        wanted: Expression,
        node: Node,
        is_bitwise_use: bool,
        is_tile_root: bool = False,
    ) -> bool:
        if isinstance(wanted, Operand):
            return self._match_operand(match, wanted, node, is_bitwise_use)
        if isinstance(wanted, Constant):
            return is_constant(node, wanted)
        if isinstance(wanted, Implicit):
            return self._bind_fixed(match, wanted, node)
        if wanted.effect.rule is Rule.CONDITION:
            return self._bind_flags(match, flags_goal(wanted.effect), node)
        if wanted.effect is Effect.LOAD:
            return self._match_load(match, wanted, node, is_tile_root)
        return self._match_apply(match, wanted, node, is_bitwise_use, is_tile_root)

    def _match_operand(
        self, match: Match, wanted: Operand, node: Node, is_bitwise_use: bool
    ) -> bool:
        kind = match.tile.shape.by_name[wanted.name].kind
        if kind.role is Role.IMMEDIATE:
            return self._bind_immediate(match, wanted, node)
        if kind.role is Role.MEMORY:
            return self._bind_address(match, wanted.name, node, None)
        if kind.role is not Role.REGISTER or not fits(wanted.type, node.type, is_bitwise_use):
            return False
        if wanted.name in match.bound:
            return match.bound[wanted.name] is node
        choice = self.table.labels(node).get(kind.class_name)
        if choice is None or (
            match.tile.needs_mask and not self._is_chosen_by_mask(match, wanted, node)
        ):
            return False
        match.bound[wanted.name] = node
        match.leaves.append(RegisterLeaf(wanted.name, node, kind.class_name))
        match.cost += choice.cost
        if wanted.name == match.tile.result and self._outlives(node, choice):
            match.cost += self.table.copy_cost
        return True

    def _is_chosen_by_mask(self, match: Match, wanted: Operand, node: Node) -> bool:
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
        match: Match,
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
            node = as_product(node)
        if node.effect is not wanted.effect and not is_harmless(wanted.effect, node):
            return self._match_through_bitcast(match, wanted, node, is_bitwise_use)
        is_free = is_bitwise(wanted.effect)
        if not fits(wanted.type, node.type, is_free and (is_bitwise_use or is_tile_root)):
            return False
        match.covered.append(node)
        lanes = self._match_attributes(match, wanted, node)
        if lanes is None or len(wanted.arguments) - lanes != len(node.children):
            return False
        return all(
            self.match(match, argument, child, is_free)
            for argument, child in zip(wanted.arguments, node.children)
        )

    def _match_through_bitcast(
        self, match: Match, wanted: Apply, node: Node, is_bitwise_use: bool
    ) -> bool:
        """Bitcasts move no bits, so a pattern may see what is behind one, or leave its own out."""
        if node.effect is Effect.BITCAST:
            inner = node.children[0]
            if fits(wanted.type, inner.type, is_bitwise_use):
                match.covered.append(node)
                return self.match(match, wanted, inner, is_bitwise_use)
        if wanted.effect is Effect.BITCAST:
            return self.match(match, wanted.arguments[0], node, is_bitwise_use)
        return False

    def _match_attributes(self, match: Match, wanted: Apply, node: Node) -> int | None:
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

    def _match_splat_constant(self, match: Match, wanted: Apply, node: Node) -> bool:
        scalar = splat_scalar(node)
        if scalar is None or not fits(wanted.type, node.type, False):
            return False
        match.covered.append(node)
        return self.match(match, wanted.arguments[0], scalar, True)

    def _match_load(self, match: Match, wanted: Apply, node: Node, is_tile_root: bool) -> bool:
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
            if symbol is None or node in self.table.hoisted:
                return False
            if address.name in match.bound:
                return match.bound[address.name] is node
            match.bound[address.name] = node
            match.leaves.append(AddressLeaf(address.name, symbol))
            match.cost -= max(0.0, match.tile.load_cycles - POOL_LOAD_CYCLES)
            return True
        if node.effect is not Effect.LOAD or (node.is_root and not is_tile_root):
            return False
        if not is_space(kind.address.space, node.attributes):
            return False
        match.covered.append(node)
        return self._bind_address(match, address.name, node.children[0], node)

    # Binding leaves

    def _bind_address(self, match: Match, name: str, node: Node, load: Node | None) -> bool:
        form = match.tile.shape.by_name[name].kind.address
        assert form is not None
        if name in match.bound:
            return match.bound[name] is node
        is_computed = isinstance(match.tile.expression, Operand) and load is None
        found = match_address(
            node, form, self._address_cost, is_transparent, is_computed and bool(match.tile.result)
        )
        if found is None:
            return False
        match.bound[name] = node
        match.leaves.append(AddressLeaf(name, found, load))
        match.cost += found.cost
        return True

    def _address_cost(self, node: Node) -> float | None:
        choice = self.table.labels(node).get(self.table.home(I64)) if node.type == I64 else None
        return None if choice is None else choice.cost

    def _bind_immediate(self, match: Match, wanted: Operand, node: Node) -> bool:
        scalar = node.constant if node.kind is NodeKind.CONSTANT else None
        if isinstance(scalar, tuple):
            scalar = scalar[0] if len(set(scalar)) == 1 else None
        form = match.tile.shape.by_name[wanted.name].kind.immediate
        if scalar is None or form is None or not fits(wanted.type, node.type, False):
            return False
        if wanted.type.is_float != node.type.is_float and wanted.type.is_vector:
            return False
        value = immediate_for(form, as_type(scalar, node.type, wanted.type), wanted.type.element)
        if value is None:
            return False
        match.leaves.append(ImmediateLeaf(wanted.name, value))
        return True

    def _bind_flags(self, match: Match, goal: Goal, node: Node) -> bool:
        choice = self.table.labels(node).get(goal)
        if choice is None:
            return False
        match.leaves.append(FlagsLeaf(node, goal))
        match.cost += choice.cost
        return True

    def _bind_fixed(self, match: Match, wanted: Implicit, node: Node) -> bool:
        register = self.table.tiles.machine.isa.registers.by_name(wanted.name)
        if register is None or not register.class_name:
            return False
        if wanted.name in match.bound:
            return match.bound[wanted.name] is node
        choice = self.table.labels(node).get(register.class_name)
        if choice is None or not fits(wanted.type, node.type, False):
            return False
        match.bound[wanted.name] = node
        match.leaves.append(FixedLeaf(wanted.name, node, register.class_name))
        match.cost += choice.cost + self.table.copy_cost
        return True
