"""`hob passes PROGRAM`: the tensor-level passes one by one, what each changed and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tui.commands.options import (
    ArgumentsOption,
    FastMathOption,
    FuseOption,
    OptionalProgramArgument,
    words_of,
)


def passes(
    context: typer.Context,
    program: OptionalProgramArgument = None,
    only: Annotated[str | None, typer.Option(metavar="NAME", help="Run this pass alone.")] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Print how the HLO text changes.")] = False,
    why: Annotated[bool, typer.Option("--why", help="Print the decisions taken.")] = False,
    list_all: Annotated[
        bool, typer.Option("--list", help="List the passes and why each stands there.")
    ] = False,
    fuse: FuseOption = True,
    fast_math: FastMathOption = False,
    args: ArgumentsOption = None,
) -> int:
    """Run the tensor-level passes on PROGRAM: seconds, instructions, launches, decisions."""
    from compiler.options import Options
    from lab import pass_table as view
    from lab.models import load_program

    words = words_of(context)
    if list_all:
        typer.echo(str(view.list_document(words)))
        return 0
    module = load_program(_given(program), args or ()).module
    runs = view.traced(module, Options(fuse=fuse, fast_math=fast_math), only)
    parts = [view.table_document(Path(_given(program)).name, runs, words)]
    if why:
        parts.append(view.why_document(runs, words))
    if diff:
        parts.append(view.diff_document(runs, only, words))
    typer.echo("\n\n".join(text for text in map(str, parts) if text))
    return 0


def _given(program: str | None) -> str:
    from isas.errors import InputError

    if program is None:
        raise InputError("no program is given", hint="hob passes PROGRAM, or hob passes --list")
    return program
