"""Takes pictures: runs the application without a terminal, presses keys, keeps what it shows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from textual.pilot import Pilot
from textual.strip import Strip

from isas.errors import HobError, InputError
from lab.words.language import Language
from tui.app import HobApp
from tui.messages import Ended, Problem
from tui.pictures.svg import COLOURED, GREY, Paper, strips_svg
from tui.pictures.text import screen_strips
from tui.session import Request

SCREEN_KEYS = {"start": "1", "compile": "2", "registers": "5", "run": "6"}
"""Screens by name, with the key that leads there."""
_TURN_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Shot:
    """What a screen showed: its rows of cells, and the colours of what has none of its own."""

    strips: tuple[Strip, ...]
    columns: int
    paper: Paper = COLOURED

    @property
    def text(self) -> str:
        """As text, without trailing blanks."""
        return "\n".join(strip.text.rstrip() for strip in self.strips)

    def svg(self, title: str = "") -> str:
        """As an SVG picture."""
        return strips_svg(self.strips, self.columns, title, self.paper)


def take_shot(
    screen: str,
    request: Request | None,
    language: Language = Language.ENGLISH,
    size: tuple[int, int] = (120, 36),
    keys: Sequence[str] = (),
) -> Shot:
    """The screen called `screen` after the work for `request` has ended and `keys` were pressed.

    Raises InputError for a screen that is not there, and whatever the work raises.
    """
    if screen not in SCREEN_KEYS:
        names = ", ".join(SCREEN_KEYS)
        raise InputError(f"there is no screen '{screen}'", hint=f"the screens are {names}")
    return asyncio.run(_take(screen, request, language, size, keys))


async def _take(
    screen: str,
    request: Request | None,
    language: Language,
    size: tuple[int, int],
    keys: Sequence[str],
) -> Shot:
    app = HobApp(request, language)
    problems: list[Problem] = []

    def listen(message: object) -> None:
        if isinstance(message, Ended):
            problems.append(message.problem)

    async with app.run_test(size=size, message_hook=listen) as pilot:
        await settle(pilot, app)
        if problems:
            raise problems[0].defect or _Failed(problems[0].text)
        await pilot.press(SCREEN_KEYS[screen])
        for key in keys:
            await pilot.press(key)
            await settle(pilot, app)
        await pilot.pause()
        paper = GREY if app.no_color else COLOURED
        return Shot(tuple(screen_strips(app)), size[0], paper)


async def settle(pilot: Pilot[None], app: HobApp) -> None:
    """Waits until no work is going on and everything is drawn, or the application has ended."""
    await pilot.pause()
    while app.is_running and (app.is_working or any(w.is_running for w in app.workers)):
        await pilot.pause(_TURN_SECONDS)
    await pilot.pause()


class _Failed(HobError):
    """The work for a picture ended with an error that is already in words."""
