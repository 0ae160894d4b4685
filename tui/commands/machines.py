"""`hob machines`: the machines that come with Hob, and where their figures come from."""

from __future__ import annotations

import typer


def machines() -> int:
    """List the machines and the sources of their figures."""
    import isas

    for name in isas.machine_names():
        machine = isas.load_machine(name)
        core = machine.core
        typer.echo(f"{name:<18} {core.title}")
        for text in core.sources.splitlines():
            typer.echo(f"    {text}")
    return 0
