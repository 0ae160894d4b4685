"""The host: places inputs, runs an executable's launches one after another, reads outputs.

One stream of rows comes out for the whole run; the timing models read it with the programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from isas.errors import InternalError
from isas.program import (
    Conditional,
    Copy,
    Executable,
    Grid,
    Launch,
    Program,
    ProgramInstruction,
    Step,
    While,
)
from vm import stream as streams
from vm.functional import Compiled, State, Trace, compile_program, new_state
from vm.memory import ARENA_BASE, Memory, layout
from vm.stream import ALL_LANES, Stream, concatenate
from vm.thread_state import Rows
from vm.threads import ThreadMachine


@dataclass(frozen=True, slots=True)
class Execution:
    """What a run left: outputs as raw bytes in placement order, the stream, and the kernels in the
    order in which the stream numbers them. `steps` are the launches and copies in the order in
    which they ran."""

    outputs: tuple[bytes, ...]
    stream: Stream
    programs: tuple[Program, ...]
    memory: Memory
    steps: tuple[Launch | Copy, ...] = ()


def execute(
    executable: Executable,
    inputs: Sequence[bytes],
    limit: int = 1 << 40,
    watch: Callable[[], None] | None = None,
) -> Execution:
    """Runs `executable` on `inputs` (raw little-endian bytes of each parameter, in order).

    Raises InternalError when the compiled code faults, and when an input has the wrong size.
    `watch` is called before every launch and copy, and often within launches; what it raises ends
    the run.
    """
    memory = filled(executable, inputs)
    runner = _Runner(executable, memory, limit, watch)
    with np.errstate(all="ignore"):
        runner.steps(executable.steps)
    outputs = tuple(
        bytes(memory.data[ARENA_BASE + p.offset : ARENA_BASE + p.offset + p.size_bytes])
        for p in executable.outputs
    )
    stream = concatenate(runner.chunks, tuple(runner.launches))
    programs = tuple(executable.programs.values())
    return Execution(outputs, stream, programs, memory, tuple(runner.history))


def filled(executable: Executable, inputs: Sequence[bytes]) -> Memory:
    """A fresh memory with the inputs in place."""
    memory = layout(executable)
    for placement, content in zip(executable.parameters, inputs, strict=True):
        if len(content) != placement.size_bytes:
            raise InternalError(
                f"input {placement.name} has {len(content)} bytes, not {placement.size_bytes}"
            )
        start = ARENA_BASE + placement.offset
        memory.data[start : start + len(content)] = content
    return memory


class _Runner:
    """Walks the steps and collects stream chunks."""

    def __init__(
        self,
        executable: Executable,
        memory: Memory,
        limit: int,
        watch: Callable[[], None] | None = None,
    ) -> None:
        self.watch = watch
        self.history: list[Launch | Copy] = []
        self.executable = executable
        self.memory = memory
        self.limit = limit
        self.numbers = {name: number for number, name in enumerate(executable.programs)}
        self.chunks: list[Stream] = []
        self.launches: list[streams.Launch] = []
        self.compiled: dict[str, tuple[State, Compiled]] = {}

    def steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if isinstance(step, Launch | Copy):
                self._work(step)
            elif isinstance(step, While):
                self._while(step)
            else:
                self._conditional(step)

    def _work(self, step: Launch | Copy) -> None:
        if self.watch is not None:
            self.watch()
        self.history.append(step)
        if isinstance(step, Launch):
            self._launch(step)
        else:
            copy_bytes(self.memory, step)

    def _while(self, step: While) -> None:
        self.steps(step.condition)
        while self.memory.data[ARENA_BASE + step.predicate]:
            self.steps(step.body)
            self.steps(step.condition)

    def _conditional(self, step: Conditional) -> None:
        start = ARENA_BASE + step.selector
        if step.is_predicate:
            chosen = 0 if self.memory.data[start] else 1
        else:
            index = int.from_bytes(self.memory.data[start : start + 4], "little", signed=True)
            last = len(step.branches) - 1
            chosen = index if 0 <= index <= last else last
        self.steps(step.branches[chosen])

    def _launch(self, step: Launch) -> None:
        program = self.executable.programs[step.kernel]
        arguments = [ARENA_BASE + offset for offset in step.arguments]
        number = len(self.launches)
        if program.grid is None and step.grid is None:
            chunk = self._call(program, arguments, number)
            self.launches.append(streams.Launch(self.numbers[step.kernel]))
        else:
            grid = step.grid or program.grid or Grid()
            machine = ThreadMachine(program, grid, arguments, self.memory)
            rows = machine.run(self.limit, self.watch)
            chunk = _simt_chunk(rows, program, self.numbers[step.kernel], number)
            self.launches.append(
                streams.Launch(self.numbers[step.kernel], grid.block_count, machine.warps.per_block)
            )
        self.chunks.append(chunk)

    def _call(self, program: Program, arguments: Sequence[int], number: int) -> Stream:
        if program.name not in self.compiled:
            state = new_state(program, self.memory)
            self.compiled[program.name] = (state, compile_program(program, state))
        state, compiled = self.compiled[program.name]
        state.trace.blocks.clear()
        state.trace.addresses.clear()
        enter(program, state, arguments)
        compiled.run(state, self.limit, self.watch)
        return _cpu_chunk(compiled, state.trace, self.numbers[program.name], number)


def copy_bytes(memory: Memory, step: Copy) -> None:
    """Does a copy of the host's."""
    data, source = memory.data, ARENA_BASE + step.source
    target = ARENA_BASE + step.target
    data[target : target + step.size_bytes] = data[source : source + step.size_bytes]


