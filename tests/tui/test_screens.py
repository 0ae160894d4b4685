"""The main path of every screen, asserted on the model and on messages."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from textual.widgets import Input

from compiler.compilation import Stage
from lab.words.language import Language
from tests.tui.driving import press, request, running
from tui.messages import Arrived, Ended, Progress
from tui.screens.compile import CompileScreen
from tui.screens.dialogs import Choose, Read
from tui.screens.registers import RegistersScreen
from tui.screens.run import RunScreen
from tui.screens.start import StartScreen
from tui.session import Request, Session, Snapshot
from tui.widgets.panel import Panel
from vm.reasons import reason_at


def drive(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Runs an asynchronous story to its end."""
    asyncio.run(story())


def test_a_program_arrives_first_compiled_then_run() -> None:
    async def story() -> None:
        messages: list[object] = []
        async with running(request(), messages=messages) as (app, _):
            arrived = [m.snapshot for m in messages if isinstance(m, Arrived)]
            assert [snapshot.result is None for snapshot in arrived] == [True, False]
            steps = [m.step for m in messages if isinstance(m, Progress)]
            assert steps[0] == "load" and "llvm-optimized" in steps and steps[-1] == "done"
            assert app.session.current is arrived[-1]
            assert app.session.current.result is not None
            assert app.session.current.result.matches

    drive(story)


def test_the_run_screen_steps_and_explains() -> None:
    async def story() -> None:
        async with running(request("softmax", vec=4)) as (app, pilot):
            screen = app.screen
            assert isinstance(screen, RunScreen) and screen.result is not None
            timeline, programs = screen.result.timeline, screen.result.execution.programs
            await press(app, pilot, "down", "down", "right")
            assert (screen.row, screen.cycle) == (2, 1)
            await press(app, pilot, "up", "left")
            assert (screen.row, screen.cycle) == (1, 0)
            await press(app, pilot, "n")
            assert screen.reason == reason_at(timeline, programs, screen.row, screen.cycle)
            assert screen.reason is not None and screen.reason.stall is not None
            why = screen.query_one("#why", Panel).text
            assert screen.reason.text in why and f"#{screen.row}" in why
            before = (screen.row, screen.cycle)
            while screen.reason.culprit is None:
                await press(app, pilot, "n")
                before = (screen.row, screen.cycle)
            culprit = screen.reason.culprit
            assert screen.pipeline.culprit == culprit
            await press(app, pilot, "enter")
            assert screen.row == culprit
            await press(app, pilot, "backspace")
            assert (screen.row, screen.cycle) == before

    drive(story)


def test_goto_breakpoints_and_iterations_end_where_they_say() -> None:
    async def story() -> None:
        async with running(request("softmax", vec=4)) as (app, pilot):
            screen = app.screen
            assert isinstance(screen, RunScreen) and screen.result is not None
            timeline = screen.result.timeline
            await press(app, pilot, "g", *"#400", "enter")
            assert screen.row == 400
            await press(app, pilot, "g", *"c900", "enter")
            assert screen.cycle == 900
            assert timeline.fetch[screen.row] <= 900 <= timeline.retire[screen.row]
            await press(app, pilot, "g", *"0", "enter", "b", *["backspace"] * 4, *"@60", "enter")
            await press(app, pilot, "space")
            assert timeline.stream.static[screen.row] == 60
            first = screen.row
            await press(app, pilot, "space")
            second = screen.row
            assert timeline.stream.static[second] == 60 and second > first
            await press(app, pilot, "left_square_bracket")
            assert screen.row == first
            await press(app, pilot, "c", "b", *["backspace"] * 4, *"store-forward", "enter")
            await press(app, pilot, "space")
            from vm.stalls import Stall

            assert screen.row in timeline.rows_stalled(Stall.STORE_FORWARD)

    drive(story)


