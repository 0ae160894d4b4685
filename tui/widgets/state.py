"""Registers and stack slots after an executed instruction, replayed here or by a worker."""

from __future__ import annotations

from functools import partial

from textual.worker import Worker, WorkerState, get_current_worker

from lab import road
from lab.words.words import Words
from tui.messages import Replaying
from tui.screens.run_panels import state_lines
from tui.session import Cancelled
from tui.widgets.panel import Panel, plain
from vm.diagram import instruction_of
from vm.replay import CHECKPOINT_ROWS, Moment, Replay

NEAR_ROWS = 2 * CHECKPOINT_ROWS
"""A replay of up to this many rows is made on the spot; a longer one by a worker."""
FORMATS = ("", "d", "x")
"""Lanes as they were written, as integers, as hexadecimal."""


class StatePanel(Panel):
    """The state after `row` of a run; `moment` is None while it is being replayed."""

    def __init__(self, words: Words, id: str | None = None) -> None:
        super().__init__(id)
        self.words = words
        self.result: road.Result | None = None
        self.replay: Replay | None = None
        self.row = 0
        self.moment: Moment | None = None
        self.format = FORMATS[0]

    def clear(self) -> None:
        """No run."""
        self.workers.cancel_node(self)
        self.result = self.replay = self.moment = None
        self.show([])

    def look_at(self, result: road.Result, replay: Replay, row: int, words: Words) -> None:
        """Shows the state after a row, at once when that is near, else when a worker has it."""
        self.words = words
        if replay is self.replay and row == self.row:
            self.draw()
            return
        self.workers.cancel_node(self)
        self.result, self.replay, self.row, self.moment = result, replay, row, None
        if replay.cost(row) <= NEAR_ROWS:
            self.moment = replay.after(row)
        else:
            self.run_worker(partial(self._replay_far, replay, row), thread=True)
        self.draw()

    def next_format(self) -> None:
        """Another way to write numbers."""
        self.format = FORMATS[(FORMATS.index(self.format) + 1) % len(FORMATS)]
        self.draw()

    def draw(self) -> None:
        """Registers and slots in words."""
        if self.result is None:
            return
        if self.moment is None:
            self._say_replaying(0)
            return
        timeline, programs = self.result.timeline, self.result.execution.programs
        instruction = instruction_of(timeline, programs, self.row)
        mask = None if timeline.simt is None else int(timeline.stream.active[self.row])
        cells = self.size.width
        self.show(state_lines(self.moment, instruction, mask, self.words, cells, self.format))

    def _say_replaying(self, percent: int) -> None:
        self.show([plain(self.words("replaying … {percent} %", percent=percent))])

    def _replay_far(self, replay: Replay, row: int) -> tuple[Replay, Moment] | None:
        """In a worker's thread: the state after a row, or None when nobody wants it any more."""
        worker = get_current_worker()
        whole = max(1, replay.cost(row))

        def watch(reached: int) -> None:
            if worker.is_cancelled:
                raise Cancelled("cancelled")
            self.post_message(Replaying(row, 100 * (whole - row + reached) // whole))

        try:
            return replay, replay.after(row, watch)
        except Cancelled:
            return None

    def on_replaying(self, message: Replaying) -> None:
        """The worker tells how far it is."""
        if message.row == self.row and self.moment is None and self.result is not None:
            self._say_replaying(message.percent)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """The worker has ended; what it found may be out of date."""
        found: tuple[Replay, Moment] | None = event.worker.result
        if event.state is not WorkerState.SUCCESS or found is None:
            return
        if found[0] is self.replay and found[1].row == self.row:
            self.moment = found[1]
            self.draw()
