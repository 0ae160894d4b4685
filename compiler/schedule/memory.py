"""Memory disambiguation inside a block: which two accesses can never touch the same byte.

An address is worked out symbolically as far as the block shows it: base and index are values at the
block's start (or results of some instruction in it), and additions of constants are followed. Two
accesses with the same base and index differ by a known distance; others are told apart by what they
may point to (`compiler.schedule.regions`). What cannot be told apart may meet.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.machine.accesses import accesses, keys
from compiler.machine.code import (
    Address,
    AnyRegister,
    Immediate,
    MachineBlock,
    MachineFunction,
    MachineInstruction,
    MachineNode,
    ParallelCopy,
    Slot,
    SlotOffset,
    StackArgument,
    Symbol,
    VirtualRegister,
)
from compiler.schedule.regions import PointsTo, Regions
from isas.effects import Apply, Effect
from isas.effects import Operand as EffectOperand
from isas.errors import InternalError
from isas.model import Machine, Shape
from isas.registers import Register


@dataclass(frozen=True, slots=True)
class SymbolicValue:
    """`origin` + `offset`: an unknown but fixed number, and a known distance from it."""

    origin: tuple[str, int, int]
    offset: int = 0


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """One load or store of a block. `place` says what it is relative to: the base and the scaled
    index as unknown values, or a slot or symbol; `start` is the known distance from there in
    bytes.
    """

    node: int
    is_store: bool
    space: str
    place: tuple[object, ...]
    start: int
    size_bytes: int
    regions: Regions
    slot: int | None
    is_constant: bool

    def overlaps(self, other: MemoryAccess) -> bool:
        """Whether the bytes meet, given that both are relative to the same place."""
        return self.start < other.start + other.size_bytes and (
            other.start < self.start + self.size_bytes
        )


@dataclass(slots=True)
class MemoryModel:
    """Knows the accesses of one block after `read(block)`."""

    function: MachineFunction
    machine: Machine
    pointers: PointsTo
    values: dict[int, SymbolicValue] = field(default_factory=dict)

    def read(self, block: MachineBlock) -> list[MemoryAccess]:
        """All loads and stores of the block, in order."""
        self.values = {}
        found: list[MemoryAccess] = []
        for place, node in enumerate(block.instructions):
            if isinstance(node, MachineInstruction):
                found += self._accesses(node, place)
            self._step(node, place)
        return found

    def may_meet(self, one: MemoryAccess, other: MemoryAccess) -> bool:
        """Whether the two may touch a common byte."""
        if one.is_constant or other.is_constant:
            return False
        if one.space and other.space and one.space != other.space:
            return False
        if one.place == other.place and one.space == other.space:
            return one.overlaps(other)
        if one.slot is not None or other.slot is not None:
            return self._slots_may_meet(one, other)
        is_apart = one.regions and other.regions and one.regions.isdisjoint(other.regions)
        noalias = self.function.noalias
        return not (is_apart and (one.regions <= noalias or other.regions <= noalias))

    def _slots_may_meet(self, one: MemoryAccess, other: MemoryAccess) -> bool:
        if one.slot is not None and other.slot is not None:
            return one.slot == other.slot
        slot = one.slot if one.slot is not None else other.slot
        return slot in self.pointers.escaped

    def _accesses(self, node: MachineInstruction, place: int) -> list[MemoryAccess]:
        facts = node.shape.facts
        found: list[MemoryAccess] = []
        for name in (*facts.loads, *facts.stores):
            operand = node.operands[name]
            if isinstance(operand, Address):
                found.append(self._access(node, place, name, operand, name in facts.stores))
        return found

    def _access(
        self, node: MachineInstruction, place: int, name: str, address: Address, is_store: bool
    ) -> MemoryAccess:
        kind = node.shape.by_name[name].kind
        base, start = self._relative(address)
        slot = address.base.number if isinstance(address.base, Slot) else None
        is_read_only = isinstance(address.base, Symbol | StackArgument)
        return MemoryAccess(
            place, is_store, kind.address.space if kind.address else "", base, start,
            max(1, kind.bits // 8), self.pointers.regions.get((node, name), frozenset()), slot,
            is_read_only and not is_store,
        )  # fmt: skip

    def _relative(self, address: Address) -> tuple[tuple[object, ...], int]:
        """What an address is relative to, and the known distance from there."""
        start = address.displacement
        base: object = address.base
        if address.base is not None and not isinstance(address.base, Slot | Symbol | StackArgument):
            value = self._value(address.base)
            base, start = value.origin, start + value.offset
        index: object = None
        if address.index is not None:
            value = self._value(address.index)
            index, start = (value.origin, address.scale), start + value.offset * address.scale
        return (base, index), start

    def _value(self, register: AnyRegister) -> SymbolicValue:
        key = keys(register)[0]
        known = self.values.get(key)
        return known if known is not None else SymbolicValue(("in", key, register.bits))

    def _step(self, node: MachineNode, place: int) -> None:
        """What the written registers hold after the node."""
        if isinstance(node, ParallelCopy):
            moved = [(target, self._value(source)) for target, source in node.moves]
            for target, value in moved:
                self._write(target, value)
            return
        derived = self._derived(node) if node.guard is None else None
        for register in accesses(node, self.machine.isa.registers).writes:
            key = keys(register)[0]
            unknown = SymbolicValue(("at", place, key))
            is_target = derived is not None and register == derived[0]
            self._write(register, derived[1] if derived is not None and is_target else unknown)

    def _write(self, register: AnyRegister, value: SymbolicValue) -> None:
        for key in keys(register):
            self.values[key] = value

    def _derived(self, node: MachineInstruction) -> tuple[AnyRegister, SymbolicValue] | None:
        """The register that gets another register's value plus a constant, and that value."""
        found = _sum(node.shape, self.machine.isa.pointer_bits)
        if found is None:
            return None
        target, source, constant = found
        register = _register(node.operands[target])
        operand = node.tied.get(source, node.operands[source])
        if isinstance(operand, Address):
            if operand.index is not None or not operand.registers():
                return None
            start, distance = self._value(operand.registers()[0]), operand.displacement
        else:
            start, distance = self._value(_register(operand)), 0
            number = node.operands[constant] if constant else None
            if isinstance(number, SlotOffset):
                return register, SymbolicValue(("slot", number.slot.number, 0))
            distance = number.value if isinstance(number, Immediate) else 0
        return register, SymbolicValue(start.origin, start.offset + distance)