def test_registers_on_the_run_screen_are_those_of_the_replay() -> None:
    async def story() -> None:
        async with running(request("softmax", vec=4)) as (app, pilot):
            screen = app.screen
            assert isinstance(screen, RunScreen)
            replay = app.session.replay()
            assert replay is not None
            moments = ((row, replay.after(row)) for row in range(300, 330))
            writes = (row for row, m in moments if any(r.is_changed for r in m.registers))
            row = next(writes)
            await press(app, pilot, "g", *str(row), "enter")
            assert screen.moment is not None
            again = replay.after(row)
            shown = {r.name: r.lanes.tobytes() for r in screen.moment.registers}
            assert shown == {r.name: r.lanes.tobytes() for r in again.registers}
            text = screen.query_one("#state", Panel).text
            changed = [r.name for r in again.registers if r.is_changed]
            assert changed and all(f"{name} " in text for name in changed) and "▸" in text
            assert all(slot.place.name in text for slot in again.slots[:2])

    drive(story)


def test_warps_show_lanes_and_both_views() -> None:
    async def story() -> None:
        async with running(request("attention", "simt/volta")) as (app, pilot):
            screen = app.screen
            assert isinstance(screen, RunScreen) and screen.warps is not None
            assert screen.is_by_warps and "32" in screen.query_one("#state", Panel).text
            await press(app, pilot, "down", "down")
            stream = screen.warps.timeline.stream
            assert stream.warp[screen.row] == 2
            row = screen.row
            await press(app, pilot, "v")
            assert not screen.is_by_warps and screen.row == row

    drive(story)


def test_the_allocator_replays_forwards_and_backwards() -> None:
    async def story() -> None:
        async with running(request("softmax", vec=4)) as (app, pilot):
            await press(app, pilot, "5")
            screen = app.screen
            assert isinstance(screen, RegistersScreen) and screen.state is not None
            assert screen.register_class == "vec" and screen.state.step.spilled
            at_spill = screen.state
            await press(app, pilot, "left")
            assert screen.state.step.number < at_spill.step.number
            await press(app, pilot, "right")
            assert screen.state == at_spill
            await press(app, pilot, "home")
            assert screen.index == 0
            await press(app, pilot, "end")
            assert screen.index == len(screen.steps) - 1
            await press(app, pilot, "N")
            assert screen.state.step.spilled

    drive(story)


def test_one_register_more_compiles_and_runs_anew() -> None:
    async def story() -> None:
        async with running(request("softmax", vec=4)) as (app, pilot):
            await press(app, pilot, "5")
            screen = app.screen
            assert isinstance(screen, RegistersScreen) and app.session.current is not None
            spilled = len(screen.result.spilled) if screen.result else 0
            await press(app, pilot, "plus", "plus")
            assert app.session.current.request.limits == "vec=6"
            assert screen.result is not None and len(screen.result.spilled) < spilled
            assert "vec=5" in screen.query_one("#facts", Panel).text
            await press(app, pilot, "minus")
            assert app.session.current.request.limits == "vec=5"

    drive(story)


def test_another_rule_spills_others() -> None:
    async def story() -> None:
        async with running(request("layernorm", vec=4)) as (app, pilot):
            await press(app, pilot, "5")
            screen = app.screen
            assert isinstance(screen, RegistersScreen) and screen.result is not None
            furthest = {str(register) for register in screen.result.spilled}
            await press(app, pilot, "a")
            assert {str(register) for register in screen.result.spilled} != furthest
            await press(app, pilot, "a")
            assert {str(register) for register in screen.result.spilled} == furthest

    drive(story)


def test_lines_of_two_stages_are_linked() -> None:
    async def story() -> None:
        async with running(request("softmax", vec=4)) as (app, pilot):
            await press(app, pilot, "2")
            screen = app.screen
            assert isinstance(screen, CompileScreen)
            left, right = screen.panes
            line = left.current
            assert line is not None and right.linked
            code = right.document.lines
            assert all(set(line.origins) & set(code[i].origins) for i in right.linked)
            await press(app, pilot, "tab")
            assert right.has_focus and right.line in right.linked | {right.line}
            assert left.linked
            await press(app, pilot, "left_square_bracket")
            assert screen.stages == [Stage.HLO_FUSED, Stage.RESCHEDULED]
            assert screen.entries()

    drive(story)


