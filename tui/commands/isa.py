"""`hob isa check PATH`: check the cards, registers and cores of a folder."""

from __future__ import annotations

from typing import Annotated

import typer

from tui.commands.options import words_of

app = typer.Typer(help="Work on machine descriptions.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _isa() -> None:
    """Work on machine descriptions."""


@app.command("check")
def check(
    context: typer.Context,
    path: Annotated[
        str, typer.Argument(help="An ISA's folder, or the name of one of ours.", metavar="PATH")
    ],
) -> int:
    """Check every card and core of a folder; exit 2 where something is wrong."""
    from pathlib import Path

    import isas
    from isas.catalogue import isa_names
    from isas.check import check_path

    is_ours = path in isa_names() and not Path(path).exists()
    report = check_path(Path(isas.__file__).parent / path if is_ours else path)
    words = words_of(context)
    typer.echo(report.told(words, words.error), err=not report.is_fine)
    return 0 if report.is_fine else 2
