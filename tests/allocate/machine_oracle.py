"""Runs machine functions, with virtual or physical registers, and records what they store and where
they go.

Operations are uninterpreted: each gives a number that depends on the operation and on its arguments
and on nothing else. Two functions that move the same values to the same operations therefore store
the same numbers. Only what spill code itself consists of (moves, loads, stores, selects and
comparisons with zero, changes of width) is computed for real.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

from compiler.machine.code import (
    Address,
    AnyRegister,
    Immediate,
    Label,
    MachineFunction,
    MachineInstruction,
    Operand,
    ParallelCopy,
    Slot,
    StackArgument,
    Symbol,
    VirtualRegister,
)
from isas.effects import Apply, Constant, Effect, Expression, Implicit
from isas.effects import Operand as EffectOperand
from isas.model import Machine
from isas.registers import Register, WriteRule


def scramble(*parts: object, bits: int) -> int:
    """A number of `bits` bits that depends on all parts."""
    text = repr(parts).encode()
    words = [zlib.crc32(text, seed) for seed in range((bits + 31) // 32)]
    value = sum(word << (32 * place) for place, word in enumerate(words))
    return value & ((1 << bits) - 1)


@dataclass
class Trace:
    """What can be seen from outside: stores outside the allocator's own slots, and the path
    taken.
    """

    stores: list[tuple[str, int, int, int]] = field(default_factory=list)
    bytes: dict[tuple[str, int], int] = field(default_factory=dict)
    path: list[str] = field(default_factory=list)


@dataclass
class Oracle:
    """Executes one function. `own_slots` are the slots of the program itself."""

    machine: Machine
    function: MachineFunction
    own_slots: frozenset[int]
    virtual: dict[int, int] = field(default_factory=dict)
    storage: dict[int, int] = field(default_factory=dict)
    memory: dict[tuple[str, int], int] = field(default_factory=dict)
    trace: Trace = field(default_factory=Trace)

    def run(self, seed: int, most_blocks: int = 40) -> Trace:
        """Executes from the first block until a return or until `most_blocks` blocks were run."""
        for _, register in self.function.incoming:
            for storage in register.storages:
                self.storage[storage] = scramble("argument", storage, seed, bits=64)
        for virtual, register in self.function.incoming:
            self.virtual[virtual.number] = self.read(register)
        name: str | None = self.function.blocks[0].name
        while name is not None and len(self.trace.path) < most_blocks:
            self.trace.path.append(name)
            name = self._run_block(name)
        return self.trace

    def _run_block(self, name: str) -> str | None:
        blocks = self.function.blocks
        place = next(i for i, block in enumerate(blocks) if block.name == name)
        for node in blocks[place].instructions:
            if isinstance(node, ParallelCopy):
                values = [self.read(source) for _, source in node.moves]
                for (target, _), value in zip(node.moves, values):
                    self.write(target, value & ((1 << target.bits) - 1))
                continue
            if node.shape.facts.is_return:
                return None
            target = self.execute(node)
            if target is not None:
                return target
        return blocks[place + 1].name if place + 1 < len(blocks) else None

    # -- registers ----------------------------------------------------------------------------

    def read(self, register: AnyRegister) -> int:
        if isinstance(register, VirtualRegister):
            return self.virtual[register.number] & ((1 << register.bits) - 1)
        width = self._storage_bits(register)
        whole = sum(
            self.storage.get(storage, 0) << (width * place)
            for place, storage in enumerate(register.storages)
        )
        return (whole >> register.low_bit) & ((1 << register.bits) - 1)

    def write(self, register: AnyRegister, value: int, view: str = "") -> None:
        if isinstance(register, VirtualRegister):
            self._write_virtual(register, value, view)
            return
        width = self._storage_bits(register)
        if register.write_rule is WriteRule.MERGE:
            storage = register.storages[0]
            mask = ((1 << register.bits) - 1) << register.low_bit
            old = self.storage.get(storage, 0)
            self.storage[storage] = (old & ~mask) | (value << register.low_bit)
            return
        for place, storage in enumerate(register.storages):
            self.storage[storage] = (value >> (width * place)) & ((1 << width) - 1)

    def _write_virtual(self, register: VirtualRegister, value: int, view: str) -> None:
        found = self.machine.isa.registers.classes[register.register_class].views.get(view)
        if found and found.write_rule is WriteRule.MERGE and found.bits < register.bits:
            mask = (1 << found.bits) - 1
            value = (self.virtual[register.number] & ~mask) | (value & mask)
        self.virtual[register.number] = value & ((1 << register.bits) - 1)

    def _storage_bits(self, register: Register) -> int:
        if not register.class_name:
            return register.bits
        return self.machine.isa.registers.classes[register.class_name].storage_bits

    # -- instructions -------------------------------------------------------------------------

    def execute(self, node: MachineInstruction) -> str | None:
        """Runs one instruction; the block to go to, if it branches."""
        if node.guard is not None and bool(self.read(node.guard[0])) == node.guard[1]:
            return None
        results = [
            (assignment, self._value(assignment.expression, node))
            for assignment in node.shape.effects
        ]
        target: str | None = None
        for assignment, value in results:
            place = assignment.target
            if isinstance(place, Implicit) and place.name == "pc":
                target = self._branch(assignment.expression, node)
            elif isinstance(place, Implicit):
                register = self.machine.isa.registers.by_name(place.name)
                assert register is not None
                self.write(register, value)
            elif isinstance(place, EffectOperand) and assignment.is_store:
                bits = assignment.expression.type.total_bits
                self._store(node.operands[place.name], assignment.space, bits, value)
            elif isinstance(place, EffectOperand):
                view = node.shape.by_name[place.name].kind.view
                register = node.operands[place.name]
                assert isinstance(register, VirtualRegister | Register)
                self.write(register, value, view)
        return target

    def _branch(self, expression: Expression, node: MachineInstruction) -> str | None:
        name = node.shape.facts.target
        assert name is not None
        label = node.operands[name]
        assert isinstance(label, Label)
        if isinstance(expression, Apply) and expression.effect is Effect.SELECT:
            return label.block if self._value(expression.arguments[0], node) & 1 else None
        return label.block

    def _value(self, expression: Expression, node: MachineInstruction) -> int:
        bits = expression.type.total_bits
        if isinstance(expression, Constant):
            return scramble("constant", expression.value, str(expression.type), bits=bits)
        if isinstance(expression, Implicit):
            register = self.machine.isa.registers.by_name(expression.name)
            return self.read(register) if register is not None else 0
        if isinstance(expression, EffectOperand):
            return self._operand(expression, node)
        return self._applied(expression, node)

    def _operand(self, expression: EffectOperand, node: MachineInstruction) -> int:
        operand = node.tied.get(expression.name, node.operands[expression.name])
        if isinstance(operand, VirtualRegister | Register):
            return self.read(operand) & ((1 << expression.type.total_bits) - 1)
        if isinstance(operand, Immediate):
            return operand.value & ((1 << expression.type.total_bits) - 1)
        if isinstance(operand, Address):
            return self._address(operand)
        return 0

    def _applied(self, expression: Apply, node: MachineInstruction) -> int:
        bits = expression.type.total_bits
        effect = expression.effect
        if effect is Effect.LOAD:
            inner = expression.arguments[0]
            space = str(expression.attributes[0]) if expression.attributes else ""
            assert isinstance(inner, EffectOperand)
            return self._load(node.operands[inner.name], space, bits)
        values = [self._value(argument, node) for argument in expression.arguments]
        if effect is Effect.SELECT and expression.arguments[0].type.total_bits == 1:
            return values[1] if values[0] else values[2]
        if effect is Effect.ZEXT and expression.type.lanes == 1:
            return values[0]
        if effect is Effect.ICMP_NE and bits == 1:
            return int(values[0] != values[1])
        return scramble(str(effect), expression.attributes, str(expression.type), values, bits=bits)

    # -- memory -------------------------------------------------------------------------------

    def _address(self, address: Address) -> int:
        base = address.base
        if isinstance(base, VirtualRegister | Register):
            start = self.read(base)
        elif isinstance(base, Slot):
            start = scramble("slot", base.number, bits=40) << 16
        elif isinstance(base, Symbol | StackArgument):
            start = scramble(str(base), bits=40) << 16
        else:
            start = 0
        index = self.read(address.index) if address.index is not None else 0
        return (start + index * address.scale + address.displacement) % (1 << 64)

    def _load(self, operand: Operand, space: str, bits: int) -> int:
        assert isinstance(operand, Address)
        start = self._address(operand)
        value = 0
        for place in range((bits + 7) // 8):
            key = (space, start + place)
            byte = self.memory.get(key)
            if byte is None:
                byte = scramble("memory", key, bits=8)
            value |= byte << (8 * place)
        return value & ((1 << bits) - 1)

    def _store(self, operand: Operand, space: str, bits: int, value: int) -> None:
        assert isinstance(operand, Address)
        start = self._address(operand)
        is_spill = isinstance(operand.base, Slot) and operand.base.number not in self.own_slots
        for place in range((bits + 7) // 8):
            byte = (value >> (8 * place)) & 255
            self.memory[(space, start + place)] = byte
            if not is_spill:
                self.trace.bytes[(space, start + place)] = byte
        if not is_spill:
            self.trace.stores.append((space, start, bits, value))


def trace_of(
    function: MachineFunction, machine: Machine, seed: int, own_slots: frozenset[int]
) -> Trace:
    """What a function does on arguments drawn from `seed`."""
    return Oracle(machine, function, own_slots).run(seed)
