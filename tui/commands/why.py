"""`hob why PROGRAM NAME`: what is inside a kernel, why it ends there; where an instruction went."""

from __future__ import annotations

from typing import Annotated

import typer

from tui.commands.options import (
    DEFAULT_MACHINE,
    ArgumentsOption,
    FastMathOption,
    FuseOption,
    MachineOption,
    ProgramArgument,
    words_of,
)


def why(
    context: typer.Context,
    program: ProgramArgument,
    name: Annotated[
        str,
        typer.Argument(help="A kernel (fusion.3) or an instruction (exp.1).", metavar="NAME"),
    ],
    machine: MachineOption = DEFAULT_MACHINE,
    cycles: Annotated[
        bool | None,
        typer.Option("--cycles/--no-cycles", help="Run for the cycles (small programs: always)."),
    ] = None,
    fuse: FuseOption = True,
    fast_math: FastMathOption = False,
    args: ArgumentsOption = None,
) -> int:
    """Explain a kernel, or where an instruction of PROGRAM went, down to machine code."""
    import isas
    from compiler.options import Options
    from lab.models import load_program
    from lab.why import why_document

    module = load_program(program, args or ()).module
    options = Options(fuse=fuse, fast_math=fast_math)
    chosen = isas.load_machine(machine)
    typer.echo(str(why_document(module, name, chosen, options, cycles, words_of(context))))
    return 0
