"""`hob buffers PROGRAM`: where every array lies in memory and when, and what sets the peak."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tui.commands.options import ArgumentsOption, FastMathOption, FuseOption


def buffers(
    program: Annotated[
        str,
        typer.Argument(help="An HLO or StableHLO file, or model.py:function.", metavar="PROGRAM"),
    ],
    memory: Annotated[
        str | None, typer.Option(metavar="16GiB", help="Say whether the program fits in it.")
    ] = None,
    svg: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the picture as SVG as well.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document instead.")] = False,
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
    report = memory_report(module, options, Path(program).name, available)
    if svg is not None:
        from compiler.buffers.svg import svg as drawn

        _write(svg, drawn(report.assignment, report.title))
    typer.echo(json.dumps(report.as_json()) if as_json else str(document(report)))
    return 0


def _write(path: str, text: str) -> None:
    from isas.errors import InputError

    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write ({error.strerror})", path) from None
