"""HLO's convert: every number type to every other, defined for every input.

Floats become integers by cutting toward zero and saturating; NaN becomes 0
(openxla.org/stablehlo/spec, "convert"; XLA's elemental emitter saturates likewise). LLVM's fptosi
is undefined out of range, so out-of-range inputs are selected away before it and the answer
selected in after it.
"""

from __future__ import annotations

from compiler.hlo.shape import ElementType
from compiler.llvm.ir import Opcode, Predicate, Value
from compiler.llvm.types import F32, F64, I1, I8, I16, I32, Kind, Type
from compiler.lower.arithmetic import Arithmetic
from compiler.lower.types import register_type


def convert(a: Arithmetic, value: Value, source: ElementType, target: ElementType) -> Value:
    """`value` of type `source` as the nearest value of type `target`."""
    if source is target:
        return value
    to = register_type(target)
    if source is ElementType.PRED:
        return _from_truth(a, value, to)
    if source.is_float:
        return _from_float(a, value, target, to)
    return _from_integer(a, value, source, target, to)


def _from_truth(a: Arithmetic, value: Value, to: Type) -> Value:
    if to.is_float:
        return narrow(a, a.select(value, a.number(F32, 1.0), a.number(F32, 0.0)), to)
    return a.resize(value, to, is_signed=False)


def _from_float(a: Arithmetic, value: Value, target: ElementType, to: Type) -> Value:
    if to.is_float:
        return narrow(a, widen(a, value), to)
    value = widen(a, value)
    if to == I1:
        return a.fcmp(Predicate.UNE, value, a.number(value.type, 0.0))
    if target.is_unsigned and to.bits >= 32:
        return _to_wide_unsigned(a, value, to)
    lowest = 0 if target.is_unsigned else -(1 << (to.bits - 1))
    return _saturated(a, value, to, lowest, lowest + (1 << to.bits))


def _saturated(a: Arithmetic, value: Value, to: Type, lowest: int, beyond: int) -> Value:
    """Cuts toward zero into lowest..beyond-1. `beyond` is a power of two and so exact as a
    float."""
    high, low = a.number(value.type, beyond), a.number(value.type, lowest)
    fits = a.emitter.pure(
        Opcode.AND,
        I1,
        (a.fcmp(Predicate.OGE, value, low), a.fcmp(Predicate.OLT, value, high)),
    )
    safe = a.select(fits, value, a.number(value.type, 0.0))
    whole = a.cast(Opcode.FPTOSI, safe, I32 if to.bits < 32 else to)
    cut = a.resize(whole, to, is_signed=True)
    above = a.bits_constant(to, (beyond - 1) & ((1 << to.bits) - 1))
    cut = a.select(a.fcmp(Predicate.OGE, value, high), above, cut)
    below = a.bits_constant(to, lowest & ((1 << to.bits) - 1))
    return a.select(a.fcmp(Predicate.OLT, value, low), below, cut)


def _to_wide_unsigned(a: Arithmetic, value: Value, to: Type) -> Value:
    """Through the signed conversion, which every machine has: the upper half is moved down by its
    width."""
    half = a.number(value.type, float(1 << (to.bits - 1)))
    is_upper = a.fcmp(Predicate.OGE, value, half)
    moved = a.select(is_upper, a.fsub(value, half), value)
    low, high = a.number(value.type, 0.0), half
    fits = a.emitter.pure(
        Opcode.AND, I1, (a.fcmp(Predicate.OGE, moved, low), a.fcmp(Predicate.OLT, moved, high))
    )
    whole = a.cast(Opcode.FPTOSI, a.select(fits, moved, low), to)
    flipped = a.ixor(whole, a.bits_constant(to, 1 << (to.bits - 1)))
    result = a.select(is_upper, flipped, whole)
    return a.select(a.fcmp(Predicate.OGE, moved, high), a.number(to, -1), result)


