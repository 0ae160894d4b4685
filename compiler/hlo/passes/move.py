"""Motion of reshapes, transposes, broadcasts and slices: moves meet, cancel, or come later.

Two moves in a row become one, a move of what is the same everywhere disappears, a slice reaches
through to the part it takes, and elementwise work on moved or broadcast values is done before the
move, where there are fewer elements or where another move may cancel this one.
"""

from __future__ import annotations

from compiler.hlo.algebra import movement, spreading
from compiler.hlo.algebra.apply import apply_rules, joined
from compiler.hlo.module import Module
from compiler.hlo.passes.context import PassContext

_RULES = joined((movement.RULES, spreading.RULES))


def run(module: Module, context: PassContext) -> Module:
    """Moves data movement in all computations that the entry needs."""
    return apply_rules(module, _RULES, context.record)
