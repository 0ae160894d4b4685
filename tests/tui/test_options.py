"""The command palette turns the compiler's switches; each turn compiles and runs anew."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

import pytest

from tests.tui.driving import request, running
from tui.pictures.shot import settle
from tui.screens.actions import perform
from tui.words_of_commands import COMMANDS_IN_PALETTE

SWITCHES = [action for _, _, action in COMMANDS_IN_PALETTE if action.startswith("option(")]


@pytest.mark.parametrize("action", SWITCHES)
def test_a_switch_changes_one_option_and_turns_back(action: str) -> None:
    async def story() -> None:
        async with running(request()) as (app, pilot):
            before = app.session.current
            assert before is not None
            perform(app, action)
            await settle(pilot, app)
            changed = app.session.current
            assert changed is not None and changed.result is not None and changed.result.matches
            old, new = asdict(before.request.options), asdict(changed.request.options)
            assert [f"option('{name}')" for name in old if old[name] != new[name]] == [action]
            perform(app, action)
            await settle(pilot, app)
            assert app.session.current is not None
            assert app.session.current.request.options == before.request.options

    asyncio.run(story())


def test_there_are_switches() -> None:
    assert len(SWITCHES) == 5
