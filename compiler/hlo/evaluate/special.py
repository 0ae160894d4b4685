"""Special functions that HLO has no opcode for, in float64: erfc, lgamma, zeta, Bessel ...

They are reached as custom calls named after CHLO's operations. Each result is rounded once to the
operand's type.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.hlo.evaluate.numbers import exact, kind_of, narrowed

Array = np.ndarray

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
"""B2, B4, ... B16."""
_FAR = 16.0
"""Arguments from here on are summed by their asymptotic series."""
_TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)


def erfc(x: float) -> float:
    return math.erfc(x)


def lgamma(x: float) -> float:
    """log |gamma(x)|, infinite at the poles."""
    if math.isinf(x):
        return math.inf
    if x <= 0 and x == math.floor(x):
        return math.inf
    return math.lgamma(x)


def digamma(x: float) -> float:
    """The derivative of log gamma; NaN at the poles (Abramowitz and Stegun 6.3.7, 6.3.18)."""
    if math.isnan(x) or x == -math.inf or (x <= 0 and x == math.floor(x)):
        return math.nan
    if x == math.inf:
        return math.inf
    if x < 0:
        fraction = x - math.floor(x)
        return digamma(1.0 - x) - math.pi / math.tan(math.pi * fraction)
    shift = 0.0
    while x < _FAR:
        shift += 1.0 / x
        x += 1.0
    square = 1.0 / (x * x)
    series = sum(b / (2 * k) * square**k for k, b in enumerate(_BERNOULLI, 1))
    return math.log(x) - 0.5 / x - series - shift


def zeta(x: float, q: float) -> float:
    """Hurwitz's zeta function, the sum of (q + n)^-x, by Euler and Maclaurin's formula."""
    if math.isnan(x) or math.isnan(q) or x < 1:
        return math.nan
    if x == 1:
        return math.inf
    if q <= 0:
        if q == math.floor(q):
            return math.inf
        if x != math.floor(x):
            return math.nan
    total = 0.0
    steps = max(0, math.ceil(_FAR - q))
    if steps > 1_000_000:
        return math.nan
    for n in range(steps):
        total += math.pow(q + n, -x)
    far = q + steps
    if math.isinf(far) or math.isinf(x):
        return total
    power = math.pow(far, -x)
    total += power * far / (x - 1.0) + 0.5 * power
    factor = x * power / far
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        total += bernoulli * factor / math.factorial(2 * k)
        factor *= (x + 2 * k - 1) * (x + 2 * k) / (far * far)
    return total


def polygamma(n: float, x: float) -> float:
    """The n-th derivative of digamma; NaN unless n is a natural number."""
    if math.isnan(n) or n < 0 or n != math.floor(n):
        return math.nan
    if n == 0:
        return digamma(x)
    sign = 1.0 if int(n) % 2 else -1.0
    try:
        return sign * math.exp(math.lgamma(n + 1.0)) * zeta(n + 1.0, x)
    except OverflowError:
        return sign * math.inf


def bessel_i1e(x: float) -> float:
    """exp(-|x|) I1(x): the integral over half a turn, or Hankel's series from 50 on."""
    far = abs(x)
    if math.isnan(x):
        return x
    if far < 50.0:
        count = 128
        angles = [math.pi * k / count for k in range(count + 1)]
        values = [math.exp(far * (math.cos(t) - 1.0)) * math.cos(t) for t in angles]
        integral = (math.fsum(values) - 0.5 * (values[0] + values[-1])) / count
        return math.copysign(integral, x) if x else x
    if math.isinf(far):
        return math.copysign(0.0, x)
    term, total = 1.0, 1.0
    for k in range(1, 16):
        term *= -(4.0 - (2 * k - 1) ** 2) / (k * 8.0 * far)
        total += term
    return math.copysign(total / math.sqrt(2.0 * math.pi * far), x)


def erf_inv(x: float) -> float:
    """The y with erf(y) = x: a first guess (Winitzki, 2008), then Halley's steps."""
    if math.isnan(x) or abs(x) > 1:
        return math.nan
    if abs(x) == 1:
        return math.copysign(math.inf, x)
    if x == 0:
        return x
    rest = 1.0 - abs(x)
    logarithm = math.log(rest * (1.0 + abs(x)))
    half = 2.0 / (math.pi * 0.147) + logarithm / 2.0
    y = math.sqrt(math.sqrt(half * half - logarithm / 0.147) - half)
    for _ in range(4):
        miss = math.erf(y) - abs(x) if abs(x) < 0.5 else rest - math.erfc(y)
        error = miss / (_TWO_OVER_ROOT_PI * math.exp(-y * y))
        y -= error / (1.0 + y * error)
    return math.copysign(y, x)


def _lifted(function: Callable[..., float], count: int) -> Callable[[Any, list[Any]], Array]:
    """A function of float64 numbers as one of arrays of every float type."""
    vector = np.frompyfunc(function, count, 1)

    def apply(instruction: Any, operands: list[Any]) -> Array:
        wide = [exact(operand) for operand in operands]
        result = np.asarray(vector(*wide), dtype=np.float64)
        return narrowed(result, kind_of(operands[0]))

    return apply


def next_after(instruction: Any, operands: list[Any]) -> Array:
    """The neighbour of the first operand in the second one's direction."""
    return np.asarray(np.nextafter(operands[0], operands[1]))


TARGETS: dict[str, Callable[[Any, list[Any]], Any]] = {
    "chlo.bessel_i1e": _lifted(bessel_i1e, 1),
    "chlo.digamma": _lifted(digamma, 1),
    "chlo.erf_inv": _lifted(erf_inv, 1),
    "chlo.erfc": _lifted(erfc, 1),
    "chlo.lgamma": _lifted(lgamma, 1),
    "chlo.next_after": next_after,
    "chlo.polygamma": _lifted(polygamma, 2),
    "chlo.zeta": _lifted(zeta, 2),
}
"""Custom call targets by name."""
