"""The floating-point remainder with the dividend's sign (C's fmod), exactly.

|x| is reduced by |y| times ever smaller powers of two, 2^(22 n) (2^(51 n) in f64), as in a long
division whose digits have 22 bits: each quotient digit is a rounded division cut to an integer, at
most one too large; an fma gives its exact remainder, corrected when negative. Steps whose multiple
of y exceeds what is left change nothing, so no branch is needed.
"""

from __future__ import annotations

from compiler.llvm.ir import Predicate, Value
from compiler.lower.arithmetic import Arithmetic


def remainder(a: Arithmetic, x: Value, y: Value) -> Value:
    type = x.type
    digit, span = (22, 277) if type.bits == 32 else (51, 2098)
    zero, infinity = a.number(type, 0.0), a.number(type, float("inf"))
    left, divisor = a.fabs(x), a.fabs(y)
    for step in reversed(range(-(-span // digit))):
        multiple = _times_power(a, divisor, step * digit)
        fits = a.fcmp(Predicate.OLE, multiple, left)
        whole = a.rounding("trunc", a.fdiv(left, multiple))
        rest = a.fma(a.fneg(whole), multiple, left)
        rest = a.select(a.fcmp(Predicate.OLT, rest, zero), a.fadd(rest, multiple), rest)
        left = a.select(fits, rest, left)
    result = a.flip_sign(left, a.sign_bit(x))
    is_defined = a.iand(
        a.fcmp(Predicate.OLT, a.fabs(x), infinity), a.fcmp(Predicate.OGT, divisor, zero)
    )
    return a.select(is_defined, result, a.number(type, float("nan")))


def _times_power(a: Arithmetic, value: Value, power: int) -> Value:
    """value * 2^power in steps that are floats themselves; too large gives infinity."""
    largest = 100 if value.type.bits == 32 else 1000
    while power > 0:
        part = min(power, largest)
        value = a.fmul(value, a.number(value.type, 2.0**part))
        power -= part
    return value
