"""Running totals, extremes and logarithms of sums along a dimension.

Each takes log2(extent) steps: what stands 1, 2, 4, ... places before is combined with what stands
here (Hillis and Steele, "Data parallel algorithms", 1986).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from compiler.frontend.torch.build import Builder, Value
from compiler.frontend.torch.dtypes import Number, element_type, highest, lowest
from compiler.frontend.torch.pointwise import GE, LE, Rule
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ElementType

Combine = Callable[[Sequence[Value], Sequence[Value]], Sequence[Value]]
"""What came before and what stands here, each a list of arrays."""


def _scan(
    b: Builder, values: Sequence[Value], axis: int, fillers: Sequence[Number], combine: Combine
) -> Sequence[Value]:
    """Values combined with all before them; the fillers stand before the first."""
    if values[0].rank == 0:
        return values
    edges = [b.number(filler, v.kind) for filler, v in zip(fillers, values, strict=True)]
    extent, step = values[0].dimensions[axis], 1
    while step < extent:
        moved = [(0, 0, 0)] * values[0].rank
        moved[axis] = (step, -step, 0)
        before = [b.pad(v, moved, edge) for v, edge in zip(values, edges, strict=True)]
        values = combine(before, values)
        step *= 2
    return values


def _total(opcode: Opcode, initial: Number) -> Rule:
    def rule(b: Builder, x: Value, dim: int, *, dtype: Any = None) -> Value:
        x = b.convert(x, b.result_kind if dtype is None else element_type(dtype))
        total = _scan(
            b, [x], x.axis(dim), [initial], lambda old, new: [b.emit(opcode, new[0], old[0])]
        )
        return total[0]

    return rule


def _extreme(is_maximum: bool) -> Rule:
    """Values and the last places where they stand; a NaN stays."""

    def rule(b: Builder, x: Value, dim: int) -> Sequence[Value]:
        if x.rank == 0:
            return x, b.number(0, ElementType.S64)
        axis = x.axis(dim)
        places = b.iota(ElementType.S64, x.dimensions, axis)
        filler = lowest(x.kind) if is_maximum else highest(x.kind)

        def combine(old: Sequence[Value], new: Sequence[Value]) -> Sequence[Value]:
            is_new = b.compare(GE if is_maximum else LE, new[0], old[0])
            if x.kind.is_float:
                is_new = b.emit(Opcode.OR, is_new, b.is_nan(new[0]))
            return [b.select(is_new, n, o, n.kind) for o, n in zip(old, new, strict=True)]

        return _scan(b, [x, places], axis, [filler, 0], combine)

    return rule


def logcumsumexp(b: Builder, x: Value, dim: int) -> Value:
    def combine(old: Sequence[Value], new: Sequence[Value]) -> Sequence[Value]:
        high = b.binary(Opcode.MAXIMUM, old[0], new[0])
        low = b.binary(Opcode.MINIMUM, old[0], new[0])
        known = b.select(b.emit(Opcode.IS_FINITE, high), high, 0, x.kind)
        rest = b.emit(Opcode.EXP, b.subtract(low, known))
        grown = b.add(known, b.emit(Opcode.LOG1P, rest))
        return [b.select(b.emit(Opcode.IS_FINITE, high), grown, high, x.kind)]

    return _scan(b, [x], x.axis(dim), [-math.inf], combine)[0]


TABLE: dict[str, Rule] = {
    "aten.cumsum": _total(Opcode.ADD, 0), "aten.cumprod": _total(Opcode.MULTIPLY, 1),
    "aten.cummax": _extreme(True), "aten.cummin": _extreme(False),
    "aten.logcumsumexp": logcumsumexp,
}  # fmt: skip
"""Rules by operator."""
