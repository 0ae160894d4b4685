"""Vectors that are too wide, and, when nothing else helps, operations lane by lane."""

from __future__ import annotations

from compiler.llvm.callees import type_suffix
from compiler.llvm.ir import Constant, Instruction, Opcode, Value
from compiler.llvm.legal.bounds import upper_bound
from compiler.llvm.legal.shuffles import part
from compiler.llvm.legal.widths import REGISTER_BITS, covers, is_too_wide
from compiler.llvm.legal.work import Work
from compiler.llvm.types import I64, Type

ELEMENTWISE = frozenset(
    {
        Opcode.ADD, Opcode.SUB, Opcode.MUL, Opcode.SDIV, Opcode.UDIV, Opcode.SREM, Opcode.UREM,
        Opcode.AND, Opcode.OR, Opcode.XOR, Opcode.SHL, Opcode.LSHR, Opcode.ASHR, Opcode.FADD,
        Opcode.FSUB, Opcode.FMUL, Opcode.FDIV, Opcode.FREM, Opcode.FNEG, Opcode.ICMP, Opcode.FCMP,
        Opcode.SELECT, Opcode.ZEXT, Opcode.SEXT, Opcode.TRUNC, Opcode.FPEXT, Opcode.FPTRUNC,
        Opcode.SITOFP, Opcode.UITOFP, Opcode.FPTOSI, Opcode.FPTOUI, Opcode.FREEZE,
    }
)  # fmt: skip


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
        return part(i, i.mask, w)
    if i.opcode is Opcode.SHUFFLEVECTOR:
        half = len(i.mask) // 2
        return w.concat(part(i, i.mask[:half], w), part(i, i.mask[half:], w))
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
    narrow = _half_type(i.type)
    parts = []
    for _ in range(2):
        parts.append(w.builder.add(Instruction(Opcode.PHI, narrow, origins=i.origins), i.name))
    for value, source in zip(list(i.operands), list(i.blocks)):
        there = w.place(source, source.terminator)
        for half, is_high in zip(parts, (False, True)):
            half.add_incoming(there.half(value, is_high), source)
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
    return found if covers(found, w) else _packed(i, value, w)


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
    if value.type.bits * value.type.lanes > REGISTER_BITS:
        parts = [w.half(kept, False), w.half(kept, True)]
    else:
        parts = [kept, kept]
    narrow = [w.cast(Opcode.TRUNC, part, i.type.with_lanes(part.type.lanes)) for part in parts]
    pair = w.concat(narrow[0], narrow[1])
    if not covers(pair, w):
        return None
    if pair.type == i.type:
        return pair
    return w.shuffle(pair, None, tuple(range(i.type.lanes)))


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
