"""`hob machines`: the machines that come with Hob, and where their figures come from."""

from __future__ import annotations

import textwrap

import typer


def machines() -> int:
    """List the machines and the sources of their figures."""
    import isas

    for name in isas.machine_names():
        machine = isas.load_machine(name)
        core = machine.core
        typer.echo(f"{name:<18} {core.title}")
        words = " ".join(core.sources.split())
        typer.echo(textwrap.fill(words, 100, initial_indent="    ", subsequent_indent="    "))
    return 0
