"""Accumulators of vectorised reductions: what they start from, and how they come together at the
end."""

from __future__ import annotations

from compiler.llvm.builder import Builder
from compiler.llvm.ir import Constant, Instruction, Opcode, Value, splat
from compiler.llvm.rules.match import int_constant, is_float
from compiler.llvm.types import I64, Type
from compiler.llvm.vectorizer.shape import Kind, Reduction
from compiler.target import Target

SMALLEST_HALF_BITS = 128  # below this, halves are not registers of their own: lanes move inside one

_OPCODES = {
    Kind.FADD: Opcode.FADD, Kind.FMUL: Opcode.FMUL, Kind.ADD: Opcode.ADD, Kind.MUL: Opcode.MUL,
    Kind.AND: Opcode.AND, Kind.OR: Opcode.OR, Kind.XOR: Opcode.XOR,
}  # fmt: skip


def neutral(kind: Kind, type: Type, start: Value) -> Constant | None:
    """The constant that changes nothing when combined; None where the start value itself serves.

    A sum that starts from +0 can never become -0, so +0 serves as well as -0 there and needs no
    constant from memory."""
    if kind.is_idempotent:
        return None
    if kind is Kind.FADD:
        return splat(type, 0.0 if is_float(start, 0.0) else -0.0)
    if kind is Kind.FMUL:
        return splat(type, 1.0)
    return int_constant(type, 1 if kind is Kind.MUL else 0)


def first_accumulator(builder: Builder, reduction: Reduction, lanes: int) -> Value:
    """What every lane of every accumulator starts from."""
    type = reduction.phi.type.with_lanes(lanes)
    constant = neutral(reduction.kind, type, reduction.start)
    return builder.splat(reduction.start, lanes) if constant is None else constant


def combined(builder: Builder, kind: Kind, a: Value, b: Value) -> Instruction:
    """One step of the reduction."""
    opcode = _OPCODES.get(kind)
    if opcode is not None:
        return builder.binary(opcode, a, b, "partial")
    return builder.call(f"llvm.{kind.value}", a.type, (a, b), "partial")


def final_value(
    builder: Builder, reduction: Reduction, parts: list[Value], target: Target
) -> Value:
    """One scalar from all accumulators, in a fixed tree, and from what the loop started with."""
    kind = reduction.kind
    while len(parts) > 1:
        pairs = [parts[n : n + 2] for n in range(0, len(parts), 2)]
        parts = [combined(builder, kind, *p) if len(p) == 2 else p[0] for p in pairs]
    total = _across(builder, kind, parts[0], target)
    if _is_included(reduction):
        return total
    return combined(builder, kind, reduction.start, total)


def _is_included(reduction: Reduction) -> bool:
    """Whether the accumulators started from the start value, or it changes nothing."""
    constant = neutral(reduction.kind, reduction.phi.type, reduction.start)
    if constant is None:
        return True
    start = reduction.start
    return isinstance(start, Constant) and repr(start.value) == repr(constant.value)


def _across(builder: Builder, kind: Kind, vector: Value, target: Target) -> Value:
    """Combines the lanes: halves of the register first, then pairs inside it."""
    lanes = vector.type.lanes
    while lanes > 1 and vector.type.bits * lanes // 2 >= SMALLEST_HALF_BITS:
        lanes //= 2
        low = builder.shuffle(vector, vector, tuple(range(lanes)), "low")
        high = builder.shuffle(vector, vector, tuple(range(lanes, 2 * lanes)), "high")
        vector = combined(builder, kind, low, high)
    size = lanes
    while size > 1:
        size //= 2
        other = builder.shuffle(vector, vector, _turned(vector.type, size, target), "turned")
        vector = combined(builder, kind, vector, other)
    return builder.extract(vector, Constant(I64, 0), "total")


def _turned(type: Type, size: int, target: Target) -> tuple[int, ...]:
    """The lanes that exchange groups of `size`. When two groups make the whole vector, that is also
    a window over the vector twice in a row; the spelling that the machine has is taken."""
    exchanged = tuple(lane ^ size for lane in range(type.lanes))
    window = tuple(lane + size for lane in range(type.lanes))
    if size * 2 != type.lanes or _has_shuffle(type, exchanged, target):
        return exchanged
    return window if _has_shuffle(type, window, target) else exchanged


def _has_shuffle(type: Type, mask: tuple[int, ...], target: Target) -> bool:
    both = Value(type)
    return target.covers(Instruction(Opcode.SHUFFLEVECTOR, type, (both, both), mask=mask))
