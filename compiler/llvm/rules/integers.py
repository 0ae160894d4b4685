"""Rules for integer arithmetic, comparisons and casts (all exact modulo the width)."""

from __future__ import annotations

from compiler.llvm.analysis.loops import negated, swapped
from compiler.llvm.builder import Builder
from compiler.llvm.ir import Constant, Instruction, Opcode, Predicate, Value, splat
from compiler.llvm.rules.match import (
    int_constant,
    int_of,
    is_opcode,
    operands_of,
    power_of_two,
    zero_of,
)

COMMUTATIVE = frozenset(
    {Opcode.ADD, Opcode.MUL, Opcode.AND, Opcode.OR, Opcode.XOR, Opcode.FADD, Opcode.FMUL}
)


def constant_to_the_right(i: Instruction, _b: Builder) -> Value | None:
    """Puts a commutative operation's constant second, in place."""
    first, second = i.operands[:2]
    if not isinstance(first, Constant) or isinstance(second, Constant):
        return None
    i.set_operand(0, second)
    i.set_operand(1, first)
    return i


def add(i: Instruction, b: Builder) -> Value | None:
    x, y = i.operands
    constant = int_of(y)
    if constant == 0:
        return x
    inner = operands_of(x, Opcode.ADD)
    if constant is not None and inner is not None:
        other = int_of(inner[1])
        if other is not None:
            return b.binary(Opcode.ADD, inner[0], int_constant(i.type, constant + other), i.name)
    return None


def sub(i: Instruction, b: Builder) -> Value | None:
    x, y = i.operands
    constant = int_of(y)
    if constant == 0:
        return x
    if x is y:
        return zero_of(i.type)
    if constant is not None:
        return b.binary(Opcode.ADD, x, int_constant(i.type, -constant), i.name)
    return None


def mul(i: Instruction, b: Builder) -> Value | None:
    x, y = i.operands
    constant = int_of(y)
    if constant is None:
        return None
    if constant == 0:
        return zero_of(i.type)
    if constant == 1:
        return x
    inner = operands_of(x, Opcode.MUL)
    if inner is not None and int_of(inner[1]) is not None:
        product = constant * (int_of(inner[1]) or 0)
        return b.binary(Opcode.MUL, inner[0], int_constant(i.type, product), i.name)
    inner = operands_of(x, Opcode.SHL)
    by = int_of(inner[1]) if inner is not None else None
    if inner is not None and by is not None and 0 <= by < i.type.bits:
        return b.binary(Opcode.MUL, inner[0], int_constant(i.type, constant << by), i.name)
    shift = power_of_two(constant)
    if shift is not None and shift < i.type.bits - 1:
        return b.binary(Opcode.SHL, x, int_constant(i.type, shift), i.name, i.flags)
    return None


def shift(i: Instruction, b: Builder) -> Value | None:
    """shl, lshr and ashr by 0; two shifts of one kind in a row."""
    x, y = i.operands
    by = int_of(y)
    if by == 0:
        return x
    inner = operands_of(x, i.opcode)
    first = int_of(inner[1]) if inner is not None else None
    if by is None or inner is None or first is None:
        return None
    if 0 <= by < i.type.bits and 0 <= first < i.type.bits and by + first < i.type.bits:
        return b.binary(i.opcode, inner[0], int_constant(i.type, by + first), i.name)
    return None


def unsigned_divide(i: Instruction, b: Builder) -> Value | None:
    """udiv and urem by a power of two."""
    x, y = i.operands
    constant = int_of(y)
    if constant is None:
        return None
    bits = power_of_two(constant & ((1 << i.type.bits) - 1))
    if bits is None:
        return None
    if i.opcode is Opcode.UREM:
        return b.binary(Opcode.AND, x, int_constant(i.type, constant - 1), i.name)
    return x if bits == 0 else b.binary(Opcode.LSHR, x, int_constant(i.type, bits), i.name)


def signed_divide(i: Instruction, _b: Builder) -> Value | None:
    if int_of(i.operands[1]) != 1:
        return None
    return i.operands[0] if i.opcode is Opcode.SDIV else zero_of(i.type)


def logic(i: Instruction, b: Builder) -> Value | None:
    """and, or, xor with themselves, zero or all ones."""
    x, y = i.operands
    constant = int_of(y)
    if x is y:
        return zero_of(i.type) if i.opcode is Opcode.XOR else x
    if constant == 0:
        return zero_of(i.type) if i.opcode is Opcode.AND else x
    if constant == -1:
        if i.opcode is Opcode.AND:
            return x
        return splat(i.type, -1) if i.opcode is Opcode.OR else _invert(x, b, i)
    inner = operands_of(x, i.opcode)
    if constant is not None and inner is not None and int_of(inner[1]) is not None:
        merged = _MERGE[i.opcode](constant, int_of(inner[1]) or 0)
        return b.binary(i.opcode, inner[0], int_constant(i.type, merged), i.name)
    return None


_MERGE = {
    Opcode.AND: lambda a, b: a & b,
    Opcode.OR: lambda a, b: a | b,
    Opcode.XOR: lambda a, b: a ^ b,
}

_INVERSE_FLOAT = {
    Predicate.OEQ: Predicate.UNE, Predicate.ONE: Predicate.UEQ, Predicate.OLT: Predicate.UGE,
    Predicate.OLE: Predicate.UGT, Predicate.OGT: Predicate.ULE, Predicate.OGE: Predicate.ULT,
    Predicate.ORD: Predicate.UNO,
}  # fmt: skip
_INVERSE_FLOAT |= {inverse: predicate for predicate, inverse in _INVERSE_FLOAT.items()}