def enter(program: Program, state: State, arguments: Sequence[int]) -> None:
    """Puts arguments where the calling convention wants them, as a caller's `call` would leave it:
    on machines that push a return address, the stack pointer is that much below alignment."""
    convention = program.isa.calling
    for register, value in zip(convention.arguments, arguments):
        state.storages[register.storages[0]] = value
    extra = arguments[len(convention.arguments) :]
    if convention.stack_pointer is None:
        return
    pushed = convention.return_address_bytes
    alignment = convention.stack_alignment_bytes
    room = -(-8 * len(extra) // alignment) * alignment + alignment
    pointer = state.memory.stack_top - room - pushed
    state.storages[convention.stack_pointer.storages[0]] = pointer
    for position, value in enumerate(extra):
        place = pointer + pushed + 8 * position
        state.memory.data[place : place + 8] = value.to_bytes(8, "little")


def _cpu_chunk(compiled: Compiled, trace: Trace, program: int, launch: int) -> Stream:
    """The trace of blocks and addresses as stream columns."""
    instructions = compiled.program.instructions
    order = np.array(trace.blocks, np.int64)
    first = np.array([block.first for block in compiled.blocks], np.int64)
    length = np.array([len(block.steps) for block in compiled.blocks], np.int64)
    counts = length[order]
    total = int(counts.sum())
    starts = np.cumsum(counts) - counts
    static = np.arange(total) + np.repeat(first[order] - starts, counts)
    accesses = np.array(compiled.accesses_memory, np.bool_)[static]
    address = np.full(total, -1, np.int64)
    address[accesses] = np.array(trace.addresses, np.int64)
    sizes = np.array([access_bytes(i) for i in instructions], np.int32)
    ends = starts + counts - 1
    is_taken = np.zeros(total, np.bool_)
    follows = np.append(order[1:] == order[:-1] + 1, False)
    branches = np.array([i.shape.facts.is_branch or i.shape.facts.is_return for i in instructions])
    is_taken[ends] = branches[static[ends]] & ~follows
    return Stream(
        static=static.astype(np.int32),
        program=np.full(total, program, np.int32),
        launch=np.full(total, launch, np.int32),
        warp=np.full(total, -1, np.int32),
        address=address,
        size=np.where(accesses, sizes[static], 0).astype(np.int32),
        is_taken=is_taken,
        active=np.full(total, ALL_LANES, np.uint32),
    )


def access_bytes(instruction: ProgramInstruction) -> int:
    """Bytes that the instruction loads or stores (0: none)."""
    shape = instruction.shape
    names = shape.facts.loads or shape.facts.stores
    return shape.by_name[names[0]].type.total_bits // 8 or 1 if names else 0


def _simt_chunk(rows: Rows, program: Program, number: int, launch: int) -> Stream:
    counts = np.array([len(warps) for warps in rows.warps], np.int64)
    static = np.repeat(np.array(rows.static, np.int32), counts)
    total = len(static)
    active = np.concatenate(rows.active) if rows.active else np.zeros(0, np.uint32)
    lanes = np.bitwise_count(active).astype(np.int64)
    has_address = np.repeat(np.array([a is not None for a in rows.addresses], np.bool_), counts)
    per_row = np.where(has_address, lanes, 0)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(per_row)])
    pieces = [a for a in rows.addresses if a is not None]
    addresses = np.concatenate(pieces).astype(np.int64) if pieces else np.zeros(0, np.int64)
    address = np.full(total, -1, np.int64)
    some = per_row > 0
    address[some] = addresses[offsets[:-1][some]]
    sizes = np.array([access_bytes(i) for i in program.instructions], np.int32)
    return Stream(
        static=static,
        program=np.full(total, number, np.int32),
        launch=np.full(total, launch, np.int32),
        warp=np.concatenate(rows.warps).astype(np.int32) if rows.warps else np.zeros(0, np.int32),
        address=address,
        size=np.where(has_address, sizes[static], 0).astype(np.int32),
        is_taken=np.concatenate(rows.taken) if rows.taken else np.zeros(0, np.bool_),
        active=active,
        lane_offsets=offsets,
        lane_addresses=addresses,
    )
