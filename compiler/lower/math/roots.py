"""sqrt, rsqrt and cbrt.

sqrt is an instruction everywhere, rsqrt its reciprocal: two correctly rounded steps. For cbrt the
bits of a positive number, divided by 3, are nearly the bits of its root (W. Kahan, Computing a Real
Cube Root, 1991); each Halley step cubes the error.
"""

from __future__ import annotations

from compiler.llvm.ir import Opcode, Predicate, Value
from compiler.llvm.types import Type
from compiler.lower.arithmetic import Arithmetic

# (1 - 1/3) * bias * 2^mantissa, less a little that centres the error of the guess.
_MAGIC_F32 = 709921077
_MAGIC_F64 = 3071306043645493248


def sqrt(a: Arithmetic, x: Value) -> Value:
    return a.sqrt(x)


def rsqrt(a: Arithmetic, x: Value) -> Value:
    return a.fdiv(a.number(x.type, 1.0), a.sqrt(x))


def _third(a: Arithmetic, bits: Value, type: Type) -> Value:
    """A third of a positive integer, near enough for a first guess."""
    number = a.cast(Opcode.SITOFP, bits, type)
    return a.cast(Opcode.FPTOSI, a.fmul(number, a.number(type, 1 / 3)), bits.type)


def _halley(a: Arithmetic, y: Value, x: Value) -> Value:
    """y * (y^3 + 2x) / (2y^3 + x), written as y plus a small correction; quarters keep the sum
    finite."""
    quarter = a.number(x.type, 0.25)
    cube = a.fmul(a.fmul(y, y), a.fmul(y, quarter))
    given = a.fmul(x, quarter)
    below = a.fadd(a.fadd(cube, cube), given)
    error = a.fsub(given, cube)
    return a.fma(y, a.fdiv(error, below), y)


def cbrt(a: Arithmetic, x: Value) -> Value:
    type, integer = x.type, x.type.as_int()
    is_single = type.bits == 32
    lift, least = (24, 2.0**-100) if is_single else (54, 2.0**-960)
    size = a.fabs(x)
    is_small = a.fcmp(Predicate.OLT, size, a.number(type, least))
    lifted = a.select(is_small, a.fmul(size, a.number(type, 2.0**lift)), size)
    infinity, zero = a.number(type, float("inf")), a.number(type, 0.0)
    is_plain = a.iand(a.fcmp(Predicate.OGT, size, zero), a.fcmp(Predicate.OLT, size, infinity))
    safe = a.select(is_plain, lifted, a.number(type, 1.0))
    guess = a.iadd(
        _third(a, a.bits(safe), type), a.number(integer, _MAGIC_F32 if is_single else _MAGIC_F64)
    )
    y = a.bitcast(guess, type)
    for _ in range(2 if is_single else 3):
        y = _halley(a, y, safe)
    back = a.number(type, 2.0 ** (-lift // 3))
    y = a.select(is_small, a.fmul(y, back), y)
    return a.flip_sign(a.select(is_plain, y, size), a.sign_bit(x))
