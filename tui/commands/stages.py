"""`hob stages PROGRAM`: print the program at every stage of the road, with the decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands.options import (
    DEFAULT_MACHINE,
    FuseOption,
    MachineOption,
    RegistersOption,
    StrictOption,
    machine_and_options,
)

if TYPE_CHECKING:
    from compiler.compilation import Compilation, Stage


def stages(
    program: Annotated[str, typer.Argument(help="An HLO text file.", metavar="PROGRAM")],
    machine: MachineOption = DEFAULT_MACHINE,
    stage: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this stage, such as selected.")
    ] = None,
    why: Annotated[bool, typer.Option("--why", help="Also print the decisions taken.")] = False,
    registers: RegistersOption = None,
    fuse: FuseOption = True,
    strict_order: StrictOption = False,
) -> int:
    """Print PROGRAM at every stage from HLO to assembly."""
    from lab import road

    wanted = _wanted(stage)
    module = road.load(program)
    chosen, options = machine_and_options(machine, registers, fuse, strict_order)
    compilation = road.compile(module, chosen, options)
    for each in wanted:
        _print(compilation, each, why, with_title=stage is None)
    return 0


def _wanted(name: str | None) -> list[Stage]:
    from compiler.compilation import Stage
    from isas.errors import InputError

    if name is None:
        return list(Stage)
    known = {stage.value: stage for stage in Stage}
    if name not in known:
        raise InputError(f"unknown stage '{name}'", where="--stage", hint=", ".join(known))
    return [known[name]]


def _print(compilation: Compilation, stage: Stage, why: bool, with_title: bool) -> None:
    if with_title:
        seconds = compilation.seconds.get(stage, 0.0)
        typer.echo(f"━━ {stage} ━━ {seconds * 1000:.1f} ms ━━")
    typer.echo(str(compilation.documents[stage]))
    if why:
        for entry in compilation.journal.of_stage(stage.value):
            typer.echo(f"  why {entry.pass_name}: {entry.decision}")
    if with_title:
        typer.echo("")
