"""What selection decides, as journal records. Costs are cycles (`tiles.shape_cost`)."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.journal import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class TileChosen(Decision):
    """The instruction at the root of a value's tree, among those that fit."""

    cost_cycles: float
    covers: str

    @property
    def template(self) -> str:
        return "{subject}: {chosen} covers {covers} for {cost_cycles:.2f} cycles, because {because}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantPlaced(Decision):
    """Where a constant that is used often is kept."""

    uses: int

    @property
    def template(self) -> str:
        return "constant {subject}, used {uses} times: {chosen}, because {because}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeSplit(Decision):
    """Copies for phis that got a block of their own."""

    @property
    def template(self) -> str:
        return "edge {subject}: {chosen}, because {because}"
