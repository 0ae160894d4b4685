"""Lengths of vectors and distances between rows, with their gradients, written in PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def length(difference: Any, p: float) -> Any:
    """The p-norm over the last dimension."""
    size = difference.abs()
    if p == 0:
        return (difference != 0).to(difference.dtype).sum(-1)
    if p == 1:
        return size.sum(-1)
    if p == math.inf:
        return size.amax(-1)
    return (size * size).sum(-1).sqrt() if p == 2 else size.pow(p).sum(-1).pow(1 / p)


def length_backward(grad: Any, difference: Any, p: float, found: Any) -> Any:
    """The gradient of `length`; nothing where the length is zero."""
    import torch

    grad, found = grad.unsqueeze(-1), found.unsqueeze(-1)
    if p == 0:
        return torch.zeros_like(difference)
    if p == 1:
        return difference.sign() * grad
    if p == math.inf:
        return difference.sign() * (difference.abs() == found) * grad
    slope = difference.sign() * difference.abs().pow(p - 1) * grad / found.pow(p - 1)
    return torch.where(found == 0, 0, slope)


def cdist(one: Any, other: Any, p: float, _mode: int | None) -> Any:
    """Distances between the rows of two matrices."""
    return length(one.unsqueeze(-2) - other.unsqueeze(-3), p)


def cdist_backward(grad: Any, one: Any, other: Any, p: float, distance: Any) -> Any:
    """The gradient for the first matrix."""
    return length_backward(grad, one.unsqueeze(-2) - other.unsqueeze(-3), p, distance).sum(-2)


def _pairs(count: int) -> tuple[Any, Any]:
    import torch

    rows, columns = torch.triu_indices(count, count, 1).unbind(0)
    return rows, columns


def pdist(x: Any, p: float = 2.0) -> Any:
    """Distances between all pairs of rows."""
    rows, columns = _pairs(x.shape[0])
    return length(x[rows] - x[columns], p)


def pdist_backward(grad: Any, x: Any, p: float, distance: Any) -> Any:
    import torch

    rows, columns = _pairs(x.shape[0])
    slope = length_backward(grad, x[rows] - x[columns], p, distance)
    return torch.zeros_like(x).index_add(0, rows, slope).index_add(0, columns, -slope)


DISTANCES: dict[str, Callable[..., Any]] = {
    "_cdist_forward": cdist, "_cdist_backward": cdist_backward,
    "_pdist_forward": pdist, "_pdist_backward": pdist_backward,
}  # fmt: skip
"""Decompositions by operator of `aten`."""
