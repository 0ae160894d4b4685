"""Derives the polynomials of `compiler.lower.math`: weighted minimax by Remez exchange in decimal
arithmetic.

E. Ya. Remez, 1934; J.-M. Muller, Elementary Functions, 3rd ed., section 3.5. For f32 the lowest
coefficient is rounded first and the others solved anew, so that rounding costs little. Run as
`python -m tests.lower.minimax` it prints every table; a test recomputes some.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, getcontext
from functools import cache

getcontext().prec = 60
D = Decimal
Function = Callable[[Decimal], Decimal]
PI = D("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803")
LN2 = D(2).ln()


def series(x: Decimal, ratio: Callable[[Decimal, int], Decimal], first: Decimal) -> Decimal:
    """The sum of terms, each `ratio(x, n)` times the one before."""
    total, term, n = D(0), first, 1
    while abs(term) > D(10) ** -58:
        total += term
        term *= ratio(x, n)
        n += 1
    return total


def sin(x: Decimal) -> Decimal:
    return series(x, lambda x, n: -x * x / (2 * n * (2 * n + 1)), x)


def cos(x: Decimal) -> Decimal:
    return series(x, lambda x, n: -x * x / ((2 * n - 1) * 2 * n), D(1))


def atan(x: Decimal) -> Decimal:
    """Halves the argument three times, then sums the series."""
    for _ in range(3):
        x = x / (1 + (1 + x * x).sqrt())
    total, power, n = D(0), x, 1
    while abs(power) > D(10) ** -58:
        total += power / n
        power *= -x * x
        n += 2
    return 8 * total


@cache
def erf(x: Decimal) -> Decimal:
    """exp(-x^2) times a series of positive terms: nothing cancels."""
    total = series(x, lambda x, n: 2 * x * x / (2 * n + 1), x)
    return 2 / PI.sqrt() * (-x * x).exp() * total


def erfc(x: Decimal) -> Decimal:
    getcontext().prec = 90
    try:
        return 1 - erf(x)
    finally:
        getcontext().prec = 60


def solve(rows: list[list[Decimal]]) -> list[Decimal]:
    """Gauss elimination with pivoting; each row ends with its right hand side."""
    size = len(rows)
    for column in range(size):
        pivot = max(range(column, size), key=lambda r: abs(rows[r][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for row in range(column + 1, size):
            factor = rows[row][column] / rows[column][column]
            rows[row] = [a - factor * b for a, b in zip(rows[row], rows[column])]
    found = [D(0)] * size
    for row in reversed(range(size)):
        rest = sum((rows[row][c] * found[c] for c in range(row + 1, size)), D(0))
        found[row] = (rows[row][size] - rest) / rows[row][row]
    return found


@dataclass(frozen=True)
class Problem:
    """Approximate `f` on low..high by sum c_i g(x)^i with the error weighted by `weight`."""

    f: Function
    weight: Function
    low: Decimal
    high: Decimal
    variable: Function = lambda x: x


def remez(
    problem: Problem, powers: Sequence[int], fixed: dict[int, Decimal]
) -> tuple[dict[int, Decimal], Decimal]:
    """Coefficients for the free powers, the others fixed, and the largest weighted error."""
    free = [p for p in powers if p not in fixed]
    count = len(free) + 1
    middle, half = (problem.low + problem.high) / 2, (problem.high - problem.low) / 2
    grid = [middle - half * cos(PI * i / 400) for i in range(401)]
    values = [(x, problem.variable(x), problem.f(x), problem.weight(x)) for x in grid]
    if fixed:
        values = [row for row in values if row[3] * abs(row[1]) > D("0.00001")]
    rests = [f - sum((c * power(v, p) for p, c in fixed.items()), D(0)) for _, v, f, _ in values]
    last = len(values) - 1
    points = [round(i * last / max(count - 1, 1)) for i in range(count)]
    coefficients: dict[int, Decimal] = {}
    for _ in range(30):
        rows = [
            [*(power(values[i][1], p) for p in free), D((-1) ** n) / values[i][3], rests[i]]
            for n, i in enumerate(points)
        ]
        solution = solve(rows)
        coefficients = dict(zip(free, solution))
        errors = [
            (rests[i] - sum((c * power(v, p) for p, c in coefficients.items()), D(0))) * w
            for i, (_, v, _, w) in enumerate(values)
        ]
        chosen = alternation(errors, count)
        if chosen == points or len(chosen) < count:
            break
        points = chosen
    return coefficients, max(abs(e) for e in errors)


def alternation(errors: list[Decimal], count: int) -> list[int]:
    """The places of the largest errors of alternating sign."""
    peaks: list[int] = []
    for i, error in enumerate(errors):
        if peaks and (errors[peaks[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[peaks[-1]]):
                peaks[-1] = i
        elif error != 0:
            peaks.append(i)
    while len(peaks) > count:
        peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
    return peaks


def as_float(value: Decimal, bits: int) -> Decimal:
    """The nearest f32 or f64 value."""
    if bits == 64:
        return D(float(value))
    return D(struct.unpack("<f", struct.pack("<f", float(value)))[0])


def fit(problem: Problem, degree: int, bits: int) -> tuple[tuple[float, ...], float]:
    """Coefficients, highest power first, each a float of the type, and the largest weighted
    error."""
    powers = range(degree + 1)
    exact, _ = remez(problem, powers, {})
    if bits == 64:
        plain = {p: as_float(c, bits) for p, c in exact.items()}
        return tuple(float(plain[p]) for p in reversed(powers)), float(error_of(problem, plain))
    lowest = {0: as_float(exact[0], bits)}
    rest, _ = remez(problem, powers, lowest)
    found = lowest | {p: as_float(c, bits) for p, c in rest.items()}
    return tuple(float(found[p]) for p in reversed(powers)), float(error_of(problem, found))


def error_of(problem: Problem, coefficients: dict[int, Decimal]) -> Decimal:
    """The largest weighted error of a polynomial on a grid."""
    middle, half = (problem.low + problem.high) / 2, (problem.high - problem.low) / 2
    worst = D(0)
    for i in range(501):
        x = middle - half * cos(PI * i / 500)
        v = problem.variable(x)
        value = sum((c * power(v, p) for p, c in coefficients.items()), D(0))
        worst = max(worst, abs(value - problem.f(x)) * problem.weight(x))
    return worst


def power(base: Decimal, exponent: int) -> Decimal:
    return base**exponent if exponent else D(1)


def limit_at_zero(f: Function, value: str) -> Function:
    return lambda x: D(value) if abs(x) < D(10) ** -20 else f(x)


def _square(x: Decimal) -> Decimal:
    return x * x


HALF_LN2 = LN2 / 2 * D("1.0001")
TINY = D("0.0001")
ROOT = D(2).sqrt()


def _log_tail(x: Decimal) -> Decimal:
    return ((1 + x).ln() - x + x * x / 2) / x**3


def _log_tail_s(s: Decimal) -> Decimal:
    return ((1 + s).ln() - (1 - s).ln() - 2 * s) / s**3


PROBLEMS: dict[str, Problem] = {
    # exp(r) = 1 + r + r^2 q(r), the error relative to expm1
    "exp": Problem(
        limit_at_zero(lambda r: (r.exp() - 1 - r) / r**2, "0.5"),
        lambda r: abs(r) + D("0.001"), -HALF_LN2, HALF_LN2,
    ),
    # log(1+f) = f - f^2/2 + f^3 p(f)
    "log": Problem(
        limit_at_zero(_log_tail, "0.33333333333333333333333333333333333333"),
        lambda f: f * f + D("0.0001"), 1 / ROOT - 1, ROOT - 1,
    ),
    # log((1+s)/(1-s)) = 2s + s^3 p(s^2)
    "log_s": Problem(
        limit_at_zero(_log_tail_s, "0.66666666666666666666666666666666666666"),
        lambda s: s * s + D("0.0001"), D(0), (ROOT - 1) / (ROOT + 1), _square,
    ),
    # sin(r) = r + r^3 p(r^2);  cos(r) = 1 - r^2/2 + r^4 p(r^2)
    "sin": Problem(
        limit_at_zero(lambda r: (sin(r) - r) / r**3, "-0.16666666666666666666666666666666666667"),
        lambda r: r * r + D("0.001"), D(0), PI / 4 * D("1.06"), _square,
    ),
    "cos": Problem(
        lambda r: (cos(r) - 1 + r * r / 2) / r**4 if r > D("1e-6") else D(1) / 24,
        lambda r: r**4 + D("0.001"), D(0), PI / 4 * D("1.06"), _square,
    ),
    # atan(t) = t + t^3 p(t^2)
    "atan": Problem(
        limit_at_zero(lambda t: (atan(t) - t) / t**3, "-0.33333333333333333333333333333333333333"),
        lambda t: t**3 / atan(t) + D("0.0001") if t > TINY else D("0.0001"), D(0), D(1), _square,
    ),
    # erf(x) = x + x p(x^2) on 0..1
    "erf": Problem(
        lambda x: erf(x) / x - 1 if x > D("1e-20") else 2 / PI.sqrt() - 1,
        lambda x: D(1), D(0), D(1), _square,
    ),
}  # fmt: skip


def tail_problem(end: str) -> Problem:
    """-log(erfc(a)) on 1..end, the error as it appears in erf."""
    return Problem(lambda a: -(erfc(a).ln()), lambda a: erfc(a) / erf(a), D(1), D(end))


TABLES: tuple[tuple[str, str, int, int], ...] = (
    ("exp32", "exp", 4, 32), ("exp64", "exp", 9, 64),
    ("log32", "log", 8, 32), ("log64", "log_s", 6, 64), ("pow32", "log_s", 3, 32),
    ("sin32", "sin", 2, 32), ("sin64", "sin", 5, 64),
    ("cos32", "cos", 2, 32), ("cos64", "cos", 5, 64),
    ("atan32", "atan", 8, 32), ("atan64", "atan", 19, 64),
    ("erf32", "erf", 6, 32), ("erf64", "erf", 11, 64),
)  # fmt: skip


def main() -> None:
    for name, problem, degree, bits in TABLES:
        coefficients, error = fit(PROBLEMS[problem], degree, bits)
        print(name, f"error {error:.2e}", coefficients, flush=True)
    for name, end, degree, bits in (("tail32", "4", 7, 32), ("tail64", "6", 17, 64)):
        coefficients, error = fit(tail_problem(end), degree, bits)
        print(name, f"error {error:.2e}", coefficients, flush=True)


if __name__ == "__main__":
    main()
