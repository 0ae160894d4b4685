"""The functional machine of SIMT kernels: all warps of a launch, 32 lanes each, as NumPy arrays.

Warps at the same program counter run together, lowest counter first, one straight line at a time;
within a warp, lanes that branch apart are kept on a stack and meet at the branch's immediate
post-dominator. What ran, with lane masks and addresses, becomes rows of the dynamic stream.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from isas.errors import InternalError
from isas.program import Grid, Program, ProgramInstruction
from vm.memory import Memory
from vm.reconverge import branch_target, is_branch, leaders, reconvergence_points
from vm.thread_state import LANE_BITS, WARP, Array, Rows, Split, start_warps
from vm.thread_steps import Translator


class Deadlock(InternalError):
    """Warps of a block wait at a barrier that others never reach."""


class ThreadMachine:
    """Runs one launch of `program` over `grid` with pointer `arguments` (addresses)."""

    def __init__(
        self, program: Program, grid: Grid, arguments: Sequence[int], memory: Memory
    ) -> None:
        self.program = program
        self.memory = memory
        self.end = len(program.instructions)
        self.warps = start_warps(grid, program.entry, self.end)
        self.rows = Rows()
        self.group: Array = np.zeros(0, np.int64)
        self.mask: Array = np.zeros((0, WARP), np.bool_)
        self.noted: Array | None = None
        self.global_bytes = np.frombuffer(memory.data, np.uint8)
        self.parameters = np.array(arguments, np.uint64).view(np.uint8)
        self.shared = np.zeros(grid.block_count * max(1, program.shared_size_bytes), np.uint8)
        threads = self.warps.count * WARP
        self.local = np.zeros(threads * max(1, program.frame_size_bytes), np.uint8)
        self.meetings = reconvergence_points(program)
        starts = leaders(program)
        self.line_end = dict(zip(starts, [*starts[1:], self.end]))
        self.steps = [Translator(self, index).step() for index in range(self.end)]

    def run(self, limit: int = 1 << 40, watch: Callable[[], None] | None = None) -> Rows:
        """Executes until every warp has returned. Raises Deadlock at a barrier nobody can leave.
        `watch` is called before every straight line; what it raises ends the run."""
        executed = 0
        while not self.warps.is_done.all():
            if watch is not None:
                watch()
            self._choose()
            executed += self._straight_line() * len(self.group)
            if executed > limit:
                raise InternalError(f"{self.program.name} ran more than {limit} warp instructions")
        return self.rows

    def _choose(self) -> None:
        """The runnable warps with the lowest program counter become the group."""
        warps = self.warps
        runnable = ~(warps.is_done | warps.is_waiting)
        if not runnable.any():
            raise Deadlock(f"{self.program.name}: a barrier is never passed")
        lowest = warps.counter[runnable].min()
        self.group = np.flatnonzero(runnable & (warps.counter == lowest))
        self.mask = warps.active[self.group]

    def _straight_line(self) -> int:
        start = int(self.warps.counter[self.group[0]])
        end = self.line_end[start]
        for index in range(start, end):
            self._execute(index)
        last = self.program.instructions[end - 1]
        if last.shape.facts.is_barrier:
            self._arrive(end)
        elif not is_branch(last):
            self.warps.counter[self.group] = end
        self._meet()
        return end - start

    def _execute(self, index: int) -> None:
        instruction = self.program.instructions[index]
        whole = self.mask
        if instruction.guard is not None:
            self.mask = whole & self._guard(instruction)
        self.noted = None
        self.steps[index]()
        taken = np.zeros(len(self.group), np.bool_)
        if is_branch(instruction):
            taken = self.mask.any(axis=1)
            self._branch(index, instruction, whole)
        self._note(index, taken)
        self.mask = whole

    def _guard(self, instruction: ProgramInstruction) -> Array:
        guard = instruction.guard
        if guard is None:
            raise InternalError("no guard")
        value = self.storage(guard.register.storages[0], np.bool_)[self.group]
        return ~value if guard.is_negated else value

    def _note(self, index: int, taken: Array) -> None:
        rows = self.rows
        rows.static.append(index)
        rows.warps.append(self.group)
        bits = (self.mask * LANE_BITS).sum(axis=1).astype(np.uint32)
        rows.active.append(bits)
        rows.taken.append(taken)
        rows.addresses.append(None if self.noted is None else self.noted[self.mask])

    def _branch(self, index: int, instruction: ProgramInstruction, whole: Array) -> None:
        target = branch_target(self.program, instruction)
        if target is None or target >= self.end:
            self._leave(index, whole)
            return
        taken, warps = self.mask, self.warps
        goes = taken.any(axis=1)
        splits = goes & (whole & ~taken).any(axis=1)
        warps.counter[self.group] = np.where(goes & ~splits, target, index + 1)
        for place in np.flatnonzero(splits):
            self._split(int(self.group[place]), index, target, taken[place], whole[place])

    def _split(self, warp: int, index: int, target: int, taken: Array, whole: Array) -> None:
        """The taken side runs first; the other side, then everybody at the meeting, wait."""
        warps, meeting = self.warps, self.meetings[index]
        stack = warps.stacks[warp]
        stack.append(Split(meeting, whole, int(warps.meeting[warp])))
        stack.append(Split(index + 1, whole & ~taken, meeting))
        warps.counter[warp], warps.active[warp], warps.meeting[warp] = target, taken, meeting

    def _leave(self, index: int, whole: Array) -> None:
        """Lanes that return leave every entry of their warp's stack."""
        warps, leaving = self.warps, self.mask
        warps.counter[self.group] = index + 1
        for place, warp in enumerate(self.group):
            gone = leaving[place]
            if not gone.any():
                continue
            stack = warps.stacks[warp]
            stack[:] = [Split(s.counter, s.mask & ~gone, s.meeting) for s in stack]
            warps.active[warp] = whole[place] & ~gone
            if not warps.active[warp].any():
                self._pop(int(warp))

    def _pop(self, warp: int) -> None:
        """Continues with the nearest waiting lanes, or ends the warp."""
        warps = self.warps
        stack = warps.stacks[warp]
        while stack:
            top = stack.pop()
            if top.mask.any():
                warps.counter[warp] = top.counter
                warps.active[warp], warps.meeting[warp] = top.mask, top.meeting
                return
        warps.is_done[warp] = True
        warps.active[warp] = False
        self._release()

    def _meet(self) -> None:
        """Warps whose counter reached their meeting point take the next entry of their stack."""
        warps = self.warps
        for warp in self.group[warps.counter[self.group] == warps.meeting[self.group]]:
            while not warps.is_done[warp] and warps.counter[warp] == warps.meeting[warp]:
                self._pop(int(warp))

    def _arrive(self, after: int) -> None:
        self.warps.counter[self.group] = after
        self.warps.is_waiting[self.group] = True
        self._release()

    def _release(self) -> None:
        """Blocks whose every unfinished warp waits go on."""
        warps = self.warps
        waiting = (warps.is_waiting | warps.is_done).reshape(-1, warps.per_block)
        whole = np.repeat(waiting.all(axis=1), warps.per_block)
        warps.is_waiting[whole] = False

    def storage(self, number: int, dtype: Any = np.uint32) -> Array:
        """The register file's row: [warps, 32], zero at first."""
        found = self.warps.registers.get(number)
        if found is None:
            found = self.warps.registers[number] = np.zeros((self.warps.count, WARP), dtype)
        return found
