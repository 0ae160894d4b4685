"""What each effect computes, on NumPy arrays: the meaning of instructions, independent of any ISA.

A value of type i32 is an unsigned array (or NumPy scalar) of that width, i1 is bool, floats are
IEEE arrays. The last axis holds lanes (a CPU vector) or threads (SIMT). Nothing here has state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np

from isas.effects import Effect
from isas.values import TypeKind, ValueType

Array = Any
"""A NumPy array or NumPy scalar."""
E = Effect

_INTS = {1: np.bool_, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
_SIGNED = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
_FLOATS = {16: np.float16, 32: np.float32, 64: np.float64}


@cache
def dtype_of(type: ValueType) -> np.dtype[Any]:
    """The NumPy type of one lane."""
    if type.kind is TypeKind.BFLOAT:
        return np.dtype(ml_dtypes.bfloat16)
    if type.kind is TypeKind.FLOAT:
        return np.dtype(_FLOATS[type.bits])
    return np.dtype(_INTS.get(type.bits, np.uint64))


def signed(a: Array) -> Array:
    """The same bits read as two's complement (i1: 0 and -1)."""
    if a.dtype == np.bool_:
        return -a.astype(np.int8)
    return a.view(_SIGNED[a.dtype.itemsize * 8])


def _bits(a: Array) -> int:
    return 1 if a.dtype == np.bool_ else a.dtype.itemsize * 8


def _unsigned(a: Array) -> Array:
    return a.view(_INTS[a.dtype.itemsize * 8])


def _high_product(a: Array, b: Array, is_signed: bool) -> Array:
    bits = _bits(a)
    if bits < 64:
        wide = np.int64 if is_signed else np.uint64
        x, y = (signed(a), signed(b)) if is_signed else (a, b)
        product = np.asarray(x, wide) * np.asarray(y, wide)
        return (product >> wide(bits)).astype(a.dtype)
    x, y = (signed(a), signed(b)) if is_signed else (a, b)
    exact = np.asarray(x, object) * np.asarray(y, object)
    mask = (1 << 64) - 1
    return np.asarray(np.vectorize(lambda v: (v >> 64) & mask, otypes=[np.uint64])(exact))


def _divide(a: Array, b: Array, is_signed: bool, wants_remainder: bool) -> Array:
    """Truncating division. By zero: all ones (remainder: the dividend), as most GPUs do; the most
    negative number by -1 wraps."""
    x, y = (signed(a), signed(b)) if is_signed else (a, b)
    is_zero = y == 0
    safe = np.where(is_zero, np.ones_like(y), y)
    quotient = np.floor_divide(x, safe)
    if is_signed:
        inexact = quotient * safe != x
        quotient = quotient + (inexact & ((x < 0) != (safe < 0))).astype(quotient.dtype)
    if wants_remainder:
        return np.where(is_zero, a, _unsigned(np.asarray(x - quotient * safe)))
    ones = np.full_like(np.asarray(a), np.iinfo(a.dtype).max)
    return np.where(is_zero, ones, _unsigned(np.asarray(quotient)))


def _shift(a: Array, count: Array, kind: Effect) -> Array:
    bits = _bits(a)
    is_past = count >= bits
    amount = np.where(is_past, 0, count).astype(a.dtype)
    if kind is E.SHL:
        return np.where(is_past, a.dtype.type(0), np.left_shift(a, amount))
    if kind is E.LSHR:
        return np.where(is_past, a.dtype.type(0), np.right_shift(a, amount))
    amount = np.where(is_past, bits - 1, amount).astype(a.dtype)
    return _unsigned(np.asarray(np.right_shift(signed(np.asarray(a)), signed(amount))))


def _count_leading_zeros(a: Array) -> Array:
    left, count = np.asarray(a), np.full(np.shape(a), _bits(a), a.dtype)
    for _ in range(_bits(a)):
        count = count - (left != 0).astype(a.dtype)
        left = left >> a.dtype.type(1)
    return count


