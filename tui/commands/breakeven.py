"""`hob breakeven PROGRAM`: after how many calls compiling pays, against one operation at a time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands.options import (
    DEFAULT_MACHINE,
    ArgumentsOption,
    JsonOption,
    MachineOption,
    ProgramArgument,
    RegistersOption,
    machine_and_options,
    words_of,
)

if TYPE_CHECKING:
    from isas.model import Machine
    from lab.breakeven import Overheads


def breakeven(
    context: typer.Context,
    program: ProgramArgument,
    machine: MachineOption = DEFAULT_MACHINE,
    registers: RegistersOption = None,
    dispatch: Annotated[
        float | None,
        typer.Option(metavar="US", help="Microseconds to dispatch an operation.", min=0.0),
    ] = None,
    launch: Annotated[
        float | None, typer.Option(metavar="US", help="Microseconds per launch.", min=0.0)
    ] = None,
    as_json: JsonOption = False,
    args: ArgumentsOption = None,
) -> int:
    """Compare PROGRAM run operation by operation with compiled: when does compiling pay?"""
    from lab import breakeven as view
    from lab.models import load_program

    source = load_program(program, args or ())
    chosen, options = machine_and_options(machine, registers)
    overheads = _overheads(chosen, dispatch, launch)
    title = Path(program).name
    found = view.breakeven(source.module, chosen, options, title, overheads, source.data(None, 0))
    typer.echo(
        json.dumps(found.as_json()) if as_json else str(view.document(found, words_of(context)))
    )
    return 0 if found.matches else 1


def _overheads(machine: Machine, dispatch: float | None, launch: float | None) -> Overheads:
    """The machine's, with what the user gave in microseconds."""
    from lab.breakeven import overheads_of

    found = overheads_of(machine)
    if dispatch is not None:
        found = replace(found, dispatch_seconds=dispatch * 1e-6)
    if launch is not None:
        found = replace(found, launch_seconds=launch * 1e-6)
    return found
