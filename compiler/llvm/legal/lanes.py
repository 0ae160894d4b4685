"""Lanes that cannot be reached directly: by way of lane 0, of halves, of the word around them."""

from __future__ import annotations

from compiler.llvm.ir import Constant, Instruction, Opcode, Predicate, Value
from compiler.llvm.legal.widths import (
    REGISTER_BITS,
    constant_lane,
    covers,
    is_too_wide,
    is_wide,
    padded,
)
from compiler.llvm.legal.work import Work
from compiler.llvm.types import I64, Type

P = Predicate


def extraction(i: Instruction, w: Work) -> Value | None:
    """a lane by way of lane 0, or of a half"""
    if i.opcode is not Opcode.EXTRACTELEMENT:
        return None
    vector, index = i.operands
    lanes, lane = vector.type.lanes, constant_lane(index)
    if lane is None:
        return _dynamic_extraction(i, w)
    known = w.lane(vector, lane)
    is_new = isinstance(known, Instruction) and known.operands[:1] == [vector]
    if not is_new:
        return known
    if is_wide(vector, w) and is_too_wide(vector, w.target) and lanes % 2 == 0 and lanes > 2:
        half = lanes // 2
        return w.lane(w.half(vector, lane >= half), lane % half)
    if lane == 0:
        return _through_integers(i, w)
    if vector.type.bits * lanes < REGISTER_BITS:
        return w.builder.extract(padded(vector, w), index)
    if is_wide(vector, w) and lanes % 2 == 0:
        half = lanes // 2
        return w.lane(w.half(vector, lane >= half), lane % half) if half > 1 else None
    moved = w.shuffle(vector, None, (lane, *(-1,) * (lanes - 1)))
    if covers(moved, w):
        return w.builder.extract(moved, Constant(I64, 0))
    return _shifted_lane(i, w) or _through_integers(i, w)


def _through_integers(i: Instruction, w: Work) -> Value | None:
    vector, index = i.operands
    if not i.type.is_float:
        return _shifted_lane(i, w)
    bits = w.bitcast(vector, vector.type.as_int())
    return w.bitcast(w.builder.extract(bits, index), i.type)


def _shifted_lane(i: Instruction, w: Work) -> Value | None:
    """A narrow lane out of the wider one around it."""
    vector, lane = i.operands[0], constant_lane(i.operands[1])
    bits = i.type.bits
    if lane is None or bits >= 32 or vector.type.is_float:
        return None
    per_word = 32 // bits
    if vector.type.lanes % per_word:
        return w.builder.extract(padded(vector, w), i.operands[1])
    if vector.type.lanes == per_word:
        word = w.bitcast(vector, Type(i.type.kind, 32))
    else:
        words = w.bitcast(
            vector, vector.type.with_bits(32).with_lanes(vector.type.lanes // per_word)
        )
        word = w.lane(words, lane // per_word)
    amount = w.number(word.type, lane % per_word * bits)
    if lane % per_word:
        word = w.binary(Opcode.LSHR, word, amount)
    return w.resized(word, bits, is_signed=False)


def _dynamic_extraction(i: Instruction, w: Work) -> Value | None:
    """Every lane in turn, chosen where its number is the one asked for."""
    vector, index = i.operands
    found = w.lane(vector, 0)
    for lane in range(1, vector.type.lanes):
        is_it = w.icmp(P.EQ, index, w.number(index.type, lane))
        found = w.select(is_it, w.lane(vector, lane), found)
    return found


def insertion(i: Instruction, w: Work) -> Value | None:
    """a lane replaced by way of a half, or by a shuffle with a vector of it"""
    if i.opcode is not Opcode.INSERTELEMENT:
        return None
    vector, scalar, index = i.operands
    lanes, lane = i.type.lanes, constant_lane(index)
    if lane is None:
        return _dynamic_insertion(i, w)
    if i.type.bits * lanes > REGISTER_BITS and lanes % 2 == 0:
        half = lanes // 2
        parts = [w.half(vector, is_high) for is_high in (False, True)]
        place = lane // half
        if half == 1:
            parts[place] = scalar
        else:
            parts[place] = w.builder.insert(parts[place], scalar, Constant(I64, lane % half))
        return w.concat(parts[0], parts[1])
    if i.type.bits < 32:
        return _narrow_insertion(i, w)
    if i.type.bits * lanes < REGISTER_BITS:
        wide = w.builder.insert(padded(vector, w), scalar, index)
        return w.shuffle(wide, None, tuple(range(lanes)))
    if lane == 0 and isinstance(vector, Constant) and vector.value is None:
        return None
    first = w.builder.insert(Constant(i.type, None), scalar, Constant(I64, 0))
    mask = tuple(lanes if n == lane else n for n in range(lanes))
    direct = w.shuffle(vector, first, mask)
    if covers(direct, w):
        return direct
    everywhere = w.shuffle(first, None, (0,) * lanes)
    blended = w.shuffle(
        vector, everywhere, tuple(n + lanes if n == lane else n for n in range(lanes))
    )
    return blended if covers(blended, w) else _as_integers(i, w)


def _as_integers(i: Instruction, w: Work) -> Value | None:
    vector, scalar, index = i.operands
    if not i.type.is_float:
        return None
    integer = i.type.as_int()
    inserted = w.builder.insert(
        w.bitcast(vector, integer), w.bitcast(scalar, integer.scalar), index
    )
    return w.bitcast(inserted, i.type)


def _narrow_insertion(i: Instruction, w: Work) -> Value | None:
    """A narrow lane put into the wider one around it."""
    vector, scalar, index = i.operands
    lane, bits = constant_lane(index), i.type.bits
    per_word = 32 // bits
    if lane is None:
        return None
    if i.type.is_float:
        return _as_integers(i, w)
    if i.type.lanes % per_word:
        longer = w.builder.insert(padded(vector, w), scalar, index)
        return w.shuffle(longer, None, tuple(range(i.type.lanes)))
    words_type = i.type.with_bits(32).with_lanes(i.type.lanes // per_word)
    words = w.bitcast(vector, words_type)
    is_one = not words_type.lanes
    word = words if is_one else w.lane(words, lane // per_word)
    amount = lane % per_word * bits
    wide = w.resized(scalar, 32, is_signed=False)
    if amount:
        wide = w.binary(Opcode.SHL, wide, w.number(wide.type, amount))
    hole = ~(((1 << bits) - 1) << amount)
    is_empty = isinstance(vector, Constant) and vector.value is None
    kept = word if is_empty else w.binary(Opcode.AND, word, w.number(word.type, hole))
    merged = wide if is_empty else w.binary(Opcode.OR, kept, wide)
    if is_one:
        return w.bitcast(merged, i.type)
    return w.bitcast(w.builder.insert(words, merged, Constant(I64, lane // per_word)), i.type)


def _dynamic_insertion(i: Instruction, w: Work) -> Value:
    vector, scalar, index = i.operands
    lanes = []
    for lane in range(i.type.lanes):
        is_it = w.icmp(P.EQ, index, w.number(index.type, lane))
        lanes.append(w.select(is_it, scalar, w.lane(vector, lane)))
    return w.gather(lanes)
