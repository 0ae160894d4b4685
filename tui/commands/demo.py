"""`hob demo`: the invitation. Two programs on every machine, on one screen."""

from __future__ import annotations

import typer

from tui.commands.options import words_of


def demo(context: typer.Context) -> int:
    """Show two small programs on every machine, in one screen."""
    from lab.demo import demo_document

    typer.echo(str(demo_document(words_of(context))))
    return 0
