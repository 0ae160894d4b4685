"""`hob run PROGRAM`: compile, run cycle by cycle, compare with the evaluator, report."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from tui.commands.options import (
    DEFAULT_MACHINE,
    AbsoluteToleranceOption,
    ArgumentsOption,
    FastMathOption,
    FuseOption,
    InputsOption,
    JsonOption,
    MachineOption,
    OutputsOption,
    ProgramArgument,
    RegistersOption,
    RelativeToleranceOption,
    SeedOption,
    StrictOption,
    machine_and_options,
    words_of,
)


def run(
    context: typer.Context,
    program: ProgramArgument,
    args: ArgumentsOption = None,
    inputs: InputsOption = None,
    outputs: OutputsOption = None,
    machine: MachineOption = DEFAULT_MACHINE,
    registers: RegistersOption = None,
    rtol: RelativeToleranceOption = None,
    atol: AbsoluteToleranceOption = None,
    seed: SeedOption = 0,
    fuse: FuseOption = True,
    strict_order: StrictOption = False,
    fast_math: FastMathOption = False,
    as_json: JsonOption = False,
) -> int:
    """Compile PROGRAM, run it on a machine, check the results, and say where the cycles went."""
    from lab import arrays, road
    from lab.compare import Tolerance
    from lab.models import load_program
    from lab.report_text import document

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
        typer.echo(str(document(report, words_of(context))))
    return 0 if report.passed else 1
