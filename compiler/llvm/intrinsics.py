"""What LLVM's intrinsics compute, as functions on NumPy values (LangRef, "Intrinsic Functions")."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from compiler.llvm.exact import Number, fma
from compiler.llvm.types import Type

Operation = Callable[..., Number]


def intrinsic_operation(name: str, type: Type) -> Operation | None:
    """The function of an intrinsic (name without type suffixes) with result `type`; None if
    unknown."""
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    if name in _TYPED:
        return partial(_TYPED[name], type)
    return None


def _fix_zero(a: Number, b: Number, chosen: Number, combine: Operation) -> Number:
    """Equal operands differ at most in the sign of zero: `combine` their bits."""
    bits = np.dtype(f"i{chosen.dtype.itemsize}")
    merged = combine(a.view(bits), b.view(bits)).view(chosen.dtype)
    return np.where(a == b, merged, chosen)[()]


def _maximum(a: Number, b: Number) -> Number:
    return _fix_zero(a, b, np.maximum(a, b), operator.and_)


def _minimum(a: Number, b: Number) -> Number:
    return _fix_zero(a, b, np.minimum(a, b), operator.or_)


def _round_away(a: Number) -> Number:
    whole = np.trunc(a)
    up = np.abs(a - whole) >= np.asarray(0.5, dtype=a.dtype)
    return np.copysign(np.where(up, whole + np.copysign(np.ones_like(a), a), whole), a)[()]


def _copysign(a: Number, b: Number) -> Number:
    """By bits: NumPy's copysign may change a NaN."""
    bits = np.dtype(f"i{a.dtype.itemsize}")
    sign = np.array(np.iinfo(bits).min, dtype=bits)
    return ((a.view(bits) & ~sign) | (b.view(bits) & sign)).view(a.dtype)


def _fabs(a: Number) -> Number:
    bits = np.dtype(f"i{a.dtype.itemsize}")
    return (a.view(bits) & np.array(np.iinfo(bits).max, dtype=bits)).view(a.dtype)


def _unsigned(a: Number) -> Number:
    return a.view(np.dtype(f"u{a.dtype.itemsize}"))


def _umin(a: Number, b: Number) -> Number:
    return np.minimum(_unsigned(a), _unsigned(b)).view(a.dtype)


def _umax(a: Number, b: Number) -> Number:
    return np.maximum(_unsigned(a), _unsigned(b)).view(a.dtype)


def _ctpop(a: Number) -> Number:
    x = _unsigned(a).astype(np.uint64)
    m1, m2, m4 = (
        np.uint64(m) for m in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F)
    )
    x = x - ((x >> np.uint64(1)) & m1)
    x = (x & m2) + ((x >> np.uint64(2)) & m2)
    x = (x + (x >> np.uint64(4))) & m4
    return ((x * np.uint64(0x0101010101010101)) >> np.uint64(56)).astype(a.dtype)


def _ctlz(a: Number, _poison: Number = None) -> Number:
    x = _unsigned(a)
    shift = 1
    while shift < x.dtype.itemsize * 8:
        x = x | (x >> x.dtype.type(shift))
        shift *= 2
    return (x.dtype.itemsize * 8 - _ctpop(x.view(a.dtype))).astype(a.dtype)


def _cttz(a: Number, _poison: Number = None) -> Number:
    return _ctpop((a & -a) - a.dtype.type(1))


def _bitreverse(a: Number) -> Number:
    x = _unsigned(a)
    result = np.zeros_like(x)
    one = x.dtype.type(1)
    for bit in range(x.dtype.itemsize * 8):
        result = (result << one) | ((x >> x.dtype.type(bit)) & one)
    return result.view(a.dtype)


