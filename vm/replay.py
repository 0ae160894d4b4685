"""Replay: every register and stack slot as it was after any executed instruction.

The dynamic stream already says which instruction ran in every row, with which warp and lanes, so a
replay needs no control flow: it calls the instructions' meanings row by row, starting from the
nearest checkpoint before the row that is asked for. Checkpoints are made on the way, far enough
apart to stay within a fixed budget of memory; so one can step back without limit, and a step in
either direction costs at most the distance between two of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isas.errors import InternalError
from isas.program import Copy, Executable, FramePlace, Launch
from vm.host import copy_bytes, filled
from vm.replay_machines import CpuMachine, Kinds, Lanes, NamedLanes, SimtMachine, lanes_of_slot
from vm.stream import Stream

CHECKPOINT_ROWS = 20_000
"""Checkpoints are at least this many rows apart: a step between two takes well under a second."""
CHECKPOINT_BYTES = 256 << 20
"""All checkpoints together stay near this size."""


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


class Replay:
    """Replays a run. `inputs` are the parameters' bytes, `steps` and `stream` as the host left
    them. Asking for rows in any order is fine; not for use by two threads at once."""

    def __init__(
        self,
        executable: Executable,
        inputs: Sequence[bytes],
        stream: Stream,
        steps: Sequence[Launch | Copy],
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
        limit = max(2, CHECKPOINT_BYTES // max(1, len(self.memory.data)))
        self.distance = max(CHECKPOINT_ROWS, len(stream) // limit)

    def __len__(self) -> int:
        return len(self.stream)

    def cost(self, row: int) -> int:
        """How many rows have to be run again to show `row`."""
        start = self.next_row if self.next_row <= row else -1
        before = [c.row for c in self.checkpoints if c.row <= row]
        return row - max([0, start, *before])

    def after(self, row: int) -> Moment:
        """The state after row `row`. Raises InternalError for a row that was not executed."""
        if not 0 <= row < len(self.stream):
            raise InternalError(f"row {row} is not one of the {len(self.stream)} executed")
        with np.errstate(all="ignore"):
            self._go_to(row)
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

    def _go_to(self, row: int) -> None:
        """Everything before `row` has run, and nothing after it."""
        place = bisect_right([c.row for c in self.checkpoints], row) - 1
        nearest = self.checkpoints[place] if place >= 0 else None
        start = nearest.row if nearest is not None else 0
        if self.next_row > row or self.next_row < start:
            self._restart(nearest)
        while self.next_row < row:
            end = min(row, self.next_row + self.distance)
            self._run(self.next_row, end)
            self._keep()

    def _restart(self, checkpoint: _Checkpoint | None) -> None:
        self.memory = filled(self.executable, self.inputs)
        self.machine, self.kinds, self.next_row = None, {}, 0
        if checkpoint is None:
            return
        self.memory.data[:] = checkpoint.memory
        self.machine = self._machine_of(self._launch_of(checkpoint.row - 1))
        self.machine.restore(checkpoint.state)
        self.kinds, self.next_row = dict(checkpoint.kinds), checkpoint.row

    def _keep(self) -> None:
        last = self.checkpoints[-1].row if self.checkpoints else 0
        if self.machine is not None and self.next_row - last >= self.distance:
            state = self.machine.save()
            kept = _Checkpoint(self.next_row, bytes(self.memory.data), dict(self.kinds), state)
            self.checkpoints.append(kept)

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
