"""`hob run PROGRAM`: compile, run cycle by cycle, compare with the evaluator, report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tui.commands.options import (
    DEFAULT_MACHINE,
    ArgumentsOption,
    FastMathOption,
    FuseOption,
    MachineOption,
    RegistersOption,
    StrictOption,
    machine_and_options,
    words_of,
)


def run(
    context: typer.Context,
    program: Annotated[
        str,
        typer.Argument(help="An HLO or StableHLO file, or model.py:function.", metavar="PROGRAM"),
    ],
    args: ArgumentsOption = None,
    inputs: Annotated[
        str | None,
        typer.Option(metavar="FILE.npz", help="in0, in1, ... (and out0, ... to compare with)."),
    ] = None,
    outputs: Annotated[
        str | None, typer.Option(metavar="FILE.npz", help="Where to write the machine's out0, ...")
    ] = None,
    machine: MachineOption = DEFAULT_MACHINE,
    registers: RegistersOption = None,
    rtol: Annotated[float | None, typer.Option(help="Relative tolerance.", min=0.0)] = None,
    atol: Annotated[float | None, typer.Option(help="Absolute tolerance.", min=0.0)] = None,
    seed: Annotated[
        int, typer.Option(help="Seed of the inputs drawn without --inputs.", min=0)
    ] = 0,
    fuse: FuseOption = True,
    strict_order: StrictOption = False,
    fast_math: FastMathOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document instead.")] = False,
) -> int:
    """Compile PROGRAM, run it on a machine, check the results, and say where the cycles went."""
    from lab import arrays, road
    from lab.compare import Tolerance
    from lab.models import load_program
    from lab.report import document

    source = load_program(program, args or ())
    chosen, options = machine_and_options(machine, registers, fuse, strict_order, fast_math)
    given = source.data(inputs, seed)
    result = road.run(source.module, chosen, options, data=given, tolerance=Tolerance(rtol, atol))
    report = road.report(result, title=Path(program).name)
    if outputs is not None:
        arrays.write_npz(outputs, result.outputs)
    if as_json:
        print(json.dumps(report.as_json()))
    else:
        typer.echo(str(document(report, words_of(context).told)))
    return 0 if report.passed else 1