def _from_integer(
    a: Arithmetic, value: Value, source: ElementType, target: ElementType, to: Type
) -> Value:
    if to == I1:
        return a.icmp(Predicate.NE, value, a.number(value.type, 0))
    if not to.is_float:
        return a.resize(value, to, source.is_signed)
    through = to if to.bits >= 32 else F32
    return narrow(a, _to_float(a, value, source.is_signed, through), to)


def _to_float(a: Arithmetic, value: Value, is_signed: bool, to: Type) -> Value:
    if value.type.bits < 32:
        value = a.resize(value, I32, is_signed)
        is_signed = True
    if is_signed:
        return a.cast(Opcode.SITOFP, value, to)
    if a.legal("uitofp", value.type):
        return a.cast(Opcode.UITOFP, value, to)
    if value.type == I32:
        return _unsigned_halves(a, value, to)
    return _unsigned_long(a, value, to)


def _unsigned_halves(a: Arithmetic, value: Value, to: Type) -> Value:
    """high * 65536 + low; both halves are exact and the sum is rounded once."""
    high = a.cast(Opcode.SITOFP, a.lshr(value, 16), to)
    low = a.cast(Opcode.SITOFP, a.iand(value, a.number(I32, 0xFFFF)), to)
    return a.fma(high, a.number(to, 65536.0), low)


def _unsigned_long(a: Arithmetic, value: Value, to: Type) -> Value:
    """Numbers beyond the signed range are halved first; the lost bit stays as a sticky bit, so that
    rounding comes out as if it had not been lost."""
    is_large = a.icmp(Predicate.SLT, value, a.number(value.type, 0))
    halved = a.ior(a.lshr(value, 1), a.iand(value, a.number(value.type, 1)))
    part = a.cast(Opcode.SITOFP, a.select(is_large, halved, value), to)
    return a.select(is_large, a.fadd(part, part), part)


def widen(a: Arithmetic, value: Value) -> Value:
    """A half precision float as f32; any other value itself."""
    is_half = value.type.is_float and value.type.bits < 32
    if not is_half:
        return value
    if value.type.kind is Kind.BFLOAT and not a.legal("fpext", value.type):
        bits = a.resize(a.bits(value), I32, is_signed=False)
        return a.bitcast(a.shl(bits, 16), F32)
    return a.cast(Opcode.FPEXT, value, F32)


def narrow(a: Arithmetic, value: Value, to: Type) -> Value:
    """A float rounded to another float type (to nearest, ties to even; from f64 to half precision
    by way of f32, as no machine does it in one step)."""
    if value.type == to:
        return value
    if value.type.bits < to.bits:
        return a.cast(Opcode.FPEXT, value, to)
    if value.type == F64 and to.bits < 32:
        value = a.cast(Opcode.FPTRUNC, value, F32)
    if to.kind is Kind.BFLOAT and value.type == F32 and not a.legal("fptrunc", to):
        return _to_bfloat(a, value, to)
    return a.cast(Opcode.FPTRUNC, value, to)


def _to_bfloat(a: Arithmetic, value: Value, to: Type) -> Value:
    """Adds just under half a unit of the last kept bit (exactly half when that bit is odd) and
    cuts."""
    bits = a.bits(value)
    odd = a.iand(a.lshr(bits, 16), a.number(I32, 1))
    up = a.iadd(a.iadd(bits, a.number(I32, 0x7FFF)), odd)
    quiet = a.ior(bits, a.number(I32, 0x400000))
    kept = a.lshr(a.select(a.is_nan(value), quiet, up), 16)
    return a.bitcast(a.resize(kept, I16, is_signed=False), to)


def bitcast_convert(a: Arithmetic, value: Value, source: ElementType, target: ElementType) -> Value:
    """The same bits as another type of the same width; pred counts as the byte it is stored in."""
    to = register_type(target)
    if source is ElementType.PRED:
        value = a.resize(value, I8, is_signed=False)
    if target is ElementType.PRED:
        return a.from_byte(value)
    return a.bitcast(value, to)
