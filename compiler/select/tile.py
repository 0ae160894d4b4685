"""One tile: an instruction shape seen as something that covers a tree."""

from __future__ import annotations

from dataclasses import dataclass

from isas.effects import BITWISE, Apply, Effect, Expression, walk
from isas.model import Pattern, Shape
from isas.values import ValueType

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
    (see `shape_cost`), `load_cycles` the part of it that is a load's latency. `rule` names the
    derivation, "" where the card says it itself."""

    shape: Shape
    pattern: Pattern
    goal: Goal
    result: str
    type: ValueType
    expression: Expression
    cost: float
    rule: str = ""
    same: tuple[tuple[str, str], ...] = ()
    load_cycles: float = 0.0

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


def is_bitwise(effect: Effect) -> bool:
    """Whether lanes do not matter to the effect, only the number of bits."""
    return effect in BITWISE
