"""Gradients of padding by repetition and of interpolation: one matrix product per dimension.

Both are linear and separable: along each dimension the result is a constant matrix times the input,
so the gradient is the transposed matrix times the output's gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler.frontend.torch.build import Builder, Value
from compiler.frontend.torch.pointwise import Rule
from compiler.frontend.torch.pooling import contract

Weights = Callable[[int, int], np.ndarray]
"""(input extent, output extent) to the matrix (input, output)."""


def _picked(sources: np.ndarray, extent: int) -> np.ndarray:
    """Column j has a one in row sources[j]."""
    found = np.zeros((extent, len(sources)))
    found[np.clip(sources, 0, extent - 1), np.arange(len(sources))] = 1
    return found


def _pad_backward(rank: int, reflects: bool) -> Rule:
    def rule(b: Builder, grad: Value, x: Value, pad: Sequence[int]) -> Value:
        for number in range(rank):
            axis = x.rank - 1 - number
            extent = x.dimensions[axis]
            places = np.arange(-pad[2 * number], extent + pad[2 * number + 1])
            if reflects:
                places = np.abs(places)
                places = extent - 1 - np.abs(extent - 1 - places)
            grad = contract(b, grad, axis, _picked(places, extent).T)
        return grad

    return rule


def _ratio(extent: int, result: int, scale: float | None) -> float:
    """Input places per output place."""
    return 1 / scale if scale else extent / result


def _nearest(extent: int, result: int, scale: float | None, is_exact: bool) -> np.ndarray:
    places = (np.arange(result) + 0.5 * is_exact) * _ratio(extent, result, scale)
    return _picked(np.floor(places).astype(np.int64), extent)


def _linear(extent: int, result: int, scale: float | None, aligns: bool) -> np.ndarray:
    """Weights of the two neighbours; corners stand on each other, or the edges of the cells do."""
    if aligns:
        places = np.arange(result) * ((extent - 1) / (result - 1) if result > 1 else 0.0)
    else:
        places = (np.arange(result) + 0.5) * _ratio(extent, result, scale) - 0.5
        places = np.maximum(places, 0)
    low = np.floor(places).astype(np.int64)
    share = places - low
    return _picked(low, extent) * (1 - share) + _picked(low + 1, extent) * share


def _transposed(b: Builder, grad: Value, size: Sequence[int], matrices: Sequence[Any]) -> Value:
    for axis, matrix in enumerate(matrices, len(size) - len(matrices)):
        grad = contract(b, grad, axis, matrix.T)
    return grad


def _nearest_backward(rank: int, is_exact: bool) -> Rule:
    def rule(
        b: Builder, grad: Value, output: Sequence[int], size: Sequence[int], *scales: float | None
    ) -> Value:
        given = (*scales, *[None] * rank)[:rank]
        spaces = zip(size[-rank:], output, given)
        matrices = [_nearest(n, m, scale, is_exact) for n, m, scale in spaces]
        return _transposed(b, grad, size, matrices)

    return rule


def _linear_backward(rank: int) -> Rule:
    def rule(
        b: Builder,
        grad: Value,
        output: Sequence[int],
        size: Sequence[int],
        aligns: bool,
        *scales: float | None,
    ) -> Value:
        given = (*scales, *[None] * rank)[:rank]
        spaces = zip(size[-rank:], output, given)
        matrices = [_linear(n, m, scale, aligns) for n, m, scale in spaces]
        return _transposed(b, grad, size, matrices)

    return rule


TABLE: dict[str, Rule] = {
    **{f"aten.replication_pad{n}d_backward": _pad_backward(n, False) for n in (1, 2, 3)},
    **{f"aten.reflection_pad{n}d_backward": _pad_backward(n, True) for n in (1, 2, 3)},
    **{f"aten.upsample_nearest{n}d_backward": _nearest_backward(n, False) for n in (1, 2, 3)},
    **{f"aten._upsample_nearest_exact{n}d_backward": _nearest_backward(n, True) for n in (1, 2, 3)},
    "aten.upsample_linear1d_backward": _linear_backward(1),
    "aten.upsample_bilinear2d_backward": _linear_backward(2),
    "aten.upsample_trilinear3d_backward": _linear_backward(3),
}
"""Rules by operator."""
