"""Files opened lately, remembered in the user's folder for application state."""

from __future__ import annotations

import os
from pathlib import Path

MOST = 10


def recent_file() -> Path:
    """Where the list is kept (XDG Base Directory Specification: state)."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local/state")
    return Path(base) / "hob" / "recent"


def recent_programs() -> list[str]:
    """The files, the latest first; those that are gone are left out."""
    try:
        lines = recent_file().read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [line for line in lines if os.path.isfile(line)][:MOST]


def remember(program: str) -> None:
    """Puts a file on top of the list. A folder that cannot be written is no reason to fail."""
    path = os.path.realpath(program)
    if not os.path.isfile(path):
        return
    lines = [path, *(line for line in recent_programs() if line != path)]
    try:
        recent_file().parent.mkdir(parents=True, exist_ok=True)
        recent_file().write_text("\n".join(lines[:MOST]) + "\n", encoding="utf-8")
    except OSError:
        return
