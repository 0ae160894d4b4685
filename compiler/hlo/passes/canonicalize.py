"""Dots and convolutions in one spelling, so that lowering meets few forms.

What an operand's transpose, reversal or padding says, the dimension numbers and the window of the
product can say for nothing; a convolution whose window is one element is a dot.
"""

from __future__ import annotations

from compiler.hlo.algebra import products
from compiler.hlo.algebra.apply import apply_rules
from compiler.hlo.module import Module
from compiler.hlo.passes.context import PassContext


def run(module: Module, context: PassContext) -> Module:
    """Canonicalises products in all computations that the entry needs."""
    return apply_rules(module, products.RULES, context.record)
