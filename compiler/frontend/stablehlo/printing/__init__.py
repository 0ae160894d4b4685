"""Prints HLO modules as StableHLO text: `print_stablehlo`."""

from compiler.frontend.stablehlo.printing.functions import print_stablehlo

__all__ = ["print_stablehlo"]
