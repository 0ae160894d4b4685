"""Core ATen operators that read and write elements at places that are computed.

PyTorch raises where an index is out of range; compiled programs read the nearest element and drop
writes, as HLO's gather and scatter do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.frontend.torch.build import Builder, Value
from compiler.frontend.torch.dtypes import Number
from compiler.frontend.torch.movement import unsqueeze
from compiler.frontend.torch.pointwise import LT, Rule
from compiler.hlo.attributes import ComparisonDirection
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ElementType
from isas.errors import UnsupportedError


def _wrapped(b: Builder, index: Value, extent: int) -> Value:
    """Negative indices count from the end."""
    return b.select(b.compare(LT, index, 0), b.add(index, extent), index, index.kind)


def take_flat(b: Builder, x: Value, places: Value) -> Value:
    """Elements of the row-major array by their number, in the shape of `places`."""
    flat = b.reshape(x, (math.prod(x.dimensions),))
    return take_rows(b, flat, 0, places)


def take_rows(b: Builder, x: Value, axis: int, index: Value) -> Value:
    """Slices across one dimension; the index's dimensions stand where that dimension stood."""
    kept = [d for d in range(x.rank) if d != axis]
    offset = [d if d < axis else d + index.rank - 1 for d in kept]
    sizes = [1 if d == axis else e for d, e in enumerate(x.dimensions)]
    return b.emit(
        Opcode.GATHER, x, index, offset_dims=tuple(offset), collapsed_slice_dims=(axis,),
        start_index_map=(axis,), index_vector_dim=index.rank, slice_sizes=tuple(sizes),
    )  # fmt: skip


def index_select(b: Builder, x: Value, dim: int, index: Value) -> Value:
    if x.rank == 0:
        return x
    places = index if index.rank else b.reshape(index, (1,))
    return take_rows(b, x, x.axis(dim), places)


def embedding(
    b: Builder,
    weight: Value,
    indices: Value,
    _padding_idx: int = -1,
    _scale_grad_by_freq: bool = False,
    _sparse: bool = False,
) -> Value:
    return take_rows(b, weight, 0, indices)


def _grid(b: Builder, index: Value, axis: int) -> Value:
    """For every element of an index along one dimension, its whole place: one coordinate per
    dimension, last."""
    coordinates = [
        index if d == axis else b.iota(index.kind, index.dimensions, d) for d in range(index.rank)
    ]
    return b.concatenate([unsqueeze(b, c, index.rank) for c in coordinates], index.rank)


def gather(b: Builder, x: Value, dim: int, index: Value, *, sparse_grad: bool = False) -> Value:
    if x.rank == 0:
        return b.broadcast(x, index.dimensions)
    every = tuple(range(x.rank))
    return b.emit(
        Opcode.GATHER, x, _grid(b, index, x.axis(dim)), offset_dims=(),
        collapsed_slice_dims=every, start_index_map=every, index_vector_dim=x.rank,
        slice_sizes=(1,) * x.rank,
    )  # fmt: skip


# -- index ---------------------------------------------------------------------------------------


def _places(
    b: Builder, x: Value, indices: Sequence[Value | None]
) -> tuple[list[int], Value, tuple[int, ...]]:
    """Indexed dimensions, their coordinates (one per dimension, last), and the common shape."""
    axes = [d for d, index in enumerate(indices) if index is not None]
    found = [index for index in indices if index is not None]
    if any(index.kind is ElementType.PRED for index in found):
        raise UnsupportedError(
            "a boolean index selects as many elements as are true, which is no static shape",
            hint="use torch.where or multiply by the mask",
        )
    wide = [b.convert(index, ElementType.S64) for index in found]
    wrapped = [_wrapped(b, index, x.dimensions[axis]) for index, axis in zip(wide, axes)]
    aligned = b.aligned(ElementType.S64, *wrapped)
    common = aligned[0].dimensions
    coordinates = [unsqueeze(b, index, len(common)) for index in aligned]
    return axes, b.concatenate(coordinates, len(common)), common


