"""The Run screen: the pipeline, the cause of what is under the cursor, and the machine's state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from isas.errors import HobError
from isas.program import ProgramInstruction
from lab import road
from tui import look
from tui.goals import Goal, find, next_place, read_goal
from tui.messages import Moved
from tui.screens.base import HobScreen
from tui.screens.dialogs import Ask
from tui.screens.run_panels import totals_lines, why_lines
from tui.session import Request
from tui.totals import Totals
from tui.widgets.panel import Panel, paragraphs
from tui.widgets.pipeline import Pipeline
from tui.widgets.state import StatePanel
from tui.widgets.warps import WarpSheet
from vm.diagram import instruction_of
from vm.reasons import Reason, reason_at
from vm.replay import Moment
from vm.warps import WarpRows


class RunScreen(HobScreen):
    """Key 6."""

    KEY = "6"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "run_on", "run", priority=True),
        Binding("b", "break", "breakpoint"),
        Binding("g", "goto", "goto"),
        Binding("n", "stall(1)", "stall"),
        Binding("N", "stall(-1)", "previous stall", show=False),
        Binding("enter", "culprit", "producer"),
        Binding("backspace", "back", "back", show=False),
        Binding("left_square_bracket", "iteration(-1)", "iteration", key_display="[ ]"),
        Binding("right_square_bracket", "iteration(1)", "next iteration", show=False),
        Binding("o", "origins", "origins"),
        Binding("v", "view", "warps or instructions", show=False),
        Binding("t", "number_type", "number format", show=False),
        Binding("w", "causes", "what causes mean", show=False),
        Binding("c", "clear", "clear breakpoints", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.request: Request | None = None
        self.result: road.Result | None = None
        self.totals: Totals | None = None
        self.row = 0
        self.cycle = 0
        self.reason: Reason | None = None
        self.warps: WarpRows | None = None
        self.breaks: tuple[Goal, ...] = ()
        self.visited: list[tuple[int, int]] = []
        self.is_by_warps = False

    def body(self) -> Iterator[Widget]:
        yield Horizontal(
            Vertical(Pipeline(id="pipeline"), WarpSheet(id="warps"), classes="framed", id="left"),
            Vertical(
                Vertical(StatePanel(self.words, id="state"), classes="framed", id="state-box"),
                Vertical(Panel(id="totals"), classes="framed", id="totals-box"),
                id="side",
            ),
            id="upper",
        )
        yield Vertical(Panel(id="why"), classes="framed", id="why-box")

    # Showing

    @property
    def pipeline(self) -> Pipeline:
        return self.query_one("#pipeline", Pipeline)

    @property
    def state(self) -> StatePanel:
        return self.query_one("#state", StatePanel)

    @property
    def moment(self) -> Moment | None:
        """Registers and slots as shown; None while they are being replayed."""
        return self.state.moment

    @property
    def sheet(self) -> Pipeline | WarpSheet:
        """The diagram in front."""
        return self.query_one("#warps", WarpSheet) if self.is_by_warps else self.pipeline

    def refresh_content(self) -> None:
        result = self.snapshot.result if self.snapshot is not None else None
        if result is not self.result:
            self._take(result)
        self.query_one("#left").border_title = self.words(
            "warps by cycles" if self.is_by_warps else "pipeline"
        )
        self.query_one("#state-box").border_title = self.words("registers and stack")
        self.query_one("#totals-box").border_title = self.words("cycles")
        self.query_one("#why-box").border_title = self.words("why")
        self.describe()

    def _take(self, result: road.Result | None) -> None:
        """Another run, or none while one is awaited: the cursor stays where it was, as far as it is
        the same program on the same machine and there is such a place."""
        self.result, self.reason, self.visited = result, None, []
        self.totals = None if result is None else Totals(result.timeline)
        self.warps = None
        if result is None or self.snapshot is None:
            self.pipeline.clear()
            self.query_one("#warps", WarpSheet).clear()
            return
        old, self.request = self.request, self.snapshot.request
        if result.timeline.simt is not None:
            self.warps = WarpRows(result.timeline)
            self.query_one("#warps", WarpSheet).show(self.warps)
        if not self.request.is_about(old) or old is None or old.machine != self.request.machine:
            self.is_by_warps, self.breaks = self.warps is not None, ()
            self.row, self.cycle = 0, 0
        self.pipeline.show(result.timeline, result.execution.programs)
        self._show_view()
        if len(result.timeline):
            row = min(self.row, len(result.timeline) - 1)
            self.place_cursor(row, min(self.cycle, result.timeline.cycles))

    def _show_view(self) -> None:
        self.pipeline.display = not self.is_by_warps
        self.query_one("#warps", WarpSheet).display = self.is_by_warps
        self.sheet.focus()

    def place_cursor(self, row: int, cycle: int) -> None:
        """Puts the cursor of the diagram in front on a row of the timeline in a cycle."""
        self.row, self.cycle = row, cycle
        if self.is_by_warps and self.warps is not None:
            self.sheet.go_to(self.warps.index_of(row), cycle)
        else:
            self.sheet.go_to(row, self.pipeline.nearest_column(row, cycle))

    def on_moved(self, message: Moved) -> None:
        """The cursor went elsewhere: says what is there."""
        if self.result is None or not len(self.result.timeline):
            return
        self.cycle = message.column
        if self.is_by_warps and self.warps is not None:
            self.row = self.warps.current(message.row, message.column)
        else:
            self.row = message.row
        self.describe()

    def describe(self) -> None:
        """Fills the panels for the cell under the cursor."""
        result = self.result
        if result is None or self.totals is None or not len(result.timeline):
            self._describe_nothing()
            return
        timeline, programs = result.timeline, result.execution.programs
        self.reason = reason_at(timeline, programs, self.row, self.cycle)
        self._point_at(self.reason.culprit)
        title = self.words("cycle {cycle} of {cycles}", cycle=self.cycle, cycles=timeline.cycles)
        self.query_one("#left").border_subtitle = title
        self.state.look_at(result, self.session.replay_of(result), self.row, self.words)
        width = self.query_one("#totals", Panel).size.width
        self.query_one("#totals", Panel).show(
            totals_lines(self.totals, self.cycle, self.words, width)
        )
        self._describe_why()

    def _describe_nothing(self) -> None:
        """Without a run, or one that executed nothing, the panels are empty and one says why."""
        self.query_one("#left").border_subtitle = ""
        self.state.clear()
        self.query_one("#totals", Panel).show([])
        panel = self.query_one("#why", Panel)
        is_empty = self.result is not None
        text = self.words("nothing was executed") if is_empty else self.hob.nothing_text
        panel.show(paragraphs([(text, look.PLAIN)], panel.size.width))

    def _describe_why(self) -> None:
        if self.result is None or self.reason is None:
            return
        panel = self.query_one("#why", Panel)
        lines = why_lines(self.result, self.reason, self.instruction, self.words, panel.size.width)
        panel.show(lines)

    @property
    def instruction(self) -> ProgramInstruction:
        """The instruction under the cursor."""
        if self.result is None:
            raise HobError("nothing has run")
        return instruction_of(self.result.timeline, self.result.execution.programs, self.row)

    def _point_at(self, culprit: int | None) -> None:
        self.pipeline.culprit = culprit
        self.pipeline.refresh()
        sheet = self.query_one("#warps", WarpSheet)
        place = None
        if culprit is not None and self.warps is not None:
            place = self.warps.index_of(culprit)
        sheet.culprit = place if place != sheet.row else None
        sheet.refresh()

    def on_resize(self) -> None:
        self.set_size_classes()
        self.call_after_refresh(self.describe)

    # Keys

    def _jump(self, place: tuple[int, int]) -> None:
        self.visited.append((self.row, self.cycle))
        self.place_cursor(*place)

    def action_back(self) -> None:
        if self.visited:
            self.place_cursor(*self.visited.pop())

    def action_culprit(self) -> None:
        """To the instruction that the one under the cursor waits for."""
        if self.result is not None and self.reason is not None and self.reason.culprit is not None:
            culprit = self.reason.culprit
            self._jump((culprit, self.cycle))

    def action_stall(self, direction: int) -> None:
        """To the next (or previous) instruction that waited for something."""
        if self.result is None or self.totals is None:
            return
        rows = self.totals.waiting_rows
        place = int(np.searchsorted(rows, self.row, side="right" if direction > 0 else "left"))
        place -= direction < 0
        if 0 <= place < len(rows):
            row = int(rows[place])
            self._jump((row, int(self.result.timeline.dispatch[row]) + 1))

    def action_iteration(self, direction: int) -> None:
        """To the next (or previous) time that the same instruction was executed."""
        if self.result is None or not len(self.result.timeline):
            return
        timeline = self.result.timeline
        stream = timeline.stream
        same = (stream.static == stream.static[self.row]) & (
            stream.program == stream.program[self.row]
        )
        if timeline.simt is not None:
            same &= stream.warp == stream.warp[self.row]
        rows = np.flatnonzero(same)
        others = rows[rows > self.row] if direction > 0 else rows[rows < self.row][::-1]
        if len(others):
            row = int(others[0])
            offset = self.cycle - int(timeline.dispatch[self.row])
            self._jump((row, int(timeline.dispatch[row]) + offset))

    def action_goto(self) -> None:
        if self.result is None:
            return
        hint = self.words("#611 a row, c412 a cycle, @12 or a label an instruction, or a cause")
        self.app.push_screen(Ask(self.words("go to"), hint), self._go)

    def _go(self, text: str | None) -> None:
        goal = self._goal(text)
        if goal is not None and self.result is not None:
            place = find(self.result.timeline, goal, self.row)
            if place is None:
                self.hob.tell(self.words("{goal} never happens in this run", goal=goal))
            else:
                self._jump(place)

    def _goal(self, text: str | None) -> Goal | None:
        if not text or self.result is None:
            return None
        try:
            return read_goal(text, self.result.execution.programs)
        except HobError as error:
            self.hob.tell(self.words.error(error))
            return None

    def action_break(self) -> None:
        if self.result is None:
            return
        hint = self.words("@12 or a label: an instruction; c412: a cycle; cache-miss: a cause")
        known = "  ".join(map(str, self.breaks))
        self.app.push_screen(
            Ask(self.words("breakpoint"), f"{hint}\n{known}".rstrip(), self._here()), self._break
        )

    def _here(self) -> str:
        if self.result is None or not len(self.result.timeline):
            return ""
        return f"@{int(self.result.timeline.stream.static[self.row])}"

    def _break(self, text: str | None) -> None:
        goal = self._goal(text)
        if goal is not None:
            self.breaks = (*(b for b in self.breaks if b != goal), goal)
            self.hob.tell(
                self.words("breakpoints: {goals}", goals="  ".join(map(str, self.breaks)))
            )

    def action_clear(self) -> None:
        self.breaks = ()
        self.hob.tell(self.words("no breakpoints"))

    def action_run_on(self) -> None:
        """Runs to the next breakpoint, or to the end."""
        if self.result is None or not len(self.result.timeline):
            return
        timeline = self.result.timeline
        found = [next_place(timeline, goal, self.row, self.cycle) for goal in self.breaks]
        places = [place for place in found if place is not None]
        if places:
            self._jump(min(places, key=lambda place: (place[1], place[0])))
        else:
            last = len(timeline) - 1
            self._jump((last, self.pipeline.life(last)[1]))

    def action_view(self) -> None:
        """On SIMT: warps by cycles, or instructions by cycles."""
        if self.warps is not None:
            self.is_by_warps = not self.is_by_warps
            self._show_view()
            self.place_cursor(self.row, self.cycle)
            self.refresh_content()

    def action_number_type(self) -> None:
        """Lanes as they were written, as integers, as hexadecimal."""
        self.state.next_format()

    def action_origins(self) -> None:
        """To the Compile screen, at this instruction."""
        if self.result is not None and len(self.result.timeline):
            stream = self.result.timeline.stream
            program = self.result.execution.programs[int(stream.program[self.row])]
            self.hob.show_line(f"{program.name}:{int(stream.static[self.row])}")

    def action_causes(self) -> None:
        """The glossary of all causes of this run."""
        from tui.screens.dialogs import Read
        from tui.screens.run_panels import glossary_lines

        if self.result is not None:
            lines = glossary_lines(self.result.timeline, self.words, self.size.width - 12)
            self.app.push_screen(Read(self.words("what causes mean"), lines))
