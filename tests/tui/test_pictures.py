"""Pictures: every character at its place, and the command that makes them."""

from __future__ import annotations

import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.segment import Segment
from textual.strip import Strip

from isas.errors import InputError
from tui.cells import fitted, width, wrapped
from tui.commands.main import main
from tui.commands.show import read_size
from tui.pictures.svg import CELL_WIDTH, MARGIN, strips_svg

SVG = "{http://www.w3.org/2000/svg}"
EXAMPLE = str(Path(__file__).resolve().parents[2] / "examples" / "element_wise_chain.hlo")


def places(svg: str) -> dict[float, str]:
    """The character at each x of a picture of one row."""
    found = {}
    for text in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        xs = [float(x) for x in text.attrib["x"].split()]
        assert len(xs) == len(text.text or "")
        found.update(zip(xs, text.text or ""))
    return found


def test_every_character_stands_on_the_grid_also_behind_chinese() -> None:
    line = "a 等待数据 b, 溢出x"
    at, column = places(strips_svg([Strip([Segment(line)])], 24)), 0
    for character in line:
        if character != " ":
            assert at[round(MARGIN + column * CELL_WIDTH, 1)] == character
        column += width(character)


def test_wide_text_is_padded_cut_and_wrapped_by_cells() -> None:
    assert fitted("溢出", 6) == "溢出  " and width(fitted("活跃区间", 6)) == 6
    assert fitted("活跃区间", 6) == "活跃… "
    lines = wrapped("没有空闲寄存器，规则是终点最远 and more", 12)
    assert all(width(line) <= 12 for line in lines)
    assert "".join(lines).replace(" ", "") == "没有空闲寄存器，规则是终点最远andmore"
    assert not any(line.startswith("，") for line in lines)


def test_the_show_command_writes_what_it_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "run.svg"
    words = ["show", "run", EXAMPLE, "--svg", str(picture), "--text", "--lang", "zh"]
    with pytest.raises(SystemExit) as end:
        main([*words, "--keys", "down,down"])
    assert end.value.code == 0
    assert "流水线" in capsys.readouterr().out
    root = ElementTree.fromstring(picture.read_text(encoding="utf-8"))
    assert root.tag == f"{SVG}svg" and len(list(root.iter(f"{SVG}text"))) > 100


@pytest.mark.skipif(shutil.which("rsvg-convert") is None, reason="rsvg-convert is not installed")
def test_png_pictures_are_made(tmp_path: Path) -> None:
    picture = tmp_path / "start.png"
    with pytest.raises(SystemExit) as end:
        main(["show", "start", "--png", str(picture)])
    assert end.value.code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "words",
    [
        ["show", "nowhere", EXAMPLE],
        ["show", "run", "/no/such/file.hlo"],
        ["show", "run", EXAMPLE, "--size", "79x24"],
        ["show", "run", EXAMPLE, "--size", "wide"],
        ["show", "start", "--svg", "/no/such/folder/x.svg"],
        ["machines", "--lang", "fr"],
    ],
    ids=lambda words: " ".join(words[-2:])[-24:],
)
def test_bad_requests_exit_2_with_one_message(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("hob: ") and "Traceback" not in error


def test_sizes_are_columns_by_rows() -> None:
    assert read_size("160x48") == (160, 48)
    with pytest.raises(InputError):
        read_size("160")
