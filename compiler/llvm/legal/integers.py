"""Integer operations made of others: narrow ones in wider registers, minima by comparing, division
by multiplication back, bit counting by arithmetic."""

from __future__ import annotations

from compiler.llvm.ir import Constant, Instruction, Opcode, Predicate, Value
from compiler.llvm.legal.work import Work
from compiler.llvm.types import I1, I32, I64

P = Predicate

_SIGNED = frozenset(
    {Opcode.SDIV, Opcode.SREM, Opcode.ASHR}
)  # fmt: skip
_UNSIGNED = frozenset({Opcode.UDIV, Opcode.UREM, Opcode.LSHR})
_ANY = frozenset(
    {Opcode.ADD, Opcode.SUB, Opcode.MUL, Opcode.AND, Opcode.OR, Opcode.XOR, Opcode.SHL}
)
_CALLS = {
    "llvm.smin": True, "llvm.smax": True, "llvm.abs": True, "llvm.umin": False,
    "llvm.umax": False, "llvm.ctpop": False,
}  # fmt: skip


def widened(i: Instruction, w: Work) -> Value | None:
    """narrow integers in wider registers"""
    type = i.type
    if not type.is_int or type.bits not in (8, 16):
        return None
    if i.opcode in _SIGNED | _UNSIGNED | _ANY:
        is_signed = i.opcode in _SIGNED
        is_shift = i.opcode in (Opcode.SHL, Opcode.LSHR, Opcode.ASHR)
        a = w.resized(i.operands[0], 32, is_signed)
        b = w.resized(i.operands[1], 32, is_signed and not is_shift)
        return w.resized(w.binary(i.opcode, a, b), type.bits, is_signed)
    if i.opcode is Opcode.SELECT:
        chosen = [w.resized(operand, 32, is_signed=False) for operand in i.operands[1:]]
        return w.resized(w.select(i.operands[0], *chosen), type.bits, is_signed=False)
    if i.intrinsic in _CALLS:
        return _widened_call(i, w)
    return None


def _widened_call(i: Instruction, w: Work) -> Value:
    is_signed = _CALLS[i.intrinsic]
    numbers = [v for v in i.operands if v.type == i.type]
    wide = [w.resized(operand, 32, is_signed) for operand in numbers]
    others = [v for v in i.operands if v.type != i.type]
    result = w.call(i.intrinsic, wide[0].type, [*wide, *others])
    return w.resized(result, i.type.bits, is_signed)


def widened_conversion(i: Instruction, w: Work) -> Value | None:
    """conversion of narrow integers by way of wider ones"""
    source = i.operands[0].type if i.operands else I1
    if i.opcode in (Opcode.SITOFP, Opcode.UITOFP) and source.bits in (8, 16):
        is_signed = i.opcode is Opcode.SITOFP
        return w.cast(Opcode.SITOFP, w.resized(i.operands[0], 32, is_signed), i.type)
    if i.opcode in (Opcode.FPTOSI, Opcode.FPTOUI) and i.type.bits in (8, 16):
        wide = w.cast(Opcode.FPTOSI, i.operands[0], i.type.with_bits(32))
        return w.resized(wide, i.type.bits, is_signed=True)
    return None


def extension_in_steps(i: Instruction, w: Work) -> Value | None:
    """extension or truncation by way of another width"""
    if i.opcode not in (Opcode.ZEXT, Opcode.SEXT, Opcode.TRUNC) or i.type.bits == 1:
        return None
    value = i.operands[0]
    if value.type.bits == 1 or (i.type.is_vector and i.opcode is Opcode.TRUNC):
        return None
    low, high = sorted((value.type.bits, i.type.bits))
    if (low, high) == (8, 16) and not i.type.is_vector:
        return w.resized(w.resized(value, 32, i.opcode is Opcode.SEXT), i.type.bits, False)
    for middle in (16, 32):
        if low < middle < high:
            half = w.cast(i.opcode, value, value.type.with_bits(middle))
            return w.cast(i.opcode, half, i.type)
    return None


def extreme(i: Instruction, w: Work) -> Value | None:
    """minimum and maximum by comparing"""
    predicates = {
        "llvm.smin": P.SLT, "llvm.smax": P.SGT, "llvm.umin": P.ULT, "llvm.umax": P.UGT,
    }  # fmt: skip
    predicate = predicates.get(i.intrinsic)
    if predicate is None:
        return None
    a, b = i.operands
    return w.select(w.icmp(predicate, a, b), a, b)


