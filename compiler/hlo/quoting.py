"""Strings in double quotes, as HLO and MLIR text spell them."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def quoted(text: str) -> str:
    """The text in quotes, on one line."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def unquoted(text: str) -> str:
    """What a text in quotes says; one without them stays as it is."""
    if len(text) < 2 or not text.startswith('"'):
        return text
    return _ESCAPE.sub(lambda found: "\n" if found[1] == "n" else found[1], text[1:-1])
