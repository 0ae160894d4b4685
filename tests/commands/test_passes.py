"""`hob passes`: the table, single passes, diffs and reasons; wrong names are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.pipeline import HLO_PASSES
from tui.commands.main import exit_code

SOFTMAX = "examples/softmax.hlo"
TINY = """HloModule tiny
ENTRY e {
  x = f32[4] parameter(0)
  zero = s32[] constant(3)
  unused = s32[] add(zero, zero)
  y = f32[4] multiply(x, x)
  z = f32[4] multiply(x, x)
  ROOT r = f32[4] add(y, z)
}
"""


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    path = tmp_path / "tiny.hlo"
    path.write_text(TINY)
    return str(path)


def hob(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = exit_code(list(words))
    found = capsys.readouterr()
    return code, found.out, found.err


def test_the_table_has_a_line_for_every_pass(tiny: str, capsys) -> None:
    code, out, _ = hob(capsys, "passes", tiny)
    assert code == 0
    first = [line.split()[0] for line in out.splitlines()]
    assert {row.name for row in HLO_PASSES} <= set(first)


def test_one_pass_runs_alone_and_its_diff_says_what_changed(tiny: str, capsys) -> None:
    code, out, _ = hob(capsys, "passes", tiny, "--only", "cse", "--diff", "--why")
    assert code == 0
    assert "-  z = f32[4] multiply(x, x)" in out
    assert "+  ROOT r = f32[4] add(y, y)" in out
    assert "z computes the same as y" in out
    assert "fusion" not in out


def test_a_pass_that_finds_nothing_says_so(tiny: str, capsys) -> None:
    _, out, _ = hob(capsys, "passes", tiny, "--only", "inline", "--diff")
    assert "inline changes nothing here" in out


def test_the_list_gives_every_pass_its_reason(capsys) -> None:
    code, out, _ = hob(capsys, "passes", "--list")
    assert code == 0
    for row in HLO_PASSES:
        assert row.name in out
        assert " ".join(row.why.split()[:5]) in out


def test_an_unknown_pass_and_a_missing_program_are_refused(tiny: str, capsys) -> None:
    code, _, err = hob(capsys, "passes", tiny, "--only", "fuze")
    assert code == 2 and "fuze" in err and "fuse" in err
    code, _, err = hob(capsys, "passes")
    assert code == 2 and "--list" in err
