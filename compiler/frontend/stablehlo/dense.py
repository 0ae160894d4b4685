"""The element values of ``dense<...>``: nested lists, one value for all, or hexadecimal bytes.

Decimals pass through float64, as MLIR's parser has them do; ``0x`` on a float is its bit pattern.
"""

from __future__ import annotations

import re

import numpy as np

from compiler.frontend.stablehlo.types import MlirType, TensorType
from compiler.hlo.errors import Malformed
from compiler.hlo.evaluate.numbers import wrapped
from compiler.hlo.shape import ArrayShape, ElementType, Family
from compiler.hlo.text.floats import float_array

MAX_ELEMENTS = 1 << 28
"""The largest constant that is read."""

_VALUE = re.compile(r"\([^()]*\)|[^\s\[\],()]+")
_SKELETON = re.compile(r"\([^()]*\)|[^\s\[\],]+")
_SPACE = re.compile(r"\s+")
_HEX = re.compile(r"-?0x([0-9A-Fa-f]+)\Z")
_INTEGER = re.compile(r"-?\d{1,20}\Z")
_SHOWN = 24


def static_shape(kind: MlirType) -> ArrayShape:
    """The shape of a constant's type. Raises Malformed when it is not a static tensor."""
    if not isinstance(kind, TensorType):
        raise Malformed(f"a constant needs a tensor of a type that HLO has, not {kind}")
    if not kind.shape.is_static:
        raise Malformed(f"a constant needs a static shape, not {kind}")
    if kind.shape.element_count > MAX_ELEMENTS:
        raise Malformed(f"{kind} is too large for a constant")
    return kind.shape


def parse_dense(text: str, kind: MlirType) -> np.ndarray:
    """The array that the inside of ``dense<...>`` spells. Raises Malformed."""
    shape = static_shape(kind)
    inside = text.strip()
    if inside.startswith('"'):
        return _from_bytes(_hex_bytes(inside.strip('"')), shape)
    if not inside:
        if shape.element_count:
            raise Malformed(f"{shape} needs values")
        return np.zeros(shape.dimensions, shape.element_type.dtype)
    values = _VALUE.findall(inside)
    if inside[0] != "[":
        if len(values) != 1:
            raise Malformed(f"expected one value or a list in brackets, found '{inside[:_SHOWN]}'")
        one = _array_of(values, shape.element_type)
        return np.broadcast_to(one.reshape(()), shape.dimensions)
    _check_nesting(inside, shape)
    if len(values) != shape.element_count:
        raise Malformed(f"{shape} needs {shape.element_count} values, {len(values)} are given")
    return _array_of(values, shape.element_type).reshape(shape.dimensions)


def parse_resource(blob: str, kind: MlirType) -> np.ndarray:
    """The array of a resource blob: four bytes of alignment, then the elements' bytes."""
    data = _hex_bytes(blob)
    return _from_bytes(data[4:], static_shape(kind))


def _check_nesting(text: str, shape: ArrayShape) -> None:
    """The brackets must nest as the dimensions ask."""
    found = _SPACE.sub("", _SKELETON.sub("", text))
    expected = ""
    length = 0
    for extent in reversed(shape.dimensions):
        length = 2 + extent * length + max(extent - 1, 0)
    if length == len(found):
        for extent in reversed(shape.dimensions):
            expected = "[" + ",".join([expected] * extent) + "]"
    if expected != found or length != len(found):
        raise Malformed(f"the brackets of the constant do not nest as {shape} asks")


def _hex_bytes(text: str) -> bytes:
    if not text.startswith("0x"):
        raise Malformed("expected a string of hexadecimal digits that begins with 0x")
    try:
        return bytes.fromhex(text[2:])
    except ValueError:
        raise Malformed("expected an even number of hexadecimal digits after 0x") from None


