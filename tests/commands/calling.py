"""Calls the command line inside the test's own process."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from pathlib import Path

from tui.commands.main import exit_code

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@dataclass(frozen=True, slots=True)
class Called:
    """How a command ended, and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


def hob(*words: str | Path) -> Called:
    """Runs `hob WORDS...`."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = exit_code([str(word) for word in words])
    return Called(code, out.getvalue(), err.getvalue())
