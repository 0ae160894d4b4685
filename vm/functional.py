"""The functional machine of CPUs: decides what happens, instruction by instruction, never when.

A program is compiled once into closures, one per instruction, straight from the cards' effects;
running it calls them and notes the blocks and addresses it went through. That trace, as arrays, is
the dynamic stream that the timing models read. Registers are storages: narrow ones hold Python
ints, wide ones (vectors) hold arrays of bytes whose missing upper bytes are zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isas.effects import Apply, Assignment, Constant, Effect, Expression, Implicit, Operand
from isas.errors import InternalError
from isas.flags import condition_holds
from isas.immediates import lanes_of
from isas.model import Shape
from isas.program import (
    Immediate,
    LabelTarget,
    MemoryOperand,
    Program,
    ProgramInstruction,
    RegisterOperand,
)
from isas.registers import STORAGES_PER_CLASS, Register, WriteRule
from isas.values import TypeKind, ValueType
from vm.arithmetic import MEANINGS, convert, dtype_of, is_conversion
from vm.memory import ARENA_BASE, Memory, fault
from vm.scalars import INT_OPERATIONS, compute_flags

END = -1
"""The program counter after `ret`."""
NARROW_BITS = 64
"""Storages up to this width hold Python ints, wider ones arrays."""

Value = Any
"""int (scalar integers), bool (i1), NumPy scalar (floats), array (vectors), tuple (lazy flags)."""
Read = Callable[[], Value]
Step = Callable[[], int | None]
E = Effect


class StepLimit(InternalError):
    """A program ran longer than the caller allowed."""


@dataclass(slots=True)
class Trace:
    """What one launch did: `blocks` in execution order, `addresses` of memory accesses in order."""

    blocks: list[int] = field(default_factory=list)
    addresses: list[int] = field(default_factory=list)


@dataclass(slots=True)
class State:
    """The machine's whole state: a value per storage, and memory."""

    storages: list[Value]
    memory: Memory
    trace: Trace = field(default_factory=Trace)


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions `first` .. `first + len(steps) - 1`; only the last one may branch."""

    first: int
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program as closures over one state. `block_at` maps a leader's index to its block."""

    program: Program
    blocks: tuple[Block, ...]
    block_at: dict[int, int]
    accesses_memory: tuple[bool, ...]

    def run(self, state: State, limit: int = 1 << 40) -> None:
        """Executes from the entry to `ret`. Raises StepLimit after `limit` instructions."""
        blocks, block_at = self.blocks, self.block_at
        visited = state.trace.blocks
        current, budget = block_at[self.program.entry], limit
        while True:
            block = blocks[current]
            visited.append(current)
            budget -= len(block.steps)
            target: int | None = None
            for step in block.steps:
                target = step()
            if budget < 0:
                raise StepLimit(f"{self.program.name} ran more than {limit} instructions")
            if target is None:
                current += 1
            elif target == END:
                return
            else:
                current = block_at[target]


def new_state(program: Program, memory: Memory) -> State:
    """Registers all zero, over `memory`."""
    registers = program.isa.registers
    storages: list[Value] = [0] * registers.storage_count
    for register_class in registers.classes.values():
        if register_class.storage_bits > NARROW_BITS:
            first = register_class.first_storage
            end = min(len(storages), first + STORAGES_PER_CLASS)
            empty = np.zeros(0, np.uint8)
            storages[first:end] = [empty] * (end - first)
    return State(storages, memory)


def compile_program(program: Program, state: State) -> Compiled:
    """Closures for `program` that read and write `state`."""
    leaders = _leaders(program)
    block_at = {leader: number for number, leader in enumerate(leaders)}
    ends = [*leaders[1:], len(program.instructions)]
    steps = [
        _Translator(program, index, state).step() for index in range(len(program.instructions))
    ]
    blocks = tuple(Block(first, tuple(steps[first:end])) for first, end in zip(leaders, ends))
    accesses = tuple(
        bool(i.shape.facts.loads or i.shape.facts.stores) for i in program.instructions
    )
    return Compiled(program, blocks, block_at, accesses)


