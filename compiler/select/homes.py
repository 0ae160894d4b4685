"""Where values live: the register class that holds each type between instructions."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from compiler.select.tile import Goal
from compiler.select.tiles import TileSet
from isas.effects import Effect
from isas.errors import UnsupportedError
from isas.values import ValueType


def homes_of(tiles: TileSet) -> Callable[[ValueType], Goal]:
    """The class that each type's values live in: where floats are added, where integers are added,
    where comparisons land (vectors of conditions: only where a comparison gives them as such).
    Vectors live with the floats of their width. Conditions that no register can
    hold have no home ("").

    The function raises UnsupportedError for a type that no class of the machine can hold."""

    @lru_cache(maxsize=256)
    def home(type: ValueType) -> Goal:
        found = _home(tiles, type)
        if found is None:
            raise UnsupportedError(
                f"{tiles.machine.name} has no registers for values of type {type}"
            )
        return found

    return home


def _home(tiles: TileSet, type: ValueType) -> Goal | None:
    candidates: tuple[Goal, ...]
    if type.is_int and type.bits == 1 and type.is_vector:
        # Not the scalar registers that happen to be as wide: nothing compares into those.
        candidates = _goals(tiles, Effect.ICMP_EQ, type)
    elif type.is_int and type.bits == 1:
        candidates = (*_goals(tiles, Effect.ICMP_EQ, type), "")
    elif type.is_vector or type.is_float:
        candidates = _goals(tiles, Effect.FADD, None)
    else:
        candidates = tuple(
            tile.goal
            for tile in tiles.rooted(Effect.ADD)
            if not tile.type.is_vector and not tile.rule
        )
    return candidates[0] if candidates else None


def _goals(tiles: TileSet, effect: Effect, type: ValueType | None) -> tuple[Goal, ...]:
    """The register classes that an effect's results land in."""
    return tuple(
        tile.goal
        for tile in tiles.rooted(effect)
        if (type is None or tile.type == type) and not tile.goal.startswith("flags:")
    )
