"""Conversions that a machine lacks, each with the one rounding that LLVM asks for."""

from __future__ import annotations

from compiler.llvm.callees import type_suffix
from compiler.llvm.ir import Constant, Instruction, Opcode, Predicate, Value
from compiler.llvm.legal.work import Work, fast_math
from compiler.llvm.types import BF16, F16, F32, F64, I64, Kind, Type

P = Predicate


def unsigned_to_float(i: Instruction, w: Work) -> Value | None:
    """unsigned integers to floating point"""
    if i.opcode is not Opcode.UITOFP:
        return None
    x = i.operands[0]
    if x.type.bits == 32 and not x.type.is_vector:
        return w.cast(Opcode.SITOFP, w.resized(x, 64, is_signed=False), i.type)
    if x.type.bits == 32:
        return _by_halves(x, i.type, w)
    if x.type.bits == 64 and not x.type.is_vector:
        return _by_halving(x, i.type, w)
    return None


def _by_halves(x: Value, type: Type, w: Work) -> Value:
    """Both 16-bit halves convert exactly, the upper one scales exactly: one rounding, the sum's."""
    shift = w.number(x.type, 16)
    high = w.cast(Opcode.SITOFP, w.binary(Opcode.LSHR, x, shift), type)
    low = w.cast(Opcode.SITOFP, w.binary(Opcode.AND, x, w.number(x.type, 0xFFFF)), type)
    scaled = w.binary(Opcode.FMUL, high, w.number(type, 65536.0))
    return w.binary(Opcode.FADD, scaled, low)


def _by_halving(x: Value, type: Type, w: Work) -> Value:
    """Large numbers are halved, keeping a lost bit sticky, converted, and doubled (exactly)."""
    one = w.number(x.type, 1)
    halved = w.binary(Opcode.OR, w.binary(Opcode.LSHR, x, one), w.binary(Opcode.AND, x, one))
    half = w.cast(Opcode.SITOFP, halved, type)
    doubled = w.binary(Opcode.FADD, half, half)
    plain = w.cast(Opcode.SITOFP, x, type)
    return w.select(w.icmp(P.SLT, x, w.number(x.type, 0)), doubled, plain)


def float_to_unsigned(i: Instruction, w: Work) -> Value | None:
    """floating point to unsigned integers"""
    if i.opcode is not Opcode.FPTOUI:
        return None
    x = i.operands[0]
    if i.type.bits < 64 and not i.type.is_vector:
        wide = w.cast(Opcode.FPTOSI, x, i.type.with_bits(64))
        return w.resized(wide, i.type.bits, is_signed=False)
    border = w.number(x.type, 2.0 ** (i.type.bits - 1))
    is_small = w.fcmp(P.OLT, x, border)
    small = w.cast(Opcode.FPTOSI, x, i.type)
    large = w.cast(Opcode.FPTOSI, w.binary(Opcode.FSUB, x, border), i.type)
    top = w.number(i.type, -1 << (i.type.bits - 1))
    return w.select(is_small, small, w.binary(Opcode.XOR, large, top))


def saturating(i: Instruction, w: Work) -> Value | None:
    """conversions to integers that saturate"""
    if i.intrinsic not in ("llvm.fptosi.sat", "llvm.fptoui.sat"):
        return None
    x, bits = i.operands[0], i.type.bits
    is_signed = i.intrinsic == "llvm.fptosi.sat"
    low = -(2 ** (bits - 1)) if is_signed else 0
    high = 2 ** (bits - 1) - 1 if is_signed else 2**bits - 1
    plain = w.cast(Opcode.FPTOSI if is_signed else Opcode.FPTOUI, x, i.type)
    above = w.fcmp(P.OGE, x, w.number(x.type, float(high + 1)))
    below = w.fcmp(P.OLT, x, w.number(x.type, float(low)))
    result = w.select(above, w.number(i.type, high), plain)
    result = w.select(below, w.number(i.type, low), result)
    return w.select(w.fcmp(P.UNO, x, x), w.number(i.type, 0), result)


# Half and bfloat

_ARITHMETIC = (Opcode.FADD, Opcode.FSUB, Opcode.FMUL, Opcode.FDIV)
_UNARY_CALLS = (
    "llvm.sqrt", "llvm.floor", "llvm.ceil", "llvm.trunc", "llvm.roundeven", "llvm.round",
    "llvm.rint", "llvm.nearbyint", "llvm.minimum", "llvm.maximum", "llvm.minnum", "llvm.maxnum",
)  # fmt: skip


