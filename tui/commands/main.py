"""`hob`: collects the commands, and turns every error into one message and an exit code."""

from __future__ import annotations

import json
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from isas.errors import CheckFailed, HobError, InternalError
from tui.commands import buffers, convert, demo, evaluate, isa, machines, passes, run, stages, why
from tui.commands.options import spread_arguments

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
app.command("evaluate")(evaluate.evaluate)
app.command("convert")(convert.convert)
app.command("stages")(stages.stages)
app.command("passes")(passes.passes)
app.command("why")(why.why)
app.command("buffers")(buffers.buffers)
app.command("demo")(demo.demo)
app.command("machines")(machines.machines)
app.add_typer(isa.app, name="isa")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits: 0 all well, 1 a check failed, 2 bad input."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    sys.exit(_exit_code(words))


def _exit_code(words: list[str]) -> int:
    try:
        result = app(args=spread_arguments(words), prog_name="hob", standalone_mode=False)
        return int(result or 0)
    except typer.Exit as stop:
        return int(stop.exit_code)
    except typer.Abort:
        return INTERRUPTED
    except UsageError as error:
        context = getattr(error, "ctx", None)
        usage = context.get_usage() + "\n" if context else ""
        return _fail(words, error.format_message(), BAD_INPUT, usage)
    except (CheckFailed, InternalError) as error:
        return _fail(words, str(error), FAILED)
    except HobError as error:
        return _fail(words, str(error), BAD_INPUT)
    except BrokenPipeError:
        sys.stderr.close()
        return OK
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        return _fail(words, _unexpected(error), FAILED)


def _fail(words: list[str], message: str, code: int, usage: str = "") -> int:
    if "--json" in words:
        _print_json_error(words[0], message)
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


def _unexpected(error: Exception) -> str:
    """A defect of Hob's: keeps the details in a file, and says where."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="hob-"))
        log = folder / "error.txt"
        log.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
        details = f"details are in {log}"
    except OSError:
        details = "details could not be written"
    text = str(error).splitlines()
    reason = f": {text[0]}" if text else ""
    return f"internal error ({type(error).__name__}{reason}); {details}; please report it"


if __name__ == "__main__":
    main()
