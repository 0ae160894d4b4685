"""Tiles: what a machine's instructions cover, derived from the effects on their cards.

Every pattern of every shape becomes a tile: `goal` says where the result lands (a register class,
the flags under a condition, memory, the program counter) and `expression` what it computes. Some
instructions compute more than their card spells out; the derivations below are keyed by effects and
register views, never by an ISA or a mnemonic, and each has a name that decisions show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from isas.corefiles import core_micro_ops
from isas.effects import (
    BITWISE,
    COMMUTATIVE,
    Apply,
    Constant,
    Effect,
    Expression,
    Implicit,
    Operand,
    Rule,
    walk,
)
from isas.flags import FLAG_MEANINGS, PRODUCED_OPERATION
from isas.model import Machine, Pattern, Role, Shape
from isas.registers import WriteRule
from isas.values import I1, I64, ValueType

Goal = str
"""Where a value is wanted: the name of a register class, `flags:less` (the flags, under that
condition), or one of the statements below."""

STORE: Goal = "store"
BRANCH: Goal = "branch"


def flags_goal(condition: Effect) -> Goal:
    """The goal of a compare whose outcome is read through `condition`."""
    return f"flags:{condition}"


@dataclass(frozen=True, slots=True, eq=False)
class Tile:
    """An instruction shape as something to cover a tree with.

    `result` is the operand (or fixed register) that receives the value, "" for statements. `same`
    maps operands that are not in `expression` to the operand they must equal. `cost` is in cycles
    (see `shape_cost`). `rule` names the derivation, "" where the card says it itself."""

    shape: Shape
    pattern: Pattern
    goal: Goal
    result: str
    type: ValueType
    expression: Expression
    cost: float
    rule: str = ""
    same: tuple[tuple[str, str], ...] = ()

    @property
    def title(self) -> str:
        return f"{self.shape.title} [{self.rule}]" if self.rule else self.shape.title

    @property
    def needs_mask(self) -> bool:
        """Whether a select really is bit by bit, and so needs a mask of whole lanes."""
        root = self.expression
        if not isinstance(root, Apply) or root.effect is not Effect.SELECT:
            return False
        return not any(
            isinstance(node, Apply) and node.effect is Effect.SELECT
            for effect in self.shape.effects
            for node in walk(effect.expression)
        )

    @property
    def is_fixed_result(self) -> bool:
        """Whether the result lands in a register that the text does not choose."""
        return bool(self.result) and self.result not in self.shape.by_name


def shape_cost(machine: Machine, shape: Shape) -> float:
    """The cost of one instruction, in cycles: the latencies of its micro-ops (a load's is the L1's)
    plus an issue slot, one part in the core's width, for each of them and for the instruction
    itself.

    The sum over a tree is the time of a chain of its instructions; with equal latencies the shorter
    code wins."""
    micro_ops = core_micro_ops(machine.core, shape)
    slots = len(micro_ops) + 1
    return sum(op.latency for op in micro_ops) + slots / max(1, machine.core.rename_width)


@dataclass(frozen=True, slots=True, eq=False)
class TileSet:
    """All tiles of a machine, found by the effect at the root of what they compute.

    `moves` are register-to-register copies by (from class, to class, bits), cheapest first;
    `constants` set a register from an immediate or a fixed number; `jumps` are unconditional
    branches."""

    machine: Machine
    by_effect: Mapping[Effect, tuple[Tile, ...]]
    by_size: Mapping[tuple[Effect, int], tuple[Tile, ...]]
    stores: tuple[Tile, ...]
    branches: tuple[Tile, ...]
    moves: Mapping[tuple[str, str, int], tuple[Tile, ...]]
    constants: tuple[Tile, ...]
    addresses: tuple[Tile, ...]
    jumps: tuple[Shape, ...]
    returns: tuple[Shape, ...]
    fixed: Mapping[str, str] = field(default_factory=dict)

    def rooted(self, effect: Effect) -> tuple[Tile, ...]:
        return self.by_effect.get(effect, ())

    def computing(self, effect: Effect, type: ValueType) -> tuple[Tile, ...]:
        """The tiles with this effect at the root that give as many bits as `type` has."""
        return self.by_size.get((effect, type.total_bits), ())


@lru_cache(maxsize=16)
def tiles_of(machine: Machine) -> TileSet:
    """The tiles of a machine; derived once."""
    sorter = _Sorter(machine)
    for shape in machine.shapes:
        for tile in _tiles(machine, shape):
            sorter.add(tile)
    return sorter.finish()


class _Sorter:
    """Puts tiles where the tiler looks for them."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.by_effect: dict[Effect, list[Tile]] = {}
        self.moves: dict[tuple[str, str, int], list[Tile]] = {}
        self.stores: list[Tile] = []
        self.branches: list[Tile] = []
        self.constants: list[Tile] = []
        self.addresses: list[Tile] = []

    def add(self, tile: Tile) -> None:
        expression = tile.expression
        if tile.goal == STORE:
            self.stores.append(tile)
        elif tile.goal == BRANCH:
            self.branches.append(tile)
        elif isinstance(expression, Constant):
            self.constants.append(tile)
        elif isinstance(expression, Operand):
            self._add_operand(tile, expression)
        elif isinstance(expression, Apply):
            source = _crossing(tile)
            if source is not None:
                key = (source, tile.goal, tile.type.total_bits)
                self.moves.setdefault(key, []).append(tile)
            else:
                self.by_effect.setdefault(expression.effect, []).append(tile)

    def _add_operand(self, tile: Tile, operand: Operand) -> None:
        kind = tile.shape.by_name[operand.name].kind
        if kind.role is Role.IMMEDIATE:
            self.constants.append(tile)
        elif kind.role is Role.MEMORY:
            self.addresses.append(tile)
        elif kind.role is Role.REGISTER:
            key = (kind.class_name, tile.goal, tile.type.total_bits)
            self.moves.setdefault(key, []).append(tile)

    def finish(self) -> TileSet:
        shapes = self.machine.shapes
        return TileSet(
            self.machine,
            {effect: _cheapest_first(tiles) for effect, tiles in self.by_effect.items()},
            self._by_size(),
            _cheapest_first(self.stores),
            _cheapest_first(self.branches),
            {key: _cheapest_first(tiles) for key, tiles in self.moves.items()},
            _cheapest_first(self.constants),
            _cheapest_first(self.addresses),
            tuple(s for s in shapes if s.facts.is_branch and _is_jump(s)),
            tuple(s for s in shapes if s.facts.is_return),
        )

    def _by_size(self) -> dict[tuple[Effect, int], tuple[Tile, ...]]:
        found: dict[tuple[Effect, int], list[Tile]] = {}
        for effect, tiles in self.by_effect.items():
            for tile in tiles:
                found.setdefault((effect, tile.type.total_bits), []).append(tile)
        return {key: _cheapest_first(tiles) for key, tiles in found.items()}


