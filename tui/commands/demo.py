"""`hob demo`: the invitation. Two programs on every machine, on one screen."""

from __future__ import annotations

import typer


def demo() -> int:
    """Show two small programs on every machine, in one screen."""
    from lab.demo import demo_document

    typer.echo(str(demo_document()))
    return 0
