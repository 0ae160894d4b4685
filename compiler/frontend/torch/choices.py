"""Core ATen operators that ask and choose, element by element: comparisons, truth values, tests of
floats, selections and limits.
"""

from __future__ import annotations

import math

from compiler.frontend.torch.build import Builder, Value
from compiler.frontend.torch.dtypes import highest, lowest
from compiler.frontend.torch.pointwise import EQ, GE, GT, LE, LT, NE, Operand, Rule, copysign
from compiler.hlo.attributes import ComparisonDirection
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ElementType


def _comparison(direction: ComparisonDirection) -> Rule:
    return lambda b, x, y: b.compare(direction, x, y)


def _logical(opcode: Opcode) -> Rule:
    def rule(b: Builder, x: Value, y: Value) -> Value:
        return b.binary(opcode, b.convert(x, ElementType.PRED), b.convert(y, ElementType.PRED))

    return rule


def logical_not(b: Builder, x: Value) -> Value:
    return b.emit(Opcode.NOT, b.convert(x, ElementType.PRED))


def isinf(b: Builder, x: Value) -> Value:
    if not x.kind.is_float:
        return b.full(False, ElementType.PRED, x.dimensions)
    return b.compare(EQ, b.emit(Opcode.ABS, x), math.inf)


def isnan(b: Builder, x: Value) -> Value:
    return b.is_nan(x) if x.kind.is_float else b.full(False, ElementType.PRED, x.dimensions)


def isfinite(b: Builder, x: Value) -> Value:
    if not x.kind.is_float:
        return b.full(True, ElementType.PRED, x.dimensions)
    return b.emit(Opcode.IS_FINITE, x)


def signbit(b: Builder, x: Value) -> Value:
    if not x.kind.is_float:
        return b.compare(LT, x, 0)
    return b.compare(LT, copysign(b, b.full_like(1, x), x), 0)


def shift_right(b: Builder, x: Operand, y: Operand) -> Value:
    kind = b.common_kind(x, y)
    opcode = Opcode.SHIFT_RIGHT_ARITHMETIC if kind.is_signed else Opcode.SHIFT_RIGHT_LOGICAL
    return b.emit(opcode, *b.aligned(kind, x, y))


# -- choices ------------------------------------------------------------------------------------


def where(b: Builder, condition: Value, x: Operand, y: Operand) -> Value:
    return b.select(b.convert(condition, ElementType.PRED), x, y, b.common_kind(x, y))


def masked_fill(b: Builder, x: Value, mask: Value, value: Operand) -> Value:
    return b.select(mask, value, x, x.kind)


def clamp(b: Builder, x: Value, min: Operand | None = None, max: Operand | None = None) -> Value:
    found: Value = x
    if min is not None:
        found = b.binary(Opcode.MAXIMUM, found, min)
    if max is not None:
        found = b.binary(Opcode.MINIMUM, found, max)
    return found


def nan_to_num(
    b: Builder,
    x: Value,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Value:
    if not x.kind.is_float:
        return x
    largest = float(_finite_limit(x.kind))
    found = b.select(b.is_nan(x), nan or 0.0, x, x.kind)
    found = b.select(
        b.compare(EQ, x, highest(x.kind)), largest if posinf is None else posinf, found, x.kind
    )
    return b.select(
        b.compare(EQ, x, lowest(x.kind)), -largest if neginf is None else neginf, found, x.kind
    )


def _finite_limit(kind: ElementType) -> float:
    import ml_dtypes

    return float(ml_dtypes.finfo(kind.dtype).max)


TABLE: dict[str, Rule] = {
    **{
        f"aten.{name}": _comparison(direction)
        for name, direction in {
            "eq": EQ, "ne": NE, "lt": LT, "le": LE, "gt": GT, "ge": GE,
        }.items()
    },
    **{
        f"aten.{name}": _logical(opcode)
        for name, opcode in {
            "logical_and": Opcode.AND, "logical_or": Opcode.OR, "logical_xor": Opcode.XOR,
        }.items()
    },
    "aten.logical_not": logical_not,
    "aten.bitwise_right_shift": shift_right, "aten.__rshift__": shift_right,
    "aten.isinf": isinf, "aten.isnan": isnan, "aten.isfinite": isfinite, "aten.signbit": signbit,
    "aten.where": where, "aten.masked_fill": masked_fill, "aten.clamp": clamp,
    "aten.clamp_min": lambda b, x, low: clamp(b, x, low, None),
    "aten.clamp_max": lambda b, x, high: clamp(b, x, None, high),
    "aten.nan_to_num": nan_to_num,
}  # fmt: skip
"""Rules by operator, overloads sharing one."""
