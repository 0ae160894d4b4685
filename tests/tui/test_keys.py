"""Every key in the help does something, and no sequence of keys brings the application down."""

from __future__ import annotations

import asyncio
import random

import pytest

from tests.tui.driving import request, running
from tui.app import HobApp
from tui.pictures.shot import settle
from tui.screens.base import TABS, HobScreen

KEYS = [
    "left", "right", "up", "down", "pageup", "pagedown", "home", "end", "shift+left",
    "shift+right", "1", "2", "5", "6", "n", "N", "b", "g", "space", "enter", "backspace",
    "left_square_bracket", "right_square_bracket", "o", "v", "t", "w", "c", "d", "s", "slash",
    "tab", "a", "k", "l", "question_mark", "escape", "escape", "u", "x", "0", "shift+tab",
]  # fmt: skip


class Recorder(HobApp):
    """The application, noting the actions that keys set going."""

    def __init__(self) -> None:
        super().__init__(request("softmax", vec=4))
        self.done: list[str] = []

    async def run_action(self, action, default_namespace=None, namespaces=None):  # type: ignore
        self.done.append(str(action))
        return await super().run_action(action, default_namespace, namespaces)


@pytest.mark.parametrize("tab", [key for key, _ in TABS])
def test_every_key_in_the_help_works(tab: str) -> None:
    async def story() -> None:
        app = Recorder()
        async with app.run_test(size=(120, 36)) as pilot:
            await settle(pilot, app)
            await pilot.press(tab)
            await settle(pilot, app)
            screen = app.screen
            assert isinstance(screen, HobScreen)
            bindings = screen.bindings_here()
            assert len(bindings) == len(list(screen.keys(only_shown=False))) > 8
            for binding in bindings:
                if binding.action.endswith("quit"):
                    continue
                for key in binding.key.split(","):
                    app.done.clear()
                    await pilot.press(key)
                    await settle(pilot, app)
                    assert any(binding.action.split(".")[-1] in done for done in app.done), key
                    while not isinstance(app.screen, HobScreen):
                        await pilot.press("escape")
                        await pilot.pause()
                    if app.screen is not screen:
                        await pilot.press(tab)
                        await settle(pilot, app)

    asyncio.run(story())


@pytest.mark.parametrize("seed", [1, 2])
def test_a_thousand_random_keys_leave_the_application_well(seed: int) -> None:
    async def story() -> None:
        machine = "x86/zen3" if seed == 1 else "simt/volta"
        chooser = random.Random(seed)
        async with running(request(machine=machine), size=(100, 30)) as (app, pilot):
            for place in range(1000):
                await pilot.press(chooser.choice(KEYS))
                if place % 100 == 99:
                    await settle(pilot, app)
            await settle(pilot, app)
            assert app.is_running and app.session.current is not None
            for _ in range(8):
                await pilot.press("escape")
            await pilot.press("6")
            await settle(pilot, app)
            assert isinstance(app.screen, HobScreen)

    asyncio.run(story())