def _leaders(program: Program) -> list[int]:
    count = len(program.instructions)
    places = {0, program.entry, *(place for place in program.labels.values() if place < count)}
    for index, instruction in enumerate(program.instructions):
        facts = instruction.shape.facts
        if (facts.is_branch or facts.is_return) and index + 1 < count:
            places.add(index + 1)
    return sorted(places)


class _Translator:
    """Translates one instruction."""

    def __init__(self, program: Program, index: int, state: State) -> None:
        self.program = program
        self.index = index
        self.instruction: ProgramInstruction = program.instructions[index]
        self.shape: Shape = self.instruction.shape
        self.state = state
        self.registers = program.isa.registers
        self.noted: set[str] = set()

    def step(self) -> Step:
        assignments = self.shape.effects
        branch = [a for a in assignments if _is_pc(a)]
        parts = [self._assignment(a) for a in assignments if not _is_pc(a)]
        if branch and not parts:
            return self._branch(branch[0].expression)
        if branch:
            return _simultaneous(parts, self._branch(branch[0].expression))
        if len(parts) == 1:
            return _single(*parts[0])
        return _simultaneous(parts, _fall_through)

    def _place(self) -> str:
        text = self.instruction.text or self.shape.title
        return f"{self.program.name}, instruction {self.index} ({text})"

    # Assignments

    def _assignment(self, assignment: Assignment) -> tuple[Read, Callable[[Value], None]]:
        read = self.expression(assignment.expression)
        target = assignment.target
        if target is None:
            return read, _ignore
        if assignment.is_store:
            return read, self._store(target.name, assignment.expression.type)
        register = self._register(target)
        rest = self.shape.rest if isinstance(target, Operand) else None
        return read, self._write(register, assignment.expression.type, rest)

    def _register(self, place: Operand | Implicit) -> Register:
        if isinstance(place, Implicit):
            found = self.registers.by_name(place.name)
        else:
            found = self.instruction.register(place.name)
        if found is None:
            raise InternalError(f"'{place.name}' is not a register", where=self._place())
        return found

    def _write(
        self, register: Register, type: ValueType, rest: str | None
    ) -> Callable[[Value], None]:
        storages, storage = self.state.storages, register.storages[0]
        if type.kind is TypeKind.FLAGS:
            return _setter(storages, storage)
        if self._is_wide(register):
            return self._write_wide(register, type, rest)
        encode = _encoder(type)
        if register.write_rule is WriteRule.ZERO_REST and register.low_bit == 0:
            if encode is None:
                return _setter(storages, storage)
            return lambda value: storages.__setitem__(storage, encode(value))
        low = register.low_bit
        keep = ~(((1 << register.bits) - 1) << low)

        def merge(value: Value) -> None:
            bits = encode(value) if encode else value
            storages[storage] = (storages[storage] & keep) | bits << low

        return merge

    def _is_wide(self, register: Register) -> bool:
        register_class = self.registers.classes.get(register.class_name)
        return register_class is not None and register_class.storage_bits > NARROW_BITS

    def _write_wide(
        self, register: Register, type: ValueType, rest: str | None
    ) -> Callable[[Value], None]:
        """Values that fill the view are stored as they are; shorter ones are laid over the `rest`
        operand's bytes, the old bytes (merge) or zeros."""
        storages, storage = self.state.storages, register.storages[0]
        dtype, lanes, view_bytes = dtype_of(type), type.lanes, register.bits // 8
        size = dtype.itemsize * lanes
        merges = register.write_rule is WriteRule.MERGE
        if size == view_bytes and not merges and lanes > 1:
            return _setter(storages, storage)
        below = storage if merges else None
        if rest is not None:
            below = self._register(Operand(rest, type)).storages[0]
        total = self._full_bytes(register) if merges else view_bytes

        def write(value: Value) -> None:
            fresh = np.zeros(total, np.uint8)
            if below is not None:
                old = storages[below].view(np.uint8)[:total]
                fresh[: old.size] = old
            if lanes > 1:
                fresh[:size].view(dtype)[:] = value
            else:
                fresh[:size].view(dtype)[0] = value
            storages[storage] = fresh

        return write

    def _full_bytes(self, register: Register) -> int:
        return self.registers.classes[register.class_name].storage_bits // 8

    def _store(self, name: str, type: ValueType) -> Callable[[Value], None]:
        address = self.address(name)
        memory, dtype = self.state.memory, dtype_of(type)
        data, limit, size = memory.data, len(memory.data), type.total_bits // 8 or 1
        note = self._note(name)
        is_scalar_int = type.is_int and not type.is_vector
        place = self._place()

        def store(value: Value) -> None:
            start = address()
            if start < ARENA_BASE or start + size > limit:
                raise fault(start, size, memory, place)
            note(start)
            if is_scalar_int:
                data[start : start + size] = int(value).to_bytes(size, "little")
            else:
                data[start : start + size] = np.asarray(value, dtype).tobytes()

        return store

    # Expressions

    def expression(self, node: Expression) -> Read:
        if isinstance(node, Constant):
            return _constantly(_typed_constant(node.value, node.type))
        if isinstance(node, Implicit):
            return self._read_implicit(node)
        if isinstance(node, Operand):
            return self._read_operand(node)
        return self._apply(node)

    def _read_implicit(self, node: Implicit) -> Read:
        register = self._register(node)
        return self._read_register(register, node.type)

    def _read_operand(self, node: Operand) -> Read:
        operand = self.instruction.operands[node.name]
        if isinstance(operand, RegisterOperand):
            return self._read_register(operand.register, node.type)
        if isinstance(operand, Immediate):
            return _constantly(_typed_constant(operand.value, node.type))
        if isinstance(operand, MemoryOperand):
            return self.address(node.name)
        return _constantly(self.program.labels[operand.label])

    def _read_register(self, register: Register, type: ValueType) -> Read:
        storages, storage = self.state.storages, register.storages[0]
        if type.kind is TypeKind.FLAGS:
            return lambda: storages[storage]
        if self._is_wide(register):
            return _wide_reader(storages, storage, type)
        mask, low = (1 << type.bits) - 1, register.low_bit
        decode = _decoder(type)
        if decode is not None:
            return lambda: decode(storages[storage] >> low & mask)
        full = self.registers.classes.get(register.class_name)
        if full is not None and full.storage_bits == type.bits:
            return lambda: storages[storage]
        return lambda: storages[storage] >> low & mask

    def address(self, name: str) -> Callable[[], int]:
        """Computes the address of memory operand `name`."""
        operand = self.instruction.operands[name]
        if not isinstance(operand, MemoryOperand):
            raise InternalError(f"operand {name} is not an address", where=self._place())
        storages, displacement = self.state.storages, operand.displacement
        if operand.symbol is not None:
            pool = self.state.memory.constants[self.program.name]
            displacement += pool + self.program.symbols[operand.symbol]
        if operand.base is None and operand.index is None:
            return lambda: displacement
        if operand.index is None and operand.base is not None:
            base = operand.base.storages[0]
            return lambda: (storages[base] + displacement) & _MASK64
        index, scale = self._index(operand), operand.scale
        if operand.base is None:
            return lambda: (index() * scale + displacement) & _MASK64
        base = operand.base.storages[0]
        return lambda: (storages[base] + index() * scale + displacement) & _MASK64

    def _index(self, operand: MemoryOperand) -> Callable[[], int]:
        if operand.index is None:
            return lambda: 0
        storages, storage = self.state.storages, operand.index.storages[0]
        return lambda: storages[storage]

    def _apply(self, node: Apply) -> Read:
        effect = node.effect
        if effect is E.LOAD:
            return self._load(node)
        if effect is E.ADDRESS:
            return self.expression(node.arguments[0])
        if effect.spelling.startswith("flags."):
            return self._flags(node)
        arguments = [self.expression(argument) for argument in node.arguments]
        if effect.rule.name == "CONDITION":
            return _condition(effect, arguments[0])
        if effect is E.SELECT and not node.arguments[0].type.is_vector:
            return _choice(*arguments)
        lanes = self._lane_effect(node, arguments)
        if lanes is not None:
            return lanes
        return _compute(node, arguments)

    def _load(self, node: Apply) -> Read:
        name = node.arguments[0]
        if not isinstance(name, Operand):
            raise InternalError("a load needs a memory operand", where=self._place())
        address, memory = self.address(name.name), self.state.memory
        type, dtype = node.type, dtype_of(node.type)
        data, limit, size = memory.data, len(memory.data), type.total_bits // 8 or 1
        note, place = self._note(name.name), self._place()
        is_scalar_int = type.is_int and not type.is_vector
        is_vector = type.is_vector

        def load() -> Value:
            start = address()
            if start < ARENA_BASE or start + size > limit:
                raise fault(start, size, memory, place)
            note(start)
            content = data[start : start + size]
            if is_scalar_int:
                return int.from_bytes(content, "little")
            return np.frombuffer(content, dtype) if is_vector else np.frombuffer(content, dtype)[0]

        return load

    def _note(self, name: str) -> Callable[[int], None]:
        """Where the access's address goes: an instruction notes each memory operand once, however
        often its effects mention it."""
        if name in self.noted:
            return _ignore
        self.noted.add(name)
        return self.state.trace.addresses.append

    def _flags(self, node: Apply) -> Read:
        """Lazy: the producer and its arguments, evaluated when a condition looks."""
        effect = node.effect
        arguments = [self.expression(argument) for argument in node.arguments]
        bits = node.arguments[0].type.bits if node.arguments else 0
        if len(arguments) == 2:
            first, second = arguments
            return lambda: (effect, (first(), second()), bits)
        return lambda: (effect, tuple(argument() for argument in arguments), bits)

    def _lane_effect(self, node: Apply, arguments: Sequence[Read]) -> Read | None:
        """Effects that move lanes about."""
        effect, dtype = node.effect, dtype_of(node.type)
        first = arguments[0]
        source = node.arguments[0].type
        if effect is E.SPLAT:
            lanes = node.type.lanes
            return lambda: np.full(lanes, first(), dtype)
        if effect is E.BITCAST:
            return _bitcast(first, source, node.type)
        if effect is E.EXTRACT:
            lane = self._lane(node, arguments, 1)
            return _scalar(node.type, lambda: first()[lane()])
        if effect is E.INSERT:
            return self._insert(node, arguments)
        if effect is E.SHUFFLE:
            return self._shuffle(node, arguments)
        if effect is E.PERMUTE:
            second, count = arguments[1], source.lanes
            return lambda: first()[second() % count]
        if effect is E.CONCAT:
            return _concat(node, arguments)
        if effect in (E.LOW, E.HIGH):
            return _half(first, source, node.type, effect is E.HIGH)
        if effect.rule.name == "REDUCE":
            return _scalar(node.type, _reduction(effect, first))
        return None

    def _lane(self, node: Apply, arguments: Sequence[Read], position: int) -> Callable[[], int]:
        if node.attributes:
            return _constantly(node.attributes[0])
        return arguments[position]

    def _insert(self, node: Apply, arguments: Sequence[Read]) -> Read:
        vector, scalar = arguments[0], arguments[1]
        lane = self._lane(node, arguments, 2)

        def insert() -> Value:
            fresh = np.array(vector())
            fresh[lane()] = scalar()
            return fresh

        return insert

    def _shuffle(self, node: Apply, arguments: Sequence[Read]) -> Read:
        first, second = arguments[0], arguments[1]
        lanes = node.attributes
        if not lanes:
            lanes = self._immediate_lanes(node)
        order = np.array([max(0, int(lane)) for lane in lanes], np.intp)
        return lambda: np.concatenate((first(), second()))[order]

    def _immediate_lanes(self, node: Apply) -> tuple[int, ...]:
        operand = node.arguments[2]
        if not isinstance(operand, Operand):
            raise InternalError("a shuffle needs its lanes", where=self._place())
        value = self.instruction.operands[operand.name]
        form = self.shape.by_name[operand.name].kind.immediate
        if not isinstance(value, Immediate) or form is None:
            raise InternalError("a shuffle needs an immediate", where=self._place())
        return lanes_of(form.encoding, int(value.value), node.arguments[0].type)

    # Branches

    def _branch(self, node: Expression) -> Step:
        if isinstance(node, Apply) and node.effect is E.RET:
            return _constantly(END)
        if isinstance(node, Apply) and node.effect is E.SELECT:
            condition = self.expression(node.arguments[0])
            taken, other = (self._target(argument) for argument in node.arguments[1:])
            return lambda: taken if condition() else other
        target = self._target(node)
        return lambda: target

    def _target(self, node: Expression) -> int | None:
        if isinstance(node, Implicit) and node.name == "next":
            return None
        if isinstance(node, Operand):
            operand = self.instruction.operands[node.name]
            if isinstance(operand, LabelTarget):
                place = self.program.labels[operand.label]
                return END if place >= len(self.program.instructions) else place
        raise InternalError(f"cannot branch to {node}", where=self._place())


