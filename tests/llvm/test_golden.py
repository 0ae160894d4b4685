"""Each pass turns the input of its golden files into the output written there."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.crosscheck.llvm import Llvm
from tests.llvm.golden import MARK, files, given, result


@pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
def test_golden(path: Path) -> None:
    content = path.read_text()
    assert result(given(content)) == content, "python -m tests.llvm.golden blesses the new output"


def test_llvm_accepts_both_sides_of_every_golden_file() -> None:
    with Llvm() as llvm:
        for path in files():
            for side in path.read_text().split(MARK):
                llvm.check(side)