def _count_trailing_zeros(a: Array) -> Array:
    lowest = a & (~a + a.dtype.type(1))
    return np.where(
        a == 0, a.dtype.type(_bits(a)), a.dtype.type(_bits(a) - 1) - _count_leading_zeros(lowest)
    )


def _bit_reverse(a: Array) -> Array:
    result = np.zeros_like(a)
    for bit in range(_bits(a)):
        one = a.dtype.type(1)
        result = result | (((a >> a.dtype.type(bit)) & one) << a.dtype.type(_bits(a) - 1 - bit))
    return result


def fma(a: Array, b: Array, c: Array) -> Array:
    """a * b + c rounded once. f32 goes through float64, where the product is exact; where the sum
    sits halfway between two f32 (or the result is subnormal) the rounding is redone exactly."""
    if a.dtype == np.float64:
        return _fma_exact(a, b, c)
    wide = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
    result = wide.astype(a.dtype)
    doubtful = _is_doubtful(wide, a.dtype)
    if np.any(doubtful):
        exact = _fma_exact(*(np.broadcast_to(v, np.shape(wide))[doubtful] for v in (a, b, c)))
        result = np.array(result)
        result[doubtful] = exact
    return result


def _is_doubtful(wide: Array, narrow: np.dtype[Any]) -> Array:
    """Where rounding `wide` to `narrow` might differ from rounding the exact sum."""
    dropped = 52 - np.finfo(narrow).nmant
    low = np.asarray(wide).view(np.uint64) & np.uint64((1 << dropped) - 1)
    is_small = np.abs(wide) < float(np.finfo(narrow).smallest_normal) * 2
    return (low == np.uint64(1 << (dropped - 1))) | (is_small & (wide != 0))


def _fma_exact(a: Array, b: Array, c: Array) -> Array:
    flat = [np.atleast_1d(v).ravel() for v in np.broadcast_arrays(a, b, c)]
    values = [_fma_scalar(*row) for row in zip(*flat)]
    return np.array(values, a.dtype).reshape(np.shape(np.broadcast(a, b, c)))


def _fma_scalar(a: Any, b: Any, c: Any) -> Any:
    kind = type(a)
    rough = float(a) * float(b) + float(c)
    if not (np.isfinite(a) and np.isfinite(b) and np.isfinite(c)):
        return kind(rough)
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if exact == 0:
        return kind(rough)
    return round_fraction(exact, kind)


def round_fraction(exact: Fraction, kind: Any) -> Any:
    """The nearest value of the float type `kind` to a nonzero fraction, ties to even."""
    info = np.finfo(kind)
    magnitude = abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    exponent = max(exponent, int(info.minexp))
    steps = round(magnitude / Fraction(2) ** (exponent - int(info.nmant)))
    limit = 1 << (int(info.nmant) + 1)
    if exponent + (steps >= limit) > int(info.maxexp) - 1:
        return kind(np.inf if exact > 0 else -np.inf)
    value = kind(np.ldexp(np.float64(steps), exponent - int(info.nmant)))
    return value if exact > 0 else -value


def _pick(a: Array, b: Array, wants_larger: bool) -> Array:
    """IEEE 754-2019 minimum and maximum: NaN if either is, -0 below +0."""
    better = (a > b) if wants_larger else (a < b)
    sign_decides = (a == b) & (np.signbit(a) != wants_larger)
    either = np.where(better | sign_decides, a, b)
    return np.where(np.isnan(a) | np.isnan(b), a + b, either)


def _pick_number(a: Array, b: Array, wants_larger: bool) -> Array:
    picked = _pick(a, b, wants_larger)
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, picked))


def _round_away(a: Array) -> Array:
    whole = np.trunc(a)
    is_half = np.abs(a - whole) >= a.dtype.type(0.5)
    return np.copysign(np.where(is_half, whole + np.copysign(a.dtype.type(1), a), whole), a)


