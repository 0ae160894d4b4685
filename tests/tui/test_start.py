"""The start page shows what is highlighted, and every key's meaning is in the user's language."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

import isas
from lab.words.language import Language
from lab.words.words import words_for
from tests.tui.driving import press, request, running
from tui.cells import width
from tui.preview import preview
from tui.recent import remember
from tui.screens.base import TABS, HobScreen
from tui.screens.machine_facts import machine_lines
from tui.screens.start import StartScreen
from tui.widgets.choices import Choices
from tui.widgets.panel import Panel


def drive(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(story())


def test_the_highlighted_program_and_machine_are_shown() -> None:
    async def story() -> None:
        async with running(None, size=(160, 48)) as (app, pilot):
            screen = app.screen
            assert isinstance(screen, StartScreen)
            text, facts = screen.query_one("#preview", Panel), screen.query_one("#facts", Panel)
            for place in range(3):
                program = Path(screen.programs[place])
                assert text.text.strip() == program.read_text().strip()
                assert screen.query_one("#preview-box").border_title == program.name
                await press(app, pilot, "down")
            assert screen.machines[screen.query_one("#machines", Choices).highlighted or 0] == (
                "x86/zen3"
            )
            assert "AMD Zen 3" in facts.text
            await press(app, pilot, "tab", "home", "down")
            core = isas.load_machine("simt/volta").core
            assert core.title in facts.text and core.simt is not None
            assert str(core.simt.registers_per_sm) in facts.text
            await press(app, pilot, "l")
            assert "个寄存器" in facts.text

    drive(story)


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (30, 5), (12, 3)])
def test_small_terminals_leave_the_lists(size: tuple[int, int]) -> None:
    async def story() -> None:
        async with running(None, size=size) as (app, pilot):
            assert not app.screen.query_one("#previews").display
            await press(app, pilot, "tab", "down", "tab", "down", "l", "pagedown", "pageup")
            await press(app, pilot, "tab", "end", "pageup", "pagedown", "tab", "enter")
            assert app.session.current is not None

    drive(story)


@pytest.mark.parametrize("name", isas.machine_names())
@pytest.mark.parametrize("language", Language)
def test_a_machines_facts_fit_and_come_from_its_model(name: str, language: Language) -> None:
    machine, words = isas.load_machine(name), words_for(language)
    core = machine.core
    for cells in (40, 78):
        lines = machine_lines(machine, words, cells)
        assert all(width("".join(text for text, _ in line)) <= cells for line in lines)
    text = "\n".join(
        "".join(piece for piece, _ in line) for line in machine_lines(machine, words, 200)
    )
    facts = [core.title, f"{core.clock_ghz:g} GHz", f"{core.l1.size_bytes // 1024} KB", *core.ports]
    facts += [str(c.count) for c in machine.isa.registers.classes.values()]
    facts += [str(n) for n in (core.reorder_buffer, core.vector_bits, core.mispredict_cycles) if n]
    assert [fact for fact in facts if fact not in text] == []


def test_a_preview_is_short_and_printable(tmp_path: Path) -> None:
    path = tmp_path / "odd.hlo"
    path.write_bytes(b"a\tb\x1b[31m\xff\n" + b"x\n" * 100_000)
    lines = preview(path)
    assert lines[0] == "a b·[31m\ufffd" and len(lines) < 40_000
    remember(str(path))

    async def story() -> None:
        async with running(None, size=(120, 40)) as (app, pilot):
            await press(app, pilot, "end")
            assert lines[0] in app.screen.query_one("#preview", Panel).text
            path.unlink()
            await press(app, pilot, "up", "end")
            assert "odd.hlo" in app.screen.query_one("#preview", Panel).text

    drive(story)


@pytest.mark.parametrize("tab", [key for key, _ in TABS])
def test_every_key_has_a_chinese_meaning(tab: str) -> None:
    async def story() -> None:
        async with running(request(), language=Language.CHINESE) as (app, pilot):
            await press(app, pilot, tab)
            assert isinstance(app.screen, HobScreen)
            for key, meaning in app.screen.keys(only_shown=False):
                assert any("一" <= c <= "鿿" for c in meaning), (key, meaning)

    drive(story)
