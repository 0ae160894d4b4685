"""What the commands print is Chinese when asked for, and tables stay tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lab.words.width import cell_width
from tests.commands.calling import EXAMPLES, hob
from tests.commands.english import english_in, is_chinese

SOFTMAX, ATTENTION = EXAMPLES / "softmax.hlo", EXAMPLES / "attention.hlo"
CHAIN = EXAMPLES / "element_wise_chain.hlo"

COMMANDS: dict[str, list[str | Path]] = {
    "run": ["run", SOFTMAX, "--registers", "vec=4"],
    "run-simt": ["run", ATTENTION, "--machine", "simt/volta"],
    "run-unfused": ["run", ATTENTION, "--no-fuse", "--machine", "arm/cortex-a53"],
    "passes": ["passes", ATTENTION, "--why"],
    "passes-list": ["passes", "--list"],
    "why-kernel": ["why", ATTENTION, "fusion.1"],
    "why-instruction": ["why", SOFTMAX, "exp.1"],
    "why-gone": ["why", SOFTMAX, "max.1"],
    "buffers": ["buffers", ATTENTION, "--memory", "2KiB"],
    "breakeven": ["breakeven", CHAIN, "--machine", "simt/volta"],
    "breakeven-alone": ["breakeven", CHAIN, "--dispatch", "0", "--launch", "0"],
    "machines": ["machines"],
    "isa": ["isa", "check", Path("isas") / "arm"],
    "demo": ["demo"],
}
CODE = ("=", "%", "#", "x86/", "·", "hob ", "@@", "+++", "---", " x1", "vfm")
"""What marks a line of code, which is the same in every language."""


def prose(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not any(c in line for c in CODE))


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_print_chinese(name: str) -> None:
    called = hob(*COMMANDS[name], "--lang", "zh")
    assert called.returncode == 0, called.stderr
    assert is_chinese(called.stdout)
    assert english_in(prose(called.stdout)) == []
    assert all(cell_width(line) <= 110 for line in called.stdout.splitlines())


@pytest.mark.parametrize("name", ["run", "passes-list", "buffers", "machines", "why-kernel"])
def test_both_languages_say_the_same_facts(name: str) -> None:
    english, chinese = (hob(*COMMANDS[name], "--lang", lang).stdout for lang in ("en", "zh"))
    assert not is_chinese(english)
    if name in ("run", "buffers"):
        assert len(english.splitlines()) == len(chinese.splitlines())
    numbers = [sorted(filter(str.isdigit, text)) for text in (english, chinese)]
    if name in ("buffers", "machines"):
        assert numbers[0] == numbers[1]


def test_numbers_stand_below_their_headings_in_both_languages() -> None:
    for lang in ("en", "zh"):
        lines = hob("breakeven", CHAIN, "--lang", lang).stdout.splitlines()
        assert len({cell_width(line) for line in lines[1:4]}) == 1
        head, row = hob("passes", CHAIN, "--lang", lang).stdout.splitlines()[:2]
        assert cell_width(head[: head.index("ms")]) + 2 == cell_width(row[: row.index(".")]) + 3


def test_stages_say_their_decisions_in_chinese() -> None:
    called = hob("stages", SOFTMAX, "--stage", "hlo-fused", "--why", "--lang", "zh")
    reasons = [line for line in called.stdout.splitlines() if line.startswith("  原因 ")]
    assert len(reasons) > 5
    assert all(is_chinese(line.split(":", 1)[1]) for line in reasons)


def test_a_failed_comparison_is_told_in_chinese(tmp_path: Path) -> None:
    file = tmp_path / "wrong.npz"
    np.savez(file, in0=np.ones(8, np.float32), out0=np.float32(0))
    for command in ("run", "evaluate"):
        called = hob(command, CHAIN, "--inputs", file, "--lang", "zh")
        assert called.returncode == 1
        assert "预期输出" in called.stdout and "位于输出 0" in called.stdout
        assert english_in(prose(called.stdout)) == []


ERRORS: dict[str, list[str | Path]] = {
    "machine": ["run", CHAIN, "--machine", "x86/zen4"],
    "file": ["run", "/no/such/file.hlo"],
    "folder": ["run", EXAMPLES],
    "class": ["run", CHAIN, "--registers", "vex=3"],
    "number": ["run", CHAIN, "--registers", "vec=x"],
    "twice": ["run", CHAIN, "--registers", "vec=2,vec=3"],
    "few": ["run", SOFTMAX, "--registers", "vec=1"],
    "inputs": ["run", CHAIN, "--inputs", "/no/such.npz"],
    "archive": ["run", CHAIN, "--inputs", CHAIN],
    "outputs": ["evaluate", CHAIN, "--outputs", "/no/such/folder/x.npz"],
    "stage": ["stages", CHAIN, "--stage", "banana"],
    "pass": ["passes", CHAIN, "--only", "banana"],
    "nothing": ["passes"],
    "name": ["why", SOFTMAX, "exp"],
    "memory": ["buffers", CHAIN, "--memory", "much"],
    "picture": ["buffers", CHAIN, "--svg", "/no/such/folder/x.svg"],
    "format": ["convert", CHAIN, "x.banana"],
    "target": ["convert", CHAIN, "/no/such/folder/x.hlo"],
    "isa": ["isa", "check", "/no/such/isa"],
    "no-isa": ["isa", "check", EXAMPLES],
    "screen": ["show", "nowhere", CHAIN],
    "size": ["show", "run", CHAIN, "--size", "wide"],
    "shape": ["run", EXAMPLES / "element_wise_chain.py:chain", "--args", "f32[banana]"],
    "language": ["machines", "--lang", "fr"],
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_told_in_chinese(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    called = hob(*ERRORS[name])
    assert called.returncode == 2 and called.stdout == ""
    assert is_chinese(called.stderr.split(": ", 1)[1].split("\n")[0])
    assert english_in(called.stderr) == []
