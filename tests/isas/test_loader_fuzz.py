"""Whatever stands in a machine's files, the loader answers with an ISA or with one HobError."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isas.check import check_path
from isas.effects import EFFECTS
from isas.errors import HobError
from tests.isas.folders import CALLING, CARDS, CORE, OPERANDS, REGISTERS, write_isa

TEXTS = {
    "registers": REGISTERS,
    "operands": OPERANDS,
    "calling": CALLING,
    "cards": CARDS,
    "core": CORE,
}
WORDS = [
    "x", "w", "d", "a", "imm", "label", "flags", "pc", "next", "0", "-1", "1.5", "v4f32", "i32",
    "[0, 1]", "[]", "(", ")", ",", "=", ";", "'", '"', "{", "}", "[", "]", ":", "\n", "  ", "|",
    "- ", "#", "\t", "é", "&a", "*a", "!!int", "1e9", "0x", "_", "**", "and(", "flags.sub(a, d)",
    *sorted(EFFECTS),
]  # fmt: skip


@pytest.mark.parametrize("file", TEXTS)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_damaged_file_gives_a_report(file: str, data: st.DataObject) -> None:
    text = TEXTS[file]
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        stop = data.draw(st.integers(start, min(len(text), start + 6)))
        text = text[:start] + data.draw(st.sampled_from(WORDS)) + text[stop:]
    with tempfile.TemporaryDirectory() as folder:
        report = check_path(write_isa(Path(folder), **{file: text}))
    assert report.is_fine == (report.isa is not None and not report.problems)
    assert all(isinstance(problem, HobError) and str(problem) for problem in report.problems)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    effect=st.sampled_from(sorted(EFFECTS)),
    arguments=st.lists(
        st.sampled_from(
            ["a", "d", "0", "1.0", "flags", "[0, 1]", "3", "i32", "v2i32", "add(a, 1)", "low(a)"]
        ),
        max_size=4,
    ),
)
def test_any_effect_on_any_arguments_is_typed_or_refused(effect: str, arguments: list[str]) -> None:
    does = f"d = {effect}({', '.join(arguments)})"
    cards = CARDS.replace("d = add(d, a)", does)
    with tempfile.TemporaryDirectory() as folder:
        report = check_path(write_isa(Path(folder), cards=cards))
    assert all(isinstance(problem, HobError) for problem in report.problems)
