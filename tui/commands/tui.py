"""`hob tui [PROGRAM]`: the terminal application, in the terminal or in the browser."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

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


def tui(
    context: typer.Context,
    program: OptionalProgramArgument = None,
    machine: MachineOption = DEFAULT_MACHINE,
    args: ArgumentsOption = None,
    registers: RegistersOption = None,
    inputs: InputsOption = None,
    serve: Annotated[bool, typer.Option("--serve", help="Show it in the browser.")] = False,
    host: Annotated[
        str, typer.Option(help="With --serve: the address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="With --serve: the port.", min=1, max=65535)] = 8000,
) -> int:
    """Explore a program in the terminal: its stages, its registers, its every cycle."""
    from lab.models import load_program
    from tui.session import Request

    _, options = machine_and_options(machine, registers)
    words = words_of(context)
    if program is not None:
        load_program(program, args or ())
    if serve:
        from tui.serving import serve as run_server

        arguments = _own_arguments(program, machine, registers, inputs, args or ())
        run_server([*arguments, "--lang", words.language.value], host, port, words)
        return 0
    _check_terminal()
    from tui.app import HobApp
    from tui.recent import remember

    request = None
    if program is not None:
        remember(program)
        request = Request(program, machine, options, inputs, arguments=tuple(args or ()))
    view = HobApp(request, words.language, machine)
    view.run()
    return view.return_code or 0


def _check_terminal() -> None:
    """Raises InputError where no keys can arrive; a browser session names a driver of its own."""
    from isas.errors import InputError

    if not (sys.stdin.isatty() or os.environ.get("TEXTUAL_DRIVER")):
        raise InputError(
            "hob tui needs a terminal, and there is none here",
            hint="hob show SCREEN draws a screen without one",
        )


def _own_arguments(
    program: str | None,
    machine: str,
    registers: str | None,
    inputs: str | None,
    shapes: Sequence[str],
) -> list[str]:
    """The command that each browser session runs."""
    found = [sys.executable, "-m", "tui.commands.main", "tui", "--machine", machine]
    found += ["--registers", registers] if registers else []
    found += ["--inputs", inputs] if inputs else []
    found += ["--args", *shapes] if shapes else []
    return found + ([program] if program is not None else [])
