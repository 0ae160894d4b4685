"""`hob`: collects the commands, and turns every error into one message and an exit code."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import typer
import typer.main

from isas.errors import CheckFailed, HobError, InternalError
from lab.words.language import Language, language_of
from lab.words.words import words_for
from tui.commands import (
    breakeven,
    buffers,
    convert,
    demo,
    evaluate,
    isa,
    machines,
    passes,
    run,
    show,
    speaking,
    stages,
    tui,
    why,
)
from tui.commands.options import spread_arguments
from tui.defects import defect_text

OK, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
UsageError: Any = typer.BadParameter.__base__
"""The base of all errors in how a command was written; typer exports only this subclass of it."""

app = typer.Typer(
    name="hob",
    help="Compile tensor programs for machines written in YAML, and see why every cycle was spent.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("run")(run.run)
app.command("tui")(tui.tui)
app.command("show")(show.show)
app.command("evaluate")(evaluate.evaluate)
app.command("convert")(convert.convert)
app.command("stages")(stages.stages)
app.command("passes")(passes.passes)
app.command("why")(why.why)
app.command("buffers")(buffers.buffers)
app.command("breakeven")(breakeven.breakeven)
app.command("demo")(demo.demo)
app.command("machines")(machines.machines)
app.add_typer(isa.app, name="isa")


_WITH_JSON = ("run", "evaluate", "buffers", "breakeven")
"""Commands that promise one JSON document with `--json`."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits: 0 all well, 1 a check failed, 2 bad input."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    sys.exit(exit_code(words))


def exit_code(words: list[str]) -> int:
    """Runs one command; every error becomes one message and an exit code."""
    language = language_of(None, os.environ)
    try:
        language = speaking.spoken_language(words)
        command = typer.main.get_command(app)
        speaking.prepare(command, language)
        arguments = spread_arguments(words)
        result = command.main(arguments, prog_name="hob", standalone_mode=False, obj=language)
        return int(result or 0)
    except typer.Exit as stop:
        return int(stop.exit_code)
    except typer.Abort:
        return INTERRUPTED
    except UsageError as error:
        return _misused(words, error, language)
    except (CheckFailed, InternalError) as error:
        return _fail(words, speaking.error_text(error, language), FAILED)
    except HobError as error:
        return _fail(words, speaking.error_text(error, language), BAD_INPUT)
    except BrokenPipeError:
        return OK
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # how the library ends such a command
            return OK
        raise
    except OSError as error:
        _let_go_of_output()
        told = words_for(language)("the system refuses: {reason}", reason=_reason(error))
        return _fail(words, told, BAD_INPUT)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        return _fail(words, defect_text(error, words_for(language)), FAILED)


def _misused(words: list[str], error: Any, language: Language) -> int:
    """Tells what is wrong with the command as written, below how it is written; a command without
    any words is answered with its help."""
    context = getattr(error, "ctx", None)
    message = error.format_message()
    if context and message == context.get_help():
        print(message, file=sys.stderr)
        return BAD_INPUT
    usage = context.get_usage() + "\n" if context else ""
    return _fail(words, speaking.told(message, language), BAD_INPUT, usage)


def _reason(error: OSError) -> str:
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror or error}"


def _let_go_of_output() -> None:
    """What could not be written is not tried again when the process ends."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        return
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(words: list[str], message: str, code: int, usage: str = "") -> int:
    if "--json" in words:
        commands = [word for word in words if word in _WITH_JSON]
        _print_json_error(commands[0] if commands else "", message)
    print(f"{usage}hob: {message}", file=sys.stderr)
    return code


def _print_json_error(command: str, message: str) -> None:
    """The one JSON document of a command that promises one."""
    if command == "run":
        from lab.report import error_json

        print(json.dumps(error_json(message)))
    elif command == "evaluate":
        from lab import evaluation

        print(json.dumps(evaluation.error_json(message)))
    elif command:
        print(json.dumps({"error": message}))


if __name__ == "__main__":
    main()