def absolute(i: Instruction, w: Work) -> Value | None:
    """absolute value by the sign as a mask"""
    if i.intrinsic != "llvm.abs":
        return None
    x = i.operands[0]
    sign = w.binary(Opcode.ASHR, x, w.number(x.type, x.type.bits - 1))
    return w.binary(Opcode.SUB, w.binary(Opcode.XOR, x, sign), sign)


def remainder(i: Instruction, w: Work) -> Value | None:
    """remainder as what division leaves"""
    if i.opcode not in (Opcode.SREM, Opcode.UREM) or i.type.is_vector:
        return None
    a, b = i.operands
    quotient = w.binary(Opcode.SDIV if i.opcode is Opcode.SREM else Opcode.UDIV, a, b)
    return w.binary(Opcode.SUB, a, w.binary(Opcode.MUL, quotient, b))


def arithmetic_shift(i: Instruction, w: Work) -> Value | None:
    """arithmetic shift by way of a logical one"""
    if i.opcode is not Opcode.ASHR or not i.type.is_vector:
        return None
    x, count = i.operands
    sign = w.number(i.type, -1 << (i.type.bits - 1))
    moved = w.binary(Opcode.LSHR, sign, count)
    plain = w.binary(Opcode.LSHR, x, count)
    return w.binary(Opcode.SUB, w.binary(Opcode.XOR, plain, moved), moved)


def product(i: Instruction, w: Work) -> Value | None:
    """64-bit products of vectors from 32-bit halves"""
    if i.opcode is not Opcode.MUL or not i.type.is_vector or i.type.bits != 64:
        return None
    a, b = i.operands
    mask, half = w.number(i.type, (1 << 32) - 1), w.number(i.type, 32)

    def low(value: Value) -> Value:
        return w.binary(Opcode.AND, value, mask)

    def high(value: Value) -> Value:
        return w.binary(Opcode.AND, w.binary(Opcode.LSHR, value, half), mask)

    probe = Instruction(Opcode.MUL, i.type, (low(a), low(b)))
    probe.block = i.block
    is_covered = w.target.covers(probe)
    if not is_covered:
        probe.drop_operands()
        return None
    w.builder.add(probe)
    first = w.binary(Opcode.MUL, high(a), low(b))
    second = w.binary(Opcode.MUL, low(a), high(b))
    upper = w.binary(Opcode.SHL, w.binary(Opcode.ADD, first, second), half)
    return w.binary(Opcode.ADD, probe, upper)


def counted_in_words(i: Instruction, w: Work) -> Value | None:
    """counts that come in 32 bits"""
    names = ("llvm.ctpop", "llvm.ctlz", "llvm.cttz")
    if i.intrinsic not in names or i.type.bits != 64 or i.type.is_vector:
        return None
    count = w.call(i.intrinsic, i.type, i.operands)
    narrow = w.cast(Opcode.TRUNC, count, I32)
    if not (isinstance(count, Instruction) and w.target.is_left_to_users(count)):
        return None
    return w.cast(Opcode.ZEXT, narrow, i.type)


def shift_count(i: Instruction, w: Work) -> Value | None:
    """shift counts in 32 bits"""
    if i.opcode not in (Opcode.SHL, Opcode.LSHR, Opcode.ASHR) or i.type.scalar != I64:
        return None
    count = i.operands[1]
    if i.type.is_vector or isinstance(count, Constant):
        return None
    if isinstance(count, Instruction) and count.opcode is Opcode.ZEXT:
        return None
    narrow = w.cast(Opcode.ZEXT, w.cast(Opcode.TRUNC, count, I32), i.type)
    return w.binary(i.opcode, i.operands[0], narrow)


