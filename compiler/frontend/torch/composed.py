"""Operators written in other operators, for AOTAutograd to trace: products, order statistics,
scatters, samples, adaptive maxima.

Indices among equal elements are those of PyTorch's CPU kernels where they are defined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from compiler.frontend.torch.distances import length

Function = Callable[..., Any]

# -- products -----------------------------------------------------------------------------------


def addbmm(x: Any, one: Any, other: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """beta x + alpha (the sum of a batch of products)."""
    return x * beta + (one @ other).sum(0) * alpha


_SQUARINGS = 10
"""At most; then norms up to 2^10 are scaled to 1, which is where float64's exponential ends."""


def matrix_exp(x: Any) -> Any:
    """The sum of y^k / k! for y of norm 1 at most, squared: y is x / 2^s (scaling and squaring)."""
    import torch

    norm = x.abs().sum(-1).amax(-1)[..., None, None]
    squarings = norm.log2().ceil().clamp(0, _SQUARINGS)
    small = x / torch.exp2(squarings)
    eye = torch.eye(x.shape[-1], dtype=x.dtype)
    found = term = eye + torch.zeros_like(x)
    for k in range(1, 19):
        term = term @ small / k
        found = found + term
    for k in range(_SQUARINGS):
        found = torch.where(k < squarings, found @ found, found)
    return found


