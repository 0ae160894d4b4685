"""Tiles: what a machine's instructions cover, derived from the effects on their cards.

Every pattern of every shape becomes a tile: its goal says where the result lands (a register class,
the flags under a condition, memory, the program counter) and its expression what it computes;
`compiler.select.derivations` adds what follows from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from compiler.select.derivations import commuted, compares, derived
from compiler.select.tile import BRANCH, STORE, Goal, Tile
from isas.corefiles import core_micro_ops
from isas.cores import MicroOpRole
from isas.effects import Apply, Constant, Effect, Expression, Operand
from isas.flags import FLAG_MEANINGS
from isas.model import Machine, Pattern, Role, Shape
from isas.values import ValueType


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
    loads = [op for op in core_micro_ops(machine.core, shape) if op.role is MicroOpRole.LOAD]
    load_cycles = float(sum(op.latency for op in loads))
    for pattern in shape.patterns:
        for plain in _pattern_tiles(machine, shape, pattern, cost):
            tile = replace(plain, load_cycles=load_cycles) if loads else plain
            for variant in (tile, *derived(machine, tile)):
                yield variant
                yield from commuted(variant)


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
        yield from compares(shape, pattern, expression, cost)
    else:
        register = machine.isa.registers.by_name(pattern.result)
        if register is not None and register.class_name:
            yield tile(register.class_name, pattern.result, expression)


def _has_other_result(shape: Shape, pattern: Pattern) -> bool:
    """Whether the instruction also writes an operand or memory that the pattern does not give."""
    return any(
        isinstance(a.target, Operand) and a.target.name != pattern.result for a in shape.effects
    )
