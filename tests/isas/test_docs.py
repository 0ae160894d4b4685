"""docs/cards.md tells the truth: its cards load, the files and the error it shows are real."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from isas.check import check_path
from isas.errors import HobError
from isas.loader import load_folder
from tests.isas.folders import CARDS, write_isa

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "cards.md").read_text()


def _block(language: str) -> str:
    match = re.search(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert match is not None
    return match[1]


def test_the_example_cards_load(tmp_path: Path) -> None:
    report = check_path(write_isa(tmp_path, cards=_block("yaml")))
    assert report.is_fine, str(report)
    assert report.isa is not None
    assert [shape.title for shape in report.isa.shapes] == [
        "mul x, x, x",
        "mul w, w, w",
        "mul w, w, m32",
        "mulsub x, x, x",
        "mulsub w, w, w",
        "mulsub w, w, m32",
        "shl w, w, w",
        "shl w, w, imm",
    ]


def test_the_error_shown_is_the_error_given(tmp_path: Path) -> None:
    with pytest.raises(HobError) as caught:
        load_folder(write_isa(tmp_path, cards=CARDS.replace("add(d, a)", "plus(d, a)")))
    assert str(caught.value) == _block("text").rstrip()


def test_files_named_in_the_page_exist() -> None:
    assert all((ROOT / name).exists() for name in re.findall(r"`(isas/[\w/.]+)`", PAGE))
