"""What a legalisation rule works with: a builder in front of the operation, the target, and what is
known of values made by other rules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from compiler.llvm.builder import Builder
from compiler.llvm.ir import (
    BasicBlock,
    Constant,
    Instruction,
    Opcode,
    Predicate,
    Scalar,
    Value,
    splat,
)
from compiler.llvm.types import I1, I64, Kind, Type
from compiler.target import Target

FAST_MATH = frozenset({"fast", "reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn"})


@dataclass(slots=True)
class Facts:
    """Values known to be all ones or zero in every lane (`masks`), or 0 or 1 (`bools`)."""

    masks: set[Value] = field(default_factory=set)
    bools: set[Value] = field(default_factory=set)


@dataclass(slots=True)
class Work:
    """One rewrite in progress. New instructions go in front of `at` and inherit its origins."""

    target: Target
    builder: Builder
    at: Instruction
    facts: Facts

    def number(self, type: Type, value: Scalar) -> Constant:
        """A constant with `value` in every lane."""
        return splat(type, float(value) if type.is_float else value)

    def binary(self, opcode: Opcode, a: Value, b: Value, flags: Iterable[str] = ()) -> Value:
        return self.builder.binary(opcode, a, b, flags=flags)

    def cast(self, opcode: Opcode, value: Value, type: Type) -> Value:
        return value if value.type == type else self.builder.cast(opcode, value, type)

    def bitcast(self, value: Value, type: Type) -> Value:
        return self.cast(Opcode.BITCAST, value, type)

    def resized(self, value: Value, bits: int, is_signed: bool) -> Value:
        """An integer (or integers) in another width."""
        type = value.type.with_bits(bits)
        if bits == value.type.bits:
            return value
        if isinstance(value, Constant) and value.value is not None:
            return Constant(type, _resized(value, is_signed))
        if bits < value.type.bits:
            return self.cast(Opcode.TRUNC, value, type)
        return self.cast(Opcode.SEXT if is_signed else Opcode.ZEXT, value, type)

    def icmp(self, predicate: Predicate, a: Value, b: Value) -> Instruction:
        return self.builder.icmp(predicate, a, b)

    def fcmp(self, predicate: Predicate, a: Value, b: Value) -> Instruction:
        return self.builder.fcmp(predicate, a, b)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        return self.builder.select(condition, a, b)

    def call(self, base: str, type: Type, operands: Iterable[Value]) -> Value:
        return self.builder.call(base, type, operands)

    def invert(self, value: Value) -> Value:
        """Every bit the other way round."""
        inverse = self.binary(Opcode.XOR, value, self.number(value.type, -1))
        if value in self.facts.masks:
            self.facts.masks.add(inverse)
        return inverse

    def lane(self, value: Value, lane: int) -> Value:
        """One lane of a vector."""
        if isinstance(value, Constant) and isinstance(value.value, tuple):
            return Constant(value.type.scalar, value.value[lane])
        if isinstance(value, Constant):
            return Constant(value.type.scalar, value.value)
        return _known_lane(value, lane) or self.builder.extract(value, Constant(I64, lane))

    def gather(self, lanes: list[Value]) -> Value:
        """A vector of these lanes."""
        if len(lanes) == 1:
            return lanes[0]
        type = lanes[0].type.with_lanes(len(lanes))
        found: Value = Constant(type, None)
        for index, lane in enumerate(lanes):
            found = self.builder.insert(found, lane, Constant(I64, index))
        return found

    def shuffle(self, a: Value, b: Value | None, mask: tuple[int, ...]) -> Value:
        other = b if b is not None else Constant(a.type, None)
        return self.builder.shuffle(a, other, mask)

    def half(self, value: Value, is_high: bool) -> Value:
        """The lower or upper lanes of a vector."""
        count = value.type.lanes // 2
        first = count if is_high else 0
        if isinstance(value, Constant):
            lanes = value.value[first : first + count] if isinstance(value.value, tuple) else None
            type = value.type.with_lanes(count)
            return Constant(type, lanes if count > 1 or lanes is None else lanes[0])
        if count == 1:
            return self.lane(value, first)
        parts = concatenated(value)
        if parts is not None:
            return parts[1 if is_high else 0]
        scalar = splatted(value)
        if scalar is not None:
            return self.builder.splat(scalar, count)
        lane = _lane_number(value)
        if isinstance(value, Instruction) and lane is not None:
            rest = self.half(value.operands[0], is_high)
            is_here = first <= lane < first + count
            place = Constant(I64, lane - first)
            return self.builder.insert(rest, value.operands[1], place) if is_here else rest
        return self.shuffle(value, None, tuple(range(first, first + count)))

    def concat(self, low: Value, high: Value) -> Value:
        """Two vectors (or scalars) as one."""
        if not low.type.lanes:
            return self.gather([low, high])
        return self.shuffle(low, high, tuple(range(2 * low.type.lanes)))

    # Booleans as integers

    def mask(self, condition: Value, bits: int) -> Value:
        """The condition as integers of `bits` bits a lane: all ones where it holds, else 0."""
        type = Type(Kind.INT, bits, condition.type.lanes)
        if isinstance(condition, Constant):
            return Constant(type, _negated(condition))
        known = self.known_mask(condition)
        if known is None:
            known = self.builder.cast(
                Opcode.SEXT, condition, type.with_bits(_compared_bits(condition) or bits)
            )
            self.facts.masks.add(known)
        found = self.resized(known, bits, is_signed=True)
        self.facts.masks.add(found)
        return found

    def known_mask(self, condition: Value) -> Value | None:
        """The mask that a condition made by `test` looks at."""
        if not isinstance(condition, Instruction) or condition.predicate is not Predicate.SLT:
            return None
        tested = condition.operands[0]
        return tested if tested in self.facts.masks else None

    def test(self, mask: Value) -> Value:
        """The condition that a mask stands for."""
        self.facts.masks.add(mask)
        return self.icmp(Predicate.SLT, mask, self.number(mask.type, 0))

    def bool_bits(self, condition: Value, bits: int = 32) -> Value:
        """A scalar condition as the integer 0 or 1."""
        type = Type(Kind.INT, bits)
        if isinstance(condition, Constant):
            return Constant(type, int(bool(condition.value)))
        if isinstance(condition, Instruction) and condition.predicate is Predicate.NE:
            tested = condition.operands[0]
            if tested in self.facts.bools:
                found = self.resized(tested, bits, is_signed=False)
                self.facts.bools.add(found)
                return found
        found = self.cast(Opcode.ZEXT, condition, type)
        self.facts.bools.add(found)
        return found

    def test_bool(self, value: Value) -> Value:
        """The condition that an integer 0 or 1 stands for."""
        self.facts.bools.add(value)
        return self.icmp(Predicate.NE, value, self.number(value.type, 0))

    def place(self, block: BasicBlock, before: Instruction | None) -> Work:
        """The same work somewhere else."""
        builder = Builder(self.builder.function, block)
        builder.at(block, before)
        builder.origins = self.builder.origins
        return Work(self.target, builder, self.at, self.facts)


def concatenated(value: Value) -> tuple[Value, Value] | None:
    """The two vectors that a shuffle puts one behind the other."""
    if not isinstance(value, Instruction) or value.opcode is not Opcode.SHUFFLEVECTOR:
        return None
    a, b = value.operands
    is_concat = value.mask == tuple(range(2 * a.type.lanes))
    return (a, b) if is_concat else None


def splatted(value: Value) -> Value | None:
    """The scalar that a shuffle repeats in every lane."""
    if not isinstance(value, Instruction) or value.opcode is not Opcode.SHUFFLEVECTOR:
        return None
    first = value.operands[0]
    if set(value.mask) - {0, -1} or not isinstance(first, Instruction):
        return None
    return first.operands[1] if _lane_number(first) == 0 else None


def _lane_number(insert: Value) -> int | None:
    """The constant lane that an insertelement replaces."""
    if not isinstance(insert, Instruction) or insert.opcode is not Opcode.INSERTELEMENT:
        return None
    lane = insert.operands[2]
    return lane.value if isinstance(lane, Constant) and isinstance(lane.value, int) else None


def _known_lane(value: Value, lane: int) -> Value | None:
    """The scalar that was put into a lane, or the lane where a concatenation has it from."""
    scalar = splatted(value)
    if scalar is not None:
        return scalar
    parts = concatenated(value)
    if parts is not None:
        count = parts[0].type.lanes
        part = parts[lane // count]
        known = _known_lane(part, lane % count)
        return known
    while isinstance(value, Instruction) and value.opcode is Opcode.INSERTELEMENT:
        place = _lane_number(value)
        if place is None:
            return None
        if place == lane:
            return value.operands[1]
        value = value.operands[0]
    return None


def is_true(value: Value) -> bool:
    """Whether a value is the constant true (in every lane)."""
    if not isinstance(value, Constant) or value.value is None:
        return False
    lanes = value.value if isinstance(value.value, tuple) else (value.value,)
    return all(bool(lane) for lane in lanes)


def fast_math(instruction: Instruction) -> frozenset[str]:
    """The fast-math flags to hand on to what replaces an instruction."""
    return instruction.flags & FAST_MATH


def _compared_bits(condition: Value) -> int:
    """The width of what a comparison compares, which is the width its mask has for free."""
    if isinstance(condition, Instruction) and condition.predicate is not None:
        type = condition.operands[0].type
        return 64 if type.is_pointer else type.bits if type != I1 else 0
    return 0


def _negated(condition: Constant) -> int | tuple[int, ...] | None:
    if isinstance(condition.value, tuple):
        return tuple(-int(bool(lane)) for lane in condition.value)
    return None if condition.value is None else -int(bool(condition.value))


def _resized(constant: Constant, is_signed: bool) -> int | tuple[int, ...]:
    bits = constant.type.bits

    def one(value: Scalar) -> int:
        pattern = int(value) & ((1 << bits) - 1)
        return pattern - (1 << bits) if is_signed and pattern >> (bits - 1) else pattern

    if isinstance(constant.value, tuple):
        return tuple(one(lane) for lane in constant.value)
    assert constant.value is not None
    return one(constant.value)