_MASK64 = (1 << 64) - 1


def _is_pc(assignment: Assignment) -> bool:
    return isinstance(assignment.target, Implicit) and assignment.target.name == "pc"


def _ignore(_value: Value) -> None:
    return None


def _fall_through() -> None:
    return None


def _constantly(value: Any) -> Callable[[], Any]:
    return lambda: value


def _setter(storages: list[Value], storage: int) -> Callable[[Value], None]:
    def write(value: Value) -> None:
        storages[storage] = value

    return write


def _single(read: Read, write: Callable[[Value], None]) -> Step:
    def step() -> None:
        write(read())

    return step


def _simultaneous(parts: Sequence[tuple[Read, Callable[[Value], None]]], branch: Step) -> Step:
    """All right-hand sides see the old values, the branch too."""
    reads = [read for read, _ in parts]
    writes = [write for _, write in parts]

    def step() -> int | None:
        values = [read() for read in reads]
        target = branch()
        for write, value in zip(writes, values):
            write(value)
        return target

    return step


def _typed_constant(value: int | float, type: ValueType) -> Value:
    if type.is_vector:
        wrapped = int(value) & ((1 << type.bits) - 1) if type.is_int else value
        return np.full(type.lanes, wrapped, dtype_of(type))
    if type.is_float:
        return dtype_of(type).type(value)
    return int(value) & ((1 << type.bits) - 1)


