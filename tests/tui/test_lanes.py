"""Lanes of registers stand apart, whatever their numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tui.cells import width
from tui.screens.run_panels import _lanes


@pytest.mark.parametrize("room", [24, 30, 46, 90])
@pytest.mark.parametrize("form", ["", "d", "x"])
def test_wide_numbers_do_not_run_together(room: int, form: str) -> None:
    lanes = np.full(8, 4_000_000_000, np.uint32)
    text = _lanes(lanes, room, form)
    numbers = [part for part in text.replace("…", " ").split() if "×" not in part]
    assert width(text) <= room and numbers
    assert set(numbers) == {"ee6b2800" if form == "x" else "4000000000"}
