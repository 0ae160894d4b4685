"""Vectors that are too wide, lanes that cannot be reached directly, shuffles a machine lacks, and,
when nothing else helps, lane by lane."""

from __future__ import annotations

from compiler.llvm.callees import type_suffix
from compiler.llvm.ir import Constant, Instruction, Opcode, Predicate, Value
from compiler.llvm.legal.bounds import upper_bound
from compiler.llvm.legal.work import Work, concatenated, fast_math, splatted
from compiler.llvm.types import I64, Kind, Type
from compiler.target import Target

P = Predicate

ELEMENTWISE = frozenset(
    {
        Opcode.ADD, Opcode.SUB, Opcode.MUL, Opcode.SDIV, Opcode.UDIV, Opcode.SREM, Opcode.UREM,
        Opcode.AND, Opcode.OR, Opcode.XOR, Opcode.SHL, Opcode.LSHR, Opcode.ASHR, Opcode.FADD,
        Opcode.FSUB, Opcode.FMUL, Opcode.FDIV, Opcode.FREM, Opcode.FNEG, Opcode.ICMP, Opcode.FCMP,
        Opcode.SELECT, Opcode.ZEXT, Opcode.SEXT, Opcode.TRUNC, Opcode.FPEXT, Opcode.FPTRUNC,
        Opcode.SITOFP, Opcode.UITOFP, Opcode.FPTOSI, Opcode.FPTOUI, Opcode.FREEZE,
    }
)  # fmt: skip
_REDUCTIONS = {
    "llvm.vector.reduce.add": Opcode.ADD, "llvm.vector.reduce.mul": Opcode.MUL,
    "llvm.vector.reduce.and": Opcode.AND, "llvm.vector.reduce.or": Opcode.OR,
    "llvm.vector.reduce.xor": Opcode.XOR, "llvm.vector.reduce.fadd": Opcode.FADD,
    "llvm.vector.reduce.fmul": Opcode.FMUL,
}  # fmt: skip
_REDUCTION_CALLS = {
    "llvm.vector.reduce.smin": "llvm.smin", "llvm.vector.reduce.smax": "llvm.smax",
    "llvm.vector.reduce.umin": "llvm.umin", "llvm.vector.reduce.umax": "llvm.umax",
    "llvm.vector.reduce.fminimum": "llvm.minimum", "llvm.vector.reduce.fmaximum": "llvm.maximum",
    "llvm.vector.reduce.fmin": "llvm.minnum", "llvm.vector.reduce.fmax": "llvm.maxnum",
}  # fmt: skip

_REGISTER_BITS = 128
"""Below this, vectors are handled inside one register; lanes beyond their own do not matter."""


def is_elementwise(i: Instruction) -> bool:
    """Whether lane n of the result depends on lane n of the operands only."""
    if i.opcode in ELEMENTWISE:
        return True
    is_call = i.opcode is Opcode.CALL and not i.has_side_effects
    return is_call and not i.intrinsic.startswith(("llvm.vector.", "llvm.nvvm."))


def again(i: Instruction, operands: list[Value], lanes: int, w: Work) -> Value:
    """The same elementwise operation on vectors of `lanes` lanes (0: scalars)."""
    type = i.type.with_lanes(lanes)
    callee = i.callee
    if i.opcode is Opcode.CALL:
        suffixes = [type_suffix(type)]
        if i.intrinsic in ("llvm.fptosi.sat", "llvm.fptoui.sat"):
            suffixes.append(type_suffix(operands[0].type))
        callee = ".".join([i.intrinsic, *suffixes])
    return w.builder.add(
        Instruction(i.opcode, type, operands, predicate=i.predicate, flags=i.flags, callee=callee),
        i.opcode.value if i.opcode is not Opcode.CALL else i.intrinsic.rpartition(".")[2],
    )


def is_too_wide(value: Value, target: Target) -> bool:
    """Whether a vector does not fit into a register; conditions are as wide as what was
    compared."""
    type = value.type
    if not type.is_vector:
        return False
    return _lane_bits(value, _MOST_STEPS) * type.lanes > target.vector_bits


_MOST_STEPS = 4


def _lane_bits(value: Value, steps: int) -> int:
    if value.type.bits > 1 or value.type.is_pointer:
        return 64 if value.type.is_pointer else value.type.bits
    if not isinstance(value, Instruction) or steps == 0 or value.opcode is Opcode.LOAD:
        return 8
    return max((_lane_bits(operand, steps - 1) for operand in value.operands), default=8)