def _encoder(type: ValueType) -> Callable[[Value], int] | None:
    """How a value becomes the int that a narrow storage holds; None when it is one already."""
    if type.is_int and not type.is_vector:
        return None if type.bits > 1 else int
    return lambda value: int.from_bytes(np.asarray(value, dtype_of(type)).tobytes(), "little")


def _decoder(type: ValueType) -> Callable[[int], Value] | None:
    if type.is_int and not type.is_vector:
        return None
    dtype, size = dtype_of(type), type.total_bits // 8

    def decode(bits: int) -> Value:
        values = np.frombuffer(bits.to_bytes(size, "little"), dtype)
        return values if type.is_vector else values[0]

    return decode


def _wide_reader(storages: list[Value], storage: int, type: ValueType) -> Read:
    dtype, lanes = dtype_of(type), type.lanes
    size = dtype.itemsize * lanes
    is_int, is_vector = type.is_int, type.is_vector

    def read() -> Value:
        content = storages[storage]
        if content.nbytes < size:
            padded = np.zeros(size, np.uint8)
            padded[: content.nbytes] = content.view(np.uint8)
            content = padded
        if content.dtype != dtype:
            content = content.view(dtype)
        if is_vector:
            return content if content.size == lanes else content[:lanes]
        return int(content[0]) if is_int else content[0]

    return read