def _funnel(type: Type, a: Number, b: Number, c: Number, *, left: bool) -> Number:
    """fshl and fshr: `bits` wide windows of the double width a:b."""
    bits = np.dtype(f"u{type.bits // 8}").type(type.bits)
    high, low, by = _unsigned(a), _unsigned(b), _unsigned(c) % bits
    rest = (bits - by) % bits
    if left:
        shifted = np.where(by == 0, high, (high << by) | (low >> rest))
    else:
        shifted = np.where(by == 0, low, (high << rest) | (low >> by))
    return shifted.astype(high.dtype).view(a.dtype)[()]


def _saturating(type: Type, a: Number, *, signed: bool) -> Number:
    """Conversion to integer that clamps; NaN becomes 0."""
    dtype = np.dtype(f"{'i' if signed else 'u'}{type.bits // 8}")
    limits = np.iinfo(dtype)
    wide = np.asarray(a).astype(np.float64)
    low, high = wide <= float(limits.min), wide >= float(limits.max)
    inside = np.where(low | high | np.isnan(wide), 0.0, wide)
    value = np.where(low, limits.min, np.where(high, limits.max, inside.astype(dtype)))
    return value.astype(dtype).view(np.dtype(f"i{type.bits // 8}"))[()]


def _sequential(apply: Operation, start: Number, vector: Number) -> Number:
    """vector.reduce.fadd and fmul without reassoc: lane after lane."""
    for lane in range(vector.shape[-1]):
        start = apply(start, vector[..., lane])
    return start


def _folded(apply: Operation, vector: Number) -> Number:
    result = vector[..., 0]
    for lane in range(1, vector.shape[-1]):
        result = apply(result, vector[..., lane])
    return result


def _absolute(a: Number, _poison: Any = None) -> Number:
    return np.abs(a)


_FUNCTIONS: dict[str, Operation] = {
    "llvm.fma": fma,
    "llvm.fabs": _fabs,
    "llvm.sqrt": np.sqrt,
    "llvm.copysign": _copysign,
    "llvm.floor": np.floor,
    "llvm.ceil": np.ceil,
    "llvm.trunc": np.trunc,
    "llvm.roundeven": np.rint,
    "llvm.rint": np.rint,
    "llvm.nearbyint": np.rint,
    "llvm.round": _round_away,
    "llvm.minimum": _minimum,
    "llvm.maximum": _maximum,
    "llvm.minnum": np.fmin,
    "llvm.maxnum": np.fmax,
    "llvm.smin": np.minimum,
    "llvm.smax": np.maximum,
    "llvm.umin": _umin,
    "llvm.umax": _umax,
    "llvm.abs": _absolute,
    "llvm.ctpop": _ctpop,
    "llvm.ctlz": _ctlz,
    "llvm.cttz": _cttz,
    "llvm.bitreverse": _bitreverse,
    "llvm.bswap": lambda a: a.byteswap(),
    "llvm.vector.reduce.fadd": partial(_sequential, operator.add),
    "llvm.vector.reduce.fmul": partial(_sequential, operator.mul),
    "llvm.vector.reduce.add": partial(_folded, operator.add),
    "llvm.vector.reduce.mul": partial(_folded, operator.mul),
    "llvm.vector.reduce.and": partial(_folded, operator.and_),
    "llvm.vector.reduce.or": partial(_folded, operator.or_),
    "llvm.vector.reduce.xor": partial(_folded, operator.xor),
    "llvm.vector.reduce.smin": partial(_folded, np.minimum),
    "llvm.vector.reduce.smax": partial(_folded, np.maximum),
    "llvm.vector.reduce.umin": partial(_folded, _umin),
    "llvm.vector.reduce.umax": partial(_folded, _umax),
    "llvm.vector.reduce.fminimum": partial(_folded, _minimum),
    "llvm.vector.reduce.fmaximum": partial(_folded, _maximum),
}
_TYPED: dict[str, Callable[..., Number]] = {
    "llvm.fshl": partial(_funnel, left=True),
    "llvm.fshr": partial(_funnel, left=False),
    "llvm.fptosi.sat": partial(_saturating, signed=True),
    "llvm.fptoui.sat": partial(_saturating, signed=False),
}