def is_left_to_halves(i: Instruction, target: Target) -> bool:
    """Whether an instruction only puts together what its users take apart again."""
    if _is_part_of_splats(i):
        return True
    if not is_too_wide(i, target):
        return False
    if i.opcode is Opcode.INSERTELEMENT:
        return constant_lane(i.operands[2]) is not None
    return concatenated(i) is not None or splatted(i) is not None


def _is_part_of_splats(i: Instruction) -> bool:
    """Whether an insertion at lane 0 is only there to be repeated in every lane."""
    if i.opcode is not Opcode.INSERTELEMENT or constant_lane(i.operands[2]) != 0 or not i.users:
        return False
    return all(
        user.opcode is Opcode.SHUFFLEVECTOR and splatted(user) is i.operands[1] for user in i.users
    )


def narrowed_in_steps(i: Instruction, w: Work) -> Value | None:
    """wide lanes narrowed in steps, so that halves stay at half a register"""
    if i.opcode not in (Opcode.TRUNC, Opcode.ZEXT) or i.type.is_bool or not i.type.is_vector:
        return None
    value = i.operands[0]
    is_narrowing = i.opcode is Opcode.TRUNC or value.type.is_bool
    if not is_narrowing or not is_too_wide(value, w.target) or i.type.bits >= 32:
        return None
    middle = i.type.with_bits(2 * i.type.bits)
    if value.type.bits == middle.bits or is_too_wide(Constant(middle, None), w.target):
        return None
    return w.cast(Opcode.TRUNC, w.cast(i.opcode, value, middle), i.type)


def split(i: Instruction, w: Work) -> Value | None:
    """vectors wider than a register in two halves"""
    wide = [value for value in (i, *i.operands) if is_too_wide(value, w.target)]
    if not wide or wide[0].type.lanes % 2:
        return None
    if i.opcode is Opcode.PHI:
        return _split_phi(i, w)
    if i.opcode is Opcode.LOAD:
        return w.concat(*(_load_half(i, w, is_high) for is_high in (False, True)))
    if i.opcode is Opcode.STORE:
        _store_half(i, w, False)
        return _store_half(i, w, True)
    if i.opcode is Opcode.SHUFFLEVECTOR and not is_too_wide(i, w.target):
        return _part(i, i.mask, w)
    if i.opcode is Opcode.SHUFFLEVECTOR:
        half = len(i.mask) // 2
        return w.concat(_part(i, i.mask[:half], w), _part(i, i.mask[half:], w))
    is_cast = i.opcode is Opcode.BITCAST and i.operands[0].type.lanes % 2 == 0
    if not i.type.is_vector or not (is_elementwise(i) or is_cast):
        return None
    halves = [_half_again(i, w, is_high) for is_high in (False, True)]
    return w.concat(*halves)


