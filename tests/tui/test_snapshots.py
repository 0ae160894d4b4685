"""Every screen's whole text on a program of one addition, as blessed, in both languages and sizes.

The program is so small that its code has one shape; what it takes in cycles is the cores' business.
`pytest --bless` writes the files anew; read their difference before committing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from compiler.options import Options
from lab.words.language import Language
from tests.tui.driving import without_times
from tui.cells import width
from tui.pictures.shot import take_shot
from tui.session import Request

ADD = Path(__file__).parent / "programs" / "add.hlo"
SCREENS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "start": ("start", "x86/zen3", ()),
    "compile": (
        "compile",
        "x86/zen3",
        ("left_square_bracket", "down", "down", "down", "down", "w"),
    ),
    "registers": ("registers", "x86/zen3", ("left",)),
    "run": ("run", "x86/zen3", ("n", "n", "right", "right")),
    "run-in-order": ("run", "arm/cortex-a53", ("n",)),
    "run-warps": ("run", "simt/volta", ("down", "n")),
}
"""By name: the screen, the machine, and the keys pressed first."""


@pytest.mark.parametrize("language", list(Language), ids=str)
@pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", SCREENS)
def test_screens_read_as_blessed(
    name: str, size: tuple[int, int], language: Language, golden: Callable[[str, str], None]
) -> None:
    screen, machine, keys = SCREENS[name]
    text = take_shot(screen, Request(str(ADD), machine, Options()), language, size, keys).text
    lines = text.splitlines()
    assert len(lines) == size[1] and max(map(width, lines)) <= size[0]
    golden(f"{name}-{size[0]}x{size[1]}-{language}.txt", without_times(text) + "\n")
