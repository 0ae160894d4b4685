"""One SIMT instruction as a closure over all lanes of the warps that run it together.

Memory spaces: global (the arena), shared (per block), local (per thread) and parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isas.effects import Apply, Assignment, Constant, Effect, Expression, Implicit, Operand
from isas.errors import InternalError
from isas.program import Immediate, MemoryOperand, Program, RegisterOperand
from isas.registers import Register
from isas.values import TypeKind, ValueType
from vm.arithmetic import MEANINGS, convert, dtype_of, is_conversion
from vm.memory import ARENA_BASE, fault
from vm.thread_state import LANE_BITS, LANES, WARP, Array, special_registers

if TYPE_CHECKING:
    from vm.threads import ThreadMachine

E = Effect
Read = Callable[[], Array]


class Translator:
    """Translates one instruction into a closure over the machine's current group and mask."""

    def __init__(self, machine: ThreadMachine, index: int) -> None:
        self.machine = machine
        self.program = machine.program
        self.index = index
        self.instruction = machine.program.instructions[index]
        self.shape = self.instruction.shape

    def step(self) -> Callable[[], None]:
        parts = [self._assignment(a) for a in self.shape.effects if not a.is_branch]
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
        table = special_registers(machine.warps)[effect]
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
            ballot = (yes * LANE_BITS).sum(axis=1).astype(np.uint32)
            return np.repeat(ballot[:, None], WARP, axis=1)

        return vote


_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


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