def _register(operand: object) -> AnyRegister:
    if not isinstance(operand, VirtualRegister | Register):
        raise InternalError(f"{operand} is no register")
    return operand


def _sum(shape: Shape, bits: int) -> tuple[str, str, str] | None:
    """(destination, source, constant or "") when the shape computes destination = source + constant
    with `bits` bits: an addition, a move, or the address of a memory operand."""
    for assignment in shape.effects:
        target, expression = assignment.target, assignment.expression
        if not isinstance(target, EffectOperand) or assignment.is_store:
            continue
        if expression.type.total_bits != bits:
            return None
        if isinstance(expression, EffectOperand):
            kind = shape.by_name[expression.name].kind
            return (target.name, expression.name, "") if kind.is_register else None
        return _applied_sum(shape, target.name, expression)
    return None


def _applied_sum(shape: Shape, target: str, expression: object) -> tuple[str, str, str] | None:
    if not isinstance(expression, Apply):
        return None
    names = [a.name for a in expression.arguments if isinstance(a, EffectOperand)]
    if expression.effect is Effect.ADDRESS and len(names) == 1:
        return target, names[0], ""
    if expression.effect is not Effect.ADD or len(names) != 2:
        return None
    source, constant = names
    if not shape.by_name[source].kind.is_register:
        return None
    is_constant = shape.by_name[constant].kind.immediate is not None
    return (target, source, constant) if is_constant else None
