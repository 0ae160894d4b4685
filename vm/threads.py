"""The functional machine of SIMT kernels: all warps of a launch, 32 lanes each, as NumPy arrays.

Warps at the same program counter run together, lowest counter first, one straight line at a time;
within a warp, lanes that branch apart are kept on a stack and meet at the branch's immediate
post-dominator. Memory spaces: global (the arena), shared (per block), local (per thread) and
parameters. What ran, with lane masks and addresses, becomes rows of the dynamic stream.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isas.effects import Apply, Assignment, Constant, Effect, Expression, Implicit, Operand
from isas.errors import InternalError
from isas.program import (
    Grid,
    Immediate,
    MemoryOperand,
    Program,
    ProgramInstruction,
    RegisterOperand,
)
from isas.registers import Register
from isas.values import TypeKind, ValueType
from vm.arithmetic import MEANINGS, convert, dtype_of, is_conversion
from vm.memory import ARENA_BASE, Memory, fault
from vm.reconverge import branch_target, is_branch, leaders, reconvergence_points

WARP = 32
LANES = np.arange(WARP)
_LANE_BITS = (np.uint64(1) << np.arange(WARP, dtype=np.uint64)).astype(np.uint64)
E = Effect
Array = Any
Read = Callable[[], Array]


class Deadlock(InternalError):
    """Warps of a block wait at a barrier that others never reach."""


@dataclass(slots=True)
class Rows:
    """Stream rows of one launch, in pieces: a piece is one instruction run by some warps."""

    static: list[int] = field(default_factory=list)
    warps: list[Array] = field(default_factory=list)
    active: list[Array] = field(default_factory=list)
    taken: list[Array] = field(default_factory=list)
    addresses: list[Array | None] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Split:
    """Lanes waiting: they continue at `counter` with `mask` until `meeting`."""

    counter: int
    mask: Array
    meeting: int


@dataclass(slots=True, eq=False)
class Warps:
    """State of every warp of a launch: counters, active lanes, stacks and registers."""

    grid: Grid
    counter: Array
    active: Array
    meeting: Array
    stacks: list[list[Split]]
    is_done: Array
    is_waiting: Array
    registers: dict[int, Array] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return len(self.counter)

    @property
    def per_block(self) -> int:
        return -(-self.grid.threads_per_block // WARP)


def start_warps(grid: Grid, entry: int, end: int) -> Warps:
    """All warps of `grid` at `entry`; lanes beyond the block's threads are off."""
    per_block = -(-grid.threads_per_block // WARP)
    count = grid.block_count * per_block
    thread = (np.arange(count) % per_block)[:, None] * WARP + LANES
    return Warps(
        grid,
        np.full(count, entry, np.int64),
        thread < grid.threads_per_block,
        np.full(count, end, np.int64),
        [[] for _ in range(count)],
        np.zeros(count, np.bool_),
        np.zeros(count, np.bool_),
    )


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
        self.steps = [_Translator(self, index).step() for index in range(self.end)]

    def run(self, limit: int = 1 << 40) -> Rows:
        """Executes until every warp has returned. Raises Deadlock at a barrier nobody can leave."""
        executed = 0
        while not self.warps.is_done.all():
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
        bits = (self.mask * _LANE_BITS).sum(axis=1).astype(np.uint32)
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


class _Translator:
    """Translates one instruction into a closure over the machine's current group and mask."""

    def __init__(self, machine: ThreadMachine, index: int) -> None:
        self.machine = machine
        self.program = machine.program
        self.index = index
        self.instruction = machine.program.instructions[index]
        self.shape = self.instruction.shape

    def step(self) -> Callable[[], None]:
        parts = [self._assignment(a) for a in self.shape.effects if not _is_pc(a)]
        if len(parts) == 1:
            read, write = parts[0]
            return lambda: write(read())

        def simultaneous() -> None:
            values = [read() for read, _ in parts]
            for (_, write), value in zip(parts, values):
                write(value)

        return simultaneous

    def _place(self) -> str:
        text = self.instruction.text or self.shape.title
        return f"{self.program.name}, instruction {self.index} ({text})"

    def _assignment(self, assignment: Assignment) -> tuple[Read, Callable[[Array], None]]:
        read = self.expression(assignment.expression)
        target, type = assignment.target, assignment.expression.type
        if target is None:
            return read, lambda value: None
        if assignment.is_store:
            return read, self._store(target.name, type, assignment.space)
        register = self.instruction.register(target.name)
        if register is None:
            raise InternalError(f"{target.name} is not a register", where=self._place())
        return read, self._write(register, type)

    def _write(self, register: Register, type: ValueType) -> Callable[[Array], None]:
        machine = self.machine
        row_type = np.bool_ if type.bits == 1 else np.uint32
        rows = [machine.storage(number, row_type) for number in register.storages]

        def put(row: Array, value: Array) -> None:
            group, mask = machine.group, machine.mask
            row[group] = np.where(mask, value, row[group])

        if type.bits == 1:
            return lambda value: put(rows[0], value)
        dtype = dtype_of(type)

        def write(value: Array) -> None:
            shape = (len(machine.group), WARP)
            full = np.ascontiguousarray(np.broadcast_to(np.asarray(value, dtype), shape))
            words = full.view(_WORDS[dtype.itemsize])
            if len(rows) == 1:
                put(rows[0], words.astype(np.uint32))
                return
            put(rows[0], (words & np.uint64(0xFFFFFFFF)).astype(np.uint32))
            put(rows[1], (words >> np.uint64(32)).astype(np.uint32))

        return write

    def _read_register(self, register: Register, type: ValueType) -> Read:
        machine = self.machine
        row_type = np.bool_ if type.bits == 1 else np.uint32
        rows = [machine.storage(number, row_type) for number in register.storages]
        if type.bits == 1:
            return lambda: rows[0][machine.group]
        dtype = dtype_of(type)

        def read() -> Array:
            words = rows[0][machine.group]
            if len(rows) == 2 and dtype.itemsize == 8:
                words = words | rows[1][machine.group].astype(np.uint64) << np.uint64(32)
            elif dtype.itemsize < 4:
                words = words.astype(_WORDS[dtype.itemsize])
            return words.view(dtype)

        return read

    # Memory

    def _address(self, name: str, space: str) -> Read:
        """Byte addresses [group, 32] in the array that holds `space`."""
        operand = self.instruction.operands[name]
        if not isinstance(operand, MemoryOperand):
            raise InternalError(f"operand {name} is not an address", where=self._place())
        offset = np.uint64((operand.displacement + self._symbol(operand)) & (1 << 64) - 1)
        machine = self.machine
        if operand.base is None:
            shape = (1, WARP)
            return lambda: np.broadcast_to(np.full(shape, offset), (len(machine.group), WARP))
        bits = 32 * len(operand.base.storages)
        base = self._read_register(operand.base, ValueType(TypeKind.INT, bits))
        return lambda: base().astype(np.uint64) + offset

    def _symbol(self, operand: MemoryOperand) -> int:
        if operand.symbol is None:
            return 0
        if operand.symbol in self.program.symbols:
            pool = self.machine.memory.constants[self.program.name]
            return pool + self.program.symbols[operand.symbol]
        return 8 * self.program.parameters.index(operand.symbol)

    def _located(
        self, name: str, space: str, size: int
    ) -> tuple[Callable[[], tuple[Array, Array]], Array]:
        """A closure giving (addresses as the program sees them, positions in the bytes of the
        space), and those bytes."""
        machine, address = self.machine, self._address(name, space)
        frame = max(1, self.program.frame_size_bytes)
        shared = max(1, self.program.shared_size_bytes)
        content = {"param": machine.parameters, "shared": machine.shared, "local": machine.local}
        bytes_of_space = content.get(space, machine.global_bytes)
        low, high = _limits(space, self.program, len(machine.parameters), len(machine.global_bytes))
        place = self._place()

        def locate() -> tuple[Array, Array]:
            seen = address()
            inside = (seen >= low) & (seen + np.uint64(size) <= high)
            if not inside[machine.mask].all():
                bad = int(seen[machine.mask & ~inside][0])
                raise fault(bad, size, machine.memory, place)
            at = np.where(machine.mask, seen, np.uint64(low)).astype(np.int64)
            if space == "local":
                at = at + (machine.group[:, None] * WARP + LANES) * frame
            elif space == "shared":
                at = at + (machine.group // machine.warps.per_block)[:, None] * shared
            return seen, at

        return locate, bytes_of_space

    def _load(self, node: Apply) -> Read:
        name = node.arguments[0]
        if not isinstance(name, Operand):
            raise InternalError("a load needs a memory operand", where=self._place())
        dtype = dtype_of(node.type)
        locate, content = self._located(name.name, _space(node), dtype.itemsize)
        machine = self.machine
        steps = np.arange(dtype.itemsize)

        def load() -> Array:
            seen, at = locate()
            machine.noted = seen.astype(np.int64)
            return content[at[..., None] + steps].view(dtype)[..., 0]

        return load

    def _store(self, name: str, type: ValueType, space: str) -> Callable[[Array], None]:
        dtype = dtype_of(type)
        locate, content = self._located(name, space, dtype.itemsize)
        machine = self.machine
        steps = np.arange(dtype.itemsize)

        def store(value: Array) -> None:
            seen, at = locate()
            machine.noted = seen.astype(np.int64)
            full = np.broadcast_to(np.asarray(value, dtype), at.shape)[machine.mask]
            content[at[machine.mask][:, None] + steps] = full[:, None].view(np.uint8)

        return store

    # Expressions

    def expression(self, node: Expression) -> Read:
        if isinstance(node, Constant):
            value = _constant(node.value, node.type)
            return lambda: value
        if isinstance(node, Operand):
            return self._operand(node)
        if isinstance(node, Implicit):
            raise InternalError(f"SIMT has no register {node.name}", where=self._place())
        return self._apply(node)

    def _operand(self, node: Operand) -> Read:
        operand = self.instruction.operands[node.name]
        if isinstance(operand, RegisterOperand):
            return self._read_register(operand.register, node.type)
        if isinstance(operand, Immediate):
            value = _constant(operand.value, node.type)
            return lambda: value
        return self._address(node.name, "")

    def _apply(self, node: Apply) -> Read:
        effect = node.effect
        if effect is E.LOAD:
            return self._load(node)
        if effect is E.BARRIER:
            return lambda: None
        if effect.rule.name == "SPECIAL":
            return self._special(effect)
        arguments = [self.expression(argument) for argument in node.arguments]
        if effect is E.ADDRESS:
            return arguments[0]
        if effect.rule.name in ("LANE_EXCHANGE", "VOTE", "BALLOT"):
            return self._across(effect, arguments)
        if effect is E.BITCAST:
            dtype = dtype_of(node.type)
            return lambda: np.asarray(arguments[0]()).view(dtype)
        if effect is E.CONCAT:
            return _concat(node, arguments)
        if effect in (E.LOW, E.HIGH):
            shift = np.uint64(node.type.bits if effect is E.HIGH else 0)
            half = dtype_of(node.type)
            return lambda: (np.asarray(arguments[0]()).view(np.uint64) >> shift).astype(half)
        if is_conversion(effect):
            return lambda: convert(effect, arguments[0](), node.type)
        if effect not in MEANINGS:
            raise InternalError(f"the SIMT machine does not know {effect}", where=self._place())
        meaning = MEANINGS[effect]
        return lambda: meaning(*(read() for read in arguments))

    def _special(self, effect: Effect) -> Read:
        machine = self.machine
        table = _special_registers(machine.warps)[effect]
        return lambda: table[machine.group]

    def _across(self, effect: Effect, arguments: Sequence[Read]) -> Read:
        machine = self.machine
        first = arguments[0]
        if effect.rule.name == "LANE_EXCHANGE":
            second = arguments[1]
            return lambda: _exchange(effect, _full(first(), machine), _full(second(), machine))

        def vote() -> Array:
            yes = _full(first(), machine) & machine.mask
            if effect is E.VOTE_ANY:
                return np.repeat(yes.any(axis=1)[:, None], WARP, axis=1)
            if effect is E.VOTE_ALL:
                return np.repeat((yes | ~machine.mask).all(axis=1)[:, None], WARP, axis=1)
            ballot = (yes * _LANE_BITS).sum(axis=1).astype(np.uint32)
            return np.repeat(ballot[:, None], WARP, axis=1)

        return vote


_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def _is_pc(assignment: Assignment) -> bool:
    return isinstance(assignment.target, Implicit) and assignment.target.name == "pc"


def _space(node: Apply) -> str:
    return str(node.attributes[0]) if node.attributes else ""


def _limits(space: str, program: Program, parameters: int, total: int) -> tuple[int, int]:
    """The addresses a space has: first, and one past the last."""
    if space == "param":
        return 0, parameters
    if space == "local":
        return 0, program.frame_size_bytes
    if space == "shared":
        return 0, program.shared_size_bytes
    return ARENA_BASE, total


def _constant(value: int | float, type: ValueType) -> Array:
    dtype = dtype_of(type)
    if type.is_float:
        return np.full((1, WARP), value, dtype)
    return np.full((1, WARP), int(value) & ((1 << type.bits) - 1), dtype)


def _full(value: Array, machine: ThreadMachine) -> Array:
    return np.broadcast_to(value, (len(machine.group), WARP))


def _concat(node: Apply, arguments: Sequence[Read]) -> Read:
    width = np.uint64(node.arguments[0].type.bits)

    def join() -> Array:
        low, high = (np.asarray(read()).astype(np.uint64) for read in arguments)
        return (low | high << width).astype(np.uint64).view(dtype_of(node.type))

    return join


def _exchange(effect: Effect, value: Array, other: Array) -> Array:
    """shfl.sync with the whole warp as one segment (PTX ISA, section shfl.sync)."""
    amount = other.astype(np.int64)
    source = {
        E.EXCHANGE_XOR: LANES ^ amount,
        E.EXCHANGE_DOWN: LANES + amount,
        E.EXCHANGE_UP: LANES - amount,
        E.EXCHANGE_INDEX: amount % WARP,
    }[effect]
    source = np.where((source >= 0) & (source < WARP), source, LANES)
    return np.take_along_axis(value, source, axis=1)


def _special_registers(warps: Warps) -> dict[Effect, Array]:
    """Every special register as [warps, 32] of u32."""
    block = (np.arange(warps.count) // warps.per_block)[:, None] + np.zeros((1, WARP), np.int64)
    in_block = (np.arange(warps.count) % warps.per_block)[:, None]
    thread = in_block * WARP + LANES
    threads, blocks = warps.grid.threads, warps.grid.blocks
    tables = {
        E.LANE_ID: np.broadcast_to(LANES, thread.shape),
        E.WARP_ID: np.broadcast_to(in_block, thread.shape),
    }
    axes = (
        (E.THREAD_ID_X, E.BLOCK_ID_X),
        (E.THREAD_ID_Y, E.BLOCK_ID_Y),
        (E.THREAD_ID_Z, E.BLOCK_ID_Z),
    )
    sizes = (
        (E.BLOCK_DIM_X, E.GRID_DIM_X),
        (E.BLOCK_DIM_Y, E.GRID_DIM_Y),
        (E.BLOCK_DIM_Z, E.GRID_DIM_Z),
    )
    for axis in range(3):
        tables[axes[axis][0]] = thread // int(np.prod(threads[:axis])) % threads[axis]
        tables[axes[axis][1]] = block // int(np.prod(blocks[:axis])) % blocks[axis]
        tables[sizes[axis][0]] = np.full(thread.shape, threads[axis])
        tables[sizes[axis][1]] = np.full(thread.shape, blocks[axis])
    return {
        effect: np.ascontiguousarray(table).astype(np.uint32) for effect, table in tables.items()
    }