def _cheapest_first(tiles: Iterable[Tile]) -> tuple[Tile, ...]:
    return tuple(sorted(tiles, key=lambda t: (t.cost, bool(t.rule), t.shape.id)))


def _crossing(tile: Tile) -> str | None:
    """The source class of a move that reinterprets bits between register classes."""
    expression = tile.expression
    if not isinstance(expression, Apply) or expression.effect is not Effect.BITCAST:
        return None
    source = expression.arguments[0]
    if not isinstance(source, Operand):
        return None
    kind = tile.shape.by_name[source.name].kind
    return kind.class_name if kind.is_register else None


def _is_jump(shape: Shape) -> bool:
    facts = shape.facts
    return not facts.is_conditional and not facts.is_return and len(shape.operands) == 1


def _tiles(machine: Machine, shape: Shape) -> Iterator[Tile]:
    cost = shape_cost(machine, shape)
    for pattern in shape.patterns:
        for tile in _pattern_tiles(machine, shape, pattern, cost):
            for variant in (tile, *_derived(machine, tile)):
                yield variant
                yield from _commuted(variant)


def _pattern_tiles(machine: Machine, shape: Shape, pattern: Pattern, cost: float) -> Iterator[Tile]:
    """The tiles that a pattern is by itself: a register, memory, a branch, or compares through
    flags."""
    if _has_other_result(shape, pattern):
        return

    def tile(goal: Goal, result: str, expression: Expression) -> Tile:
        return Tile(shape, pattern, goal, result, expression.type, expression, cost, pattern.rule)

    expression = pattern.expression
    if pattern.is_store:
        yield tile(STORE, "", expression)
    elif pattern.result == "pc":
        if isinstance(expression, Apply) and expression.effect is Effect.SELECT:
            yield tile(BRANCH, "", expression.arguments[0])
    elif pattern.result in shape.by_name:
        yield tile(shape.by_name[pattern.result].kind.class_name, pattern.result, expression)
    elif isinstance(expression, Apply) and expression.effect in FLAG_MEANINGS:
        yield from _compares(shape, pattern, expression, cost)
    else:
        register = machine.isa.registers.by_name(pattern.result)
        if register is not None and register.class_name:
            yield tile(register.class_name, pattern.result, expression)


