"""`hob stages PROGRAM`: print the program at every stage of the road, with the decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands.options import (
    DEFAULT_MACHINE,
    ArgumentsOption,
    FastMathOption,
    FuseOption,
    MachineOption,
    ProgramArgument,
    RegistersOption,
    StrictOption,
    machine_and_options,
    words_of,
)

if TYPE_CHECKING:
    from compiler.compilation import Compilation, Stage
    from lab.words.words import Words


def stages(
    context: typer.Context,
    program: ProgramArgument,
    args: ArgumentsOption = None,
    machine: MachineOption = DEFAULT_MACHINE,
    stage: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this stage, such as selected.")
    ] = None,
    why: Annotated[bool, typer.Option("--why", help="Also print the decisions taken.")] = False,
    registers: RegistersOption = None,
    fuse: FuseOption = True,
    strict_order: StrictOption = False,
    fast_math: FastMathOption = False,
) -> int:
    """Print PROGRAM at every stage from HLO to assembly."""
    from lab import road
    from lab.models import load_program

    wanted = _wanted(stage)
    module = load_program(program, args or ()).module
    chosen, options = machine_and_options(machine, registers, fuse, strict_order, fast_math)
    compilation = road.compile(module, chosen, options)
    words = words_of(context)
    for each in wanted:
        _print(compilation, each, words if why else None, with_title=stage is None)
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


def _print(compilation: Compilation, stage: Stage, words: Words | None, with_title: bool) -> None:
    if with_title:
        seconds = compilation.seconds.get(stage, 0.0)
        typer.echo(f"━━ {stage} ━━ {seconds * 1000:.1f} ms ━━")
    typer.echo(str(compilation.documents[stage]))
    if words is not None:
        for entry in compilation.journal.of_stage(stage.value):
            said = words.decision(entry.decision)
            typer.echo(f"  {words('why')} {entry.pass_name}: {said}")
    if with_title:
        typer.echo("")
