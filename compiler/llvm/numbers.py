"""Exact conversions between Python numbers and the bit patterns of the IR's scalar types."""

from __future__ import annotations

import math
import struct

from compiler.llvm.types import F32, F64, Kind, Type

# (exponent bits, stored fraction bits) of each float format: IEEE 754-2019 table 3.5; bfloat16 is
# the upper half of binary32.
_FORMATS = {
    (Kind.FLOAT, 16): (5, 10),
    (Kind.BFLOAT, 16): (8, 7),
    (Kind.FLOAT, 32): (8, 23),
    (Kind.FLOAT, 64): (11, 52),
}


def double_bits(value: float) -> int:
    """The 64 bits of a Python float, NaN payload and sign included."""
    bits: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    return bits


def double_from_bits(bits: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    return value


def float_bits(value: float, type: Type) -> int:
    """The bits of `value` rounded to nearest even into the scalar float `type`. A NaN keeps its
    sign and the upper payload bits."""
    exponent_bits, fraction_bits = _FORMATS[type.kind, type.bits]
    bits = double_bits(value)
    sign = bits >> 63 << (type.bits - 1)
    top = ((1 << exponent_bits) - 1) << fraction_bits
    if math.isnan(value):
        payload = (bits & (2**52 - 1)) >> (52 - fraction_bits)
        return sign | top | (payload or 1 << (fraction_bits - 1))
    if math.isinf(value):
        return sign | top
    if value == 0.0:
        return sign
    return sign | min(_magnitude(abs(value), exponent_bits, fraction_bits), top)


def _magnitude(value: float, exponent_bits: int, fraction_bits: int) -> int:
    """Exponent and fraction fields of a positive finite value; an overflow carries into the
    exponent."""
    bias = (1 << (exponent_bits - 1)) - 1
    exponent = max(math.frexp(value)[1] - 1, 1 - bias)
    numerator, denominator = value.as_integer_ratio()
    shift = fraction_bits - exponent
    if shift >= 0:
        numerator <<= shift
    else:
        denominator <<= -shift
    quotient, rest = divmod(numerator, denominator)
    if 2 * rest > denominator or (2 * rest == denominator and quotient & 1):
        quotient += 1
    return quotient + ((exponent + bias - 1) << fraction_bits)


def float_from_bits(bits: int, type: Type) -> float:
    """The Python float with the value of `bits` in the scalar float `type`; NaN payloads are
    widened."""
    exponent_bits, fraction_bits = _FORMATS[type.kind, type.bits]
    fraction = bits & ((1 << fraction_bits) - 1)
    exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1)
    sign = bits >> (type.bits - 1) & 1
    if exponent == (1 << exponent_bits) - 1:
        return double_from_bits(sign << 63 | 0x7FF << 52 | fraction << (52 - fraction_bits))
    bias = (1 << (exponent_bits - 1)) - 1
    hidden = 1 << fraction_bits if exponent else 0
    magnitude = math.ldexp(hidden + fraction, max(exponent, 1) - bias - fraction_bits)
    return -magnitude if sign else magnitude


def round_float(value: float, type: Type) -> float:
    """`value` rounded to nearest even into `type`."""
    return value if type == F64 else float_from_bits(float_bits(value, type), type)


def wrap_int(value: int, bits: int) -> int:
    """`value` modulo 2**bits, as a signed number (i1: 0 or -1)."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def float_literal(value: float, type: Type) -> str:
    """LLVM's exact hexadecimal form (LangRef, "Simple Constants"): half 0xH, bfloat 0xR; float is
    printed with the bits of the double of the same value."""
    if type.kind is Kind.BFLOAT:
        return f"0xR{float_bits(value, type):04X}"
    if type.bits == 16:
        return f"0xH{float_bits(value, type):04X}"
    if type == F32:
        value = float_from_bits(float_bits(value, F32), F32)
    return f"0x{double_bits(value):016X}"


def parse_float_literal(text: str, type: Type) -> float:
    """The value of any float literal LLVM prints for a scalar `type`.

    Raises ValueError when the text is none."""
    if text.startswith(("0xH", "0xR")):
        return float_from_bits(int(text[3:], 16), type)
    if text.startswith("f0x"):
        return float_from_bits(int(text[3:], 16), type)
    if text.startswith("0x"):
        return double_from_bits(int(text, 16))
    return round_float(float(text), type)
