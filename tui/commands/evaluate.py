"""`hob evaluate PROGRAM`: run the NumPy evaluator alone, honour the program's own checks."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tui.commands.options import ArgumentsOption


def evaluate(
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
        str | None, typer.Option(metavar="FILE.npz", help="Where to write out0, out1, ...")
    ] = None,
    rtol: Annotated[float | None, typer.Option(help="Relative tolerance.", min=0.0)] = None,
    atol: Annotated[float | None, typer.Option(help="Absolute tolerance.", min=0.0)] = None,
    seed: Annotated[
        int, typer.Option(help="Seed of the inputs drawn without --inputs.", min=0)
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document instead.")] = False,
) -> int:
    """Evaluate PROGRAM with NumPy; exit 1 when a check or an expected output disagrees."""
    from lab import arrays
    from lab.compare import Tolerance
    from lab.evaluation import evaluate_file

    report = evaluate_file(program, inputs, Tolerance(rtol, atol), seed, args or ())
    if outputs is not None:
        arrays.write_npz(outputs, report.outputs)
    if as_json:
        print(json.dumps(report.as_json()))
    else:
        typer.echo(str(report))
    return 0 if report.passed else 1
