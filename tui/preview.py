"""The beginning of a program's file, for looking at before it is opened. No widgets."""

from __future__ import annotations

from pathlib import Path

MOST_BYTES = 1 << 16


def preview(path: Path) -> list[str]:
    """The first lines of a text, without tabs and control characters. Raises OSError."""
    with path.open("rb") as file:
        text = file.read(MOST_BYTES).decode("utf-8", errors="replace")
    return [
        "".join(c if c.isprintable() else "·" for c in line.expandtabs(2))
        for line in text.splitlines()
    ]
