"""Special functions: those that the evaluator computes by name, and what follows from them."""

from __future__ import annotations

import math

import numpy as np

from compiler.frontend.torch.build import Builder, Value
from compiler.frontend.torch.build import array_shape as shape_of
from compiler.frontend.torch.dtypes import as_float
from compiler.frontend.torch.pointwise import EQ, LT, Operand, Rule, floating
from compiler.hlo.opcodes import Opcode

_POINTS = 64
"""Points of the trapezoidal rule over half a turn, which converges geometrically on periodic
functions: double precision up to arguments of `_LARGE`."""
_LARGE = 150.0
_TERMS = 8
"""Terms of the asymptotic series, which give double precision from `_LARGE` on."""


def _named(name: str) -> Rule:
    """A custom call of CHLO's name."""

    def rule(b: Builder, *operands: Operand) -> Value:
        kind = as_float(b.common_kind(*operands))
        values = b.aligned(kind, *operands)
        shape = shape_of(kind, values[0].dimensions)
        return b.emit(Opcode.CUSTOM_CALL, *values, shape=shape, custom_call_target=f"chlo.{name}")

    return rule


_erfc, _erf_inv, _polygamma = _named("erfc"), _named("erf_inv"), _named("polygamma")


def polygamma(b: Builder, n: int, x: Value) -> Value:
    return _polygamma(b, float(n), x)


def ndtri(b: Builder, p: Value) -> Value:
    """The inverse of the normal distribution."""
    p = floating(b, p)
    inner: Value = _erf_inv(b, b.subtract(b.multiply(p, 2), 1))
    return b.multiply(inner, math.sqrt(2))


def erfcx(b: Builder, x: Value) -> Value:
    """exp(x^2) erfc(x); from 5 on by its continued fraction (Abramowitz and Stegun 7.1.14)."""
    x = floating(b, x)
    is_far = b.compare(LT, 5, x)
    near = b.select(is_far, 0, x, x.kind)
    product = b.multiply(b.emit(Opcode.EXP, b.multiply(near, near)), _erfc(b, near))
    far = b.select(is_far, x, 5, x.kind)
    fraction = far
    for k in range(12, 0, -1):
        fraction = b.add(far, b.divide(k / 2, fraction))
    tail = b.divide(1 / math.sqrt(math.pi), fraction)
    return b.select(is_far, tail, product, x.kind)


def _bessel(order: int, is_scaled: bool) -> Rule:
    """I0 and I1, or scaled by exp(-|x|)."""

    def rule(b: Builder, x: Value) -> Value:
        x = floating(b, x)
        size = b.emit(Opcode.ABS, x)
        is_large = b.compare(LT, _LARGE, size)
        near = _bessel_integral(b, order, b.select(is_large, _LARGE, size, x.kind))
        found = b.select(is_large, _bessel_series(b, order, size), near, x.kind)
        if not is_scaled:
            found = b.multiply(found, b.emit(Opcode.EXP, size))
        if order == 0:
            return found
        return b.select(b.compare(LT, x, 0), b.emit(Opcode.NEGATE, found), found, x.kind)

    return rule


def _bessel_integral(b: Builder, order: int, size: Value) -> Value:
    """Scaled, by the integral over half a turn (Abramowitz and Stegun 9.6.19)."""
    angles = math.pi * np.arange(_POINTS + 1) / _POINTS
    ends = np.where((angles == 0) | (angles == math.pi), 0.5, 1.0)
    weights = ends * np.cos(order * angles) / _POINTS
    along = b.array((np.cos(angles) - 1).astype(size.kind.dtype))
    wide = b.reshape(size, (*size.dimensions, 1))
    terms = b.multiply(
        b.emit(Opcode.EXP, b.multiply(wide, along)), b.array(weights.astype(size.kind.dtype))
    )
    return b.sum(terms, (size.rank,))


def _bessel_series(b: Builder, order: int, size: Value) -> Value:
    """Scaled, for large arguments (Abramowitz and Stegun 9.7.1)."""
    total = b.full_like(1, size)
    for k in range(_TERMS, 0, -1):
        factor = ((2 * k - 1) ** 2 - 4 * order**2) / (8 * k)
        total = b.add(1, b.multiply(b.divide(factor, size), total))
    return b.divide(total, b.emit(Opcode.SQRT, b.multiply(size, 2 * math.pi)))


def gcd(b: Builder, one: Operand, other: Operand) -> Value:
    """Euclid's algorithm, as many steps as the type's largest Fibonacci numbers need."""
    kind = b.common_kind(one, other)
    x, y = (v if v.kind.is_unsigned else b.emit(Opcode.ABS, v) for v in b.aligned(kind, one, other))
    for _ in range(math.ceil(kind.bits / math.log2((1 + math.sqrt(5)) / 2)) + 1):
        done = b.compare(EQ, y, 0)
        rest = b.emit(Opcode.REMAINDER, x, b.select(done, 1, y, kind))
        x, y = b.select(done, x, y, kind), b.select(done, 0, rest, kind)
    return x


TABLE: dict[str, Rule] = {
    **{
        f"{room}.{name}": _named(target)
        for name, target in {
            "digamma": "digamma", "erf_inv": "erf_inv", "erfinv": "erf_inv", "lgamma": "lgamma",
            "nextafter": "next_after", "zeta": "zeta", "special_zeta": "zeta",
        }.items()
        for room in ("aten", "prims")
    },
    "aten.polygamma": polygamma, "prims.ndtri": ndtri, "prims.erfcx": erfcx,
    "prims.bessel_i0": _bessel(0, False), "prims.bessel_i0e": _bessel(0, True),
    "prims.bessel_i1": _bessel(1, False), "prims.bessel_i1e": _bessel(1, True),
    "aten.i0": _bessel(0, False), "prims.gcd": gcd, "aten.gcd": gcd,
}  # fmt: skip
"""Rules by operator."""