def half_arithmetic(i: Instruction, w: Work) -> Value | None:
    """half precision through single: 24 bits hold any sum, product, quotient or root well enough
    that rounding twice is rounding once"""
    if not i.type.is_float or i.type.bits != 16:
        return None
    wide = F32.with_lanes(i.type.lanes)
    if i.opcode in _ARITHMETIC or i.opcode is Opcode.FREM:
        a, b = (w.cast(Opcode.FPEXT, operand, wide) for operand in i.operands)
        return w.cast(Opcode.FPTRUNC, w.binary(i.opcode, a, b, fast_math(i)), i.type)
    if i.intrinsic in _UNARY_CALLS:
        operands = [w.cast(Opcode.FPEXT, operand, wide) for operand in i.operands]
        return w.cast(Opcode.FPTRUNC, w.call(i.intrinsic, wide, operands), i.type)
    if i.intrinsic == "llvm.fma":
        return _half_fma(i, w)
    if i.opcode in (Opcode.SITOFP, Opcode.UITOFP):
        return _integer_to_half(i, w)
    return None


def _half_fma(i: Instruction, w: Work) -> Value:
    """The product is exact in double; the sum, rounded to odd, rounds once more without harm
    (Boldo and Melquiond, "Emulation of FMA and Correctly Rounded Sums", 2008)."""
    wide = F64.with_lanes(i.type.lanes)
    a, b, c = (w.cast(Opcode.FPEXT, operand, wide) for operand in i.operands)
    product = w.binary(Opcode.FMUL, a, b)
    total = w.binary(Opcode.FADD, product, c)
    back = w.binary(Opcode.FSUB, total, product)
    error = w.binary(
        Opcode.FADD,
        w.binary(Opcode.FSUB, product, w.binary(Opcode.FSUB, total, back)),
        w.binary(Opcode.FSUB, c, back),
    )
    return w.cast(Opcode.FPTRUNC, _to_odd(total, error, w), i.type)


def _to_odd(value: Value, error: Value, w: Work) -> Value:
    """`value` moved to the neighbour with an odd last bit if `error` says that it is not exact."""
    integer = value.type.as_int()
    bits = w.bitcast(value, integer)
    is_inexact = w.fcmp(P.ONE, error, w.number(error.type, 0.0))
    magnitude = w.binary(Opcode.XOR, w.bitcast(error, integer), bits)
    is_inward = w.icmp(P.SLT, magnitude, w.number(integer, 0))
    step = w.select(is_inward, w.number(integer, -1), w.number(integer, 0))
    down = w.binary(Opcode.ADD, bits, step)
    odd = w.binary(Opcode.OR, down, w.number(integer, 1))
    return w.bitcast(w.select(is_inexact, odd, bits), value.type)


def _integer_to_half(i: Instruction, w: Work) -> Value:
    """Integers of 16 bits or less are exact in single precision; wider ones round to odd first, so
    that the second rounding sees what the first one lost."""
    x = i.operands[0]
    if x.type.bits <= 16:
        single = w.cast(i.opcode, x, F32.with_lanes(i.type.lanes))
        return w.cast(Opcode.FPTRUNC, single, i.type)
    wide = F64.with_lanes(i.type.lanes)
    if x.type.bits <= 32:
        return w.cast(Opcode.FPTRUNC, w.cast(i.opcode, x, wide), i.type)
    # Beyond 2^53 a sticky bit stands for everything below: the result is far coarser than that.
    low = w.binary(Opcode.AND, x, w.number(x.type, 0x7FF))
    some = w.icmp(P.NE, low, w.number(x.type, 0))
    sticky = w.select(some, w.number(x.type, 0x800), w.number(x.type, 0))
    coarse = w.binary(Opcode.OR, w.binary(Opcode.AND, x, w.number(x.type, ~0x7FF)), sticky)
    small_limit = w.number(x.type, 1 << 52)
    is_signed = i.opcode is Opcode.SITOFP
    magnitude = w.call("llvm.abs", x.type, (x, w.number(Type(Kind.INT, 1), 0))) if is_signed else x
    is_small = w.icmp(P.ULT, magnitude, small_limit)
    return w.cast(Opcode.FPTRUNC, w.cast(i.opcode, w.select(is_small, x, coarse), wide), i.type)


