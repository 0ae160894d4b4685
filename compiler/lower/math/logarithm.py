"""log and log1p.

x = 2^k * m with sqrt(1/2) <= m < sqrt(2), taken from the bits, and f = m - 1 is exact (Muller,
Elementary Functions, 3rd ed., chapter 11). In f32 log(1+f) = f - f^2/2 + f^3 p(f) needs no
division, which vector units are slow at; in f64 the series in s = f/(2+f) halves the degree. k*ln2
is added in two parts.

log1p(x) is the log of u = 1+x, rounded, plus the part that the rounding lost divided by u (W.
Kahan's correction, to first order). Polynomials: tests/lower/minimax.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.llvm.ir import Opcode, Predicate, Value
from compiler.llvm.types import Type
from compiler.lower.arithmetic import Arithmetic

LOG_F32 = (
    0.04271788150072098, -0.10360528528690338, 0.12292042374610901, -0.12657324969768524,
    0.14198917150497437, -0.16652759909629822, 0.20002494752407074, -0.250002920627594,
    0.3333331048488617,
)  # fmt: skip
LOG_F64 = (
    0.14791923241278843, 0.15314481416713507, 0.18183546083146715, 0.22222198959604758,
    0.28571428738143695, 0.39999999999436997, 0.6666666666666731,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LogTable:
    """Numbers below `least_normal` are scaled by 2^`lift` first. `root_half` are the bits of
    sqrt(1/2)."""

    mantissa: int
    least_normal: float
    lift: int
    root_half: int
    ln2_high: float
    ln2_low: float


_F32 = LogTable(23, 2.0**-126, 23, 0x3F3504F3, 0.693145751953125, 1.428606765330187e-06)
_F64 = LogTable(52, 2.0**-1022, 52, 0x3FE6A09E667F3BCD, 0.693147180559663, 2.8235290563031577e-13)


def table_of(type: Type) -> LogTable:
    return _F32 if type.bits == 32 else _F64


def split(a: Arithmetic, x: Value) -> tuple[Value, Value]:
    """(k, f) of x = 2^k * (1 + f), k as a float; for positive finite x, garbage without harm for
    others."""
    table, type, integer = table_of(x.type), x.type, x.type.as_int()
    is_small = a.fcmp(Predicate.OLT, x, a.number(type, table.least_normal))
    lifted = a.select(is_small, a.fmul(x, a.number(type, 2.0**table.lift)), x)
    shift = a.select(is_small, a.number(type, float(-table.lift)), a.number(type, 0.0))
    root = a.bits_constant(integer, table.root_half)
    distance = a.isub(a.bits(lifted), root)
    exponent = a.cast(Opcode.SITOFP, a.ashr(distance, table.mantissa), type)
    fraction = a.iand(distance, a.bits_constant(integer, (1 << table.mantissa) - 1))
    m = a.bitcast(a.iadd(fraction, root), type)
    return a.fadd(exponent, shift), a.fsub(m, a.number(type, 1.0))


def _log_positive(a: Arithmetic, x: Value) -> Value:
    table, type = table_of(x.type), x.type
    k, f = split(a, x)
    low = a.fmul(k, a.number(type, table.ln2_low))
    if type.bits == 32:
        tail = a.fma(f, a.horner(f, LOG_F32), a.number(type, -0.5))
        small = a.fma(a.fmul(f, f), tail, low)
        return a.fma(k, a.number(type, table.ln2_high), a.fadd(f, small))
    half_square = a.fmul(a.fmul(f, f), a.number(type, 0.5))
    s = a.fdiv(f, a.fadd(f, a.number(type, 2.0)))
    square = a.fmul(s, s)
    tail = a.fmul(square, a.horner(square, LOG_F64))
    small = a.fma(s, a.fadd(half_square, tail), low)
    return a.fma(k, a.number(type, table.ln2_high), a.fsub(f, a.fsub(half_square, small)))


def log(a: Arithmetic, x: Value) -> Value:
    zero, infinity = a.number(x.type, 0.0), a.number(x.type, float("inf"))
    is_plain = a.iand(a.fcmp(Predicate.OGT, x, zero), a.fcmp(Predicate.OLT, x, infinity))
    special = a.select(a.fcmp(Predicate.OLT, x, zero), a.number(x.type, float("nan")), x)
    special = a.select(a.fcmp(Predicate.OEQ, x, zero), a.number(x.type, float("-inf")), special)
    return a.select(is_plain, _log_positive(a, x), special)


def log1p(a: Arithmetic, x: Value) -> Value:
    one, zero = a.number(x.type, 1.0), a.number(x.type, 0.0)
    u = a.fadd(x, one)
    is_large = a.fcmp(Predicate.OGE, x, one)
    lost = a.select(is_large, a.fsub(one, a.fsub(u, x)), a.fsub(x, a.fsub(u, one)))
    main = log(a, u)
    corrected = a.fadd(main, a.fdiv(lost, u))
    infinity = a.number(x.type, float("inf"))
    is_plain = a.iand(a.fcmp(Predicate.OGT, u, zero), a.fcmp(Predicate.OLT, u, infinity))
    result = a.select(is_plain, corrected, main)
    return a.select(a.fcmp(Predicate.OEQ, x, zero), x, result)