def _condition(effect: Effect, flags: Read) -> Read:
    def holds() -> bool:
        value = flags()
        bits = compute_flags(*value) if isinstance(value, tuple) else value
        return condition_holds(effect, bits)

    return holds


def _choice(condition: Read, first: Read, second: Read) -> Read:
    """Both values are read, as the instruction does: a memory operand is loaded either way."""

    def choose() -> Value:
        a, b = first(), second()
        return a if condition() else b

    return choose


def _scalar(type: ValueType, read: Read) -> Read:
    """Scalar integers leave NumPy as Python ints."""
    if type.is_int and not type.is_vector:
        return lambda: int(read())
    return read


_WIDTHS = frozenset({Effect.ZEXT, Effect.SEXT, Effect.TRUNC})


def _resized(effect: Effect, source: ValueType, type: ValueType, read: Read) -> Read:
    """A scalar integer in another width, of any size (a division's dividend has 128 bits)."""
    top, mask = 1 << (source.bits - 1), (1 << type.bits) - 1
    if effect is Effect.SEXT:
        return lambda: ((int(read()) ^ top) - top) & mask
    return lambda: int(read()) & mask


def _compute(node: Apply, arguments: Sequence[Read]) -> Read:
    effect, source = node.effect, node.arguments[0].type
    if source.is_int and not source.is_vector and effect in INT_OPERATIONS:
        operation = INT_OPERATIONS[effect](source.bits)
        first, second = arguments
        return lambda: operation(first(), second())
    if effect in _WIDTHS and source.is_int and not source.is_vector:
        return _resized(effect, source, node.type, arguments[0])
    if is_conversion(effect):
        argument = _as_array(arguments[0], source)
        type = node.type
        return _scalar(type, _unboxed(lambda: convert(effect, argument(), type), type))
    if effect not in MEANINGS:
        raise InternalError(f"the functional machine does not know the effect {effect}")
    meaning = MEANINGS[effect]
    inputs = [_as_array(read, arg.type) for read, arg in zip(arguments, node.arguments)]
    if len(inputs) == 2:
        first, second = inputs
        return _scalar(node.type, _unboxed(lambda: meaning(first(), second()), node.type))
    return _scalar(node.type, _unboxed(lambda: meaning(*(read() for read in inputs)), node.type))


