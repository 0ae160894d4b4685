"""StableHLO text: `read_stablehlo`, `parse_stablehlo`, and `print_stablehlo` for the way back."""

from compiler.frontend.stablehlo.printing import print_stablehlo
from compiler.frontend.stablehlo.read import (
    is_stablehlo,
    parse_each,
    parse_programs,
    parse_stablehlo,
    read_programs,
    read_stablehlo,
)

__all__ = [
    "is_stablehlo",
    "parse_each",
    "parse_programs",
    "parse_stablehlo",
    "print_stablehlo",
    "read_programs",
    "read_stablehlo",
]
