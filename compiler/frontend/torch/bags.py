"""Bags of embeddings: rows of a table summed, averaged or maximised bag by bag."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SUM, MEAN, MAX = 0, 1, 2
"""PyTorch's modes."""


def _is_real(indices: Any, padding_idx: int) -> Any:
    """Which of the indices count."""
    import torch

    if padding_idx < 0:
        return torch.ones_like(indices, dtype=torch.bool)
    return indices != padding_idx


def embedding_bag(
    weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = SUM,
    sparse: bool = False, per_sample_weights: Any = None, include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """The bags (bag, width), the bag of each index, the bags' sizes, and for maxima the row that
    each element came from."""
    import torch

    bags = offsets.shape[0] - include_last_offset
    is_before = offsets[:bags].unsqueeze(0) <= torch.arange(indices.shape[0]).unsqueeze(-1)
    bag = is_before.sum(-1) - 1
    real = _is_real(indices, padding_idx)
    size = torch.zeros(bags, dtype=torch.int64).index_add(0, bag, real.to(torch.int64))
    rows = weight[indices]
    if mode == MAX:
        return _maxima(rows, indices, bag, size, real)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    rows = torch.where(real.unsqueeze(-1), rows, 0)
    found = rows.new_zeros((bags, weight.shape[1])).index_add(0, bag, rows)
    if mode == MEAN:
        found = found / size.clamp(min=1).unsqueeze(-1)
    kind = indices.dtype
    return found, bag.to(kind), size.to(kind), torch.zeros(bags, dtype=kind)


def _maxima(rows: Any, indices: Any, bag: Any, size: Any, real: Any) -> tuple[Any, ...]:
    import torch

    wide = bag.unsqueeze(-1).expand(rows.shape)
    rows = torch.where(real.unsqueeze(-1), rows, -torch.inf)
    lowest = rows.new_full((size.shape[0], rows.shape[1]), -torch.inf)
    found = lowest.scatter_reduce(0, wide, rows, "amax")
    numbers = torch.where(rows == found[bag], indices.unsqueeze(-1), -1)
    none = indices.new_full(found.shape, -1)
    sources = none.scatter_reduce(0, wide, numbers, "amax")
    is_empty = (size == 0).unsqueeze(-1)
    kind = indices.dtype
    return torch.where(is_empty, 0, found), bag.to(kind), size.to(kind), sources


def embedding_bag_backward(
    grad: Any, indices: Any, bag: Any, size: Any, sources: Any, count: int,
    scale_grad_by_freq: bool, mode: int, per_sample_weights: Any, padding_idx: int = -1,
) -> Any:  # fmt: skip
    """The gradient of the table (count, width)."""
    import torch

    table = grad.new_zeros((count, grad.shape[1]))
    if mode == MAX:
        given = torch.where((size > 0).unsqueeze(-1), grad, 0)
        return table.scatter_add(0, sources.clamp(min=0), given)
    rows = grad[bag]
    if mode == MEAN:
        rows = rows / size.clamp(min=1)[bag].unsqueeze(-1)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    if scale_grad_by_freq:
        seen = torch.zeros(count).index_add(0, indices, torch.ones(indices.shape))
        rows = rows / seen[indices].unsqueeze(-1)
    rows = torch.where(_is_real(indices, padding_idx).unsqueeze(-1), rows, 0)
    return table.index_add(0, indices, rows)


def embedding_bag_backward_from_offsets(
    grad: Any, indices: Any, offsets: Any, bag: Any, size: Any, sources: Any, count: int,
    scale_grad_by_freq: bool, mode: int, sparse: bool, per_sample_weights: Any,
    padding_idx: int = -1,
) -> Any:  # fmt: skip
    """The same; always dense."""
    return embedding_bag_backward(
        grad, indices, bag, size, sources, count, scale_grad_by_freq, mode, per_sample_weights,
        padding_idx,
    )  # fmt: skip


def sample_weights_backward(
    grad: Any, weight: Any, indices: Any, offsets: Any, bag: Any, mode: int, padding_idx: int = -1
) -> Any:
    """The gradient of the weight of each index."""
    import torch

    along = (grad[bag] * weight[indices]).sum(-1)
    return torch.where(_is_real(indices, padding_idx), along, 0)


BAGS: dict[str, Callable[..., Any]] = {
    "_embedding_bag": embedding_bag, "_embedding_bag_forward_only": embedding_bag,
    "_embedding_bag_backward": embedding_bag_backward_from_offsets,
    "_embedding_bag_dense_backward": embedding_bag_backward,
    "_embedding_bag_per_sample_weights_backward": sample_weights_backward,
}  # fmt: skip
"""Decompositions by operator of `aten`."""
