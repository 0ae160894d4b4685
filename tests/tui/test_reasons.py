"""Every reason that many programs bring up on every machine is said in Chinese."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from compiler.journal import Decision, Journal
from compiler.options import Options
from compiler.pipeline import run_hlo_passes
from compiler.select.decisions import TileChosen
from isas.errors import UnsupportedError
from lab import road
from lab.words.language import Language
from lab.words.words import words_for
from tests.commands.english import english_in, is_chinese

TOP = Path(__file__).resolve().parents[2]
PROGRAMS = [
    path
    for folder in (TOP / "tests" / "cases" / "jax", TOP / "examples")
    for path in sorted(folder.glob("*.hlo"))
    if not path.name.endswith(".opt.hlo")
]
WAYS = [
    ("x86/zen3", Options(registers=(("gpr", 6), ("vec", 4)))),
    ("simt/volta", Options()),
    ("arm/cortex-a53", Options(registers=(("vec", 5),))),
    ("x86/skylake", Options(strict_order=True)),
    ("simt/volta", Options(registers=(("reg", 20),))),
    ("x86/zen3", Options(fuse=False)),
]
CHINESE = words_for(Language.CHINESE)


@pytest.mark.parametrize("way", range(len(WAYS)))
def test_reasons_are_chinese(way: int) -> None:
    """Every program is compiled one way, so that all together take seconds."""
    machine, options = WAYS[way]
    count = 0
    for path in PROGRAMS[way :: len(WAYS)]:
        for decision in decisions(path, machine, options):
            count += 1
            assert is_chinese(CHINESE.decision(decision)), str(decision)
            for text in worded(decision):
                assert english_in(CHINESE.told(text)) == [], text
    assert count > 500


def decisions(path: Path, machine: str, options: Options) -> Iterator[Decision]:
    """All of a compilation; of the passes over HLO alone where there is no code."""
    module = road.load(path)
    try:
        journal = road.compile(module, machine, options).journal
    except UnsupportedError:
        journal = Journal()
        run_hlo_passes(module, options, journal)
    return (entry.decision for entry in journal.entries)


def worded(decision: Decision) -> Iterator[str]:
    """The decision's English, without the names of instructions to choose from."""
    names = [each.name.partition(" [")[0] for each in decision.alternatives]
    for name in decision.worded:
        text = getattr(decision, name)
        if isinstance(decision, TileChosen):
            for code in sorted((*names, decision.chosen.partition(" [")[0]), key=len, reverse=True):
                text = text.replace(code, "x")
        yield text
