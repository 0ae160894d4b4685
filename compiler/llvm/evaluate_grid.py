"""Evaluates a simt kernel: all threads of the grid in step, as NumPy arrays over the threads.

A value is an array with one entry per thread, or a plain scalar while it is the same in all of
them. Where threads disagree at a branch, one side runs first with the others masked off, then the
other; both meet again at the branch's immediate post-dominator, as SIMT hardware reconverges. Lanes
that are masked off keep their old values. Because all warps move in step, barriers hold by
construction.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.llvm.analysis.dominators import immediate_postdominators
from compiler.llvm.exact import Number
from compiler.llvm.ir import Function, Instruction, Opcode
from compiler.llvm.semantics import dtype_of
from compiler.llvm.translate import (
    Code,
    Registers,
    Step,
    Translator,
    access_error,
    aligned,
    bind_views,
    element_size,
)
from compiler.llvm.types import Type
from isas.errors import InternalError, UnsupportedError

WARP_SIZE = 32
SHARED_SPACE = 3
SHARED_BYTES = 48 * 1024

Mask = Any  # None when every thread is active, else a bool array over the threads

# Registers that every grid program has, before its own.
_MASK, _SHARED = 0, 1
_SPECIAL = {
    "llvm.nvvm.read.ptx.sreg.tid.x": 2,
    "llvm.nvvm.read.ptx.sreg.ctaid.x": 3,
    "llvm.nvvm.read.ptx.sreg.ntid.x": 4,
    "llvm.nvvm.read.ptx.sreg.nctaid.x": 5,
    "llvm.nvvm.read.ptx.sreg.laneid": 6,
}
_FIRST_FREE = 7


def evaluate_grid(
    function: Function,
    arguments: list[int],
    memory: np.ndarray,
    grid: tuple[int, int],
    *,
    max_blocks: int = 20_000_000,
) -> int:
    """As `evaluate` for `grid` = (blocks, threads per block)."""
    machine = _Machine(function, grid)
    return machine.run(arguments, memory, max_blocks)


def _merge(mask: Mask, old: Number, new: Number, type: Type) -> Number:
    """`new` in the active threads, `old` elsewhere (nothing there yet: anything)."""
    if mask is None or old is None:
        return new
    return np.where(mask[:, None] if type.lanes else mask, new, old)


class _GridTranslator(Translator):
    """Steps over arrays of threads; every result is merged under the active mask."""

    def __init__(self, function: Function, grid: tuple[int, int]) -> None:
        super().__init__(function)
        self.threads = grid[1]
        self.total = grid[0] * grid[1]
        self.layout.preset.extend([None] * _FIRST_FREE)

    def step(self, i: Instruction) -> Step | None:
        if i.opcode is Opcode.CALL and i.callee in _SPECIAL:
            return self._copy(i, _SPECIAL[i.callee])
        if i.opcode is Opcode.CALL and i.callee.startswith("llvm.nvvm.shfl.sync."):
            return self._shuffle_lanes(i)
        if i.opcode is Opcode.STORE:
            return self.store(i)
        inner = super().step(i)
        return None if inner is None else self._masked(i, inner)

    def _masked(self, i: Instruction, inner: Step) -> Step:
        d, type = self.layout.of(i), i.type

        def run(r: Registers) -> None:
            old = r[d]
            inner(r)
            if r[_MASK] is not None and old is not None:
                r[d] = _merge(r[_MASK], old, r[d], type)

        return run

    def _copy(self, i: Instruction, source: int) -> Step:
        d = self.layout.of(i)

        def run(r: Registers) -> None:
            r[d] = r[source]

        return run

    def extract(self, i: Instruction) -> Step:
        d, vector = self.layout.of(i), self.layout.of(i.operands[0])
        lane = self.layout.of(i.operands[1])

        def run(r: Registers) -> None:
            lanes, number = r[vector], r[lane]
            if np.ndim(number) == 0:
                r[d] = lanes[..., number]
            else:
                whole = np.broadcast_to(lanes, (self.total, lanes.shape[-1]))
                r[d] = np.take_along_axis(whole, number[:, None].astype(np.intp), 1)[:, 0]

        return run

    def insert(self, i: Instruction) -> Step:
        d = self.layout.of(i)
        vector, scalar, lane = (self.layout.of(operand) for operand in i.operands)
        count = i.type.lanes

        def run(r: Registers) -> None:
            copy = np.broadcast_to(r[vector], (self.total, count)).copy()
            copy[np.arange(self.total), r[lane]] = r[scalar]
            r[d] = copy

        return run

    def _address(self, value: Any) -> Any:
        """A function from registers to byte addresses; shared ones count from the block's
        memory."""
        register = self.layout.of(value)
        if value.type.address_space == SHARED_SPACE:
            return lambda r: r[register] + r[_SHARED]
        return lambda r: r[register]

    def load(self, i: Instruction) -> Step:
        d, address = self.layout.of(i), self._address(i.operands[0])
        dtype, lanes = dtype_of(i.type), i.type.lanes
        view, raw = self.layout.view(dtype), self.layout.view(np.dtype(np.uint8))

        def run(r: Registers) -> None:
            a = _active_addresses(address(r), r[_MASK])
            found = _gather(r[view], r[raw], a, dtype, lanes)
            r[d] = (found & 1).astype(np.bool_) if dtype == np.bool_ else found

        return run

    def store(self, i: Instruction) -> Step:
        value, address = self.layout.of(i.operands[0]), self._address(i.operands[1])
        type = i.operands[0].type
        dtype, lanes = dtype_of(type), type.lanes
        view, raw = self.layout.view(dtype), self.layout.view(np.dtype(np.uint8))

        def run(r: Registers) -> None:
            shape = (self.total, lanes) if lanes else (self.total,)
            a = np.broadcast_to(address(r), self.total)
            v = np.broadcast_to(r[value], shape)
            if r[_MASK] is not None:
                a, v = a[r[_MASK]], v[r[_MASK]]
            _scatter(r[view], r[raw], a, v, dtype, lanes)

        return run

    def _shuffle_lanes(self, i: Instruction) -> Step:
        d = self.layout.of(i)
        _, value, offset, clamp = (self.layout.of(operand) for operand in i.operands)
        kind = i.callee.removeprefix("llvm.nvvm.shfl.sync.").split(".")[0]
        thread = np.arange(self.total)
        inside = thread % self.threads
        lane = inside % WARP_SIZE
        last = np.minimum(inside - lane + WARP_SIZE, self.threads) - (inside - lane) - 1

        def run(r: Registers) -> None:
            source = _source_lane(kind, lane, np.int64(r[offset]), np.int64(r[clamp]))
            source = np.where(source > last, lane, source)
            values = np.broadcast_to(r[value], self.total)
            r[d] = _merge(r[_MASK], r[d], values[thread - lane + source], i.type)

        return run


def _source_lane(kind: str, lane: Number, offset: Number, clamp: Number) -> Number:
    """The lane each lane reads from (PTX ISA, "shfl.sync", the algorithm given there)."""
    bound, segment = clamp & 31, (clamp >> 8) & 31
    highest = (lane & segment) | (bound & ~segment)
    lowest = lane & segment
    if kind == "up":
        source = lane - offset
        return np.where(source >= highest, source, lane)
    if kind == "down":
        source = lane + offset
    elif kind == "bfly":
        source = lane ^ offset
    elif kind == "idx":
        source = lowest | (offset & ~segment & 31)
    else:
        raise UnsupportedError(f"evaluating shfl.sync.{kind}")
    return np.where(source <= highest, source, lane)


def _active_addresses(address: Number, mask: Mask) -> Number:
    """Threads that are masked off read address 0 instead of whatever they hold."""
    return address if mask is None or np.ndim(address) == 0 else np.where(mask, address, 0)


def _is_plain(address: Number, size: int) -> bool:
    if np.any(address < 0):
        raise IndexError
    return size == 1 or not np.any(address & (size - 1))


def _gather(
    view: np.ndarray, raw: np.ndarray, address: Number, dtype: np.dtype[Any], lanes: int
) -> Number:
    size = dtype.itemsize
    if _is_plain(address, size):
        first = address // size
        return view[first[..., None] + np.arange(lanes)] if lanes else view[first]
    parts = np.arange(size * max(1, lanes))
    found = np.ascontiguousarray(raw[np.asarray(address)[..., None] + parts]).view(dtype)
    return found if lanes else found[..., 0]


def _scatter(
    view: np.ndarray,
    raw: np.ndarray,
    address: Number,
    value: Number,
    dtype: np.dtype[Any],
    lanes: int,
) -> None:
    size = dtype.itemsize
    if _is_plain(address, size):
        first = address // size
        view[first[:, None] + np.arange(lanes) if lanes else first] = value
        return
    parts = np.arange(size * max(1, lanes))
    pieces = np.ascontiguousarray(value).view(np.uint8).reshape(len(address), -1)
    raw[address[:, None] + parts] = pieces


class _Machine:
    """One grid's run: registers, memory and the walk over divergent paths."""

    def __init__(self, function: Function, grid: tuple[int, int]) -> None:
        self.function = function
        self.blocks, self.threads = grid
        self.total = self.blocks * self.threads
        translator = _GridTranslator(function, grid)
        self.parameters = [translator.layout.of(argument) for argument in function.arguments]
        self.codes = translator.translate()
        self.layout = translator.layout
        joins = immediate_postdominators(function)
        self.joins = {
            translator.numbers[block]: None if join is None else translator.numbers[join]
            for block, join in joins.items()
        }
        self.types = {self.layout.of(i): i.type for i in function.instructions()}
        self.registers: Registers = []
        self.executed = 0
        self.budget = 0

    def run(self, arguments: list[int], memory: np.ndarray, max_blocks: int) -> int:
        if len(arguments) != len(self.parameters):
            raise InternalError(
                f"{len(arguments)} arguments for {len(self.parameters)} parameters",
                where=f"@{self.function.name}",
            )
        self.budget = max_blocks
        self.registers = list(self.layout.preset)
        for register, value in zip(self.parameters, arguments):
            self.registers[register] = np.int64(value)
        whole = self._memory(memory)
        self._special_registers()
        with np.errstate(all="ignore"):
            self._walk(0, None, None)
        memory[:] = whole[: memory.size]
        return self.executed

    def _memory(self, memory: np.ndarray) -> np.ndarray:
        """The caller's memory, then each thread's frame, then each block's shared memory."""
        end = memory.size
        thread = np.arange(self.total, dtype=np.int64)
        for i in self.function.instructions():
            if i.opcode is Opcode.ALLOCA:
                size, end = aligned(element_size(i) * i.count), aligned(end)
                self.registers[self.layout.of(i)] = end + thread * size
                end += size * self.total
        shared = aligned(end)
        self.registers[_SHARED] = shared + thread // self.threads * SHARED_BYTES
        uses_shared = any(
            a.type.address_space == SHARED_SPACE
            for a in (*self.function.arguments, *self.function.instructions())
        )
        if uses_shared:
            end = shared + SHARED_BYTES * self.blocks
        whole = np.zeros(aligned(end), dtype=np.uint8)
        whole[: memory.size] = memory
        bind_views(self.layout, self.registers, whole, end)
        return whole

    def _special_registers(self) -> None:
        thread = np.arange(self.total, dtype=np.int32)
        inside = (thread % self.threads).astype(np.int32)
        values = (
            inside,
            thread // np.int32(self.threads),
            np.int32(self.threads),
            np.int32(self.blocks),
            inside % np.int32(WARP_SIZE),
        )
        for register, value in zip(_SPECIAL.values(), values):
            self.registers[register] = value

    def _walk(self, number: int, mask: Mask, stop: int | None) -> None:
        """Runs the threads of `mask` from block `number` until they all reach `stop` (or
        return)."""
        while number != stop:
            code = self.codes[number]
            self._run_block(code, mask)
            if not code.targets:
                return
            taken: Number = np.True_ if code.condition < 0 else self.registers[code.condition]
            active = taken if mask is None or np.ndim(taken) == 0 else taken[mask]
            if np.all(active):
                number = self._enter(number, code.targets[0], mask)
            elif not np.any(active):
                number = self._enter(number, code.targets[1], mask)
            else:
                follow = self._diverge(number, code, taken, mask, stop)
                if follow is None:
                    return
                number, mask = follow

    def _run_block(self, code: Code, mask: Mask) -> None:
        self.budget -= 1
        if self.budget < 0:
            raise InternalError("did not end in time", where=f"@{self.function.name}")
        self.registers[_MASK] = mask
        try:
            for step in code.steps:
                step(self.registers)
        except IndexError:
            raise access_error(code, self.registers, self.layout, self.function) from None
        active = self.total if mask is None else int(np.count_nonzero(mask))
        self.executed += (len(code.steps) + 1) * active

    def _enter(self, source: int, target: int, mask: Mask) -> int:
        """Moves the phis of the edge and returns its target."""
        copies = self.codes[target].copies.get(source, [])
        values = [self.registers[register] for _, register in copies]
        for (register, _), value in zip(copies, values):
            old = self.registers[register]
            self.registers[register] = _merge(mask, old, value, self.types[register])
        return target

    def _diverge(
        self, number: int, code: Code, taken: Number, mask: Mask, stop: int | None
    ) -> tuple[int, Mask] | None:
        """Runs both sides to their meeting point and says who goes on where. When the sides meet
        only where the caller waits anyway, the last side is not nested but continued."""
        join = self.joins.get(number)
        sides = []
        for target, condition in ((code.targets[0], taken), (code.targets[1], ~taken)):
            side = condition if mask is None else condition & mask
            self._enter(number, target, side)
            if target != join:
                sides.append((target, side))
        if join == stop and sides:
            for target, side in sides[:-1]:
                self._walk(target, side, join)
            return sides[-1]
        for target, side in sides:
            self._walk(target, side, join)
        return None if join is None else (join, mask)
