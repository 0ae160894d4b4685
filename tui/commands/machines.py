"""`hob machines`: the machines that come with Hob, and where their figures come from."""

from __future__ import annotations

import typer

from tui.commands.options import words_of


def machines(context: typer.Context) -> int:
    """List the machines and the sources of their figures."""
    import isas
    from lab.words.width import wrapped

    words = words_of(context)
    for name in isas.machine_names():
        machine = isas.load_machine(name)
        core = machine.core
        typer.echo(f"{name:<18} {core.title}")
        for line in wrapped(words(" ".join(core.sources.split())), 96):
            typer.echo(f"    {line}")
    return 0
