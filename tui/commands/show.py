"""`hob show SCREEN PROGRAM`: a screen of the terminal application as text, SVG or PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tui.commands.files import write_file
from tui.commands.options import (
    DEFAULT_MACHINE,
    ArgumentsOption,
    InputsOption,
    MachineOption,
    OptionalProgramArgument,
    RegistersOption,
    machine_and_options,
    words_of,
)


def show(
    context: typer.Context,
    screen: Annotated[
        str, typer.Argument(metavar="SCREEN", help="start, compile, registers or run.")
    ],
    program: OptionalProgramArgument = None,
    machine: MachineOption = DEFAULT_MACHINE,
    args: ArgumentsOption = None,
    registers: RegistersOption = None,
    inputs: InputsOption = None,
    svg: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where to write an SVG picture.")
    ] = None,
    png: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where to write a PNG picture.")
    ] = None,
    text: Annotated[
        bool, typer.Option("--text", help="Print it as text (also without --svg and --png).")
    ] = False,
    size: Annotated[str, typer.Option(metavar="WxH", help="Columns and rows.")] = "120x36",
    keys: Annotated[
        str, typer.Option(metavar="KEY,...", help="Keys to press first, such as down,down,n.")
    ] = "",
) -> int:
    """Show a screen of the terminal application without a terminal."""
    from tui.pictures.png import png_of
    from tui.pictures.shot import take_shot
    from tui.session import Request

    _, options = machine_and_options(machine, registers)
    request = None
    if program is not None:
        request = Request(program, machine, options, inputs, arguments=tuple(args or ()))
    pressed = read_keys(keys)
    shot = take_shot(screen, request, words_of(context).language, read_size(size), pressed)
    title = " ".join(part for part in ("hob", screen, Path(program or "").name) if part)
    if svg is not None:
        write_file(svg, shot.svg(title).encode())
    if png is not None:
        write_file(png, png_of(shot.svg(title)))
    if text or (svg is None and png is None):
        typer.echo(shot.text)
    return 0


def read_size(text: str) -> tuple[int, int]:
    """`120x36` as columns and rows. Raises InputError for anything else, and below 80x24."""
    from isas.errors import InputError

    columns, cross, rows = text.lower().partition("x")
    if not (cross and columns.isdigit() and rows.isdigit() and len(columns + rows) < 9):
        raise InputError(f"'{text}' is not COLUMNSxROWS", where="--size", hint="such as 120x36")
    if int(columns) < 80 or int(rows) < 24 or int(columns) > 1000 or int(rows) > 1000:
        raise InputError(f"{text} is not between 80x24 and 1000x1000", where="--size")
    return int(columns), int(rows)


def read_keys(text: str) -> list[str]:
    """`tab,ctrl+p,n` as keys. Raises InputError for a name that no key has."""
    from textual.keys import Keys

    from isas.errors import InputError

    found = [key.strip() for key in text.split(",") if key.strip()]
    names = {key.value for key in Keys}
    for key in found:
        last = key.rpartition("+")[2]
        if not (key in names or last in names or len(last) <= 1 or "_" in last):
            raise InputError(
                f"there is no key '{key}'", where="--keys", hint="such as down,enter,ctrl+p,n"
            )
    return found
