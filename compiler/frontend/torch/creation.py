"""Core ATen operators that make arrays out of nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.frontend.torch.build import Builder, Value
from compiler.frontend.torch.dtypes import Number
from compiler.frontend.torch.pointwise import EQ, Rule
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ElementType


def full(b: Builder, size: Sequence[int], value: Number, **_keywords: Any) -> Value:
    return b.full(value, b.result_kind, size)


def full_like(b: Builder, x: Value, value: Number, **_keywords: Any) -> Value:
    return b.full(value, b.result_kind, x.dimensions)


def _filled(value: Number) -> Rule:
    return lambda b, size, *_args, **_keywords: b.full(value, b.result_kind, size)


def _filled_like(value: Number) -> Rule:
    return lambda b, x, **_keywords: b.full(value, b.result_kind, x.dimensions)


def _new_filled(value: Number) -> Rule:
    return lambda b, _x, size, *_args, **_keywords: b.full(value, b.result_kind, size)


def new_full(b: Builder, _x: Value, size: Sequence[int], value: Number, **_keywords: Any) -> Value:
    return b.full(value, b.result_kind, size)


def scalar_tensor(b: Builder, value: Number, **_keywords: Any) -> Value:
    return b.number(value, b.result_kind)


def _range(b: Builder, start: Number, step: Number, count: int) -> Value:
    """start + step * (0, 1, ...), computed in the result's type."""
    kind = b.result_kind
    places = b.iota(kind, (count,), 0)
    if step != 1:
        places = b.emit(Opcode.MULTIPLY, places, b.full_like(step, places))
    if start != 0:
        places = b.emit(Opcode.ADD, places, b.full_like(start, places))
    return places


def arange(b: Builder, *bounds: Any, **_keywords: Any) -> Value:
    start, end, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    return _range(b, start, step, len(np.arange(start, end, step)))


def iota(b: Builder, count: int, *, start: int, step: int, **_keywords: Any) -> Value:
    return _range(b, start, step, count)


def linspace(b: Builder, start: float, end: float, steps: int, **_keywords: Any) -> Value:
    return b.array(np.linspace(start, end, steps).astype(b.result_kind.dtype))


def eye(b: Builder, rows: int, columns: int | None = None, **_keywords: Any) -> Value:
    extents = (rows, rows if columns is None else columns)
    places = [b.iota(ElementType.S64, extents, d) for d in range(2)]
    return b.convert(b.compare(EQ, *places), b.result_kind)


TABLE: dict[str, Rule] = {
    "aten.full": full, "aten.full_like": full_like, "aten.scalar_tensor": scalar_tensor,
    "aten.zeros": _filled(0), "aten._efficientzerotensor": _filled(0),
    "aten.ones": _filled(1), "aten.empty": _filled(0),
    "aten.empty_strided": _filled(0), "aten.empty_permuted": _filled(0),
    "prims.empty_strided": _filled(0),
    "aten.zeros_like": _filled_like(0), "aten.ones_like": _filled_like(1),
    "aten.empty_like": _filled_like(0), "aten.new_full": new_full,
    "aten.new_zeros": _new_filled(0), "aten.new_ones": _new_filled(1),
    "aten.new_empty": _new_filled(0), "aten.new_empty_strided": _new_filled(0),
    "aten.arange": arange, "prims.iota": iota, "aten.linspace": linspace, "aten.eye": eye,
}  # fmt: skip
"""Rules by operator."""