def _from_bytes(data: bytes, shape: ArrayShape) -> np.ndarray:
    """Little-endian bytes of all elements, or of one for all; truth values may be packed."""
    kind, count = shape.element_type, shape.element_count
    size = kind.dtype.itemsize
    if kind is ElementType.PRED:
        return _truth_from_bytes(data, shape)
    if len(data) not in (size, size * count):
        raise Malformed(f"{shape} takes {size * count} bytes, {len(data)} are given")
    raw = np.frombuffer(data, np.uint8)
    if kind.is_integer and kind.bits < 8:
        values = wrapped(raw.astype(np.int64), kind)
    else:
        values = np.frombuffer(data, kind.dtype)
    if len(values) != count:
        return np.broadcast_to(values.reshape(()), shape.dimensions)
    return values.reshape(shape.dimensions).copy()


def _truth_from_bytes(data: bytes, shape: ArrayShape) -> np.ndarray:
    count = shape.element_count
    raw = np.frombuffer(data, np.uint8)
    if len(data) == -(-count // 8) and count > 1:
        bits = np.unpackbits(raw, bitorder="little")[:count]
        return bits.astype(np.bool_).reshape(shape.dimensions)
    if len(data) == count:
        return (raw != 0).reshape(shape.dimensions)
    if len(data) == 1:
        return np.full(shape.dimensions, raw[0] != 0)
    raise Malformed(f"{shape} takes {-(-count // 8)} bytes, {len(data)} are given")


def _array_of(values: list[str], kind: ElementType) -> np.ndarray:
    if kind.family is Family.PREDICATE:
        return np.array([_truth(value) for value in values], dtype=np.bool_)
    if kind.is_integer:
        return _integers(values, kind)
    if kind.is_complex:
        return _complex(values, kind)
    return _floats(values, kind)


def _truth(value: str) -> bool:
    if value in ("true", "1", "-1"):
        return True
    if value in ("false", "0"):
        return False
    raise Malformed(f"expected true or false, found '{value[:_SHOWN]}'")


def _integers(values: list[str], kind: ElementType) -> np.ndarray:
    low, high = -(1 << (kind.bits - 1)), (1 << kind.bits) - 1
    numbers: list[int] = []
    for value in values:
        number = _integer(value, kind)
        if not (0 if kind.is_unsigned else low) <= number <= high:
            raise Malformed(f"{value[:_SHOWN]} does not fit in {kind}")
        numbers.append(number - (1 << 64) if number >= 1 << 63 else number)
    wide = np.array(numbers, dtype=np.int64)
    return wide.view(np.uint64) if kind is ElementType.U64 else wrapped(wide, kind)


def _integer(value: str, kind: ElementType) -> int:
    if _INTEGER.match(value):
        return int(value)
    if _HEX.match(value) and len(value) <= 20:
        return int(value, 16)
    if value in ("true", "false"):
        return int(value == "true")
    raise Malformed(f"expected an integer for {kind}, found '{value[:_SHOWN]}'")


def _complex(values: list[str], kind: ElementType) -> np.ndarray:
    parts: list[str] = []
    for value in values:
        pair = value[1:-1].split(",") if value.startswith("(") else ()
        if len(pair) != 2:
            raise Malformed(f"expected (real, imaginary), found '{value[:_SHOWN]}'")
        parts.extend(part.strip() for part in pair)
    return _floats(parts, kind.real).view(kind.dtype)


def _floats(values: list[str], kind: ElementType) -> np.ndarray:
    patterns = {i: m for i, v in enumerate(values) if (m := _HEX.match(v)) is not None}
    decimals = ["0" if i in patterns else value for i, value in enumerate(values)]
    array = float_array(decimals, kind)
    if patterns:
        bits = np.array(array).view(f"u{kind.dtype.itemsize}")
        for place, match in patterns.items():
            if len(match[1]) * 4 > max(kind.bits, 8) + 3 or int(match[1], 16) >> kind.bits:
                raise Malformed(f"0x{match[1][:_SHOWN]} has more bits than {kind}")
            bits[place] = int(match[1], 16)
        return bits.view(kind.dtype)
    return array