def test_differences_search_and_passes() -> None:
    async def story() -> None:
        async with running(request()) as (app, pilot):
            await press(app, pilot, "2", "d")
            screen = app.screen
            assert isinstance(screen, CompileScreen)
            assert screen.stages == [Stage.HLO, Stage.HLO_FUSED]
            left, right = screen.panes
            assert "-" in left.signs and "+" in right.signs
            await press(app, pilot, "d", "slash", *"sine", "enter")
            assert screen.panes[screen.active].current is not None
            assert "sine" in screen.panes[screen.active].current.text
            await press(app, pilot, "D")
            assert isinstance(app.screen, Choose)
            await press(app, pilot, "enter")
            assert screen.picture is not None and screen.picture.is_changing

    drive(story)


def test_origins_lead_to_the_line_of_code() -> None:
    async def story() -> None:
        async with running(request("softmax")) as (app, pilot):
            await press(app, pilot, "g", *"50", "enter")
            run_screen = app.screen
            assert isinstance(run_screen, RunScreen)
            instruction = run_screen.instruction
            await press(app, pilot, "o")
            screen = app.screen
            assert isinstance(screen, CompileScreen)
            line = screen.panes[1].current
            assert line is not None and instruction.text in line.text

    drive(story)


def test_start_opens_examples_and_machine_changes() -> None:
    async def story() -> None:
        async with running(None) as (app, pilot):
            assert isinstance(app.screen, StartScreen)
            await press(app, pilot, "enter")
            assert isinstance(app.screen, RunScreen) and app.session.current is not None
            assert app.session.current.request.title == "element_wise_chain.hlo"
            await press(app, pilot, "m")
            assert isinstance(app.screen, Choose)
            await press(app, pilot, "home", "enter")
            assert app.session.current.request.machine == "arm/cortex-a53"
            await press(app, pilot, "r", *"vec=6", "enter")
            assert app.session.current.request.limits == "vec=6"
            assert len(app.session.history) == 3

    drive(story)


def test_bad_input_is_told_and_changes_nothing() -> None:
    async def story() -> None:
        messages: list[object] = []
        async with running(request(), messages=messages) as (app, pilot):
            before = app.session.current
            await press(app, pilot, "r", *"vec=0", "enter")
            await press(app, pilot, "p", *["backspace"] * 300, *"/no/such.hlo", "enter")
            ended = [m for m in messages if isinstance(m, Ended)]
            assert "no such file" in ended[-1].problem.text
            assert app.session.current is before and before is not None
            assert app.session.request == before.request

    drive(story)


def test_work_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work waits at its first step until it is told to stop, so that it cannot be quicker."""
    began, ended = threading.Event(), threading.Event()

    def wait(self: Session, request: Request, *told: Any) -> Snapshot:
        is_cancelled = told[-1]
        began.set()
        while not is_cancelled():
            time.sleep(0.01)
        try:
            return whole(self, request, *told)
        finally:
            ended.set()

    whole = Session.work

    async def story() -> None:
        async with running(request()) as (app, pilot):
            before = app.session.current
            monkeypatch.setattr(Session, "work", wait)
            await pilot.press("r", *"vec=3", "enter")
            assert await asyncio.to_thread(began.wait, 60)
            assert app.is_working
            await pilot.press("escape")
            assert not app.is_working
            assert await asyncio.to_thread(ended.wait, 60)
            await pilot.pause()
            assert app.session.current is before

    drive(story)


@pytest.mark.parametrize("key", ["1", "2", "5", "6"])
def test_languages_switch_while_running(key: str) -> None:
    async def story() -> None:
        async with running(request("softmax")) as (app, pilot):
            await press(app, pilot, key)
            from tui.pictures.text import screen_text

            assert not any("一" <= c <= "鿿" for c in screen_text(app).replace("中文", ""))
            await press(app, pilot, "l")
            assert app.words.language is Language.CHINESE
            assert sum("一" <= c <= "鿿" for c in screen_text(app)) > 20
            await press(app, pilot, "question_mark")
            assert isinstance(app.screen, Read)

    drive(story)


def test_the_command_palette_speaks_the_language() -> None:
    async def story() -> None:
        async with running(None, language=Language.CHINESE) as (app, pilot):
            await pilot.press("ctrl+p")
            await pilot.pause()
            assert app.screen.query_one(Input).placeholder == "查找命令…"

    drive(story)
