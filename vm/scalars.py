"""Scalar integer effects on Python ints, which are several times faster than NumPy scalars.

Values are unsigned (`0 <= v < 2**bits`); comparisons give bool. Builders take the width in bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from isas import flags as bit
from isas.effects import Effect

E = Effect
IntOperation = Callable[..., int]


def to_signed(value: int, bits: int) -> int:
    """The same bits read as two's complement."""
    return value - (1 << bits) if value >> (bits - 1) else value


def _wrapping(operation: IntOperation) -> Callable[[int], IntOperation]:
    def build(bits: int) -> IntOperation:
        mask = (1 << bits) - 1
        return lambda a, b: operation(a, b) & mask

    return build


def _plain(operation: IntOperation) -> Callable[[int], IntOperation]:
    return lambda bits: operation


def _signed_comparison(operation: Callable[[int, int], bool]) -> Callable[[int], IntOperation]:
    """Compares after flipping the sign bits, which orders two's complement as unsigned."""

    def build(bits: int) -> IntOperation:
        sign = 1 << (bits - 1)
        return lambda a, b: operation(a ^ sign, b ^ sign)

    return build


def _shift_left(bits: int) -> IntOperation:
    mask = (1 << bits) - 1
    return lambda a, count: (a << count) & mask if count < bits else 0


def _shift_right(bits: int) -> IntOperation:
    return lambda a, count: a >> count if count < bits else 0


def _shift_arithmetic(bits: int) -> IntOperation:
    mask = (1 << bits) - 1
    return lambda a, count: (to_signed(a, bits) >> min(count, bits - 1)) & mask


def _division(is_signed: bool, is_remainder: bool) -> Callable[[int], IntOperation]:
    """Rounds towards zero; division by zero as in `vm.arithmetic`: all ones (its rest: the
    dividend)."""

    def build(bits: int) -> IntOperation:
        mask = (1 << bits) - 1

        def divide(a: int, b: int) -> int:
            x, y = (to_signed(a, bits), to_signed(b, bits)) if is_signed else (a, b)
            if y == 0:
                return a if is_remainder else mask
            quotient = abs(x) // abs(y)
            quotient = -quotient if (x < 0) != (y < 0) else quotient
            return (x - quotient * y if is_remainder else quotient) & mask

        return divide

    return build


INT_OPERATIONS: Mapping[Effect, Callable[[int], IntOperation]] = MappingProxyType(
    {
        E.ADD: _wrapping(lambda a, b: a + b),
        E.SUB: _wrapping(lambda a, b: a - b),
        E.MUL: _wrapping(lambda a, b: a * b),
        E.SDIV: _division(True, False),
        E.UDIV: _division(False, False),
        E.SREM: _division(True, True),
        E.UREM: _division(False, True),
        E.AND: _plain(lambda a, b: a & b),
        E.OR: _plain(lambda a, b: a | b),
        E.XOR: _plain(lambda a, b: a ^ b),
        E.SHL: _shift_left,
        E.LSHR: _shift_right,
        E.ASHR: _shift_arithmetic,
        E.ICMP_EQ: _plain(lambda a, b: a == b),
        E.ICMP_NE: _plain(lambda a, b: a != b),
        E.ICMP_ULT: _plain(lambda a, b: a < b),
        E.ICMP_ULE: _plain(lambda a, b: a <= b),
        E.ICMP_UGT: _plain(lambda a, b: a > b),
        E.ICMP_UGE: _plain(lambda a, b: a >= b),
        E.ICMP_SLT: _signed_comparison(lambda a, b: a < b),
        E.ICMP_SLE: _signed_comparison(lambda a, b: a <= b),
        E.ICMP_SGT: _signed_comparison(lambda a, b: a > b),
        E.ICMP_SGE: _signed_comparison(lambda a, b: a >= b),
    }
)
"""Binary integer effects by width."""


def _pack(carry: bool, parity: bool, zero: bool, sign: bool, overflow: bool) -> int:
    return (
        carry << bit.CARRY
        | parity << bit.PARITY
        | zero << bit.ZERO
        | sign << bit.SIGN
        | overflow << bit.OVERFLOW
    )


def _of_result(result: int, bits: int, carry: bool, overflow: bool) -> int:
    even = (result & 0xFF).bit_count() % 2 == 0
    return _pack(carry, even, result == 0, bool(result >> (bits - 1)), overflow)


def _flags_sub(a: int, b: int, bits: int, carry_means_borrow: bool) -> int:
    result = (a - b) & ((1 << bits) - 1)
    overflow = bool(((a ^ b) & (a ^ result)) >> (bits - 1))
    return _of_result(result, bits, (a < b) == carry_means_borrow, overflow)


def _flags_add(a: int, b: int, bits: int) -> int:
    total = a + b
    result = total & ((1 << bits) - 1)
    overflow = bool((~(a ^ b) & (a ^ result)) >> (bits - 1) & 1)
    return _of_result(result, bits, total >> bits != 0, overflow)


def _flags_fcmp(a: float, b: float) -> int:
    """Intel SDM volume 2, UCOMISS: unordered sets Z, P and C."""
    if a != a or b != b:
        return _pack(True, True, True, False, False)
    return _pack(bool(a < b), False, bool(a == b), False, False)


def _flags_fcmp_nzcv(a: float, b: float) -> int:
    """Arm Architecture Reference Manual, FCMP: unordered sets C and V."""
    if a != a or b != b:
        return _pack(True, False, False, False, True)
    return _pack(bool(a >= b), False, bool(a == b), bool(a < b), False)


def compute_flags(producer: Effect, arguments: tuple[int | float, ...], bits: int) -> int:
    """The flag bits that `producer` gives for its arguments of `bits` bits."""
    if producer is E.FLAGS_UNDEFINED:
        return 0
    a, b = arguments[0], arguments[-1]
    if producer is E.FLAGS_FCMP:
        return _flags_fcmp(a, b)
    if producer is E.FLAGS_FCMP_NZCV:
        return _flags_fcmp_nzcv(a, b)
    left, right = int(a), int(b)
    if producer in (E.FLAGS_SUB, E.FLAGS_SUB_NZCV):
        return _flags_sub(left, right, bits, producer is E.FLAGS_SUB)
    if producer is E.FLAGS_ADD:
        return _flags_add(left, right, bits)
    operation = {E.FLAGS_AND: E.AND, E.FLAGS_OR: E.OR, E.FLAGS_XOR: E.XOR}[producer]
    return _of_result(INT_OPERATIONS[operation](bits)(left, right), bits, False, False)