def to_int(a: Array, type: ValueType, is_signed: bool, saturates: bool) -> Array:
    """Truncates. Out of range: saturated, or x86's 'integer indefinite' (the most negative)."""
    bits = type.bits
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)
    wide = np.trunc(np.asarray(a, np.float64))
    is_bad = ~((wide >= low) & (wide < high + 1.0))
    safe = np.where(is_bad, 0.0, wide)
    kind = np.int64 if is_signed else np.uint64
    inside = safe.astype(kind).astype(dtype_of(type))
    if saturates:
        lane = dtype_of(type).type
        edge = np.where(wide < 0, lane(low & ((1 << bits) - 1)), lane(high))
        edge = np.where(np.isnan(wide), lane(0), edge)
    else:
        edge = np.full(np.shape(wide), 1 << (bits - 1), dtype_of(type))
    return np.where(is_bad, edge, inside)


def _saturate(a: Array, type: ValueType, is_signed: bool) -> Array:
    bits = type.bits
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)
    clipped = np.clip(signed(a).astype(np.int64), low, high)
    return (
        clipped.astype(_SIGNED[bits]).view(dtype_of(type))
        if is_signed
        else clipped.astype(dtype_of(type))
    )


def _round_to_int(a: Array, type: ValueType) -> Array:
    return to_int(np.rint(a), type, True, False)


Meaning = Callable[..., Array]


def _integers() -> dict[Effect, Meaning]:
    return {
        E.ADD: lambda a, b: a + b,
        E.SUB: lambda a, b: a - b,
        E.MUL: lambda a, b: a * b,
        E.MULHS: lambda a, b: _high_product(a, b, True),
        E.MULHU: lambda a, b: _high_product(a, b, False),
        E.SDIV: lambda a, b: _divide(a, b, True, False),
        E.UDIV: lambda a, b: _divide(a, b, False, False),
        E.SREM: lambda a, b: _divide(a, b, True, True),
        E.UREM: lambda a, b: _divide(a, b, False, True),
        E.AND: lambda a, b: a & b,
        E.OR: lambda a, b: a | b,
        E.XOR: lambda a, b: a ^ b,
        E.SHL: lambda a, b: _shift(a, b, E.SHL),
        E.LSHR: lambda a, b: _shift(a, b, E.LSHR),
        E.ASHR: lambda a, b: _shift(a, b, E.ASHR),
        E.SMIN: lambda a, b: np.where(signed(a) < signed(b), a, b),
        E.SMAX: lambda a, b: np.where(signed(a) > signed(b), a, b),
        E.UMIN: np.minimum,
        E.UMAX: np.maximum,
        E.ABS: lambda a: np.where(signed(a) < 0, ~a + a.dtype.type(1), a),
        E.CTPOP: lambda a: np.bitwise_count(a).astype(a.dtype),
        E.CTLZ: _count_leading_zeros,
        E.CTTZ: _count_trailing_zeros,
        E.BITREVERSE: _bit_reverse,
        E.ICMP_EQ: lambda a, b: a == b,
        E.ICMP_NE: lambda a, b: a != b,
        E.ICMP_SLT: lambda a, b: signed(a) < signed(b),
        E.ICMP_SLE: lambda a, b: signed(a) <= signed(b),
        E.ICMP_SGT: lambda a, b: signed(a) > signed(b),
        E.ICMP_SGE: lambda a, b: signed(a) >= signed(b),
        E.ICMP_ULT: lambda a, b: a < b,
        E.ICMP_ULE: lambda a, b: a <= b,
        E.ICMP_UGT: lambda a, b: a > b,
        E.ICMP_UGE: lambda a, b: a >= b,
        E.SELECT: lambda c, a, b: np.where(c, a, b),
    }


