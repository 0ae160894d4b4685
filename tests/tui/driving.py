"""Drives the application in tests: one program, no terminal, until its work is done."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from compiler.options import Options
from lab.words.language import Language
from tui.app import HobApp
from tui.pictures.shot import settle
from tui.session import Request

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def request(
    name: str = "element_wise_chain", machine: str = "x86/zen3", **registers: int
) -> Request:
    """An example on a machine."""
    options = Options(registers=tuple(sorted(registers.items())))
    return Request(str(EXAMPLES / f"{name}.hlo"), machine, options)


@asynccontextmanager
async def running(
    wanted: Request | None,
    size: tuple[int, int] = (120, 36),
    language: Language = Language.ENGLISH,
    messages: list[object] | None = None,
) -> AsyncIterator[tuple[HobApp, Pilot[None]]]:
    """The application at rest, with its pilot; `messages` collects all it is told."""
    app = HobApp(wanted, language)
    hook = messages.append if messages is not None else None
    async with app.run_test(size=size, message_hook=hook) as pilot:
        await settle(pilot, app)
        yield app, pilot


def without_times(text: str) -> str:
    """A screen's text with `#ms` where milliseconds stand, which differ from run to run."""
    return re.sub(r" *\d+ms", lambda found: f"{'#ms':>{len(found[0])}}", text)


async def press(app: HobApp, pilot: Pilot[None], *keys: str) -> None:
    """Presses keys one by one and waits for what they set going."""
    for key in keys:
        await pilot.press(key)
        await settle(pilot, app)
