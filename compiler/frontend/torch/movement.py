"""Core ATen operators that only move elements, and those that copy them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.frontend.torch.build import Builder, Value
from compiler.frontend.torch.build import array_shape as shape_of
from compiler.frontend.torch.dtypes import Number, element_type
from compiler.frontend.torch.pointwise import Rule
from compiler.hlo.attributes import ComparisonDirection
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ElementType


def same(_b: Builder, x: Value, *_args: Any, **_keywords: Any) -> Value:
    """Copies and aliases: values have no memory yet."""
    return x


def view(b: Builder, x: Value, size: Sequence[int]) -> Value:
    count = math.prod(x.dimensions)
    known = math.prod(extent for extent in size if extent != -1)
    return b.reshape(x, [count // max(known, 1) if e == -1 else e for e in size])


def view_dtype(b: Builder, x: Value, dtype: Any) -> Value:
    """Reinterprets the bits; a change of width is a change of the last extent."""
    kind = element_type(dtype)
    if kind.size_bytes == x.kind.size_bytes:
        return b.emit(Opcode.BITCAST_CONVERT, x, shape=shape_of(kind, x.dimensions))
    *lead, last = x.dimensions
    if kind.size_bytes < x.kind.size_bytes:
        ratio = x.kind.size_bytes // kind.size_bytes
        shape = shape_of(kind, (*x.dimensions, ratio))
        return b.reshape(b.emit(Opcode.BITCAST_CONVERT, x, shape=shape), (*lead, last * ratio))
    ratio = kind.size_bytes // x.kind.size_bytes
    split = b.reshape(x, (*lead, last // ratio, ratio))
    return b.emit(Opcode.BITCAST_CONVERT, split, shape=shape_of(kind, (*lead, last // ratio)))


def to_copy(b: Builder, x: Value, *, dtype: Any = None, **_keywords: Any) -> Value:
    return x if dtype is None else b.convert(x, element_type(dtype))


def convert_element_type(b: Builder, x: Value, dtype: Any) -> Value:
    return b.convert(x, element_type(dtype))


def copy(b: Builder, x: Value, source: Value, *_args: Any) -> Value:
    return b.broadcast(b.convert(source, x.kind), x.dimensions)


def permute(b: Builder, x: Value, order: Sequence[int]) -> Value:
    return b.transpose(x, [x.axis(d) for d in order])


def transpose(b: Builder, x: Value, one: int, other: int) -> Value:
    if x.rank == 0:
        return x
    order = list(range(x.rank))
    one, other = x.axis(one), x.axis(other)
    order[one], order[other] = order[other], order[one]
    return b.transpose(x, order)


def t(b: Builder, x: Value) -> Value:
    return transpose(b, x, 0, 1) if x.rank == 2 else x


def expand(b: Builder, x: Value, size: Sequence[int], *, implicit: bool = False) -> Value:
    offset = len(size) - x.rank
    target = [x.dimensions[d - offset] if e == -1 else e for d, e in enumerate(size)]
    return b.broadcast(x, target)


def slice_(
    b: Builder,
    x: Value,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Value:
    axis = x.axis(dim)
    first, limit = _limits(x.dimensions[axis], start, end)
    return b.slice_along(x, axis, first, limit, step)


def _limits(extent: int, start: int | None, end: int | None) -> tuple[int, int]:
    first, limit, _step = slice(start, end).indices(extent)
    return first, max(first, limit)


def slice_scatter(
    b: Builder,
    x: Value,
    source: Value,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Value:
    """x, with the elements of a slice replaced."""
    axis = x.axis(dim)
    extent = x.dimensions[axis]
    first, limit = _limits(extent, start, end)
    source = b.convert(source, x.kind)
    if source.dimensions == x.dimensions and step == 1:
        return source
    places = np.arange(extent)
    inside = (places >= first) & (places < limit) & ((places - first) % step == 0)
    count = source.dimensions[axis]
    if count == 0:
        return x
    edges = [(0, 0, 0)] * x.rank
    edges[axis] = (first, extent - first - (count - 1) * step - 1, step - 1)
    spread = b.pad(source, edges, b.number(0, x.kind))
    mask = b.spread(b.array(inside), x.dimensions, (axis,))
    return b.select(mask, spread, x, x.kind)


def select(b: Builder, x: Value, dim: int, index: int) -> Value:
    axis = x.axis(dim)
    index %= x.dimensions[axis]
    piece = b.slice_along(x, axis, index, index + 1)
    return b.reshape(piece, x.dimensions[:axis] + x.dimensions[axis + 1 :])


def select_scatter(b: Builder, x: Value, source: Value, dim: int, index: int) -> Value:
    axis = x.axis(dim)
    index %= x.dimensions[axis]
    extents = (*x.dimensions[:axis], 1, *x.dimensions[axis + 1 :])
    return slice_scatter(b, x, b.reshape(source, extents), axis, index, index + 1)


def squeeze(b: Builder, x: Value, dim: int | Sequence[int] | None = None) -> Value:
    dims = [dim] if isinstance(dim, int) else dim
    gone = range(x.rank) if dims is None else {x.axis(d) for d in dims}
    return b.reshape(x, [e for d, e in enumerate(x.dimensions) if e != 1 or d not in gone])


def unsqueeze(b: Builder, x: Value, dim: int) -> Value:
    axis = dim % (x.rank + 1)
    return b.reshape(x, (*x.dimensions[:axis], 1, *x.dimensions[axis:]))


def cat(b: Builder, values: Sequence[Value], dim: int = 0) -> Value:
    """In the common type; empty one-dimensional arrays are left out, as PyTorch allows."""
    kept = [v for v in values if v.dimensions != (0,)] or list(values[:1])
    kind = b.common_kind(*values)
    return b.concatenate([b.convert(v, kind) for v in kept], kept[0].axis(dim))


def stack(b: Builder, values: Sequence[Value], dim: int = 0) -> Value:
    axis = dim % (values[0].rank + 1)
    return cat(b, [unsqueeze(b, v, axis) for v in values], axis)


def split_with_sizes(b: Builder, x: Value, sizes: Sequence[int], dim: int = 0) -> list[Value]:
    axis = x.axis(dim)
    ends = np.cumsum(sizes).tolist()
    return [b.slice_along(x, axis, end - n, end) for n, end in zip(sizes, ends)]


def split(b: Builder, x: Value, size: int | Sequence[int], dim: int = 0) -> list[Value]:
    if not isinstance(size, int):
        return split_with_sizes(b, x, size, dim)
    extent = x.dimensions[x.axis(dim)]
    starts = range(0, max(extent, 1), max(size, 1))
    return split_with_sizes(b, x, [min(size, extent - s) for s in starts], dim)


def unbind(b: Builder, x: Value, dim: int = 0) -> list[Value]:
    return [select(b, x, dim, i) for i in range(x.dimensions[x.axis(dim)])]


def flip(b: Builder, x: Value, dims: Sequence[int]) -> Value:
    if not dims or x.rank == 0:
        return x
    return b.emit(Opcode.REVERSE, x, dimensions=x.axes(list(dims)))


def repeat(b: Builder, x: Value, repeats: Sequence[int]) -> Value:
    extents = (1,) * (len(repeats) - x.rank) + x.dimensions
    mixed = [n for pair in zip(repeats, extents) for n in pair]
    along = [2 * d + 1 for d in range(len(repeats)) if d >= len(repeats) - x.rank]
    wide = b.spread(x, mixed, along)
    return b.reshape(wide, [r * e for r, e in zip(repeats, extents)])


def roll(b: Builder, x: Value, shifts: Any, dims: Any = ()) -> Value:
    shifts = [shifts] if isinstance(shifts, int) else list(shifts)
    dims = [dims] if isinstance(dims, int) else list(dims)
    if not dims:
        flat = b.reshape(x, (math.prod(x.dimensions),))
        return b.reshape(roll(b, flat, shifts, [0]), x.dimensions)
    for shift, dim in zip(shifts, dims):
        axis = x.axis(dim)
        extent = x.dimensions[axis]
        cut = -shift % extent if extent else 0
        if cut:
            parts = [b.slice_along(x, axis, cut, extent), b.slice_along(x, axis, 0, cut)]
            x = b.concatenate(parts, axis)
    return x


def triangle(direction: ComparisonDirection) -> Rule:
    """Keeps what lies on one side of a diagonal."""

    def rule(b: Builder, x: Value, diagonal: int = 0) -> Value:
        rows = b.iota(ElementType.S64, x.dimensions, x.rank - 2)
        columns = b.iota(ElementType.S64, x.dimensions, x.rank - 1)
        return b.select(b.compare(direction, columns, b.add(rows, diagonal)), x, 0, x.kind)

    return rule


def diagonal(b: Builder, x: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    """The diagonal of two dimensions as the last one: all else masked away and summed over."""
    one, other = x.axis(dim1), x.axis(dim2)
    rest = [d for d in range(x.rank) if d not in (one, other)]
    matrix = b.transpose(x, [*rest, one, other])
    rows, columns = matrix.dimensions[-2:]
    low, right = max(-offset, 0), max(offset, 0)
    count = max(0, min(rows - low, columns - right))
    square = b.slice_along(matrix, matrix.rank - 2, low, low + count)
    square = b.slice_along(square, matrix.rank - 1, right, right + count)
    inner = [b.iota(ElementType.S64, square.dimensions, square.rank - d) for d in (2, 1)]
    on = b.compare(ComparisonDirection.EQ, *inner)
    kept = b.select(on, square, 0, x.kind)
    opcode = Opcode.OR if x.kind is ElementType.PRED else Opcode.ADD
    return b.reduce(opcode, kept, (square.rank - 2,), 0)


def diagonal_scatter(
    b: Builder, x: Value, source: Value, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Value:
    """x, with a diagonal replaced: spread over rows and columns, and chosen where they meet."""
    one, other = x.axis(dim1), x.axis(dim2)
    rest = [d for d in range(x.rank) if d not in (one, other)]
    low, right = max(-offset, 0), max(offset, 0)
    count = source.dimensions[-1]
    edges = [(0, 0, 0)] * (source.rank - 1) + [(low, x.dimensions[one] - low - count, 0)]
    rows = b.pad(b.convert(source, x.kind), edges, b.number(0, x.kind))
    wide = b.spread(rows, x.dimensions, [*rest, one])
    inner = b.iota(ElementType.S64, x.dimensions, one)
    outer = b.iota(ElementType.S64, x.dimensions, other)
    on = b.compare(ComparisonDirection.EQ, outer, b.add(inner, right - low))
    return b.select(on, wide, x, x.kind)


def view_as_real(b: Builder, x: Value) -> Value:
    parts = [b.emit(opcode, x) for opcode in (Opcode.REAL, Opcode.IMAG)]
    return b.concatenate([unsqueeze(b, part, x.rank) for part in parts], x.rank)


def view_as_complex(b: Builder, x: Value) -> Value:
    return b.emit(Opcode.COMPLEX, select(b, x, -1, 0), select(b, x, -1, 1))


def unfold(b: Builder, x: Value, dim: int, size: int, step: int) -> Value:
    """All windows along a dimension, the place in the window last."""
    if x.rank == 0:
        return b.reshape(x, (1,))
    axis = x.axis(dim)
    count = (x.dimensions[axis] - size) // step + 1
    last = (count - 1) * step + 1
    pieces = [unsqueeze(b, b.slice_along(x, axis, p, p + last, step), x.rank) for p in range(size)]
    return b.concatenate(pieces, x.rank)


def as_strided(
    b: Builder,
    x: Value,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Value:
    """Elements of the flat array picked by place; arrays count as row major."""
    from compiler.frontend.torch.indexing import take_flat

    places = np.full(tuple(size), storage_offset or 0, np.int64)
    for axis, (extent, step) in enumerate(zip(size, stride)):
        shape = [-1 if d == axis else 1 for d in range(len(size))]
        places += (np.arange(extent) * step).reshape(shape)
    return take_flat(b, x, b.array(places))


def fill(b: Builder, x: Value, value: Value | Number) -> Value:
    if isinstance(value, Value):
        return b.broadcast(b.convert(value, x.kind), x.dimensions)
    return b.full_like(value, x)


def conjugate(b: Builder, x: Value) -> Value:
    if not x.kind.is_complex:
        return x
    return b.emit(
        Opcode.COMPLEX, b.emit(Opcode.REAL, x), b.emit(Opcode.NEGATE, b.emit(Opcode.IMAG, x))
    )


TABLE: dict[str, Rule] = {
    **dict.fromkeys(
        (
            "aten.alias", "aten.clone", "aten.detach", "aten.contiguous", "aten.lift",
            "aten.lift_fresh", "aten.lift_fresh_copy", "aten.positive", "aten.resolve_conj",
            "aten.resolve_neg", "aten.view_as", "prims.clone", "prims.device_put",
            "prims.view_of",
        ),
        same,
    ),
    "aten.conj_physical": conjugate, "aten._conj_physical": conjugate, "aten._conj": conjugate,
    "aten.view": view, "aten._unsafe_view": view, "aten.reshape": view,
    "aten._reshape_alias": lambda b, x, size, _stride: view(b, x, size),
    "aten.view.dtype": view_dtype, "aten._to_copy": to_copy, "aten.copy": copy,
    "prims.convert_element_type": convert_element_type,
    "aten.permute": permute, "aten.transpose": transpose, "aten.t": t, "aten.expand": expand,
    "aten.slice": slice_, "aten.slice_scatter": slice_scatter, "aten.select": select,
    "aten.select_scatter": select_scatter, "aten.squeeze": squeeze, "aten.unsqueeze": unsqueeze,
    "aten.cat": cat, "aten.stack": stack, "aten.split_with_sizes": split_with_sizes,
    "aten.split": split, "aten.unbind": unbind, "aten.flip": flip, "aten.repeat": repeat,
    "aten.roll": roll, "aten.diagonal": diagonal, "aten.unfold": unfold,
    "aten.diagonal_scatter": diagonal_scatter, "aten.view_as_real": view_as_real,
    "aten.view_as_complex": view_as_complex,
    "aten.complex": lambda b, x, y: b.emit(Opcode.COMPLEX, x, y),
    "aten.as_strided": as_strided, "aten.fill": fill,
    "aten._neg_view": lambda b, x: b.emit(Opcode.NEGATE, x),
    "aten.tril": triangle(ComparisonDirection.LE), "aten.triu": triangle(ComparisonDirection.GE),
}  # fmt: skip
"""Rules by operator; a full name with its overload goes first."""
