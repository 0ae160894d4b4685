"""What instructions compute beside what their cards spell out.

Each derivation is keyed by effects and register views, never by an ISA or a mnemonic, and has a
name that decisions show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from compiler.select.tile import STORE, Tile, flags_goal, is_bitwise
from isas.effects import COMMUTATIVE, Apply, Constant, Effect, Expression, Operand, Rule, walk
from isas.flags import FLAG_MEANINGS, PRODUCED_OPERATION
from isas.model import Machine, Pattern, Role, Shape
from isas.registers import WriteRule
from isas.values import I1, I64

_SWAPPED = {
    Effect.ICMP_SLT: Effect.ICMP_SGT, Effect.ICMP_SLE: Effect.ICMP_SGE,
    Effect.ICMP_ULT: Effect.ICMP_UGT, Effect.ICMP_ULE: Effect.ICMP_UGE,
    Effect.FCMP_OLT: Effect.FCMP_OGT, Effect.FCMP_OLE: Effect.FCMP_OGE,
    Effect.FCMP_ULT: Effect.FCMP_UGT, Effect.FCMP_ULE: Effect.FCMP_UGE,
}  # fmt: skip
SWAPPED_PREDICATES: Mapping[Effect, Effect] = _SWAPPED | {b: a for a, b in _SWAPPED.items()}
"""p(a, b) = SWAPPED_PREDICATES[p](b, a), for predicates that are not symmetric."""


def compares(shape: Shape, pattern: Pattern, produced: Apply, cost: float) -> Iterator[Tile]:
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


def derived(machine: Machine, tile: Tile) -> Iterator[Tile]:
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


def commuted(tile: Tile) -> Iterator[Tile]:
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
