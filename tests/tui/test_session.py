"""The session: what is remembered, what is out of date, and screens that follow it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab import road
from tests.tui.driving import EXAMPLES, press, request, running
from tui import session as session_module
from tui.messages import Arrived, Ended, Problem, Progress
from tui.screens import actions
from tui.screens.registers import RegistersScreen
from tui.screens.run import RunScreen
from tui.session import Request, Session, Snapshot, stamps_of
from tui.totals import Totals
from tui.widgets.panel import Panel


def drive(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(story())


def worked(session: Session, wanted: Request) -> Snapshot:
    """The snapshot of a request, made here and now."""
    session.begin(wanted)
    snapshot = session.work(wanted, lambda step: None, lambda half: None, lambda: False)
    session.accept(snapshot)
    return snapshot


def test_the_same_request_is_remembered_until_its_file_changes(tmp_path: Path) -> None:
    path = tmp_path / "sum.hlo"
    text = "HloModule m\n\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT r = f32[4] {}(x, x)\n}\n"
    path.write_text(text.replace("{}", "add"))
    session, wanted = Session(), Request(str(path))
    first = worked(session, wanted)
    assert worked(session, wanted) is first
    path.write_text(text.replace("{}", "multiply"))
    assert stamps_of(wanted) != first.stamps
    second = worked(session, wanted)
    assert second is not first and second.result is not None
    given = second.result.data.inputs[0]
    assert np.array_equal(second.result.outputs[0], given * given)


def test_a_files_stamp_is_that_of_the_file_behind_a_function(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("def f(x): return x\n")
    program = str(tmp_path / "model.py:f")
    assert stamps_of(Request(program, arguments=("f32[2]",))) != ((0, 0),)
    assert stamps_of(Request(str(tmp_path / "none.hlo"))) == ((0, 0),)


def test_large_runs_are_forgotten_first_but_never_the_last_two(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = Session()
    snapshot = worked(session, request())
    monkeypatch.setattr(session_module, "MOST_BYTES", 3 * snapshot.size_bytes)
    for seed in range(1, 6):
        session.accept(replace(snapshot, request=replace(snapshot.request, seed=seed)))
    assert [s.request.seed for s in session.history] == [3, 4, 5] and session.forgotten == 3
    monkeypatch.setattr(session_module, "MOST_BYTES", 1)
    session.accept(replace(snapshot, request=replace(snapshot.request, seed=6)))
    assert [s.request.seed for s in session.history] == [5, 6]


def test_what_comes_too_late_changes_nothing() -> None:
    async def story() -> None:
        async with running(request()) as (app, pilot):
            current = app.session.current
            assert current is not None
            other = replace(current.request, seed=7)
            app.post_message(Arrived(replace(current, request=other)))
            app.post_message(Progress(other, "llvm"))
            app.post_message(Ended(other, Problem("too late")))
            await pilot.pause()
            assert app.session.current is current and app.problem is None and app.note == ""

    drive(story)


def test_another_number_of_registers_leaves_cursor_and_breakpoints() -> None:
    async def story() -> None:
        async with running(request("softmax", vec=4)) as (app, pilot):
            screen = app.screen
            assert isinstance(screen, RunScreen)
            await press(app, pilot, "b", "enter", "g", *"#40", "enter")
            await press(app, pilot, "r", *["backspace"] * 8, *"vec=8", "enter")
            assert app.session.request is not None and app.session.request.limits == "vec=8"
            assert screen.row == 40 and [str(goal) for goal in screen.breaks] == ["@0"]
            await press(app, pilot, "m", "home", "enter")
            assert screen.row == 0 and screen.breaks == ()

    drive(story)


def test_registers_belong_to_the_run_that_is_shown() -> None:
    """Not to the one before, whose row has the same number."""

    async def story() -> None:
        async with running(request("softmax", vec=4)) as (app, pilot):
            screen = app.screen
            assert isinstance(screen, RunScreen)
            await press(app, pilot, "m", "home", "enter")
            assert screen.result is not None and screen.moment is not None
            fresh = road.replay(screen.result).after(screen.row)
            shown = [(r.name, r.lanes.tobytes()) for r in screen.moment.registers]
            assert shown == [(r.name, r.lanes.tobytes()) for r in fresh.registers]
            text = screen.query_one("#state", Panel).text
            assert "ymm" not in text and "x0" in text

    drive(story)


def test_without_a_run_the_screen_is_empty_and_says_why() -> None:
    async def story() -> None:
        async with running(request("softmax")) as (app, pilot):
            screen = app.screen
            assert isinstance(screen, RunScreen) and app.session.current is not None
            half = replace(app.session.current, result=None)
            app.session.begin(half.request)
            app.post_message(Arrived(half))
            await pilot.pause()
            assert screen.result is None and screen.pipeline.rows == 0
            assert screen.query_one("#state", Panel).text == ""
            assert "running" in screen.query_one("#why", Panel).text
            for key in ("down", "right", "n", "t", "v", "space", "enter", "end"):
                await pilot.press(key)
            app.session.give_up()
            screen.update()
            assert screen.result is not None and screen.pipeline.rows > 0

    drive(story)


def test_an_error_stays_on_the_screen_until_something_else_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "wrong.hlo"
    path.write_text("HloModule m\n\nENTRY e {\n  ROOT x = f32[4] nonsense()\n}\n")

    async def story() -> None:
        async with running(Request(str(path))) as (app, pilot):
            for key, panel in (("6", "#why"), ("2", "#reasons"), ("5", "#facts")):
                await press(app, pilot, key)
                assert "nonsense" in app.screen.query_one(panel, Panel).text
            actions.open_program(app, str(EXAMPLES / "softmax.hlo"))
            await press(app, pilot, "6")
            assert app.problem is None and app.session.current is not None

    drive(story)


def test_earlier_runs_are_shown_as_they_were() -> None:
    async def story() -> None:
        async with running(request("softmax", vec=4)) as (app, pilot):
            first = app.session.current
            await press(app, pilot, "5", "plus")
            assert app.session.current is not first
            await press(app, pilot, "u", "down", "enter")
            assert app.session.current is first

    drive(story)


def test_an_allocation_for_something_else_is_not_shown() -> None:
    async def story() -> None:
        async with running(request("attention", vec=5)) as (app, pilot):
            await press(app, pilot, "5")
            screen = app.screen
            assert isinstance(screen, RegistersScreen)
            await pilot.press("a", "k")
            await press(app, pilot, "down")
            assert screen.compilation is not None
            assert screen.result is screen.compilation.allocations[screen.kernel]

    drive(story)


@pytest.mark.parametrize("machine", ["x86/zen3", "arm/cortex-a53"])
def test_totals_of_every_cycle_add_up(machine: str) -> None:
    result = road.run(road.load(EXAMPLES / "softmax.hlo"), machine)
    timeline, totals = result.timeline, Totals(result.timeline)
    assert np.isclose(totals.lost_until(timeline.cycles).sum(), timeline.cycles)
    assert totals.retired_until(timeline.cycles) == len(timeline)
    before = np.zeros(len(totals.lost_until(0)))
    for cycle in np.unique(timeline.retire)[::17].tolist():
        so_far = totals.lost_until(cycle)
        assert cycle < so_far.sum() + 1e-9 and so_far.sum() < cycle + 1 + 1e-9
        assert (so_far >= before - 1e-9).all()
        assert totals.retired_until(cycle) == sum(r <= cycle for r in timeline.retire.tolist())
        before = so_far


@pytest.mark.parametrize("machine", ["x86/zen3", "simt/volta"])
def test_waiting_rows_are_those_that_waited(machine: str) -> None:
    timeline = road.run(road.load(EXAMPLES / "softmax.hlo"), machine).timeline
    uops = timeline.micro_ops
    waiting = []
    for row in range(len(timeline)):
        places = timeline.micro_op_range(row)
        entered = timeline.dispatch[row] + 1
        if any((uops.wait[u] > 0 and uops.ready[u] > entered) or uops.hold[u] for u in places):
            waiting.append(row)
    assert Totals(timeline).waiting_rows.tolist() == waiting


@pytest.mark.parametrize("machine", ["x86/zen3", "simt/volta"])
def test_work_is_stopped_within_a_launch_and_within_a_stage(machine: str) -> None:
    """Not only before the next one: a single kernel is asked about many times."""
    module = road.load(EXAMPLES / "softmax.hlo")
    heard: list[str] = []
    compilation = road.compile(module, machine, watch=heard.append)
    assert len(compilation.kernels) == 1
    assert all(heard.count(stage) > 20 for stage in ("hlo-fused", "selected", "scheduled"))
    assert compilation.journal.watch is None

    def stop(step: str) -> None:
        if step == "selected":
            raise InterruptedError

    with pytest.raises(InterruptedError):
        road.compile(module, machine, watch=stop)


@pytest.mark.parametrize("machine", ["x86/zen3", "simt/volta"])
def test_a_long_launch_asks_whether_to_go_on(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vm.functional.WATCHED_INSTRUCTIONS", 100)
    compilation = road.compile(road.load(EXAMPLES / "softmax.hlo"), machine)
    heard: list[str] = []
    result = road.run(compilation, watch=heard.append)
    assert len(compilation.kernels) == 1 and heard.count("run") > 10 and result.matches
    monkeypatch.setattr("vm.functional.WATCHED_INSTRUCTIONS", 1 << 30)
    assert road.run(compilation).cycles == result.cycles


NOTHING = {
    "parameter": "HloModule m\n\nENTRY e {\n  ROOT a = f32[4] parameter(0)\n}\n",
    "empty": "HloModule m\n\nENTRY e {\n  a = f32[0,4] parameter(0)\n"
    "  ROOT r = f32[0,4] add(a, a)\n}\n",
}


@pytest.mark.parametrize("name", NOTHING)
def test_a_program_that_executes_nothing_can_be_looked_at(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.hlo"
    path.write_text(NOTHING[name])

    async def story() -> None:
        async with running(Request(str(path)), size=(80, 24)) as (app, pilot):
            screen = app.screen
            assert isinstance(screen, RunScreen) and screen.result is not None
            assert len(screen.result.timeline) == 0
            assert "nothing was executed" in screen.query_one("#why", Panel).text
            for goal in ("#5", "c9", "cache-miss"):
                await press(app, pilot, "g", *goal, "enter")
            await press(app, pilot, "b", *"c9", "enter", "space", "n", "end", "v", "t", "o", "w")
            for key in ("escape", "2", "5", "6"):
                await press(app, pilot, key)
            assert app.is_running

    drive(story)


@pytest.mark.parametrize("name", ["a" * 300, "/", "~nobody/x.hlo", "x.py:f f32[2", "x.py"])
def test_no_name_of_a_program_is_too_odd_to_ask_for(name: str) -> None:
    async def story() -> None:
        async with running(request()) as (app, pilot):
            before = app.session.current
            actions.open_program(app, name)
            await press(app, pilot, "6")
            assert app.problem is not None and app.problem.defect is None
            assert app.session.current is before

    drive(story)


def test_a_program_in_python_is_asked_for_with_its_shapes() -> None:
    assert actions.program_and_shapes("m.py:f f32[8,128] s32[]") == (
        "m.py:f",
        ("f32[8,128]", "s32[]"),
    )
    assert actions.program_and_shapes("my file.hlo") == ("my file.hlo", ())


MASHED = [
    "left", "right", "up", "down", "pageup", "pagedown", "home", "end", "1", "2", "5", "6", "n",
    "space", "enter", "left_square_bracket", "o", "v", "w", "d", "D", "tab", "a", "k", "l", "m",
    "r", "u", "plus", "minus", "escape",
]  # fmt: skip


@pytest.mark.parametrize("machine", ["x86/zen3", "simt/volta"])
def test_keys_pressed_while_work_goes_on_leave_one_truth(machine: str) -> None:
    """Machines, registers and screens change faster than anything can be compiled."""

    async def story() -> None:
        chooser = random.Random(5)
        async with running(request("softmax", machine), size=(80, 24)) as (app, pilot):
            for place in range(80):
                await pilot.press(chooser.choice(MASHED))
                if place % 30 == 15:
                    await pilot.resize_terminal(*chooser.choice([(30, 8), (160, 48), (80, 24)]))
            for _ in range(8):
                await pilot.press("escape")
            await press(app, pilot, "6")
            screen, current = app.screen, app.session.current
            assert isinstance(screen, RunScreen) and current is not None
            assert app.session.request == current.request and not app.is_working
            assert screen.result is current.result and screen.result is not None
            fresh = road.replay(screen.result).after(screen.row)
            assert screen.moment is not None
            shown = [r.lanes.tobytes() for r in screen.moment.registers]
            assert shown == [r.lanes.tobytes() for r in fresh.registers]

    drive(story)