def _floats() -> dict[Effect, Meaning]:
    return {
        E.FADD: lambda a, b: a + b,
        E.FSUB: lambda a, b: a - b,
        E.FMUL: lambda a, b: a * b,
        E.FDIV: lambda a, b: a / b,
        E.FREM: np.fmod,
        E.FNEG: lambda a: -a,
        E.FABS: np.abs,
        E.SQRT: np.sqrt,
        E.FMA: fma,
        E.COPYSIGN: np.copysign,
        E.FLOOR: np.floor,
        E.CEIL: np.ceil,
        E.FTRUNC: np.trunc,
        E.ROUNDEVEN: np.rint,
        E.ROUND: _round_away,
        E.MINIMUM: lambda a, b: _pick(a, b, False),
        E.MAXIMUM: lambda a, b: _pick(a, b, True),
        E.MINNUM: lambda a, b: _pick_number(a, b, False),
        E.MAXNUM: lambda a, b: _pick_number(a, b, True),
        E.RCP_APPROX: lambda a: (1.0 / a.astype(np.float64)).astype(a.dtype),
        E.RSQRT_APPROX: lambda a: (1.0 / np.sqrt(a.astype(np.float64))).astype(a.dtype),
        E.EXP2_APPROX: lambda a: np.exp2(a.astype(np.float64)).astype(a.dtype),
        E.LOG2_APPROX: lambda a: np.log2(a.astype(np.float64)).astype(a.dtype),
        E.FCMP_OEQ: lambda a, b: a == b,
        E.FCMP_OLT: lambda a, b: a < b,
        E.FCMP_OLE: lambda a, b: a <= b,
        E.FCMP_OGT: lambda a, b: a > b,
        E.FCMP_OGE: lambda a, b: a >= b,
        E.FCMP_ONE: lambda a, b: (a < b) | (a > b),
        E.FCMP_ORD: lambda a, b: (a == a) & (b == b),
        E.FCMP_UNO: lambda a, b: (a != a) | (b != b),
        E.FCMP_UEQ: lambda a, b: ~((a < b) | (a > b)),
        E.FCMP_UNE: lambda a, b: a != b,
        E.FCMP_ULT: lambda a, b: ~(a >= b),
        E.FCMP_ULE: lambda a, b: ~(a > b),
        E.FCMP_UGT: lambda a, b: ~(a <= b),
        E.FCMP_UGE: lambda a, b: ~(a < b),
    }


MEANINGS: Mapping[Effect, Meaning] = MappingProxyType(_integers() | _floats())
"""Effects whose meaning needs nothing but the argument values."""

_CONVERSIONS: Mapping[Effect, Callable[[Array, ValueType], Array]] = MappingProxyType(
    {
        E.ZEXT: lambda a, t: a.astype(dtype_of(t)),
        E.SEXT: lambda a, t: signed(a).astype(_SIGNED[t.bits]).view(dtype_of(t)),
        E.TRUNC: lambda a, t: (
            (a & a.dtype.type(1)).astype(np.bool_) if t.bits == 1 else a.astype(dtype_of(t))
        ),
        E.TRUNC_SSAT: lambda a, t: _saturate(a, t, True),
        E.TRUNC_USAT: lambda a, t: _saturate(a, t, False),
        E.FPEXT: lambda a, t: a.astype(dtype_of(t)),
        E.FPTRUNC: lambda a, t: a.astype(dtype_of(t)),
        E.SITOFP: lambda a, t: signed(a).astype(dtype_of(t)),
        E.UITOFP: lambda a, t: a.astype(dtype_of(t)),
        E.FPTOSI: lambda a, t: to_int(a, t, True, False),
        E.FPTOUI: lambda a, t: to_int(a, t, False, False),
        E.FPTOSI_INDEFINITE: lambda a, t: to_int(a, t, True, False),
        E.FPTOSI_SAT: lambda a, t: to_int(a, t, True, True),
        E.FPTOUI_SAT: lambda a, t: to_int(a, t, False, True),
        E.FPTOSI_EVEN: _round_to_int,
    }
)
"""Effects whose meaning also needs the result's type (per lane)."""


def convert(effect: Effect, a: Array, type: ValueType) -> Array:
    """A conversion effect applied to `a`, giving lanes of `type`."""
    return _CONVERSIONS[effect](a, type)


def is_conversion(effect: Effect) -> bool:
    """Whether `convert` knows the effect."""
    return effect in _CONVERSIONS