def pinv(x: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """The pseudo-inverse, without singular values that are small beside the largest."""
    import torch

    left, values, right = torch.linalg.svd(x, full_matrices=False)
    if rtol is None:
        rtol = 0.0 if atol is not None else max(x.shape[-2:]) * torch.finfo(x.dtype).eps
    limit = values.amax(-1, keepdim=True) * rtol
    limit = limit if atol is None else torch.maximum(limit, torch.as_tensor(atol))
    inverse = torch.where(values > limit, 1 / values, 0).to(x.dtype)
    return (right.mH * inverse.unsqueeze(-2)) @ left.mH


# -- order --------------------------------------------------------------------------------------


def _median_along(x: Any, dim: int, keepdim: bool, skips_nan: bool) -> tuple[Any, Any]:
    """The lower median and its place; NaN comes last in the order."""
    if x.dim() == 0:
        return x.clone(), x.new_zeros((), dtype=_integers())
    values, places = x.sort(dim=dim, stable=True)
    extent = x.shape[dim]
    middle = x.new_full((), (extent - 1) // 2, dtype=_integers())
    if x.is_floating_point():
        known = (x == x).sum(dim, keepdim=True)
        whole = (known - 1).clamp(min=0) // 2 if skips_nan else middle.expand(known.shape)
        middle = whole if skips_nan else whole.where(known == extent, known)
    shape = [1 if d == dim % x.dim() else e for d, e in enumerate(x.shape)]
    at = middle.expand(shape)
    found = values.gather(dim, at), places.gather(dim, at)
    return found if keepdim else (found[0].squeeze(dim), found[1].squeeze(dim))


def _integers() -> Any:
    import torch

    return torch.int64


def _median(skips_nan: bool) -> Function:
    def whole(x: Any) -> Any:
        return _median_along(x.reshape(-1), 0, False, skips_nan)[0]

    return whole


def _median_dim(skips_nan: bool) -> Function:
    def along(x: Any, dim: int, keepdim: bool = False) -> tuple[Any, Any]:
        return _median_along(x, dim, keepdim, skips_nan)

    return along


def mode(x: Any, dim: int = -1, keepdim: bool = False) -> tuple[Any, Any]:
    """The smallest of the most frequent values, and the last place where it stands."""
    import torch

    if x.dim() == 0:
        return x.clone(), x.new_zeros((), dtype=_integers())
    rows = x.movedim(dim, -1)
    count = (rows.unsqueeze(-1) == rows.unsqueeze(-2)).sum(-1)
    is_frequent = count == count.amax(-1, keepdim=True)
    values, places = rows.sort(dim=-1, stable=True)
    first = is_frequent.gather(-1, places).to(torch.int64).argmax(-1, keepdim=True)
    value = values.gather(-1, first)
    numbers = torch.arange(rows.shape[-1]).expand(rows.shape)
    place = torch.where(rows == value, numbers, 0).amax(-1, keepdim=True)
    value, place = value.movedim(-1, dim), place.movedim(-1, dim)
    return (value, place) if keepdim else (value.squeeze(dim), place.squeeze(dim))


def searchsorted(
    edges: Any, x: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Any = None,
) -> Any:  # fmt: skip
    """How many edges of a row lie before each element; NaN comes after all numbers."""
    import torch

    kind = torch.int32 if out_int32 else torch.int64
    if not isinstance(x, torch.Tensor):
        x = edges.new_full((), x, dtype=None if isinstance(x, int) else torch.float32)
    if sorter is not None:
        edges = edges.gather(-1, sorter)
    one, other = edges.unsqueeze(-2), x.reshape(-1, 1) if edges.dim() == 1 else x.unsqueeze(-1)
    is_before = one <= other if right or side == "right" else one < other
    if x.is_floating_point():
        is_before = is_before | (other != other) & ((one == one) | right | (side == "right"))
    return is_before.sum(-1).to(kind).reshape(x.shape)


def repeat_interleave(repeats: Any, *, output_size: int | None = None) -> Any:
    """Each place as often as it says; the total has to be given."""
    import torch

    if output_size is None:
        return NotImplemented
    ends = repeats.cumsum(0)
    return searchsorted(ends, torch.arange(output_size), right=True).to(repeats.dtype)


def histc(x: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """How many elements lie in each of some equal intervals, the last one closed."""
    import torch

    x = x.reshape(-1)
    low = x.amin() if min == max else x.new_full((), min)
    high = x.amax() if min == max else x.new_full((), max)
    is_flat = low == high
    low, high = torch.where(is_flat, low - 1, low), torch.where(is_flat, high + 1, high)
    place = ((x - low) / (high - low) * bins).floor().clamp(max=bins - 1)
    inside = (x >= low) & (x <= high)
    at = place.unsqueeze(-1) == torch.arange(bins)
    return (at & inside.unsqueeze(-1)).sum(0).to(x.dtype)


# -- scatters -----------------------------------------------------------------------------------


def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    """x with the source's elements, in order, where the mask is true."""
    import torch

    x, mask = torch.broadcast_tensors(x, mask)
    place = mask.reshape(-1).cumsum(0) - 1
    taken = source.reshape(-1)[place.clamp(min=0, max=max(source.numel() - 1, 0))]
    return torch.where(mask, taken.reshape(x.shape), x)


def masked_scatter_backward(grad: Any, mask: Any, sizes: Sequence[int]) -> Any:
    """The gradient of the source: what the mask let through, in order, then nothing."""
    count = math.prod(sizes)
    mask = mask.broadcast_to(grad.shape)
    place = (mask.reshape(-1).cumsum(0) - 1).masked_fill(~mask.reshape(-1), count)
    found = grad.new_zeros(count + 1).scatter(0, place.clamp(max=count), grad.reshape(-1))
    return found[:count].reshape(tuple(sizes))


def _identity(kind: Any, reduce: str) -> float:
    import torch

    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    limits = torch.finfo(kind) if kind.is_floating_point else torch.iinfo(kind)
    infinite = math.inf if kind.is_floating_point else None
    if reduce == "amax":
        return -infinite if infinite else limits.min
    return infinite if infinite else limits.max


def scatter_reduce(
    x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """Means, and reductions that leave out what stood there before; others have a rule."""
    import torch

    if include_self and reduce != "mean":
        return NotImplemented
    if not include_self:
        x = x.scatter(dim, index, _identity(x.dtype, reduce))
    if reduce != "mean":
        return x.scatter_reduce(dim, index, source, reduce)
    total = x.scatter_add(dim, index, source)
    own = torch.ones_like(x) if include_self else torch.ones_like(x).scatter(dim, index, 0)
    count = own.scatter_add(dim, index, torch.ones_like(source)).clamp(min=1)
    if x.is_floating_point():
        return total / count
    return torch.div(total, count, rounding_mode="floor")


def index_reduce(
    x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """Whole slices combined into the slices that the index names."""
    shape = [-1 if d == dim % x.dim() else 1 for d in range(x.dim())]
    wide = index.reshape(shape).expand(source.shape)
    return x.scatter_reduce(dim, wide, source, reduce, include_self=include_self)


def embedding_renorm(weight: Any, indices: Any, max_norm: float, norm_type: float) -> Any:
    """The rows in use scaled down to a largest norm (the 1e-7 is PyTorch's)."""
    import torch

    used = torch.zeros(weight.shape[0], dtype=torch.bool)
    used = used.scatter(0, indices.reshape(-1), True)
    norms = length(weight, norm_type)
    scale = torch.where(used & (norms > max_norm), max_norm / (norms + 1e-7), 1.0)
    return weight * scale.unsqueeze(-1).to(weight.dtype)


# -- samples ------------------------------------------------------------------------------------


def multinomial(
    probabilities: Any, count: int, replacement: bool = False, *, generator: Any = None
) -> Any:
    """Samples of places, by an exponential race or, with replacement, by the inverse of the
    cumulative distribution: what PyTorch's CPU kernels do with the same numbers."""
    import torch

    rows = probabilities
    if not replacement or count == 1:
        race = rows / torch.ops.aten.exponential(torch.empty_like(rows), 1.0)
        if count == 1:
            return race.argmax(-1, keepdim=True)
        return race.topk(count).indices
    sums = rows.cumsum(-1)
    drawn = torch.rand((*rows.shape[:-1], count), dtype=torch.float64)
    return searchsorted((sums / sums[..., -1:]).double(), drawn).clamp(max=rows.shape[-1] - 1)


def rrelu_with_noise(
    x: Any, noise: Any, lower: float = 0.125, upper: float = 1 / 3, training: bool = False,
    generator: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Leaky with a random slope for each element, kept as the noise."""
    import torch

    if not training:
        return torch.nn.functional.leaky_relu(x, (lower + upper) / 2), noise
    slope = torch.where(x <= 0, torch.rand_like(x) * (upper - lower) + lower, 1)
    return x * slope, slope


# -- adaptive maxima ----------------------------------------------------------------------------


def adaptive_max_pool(x: Any, sizes: Sequence[int]) -> tuple[Any, Any]:
    """Maxima of windows that cover the last dimensions evenly, and their places in them."""
    import torch

    rank = len(sizes)
    extents = x.shape[-rank:]
    windows, place = x, torch.zeros((), dtype=torch.int64)
    inside = torch.ones((), dtype=torch.bool)
    for number, (extent, size) in enumerate(zip(extents, sizes, strict=True)):
        first = torch.arange(size) * extent // size
        last = (torch.arange(1, size + 1) * extent + size - 1) // size
        width = (extent + size - 1) // size + 1
        at = first.unsqueeze(-1) + torch.arange(width)
        axis = x.dim() - rank + 2 * number
        taken = windows.index_select(axis, at.clamp(max=extent - 1).reshape(-1))
        windows = taken.unflatten(axis, (size, width))
        shape = [1] * (2 * rank)
        shape[2 * number], shape[2 * number + 1] = size, width
        place = place * extent + at.reshape(shape)
        inside = inside & (at < last.unsqueeze(-1)).reshape(shape)
    order = [2 * n for n in range(rank)] + [2 * n + 1 for n in range(rank)]
    lead = x.dim() - rank
    windows = torch.where(inside, windows, -math.inf)
    rows = windows.permute(*range(lead), *(lead + d for d in order)).flatten(-rank)
    places = place.broadcast_to(inside.shape).permute(order).flatten(-rank)
    best = rows.argmax(-1, keepdim=True)
    found = places.expand(rows.shape).gather(-1, best)
    return rows.gather(-1, best).squeeze(-1), found.squeeze(-1)


def adaptive_max_pool_backward(rank: int) -> Function:
    def backward(grad: Any, x: Any, indices: Any) -> Any:
        import torch

        flat = torch.zeros_like(x).flatten(-rank)
        return flat.scatter_add(-1, indices.flatten(-rank), grad.flatten(-rank)).reshape(x.shape)

    return backward


def polar(size: Any, angle: Any) -> Any:
    """Complex numbers of these magnitudes and arguments."""
    import torch

    return torch.complex(size * angle.cos(), size * angle.sin())


def angle(x: Any) -> Any:
    """The argument of complex numbers; of real ones 0 or pi."""
    import torch

    if x.is_complex():
        return torch.atan2(x.imag, x.real)
    if not x.is_floating_point():
        x = x.float()
    return torch.where(x < 0, math.pi, torch.where(x == x, 0.0, x))


COMPOSED: dict[str, Function] = {
    "addbmm": addbmm, "linalg_matrix_exp": matrix_exp, "linalg_pinv.atol_rtol_tensor": pinv,
    "median": _median(False), "median.dim": _median_dim(False),
    "nanmedian": _median(True), "nanmedian.dim": _median_dim(True), "mode": mode,
    "searchsorted.Tensor": searchsorted, "searchsorted.Scalar": searchsorted,
    "repeat_interleave.Tensor": repeat_interleave, "histc": histc,
    "masked_scatter": masked_scatter, "masked_scatter_backward": masked_scatter_backward,
    "scatter_reduce.two": scatter_reduce,
    "index_reduce": index_reduce, "embedding_renorm": embedding_renorm,
    "multinomial": multinomial, "rrelu_with_noise_functional": rrelu_with_noise,
    "adaptive_max_pool2d": adaptive_max_pool, "adaptive_max_pool3d": adaptive_max_pool,
    "adaptive_max_pool2d_backward": adaptive_max_pool_backward(2),
    "adaptive_max_pool3d_backward": adaptive_max_pool_backward(3), "angle": angle,
    "polar": polar,
}  # fmt: skip
"""Decompositions by operator of `aten`."""
