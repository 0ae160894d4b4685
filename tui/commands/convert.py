"""`hob convert A.mlir B.hlo`: from StableHLO text to HLO text, and back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands.files import write_file

if TYPE_CHECKING:
    from compiler.hlo.module import Module

HLO_SUFFIXES = (".hlo", ".txt")
STABLEHLO_SUFFIXES = (".mlir", ".stablehlo")


def convert(
    source: Annotated[str, typer.Argument(help="The file to read.", metavar="SOURCE")],
    target: Annotated[
        str,
        typer.Argument(help="The file to write: .hlo or .mlir; - prints HLO.", metavar="TARGET"),
    ],
) -> int:
    """Convert between HLO and StableHLO text, by the suffix of TARGET."""
    from lab import road

    text = _printed(road.load(source), target)
    if target == "-":
        typer.echo(text, nl=False)
        return 0
    write_file(target, text)
    return 0


def _printed(module: Module, target: str) -> str:
    from compiler.frontend.stablehlo import print_stablehlo
    from compiler.hlo.text import print_module
    from isas.errors import InputError

    suffix = Path(target).suffix.lower()
    if target == "-" or suffix in HLO_SUFFIXES:
        return print_module(module)
    if suffix in STABLEHLO_SUFFIXES:
        return print_stablehlo(module)
    known = ", ".join((*HLO_SUFFIXES, *STABLEHLO_SUFFIXES))
    raise InputError(f"'{suffix or target}' names no format", target, f"end it with {known}")
