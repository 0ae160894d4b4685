"""Turns chosen tiles into journal records, with what else would have fitted."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.journal import Alternative
from compiler.llvm import ir
from compiler.select.choices import Tiled
from compiler.select.decisions import TileChosen
from compiler.select.nodes import Node, NodeKind
from compiler.select.tile import Tile

MOST_ALTERNATIVES = 6


def tile_decision(node: Node, choice: Tiled, fitted: Iterable[tuple[Tile, float]]) -> TileChosen:
    """The decision for a tree's root; `fitted` are all tiles that matched there, with costs."""
    others = _others(choice, fitted)
    value = node.value
    return TileChosen(
        subject=_title(node),
        origins=value.origins if isinstance(value, ir.Instruction) else (),
        chosen=choice.tile.title,
        cost_cycles=round(choice.cost, 3),
        covers=_covers(choice),
        because=_because(choice, others),
        alternatives=tuple(
            Alternative(name=tile.title, cost=round(cost, 3)) for tile, cost in others
        ),
    )


def _title(node: Node) -> str:
    is_store = node.kind is NodeKind.STORE and node.value is not None
    return ir.subject_of(node.value) if is_store and node.value is not None else node.title


def _others(choice: Tiled, fitted: Iterable[tuple[Tile, float]]) -> list[tuple[Tile, float]]:
    """The other instructions that give the same, each once, cheapest first."""
    best: dict[int, tuple[Tile, float]] = {}
    for tile, cost in fitted:
        if tile.shape is choice.tile.shape or tile.goal != choice.tile.goal:
            continue
        known = best.get(tile.shape.id)
        if known is None or cost < known[1]:
            best[tile.shape.id] = (tile, cost)
    return sorted(best.values(), key=lambda item: (item[1], item[0].shape.id))[:MOST_ALTERNATIVES]


def _covers(choice: Tiled) -> str:
    names = [str(n.effect or n.kind.value) for n in choice.covered]
    return " + ".join(names) or "its value"


def _because(choice: Tiled, others: list[tuple[Tile, float]]) -> str:
    if not others:
        return "nothing else fits"
    best = others[0]
    if best[1] > choice.cost + 1e-9:
        return f"the next best, {best[0].title}, costs {best[1]:.2f}"
    return f"it comes first among equals with {best[0].title}"
