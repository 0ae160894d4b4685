"""Going from breakpoint to breakpoint: forward in time, each place once, each where it says."""

from __future__ import annotations

import numpy as np
import pytest

from lab import road
from tests.tui.driving import EXAMPLES
from tui.goals import Goal, find, next_place, read_goal
from vm.reasons import reason_at

RUNS = [("softmax", "x86/zen3"), ("softmax", "arm/cortex-a53"), ("attention", "simt/volta")]


@pytest.fixture(scope="module", params=RUNS, ids=lambda run: f"{run[0]}-{run[1]}")
def result(request: pytest.FixtureRequest) -> road.Result:
    name, machine = request.param
    return road.run(road.load(EXAMPLES / f"{name}.hlo"), machine)


def goals(result: road.Result, *texts: str) -> list[Goal]:
    return [read_goal(text, result.execution.programs) for text in texts]


def test_mixed_breakpoints_are_passed_in_time_and_none_twice(result: road.Result) -> None:
    timeline = result.timeline
    breaks = goals(result, "c100", "c150", "#40", "@7", "cache-miss", "data")
    row, cycle, seen = 0, 0, []
    while True:
        found = [next_place(timeline, goal, row, cycle) for goal in breaks]
        places = [place for place in found if place is not None]
        if not places:
            break
        later = min(places, key=lambda place: (place[1], place[0]))
        assert (later[1], later[0]) > (cycle, row)
        row, cycle = later
        seen.append(later)
    assert {100, 150} <= {cycle for _, cycle in seen}
    stream = timeline.stream
    first = timeline.fetch if timeline.simt is None else timeline.dispatch
    for place in np.flatnonzero(stream.static == 7).tolist():
        assert (place, int(first[place])) in seen or first[place] == 0


def test_a_cause_holds_where_its_place_is(result: road.Result) -> None:
    timeline, programs = result.timeline, result.execution.programs
    (goal,) = goals(result, "data")
    row, holds, count = -1, 0, 0
    while (place := find(timeline, goal, row)) is not None and place[0] > row:
        row = place[0]
        reason = reason_at(timeline, programs, *place)
        holds += reason.stall is goal.stall
        count += 1
    assert count == len(timeline.rows_stalled(goal.stall)) and holds > 0.9 * count
