"""Recent files: the latest first, none twice, none that is gone."""

from __future__ import annotations

from pathlib import Path

from tui.recent import MOST, recent_file, recent_programs, remember


def test_the_latest_file_comes_first_and_lost_ones_go(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.hlo" for number in range(MOST + 3)]
    for path in paths:
        path.write_text("HloModule m", encoding="utf-8")
        remember(str(path))
    remember(str(paths[5]))
    assert recent_programs()[:2] == [str(paths[5]), str(paths[-1])]
    assert len(recent_programs()) == MOST == len(set(recent_programs()))
    paths[5].unlink()
    assert str(paths[5]) not in recent_programs()


def test_what_is_no_file_is_not_remembered(tmp_path: Path) -> None:
    remember(str(tmp_path / "missing.hlo"))
    assert recent_programs() == []
    recent_file().parent.mkdir(parents=True)
    recent_file().mkdir()
    assert recent_programs() == []
    file = tmp_path / "a.hlo"
    file.write_text("", encoding="utf-8")
    remember(str(file))