def population(i: Instruction, w: Work) -> Value | None:
    """counting ones in parallel"""
    if i.intrinsic != "llvm.ctpop" or i.type.bits not in (32, 64):
        return None
    x, type = i.operands[0], i.type
    ones = (1 << type.bits) - 1

    def n(value: int) -> Constant:
        return w.number(type, value)

    def shifted(value: Value, count: int) -> Value:
        return w.binary(Opcode.LSHR, value, n(count))

    fives, threes, fifteens = (n(ones // d * v) for d, v in ((3, 1), (15, 3), (255, 15)))
    x = w.binary(Opcode.SUB, x, w.binary(Opcode.AND, shifted(x, 1), fives))
    x = w.binary(
        Opcode.ADD, w.binary(Opcode.AND, x, threes), w.binary(Opcode.AND, shifted(x, 2), threes)
    )
    x = w.binary(Opcode.AND, w.binary(Opcode.ADD, x, shifted(x, 4)), fifteens)
    product_ = w.binary(Opcode.MUL, x, n(ones // 255))
    return shifted(product_, type.bits - 8)


def leading_zeros(i: Instruction, w: Work) -> Value | None:
    """counting leading zeros as the zeros left after smearing the highest one down"""
    if i.intrinsic != "llvm.ctlz":
        return None
    x, type = i.operands[0], i.type
    if type.bits < 32:
        wide = w.resized(x, 32, is_signed=False)
        count = w.call("llvm.ctlz", wide.type, (wide, w.number(I1, 0)))
        fewer = w.binary(Opcode.SUB, count, w.number(wide.type, 32 - type.bits))
        return w.resized(fewer, type.bits, is_signed=False)
    step = 1
    while step < type.bits:
        moved = w.binary(Opcode.LSHR, x, w.number(type, step))
        x = w.binary(Opcode.OR, x, moved)
        step *= 2
    return w.call("llvm.ctpop", type, (w.invert(x),))


def trailing_zeros(i: Instruction, w: Work) -> Value | None:
    """counting trailing zeros as the ones of what lies below the lowest one"""
    if i.intrinsic != "llvm.cttz":
        return None
    x, type = i.operands[0], i.type
    if type.bits < 32:
        wide = w.resized(x, 32, is_signed=False)
        marked = w.binary(Opcode.OR, wide, w.number(wide.type, 1 << type.bits))
        count = w.call("llvm.cttz", wide.type, (marked, w.number(I1, 0)))
        return w.resized(count, type.bits, is_signed=False)
    below = w.binary(Opcode.AND, w.invert(x), w.binary(Opcode.SUB, x, w.number(type, 1)))
    return w.call("llvm.ctpop", type, (below,))


def reversed_bits(i: Instruction, w: Work) -> Value | None:
    """reversing bits by swapping halves, quarters, ..."""
    if i.intrinsic not in ("llvm.bitreverse", "llvm.bswap") or i.type.bits not in (16, 32, 64):
        return None
    x, type = i.operands[0], i.type
    smallest = 1 if i.intrinsic == "llvm.bitreverse" else 8
    step = type.bits // 2
    ones = (1 << type.bits) - 1
    while step >= smallest:
        mask = w.number(type, ones // ((1 << step) + 1))
        count = w.number(type, step)
        up = w.binary(Opcode.SHL, w.binary(Opcode.AND, x, mask), count)
        down = w.binary(Opcode.AND, w.binary(Opcode.LSHR, x, count), mask)
        x = w.binary(Opcode.OR, up, down)
        step //= 2
    return x


def reversed_byte(i: Instruction, w: Work) -> Value | None:
    """a byte's bits reversed at the top of a word"""
    if i.intrinsic != "llvm.bitreverse" or i.type.bits != 8:
        return None
    wide = w.resized(i.operands[0], 32, is_signed=False)
    flipped = w.call("llvm.bitreverse", wide.type, (wide,))
    return w.resized(w.binary(Opcode.LSHR, flipped, w.number(wide.type, 24)), 8, is_signed=False)


def funnel(i: Instruction, w: Work) -> Value | None:
    """funnel shift as two shifts"""
    if i.intrinsic not in ("llvm.fshl", "llvm.fshr") or i.type.bits & (i.type.bits - 1):
        return None
    high, low, count = i.operands
    bits = i.type.bits
    mask = w.number(i.type, bits - 1)
    count = w.binary(Opcode.AND, count, mask)
    # bits - 1 - count, and one more: never a shift by the whole width.
    other = w.binary(Opcode.XOR, count, mask)
    one = w.number(i.type, 1)
    if i.intrinsic == "llvm.fshl":
        a = w.binary(Opcode.SHL, high, count)
        b = w.binary(Opcode.LSHR, w.binary(Opcode.LSHR, low, one), other)
    else:
        a = w.binary(Opcode.SHL, w.binary(Opcode.SHL, high, one), other)
        b = w.binary(Opcode.LSHR, low, count)
    return w.binary(Opcode.OR, a, b)


def unsigned_division(i: Instruction, w: Work) -> Value | None:
    """unsigned division by way of 64 bits"""
    if i.opcode not in (Opcode.UDIV, Opcode.UREM) or i.type != I32:
        return None
    a, b = (w.resized(operand, 64, is_signed=False) for operand in i.operands)
    opcode = Opcode.SDIV if i.opcode is Opcode.UDIV else Opcode.SREM
    return w.resized(w.binary(opcode, a, b), 32, is_signed=False)
