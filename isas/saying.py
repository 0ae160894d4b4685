"""How texts are said: a template with its values, in English unless a caller brings a language."""

from __future__ import annotations

from collections.abc import Callable

Say = Callable[..., str]
"""Says a template (an English sentence with `{field}` places) with its values, by keyword, in the
user's language."""


def english(template: str, **values: object) -> str:
    """The template itself, filled in."""
    return template.format(**values)
