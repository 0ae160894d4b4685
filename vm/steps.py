"""One CPU instruction as a closure over the machine's state, straight from its card's effects.

Reads and computations are built from `vm.closures`; all right-hand sides see the old values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isas.effects import Apply, Assignment, Constant, Effect, Expression, Implicit, Operand
from isas.errors import InternalError
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
from isas.registers import Register, WriteRule
from isas.values import TypeKind, ValueType
from vm.arithmetic import dtype_of
from vm.closures import (
    Read,
    Step,
    Value,
    as_scalar,
    bitcast,
    choice,
    computed,
    constantly,
    decoder,
    encoder,
    fall_through,
    flags_hold,
    half_of,
    ignore,
    joined,
    reduction,
    setter,
    simultaneous,
    single,
    typed_constant,
    wide_reader,
)
from vm.memory import ARENA_BASE, fault

if TYPE_CHECKING:
    from vm.functional import State

END = -1
"""The program counter after `ret`."""
NARROW_BITS = 64
"""Storages up to this width hold Python ints, wider ones arrays."""
E = Effect
_MASK64 = (1 << 64) - 1


class Translator:
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
        branch = [a for a in assignments if a.is_branch]
        parts = [self._assignment(a) for a in assignments if not a.is_branch]
        if branch and not parts:
            return self._branch(branch[0].expression)
        if branch:
            return simultaneous(parts, self._branch(branch[0].expression))
        if len(parts) == 1:
            return single(*parts[0])
        return simultaneous(parts, fall_through)

    def _place(self) -> str:
        text = self.instruction.text or self.shape.title
        return f"{self.program.name}, instruction {self.index} ({text})"

    # Assignments

    def _assignment(self, assignment: Assignment) -> tuple[Read, Callable[[Value], None]]:
        read = self.expression(assignment.expression)
        target = assignment.target
        if target is None:
            return read, ignore
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
            return setter(storages, storage)
        if self._is_wide(register):
            return self._write_wide(register, type, rest)
        encode = encoder(type)
        if register.write_rule is WriteRule.ZERO_REST and register.low_bit == 0:
            if encode is None:
                return setter(storages, storage)
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
            return setter(storages, storage)
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
            return constantly(typed_constant(node.value, node.type))
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
            return constantly(typed_constant(operand.value, node.type))
        if isinstance(operand, MemoryOperand):
            return self.address(node.name)
        return constantly(self.program.labels[operand.label])

    def _read_register(self, register: Register, type: ValueType) -> Read:
        storages, storage = self.state.storages, register.storages[0]
        if type.kind is TypeKind.FLAGS:
            return lambda: storages[storage]
        if self._is_wide(register):
            return wide_reader(storages, storage, type)
        mask, low = (1 << type.bits) - 1, register.low_bit
        decode = decoder(type)
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
            return flags_hold(effect, arguments[0])
        if effect is E.SELECT and not node.arguments[0].type.is_vector:
            return choice(*arguments)
        lanes = self._lane_effect(node, arguments)
        if lanes is not None:
            return lanes
        return computed(node, arguments)

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
            return ignore
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
            return bitcast(first, source, node.type)
        if effect is E.EXTRACT:
            lane = self._lane(node, arguments, 1)
            return as_scalar(node.type, lambda: first()[lane()])
        if effect is E.INSERT:
            return self._insert(node, arguments)
        if effect is E.SHUFFLE:
            return self._shuffle(node, arguments)
        if effect is E.PERMUTE:
            second, count = arguments[1], source.lanes
            return lambda: first()[second() % count]
        if effect is E.CONCAT:
            return joined(node, arguments)
        if effect in (E.LOW, E.HIGH):
            return half_of(first, source, node.type, effect is E.HIGH)
        if effect.rule.name == "REDUCE":
            return as_scalar(node.type, reduction(effect, first))
        return None

    def _lane(self, node: Apply, arguments: Sequence[Read], position: int) -> Callable[[], int]:
        if node.attributes:
            return constantly(node.attributes[0])
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
            return constantly(END)
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