def _index_position(axes: Sequence[int]) -> int:
    """Where the common shape stands in the result: where the indices stood when they are side by
    side, else in front."""
    together = axes[-1] - axes[0] == len(axes) - 1
    return axes[0] if together else 0


def index(b: Builder, x: Value, indices: Sequence[Value | None]) -> Value:
    axes, places, common = _places(b, x, indices)
    kept = [d for d in range(x.rank) if d not in axes]
    front = _index_position(axes)
    offset = [n if n < front else n + len(common) for n in range(len(kept))]
    sizes = [1 if d in axes else e for d, e in enumerate(x.dimensions)]
    return b.emit(
        Opcode.GATHER, x, places, offset_dims=tuple(offset), collapsed_slice_dims=tuple(axes),
        start_index_map=tuple(axes), index_vector_dim=len(common), slice_sizes=tuple(sizes),
    )  # fmt: skip


def index_put(
    b: Builder,
    x: Value,
    indices: Sequence[Value | None],
    values: Value,
    accumulate: bool = False,
) -> Value:
    masks = [index for index in indices if index is not None]
    if len(masks) == 1 and masks[0].kind is ElementType.PRED and math.prod(values.dimensions) == 1:
        return _put_where(b, x, indices, values, accumulate)
    axes, places, common = _places(b, x, indices)
    kept = [d for d in range(x.rank) if d not in axes]
    front = _index_position(axes)
    window = [n if n < front else n + len(common) for n in range(len(kept))]
    shape = [x.dimensions[d] for d in kept]
    shape[front:front] = common
    updates = b.broadcast(b.convert(values, x.kind), shape)
    return _scatter(b, x, places, updates, window, axes, len(common), _combine(accumulate))


def _put_where(
    b: Builder, x: Value, indices: Sequence[Value | None], values: Value, accumulate: bool
) -> Value:
    """One value under a mask needs no scatter."""
    start = next(d for d, index in enumerate(indices) if index is not None)
    mask = next(index for index in indices if index is not None)
    along = range(start, start + mask.rank)
    condition = b.spread(mask, x.dimensions, list(along))
    value = b.reshape(b.convert(values, x.kind), ())
    return b.select(condition, b.add(x, value) if accumulate else value, x, x.kind)


def _combine(accumulate: bool) -> Opcode | None:
    return Opcode.ADD if accumulate else None


def _scatter(
    b: Builder,
    x: Value,
    places: Value,
    updates: Value,
    window: Sequence[int],
    axes: Sequence[int],
    vector_dim: int,
    combine: Opcode | None,
) -> Value:
    """Writes updates at places; `combine` None: the last one stays."""
    if combine is None:
        scalars = [updates.shape.with_dimensions(())] * 2
        computation = b.add_computation("replace", scalars, lambda inner, v: [v[1]])
    else:
        computation = b.reducer(combine, x.kind)
    return b.emit(
        Opcode.SCATTER, x, places, updates, update_window_dims=tuple(window),
        inserted_window_dims=tuple(axes), scatter_dims_to_operand_dims=tuple(axes),
        index_vector_dim=vector_dim, to_apply=computation,
    )  # fmt: skip


def put(b: Builder, x: Value, places: Value, source: Value, accumulate: bool = False) -> Value:
    """Writes at places of the row-major array."""
    count, total = math.prod(x.dimensions), math.prod(places.dimensions)
    index = b.reshape(_wrapped(b, places, count), (total, 1))
    updates = b.reshape(b.convert(source, x.kind), (total,))
    flat = b.reshape(x, (count,))
    found = _scatter(b, flat, index, updates, (), [0], 1, _combine(accumulate))
    return b.reshape(found, x.dimensions)


# -- scatter -------------------------------------------------------------------------------------


