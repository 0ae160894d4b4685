"""A screen as plain text: what stands in its cells, without trailing spaces."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.strip import Strip


def screen_strips(app: App[Any]) -> list[Strip]:
    """The rows of the screen in front, dialogs included, as the terminal gets them."""
    return list(app.screen._compositor.render_strips())


def screen_text(app: App[Any]) -> str:
    """The rows as text."""
    return "\n".join(strip.text.rstrip() for strip in screen_strips(app))