def _has_other_result(shape: Shape, pattern: Pattern) -> bool:
    """Whether the instruction also writes an operand or memory that the pattern does not give."""
    return any(
        isinstance(a.target, Operand) and a.target.name != pattern.result for a in shape.effects
    )


_SWAPPED = {
    Effect.ICMP_SLT: Effect.ICMP_SGT, Effect.ICMP_SLE: Effect.ICMP_SGE,
    Effect.ICMP_ULT: Effect.ICMP_UGT, Effect.ICMP_ULE: Effect.ICMP_UGE,
    Effect.FCMP_OLT: Effect.FCMP_OGT, Effect.FCMP_OLE: Effect.FCMP_OGE,
    Effect.FCMP_ULT: Effect.FCMP_UGT, Effect.FCMP_ULE: Effect.FCMP_UGE,
}  # fmt: skip
SWAPPED_PREDICATES: Mapping[Effect, Effect] = _SWAPPED | {b: a for a, b in _SWAPPED.items()}
"""p(a, b) = SWAPPED_PREDICATES[p](b, a), for predicates that are not symmetric."""


def _compares(shape: Shape, pattern: Pattern, produced: Apply, cost: float) -> Iterator[Tile]:
    """One tile per condition that makes a comparison of what the instruction writes to the
    flags."""
    a, b = produced.arguments
    lanes = I1.with_lanes(a.type.lanes)
    for condition, meaning in FLAG_MEANINGS[produced.effect].items():
        goal = flags_goal(condition)
        if meaning.of_result:
            operation = PRODUCED_OPERATION[produced.effect]
            inner = Apply(operation, (a, b), a.type)
            compared: tuple[Expression, Expression] = (inner, Constant(0, a.type))
        else:
            compared = (a, b)
        expression = Apply(meaning.predicate, compared, lanes)
        tile = Tile(shape, pattern, goal, "", lanes, expression, cost)
        yield tile
        yield from _idempotent(tile)


def _idempotent(tile: Tile) -> Iterator[Tile]:
    """x and x is x: an instruction that tests a & b tests a when given it twice."""
    assert isinstance(tile.expression, Apply)
    inner = tile.expression.arguments[0]
    if not isinstance(inner, Apply) or inner.effect not in (Effect.AND, Effect.OR):
        return
    a, b = inner.arguments
    if not (isinstance(a, Operand) and isinstance(b, Operand)):
        return
    if tile.shape.by_name[a.name].kind is not tile.shape.by_name[b.name].kind:
        return
    expression = replace(tile.expression, arguments=(a, tile.expression.arguments[1]))
    yield replace(tile, expression=expression, rule="x & x is x", same=((b.name, a.name),))


def _derived(machine: Machine, tile: Tile) -> Iterator[Tile]:
    yield from _zero_extended(machine, tile)
    yield from _without_extension(tile)
    yield from _stored_low_part(tile)
    yield from _low_lane(machine, tile)


def _zero_extended(machine: Machine, tile: Tile) -> Iterator[Tile]:
    """A write that zeroes the rest of its register zero-extends the result."""
    if tile.result not in tile.shape.by_name or not tile.type.is_int or tile.type.is_vector:
        return
    kind = tile.shape.by_name[tile.result].kind
    register_class = machine.isa.registers.classes[kind.class_name]
    is_narrow = kind.bits < min(64, register_class.storage_bits)
    is_zeroing = register_class.views[kind.view].write_rule is WriteRule.ZERO_REST
    if not (is_narrow and is_zeroing and tile.type.bits == kind.bits):
        return
    if register_class.storage_bits > 64 or register_class.views[kind.view].bits != kind.bits:
        return
    inner = tile.expression
    if isinstance(inner, Constant):
        return
    if isinstance(inner, Apply) and inner.effect is Effect.ZEXT:
        inner = inner.arguments[0]
    elif (
        isinstance(inner, Operand) and tile.shape.by_name[inner.name].kind.role is not Role.REGISTER
    ):
        return
    expression = Apply(Effect.ZEXT, (inner,), I64)
    yield replace(tile, type=I64, expression=expression, rule="a narrow write zeroes the rest")


def _without_extension(tile: Tile) -> Iterator[Tile]:
    """The low part of an extended value is the value itself."""
    expression = tile.expression
    if not isinstance(expression, Apply) or expression.effect not in (Effect.ZEXT, Effect.SEXT):
        return
    inner = expression.arguments[0]
    is_scalar = not expression.type.is_vector and inner.type.bits >= 8
    if isinstance(inner, Apply) and is_scalar and tile.goal != STORE:
        yield replace(tile, type=inner.type, expression=inner, rule="low part of an extension")


