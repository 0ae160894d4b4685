"""Lines of neighbouring stages belong together one to one where schedulers moved them, and every
placed line of the assembly knows why it stands where it does."""

from __future__ import annotations

import pytest

import hob
from compiler.compilation import Compilation, Stage
from isas.document import Line
from tests.tui.driving import EXAMPLES
from tui.links import LineIndex, ReasonIndex, links

PROGRAMS = [("softmax", "x86/zen3"), ("attention", "arm/cortex-a53"), ("softmax", "simt/volta")]


@pytest.fixture(scope="module", params=PROGRAMS)
def compilation(request: pytest.FixtureRequest) -> Compilation:
    name, machine = request.param
    return hob.compile(hob.load(str(EXAMPLES / f"{name}.hlo")), machine=machine)


def placed(compilation: Compilation, stage: Stage) -> list[Line]:
    """The stage's lines that a scheduler has put somewhere."""
    lines = compilation.documents[stage].lines
    return [line for line in lines if any(" " in name for name in line.names)]


def test_assembly_says_why_here_in_both_schedules(compilation: Compilation) -> None:
    lines = placed(compilation, Stage.ASSEMBLY)
    assert len(lines) > 100
    reasons = ReasonIndex(compilation)
    for line in lines:
        found = [
            f"{entry.stage} {entry.decision.subject}"
            for entry in reasons.about(Stage.ASSEMBLY, line)
            if entry.stage in (Stage.SCHEDULED.value, Stage.RESCHEDULED.value)
        ]
        assert sorted(found) == sorted(name for name in line.names if " " in name)


@pytest.mark.parametrize(
    ("stage", "other"),
    [(Stage.SCHEDULED, Stage.RESCHEDULED), (Stage.RESCHEDULED, Stage.ASSEMBLY)],
)
def test_a_moved_instruction_is_linked_with_itself_alone(
    compilation: Compilation, stage: Stage, other: Stage
) -> None:
    """Not with the one that has its old place in the new order, nor with all of its value's."""
    document = compilation.documents[other]
    there = {name for line in document.lines for name in line.names}
    index = LineIndex(document)
    own = [line for line in placed(compilation, stage) if there & set(line.names)]
    moved = 0
    for line in own:
        mark = next(n for n in line.names if n == f"{stage.value} {line.subject}")
        if mark not in there:
            continue
        linked = links(line, stage, index, other).linked
        assert [mark in document.lines[i].names for i in linked] == [True]
        moved += next(iter(linked)) != compilation.documents[stage].lines.index(line)
    assert moved > 0
