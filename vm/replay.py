"""Replay: every register and stack slot as it was after any executed instruction.

The dynamic stream already says which instruction ran in every row, with which warp and lanes, so a
replay needs no control flow: it calls the instructions' meanings row by row, starting from the
nearest checkpoint before the row that is asked for. Checkpoints are made on the way, every thousand
rows. When they exceed a fixed budget of memory, those far from the row that was shown last are
thinned out first, so one can step back without limit, and a step near by costs a thousand rows at
most.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from isas.errors import InternalError
from isas.program import Copy, Executable, FramePlace, Launch
from vm.host import copy_bytes, filled
from vm.replay_machines import CpuMachine, Kinds, Lanes, NamedLanes, SimtMachine, lanes_of_slot
from vm.stream import Stream

CHECKPOINT_ROWS = 1_000
"""Checkpoints are made this many rows apart: replaying so many takes less than a tenth of a second.
"""
CHECKPOINT_BYTES = 128 << 20
"""All checkpoints together stay within this size (two are always kept)."""


@dataclass(frozen=True, slots=True)
class RegisterValue:
    """A register's content as lanes of the type it was last written as. On SIMT a lane is a thread
    of the warp. `is_changed`: the row wrote it, and the bits are other ones than before."""

    name: str
    class_name: str
    lanes: Lanes
    is_changed: bool


@dataclass(frozen=True, slots=True)
class SlotValue:
    """A frame place's bytes as lanes, and whether the row changed them. On SIMT [32, lanes]."""

    place: FramePlace
    lanes: Lanes
    is_changed: bool


@dataclass(frozen=True, slots=True)
class Moment:
    """The state after `row`: the registers that its program uses, and the frame."""

    row: int
    registers: tuple[RegisterValue, ...]
    slots: tuple[SlotValue, ...]


@dataclass(frozen=True, slots=True)
class _Checkpoint:
    """Everything needed to go on with `row`. `state` belongs to the launch's machine."""

    row: int
    memory: bytes
    kinds: Kinds
    state: Any

    @property
    def size_bytes(self) -> int:
        return len(self.memory) + _size_bytes(self.state)


def _size_bytes(state: Any) -> int:
    """The bytes of all arrays in a machine's saved state; other values count as a word."""
    if isinstance(state, np.ndarray):
        return state.nbytes
    if isinstance(state, dict):
        return sum(map(_size_bytes, state.values()))
    if isinstance(state, list | tuple):
        return sum(map(_size_bytes, state))
    return 8