def _half_again(i: Instruction, w: Work, is_high: bool) -> Value:
    operands = [w.half(v, is_high) if v.type.is_vector else v for v in i.operands]
    return again(i, operands, i.type.lanes // 2, w)


def _half_type(type: Type) -> Type:
    return type.with_lanes(type.lanes // 2)


def _half_address(address: Value, type: Type, w: Work, is_high: bool) -> Value:
    if not is_high:
        return address
    return w.builder.gep(type.scalar, address, Constant(I64, type.lanes // 2))


def _load_half(i: Instruction, w: Work, is_high: bool) -> Value:
    address = _half_address(i.operands[0], i.type, w, is_high)
    return w.builder.load(_half_type(i.type), address, i.type.scalar.size_bytes)


def _store_half(i: Instruction, w: Work, is_high: bool) -> Value:
    value, address = i.operands
    place = _half_address(address, value.type, w, is_high)
    return w.builder.store(w.half(value, is_high), place, value.type.scalar.size_bytes)


def _split_phi(i: Instruction, w: Work) -> Value:
    assert i.block is not None
    half = _half_type(i.type)
    parts = []
    for _ in range(2):
        parts.append(w.builder.add(Instruction(Opcode.PHI, half, origins=i.origins), i.name))
    for value, source in zip(list(i.operands), list(i.blocks)):
        there = w.place(source, source.terminator)
        for part, is_high in zip(parts, (False, True)):
            part.add_incoming(there.half(value, is_high), source)
    after = next(x for x in i.block.instructions if x.opcode is not Opcode.PHI)
    return w.place(i.block, after).concat(parts[0], parts[1])


def per_lane(i: Instruction, w: Work) -> Value | None:
    """lane by lane"""
    if not i.type.is_vector or not is_elementwise(i) or i.type.is_bool:
        return None
    lanes = []
    for lane in range(i.type.lanes):
        operands = [w.lane(v, lane) if v.type.is_vector else v for v in i.operands]
        lanes.append(again(i, operands, 0, w))
    return w.gather(lanes)


def truncation(i: Instruction, w: Work) -> Value | None:
    """truncation of vectors by choosing the low parts"""
    if i.opcode is not Opcode.TRUNC or not i.type.is_vector or i.type.is_bool:
        return None
    value = i.operands[0]
    ratio = value.type.bits // i.type.bits
    parts = w.bitcast(value, i.type.with_lanes(value.type.lanes * ratio))
    chosen = tuple(lane * ratio for lane in range(i.type.lanes))
    found = w.shuffle(parts, None, chosen)
    return found if _covers(found, w) else _packed(i, value, w)


def _packed(i: Instruction, value: Value, w: Work) -> Value | None:
    """Two vectors packed into one; what is cut off is cleared first, so saturating changes
    nothing."""
    if i.type.bits * 2 != value.type.bits:
        if i.type.bits == 8 and value.type.bits == 32:
            half = w.cast(Opcode.TRUNC, value, value.type.with_bits(16))
            return w.cast(Opcode.TRUNC, half, i.type)
        return None
    most = (1 << i.type.bits) - 1
    is_small = upper_bound(value) < 1 << (i.type.bits - 1)
    kept = value if is_small else w.binary(Opcode.AND, value, w.number(value.type, most))
    if value.type.bits * value.type.lanes > _REGISTER_BITS:
        parts = [w.half(kept, False), w.half(kept, True)]
    else:
        parts = [kept, kept]
    narrow = [w.cast(Opcode.TRUNC, part, i.type.with_lanes(part.type.lanes)) for part in parts]
    pair = w.concat(narrow[0], narrow[1])
    if not _covers(pair, w):
        return None
    if pair.type == i.type:
        return pair
    return w.shuffle(pair, None, tuple(range(i.type.lanes)))


def reduction(i: Instruction, w: Work) -> Value | None:
    """reduction by halving"""
    is_known = i.intrinsic in _REDUCTIONS or i.intrinsic in _REDUCTION_CALLS
    if i.opcode is not Opcode.CALL or not is_known:
        return None
    vector = i.operands[-1]
    opcode = _REDUCTIONS.get(i.intrinsic)
    if opcode in (Opcode.FADD, Opcode.FMUL):
        return _float_reduction(i, opcode, vector, w)
    return _in_order(i, opcode, None, _folded(i, opcode, vector, w), w)


def _folded(i: Instruction, opcode: Opcode | None, vector: Value, w: Work) -> Value:
    """All lanes of a vector combined, pairwise: halves while it is wider than 128 bits, then lanes
    shuffled down inside the register."""
    while vector.type.lanes % 2 == 0 and vector.type.lanes * vector.type.bits > _REGISTER_BITS:
        vector = _combine(i, opcode, w.half(vector, False), w.half(vector, True), w)
    lanes = step = vector.type.lanes
    if lanes & (lanes - 1):
        return vector
    while step > 1:
        step //= 2
        mask = tuple(range(step, 2 * step)) + (-1,) * (lanes - step)
        vector = _combine(i, opcode, vector, w.shuffle(vector, None, mask), w)
    return w.lane(vector, 0) if lanes else vector


def _combine(i: Instruction, opcode: Opcode | None, a: Value, b: Value, w: Work) -> Value:
    if opcode is not None:
        return w.binary(opcode, a, b, fast_math(i))
    return w.call(_REDUCTION_CALLS[i.intrinsic], a.type, (a, b))


def _float_reduction(i: Instruction, opcode: Opcode, vector: Value, w: Work) -> Value:
    start = i.operands[0]
    if "reassoc" not in i.flags and "fast" not in i.flags:
        return _in_order(i, opcode, start, vector, w)
    return _in_order(i, opcode, start, _folded(i, opcode, vector, w), w)


def _in_order(
    i: Instruction, opcode: Opcode | None, start: Value | None, vector: Value, w: Work
) -> Value:
    lanes = [w.lane(vector, n) for n in range(vector.type.lanes)] if vector.type.lanes else [vector]
    total = start
    for lane in lanes:
        total = lane if total is None else _combine(i, opcode, total, lane, w)
    assert total is not None
    return total


# Lanes


def constant_lane(value: Value) -> int | None:
    found = value.value if isinstance(value, Constant) else None
    return found if isinstance(found, int) else None


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
    if _is_wide(vector, w) and is_too_wide(vector, w.target) and lanes % 2 == 0 and lanes > 2:
        half = lanes // 2
        return w.lane(w.half(vector, lane >= half), lane % half)
    if lane == 0:
        return _through_integers(i, w)
    if vector.type.bits * lanes < _REGISTER_BITS:
        return w.builder.extract(_padded(vector, w), index)
    if _is_wide(vector, w) and lanes % 2 == 0:
        half = lanes // 2
        return w.lane(w.half(vector, lane >= half), lane % half) if half > 1 else None
    moved = w.shuffle(vector, None, (lane, *(-1,) * (lanes - 1)))
    if _covers(moved, w):
        return w.builder.extract(moved, Constant(I64, 0))
    return _shifted_lane(i, w) or _through_integers(i, w)


def _is_wide(vector: Value, w: Work) -> bool:
    is_long = vector.type.bits * vector.type.lanes > _REGISTER_BITS
    return is_long or is_too_wide(vector, w.target)


def _padded(vector: Value, w: Work) -> Value:
    """The vector with as many lanes of no matter behind it."""
    lanes = vector.type.lanes
    return w.shuffle(vector, None, (*range(lanes), *(-1,) * lanes))


def _covers(value: Value, w: Work) -> bool:
    return isinstance(value, Instruction) and w.target.covers(value)


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
        return w.builder.extract(_padded(vector, w), i.operands[1])
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
    if i.type.bits * lanes > _REGISTER_BITS and lanes % 2 == 0:
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
    if i.type.bits * lanes < _REGISTER_BITS:
        wide = w.builder.insert(_padded(vector, w), scalar, index)
        return w.shuffle(wide, None, tuple(range(lanes)))
    if lane == 0 and isinstance(vector, Constant) and vector.value is None:
        return None
    first = w.builder.insert(Constant(i.type, None), scalar, Constant(I64, 0))
    mask = tuple(lanes if n == lane else n for n in range(lanes))
    direct = w.shuffle(vector, first, mask)
    if _covers(direct, w):
        return direct
    everywhere = w.shuffle(first, None, (0,) * lanes)
    blended = w.shuffle(
        vector, everywhere, tuple(n + lanes if n == lane else n for n in range(lanes))
    )
    return blended if _covers(blended, w) else _as_integers(i, w)


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
        padded = w.builder.insert(_padded(vector, w), scalar, index)
        return w.shuffle(padded, None, tuple(range(i.type.lanes)))
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


# Shuffles


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
    if parts is None or i.type.bits * len(i.mask) > _REGISTER_BITS:
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
    if not is_half or count * i.type.bits != _REGISTER_BITS or i.type.bits >= 64:
        return None
    pair = w.bitcast(source, Type(Kind.FLOAT, 64, 2))
    return w.bitcast(w.lane(pair, 1), i.type)


def _by_halves(i: Instruction, w: Work) -> Value | None:
    """Each half of a wide result by itself."""
    lanes = len(i.mask)
    if i.type.bits * lanes <= _REGISTER_BITS or lanes % 2 or lanes < 4:
        return None
    half = lanes // 2
    parts = [_part(i, i.mask[:half], w), _part(i, i.mask[half:], w)]
    return w.concat(parts[0], parts[1])


def _part(i: Instruction, mask: tuple[int, ...], w: Work) -> Value:
    """A narrow result out of wide sources: from one or two of their halves, else lane by lane."""
    count = i.operands[0].type.lanes
    is_narrow = count * i.type.bits <= _REGISTER_BITS and not is_too_wide(i.operands[0], w.target)
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


def memory_by_lanes(i: Instruction, w: Work) -> Value | None:
    """vectors in memory lane by lane"""
    if i.opcode is Opcode.LOAD and i.type.is_vector:
        lanes: list[Value] = []
        for lane in range(i.type.lanes):
            address = w.builder.gep(i.type.scalar, i.operands[0], Constant(I64, lane))
            lanes.append(w.builder.load(i.type.scalar, address))
        return w.gather(lanes)
    if i.opcode is Opcode.STORE and i.operands[0].type.is_vector:
        value, start = i.operands
        stored: Value | None = None
        for lane in range(value.type.lanes):
            place = w.builder.gep(value.type.scalar, start, Constant(I64, lane))
            stored = w.builder.store(w.lane(value, lane), place)
        return stored
    return None
