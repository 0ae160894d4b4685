"""Core ATen operators that reduce, scan, sort or normalise along dimensions."""

from __future__ import annotations

import math
from typing import Any

from compiler.frontend.torch.build import Builder, Value
from compiler.frontend.torch.build import array_shape as shape_of
from compiler.frontend.torch.dtypes import Number, element_type
from compiler.frontend.torch.pointwise import EQ, GT, LT, Rule, floating
from compiler.hlo.attributes import ComparisonDirection
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ElementType

Axes = int | list[int] | None


def _typed(b: Builder, x: Value, dtype: Any) -> Value:
    """As the result's type: sums of integers are int64."""
    return b.convert(x, b.result_kind if dtype is None else element_type(dtype))


def sum_(
    b: Builder, x: Value, dim: Axes = None, keepdim: bool = False, *, dtype: Any = None
) -> Value:
    return b.sum(_typed(b, x, dtype), x.axes(dim), keepdim)


def mean(
    b: Builder, x: Value, dim: Axes = None, keepdim: bool = False, *, dtype: Any = None
) -> Value:
    return b.mean(_typed(b, x, dtype), x.axes(dim), keepdim)


def prod(
    b: Builder, x: Value, dim: Axes = None, keepdim: bool = False, *, dtype: Any = None
) -> Value:
    return b.reduce(Opcode.MULTIPLY, _typed(b, x, dtype), x.axes(dim), 1, keepdim)


def amax(b: Builder, x: Value, dim: Axes = None, keepdim: bool = False) -> Value:
    return b.maximum_of(x, x.axes(dim), keepdim)


def amin(b: Builder, x: Value, dim: Axes = None, keepdim: bool = False) -> Value:
    return b.minimum_of(x, x.axes(dim), keepdim)


def any_(b: Builder, x: Value, dim: Axes = None, keepdim: bool = False) -> Value:
    truth = b.convert(x, ElementType.PRED)
    return b.reduce(Opcode.OR, truth, x.axes(dim), False, keepdim)


def all_(b: Builder, x: Value, dim: Axes = None, keepdim: bool = False) -> Value:
    truth = b.convert(x, ElementType.PRED)
    return b.reduce(Opcode.AND, truth, x.axes(dim), True, keepdim)


def var_mean(
    b: Builder,
    x: Value,
    dim: Axes = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Number | None = None,
) -> tuple[Value, Value]:
    """Variance about the mean in two passes, and the mean."""
    taken = 1 if correction is None and unbiased is not False else correction or 0
    axes = x.axes(dim)
    center = b.mean(x, axes, keep=True)
    distance = b.subtract(x, center)
    total = b.sum(b.multiply(distance, distance), axes, keepdim)
    count = math.prod(x.dimensions[d] for d in axes) - float(taken)  # type: ignore[arg-type]
    variance = b.divide(total, b.full_like(max(count, 0.0), total))
    return variance, center if keepdim else b.reshape(center, variance.dimensions)


def var(b: Builder, x: Value, *args: Any, **keywords: Any) -> Value:
    return var_mean(b, x, *args, **keywords)[0]


def std(b: Builder, x: Value, *args: Any, **keywords: Any) -> Value:
    return b.emit(Opcode.SQRT, var(b, x, *args, **keywords))


# -- where the extreme is -----------------------------------------------------------------------


def _extreme_at(b: Builder, x: Value, axis: int, extreme: Value, keep: bool) -> Value:
    """The first place along an axis where the extreme (kept with extent 1) stands; NaN counts."""
    is_there = b.compare(EQ, x, extreme)
    if x.kind.is_float:
        is_there = b.emit(Opcode.OR, is_there, b.is_nan(x))
    places = b.iota(ElementType.S64, x.dimensions, axis)
    first = b.select(is_there, places, x.dimensions[axis], ElementType.S64)
    return b.minimum_of(first, (axis,), keep)


