"""Finds English prose in texts that should be Chinese."""

from __future__ import annotations

import re

_PROSE = re.compile(
    r"(?<![\w.%$`'/-])(?<!hob )(?!hob )[A-Za-z]?[a-z]{2,}(?: [a-z]{2,})+(?![\w(.%`/-])"
)


def english_in(text: str) -> list[str]:
    """Runs of two English words and more. Names, code and single words do not count."""
    return [found[0] for line in text.splitlines() for found in _PROSE.finditer(line)]


def is_chinese(text: str) -> bool:
    """Whether there is a Chinese character."""
    return any("一" <= character <= "鿿" for character in text)
