"""NO_COLOR is honoured by screens, pictures and commands, and nothing is told by colour alone."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.commands.calling import EXAMPLES, hob
from tests.tui.driving import press, request, running, without_times
from tui.pictures.text import screen_strips
from vm.diagram import STAGE_LETTERS, Stage

CHAIN = EXAMPLES / "element_wise_chain.hlo"
SCREENS = ["start", "compile", "registers", "run"]


def colours_in(svg: str) -> set[str]:
    """Every colour of a picture, as six hexadecimal digits."""
    assert not re.search(r'(fill|stroke)="(?!none|url|#)', svg)
    short = {digit * 2 for digit in "0123456789abcdef"}
    found = {"".join(c * 2 for c in each) for each in re.findall(r'#([0-9a-f]{3})"', svg)}
    assert all(each[:2] in short for each in found)
    return found | set(re.findall(r"#([0-9a-f]{6})\b", svg))


def is_grey(colour: str) -> bool:
    return colour[:2] == colour[2:4] == colour[4:]


@pytest.mark.parametrize("screen", SCREENS)
def test_pictures_of_screens_have_no_colours(
    screen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"": tmp_path / "coloured.svg", "1": tmp_path / "grey.svg"}
    texts = {}
    for value, file in files.items():
        if value:
            monkeypatch.setenv("NO_COLOR", value)
        shown = hob("show", screen, CHAIN, "--svg", file, "--text", "--keys", "down,down")
        texts[value] = without_times(shown.stdout)
    coloured, grey = (colours_in(file.read_text(encoding="utf-8")) for file in files.values())
    assert any(not is_grey(colour) for colour in coloured)
    assert len(grey) > 3 and all(map(is_grey, grey))
    assert texts[""] == texts["1"]


def test_the_application_itself_has_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def story() -> None:
        async with running(request("element_wise_chain")) as (app, pilot):
            for key in "1256":
                await press(app, pilot, key)
                styles = [s.style for strip in screen_strips(app) for s in strip if s.style]
                inks = [c for s in styles for c in (s.color, s.bgcolor) if c and c.triplet]
                assert inks and all(len(set(ink.triplet)) == 1 for ink in inks if ink.triplet)

    asyncio.run(story())


def test_the_picture_of_the_memory_has_no_colours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [tmp_path / "coloured.svg", tmp_path / "grey.svg"]
    hob("buffers", EXAMPLES / "attention.hlo", "--svg", files[0])
    monkeypatch.setenv("NO_COLOR", "1")
    hob("buffers", EXAMPLES / "attention.hlo", "--svg", files[1])
    coloured, grey = (file.read_text(encoding="utf-8") for file in files)
    assert any(not is_grey(colour) for colour in colours_in(coloured))
    assert all(map(is_grey, colours_in(grey)))
    for picture in (coloured, grey):
        assert {'fill="url(#output)"', 'fill="url(#temporary)"'} <= set(
            re.findall(r'fill="url[^"]*"', picture)
        )


@pytest.mark.parametrize("words", [["run", CHAIN], ["passes", CHAIN], ["--help"], ["runn"]])
def test_commands_print_plain_text(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    called = hob(*words)
    assert "\x1b" not in called.stdout + called.stderr


def test_every_stage_has_a_mark_of_its_own() -> None:
    assert len(set(STAGE_LETTERS)) == len(STAGE_LETTERS) == len(Stage)