def half_comparison(i: Instruction, w: Work) -> Value | None:
    """comparison of half precision in single"""
    if i.opcode is not Opcode.FCMP or i.operands[0].type.bits != 16:
        return None
    wide = F32.with_lanes(i.operands[0].type.lanes)
    a, b = (w.cast(Opcode.FPEXT, operand, wide) for operand in i.operands)
    assert i.predicate is not None
    return w.fcmp(i.predicate, a, b)


def half_to_integer(i: Instruction, w: Work) -> Value | None:
    """half precision to integers through single"""
    is_conversion = i.opcode in (Opcode.FPTOSI, Opcode.FPTOUI) or i.intrinsic in (
        "llvm.fptosi.sat", "llvm.fptoui.sat",
    )  # fmt: skip
    if not is_conversion or i.operands[0].type.bits != 16:
        return None
    wide = w.cast(Opcode.FPEXT, i.operands[0], F32.with_lanes(i.operands[0].type.lanes))
    if i.opcode is Opcode.CALL:
        callee = f"{i.intrinsic}.{type_suffix(i.type)}.{type_suffix(wide.type)}"
        return w.builder.call_exact(callee, i.type, (wide,))
    return w.cast(i.opcode, wide, i.type)


def half_bits(i: Instruction, w: Work) -> Value | None:
    """half precision moved and chosen as integers"""
    if i.opcode is Opcode.SELECT and i.type.is_float and i.type.bits == 16:
        integer = i.type.as_int()
        a, b = (w.bitcast(operand, integer) for operand in i.operands[1:])
        return w.bitcast(w.select(i.operands[0], a, b), i.type)
    if i.opcode is Opcode.LOAD and i.type.is_float and i.type.bits == 16:
        integer = i.type.as_int()
        return w.bitcast(w.builder.load(integer, i.operands[0], i.align), i.type)
    if i.opcode is Opcode.STORE and i.operands[0].type.is_float and i.operands[0].type.bits == 16:
        bits = w.bitcast(i.operands[0], i.operands[0].type.as_int())
        return w.builder.store(bits, i.operands[1], i.align)
    return None


def half_as_word(i: Instruction, w: Work) -> Value | None:
    """16 bits between register classes inside a 32-bit word"""
    if i.opcode is not Opcode.BITCAST or i.type.bits != 16 or i.type.is_vector:
        return None
    value = i.operands[0]
    word = Type(Kind.INT, 32)
    if i.type.is_float:
        wide = w.resized(value, 32, is_signed=False)
        return w.lane(w.bitcast(wide, i.type.with_lanes(2)), 0)
    if value.type.is_float:
        # The upper half does not matter, but a poison lane would make the whole word poison.
        pair = w.builder.insert(Constant(value.type.with_lanes(2), None), value, Constant(I64, 0))
        settled = w.builder.add(Instruction(Opcode.FREEZE, pair.type, (pair,)))
        return w.resized(w.bitcast(settled, word), 16, is_signed=False)
    return None


def wider_float(i: Instruction, w: Work) -> Value | None:
    """to wider floating point by bits and by steps"""
    if i.opcode is not Opcode.FPEXT:
        return None
    x = i.operands[0]
    if i.type.bits == 64 and x.type.bits == 16:
        single = w.cast(Opcode.FPEXT, x, F32.with_lanes(i.type.lanes))
        return w.cast(Opcode.FPEXT, single, i.type)
    if x.type.kind is Kind.BFLOAT:
        bits = w.resized(w.bitcast(x, x.type.as_int()), 32, is_signed=False)
        raised = w.binary(Opcode.SHL, bits, w.number(bits.type, 16))
        return w.bitcast(raised, i.type)
    if x.type.scalar == F16 and i.type.bits == 32:
        return _half_to_single(x, i.type, w)
    return None


def _half_to_single(x: Value, type: Type, w: Work) -> Value:
    """Moves the fields to their places and rebiases the exponent by a multiplication, which also
    normalises subnormals; infinities and NaNs get the largest exponent back."""
    bits = w.resized(w.bitcast(x, x.type.as_int()), 32, is_signed=False)

    def n(value: int) -> Value:
        return w.number(bits.type, value)

    magnitude = w.binary(Opcode.SHL, w.binary(Opcode.AND, bits, n(0x7FFF)), n(13))
    sign = w.binary(Opcode.SHL, w.binary(Opcode.AND, bits, n(0x8000)), n(16))
    scaled = w.binary(Opcode.FMUL, w.bitcast(magnitude, type), w.number(type, 2.0**112))
    is_special = w.icmp(P.SGE, magnitude, n(0x7C00 << 13))
    special = w.binary(Opcode.OR, magnitude, n(0x7F800000))
    chosen = w.select(is_special, special, w.bitcast(scaled, bits.type))
    return w.bitcast(w.binary(Opcode.OR, chosen, sign), type)


