"""`hob evaluate PROGRAM`: run the NumPy evaluator alone, honour the program's own checks."""

from __future__ import annotations

import json

import typer

from tui.commands.options import (
    AbsoluteToleranceOption,
    ArgumentsOption,
    InputsOption,
    JsonOption,
    OutputsOption,
    ProgramArgument,
    RelativeToleranceOption,
    SeedOption,
    words_of,
)


def evaluate(
    context: typer.Context,
    program: ProgramArgument,
    args: ArgumentsOption = None,
    inputs: InputsOption = None,
    outputs: OutputsOption = None,
    rtol: RelativeToleranceOption = None,
    atol: AbsoluteToleranceOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> int:
    """Evaluate PROGRAM with NumPy; exit 1 when a check or an expected output disagrees.

    Every program of a file runs; the exit is 2 when one of them cannot."""
    from lab import arrays
    from lab.compare import Tolerance
    from lab.evaluation import evaluate_file

    report = evaluate_file(program, inputs, Tolerance(rtol, atol), seed, args or ())
    if outputs is not None:
        arrays.write_npz(outputs, report.outputs)
    if as_json:
        print(json.dumps(report.as_json()))
    else:
        typer.echo(report.text(words_of(context)))
    if report.refused:
        return 2
    return 0 if report.passed else 1