def _stored_low_part(tile: Tile) -> Iterator[Tile]:
    """A store of a truncated register stores the narrow value that is in it."""
    expression = tile.expression
    if tile.goal != STORE or not isinstance(expression, Apply):
        return
    inner = expression.arguments[0]
    if expression.effect is Effect.TRUNC and isinstance(inner, Operand):
        narrow = replace(inner, type=expression.type)
        yield replace(tile, expression=narrow, rule="stores the low part")


_NARROWEST_VECTOR_BITS = 128
_LANEWISE_RULES = frozenset(
    {
        Rule.INT, Rule.FLOAT, Rule.ICMP, Rule.FCMP, Rule.SELECT, Rule.INT_WIDEN, Rule.INT_NARROW,
        Rule.FLOAT_WIDEN, Rule.FLOAT_NARROW, Rule.INT_TO_FLOAT, Rule.FLOAT_TO_INT,
    }
)  # fmt: skip


def _low_lane(machine: Machine, tile: Tile) -> Iterator[Tile]:
    """An operation on every lane computes its lowest lanes; the others do not matter."""
    if tile.result not in tile.shape.by_name or not tile.type.is_vector or tile.same:
        return
    nodes = list(walk(tile.expression))
    lanes = tile.type.lanes
    if any(isinstance(node, Apply) and not _is_lanewise(node, lanes) for node in nodes):
        return
    if not isinstance(tile.expression, Apply):
        return
    is_arithmetic = tile.expression.effect.rule is Rule.INT
    fewest = 2 if is_arithmetic and not is_bitwise(tile.expression.effect) else 1
    kinds = [o.kind for o in tile.shape.operands if o.kind.role is Role.REGISTER]
    if any(kind.class_name != tile.goal for kind in kinds):
        return
    if tile.type.total_bits > _NARROWEST_VECTOR_BITS:
        return
    while lanes > fewest:
        lanes //= 2
        expression = _narrowed(tile.expression, lanes)
        rule = "lowest lanes" if lanes > 1 else "lowest lane"
        yield replace(
            tile, type=expression.type, expression=expression, rule=rule, cost=tile.cost + 0.01
        )


def _is_lanewise(node: Apply, lanes: int) -> bool:
    return node.effect.rule in _LANEWISE_RULES and node.type.lanes == lanes


def _narrowed(expression: Expression, lanes: int) -> Expression:
    narrow = replace(expression, type=expression.type.with_lanes(lanes))
    if isinstance(narrow, Apply):
        return replace(narrow, arguments=tuple(_narrowed(a, lanes) for a in narrow.arguments))
    return narrow


def _commuted(tile: Tile) -> Iterator[Tile]:
    """The same instruction with the arguments of one commutative effect, or of a comparison,
    swapped."""
    for expression in _swaps(tile, tile.expression):
        yield replace(tile, expression=expression)


def _swaps(tile: Tile, expression: Expression) -> Iterator[Expression]:
    if not isinstance(expression, Apply):
        return
    arguments = expression.arguments
    if len(arguments) >= 2 and _is_worth_swapping(tile, expression):
        swapped = (arguments[1], arguments[0], *arguments[2:])
        if expression.effect in COMMUTATIVE or expression.effect is Effect.FMA:
            yield replace(expression, arguments=swapped)
        elif expression.effect in SWAPPED_PREDICATES:
            effect = SWAPPED_PREDICATES[expression.effect]
            yield replace(expression, effect=effect, arguments=swapped)
    for index, argument in enumerate(arguments):
        for inner in _swaps(tile, argument):
            changed = (*arguments[:index], inner, *arguments[index + 1 :])
            yield replace(expression, arguments=changed)


def _is_worth_swapping(tile: Tile, expression: Apply) -> bool:
    """Whether the first two arguments differ in what they accept: kind, or being overwritten."""
    a, b = expression.arguments[:2]
    if not (isinstance(a, Operand) and isinstance(b, Operand)):
        return True
    if expression.effect in SWAPPED_PREDICATES:
        return True
    kinds = tile.shape.by_name
    is_tied = tile.shape.facts.tied
    differs = kinds[a.name].kind is not kinds[b.name].kind
    return differs or (a.name in is_tied) != (b.name in is_tied)


def is_bitwise(effect: Effect) -> bool:
    """Whether lanes do not matter to the effect, only the number of bits."""
    return effect in BITWISE


def fixed_operands(expression: Expression) -> Iterator[Implicit]:
    """The fixed registers (not flags) that an expression reads."""
    for node in walk(expression):
        if isinstance(node, Implicit) and node.type.is_int:
            yield node
