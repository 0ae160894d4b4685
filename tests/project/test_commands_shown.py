"""Every command that the documents show works as it stands there."""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
from pathlib import Path

import pytest

from tui.commands.main import exit_code

TOP = Path(__file__).parents[2]
OPENS_A_TERMINAL = "tui"


def _commands() -> list[str]:
    """The lines that begin with `hob` and name only files that we have."""
    found: list[str] = []
    for document in (TOP / "README.md", *sorted((TOP / "docs").glob("*.md"))):
        found += re.findall(r"^hob .*$", document.read_text(), re.MULTILINE)
    return sorted({line for line in found if "examples/" in line})


@pytest.mark.parametrize("line", _commands())
def test_a_command_of_the_documents_runs(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = shlex.split(line)[1:]
    if ".py:" in line and importlib.util.find_spec("jax") is None:
        pytest.skip("JAX is not installed")
    if "--png" in words and shutil.which("rsvg-convert") is None:
        pytest.skip("needs rsvg-convert")
    (tmp_path / "examples").symlink_to(TOP / "examples")
    monkeypatch.chdir(tmp_path)
    if words[0] == OPENS_A_TERMINAL:
        words = ["show", "start", *words[1:], "--text"]
    assert exit_code(words) == 0
    written = [words[words.index(o) + 1] for o in ("--svg", "--png", "--outputs") if o in words]
    assert all((tmp_path / name).stat().st_size > 0 for name in written)


def test_the_documents_show_commands() -> None:
    assert {line.split()[1] for line in _commands()} >= {
        "run",
        "stages",
        "buffers",
        "passes",
        "why",
    }
