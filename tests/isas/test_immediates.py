"""Which immediates fit, against the definitions in the manuals."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isas.immediates import byte_for, is_arm_float8, is_arm_logical, is_arm_move, lanes_of
from isas.model import ImmediateEncoding
from isas.values import parse_type

V4F32, V8F32, V4F64 = (parse_type(name) for name in ("v4f32", "v8f32", "v4f64"))


def _decode_logical(n: int, turn: int, size_and_ones: int, bits: int) -> int | None:
    """DecodeBitMasks of the Arm ARM (DDI 0487, shared/functions/integer): the pattern, or None."""
    length = (n << 6 | (~size_and_ones & 0x3F)).bit_length() - 1
    if length < 1 or bits < 1 << length:
        return None
    size, levels = 1 << length, (1 << length) - 1
    ones, turn = (size_and_ones & levels) + 1, turn & levels
    if ones == size:
        return None
    run = (1 << ones) - 1
    element = (run >> turn | run << (size - turn)) & ((1 << size) - 1)
    return sum(element << start for start in range(0, bits, size))


@pytest.mark.parametrize("bits", [32, 64])
def test_arm_logical_immediates_are_those_that_decode(bits: int) -> None:
    decoded = {
        _decode_logical(n, turn, sizes, bits)
        for n in range(2)
        for turn in range(64)
        for sizes in range(64)
    } - {None}
    accepted = {value for value in decoded if value is not None and is_arm_logical(value, bits)}
    assert accepted == decoded
    assert not any(is_arm_logical(value, bits) for value in (0, (1 << bits) - 1, -1, 5, 0x12345))


@given(st.integers(0, 2**64 - 1))
def test_arm_logical_immediates_do_not_depend_on_the_sign_they_are_written_with(value: int) -> None:
    signed = value - 2**64 if value >> 63 else value
    assert is_arm_logical(value, 64) == is_arm_logical(signed, 64)


def test_arm_float8_has_256_values_and_not_zero() -> None:
    values = set()
    for byte in range(256):  # VFPExpandImm: sign, not b, b repeated, cd, efgh
        sign, b, tail = byte >> 7, byte >> 6 & 1, byte & 0x3F
        bits = sign << 31 | (b ^ 1) << 30 | (0x1F * b) << 25 | tail << 19
        values.add(struct.unpack(">f", struct.pack(">I", bits))[0])
    assert len(values) == 256
    assert all(is_arm_float8(value) for value in values)
    assert not any(is_arm_float8(value) for value in (0.0, 0.1, 32.0, 0.0625, 1.03125))


@pytest.mark.parametrize(
    ("value", "bits", "fits"),
    [
        (0, 32, True),
        (65535, 32, True),
        (65536, 32, True),
        (0x10001, 32, True),
        (0x12345, 32, False),
        (-1, 32, True),
        (-65537, 32, True),
        (-70000, 32, False),
        (0xFFFF00000000, 64, True),
        (0x123400005678, 64, False),
        (1 << 64, 64, False),
    ],
)
def test_arm_mov_takes_one_half_word_or_its_inverse_or_a_pattern(
    value: int, bits: int, fits: bool
) -> None:
    assert is_arm_move(value, bits) == fits


LANES = [e for e in ImmediateEncoding if e.value.startswith("lanes_")]


@pytest.mark.parametrize("encoding", LANES)
def test_a_byte_for_lanes_says_those_lanes(encoding: ImmediateEncoding) -> None:
    for source in (V4F32, V8F32, V4F64):
        assert source is not None
        for byte in range(256):
            lanes = lanes_of(encoding, byte, source)
            if lanes:
                found = byte_for(encoding, lanes, source)
                assert found is not None and lanes_of(encoding, found, source) == lanes


def test_lanes_as_the_manuals_give_them() -> None:
    assert V4F32 is not None and V8F32 is not None and V4F64 is not None
    assert lanes_of(ImmediateEncoding.LANES_IN_128, 0b00_01_10_11, V8F32) == (
        3,
        2,
        1,
        0,
        7,
        6,
        5,
        4,
    )
    assert lanes_of(ImmediateEncoding.LANES_TWO_SOURCES, 0b01_00_11_10, V4F32) == (2, 3, 4, 5)
    assert lanes_of(ImmediateEncoding.LANES_HALVES, 0x21, V8F32) == (4, 5, 6, 7, 8, 9, 10, 11)
    assert lanes_of(ImmediateEncoding.LANES_ACROSS_64, 0b00_01_10_11, V4F64) == (3, 2, 1, 0)
    assert lanes_of(ImmediateEncoding.LANES_BLEND, 0b1010, V4F32) == (0, 5, 2, 7)
    assert lanes_of(ImmediateEncoding.LANES_EXTRACT, 4, V4F32) == (1, 2, 3, 4)
    assert byte_for(ImmediateEncoding.LANES_IN_128, (-1, 0, -1, 2), V4F32) == 0b10_00_00_00
    assert byte_for(ImmediateEncoding.LANES_IN_128, (4, 0, 1, 2), V4F32) is None
