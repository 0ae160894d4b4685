"""Linear scan by itself: who is spilled, and what the steps tell a replay."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.allocate.intervals import Interval, Segment
from compiler.allocate.linear_scan import (
    Hint,
    Pool,
    ScanAction,
    ScanProblem,
    ScanResult,
    SpillRule,
    linear_scan,
)
from compiler.machine.code import VirtualRegister


def interval(
    number: int, start: int, end: int, *, storages: int = 1, weight: float = 1.0, spill: bool = True
) -> Interval:
    """An interval without holes."""
    register = VirtualRegister(number, "reg", 32 * storages)
    return Interval((register,), (Segment(start, end),), storages, weight, spill)


def pool(count: int) -> Pool:
    return Pool("reg", tuple(range(count)), 100, {i: f"r{i}" for i in range(count)})


def scan(intervals: list[Interval], count: int, **more: object) -> ScanResult:
    return linear_scan(ScanProblem(intervals, {"reg": pool(count)}, **more))  # type: ignore[arg-type]


def told(result: ScanResult) -> list[str]:
    """One line a step, as a replay shows it."""
    return [
        f"{s.subject} [{s.start},{s.end}) "
        f"expired {' '.join(map(str, s.expired)) or '-'}; "
        f"active {', '.join(map(str, s.active)) or '-'}; "
        f"free {' '.join(s.free) or '-'}; {s.action.value} {s.register or s.spilled}"
        for s in result.steps
    ]


# The five instructions of the code generation tutorial: t0 = a + b, t1 = t0 * c, t2 = t1 @ d,
# t3 = t2 + e, out = relu(t3). As here, it counts only results, not the inputs a to e.
TUTORIAL = [interval(n, 2 * n + 1, 2 * n + 3) for n in range(4)] + [interval(4, 9, 10)]


def test_the_tutorials_chain_replays_with_three_registers_and_needs_only_one() -> None:
    result = scan(TUTORIAL, 3)
    assert told(result) == [
        "v0 [1,3) expired -; active -; free r0 r1 r2; assign r0",
        "v1 [3,5) expired v0 r0 3; active -; free r0 r1 r2; assign r0",
        "v2 [5,7) expired v1 r0 5; active -; free r0 r1 r2; assign r0",
        "v3 [7,9) expired v2 r0 7; active -; free r0 r1 r2; assign r0",
        "v4 [9,10) expired v3 r0 9; active -; free r0 r1 r2; assign r0",
    ]
    assert not scan(TUTORIAL, 1).spilled


def test_with_the_inputs_alive_as_well_the_furthest_end_goes_to_memory() -> None:
    inputs = [interval(10 + n, 0, end) for n, end in enumerate([1, 1, 3, 5, 7])]
    result = scan([*inputs, *TUTORIAL], 3)
    assert [i.name for i in result.spilled] == ["v13", "v14"]
    spills = [s for s in result.steps if s.spilled]
    assert [(s.subject, s.action) for s in spills] == [
        ("v13", ScanAction.SPILL),
        ("v14", ScanAction.SPILL),
    ]
    assert "furthest end" in spills[0].because
    assert {a.name for a in spills[0].alternatives} == {
        "spill v10", "spill v11", "spill v12", "spill v13"
    }  # fmt: skip


def test_an_active_interval_that_ends_later_gives_its_register_up() -> None:
    result = scan([interval(0, 0, 100), interval(1, 1, 50), interval(2, 2, 10)], 2)
    step = result.steps[-1]
    assert (step.action, step.spilled, step.register) == (ScanAction.TAKE_OVER, "v0", "r0")
    assert [i.name for i in result.spilled] == ["v0"]


def test_among_equal_ends_the_cheaper_spill_goes_first() -> None:
    heavy, light = interval(0, 0, 20, weight=100), interval(1, 0, 20, weight=1)
    result = scan([heavy, light, interval(2, 1, 5)], 2)
    assert result.spilled == (light,)


def test_lowest_cost_spills_the_interval_with_least_weight_per_position() -> None:
    heavy, light = interval(0, 0, 40, weight=100), interval(1, 0, 20, weight=1)
    problem = [heavy, light, interval(2, 1, 5, weight=9)]
    assert scan(problem, 2, rule=SpillRule.LOWEST_COST).spilled == (light,)
    assert scan(problem, 2).spilled == (heavy,)


def test_a_tiny_interval_takes_the_register_even_from_one_that_ends_sooner() -> None:
    result = scan([interval(0, 0, 5), interval(1, 1, 50, spill=False)], 1)
    assert [i.name for i in result.spilled] == ["v0"]


def test_two_tiny_intervals_in_one_register_are_stuck() -> None:
    result = scan([interval(0, 0, 5, spill=False), interval(1, 1, 5, spill=False)], 1)
    assert result.stuck is not None and result.stuck.name == "v1"


def test_a_pair_takes_aligned_neighbours_and_singles_leave_pairs_whole() -> None:
    single, wide, other = interval(0, 0, 9), interval(1, 1, 9, storages=2), interval(2, 2, 9)
    places = scan([single, wide, other], 4).places
    assert (places[single], places[wide], places[other]) == (0, 2, 1)


def test_a_pair_spills_what_sits_in_its_place() -> None:
    singles = [interval(n, 0, 50 + n) for n in range(4)]
    result = scan([*singles, interval(9, 1, 5, storages=2)], 4)
    assert {i.name for i in result.spilled} == {"v2", "v3"}


def test_a_register_that_an_instruction_fixes_is_avoided_only_where_it_is_fixed() -> None:
    fixed = {100: (Segment(4, 6),)}
    crossing, before = interval(0, 1, 9), interval(1, 1, 4)
    assert scan([crossing], 2, fixed=fixed).places[crossing] == 1
    assert scan([before], 2, fixed=fixed).places[before] == 0


def test_a_hint_is_followed_when_the_register_is_free() -> None:
    one = interval(0, 0, 5)
    other = interval(1, 5, 9)
    hints = {one: (Hint(1.0, place=2),), other: (Hint(1.0, interval=one),)}
    places = scan([one, other], 3, hints=hints).places
    assert (places[one], places[other]) == (2, 2)


@st.composite
def some_intervals(draw: st.DrawFn) -> list[Interval]:
    spans = draw(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20)), max_size=25))
    return [interval(n, start, start + length) for n, (start, length) in enumerate(spans)]


@settings(deadline=None, max_examples=150)
@given(some_intervals(), st.integers(1, 8))
def test_intervals_that_overlap_never_share_and_enough_registers_never_spill(
    intervals: list[Interval], count: int
) -> None:
    result = scan(intervals, count)
    for one, other in combinations(result.places, 2):
        if one.start < other.end and other.start < one.end:
            assert result.places[one] != result.places[other]
    assert len(result.places) + len(result.spilled) == len(intervals)
    most = max((sum(i.start <= p < i.end for i in intervals) for p in range(60)), default=0)
    assert bool(result.spilled) == (most > count)


@settings(deadline=None, max_examples=100)
@given(some_intervals(), st.integers(1, 6))
def test_the_steps_alone_tell_who_ends_up_where(intervals: list[Interval], count: int) -> None:
    result = scan(intervals, count)
    where: dict[str, str] = {}
    for step in result.steps:
        for entry in step.active:
            assert where[entry.interval] == entry.register
        assert len(step.active) + len(step.free) == count
        if step.spilled:
            where.pop(step.spilled, None)
        if step.register:
            where[step.subject] = step.register
    assert where == {i.name: f"r{place}" for i, place in result.places.items()}


def test_a_register_without_a_partner_is_no_better_than_others() -> None:
    wide, single = interval(0, 0, 9, storages=2), interval(1, 1, 9)
    places = scan([wide, single], 5).places
    assert (places[wide], places[single]) == (0, 2)