def _scatter_along(
    b: Builder, x: Value, dim: int, index: Value, source: Value | Number, combine: Opcode | None
) -> Value:
    if x.rank == 0:
        x, index = b.reshape(x, (1,)), b.reshape(index, (1,))
        source = b.reshape(source, (1,)) if isinstance(source, Value) else source
        return b.reshape(_scatter_along(b, x, 0, index, source, combine), ())
    if isinstance(source, Value):
        limits = [(0, extent, 1) for extent in index.dimensions]
        if source.rank == 0:
            updates = b.broadcast(b.convert(source, x.kind), index.dimensions)
        else:
            updates = b.slice(b.convert(source, x.kind), limits)
    else:
        updates = b.full(source, x.kind, index.dimensions)
    every = list(range(x.rank))
    return _scatter(b, x, _grid(b, index, x.axis(dim)), updates, (), every, x.rank, combine)


_REDUCTIONS = {
    "add": Opcode.ADD, "sum": Opcode.ADD, "multiply": Opcode.MULTIPLY, "prod": Opcode.MULTIPLY,
    "amax": Opcode.MAXIMUM, "amin": Opcode.MINIMUM,
}  # fmt: skip


def scatter(
    b: Builder,
    x: Value,
    dim: int,
    index: Value,
    source: Value | Number,
    *,
    reduce: str | None = None,
) -> Value:
    combine = None if reduce is None else _REDUCTIONS[reduce]
    return _scatter_along(b, x, dim, index, source, combine)


def scatter_add(b: Builder, x: Value, dim: int, index: Value, source: Value) -> Value:
    return _scatter_along(b, x, dim, index, source, Opcode.ADD)


def scatter_reduce(
    b: Builder,
    x: Value,
    dim: int,
    index: Value,
    source: Value,
    reduce: str,
    *,
    include_self: bool = True,
) -> Value:
    if reduce not in _REDUCTIONS or not include_self:
        raise UnsupportedError(f"scatter_reduce with reduce={reduce}, include_self={include_self}")
    return _scatter_along(b, x, dim, index, source, _REDUCTIONS[reduce])


def index_add(
    b: Builder, x: Value, dim: int, index: Value, source: Value, *, alpha: Number = 1
) -> Value:
    axis = x.axis(dim)
    places = unsqueeze(b, index if index.rank else b.reshape(index, (1,)), 1)
    updates = b.convert(source if alpha == 1 else b.multiply(source, alpha), x.kind)
    window = [d for d in range(x.rank) if d != axis]
    return _scatter(b, x, places, updates, window, [axis], 1, Opcode.ADD)


def embedding_dense_backward(
    b: Builder,
    grad: Value,
    indices: Value,
    count: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
) -> Value:
    if scale_grad_by_freq:
        raise UnsupportedError("embedding_dense_backward with scale_grad_by_freq")
    width = grad.dimensions[-1]
    kept = grad
    if padding_idx >= 0:
        real = b.compare(ComparisonDirection.NE, indices, padding_idx)
        kept = b.select(unsqueeze(b, real, real.rank), grad, 0, grad.kind)
    total = math.prod(indices.dimensions)
    rows, places = b.reshape(kept, (total, width)), b.reshape(indices, (total, 1))
    nothing = b.full(0, grad.kind, (count, width))
    return _scatter(b, nothing, places, rows, (1,), [0], 1, Opcode.ADD)


TABLE: dict[str, Rule] = {
    "aten.index_select": index_select, "aten.embedding": embedding, "aten.gather": gather,
    "aten.index": index, "aten._unsafe_index": index, "aten.index_put": index_put,
    "aten._unsafe_index_put": index_put, "aten.scatter": scatter,
    "aten.scatter_add": scatter_add, "aten.scatter_reduce": scatter_reduce,
    "aten.index_add": index_add, "aten.embedding_dense_backward": embedding_dense_backward,
    "aten.put": put,
    "aten.take": lambda b, x, places: take_flat(
        b, x, _wrapped(b, places, math.prod(x.dimensions))
    ),
}  # fmt: skip
"""Rules by operator."""
