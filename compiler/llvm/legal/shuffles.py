"""Shuffles that a machine lacks, in steps that it has."""

from __future__ import annotations

from compiler.llvm.ir import Constant, Instruction, Opcode, Value
from compiler.llvm.legal.widths import REGISTER_BITS, is_too_wide
from compiler.llvm.legal.work import Work, concatenated
from compiler.llvm.types import I64, Kind, Type


def shuffle(i: Instruction, w: Work) -> Value | None:
    """a shuffle in steps that there are"""
    if i.opcode is not Opcode.SHUFFLEVECTOR:
        return None
    for attempt in (_splat_again, _smaller, _joined, _upper_half, _by_halves, _two_steps):
        found = attempt(i, w)
        if found is not None:
            return found
    return _by_lanes(i, w)


def _splat_again(i: Instruction, w: Work) -> Value | None:
    """One lane repeated is that lane splatted."""
    wanted = {lane for lane in i.mask if lane >= 0}
    if len(wanted) != 1:
        return None
    lane = wanted.pop()
    count = i.operands[0].type.lanes
    source = i.operands[lane // count]
    scalar = w.lane(source, lane % count)
    if not isinstance(scalar, Constant) and _is_splat(i):
        return _narrow_splat(i, scalar, w)
    return w.builder.splat(scalar, len(i.mask))


def _narrow_splat(i: Instruction, scalar: Value, w: Work) -> Value | None:
    """A narrow lane repeated in a word by multiplication, and the word in every wider lane."""
    bits, lanes = i.type.bits, len(i.mask)
    if bits >= 32 or lanes * bits % 32:
        return None
    if scalar.type.is_float:
        integer = w.builder.splat(w.bitcast(scalar, scalar.type.as_int()), lanes)
        return w.bitcast(integer, i.type)
    wide = w.resized(scalar, 32, is_signed=False)
    ones = sum(1 << place for place in range(0, 32, bits))
    word = w.binary(Opcode.MUL, wide, w.number(wide.type, ones))
    count = lanes * bits // 32
    return w.bitcast(w.builder.splat(word, count) if count > 1 else word, i.type)


def _is_splat(i: Instruction) -> bool:
    first = i.operands[0]
    is_insert = isinstance(first, Instruction) and first.opcode is Opcode.INSERTELEMENT
    return is_insert and not set(i.mask) - {0, -1}


def _sources(i: Instruction) -> list[int]:
    """Which of the two sources the mask uses."""
    count = i.operands[0].type.lanes
    return sorted({lane // count for lane in i.mask if lane >= 0})


def _smaller(i: Instruction, w: Work) -> Value | None:
    """A shuffle of one source that only used the second operand is turned round."""
    count = i.operands[0].type.lanes
    if _sources(i) != [1]:
        return None
    mask = tuple(lane - count if lane >= 0 else -1 for lane in i.mask)
    return w.shuffle(i.operands[1], None, mask)


def _joined(i: Instruction, w: Work) -> Value | None:
    """Two short vectors one behind the other, as the two lanes of a vector of doubles or floats."""
    parts = concatenated(i)
    if parts is None or i.type.bits * len(i.mask) > REGISTER_BITS:
        return None
    bits = parts[0].type.bits * parts[0].type.lanes
    if bits not in (32, 64) or parts[0].type.bits == bits:
        return None
    scalar = Type(Kind.FLOAT, bits)
    return w.bitcast(w.gather([w.bitcast(part, scalar) for part in parts]), i.type)


def _upper_half(i: Instruction, w: Work) -> Value | None:
    """The upper half of a register, as the upper of two doubles."""
    source = i.operands[0]
    count = source.type.lanes
    is_half = i.mask == tuple(range(count // 2, count))
    if not is_half or count * i.type.bits != REGISTER_BITS or i.type.bits >= 64:
        return None
    pair = w.bitcast(source, Type(Kind.FLOAT, 64, 2))
    return w.bitcast(w.lane(pair, 1), i.type)


def _by_halves(i: Instruction, w: Work) -> Value | None:
    """Each half of a wide result by itself."""
    lanes = len(i.mask)
    if i.type.bits * lanes <= REGISTER_BITS or lanes % 2 or lanes < 4:
        return None
    half = lanes // 2
    parts = [part(i, i.mask[:half], w), part(i, i.mask[half:], w)]
    return w.concat(parts[0], parts[1])


def part(i: Instruction, mask: tuple[int, ...], w: Work) -> Value:
    """A narrow result out of wide sources: from one or two of their halves, else lane by lane."""
    count = i.operands[0].type.lanes
    is_narrow = count * i.type.bits <= REGISTER_BITS and not is_too_wide(i.operands[0], w.target)
    if is_narrow or count % 2:
        return w.shuffle(i.operands[0], i.operands[1], mask)
    half = count // 2
    wanted = sorted({lane // half for lane in mask if lane >= 0})
    if len(wanted) > 2:
        return w.gather([_lane_of(i, lane, w) for lane in mask])
    if half == 1 or len(mask) == 1:
        return w.gather([_lane_of(i, lane, w) for lane in mask])
    pieces = [w.half(i.operands[piece // 2], bool(piece % 2)) for piece in wanted]
    if not pieces:
        return Constant(i.type.with_lanes(len(mask)), None)
    place = {piece: n for n, piece in enumerate(wanted)}
    inner = tuple(-1 if lane < 0 else place[lane // half] * half + lane % half for lane in mask)
    return w.shuffle(pieces[0], pieces[1] if len(pieces) > 1 else None, inner)


def _two_steps(i: Instruction, w: Work) -> Value | None:
    """Both sources put in order by themselves, then blended."""
    count, lanes = i.operands[0].type.lanes, len(i.mask)
    if count != lanes or _sources(i) != [0, 1]:
        return None
    first = tuple(lane if 0 <= lane < count else -1 for lane in i.mask)
    second = tuple(lane - count if lane >= count else -1 for lane in i.mask)
    identity = tuple(range(count))
    if first == tuple(n if lane >= 0 else -1 for n, lane in zip(identity, first)) and second == (
        tuple(n if lane >= 0 else -1 for n, lane in zip(identity, second))
    ):
        return None
    a = w.shuffle(i.operands[0], None, first)
    b = w.shuffle(i.operands[1], None, second)
    blend = tuple(
        n + count if lane >= count else n if lane >= 0 else -1 for n, lane in enumerate(i.mask)
    )
    return w.shuffle(a, b, blend)


def _lane_of(i: Instruction, lane: int, w: Work) -> Value:
    count = i.operands[0].type.lanes
    if lane < 0:
        return Constant(i.type.scalar, None)
    source = i.operands[lane // count]
    return w.lane(source, lane % count) if count else source


def _by_lanes(i: Instruction, w: Work) -> Value:
    found: Value = Constant(i.type, None)
    for place, lane in enumerate(i.mask):
        if lane >= 0:
            found = w.builder.insert(found, _lane_of(i, lane, w), Constant(I64, place))
    return found
