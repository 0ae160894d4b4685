"""Rules for lanes, phis and freezes."""

from __future__ import annotations

from compiler.llvm.builder import Builder
from compiler.llvm.ir import Constant, Instruction, Opcode, Value, splat
from compiler.llvm.rules.match import int_of, operands_of


def extract(i: Instruction, b: Builder) -> Value | None:
    """The lane that was just inserted, or that a splat put everywhere."""
    vector, number = i.operands
    lane = int_of(number)
    if not isinstance(vector, Instruction) or lane is None:
        return None
    if vector.opcode is Opcode.INSERTELEMENT:
        at = int_of(vector.operands[2])
        if at == lane:
            return vector.operands[1]
        return None if at is None else b.extract(vector.operands[0], number, i.name)
    if vector.opcode is Opcode.SHUFFLEVECTOR and 0 <= lane < len(vector.mask):
        return _extract_of_shuffle(i, vector, lane, b)
    return None


def _extract_of_shuffle(i: Instruction, vector: Instruction, lane: int, b: Builder) -> Value | None:
    source = vector.mask[lane]
    lanes = vector.operands[0].type.lanes
    if source < 0:
        return Constant(i.type, None)
    origin = vector.operands[source // lanes]
    if not isinstance(origin, Instruction) or origin.opcode is not Opcode.INSERTELEMENT:
        return None  # a wide shuffle's lane costs the same as the source's
    return b.extract(origin, Constant(i.operands[1].type, source % lanes), i.name)


def shuffle(i: Instruction, _b: Builder) -> Value | None:
    """A shuffle that keeps every lane in its place; a constant in every lane."""
    lanes = i.operands[0].type.lanes
    first = operands_of(i.operands[0], Opcode.INSERTELEMENT)
    if first is not None and set(i.mask) == {int_of(first[2])}:
        repeated = first[1]
        if isinstance(repeated, Constant) and isinstance(repeated.value, (int, float)):
            return splat(i.type, repeated.value)
    if len(i.mask) != lanes:
        return None
    if all(lane in (-1, place) for place, lane in enumerate(i.mask)):
        return i.operands[0]
    if all(lane in (-1, place + lanes) for place, lane in enumerate(i.mask)):
        return i.operands[1]
    return None


def insert(i: Instruction, _b: Builder) -> Value | None:
    """Putting a lane back where it came from."""
    vector, scalar, number = i.operands
    source = operands_of(scalar, Opcode.EXTRACTELEMENT)
    if source is not None and source[0] is vector and int_of(source[1]) == int_of(number):
        return vector if int_of(number) is not None else None
    return None


def phi(i: Instruction, _b: Builder) -> Value | None:
    """A phi that only ever takes one value."""
    others = [v for v in i.operands if v is not i]
    if not others:
        return None
    first = others[0]
    if all(v is first for v in others):
        return first
    if isinstance(first, Constant) and all(
        isinstance(v, Constant) and repr(v.value) == repr(first.value) for v in others
    ):
        return first
    return None


def freeze(i: Instruction, _b: Builder) -> Value | None:
    """A constant that is not poison needs no freeze."""
    value = i.operands[0]
    return value if isinstance(value, Constant) and value.value is not None else None
