"""Assembly templates: literal text and `{operand}` places."""

from __future__ import annotations

import re
from functools import cache

_PLACE = re.compile(r"\{([A-Za-z_]\w*)\}")


@cache
def placeholders(template: str) -> tuple[tuple[str, str | None], ...]:
    """Pairs (literal text, operand name after it); the last pair's name is None."""
    pieces = _PLACE.split(template)
    names: list[str | None] = [*pieces[1::2], None]
    return tuple(zip(pieces[::2], names))