def narrower_float(i: Instruction, w: Work) -> Value | None:
    """to narrower floating point by bits and by steps"""
    if i.opcode is not Opcode.FPTRUNC or i.type.bits != 16:
        return None
    x = i.operands[0]
    if x.type.bits == 64:
        return w.cast(Opcode.FPTRUNC, _single_to_odd(x, w), i.type)
    if i.type.scalar == BF16:
        return _single_to_bfloat(x, i.type, w)
    return _single_to_half(x, i.type, w)


def _single_to_odd(x: Value, w: Work) -> Value:
    """A double as the single whose last bit says whether something was lost."""
    single = w.cast(Opcode.FPTRUNC, x, F32.with_lanes(x.type.lanes))
    back = w.cast(Opcode.FPEXT, single, x.type)
    size, size_back = (w.call("llvm.fabs", x.type, (v,)) for v in (x, back))
    bits = w.bitcast(single, single.type.as_int())
    is_outward = w.fcmp(P.OGT, size_back, size)
    step = w.select(is_outward, w.number(bits.type, -1), w.number(bits.type, 0))
    odd = w.binary(Opcode.OR, w.binary(Opcode.ADD, bits, step), w.number(bits.type, 1))
    is_inexact = w.fcmp(P.ONE, back, x)
    return w.bitcast(w.select(is_inexact, odd, bits), single.type)


def _single_to_bfloat(x: Value, type: Type, w: Work) -> Value:
    """Rounds to nearest, ties to even, by adding just under half and the last kept bit."""
    bits = w.bitcast(x, x.type.as_int())

    def n(value: int) -> Value:
        return w.number(bits.type, value)

    last = w.binary(Opcode.AND, w.binary(Opcode.LSHR, bits, n(16)), n(1))
    nudged = w.binary(Opcode.ADD, bits, w.binary(Opcode.ADD, last, n(0x7FFF)))
    quiet = w.binary(Opcode.OR, bits, n(0x400000))
    chosen = w.select(w.fcmp(P.UNO, x, x), quiet, nudged)
    narrow = w.resized(w.binary(Opcode.LSHR, chosen, n(16)), 16, is_signed=False)
    return w.bitcast(narrow, type)


def _single_to_half(x: Value, type: Type, w: Work) -> Value:
    """Rounding by adding a power of two whose last place is the half's; the exponent is rebiased by
    integers, and what is too large becomes infinity."""
    bits = w.bitcast(x, x.type.as_int())

    def n(value: int) -> Value:
        return w.number(bits.type, value)

    sign = w.binary(Opcode.AND, w.binary(Opcode.LSHR, bits, n(16)), n(0x8000))
    magnitude = w.binary(Opcode.AND, bits, n(0x7FFFFFFF))
    size = w.bitcast(magnitude, x.type)
    # Below 2^-14 the result is subnormal: adding 0.5 leaves multiples of 2^-24.
    small = w.bitcast(w.binary(Opcode.FADD, size, w.number(x.type, 0.5)), bits.type)
    small = w.binary(Opcode.SUB, small, n(0x3F000000))
    last = w.binary(Opcode.AND, w.binary(Opcode.LSHR, magnitude, n(13)), n(1))
    nudged = w.binary(Opcode.ADD, w.binary(Opcode.ADD, magnitude, last), n(0xFFF - (112 << 23)))
    normal = w.binary(Opcode.LSHR, nudged, n(13))
    finite = w.select(w.icmp(P.SLT, magnitude, n(113 << 23)), small, normal)
    too_large = w.fcmp(P.OGE, size, w.number(x.type, 65520.0))
    found = w.select(too_large, n(0x7C00), finite)
    payload = w.binary(Opcode.AND, w.binary(Opcode.LSHR, magnitude, n(13)), n(0x3FF))
    quiet = w.binary(Opcode.OR, payload, n(0x7E00))
    found = w.select(w.fcmp(P.UNO, x, x), quiet, found)
    narrow = w.resized(w.binary(Opcode.OR, found, sign), 16, is_signed=False)
    return w.bitcast(narrow, type)
