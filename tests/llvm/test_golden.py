"""Each pass turns the input of its golden files into the output written there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from compiler.llvm.evaluate import evaluate
from compiler.llvm.parse import parse_function
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


def test_rotation_keeps_what_phis_exchange() -> None:
    path = next(p for p in files() if p.stem == "rotate_exchange")
    results = []
    for side in path.read_text().split(MARK):
        memory = np.zeros(64, np.uint8)
        evaluate(parse_function(side), [0, 32], memory)
        results.append(memory)
    assert results[0].any()
    assert np.array_equal(results[0], results[1])
