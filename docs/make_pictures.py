"""Draws the pictures of README and docs anew: `python docs/make_pictures.py`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP))

from tui import look  # noqa: E402
from tui.cells import width  # noqa: E402
from tui.pictures.svg import strips_svg  # noqa: E402

COLUMNS = 108
COMMANDS = {
    "run-softmax": [
        "run", "examples/softmax.hlo", "--inputs", "examples/softmax.npz", "--registers", "vec=4",
    ],
    "demo": ["demo"],
}  # fmt: skip
"""Commands whose output is drawn, by the picture's name."""
SCREENS = {
    "screen-run": [
        "run", "examples/softmax.hlo", "--registers", "vec=4", "--keys", "g,#,3,0,enter,n",
    ],
    "screen-run-zh": [
        "run", "examples/softmax.hlo", "--registers", "vec=4", "--keys", "g,#,3,0,enter,n",
        "--lang", "zh",
    ],
    "screen-warps": ["run", "examples/attention.hlo", "--machine", "simt/volta", "--keys", "n,n,n"],
    "screen-registers": ["registers", "examples/softmax.hlo", "--registers", "vec=4"],
    "screen-compile": ["compile", "examples/softmax.hlo", "--registers", "vec=4", "--keys", "down"],
}  # fmt: skip
"""`hob show` of screens, by the picture's name."""
COLOURS = (
    (r"^─.*$", Style(color=look.FAINT)),
    (r"█+", Style(color=look.BLUE)),
    (r"✔", Style(color=look.GREEN)),
    (r"✘|WRONG RESULT", Style(color=look.VERMILION, bold=True)),
    (r"(?<=[FD●○E])●+|●+(?=[●○I])", Style(color=look.VERMILION)),
    (r"\d+ spilled.*$", Style(color=look.YELLOW)),
    (r"^  hob \S+ .*?(?=   )", Style(bold=True)),
)
"""What stands out in a command's output."""


def hob(words: list[str]) -> str:
    """What a command prints."""
    found = subprocess.run(
        [sys.executable, "-m", "tui.commands.main", *words],
        cwd=TOP, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(TOP), "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    return found.stdout


def styled(line: str) -> Strip:
    """A line in colours."""
    styles = [look.PLAIN] * len(line)
    for pattern, style in COLOURS:
        for match in re.finditer(pattern, line):
            styles[match.start() : match.end()] = [look.PLAIN + style] * len(match.group())
    return Strip([Segment(character, style) for character, style in zip(line, styles)]).simplify()


def draw_command(name: str, words: list[str]) -> None:
    """Keeps a command's output as a picture of a terminal."""
    lines = [f"$ hob {' '.join(words)}", *hob(words).splitlines()]
    columns = max(COLUMNS, *map(width, lines))
    picture = strips_svg([styled(line) for line in lines], columns, f"hob {words[0]}")
    path_of(name).write_text(picture, encoding="utf-8")


def path_of(name: str) -> Path:
    """Where a picture lies."""
    return TOP / "docs" / "pictures" / f"{name}.svg"


if __name__ == "__main__":
    for picture, command in COMMANDS.items():
        draw_command(picture, command)
    for picture, command in SCREENS.items():
        hob(["show", *command, "--svg", str(path_of(picture))])
