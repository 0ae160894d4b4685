"""Pooling over the last dimensions of an array, and its gradients.

A window becomes one strided slice per place in it, and the pool an elementwise chain over the
slices: everything fuses, and indices come for free. The gradients go back the same way: for each
place in the window, what the outputs owe it is padded to where it came from.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from compiler.frontend.torch.build import Builder, Value
from compiler.frontend.torch.dtypes import Number, lowest
from compiler.frontend.torch.pointwise import EQ, GT, LT, Rule
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ElementType

Sizes = int | Sequence[int]


@dataclass(frozen=True, slots=True)
class Pool:
    """One window along each of the last dimensions of an array with these extents there."""

    extents: tuple[int, ...]
    results: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    edges: tuple[int, ...]
    holes: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.extents)

    def places(self) -> Iterator[tuple[int, ...]]:
        """Every place in the window, in row-major order."""
        return itertools.product(*map(range, self.sizes))

    def start(self, place: Sequence[int]) -> list[int]:
        """Where that place of the first window stands in the array (negative: in the padding)."""
        return [p * h - e for p, h, e in zip(place, self.holes, self.edges)]

    def padding(self, rank: int) -> list[tuple[int, int, int]]:
        """The edges that the array needs so that every window is inside."""
        edges = [(0, 0, 0)] * (rank - self.rank)
        for extent, result, size, step, edge, hole in zip(
            self.extents, self.results, self.sizes, self.steps, self.edges, self.holes
        ):
            reach = (result - 1) * step + (size - 1) * hole + 1
            edges.append((edge, reach - extent - edge, 0))
        return edges


def _each(numbers: Sizes, rank: int) -> tuple[int, ...]:
    if isinstance(numbers, int):
        return (numbers,) * rank
    return tuple(numbers) if len(numbers) == rank else (numbers[0],) * rank


def _pool(
    x: Value, rank: int, size: Sizes, step: Sizes, edge: Sizes, hole: Sizes, is_ceil: bool
) -> Pool:
    extents = x.dimensions[-rank:]
    sizes, edges, holes = _each(size, rank), _each(edge, rank), _each(hole, rank)
    steps = sizes if not isinstance(step, int) and not step else _each(step, rank)
    results = [
        _count(n, k, s, e, h, is_ceil) for n, k, s, e, h in zip(extents, sizes, steps, edges, holes)
    ]
    return Pool(extents, tuple(results), sizes, steps, edges, holes)


def _count(extent: int, size: int, step: int, edge: int, hole: int, is_ceil: bool) -> int:
    """How many windows fit; with `ceil_mode` also one that starts inside and ends outside."""
    room = extent + 2 * edge - hole * (size - 1) - 1
    if not is_ceil:
        return room // step + 1
    count = -(-room // step) + 1
    return count - 1 if (count - 1) * step >= extent + edge else count


def _slices(b: Builder, padded: Value, pool: Pool) -> Iterator[Value]:
    """For each place in the window, its elements of all windows."""
    lead = [(0, extent, 1) for extent in padded.dimensions[: -pool.rank]]
    for place in pool.places():
        limits = list(lead)
        for p, hole, step, result in zip(place, pool.holes, pool.steps, pool.results):
            limits.append((p * hole, p * hole + (result - 1) * step + 1, step))
        yield b.slice(padded, limits)


def _put_back(b: Builder, value: Value, pool: Pool, place: Sequence[int]) -> Value:
    """One value per window, put where that place of the window is in the array; 0 elsewhere."""
    edges = [(0, 0, 0)] * (value.rank - pool.rank)
    for low, extent, result, step in zip(pool.start(place), pool.extents, pool.results, pool.steps):
        edges.append((low, extent - low - (result - 1) * step - 1, step - 1))
    return b.pad(value, edges, b.number(0, value.kind))


# -- maximum ------------------------------------------------------------------------------------


def _max_pool(rank: int) -> Rule:
    def rule(
        b: Builder,
        x: Value,
        size: Sizes,
        step: Sizes = (),
        edge: Sizes = 0,
        hole: Sizes = 1,
        is_ceil: bool = False,
    ) -> tuple[Value, Value]:
        pool = _pool(x, rank, size, step, edge, hole, is_ceil)
        padding = pool.padding(x.rank)
        values = b.pad(x, padding, b.number(lowest(x.kind), x.kind))
        numbers = b.iota(ElementType.S64, (math.prod(pool.extents),), 0)
        plane = b.reshape(numbers, pool.extents)
        plane = b.pad(plane, padding[-rank:], b.number(-1, ElementType.S64))
        best, found = _best(b, values, plane, pool)
        return best, found

    return rule


def _best(b: Builder, values: Value, plane: Value, pool: Pool) -> tuple[Value, Value]:
    """The running maximum over the places of the window, NaN above all, and where it stands."""
    best: Value | None = None
    found: Value | None = None
    for value, at in zip(_slices(b, values, pool), _slices(b, plane, pool)):
        place = b.broadcast(at, value.dimensions)
        if best is None or found is None:
            best, found = value, place
            continue
        is_better = b.compare(GT, value, best)
        if value.kind.is_float:
            is_better = b.emit(Opcode.OR, is_better, b.is_nan(value))
        # Padding stands only for as long as nothing of the array has been seen.
        is_better = b.emit(Opcode.OR, is_better, b.compare(LT, found, 0))
        best = b.select(is_better, value, best, value.kind)
        found = b.select(is_better, place, found, ElementType.S64)
    if best is None or found is None:
        raise ValueError("a window without places")
    return best, found


def _max_pool_backward(rank: int) -> Rule:
    def rule(
        b: Builder,
        grad: Value,
        x: Value,
        size: Sizes,
        step: Sizes,
        edge: Sizes,
        hole: Sizes,
        is_ceil: bool,
        indices: Value,
    ) -> Value:
        pool = _pool(x, rank, size, step, edge, hole, is_ceil)
        total: Value | None = None
        for place in pool.places():
            here = b.broadcast(_numbers(b, pool, place), grad.dimensions)
            owed = b.select(b.compare(EQ, indices, here), grad, 0, grad.kind)
            put = _put_back(b, owed, pool, place)
            total = put if total is None else b.add(total, put)
        return b.full_like(0, x) if total is None else total

    return rule


def _numbers(b: Builder, pool: Pool, place: Sequence[int]) -> Value:
    """For every window, the row-major number of that place of it in the array (any number where it
    lies outside; no index is that)."""
    total = np.zeros(pool.results, np.int64)
    inside = np.ones(pool.results, np.bool_)
    for axis, (low, step) in enumerate(zip(pool.start(place), pool.steps)):
        at = low + step * np.arange(pool.results[axis])
        shape = [-1 if d == axis else 1 for d in range(pool.rank)]
        total = total * pool.extents[axis] + at.reshape(shape)
        inside &= ((at >= 0) & (at < pool.extents[axis])).reshape(shape)
    return b.array(np.where(inside, total, -1))


# -- average ------------------------------------------------------------------------------------


def _divisors(pool: Pool, counts_padding: bool, override: int | None) -> np.ndarray:
    """What the sum of every window is divided by."""
    if override:
        return np.full(pool.results, float(override))
    found = np.ones(pool.results)
    for axis in range(pool.rank):
        starts = np.arange(pool.results[axis]) * pool.steps[axis] - pool.edges[axis]
        ends = np.minimum(starts + pool.sizes[axis], pool.extents[axis] + pool.edges[axis])
        if not counts_padding:
            starts, ends = np.maximum(starts, 0), np.minimum(ends, pool.extents[axis])
        shape = [-1 if d == axis else 1 for d in range(pool.rank)]
        found = found * (ends - starts).reshape(shape)
    return found


def _divided(b: Builder, value: Value, divisors: np.ndarray) -> Value:
    if (divisors == divisors.flat[0]).all():
        return b.divide(value, float(divisors.flat[0]))
    return b.divide(value, b.array(divisors.astype(value.kind.dtype)))


def _avg_pool(rank: int) -> Rule:
    def rule(
        b: Builder,
        x: Value,
        size: Sizes,
        step: Sizes = (),
        edge: Sizes = 0,
        is_ceil: bool = False,
        counts_padding: bool = True,
        override: int | None = None,
    ) -> Value:
        pool = _pool(x, rank, size, step, edge, 1, is_ceil)
        padded = b.pad(x, pool.padding(x.rank), b.number(0, x.kind))
        total: Value | None = None
        for piece in _slices(b, padded, pool):
            total = piece if total is None else b.add(total, piece)
        return _divided(b, total or x, _divisors(pool, counts_padding, override))

    return rule


def _avg_pool_backward(rank: int) -> Rule:
    def rule(
        b: Builder,
        grad: Value,
        x: Value,
        size: Sizes,
        step: Sizes,
        edge: Sizes,
        is_ceil: bool,
        counts_padding: bool,
        override: int | None,
    ) -> Value:
        pool = _pool(x, rank, size, step, edge, 1, is_ceil)
        share = _divided(b, grad, _divisors(pool, counts_padding, override))
        total: Value | None = None
        for place in pool.places():
            put = _put_back(b, share, pool, place)
            total = put if total is None else b.add(total, put)
        return b.full_like(0, x) if total is None else total

    return rule


# -- adaptive average: a matrix per dimension ---------------------------------------------------


def _weights(extent: int, result: int) -> np.ndarray:
    """Column j averages the elements from floor(j * extent / result) up to the next one's
    ceiling."""
    found = np.zeros((extent, result))
    for j in range(result):
        start, end = j * extent // result, -(-(j + 1) * extent // result)
        found[start:end, j] = 1 / (end - start)
    return found


def contract(b: Builder, x: Value, axis: int, matrix: np.ndarray) -> Value:
    """Replaces one dimension by its product with a matrix (old extent, new extent)."""
    product = b.dot(x, b.array(matrix.astype(x.kind.dtype)), ((axis,), (0,)))
    order = [*range(axis), product.rank - 1, *range(axis, product.rank - 1)]
    return b.transpose(product, order)


def adaptive_avg_pool(b: Builder, x: Value, results: Sequence[int]) -> Value:
    rank = len(results)
    for axis, result in enumerate(results, x.rank - rank):
        x = contract(b, x, axis, _weights(x.dimensions[axis], result))
    return x


def _adaptive_avg_pool_backward(rank: int) -> Rule:
    def rule(b: Builder, grad: Value, x: Value) -> Value:
        for axis in range(x.rank - rank, x.rank):
            grad = contract(b, grad, axis, _weights(x.dimensions[axis], grad.dimensions[axis]).T)
        return grad

    return rule


def constant_pad(b: Builder, x: Value, pad: Sequence[int], value: Number = 0) -> Value:
    """`pad` has low and high for the last dimension, then for the one before, and so on."""
    edges = [(0, 0, 0)] * x.rank
    for number in range(len(pad) // 2):
        edges[x.rank - 1 - number] = (pad[2 * number], pad[2 * number + 1], 0)
    return b.pad(x, edges, b.number(value, x.kind))


TABLE: dict[str, Rule] = {
    "aten.max_pool2d_with_indices": _max_pool(2),
    "aten.max_pool3d_with_indices": _max_pool(3),
    "aten.max_pool2d_with_indices_backward": _max_pool_backward(2),
    "aten.max_pool3d_with_indices_backward": _max_pool_backward(3),
    "aten.avg_pool1d": _avg_pool(1), "aten.avg_pool2d": _avg_pool(2),
    "aten.avg_pool3d": _avg_pool(3),
    "aten.avg_pool2d_backward": _avg_pool_backward(2),
    "aten.avg_pool3d_backward": _avg_pool_backward(3),
    "aten._adaptive_avg_pool2d": adaptive_avg_pool,
    "aten._adaptive_avg_pool3d": adaptive_avg_pool,
    "aten.adaptive_avg_pool1d": adaptive_avg_pool,
    "aten._adaptive_avg_pool2d_backward": _adaptive_avg_pool_backward(2),
    "aten._adaptive_avg_pool3d_backward": _adaptive_avg_pool_backward(3),
    "aten.constant_pad_nd": constant_pad,
}  # fmt: skip
"""Rules by operator."""
