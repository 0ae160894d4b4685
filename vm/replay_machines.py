"""The machines of a replay: one launch, on a CPU or a SIMT machine, run row by row of the stream,
saved and restored, and seen as registers and frame places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isas.program import FramePlace, Grid, Launch, Program, RegisterOperand
from isas.registers import Register, RegisterClass
from vm.arithmetic import dtype_of
from vm.functional import Compiled, State, compile_program, new_state
from vm.host import enter
from vm.memory import ARENA_BASE, Memory
from vm.scalars import compute_flags
from vm.stream import Stream
from vm.thread_state import LANES, WARP
from vm.threads import ThreadMachine

Lanes = NDArray[Any]
Kinds = dict[int, tuple[Register, np.dtype[Any]]]
"""For each storage the register it was last written as, and the element type."""
NamedLanes = tuple[str, str, Lanes]
"""A register's name, its class's name, its content."""


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


def lanes_of_slot(place: FramePlace, content: Lanes) -> Lanes:
    """A kept register is one number; anything else is shown as floats, the lanes it holds."""
    size = place.size_bytes
    if place.is_kept or size not in (4, 16, 32, 64):
        return content.view(np.uint64) if size == 8 else content
    return content.view(np.float32)


@dataclass(slots=True)
class CpuMachine:
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

    def registers(self, kinds: Kinds, warp: int) -> list[NamedLanes]:
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

    def _fixed(self) -> Iterator[NamedLanes]:
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
class SimtMachine:
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

    def registers(self, kinds: Kinds, warp: int) -> list[NamedLanes]:
        """32-bit registers, or the pair they were last written as."""
        found: list[NamedLanes] = []
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