def _unboxed(read: Read, type: ValueType) -> Read:
    """Scalars computed as 0-dimensional arrays become NumPy scalars."""
    if type.is_vector:
        return read
    return lambda: read()[()]


def _as_array(read: Read, type: ValueType) -> Read:
    """Scalar integers enter NumPy with their width."""
    if type.is_int and not type.is_vector:
        scalar = dtype_of(type).type
        return lambda: scalar(read())
    return read


def _bitcast(read: Read, source: ValueType, target: ValueType) -> Read:
    if source == target:
        return read
    wide, narrow = dtype_of(source), dtype_of(target)
    if source.bits == 1 or target.bits == 1:
        return _mask_bitcast(read, source, target)

    def cast() -> Value:
        content = np.frombuffer(np.asarray(read(), wide).tobytes(), narrow)
        return content if target.is_vector else content[0]

    return _scalar(target, cast)


def _mask_bitcast(read: Read, source: ValueType, target: ValueType) -> Read:
    """Between i1 per lane and the integer with a bit per lane."""
    if source.bits == 1:
        return lambda: sum(int(bit) << lane for lane, bit in enumerate(np.atleast_1d(read())))
    lanes = np.arange(target.lanes)
    return lambda: (int(read()) >> lanes & 1).astype(np.bool_)


def _concat(node: Apply, arguments: Sequence[Read]) -> Read:
    if node.type.is_vector:
        return lambda: np.concatenate([np.atleast_1d(read()) for read in arguments])
    width = node.arguments[0].type.bits
    return lambda: sum(read() << (width * place) for place, read in enumerate(arguments))


def _half(read: Read, source: ValueType, target: ValueType, is_high: bool) -> Read:
    if not source.is_vector:
        shift, mask = (target.bits if is_high else 0), (1 << target.bits) - 1
        return lambda: read() >> shift & mask
    start = target.lanes if is_high else 0
    if not target.is_vector:
        return _scalar(target, lambda: read()[start])
    return lambda: read()[start : start + target.lanes]


def _reduction(effect: Effect, read: Read) -> Read:
    """A tree over adjacent halves would be another order; integer and min/max have none."""
    pairwise = MEANINGS[
        {
            E.REDUCE_ADD: E.ADD,
            E.REDUCE_SMIN: E.SMIN,
            E.REDUCE_SMAX: E.SMAX,
            E.REDUCE_UMIN: E.UMIN,
            E.REDUCE_UMAX: E.UMAX,
            E.REDUCE_FMINIMUM: E.MINIMUM,
            E.REDUCE_FMAXIMUM: E.MAXIMUM,
        }[effect]
    ]

    def reduce() -> Value:
        lanes = read()
        total = lanes[0]
        for lane in lanes[1:]:
            total = pairwise(total, lane)
        return total

    return reduce
