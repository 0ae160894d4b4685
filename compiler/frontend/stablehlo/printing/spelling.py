"""Types, constants and attribute values as StableHLO spells them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.hlo.errors import HloUnsupportedError
from compiler.hlo.shape import (
    UNBOUNDED,
    ArrayShape,
    ElementType,
    Family,
    Shape,
    TokenShape,
    TupleShape,
)

_LISTED = 64
"""Constants of more elements are written as hexadecimal bytes."""
_DIGITS = {ElementType.F64: 16}
_FEW_DIGITS = 8
"""Digits after the point that tell all values of a float type apart."""


def element_name(kind: ElementType) -> str:
    """``i1``, ``ui8``, ``f8E4M3FN``, ``complex<f32>``."""
    if kind is ElementType.PRED:
        return "i1"
    if kind.bits == 1:
        raise HloUnsupportedError(f"StableHLO has no type {kind}")
    if kind.is_complex:
        return f"complex<{kind.real}>"
    if kind.is_integer:
        return f"{'i' if kind.is_signed else 'ui'}{kind.bits}"
    return kind.text if kind.bits >= 16 else kind.text[:2] + kind.text[2:].upper()


def type_name(shape: Shape) -> str:
    """A value's type. Raises HloUnsupportedError for what StableHLO has no type for."""
    if isinstance(shape, ArrayShape):
        return _tensor(shape)
    if isinstance(shape, TokenShape):
        return "!stablehlo.token"
    if isinstance(shape, TupleShape):
        return f"tuple<{', '.join(map(type_name, shape.elements))}>"
    raise HloUnsupportedError(f"StableHLO has no type {shape}")


def _tensor(shape: ArrayShape) -> str:
    flags = [shape.is_dynamic_dimension(i) for i in range(shape.rank)]
    extents = ["?" if d else str(e) for e, d in zip(shape.dimensions, flags, strict=True)]
    text = "x".join([*extents, element_name(shape.element_type)])
    bounded = any(d and e != UNBOUNDED for e, d in zip(shape.dimensions, flags, strict=True))
    if not bounded:
        return f"tensor<{text}>"
    pairs = zip(shape.dimensions, flags, strict=True)
    bounds = ", ".join(str(e) if d and e != UNBOUNDED else "?" for e, d in pairs)
    return f"tensor<{text}, #stablehlo.bounds<{bounds}>>"


def function_type(operands: Sequence[Shape], results: Sequence[Shape]) -> str:
    """``(types) -> types``."""
    left = ", ".join(map(type_name, operands))
    right = ", ".join(map(type_name, results))
    return f"({left}) -> {right}" if len(results) == 1 else f"({left}) -> ({right})"


def dense(array: np.ndarray, kind: ElementType) -> str:
    """``dense<...> : tensor<...>`` that reads back bit for bit."""
    shape = ArrayShape(kind, array.shape)
    return f"dense<{_dense_body(array, kind)}> : {type_name(shape)}"


def _dense_body(array: np.ndarray, kind: ElementType) -> str:
    if array.size == 0:
        return ""
    flat = np.ascontiguousarray(array).reshape(-1)
    if array.ndim and flat.tobytes() == flat[:1].tobytes() * flat.size:
        return _value(flat[:1], kind)
    whole_bytes = kind.bits >= 8
    if array.size > _LISTED and whole_bytes:
        return f'"0x{flat.tobytes().hex().upper()}"'
    texts = [_value(flat[i : i + 1], kind) for i in range(flat.size)]
    return _nested(texts, array.shape)


def _nested(texts: list[str], dimensions: tuple[int, ...]) -> str:
    if not dimensions:
        return texts[0]
    for extent in reversed(dimensions):
        rows = range(0, len(texts), extent)
        texts = ["[" + ", ".join(texts[row : row + extent]) + "]" for row in rows]
    return texts[0]


def _value(one: np.ndarray, kind: ElementType) -> str:
    """One element of an array of one."""
    if kind.family is Family.PREDICATE:
        return "true" if one[0] else "false"
    if kind.is_integer:
        return str(int(one[0]))
    if kind.is_complex:
        halves = one.view(kind.real.dtype)
        return f"({_value(halves[:1], kind.real)},{_value(halves[1:], kind.real)})"
    wide = float(one[0])
    if not np.isfinite(wide) or kind.bits < 16:
        bits = one.view(f"u{kind.size_bytes}")[0]
        return f"0x{int(bits):0{2 * kind.size_bytes}X}"
    return f"{wide:.{_DIGITS.get(kind, _FEW_DIGITS)}e}"


def i64_array(numbers: Sequence[int]) -> str:
    """``array<i64: 1, 2>``."""
    return f"array<i64: {', '.join(map(str, numbers))}>" if numbers else "array<i64>"


def i64_matrix(rows: Sequence[Sequence[int]]) -> str:
    """``dense<[[0, 1]]> : tensor<1x2xi64>``; short rows are filled with -1."""
    width = max((len(row) for row in rows), default=0)
    filled = [[*row, *[-1] * (width - len(row))] for row in rows]
    array = np.array(filled, dtype=np.int64).reshape(len(filled), width)
    return dense(array, ElementType.S64)


def truth(value: bool) -> str:
    return "true" if value else "false"


def ints(numbers: Sequence[int]) -> str:
    """``[1, 2]``."""
    return f"[{', '.join(map(str, numbers))}]"