def _invert(x: Value, b: Builder, i: Instruction) -> Value | None:
    """not of not, and not of a comparison that nobody else reads."""
    if not isinstance(x, Instruction) or not i.type.is_bool:
        return None
    inner = operands_of(x, Opcode.XOR)
    if inner is not None and int_of(inner[1]) == -1:
        return inner[0]
    if len(x.users) != 1 or x.predicate is None:
        return None
    if x.opcode is Opcode.ICMP:
        return b.icmp(negated(x.predicate), x.operands[0], x.operands[1], i.name)
    if x.opcode is Opcode.FCMP:
        return b.fcmp(_INVERSE_FLOAT[x.predicate], x.operands[0], x.operands[1], i.name)
    return None


_TRUE_OF_EQUAL = frozenset(
    {Predicate.EQ, Predicate.SLE, Predicate.SGE, Predicate.ULE, Predicate.UGE}
)


def compare(i: Instruction, b: Builder) -> Value | None:
    x, y = i.operands
    if i.predicate is None:
        return None
    if x is y:
        return int_constant(i.type, -1 if i.predicate in _TRUE_OF_EQUAL else 0)
    if isinstance(x, Constant) and not isinstance(y, Constant):
        return b.icmp(swapped(i.predicate), y, x, i.name)
    if i.predicate in (Predicate.EQ, Predicate.NE) and int_of(y) == 0:
        return _against_zero(i, b)
    return None


def _against_zero(i: Instruction, b: Builder) -> Value | None:
    """A widened truth value compared with 0 is itself or its inverse."""
    x = i.operands[0]
    inner = operands_of(x, Opcode.ZEXT) or operands_of(x, Opcode.SEXT)
    if inner is not None and inner[0].type.is_bool:
        truth = inner[0]
    elif x.type.is_bool:
        truth = x
    else:
        return None
    if i.predicate is Predicate.NE:
        return truth
    return b.binary(Opcode.XOR, truth, int_constant(truth.type, -1), i.name)


def cast(i: Instruction, b: Builder) -> Value | None:
    """Casts of casts."""
    source = i.operands[0]
    if i.opcode is Opcode.BITCAST and source.type == i.type:
        return source
    if not isinstance(source, Instruction) or not source.opcode.is_cast:
        return None
    inner, origin = source.opcode, source.operands[0]
    if i.opcode is Opcode.TRUNC and inner in (Opcode.ZEXT, Opcode.SEXT, Opcode.TRUNC):
        return _resized(origin, i, b, inner)
    if i.opcode is inner and inner in (Opcode.ZEXT, Opcode.SEXT, Opcode.FPEXT, Opcode.BITCAST):
        return origin if origin.type == i.type else b.cast(inner, origin, i.type, i.name)
    if i.opcode is Opcode.SEXT and inner is Opcode.ZEXT:
        return b.cast(Opcode.ZEXT, origin, i.type, i.name)
    if i.opcode is Opcode.FPTRUNC and inner is Opcode.FPEXT and origin.type == i.type:
        return origin
    return None


def _resized(origin: Value, i: Instruction, b: Builder, extension: Opcode) -> Value:
    """`origin`, extended or cut before, at the width of `i`."""
    if origin.type.bits == i.type.bits:
        return origin
    narrower = origin.type.bits > i.type.bits
    return b.cast(Opcode.TRUNC if narrower else extension, origin, i.type, i.name)


def select(i: Instruction, b: Builder) -> Value | None:
    condition, x, y = i.operands
    if x is y or _same_constant(x, y):
        return x
    known = int_of(condition)
    if known is not None:
        return x if known else y
    inner = operands_of(condition, Opcode.XOR)
    if inner is not None and int_of(inner[1]) == -1:
        return b.select(inner[0], y, x, i.name)
    if i.type.is_bool and condition.type == i.type:
        if (int_of(x), int_of(y)) == (-1, 0):
            return condition
        if (int_of(x), int_of(y)) == (0, -1):
            return b.binary(Opcode.XOR, condition, int_constant(i.type, -1), i.name)
    return None


def _same_constant(x: Value, y: Value) -> bool:
    if not isinstance(x, Constant) or not isinstance(y, Constant):
        return False
    return x.value is not None and repr(x.value) == repr(y.value)


def address(i: Instruction, b: Builder) -> Value | None:
    """getelementptr by 0, and constant steps in a row."""
    base, index = i.operands
    constant = int_of(index)
    if constant == 0:
        return base
    inner = operands_of(base, Opcode.GETELEMENTPTR)
    if constant is None or inner is None or not isinstance(base, Instruction):
        return None
    first = int_of(inner[1])
    if first is None or i.element_type is None or base.element_type is None:
        return None
    offset = constant * i.element_type.size_bytes + first * base.element_type.size_bytes
    if offset % i.element_type.size_bytes:
        return None
    total = int_constant(index.type, offset // i.element_type.size_bytes)
    merged = b.gep(i.element_type, inner[0], total, i.name)
    merged.flags = i.flags & base.flags
    return merged


def branch(i: Instruction, _b: Builder) -> Value | None:
    """A branch on an inverted condition goes the other way round."""
    if not i.operands or not is_opcode(i.operands[0], Opcode.XOR):
        return None
    inner = operands_of(i.operands[0], Opcode.XOR)
    if inner is None or int_of(inner[1]) != -1:
        return None
    i.set_operand(0, inner[0])
    i.blocks.reverse()
    return i
