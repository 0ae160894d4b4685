"""Replay: every register and stack slot as it was after any executed instruction.

The dynamic stream already says which instruction ran in every row, with which warp and lanes, so a
replay needs no control flow: it calls the instructions' meanings row by row, starting from the
nearest checkpoint before the row that is asked for. Checkpoints are made on the way, far enough
apart to stay within a fixed budget of memory; so one can step back without limit, and a step in
either direction costs at most the distance between two of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isas.errors import InternalError
from isas.program import Copy, Executable, FramePlace, Grid, Launch, Program, RegisterOperand
from isas.registers import Register, RegisterClass
from vm.arithmetic import dtype_of
from vm.functional import Compiled, State, compile_program, new_state
from vm.host import copy_bytes, enter, filled
from vm.memory import ARENA_BASE, Memory
from vm.scalars import compute_flags
from vm.stream import Stream
from vm.thread_state import LANES, WARP
from vm.threads import ThreadMachine

Lanes = NDArray[Any]
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


Kinds = dict[int, tuple[Register, np.dtype[Any]]]
"""For each storage the register it was last written as, and the element type."""


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
        self.machine: _CpuMachine | _SimtMachine | None = None
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
                SlotValue(place, _lanes_of_slot(place, content), not _same(old, content))
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

    def _begin_launch(self, row: int) -> _CpuMachine | _SimtMachine:
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

    def _machine_of(self, launch: int) -> _CpuMachine | _SimtMachine:
        step = self.steps[self.places[launch]]
        if not isinstance(step, Launch):
            raise InternalError(f"launch {launch} is not one")
        program = self.executable.programs[step.kernel]
        if program.grid is None and step.grid is None:
            return _CpuMachine(program, step, self.memory, launch)
        return _SimtMachine(program, step, self.memory, launch)

    def _picture(self, row: int) -> tuple[list[_Register], list[tuple[FramePlace, Lanes]]]:
        """Copies of the registers and of the frame, as the row's warp sees them."""
        if self.machine is None:
            raise InternalError("nothing has run")
        warp = int(self.stream.warp[row])
        kinds = {**self.kinds, **self.machine.kinds[int(self.stream.static[row])]}
        return self.machine.registers(kinds, warp), self.machine.slots(warp)


_Register = tuple[str, str, Lanes]


def _same(one: Lanes, other: Lanes) -> bool:
    return one.tobytes() == other.tobytes()


def _kinds(program: Program) -> tuple[Kinds, ...]:
    """For each instruction the registers it writes, as what."""
    found = []
    for instruction in program.instructions:
        kinds: Kinds = {}
        for name in instruction.shape.facts.writes:
            operand = instruction.operands.get(name)
            if isinstance(operand, RegisterOperand):
                element = dtype_of(instruction.shape.by_name[name].type)
                entry = (operand.register, element)
                kinds.update(dict.fromkeys(operand.register.storages, entry))
        found.append(kinds)
    return tuple(found)


def _used(program: Program) -> Iterator[tuple[RegisterClass, int]]:
    """The classes and indices of the registers that the program touches."""
    for name, indices in program.registers_used.items():
        for index in indices:
            yield program.isa.registers.classes[name], index


def _lanes_of_slot(place: FramePlace, content: Lanes) -> Lanes:
    """A kept register is one number; anything else is shown as floats, the lanes it holds."""
    size = place.size_bytes
    if place.is_kept or size not in (4, 16, 32, 64):
        return content.view(np.uint64) if size == 8 else content
    return content.view(np.float32)


