"""HLO's reduce-precision, on the bits: rounds the mantissa to nearest even, sends what the smaller
exponent cannot hold to infinity or to zero, and keeps NaN (as XLA's elemental IR emitter does; only
a format with fewer exponent bits than the type has loses its subnormals).
"""

from __future__ import annotations

from compiler.llvm.ir import Predicate, Value
from compiler.llvm.types import Kind
from compiler.lower.arithmetic import Arithmetic

_MANTISSA_BITS = {16: 10, 32: 23, 64: 52}
_BRAIN_MANTISSA_BITS = 7


def reduce_precision(a: Arithmetic, x: Value, exponent_bits: int, mantissa_bits: int) -> Value:
    """`x` rounded to a format of so many bits, as its own type."""
    is_brain = x.type.kind is Kind.BFLOAT
    own_mantissa = _BRAIN_MANTISSA_BITS if is_brain else _MANTISSA_BITS[x.type.bits]
    own_exponent = x.type.bits - 1 - own_mantissa
    before = a.bits(x)
    bits = before
    if mantissa_bits < own_mantissa:
        bits = _rounded(a, bits, own_mantissa - mantissa_bits)
    if exponent_bits < own_exponent:
        bits = _in_range(a, bits, own_mantissa, own_exponent, exponent_bits)
    is_nan = a.fcmp(Predicate.UNO, x, x)
    return a.bitcast(a.select(is_nan, before, bits), x.type)


def _rounded(a: Arithmetic, bits: Value, dropped: int) -> Value:
    """Adds just under half of the last place kept, and that place's own bit: ties go to even."""
    last = a.iand(a.lshr(bits, dropped), a.number(bits.type, 1))
    bias = a.bits_constant(bits.type, (1 << (dropped - 1)) - 1)
    raised = a.iadd(bits, a.iadd(last, bias))
    return a.iand(raised, a.number(bits.type, -(1 << dropped)))


def _in_range(
    a: Arithmetic, bits: Value, mantissa: int, exponent: int, exponent_bits: int
) -> Value:
    type = bits.type
    bias = (1 << (exponent - 1)) - 1
    reach = (1 << (exponent_bits - 1)) - 1
    size = a.iand(bits, a.bits_constant(type, ((1 << exponent) - 1) << mantissa))
    sign = a.iand(bits, a.bits_constant(type, 1 << (type.bits - 1)))
    infinity = a.ior(sign, a.bits_constant(type, ((1 << exponent) - 1) << mantissa))
    is_large = a.icmp(Predicate.UGT, size, a.bits_constant(type, (bias + reach) << mantissa))
    is_small = a.icmp(Predicate.ULE, size, a.bits_constant(type, (bias - reach) << mantissa))
    return a.select(is_large, infinity, a.select(is_small, sign, bits))