class Replay:
    """Replays a run. `inputs` are the parameters' bytes, `steps` and `stream` as the host left
    them; checkpoints take `budget_bytes` at most. Rows may be asked for in any order, by any
    thread: one waits for the other."""

    def __init__(
        self,
        executable: Executable,
        inputs: Sequence[bytes],
        stream: Stream,
        steps: Sequence[Launch | Copy],
        budget_bytes: int = CHECKPOINT_BYTES,
    ) -> None:
        self.executable = executable
        self.inputs = tuple(inputs)
        self.stream = stream
        self.steps = tuple(steps)
        self.places = [i for i, step in enumerate(steps) if isinstance(step, Launch)]
        self.first_row = np.searchsorted(stream.launch, np.arange(len(self.places)))
        self.kinds: Kinds = {}
        self.next_row = 0
        self.memory = filled(executable, self.inputs)
        self.machine: CpuMachine | SimtMachine | None = None
        self.checkpoints: list[_Checkpoint] = []
        self.spacing = CHECKPOINT_ROWS
        self.budget_bytes = budget_bytes
        self.kept_bytes = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self.stream)

    def cost(self, row: int) -> int:
        """How many rows have to be run again to show `row`."""
        with self._lock:
            nearest = self._nearest(row)
            start = 0 if nearest is None else nearest.row
            return row - (max(start, self.next_row) if self.next_row <= row else start)

    def after(self, row: int, watch: Callable[[int], None] | None = None) -> Moment:
        """The state after row `row`. Raises InternalError for a row that was not executed.

        `watch` hears the row that was reached, at every checkpoint; what it raises ends the
        replay, and the way already made is not lost.
        """
        if not 0 <= row < len(self.stream):
            raise InternalError(f"row {row} is not one of the {len(self.stream)} executed")
        with self._lock, np.errstate(all="ignore"):
            self._go_to(row, watch)
            self._begin_launch(row)
            before = self._picture(row)
            self._run(row, row + 1)
            after = self._picture(row)
        return Moment(
            row,
            tuple(
                RegisterValue(name, kind, lanes, not _same(old[2], lanes))
                for (name, kind, lanes), old in zip(after[0], before[0], strict=True)
            ),
            tuple(
                SlotValue(place, lanes_of_slot(place, content), not _same(old, content))
                for (place, content), (_, old) in zip(after[1], before[1], strict=True)
            ),
        )

    # Getting there

    def _nearest(self, row: int) -> _Checkpoint | None:
        """The last checkpoint that is not after `row`."""
        place = bisect_right(self.checkpoints, row, key=lambda kept: kept.row)
        return self.checkpoints[place - 1] if place else None

    def _go_to(self, row: int, watch: Callable[[int], None] | None) -> None:
        """Everything before `row` has run, and nothing after it."""
        nearest = self._nearest(row)
        start = nearest.row if nearest is not None else 0
        if self.next_row > row or self.next_row < start:
            self._restart(nearest)
        while self.next_row < row:
            if watch is not None:
                watch(self.next_row)
            edge = (self.next_row // self.spacing + 1) * self.spacing
            self._run(self.next_row, min(row, edge))
            if self.next_row == edge:
                self._keep()

    def _keep(self) -> None:
        """Makes a checkpoint here, unless there is one."""
        place = bisect_left(self.checkpoints, self.next_row, key=lambda kept: kept.row)
        is_known = (
            place < len(self.checkpoints) and self.checkpoints[place].row == self.next_row
        )  # fmt: skip
        if is_known or self.machine is None:
            return
        memory = bytes(self.memory.data)
        kept = _Checkpoint(self.next_row, memory, dict(self.kinds), self.machine.save())
        self.checkpoints.insert(place, kept)
        self.kept_bytes += kept.size_bytes
        while self.kept_bytes > self.budget_bytes and len(self.checkpoints) > 2:
            self._drop_one()

    def _drop_one(self) -> None:
        """Drops the checkpoint that leaves the smallest gap for its distance from here."""
        rows = np.array([kept.row for kept in self.checkpoints])
        gaps = np.append(rows[1:], len(self.stream)) - np.append(0, rows[:-1])
        distances = np.abs(rows - self.next_row) + self.spacing
        dropped = self.checkpoints.pop(int(np.argmin(gaps / distances)))
        self.kept_bytes -= dropped.size_bytes

    def _restart(self, checkpoint: _Checkpoint | None) -> None:
        self.memory = filled(self.executable, self.inputs)
        self.machine, self.kinds, self.next_row = None, {}, 0
        if checkpoint is None:
            return
        self.memory.data[:] = checkpoint.memory
        self.machine = self._machine_of(self._launch_of(checkpoint.row - 1))
        self.machine.restore(checkpoint.state)
        self.kinds, self.next_row = dict(checkpoint.kinds), checkpoint.row

    def _launch_of(self, row: int) -> int:
        return int(self.stream.launch[row])

    def _run(self, start: int, end: int) -> None:
        """Runs the rows start .. end - 1, launch by launch."""
        row = start
        while row < end:
            machine = self._begin_launch(row)
            launch = self._launch_of(row)
            later = self.first_row[launch + 1 :]
            stop = min([end, *(int(first) for first in later[:1])])
            machine.run(self.stream, row, stop, self.kinds)
            row = stop
        self.next_row = end

    def _begin_launch(self, row: int) -> CpuMachine | SimtMachine:
        """The machine that runs `row`; the host's work before a first row is done here."""
        launch = self._launch_of(row)
        if self.machine is not None and self.machine.launch == launch:
            return self.machine
        done = self.places[self.machine.launch] + 1 if self.machine is not None else 0
        for step in self.steps[done : self.places[launch]]:
            if isinstance(step, Copy):
                copy_bytes(self.memory, step)
        self.machine, self.kinds = self._machine_of(launch), {}
        return self.machine

    def _machine_of(self, launch: int) -> CpuMachine | SimtMachine:
        step = self.steps[self.places[launch]]
        if not isinstance(step, Launch):
            raise InternalError(f"launch {launch} is not one")
        program = self.executable.programs[step.kernel]
        if program.grid is None and step.grid is None:
            return CpuMachine(program, step, self.memory, launch)
        return SimtMachine(program, step, self.memory, launch)

    def _picture(self, row: int) -> tuple[list[NamedLanes], list[tuple[FramePlace, Lanes]]]:
        """Copies of the registers and of the frame, as the row's warp sees them."""
        if self.machine is None:
            raise InternalError("nothing has run")
        warp = int(self.stream.warp[row])
        kinds = {**self.kinds, **self.machine.kinds[int(self.stream.static[row])]}
        return self.machine.registers(kinds, warp), self.machine.slots(warp)


def _same(one: Lanes, other: Lanes) -> bool:
    return one.tobytes() == other.tobytes()
