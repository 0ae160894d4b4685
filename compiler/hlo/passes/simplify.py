"""Algebraic simplification: identities of numbers, truth values, tuples and reductions; arrays
without elements.

The rules live in `compiler.hlo.algebra`, by subject. Each holds for every value, NaN,
infinities and the sign of zero included; with `fast_math` those of `compiler.hlo.algebra.fast`,
which do not, are tried as well. Layouts play no part here; `normalize` has taken them out of
the way.
"""

from __future__ import annotations

from compiler.hlo.algebra import arithmetic, empty, fast, logic, structure
from compiler.hlo.algebra.apply import apply_rules, joined
from compiler.hlo.module import Module
from compiler.hlo.passes.context import PassContext

_STRICT = joined((empty.RULES, arithmetic.RULES, logic.RULES, structure.RULES))
_FAST = joined((_STRICT, fast.RULES))


def run(module: Module, context: PassContext) -> Module:
    """Simplifies all computations that the entry needs."""
    return apply_rules(module, _FAST if context.options.fast_math else _STRICT, context.record)
