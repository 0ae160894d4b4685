"""Help and mistakes in how a command is written, in both languages; the library's own words too."""

from __future__ import annotations

import re

import pytest
import typer.main

from lab.words.width import cell_width
from tests.commands.calling import hob
from tests.commands.english import english_in, is_chinese
from tui.commands.main import app

COMMANDS = ["", *sorted(typer.main.get_command(app).commands), "isa check"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_chinese_throughout(command: str) -> None:
    called = hob(*command.split(), "--help", "--lang", "zh")
    assert called.returncode == 0
    assert english_in(called.stdout) == []
    for word in ("Usage", "Options", "Arguments", "Commands", "required", "default", "OPTIONS"):
        assert word not in called.stdout
    assert all(cell_width(line) <= 80 for line in called.stdout.splitlines())
    assert "用法：hob" in called.stdout and "显示此说明并退出。" in called.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_lists_the_same_in_both_languages(command: str) -> None:
    english, chinese = (hob(*command.split(), "--help", "--lang", lang) for lang in ("en", "zh"))
    rows = [re.findall(r"^  (-[\w, -]+|[a-z]+\b)", e.stdout, re.M) for e in (english, chinese)]
    names = [[row.split()[0] for row in found if row.startswith("-")] for found in rows]
    assert names[0] == names[1] and "--help" in names[0] and "--lang" in names[0]


def test_the_locale_chooses_when_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "用法：" in hob("run", "--help").stdout
    assert "Usage: " in hob("run", "--help", "--lang", "en").stdout
    assert "用法：" in hob("run").stderr


MISTAKES = [
    ["run"],
    ["runn"],
    ["frobnicate"],
    ["isa"],
    ["isa", "chek"],
    ["run", "x", "--frobnicate"],
    ["run", "x", "--sed", "1"],
    ["run", "x", "y"],
    ["run", "x", "--seed"],
    ["run", "x", "--seed", "many"],
    ["run", "x", "--seed", "-1"],
    ["run", "x", "--rtol", "wide"],
    ["run", "x", "--rtol", "-1"],
    ["run", "x", "--json=3"],
    ["tui", "--port", "99999999"],
]


@pytest.mark.parametrize("words", MISTAKES, ids=" ".join)
def test_mistakes_are_told_in_chinese(words: list[str]) -> None:
    called = hob(*words, "--lang", "zh") if words[-1] != "--seed" else hob("--lang", "zh", *words)
    assert called.returncode == 2 and called.stdout == ""
    message = called.stderr.splitlines()[-1]
    assert message.startswith("hob: ") and is_chinese(message)
    assert english_in(called.stderr) == [] and "Usage" not in called.stderr


@pytest.mark.parametrize("language", ["en", "zh"])
def test_hob_alone_shows_its_help_once(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", {"en": "C", "zh": "zh_CN.UTF-8"}[language])
    called = hob()
    assert called.returncode == 2
    assert called.stderr == hob("--help").stdout