@dataclass(slots=True)
class _CpuMachine:
    """One launch on a CPU."""

    program: Program
    step: Launch
    memory: Memory
    launch: int
    state: State = field(init=False)
    compiled: Compiled = field(init=False)
    kinds: tuple[Kinds, ...] = field(init=False)
    frame_start: int = field(init=False)

    def __post_init__(self) -> None:
        self.state = new_state(self.program, self.memory)
        self.compiled = compile_program(self.program, self.state)
        self.kinds = _kinds(self.program)
        enter(self.program, self.state, [ARENA_BASE + offset for offset in self.step.arguments])
        stack = self.program.isa.calling.stack_pointer
        top = 0 if stack is None else self.state.storages[stack.storages[0]]
        self.frame_start = top - self.program.frame_size_bytes

    def run(self, stream: Stream, start: int, end: int, kinds: Kinds) -> None:
        steps = [step for block in self.compiled.blocks for step in block.steps]
        written = self.kinds
        for static in stream.static[start:end].tolist():
            steps[static]()
            if written[static]:
                kinds.update(written[static])
        self.state.trace.addresses.clear()

    def save(self) -> list[Any]:
        return list(self.state.storages)

    def restore(self, state: list[Any]) -> None:
        self.state.storages[:] = state

    def registers(self, kinds: Kinds, warp: int) -> list[_Register]:
        found = []
        for register_class, index in _used(self.program):
            storage = register_class.first_storage + index
            name = register_class.views[register_class.spill_view].register_name(index)
            kind = kinds.get(storage)
            lanes = self._lanes(storage, register_class, kind[1] if kind else None)
            found.append((name, register_class.name, lanes))
        return found + list(self._fixed())

    def _lanes(self, storage: int, owner: RegisterClass, kind: np.dtype[Any] | None) -> Lanes:
        """A narrow storage is one unsigned number; a wide one is as wide as its widest view."""
        value = self.state.storages[storage]
        if not isinstance(value, np.ndarray):
            bits = int(np.asarray(value).view(np.uint64)) if isinstance(value, np.floating) else 0
            number = bits if isinstance(value, np.floating) else int(value)
            return np.array([number & (1 << 64) - 1], np.uint64)
        size = owner.views[owner.spill_view].bits // 8
        content = np.zeros(max(size, value.nbytes), np.uint8)
        content[: value.nbytes] = np.ascontiguousarray(value).view(np.uint8)
        content = content[:size]
        element = kind if kind is not None else value.dtype
        if element.itemsize == 1 and element.kind != "i":
            element = np.dtype(np.float32)
        return content.view(element)

    def _fixed(self) -> Iterator[_Register]:
        """The stack pointer and the flags."""
        for register in self.program.isa.registers.fixed.values():
            if register.class_name:
                continue
            value = self.state.storages[register.storages[0]]
            if isinstance(value, tuple):
                value = compute_flags(*value)
            yield register.name, "", np.array([int(value) & (1 << 64) - 1], np.uint64)

    def slots(self, warp: int) -> list[tuple[FramePlace, Lanes]]:
        data, found = self.memory.data, []
        for place in self.program.frame:
            start = self.frame_start + place.offset_bytes
            content = bytes(data[start : start + place.size_bytes])
            found.append((place, np.frombuffer(content, np.uint8)))
        return found


@dataclass(slots=True)
class _SimtMachine:
    """One launch on a SIMT machine; rows of several warps of one instruction run together."""

    program: Program
    step: Launch
    memory: Memory
    launch: int
    threads: ThreadMachine = field(init=False)
    kinds: tuple[Kinds, ...] = field(init=False)

    def __post_init__(self) -> None:
        grid = self.step.grid or self.program.grid or Grid()
        arguments = [ARENA_BASE + offset for offset in self.step.arguments]
        self.threads = ThreadMachine(self.program, grid, arguments, self.memory)
        self.kinds = _kinds(self.program)

    def run(self, stream: Stream, start: int, end: int, kinds: Kinds) -> None:
        machine = self.threads
        static, warps = stream.static[start:end], stream.warp[start:end]
        is_new = (np.diff(static, prepend=-1) != 0) | (np.diff(warps, prepend=1 << 30) <= 0)
        firsts = np.flatnonzero(is_new).tolist()
        for first, last in zip(firsts, [*firsts[1:], end - start]):
            index = int(static[first])
            active = stream.active[start + first : start + last]
            machine.group = warps[first:last].astype(np.int64)
            machine.mask = (active[:, None] >> LANES.astype(np.uint32) & 1).astype(np.bool_)
            machine.steps[index]()
            kinds.update(self.kinds[index])

    def save(self) -> Any:
        machine = self.threads
        registers = {number: row.copy() for number, row in machine.warps.registers.items()}
        return registers, machine.shared.copy(), machine.local.copy()

    def restore(self, state: Any) -> None:
        registers, shared, local = state
        machine = self.threads
        machine.shared[:], machine.local[:] = shared, local
        for number, row in registers.items():
            machine.storage(number, row.dtype)[:] = row

    def registers(self, kinds: Kinds, warp: int) -> list[_Register]:
        """32-bit registers, or the pair they were last written as."""
        found: list[_Register] = []
        held = self.threads.warps.registers
        for register_class, index in _used(self.program):
            storage = register_class.first_storage + index
            row = held.get(storage)
            if row is None:
                continue
            kind = kinds.get(storage)
            view = register_class.views[register_class.spill_view].register_name(index)
            if kind is None:
                found.append((view, register_class.name, row[warp].copy()))
            elif kind[0].storages[0] == storage:
                found.append((kind[0].name, register_class.name, self._pair(kind, warp)))
        return found

    def _pair(self, kind: tuple[Register, np.dtype[Any]], warp: int) -> Lanes:
        register, element = kind
        rows = [self.threads.storage(number)[warp] for number in register.storages]
        if len(rows) == 1:
            words = rows[0].copy()
            return words.view(element) if words.dtype.itemsize == element.itemsize else words
        words = rows[0].astype(np.uint64) | rows[1].astype(np.uint64) << np.uint64(32)
        return words.view(element) if element.itemsize == 8 else words

    def slots(self, warp: int) -> list[tuple[FramePlace, Lanes]]:
        frame = max(1, self.program.frame_size_bytes)
        local = self.threads.local.reshape(-1, frame)[warp * WARP : (warp + 1) * WARP]
        return [
            (place, local[:, place.offset_bytes : place.offset_bytes + place.size_bytes].copy())
            for place in self.program.frame
        ]
