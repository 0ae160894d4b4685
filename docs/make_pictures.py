"""Draws the README's pictures anew: `python docs/make_pictures.py`."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

TOP = Path(__file__).resolve().parent.parent
WIDTH = 108
THEME = TerminalTheme(
    (22, 24, 29), (214, 217, 222),
    [(0, 0, 0), (213, 94, 0), (0, 158, 115), (230, 159, 0), (0, 114, 178), (204, 121, 167),
     (86, 180, 233), (214, 217, 222)],
)  # fmt: skip
"""Okabe and Ito's colours on a dark ground."""
PICTURES = {
    "run-softmax": [
        "run",
        "examples/softmax.hlo",
        "--inputs",
        "examples/softmax.npz",
        "--registers",
        "vec=4",
    ],
    "demo": ["demo"],
}


def draw(name: str, words: list[str]) -> None:
    """Runs a command and keeps its output as an SVG picture of a terminal."""
    found = subprocess.run(
        [sys.executable, "-m", "tui.commands.main", *words],
        cwd=TOP, capture_output=True, text=True, check=True,
    )  # fmt: skip
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    for line in found.stdout.splitlines():
        console.print(styled(line), no_wrap=True, overflow="crop")
    title = "hob " + " ".join(words)
    (TOP / "docs" / "pictures" / f"{name}.svg").write_text(
        console.export_svg(title=title, theme=THEME), encoding="utf-8"
    )


def styled(line: str) -> Text:
    """Colours for what matters: rules, bars, verdicts, and the letters of the pipeline."""
    text = Text(line)
    text.highlight_regex(r"^─.*$", "cyan")
    text.highlight_regex(r"█+", "blue")
    text.highlight_regex(r"✔", "green")
    text.highlight_regex(r"✘|WRONG RESULT", "red")
    text.highlight_regex(r"(?<=[FD●○E])●+|●+(?=[●○I])", "red")
    text.highlight_regex(r"\d+ spilled.*$", "yellow")
    text.highlight_regex(r"^  (hob \S+ .*?)(?=   )", "bold")
    return text


if __name__ == "__main__":
    for picture, command in PICTURES.items():
        draw(picture, command)
