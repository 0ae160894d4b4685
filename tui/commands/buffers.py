"""`hob buffers PROGRAM`: where every array lies in memory and when, and what sets the peak."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tui.commands.files import write_file
from tui.commands.options import (
    ArgumentsOption,
    FastMathOption,
    FuseOption,
    JsonOption,
    ProgramArgument,
    has_colours,
    words_of,
)


def buffers(
    context: typer.Context,
    program: ProgramArgument,
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Say whether the program fits in it, such as 16GiB."),
    ] = None,
    svg: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the picture as SVG as well.")
    ] = None,
    as_json: JsonOption = False,
    fuse: FuseOption = True,
    fast_math: FastMathOption = False,
    args: ArgumentsOption = None,
) -> int:
    """Draw the memory of PROGRAM, offset by time, and say what its peak is made of."""
    from compiler.options import Options
    from lab.memory import document, memory_report, read_bytes
    from lab.models import load_program

    available = None if memory is None else read_bytes(memory)
    module = load_program(program, args or ()).module
    options = Options(fuse=fuse, fast_math=fast_math)
    words = words_of(context)
    report = memory_report(module, options, Path(program).name, available)
    if svg is not None:
        from compiler.buffers.svg import svg as drawn

        write_file(svg, drawn(report.assignment, report.title, words, has_colours()))
    typer.echo(json.dumps(report.as_json()) if as_json else str(document(report, words)))
    return 0