def _extreme(
    b: Builder, x: Value, dim: int, keepdim: bool, is_maximum: bool
) -> tuple[Value, Value]:
    if x.rank == 0:
        return x, b.number(0, ElementType.S64)
    axis = x.axis(dim)
    reduce = b.maximum_of if is_maximum else b.minimum_of
    extreme = reduce(x, (axis,), True)
    place = _extreme_at(b, x, axis, extreme, keepdim)
    return b.reshape(extreme, place.dimensions), place


def max_(b: Builder, x: Value, dim: int | None = None, keepdim: bool = False) -> Any:
    return b.maximum_of(x, x.axes(None)) if dim is None else _extreme(b, x, dim, keepdim, True)


def min_(b: Builder, x: Value, dim: int | None = None, keepdim: bool = False) -> Any:
    return b.minimum_of(x, x.axes(None)) if dim is None else _extreme(b, x, dim, keepdim, False)


def _arg(is_maximum: bool) -> Rule:
    def rule(b: Builder, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
        if dim is not None:
            return _extreme(b, x, dim, keepdim, is_maximum)[1]
        flat = b.reshape(x, [math.prod(x.dimensions)])
        place = _extreme(b, flat, 0, False, is_maximum)[1]
        return b.reshape(place, [1] * x.rank) if keepdim else place

    return rule


# -- order --------------------------------------------------------------------------------------


def _sorted(b: Builder, x: Value, axis: int, descending: bool) -> list[Value]:
    """Values and places, stable, NaN above every number."""

    def before(inner: Builder, values: list[Value]) -> list[Value]:
        one, other = values[:2]
        is_before = inner.compare(GT if descending else LT, one, other)
        if not x.kind.is_float:
            return [is_before]
        high, low = (one, other) if descending else (other, one)
        alone = inner.emit(
            Opcode.AND, inner.is_nan(high), inner.emit(Opcode.NOT, inner.is_nan(low))
        )
        return [inner.emit(Opcode.OR, is_before, alone)]

    scalars = [shape_of(x.kind, ())] * 2 + [shape_of(ElementType.S64, ())] * 2
    comparator = b.add_computation("before", scalars, before)
    places = b.iota(ElementType.S64, x.dimensions, axis)
    return b.emit_many(
        Opcode.SORT, x, places, dimensions=(axis,), is_stable=True, to_apply=comparator
    )


def sort(
    b: Builder, x: Value, dim: int = -1, descending: bool = False, **_stable: Any
) -> tuple[Value, Value]:
    if x.rank == 0:
        return x, b.number(0, ElementType.S64)
    values, places = _sorted(b, x, x.axis(dim), descending)
    return values, places


def sort_stable(
    b: Builder, x: Value, *, stable: bool | None = None, dim: int = -1, descending: bool = False
) -> tuple[Value, Value]:
    return sort(b, x, dim, descending)


def argsort(b: Builder, x: Value, dim: int = -1, descending: bool = False) -> Value:
    return sort(b, x, dim, descending)[1]


def topk(
    b: Builder, x: Value, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Value, Value]:
    if x.rank == 0:
        return x, b.number(0, ElementType.S64)
    axis = x.axis(dim)
    values, places = _sorted(b, x, axis, largest)
    return b.slice_along(values, axis, 0, k), b.slice_along(places, axis, 0, k)


def kthvalue(
    b: Builder, x: Value, k: int, dim: int = -1, keepdim: bool = False
) -> tuple[Value, ...]:
    axis = x.axis(dim)
    found = [b.slice_along(part, axis, k - 1, k) for part in _sorted(b, x, axis, False)]
    kept = [e for d, e in enumerate(x.dimensions) if d != axis]
    return tuple(found) if keepdim else tuple(b.reshape(part, kept) for part in found)


# -- softmax ------------------------------------------------------------------------------------


def _shifted(b: Builder, x: Value, dim: int) -> tuple[Value, tuple[int, ...]]:
    x = floating(b, x)
    axes = (x.axis(dim),) if x.rank else ()
    return b.subtract(x, b.maximum_of(x, axes, keep=True)), axes


def softmax(b: Builder, x: Value, dim: int, half_to_float: bool = False) -> Value:
    if half_to_float:
        x = b.convert(x, ElementType.F32)
    shifted, axes = _shifted(b, x, dim)
    powers = b.emit(Opcode.EXP, shifted)
    return b.divide(powers, b.sum(powers, axes, keep=True))


def log_softmax(b: Builder, x: Value, dim: int, half_to_float: bool = False) -> Value:
    if half_to_float:
        x = b.convert(x, ElementType.F32)
    shifted, axes = _shifted(b, x, dim)
    total = b.sum(b.emit(Opcode.EXP, shifted), axes, keep=True)
    return b.subtract(shifted, b.emit(Opcode.LOG, total))


def softmax_backward(b: Builder, grad: Value, output: Value, dim: int, _dtype: Any) -> Value:
    weighted = b.multiply(grad, output)
    axes = (output.axis(dim),) if output.rank else ()
    return b.subtract(weighted, b.multiply(output, b.sum(weighted, axes, keep=True)))


def log_softmax_backward(b: Builder, grad: Value, output: Value, dim: int, _dtype: Any) -> Value:
    axes = (output.axis(dim),) if output.rank else ()
    total = b.sum(grad, axes, keep=True)
    return b.subtract(grad, b.multiply(b.emit(Opcode.EXP, output), total))


def logsumexp(b: Builder, x: Value, dim: Axes, keepdim: bool = False) -> Value:
    x = floating(b, x)
    axes = x.axes(dim)
    top = b.maximum_of(x, axes, keep=True)
    finite = b.emit(Opcode.IS_FINITE, top)
    top = b.select(finite, top, 0, top.kind)
    total = b.sum(b.emit(Opcode.EXP, b.subtract(x, top)), axes, keep=True)
    found = b.add(b.emit(Opcode.LOG, total), top)
    kept = [e for d, e in enumerate(x.dimensions) if d not in axes]
    return found if keepdim else b.reshape(found, kept)


def norm_squares(
    b: Builder, x: Value, ord: Number = 2, dim: Axes = None, keepdim: bool = False, **_dtype: Any
) -> Value:
    """linalg_vector_norm."""
    axes, size = x.axes(dim), b.emit(Opcode.ABS, x)
    if ord == 2:
        return b.emit(Opcode.SQRT, b.sum(b.multiply(x, x), axes, keepdim))
    if ord == 1:
        return b.sum(size, axes, keepdim)
    if ord == math.inf:
        return b.maximum_of(size, axes, keepdim)
    if ord == -math.inf:
        return b.minimum_of(size, axes, keepdim)
    if ord == 0:
        there = b.compare(ComparisonDirection.NE, x, 0)
        return b.sum(b.convert(there, x.kind), axes, keepdim)
    powers = b.emit(Opcode.POWER, *b.aligned(x.kind, size, ord))
    total = b.sum(powers, axes, keepdim)
    return b.emit(Opcode.POWER, *b.aligned(x.kind, total, 1 / float(ord)))  # type: ignore[arg-type]


TABLE: dict[str, Rule] = {
    "aten.sum": sum_, "aten.mean": mean, "aten.prod": prod, "aten.amax": amax,
    "aten.amin": amin, "aten.any": any_, "aten.all": all_, "aten.var": var, "aten.std": std,
    "aten.var_mean": var_mean, "aten.max": max_, "aten.min": min_,
    "aten.argmax": _arg(True), "aten.argmin": _arg(False),
    "aten.sort": sort, "aten.sort.stable": sort_stable, "aten.argsort": argsort,
    "aten.kthvalue": kthvalue, "aten.topk": topk,
    "aten._softmax": softmax, "aten._log_softmax": log_softmax,
    "aten._softmax_backward_data": softmax_backward,
    "aten._log_softmax_backward_data": log_softmax_backward,
    "aten.logsumexp": logsumexp, "aten.linalg_vector_norm": norm_squares,
}  # fmt: skip
"""Rules by operator; a full name with its overload goes first."""
