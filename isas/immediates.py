"""Which numbers an immediate operand can hold, and which lane lists an immediate byte can say.

`fits` answers for numbers. For the `lanes_*` encodings, `lanes_of` gives the lane list that a byte
means (as in shufflevector over both sources), and `byte_for` the byte for a wanted list, so that a
selector can match shuffles and a machine can run them.
"""

from __future__ import annotations

from functools import cache

from isas.model import ImmediateEncoding, ImmediateForm
from isas.values import ValueType

LANE_ENCODINGS = frozenset(
    encoding for encoding in ImmediateEncoding if encoding.value.startswith("lanes_")
)
"""Encodings whose byte chooses lanes of a shuffle."""


def fits(form: ImmediateForm, value: int | float, bits: int) -> bool:
    """Whether an immediate of this form can hold `value` in an operation on `bits`-bit elements."""
    if form.encoding is ImmediateEncoding.FLOAT_BITS:
        return True
    if form.encoding is ImmediateEncoding.ARM_FLOAT8:
        return is_arm_float8(float(value))
    if isinstance(value, float):
        return False
    if form.encoding is ImmediateEncoding.ARM_LOGICAL:
        return is_arm_logical(value, bits)
    if form.encoding is ImmediateEncoding.ARM_MOVE:
        return is_arm_move(value, bits)
    return form.minimum <= value <= form.maximum and value % form.multiple == 0


@cache
def _logical_values(bits: int) -> frozenset[int]:
    """Every pattern of one run of ones, rotated and replicated (DDI 0487, DecodeBitMasks)."""
    found = set()
    size = 2
    while size <= bits:
        mask = (1 << size) - 1
        for ones in range(1, size):
            run = (1 << ones) - 1
            for turn in range(size):
                element = ((run >> turn) | (run << (size - turn))) & mask
                value = 0
                for start in range(0, bits, size):
                    value |= element << start
                found.add(value)
        size *= 2
    return frozenset(found)


def is_arm_logical(value: int, bits: int) -> bool:
    """Whether an AArch64 logical instruction can hold the `bits`-bit pattern `value`."""
    if not -(1 << (bits - 1)) <= value < 1 << bits:
        return False
    return (value & ((1 << bits) - 1)) in _logical_values(bits)


def is_arm_move(value: int, bits: int) -> bool:
    """Whether one AArch64 `mov` can make `value`: movz, movn or a logical pattern."""
    mask = (1 << bits) - 1
    if not -(1 << (bits - 1)) <= value <= mask:
        return False
    pattern = value & mask
    halves = range(0, bits, 16)
    is_wide = any(
        chosen & ~(0xFFFF << shift) == 0
        for chosen in (pattern, ~pattern & mask)
        for shift in halves
    )
    return is_wide or is_arm_logical(pattern, bits)


def is_arm_float8(value: float) -> bool:
    """Whether fmov can hold `value`: ±(16..31)/16 × 2^(-3..4) (DDI 0487, VFPExpandImm)."""
    magnitude = abs(value)
    return any(
        magnitude == mantissa / 16 * 2.0**exponent
        for exponent in range(-3, 5)
        for mantissa in range(16, 32)
    )


def lanes_of(encoding: ImmediateEncoding, byte: int, source: ValueType) -> tuple[int, ...]:
    """The lane list (over both sources, as in shufflevector) that `byte` means on `source`."""
    return _LANES[encoding](byte, source)


def byte_for(encoding: ImmediateEncoding, lanes: tuple[int, ...], source: ValueType) -> int | None:
    """The least byte whose lane list is `lanes` (-1: any lane), or None when no byte says it."""
    return _byte_for(encoding, lanes, source)


@cache
def _byte_for(encoding: ImmediateEncoding, lanes: tuple[int, ...], source: ValueType) -> int | None:
    for byte in range(256):
        said = lanes_of(encoding, byte, source)
        if len(said) == len(lanes) and all(want in (-1, got) for want, got in zip(lanes, said)):
            return byte
    return None


def _in_128(byte: int, source: ValueType) -> tuple[int, ...]:
    """vpermilps, vpshufd: the same four choices in every 128-bit part."""
    return tuple(
        group + ((byte >> (2 * place)) & 3)
        for group in range(0, source.lanes, 4)
        for place in range(4)
    )


def _two_sources(byte: int, source: ValueType) -> tuple[int, ...]:
    """vshufps: two lanes of the first source, then two of the second, in every 128-bit part."""
    chosen = []
    for group in range(0, source.lanes, 4):
        for place in range(4):
            start = source.lanes if place >= 2 else 0
            chosen.append(start + group + ((byte >> (2 * place)) & 3))
    return tuple(chosen)


def _pairs(byte: int, source: ValueType) -> tuple[int, ...]:
    """vpermilpd, vshufpd on one source: a bit per 64-bit lane."""
    return tuple((lane & ~1) + ((byte >> lane) & 1) for lane in range(source.lanes))


def _halves(byte: int, source: ValueType) -> tuple[int, ...]:
    """vperm2f128: each result half is any of the four source halves (bits 3, 7 must be 0)."""
    half = source.lanes // 2
    low, high = byte & 3, (byte >> 4) & 3
    if byte & 0x88:
        return ()
    return tuple(low * half + lane for lane in range(half)) + tuple(
        high * half + lane for lane in range(half)
    )


def _across_64(byte: int, source: ValueType) -> tuple[int, ...]:
    """vpermpd, vpermq: any of four 64-bit lanes for each."""
    per = source.lanes // 4
    return tuple(
        ((byte >> (2 * place)) & 3) * per + part for place in range(4) for part in range(per)
    )


def _blend(byte: int, source: ValueType) -> tuple[int, ...]:
    """vblendps: a bit per lane chooses the second source."""
    return tuple(lane + (source.lanes if (byte >> lane) & 1 else 0) for lane in range(source.lanes))


def _extract(byte: int, source: ValueType) -> tuple[int, ...]:
    """ext: consecutive bytes of the two sources, starting at byte `byte`."""
    width = source.bits // 8
    if byte % width or byte >= source.total_bits // 8:
        return ()
    first = byte // width
    return tuple(range(first, first + source.lanes))


_LANES = {
    ImmediateEncoding.LANES_IN_128: _in_128,
    ImmediateEncoding.LANES_TWO_SOURCES: _two_sources,
    ImmediateEncoding.LANES_PAIRS: _pairs,
    ImmediateEncoding.LANES_HALVES: _halves,
    ImmediateEncoding.LANES_ACROSS_64: _across_64,
    ImmediateEncoding.LANES_BLEND: _blend,
    ImmediateEncoding.LANES_EXTRACT: _extract,
}
