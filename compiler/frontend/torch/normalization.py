"""Batch, layer and group normalisation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.frontend.torch.build import Builder, Value
from compiler.frontend.torch.pointwise import Rule
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ElementType


def _inverse_deviation(b: Builder, variance: Value, eps: float) -> Value:
    return b.emit(Opcode.RSQRT, b.add(variance, eps))


def _wide(b: Builder, x: Value) -> Value:
    """Statistics of half precision are kept in float32."""
    return b.convert(x, ElementType.F32) if x.kind.bits < 32 else x


def _moments(b: Builder, x: Value, axes: Sequence[int]) -> tuple[Value, Value, Value]:
    """Mean and biased variance with extents of 1, and the distance from the mean."""
    mean = b.mean(x, axes, keep=True)
    distance = b.subtract(x, mean)
    return mean, b.mean(b.multiply(distance, distance), axes, keep=True), distance


def _per_channel(b: Builder, value: Value, rank: int) -> Value:
    return b.reshape(value, (1, value.dimensions[0], *[1] * (rank - 2)))


def _affine(b: Builder, x: Value, weight: Value | None, bias: Value | None) -> Value:
    """Scale and shift along dimension 1."""
    for parameter, combine in ((weight, b.multiply), (bias, b.add)):
        if parameter is not None:
            x = combine(x, _per_channel(b, parameter, x.rank))
    return x


def _with_statistics(
    b: Builder, x: Value, weight: Value | None, bias: Value | None, mean: Value, var: Value,
    eps: float,
) -> Value:  # fmt: skip
    """Normalised by statistics that are given per channel."""
    wide = _wide(b, x)
    scale = _per_channel(b, _inverse_deviation(b, _wide(b, var), eps), x.rank)
    centered = b.subtract(wide, _per_channel(b, _wide(b, mean), x.rank))
    return _affine(b, b.multiply(centered, scale), weight, bias)


def _trained(
    b: Builder, x: Value, weight: Value | None, bias: Value | None, eps: float
) -> tuple[Value, Value, Value, Value]:
    """The result, and per channel: mean, 1 / deviation, unbiased variance."""
    wide = _wide(b, x)
    axes = (0, *range(2, x.rank))
    mean, variance, distance = _moments(b, wide, axes)
    scale = _inverse_deviation(b, variance, eps)
    channels = (x.dimensions[1],)
    count = math.prod(x.dimensions[d] for d in axes)
    unbiased = b.multiply(variance, count / max(count - 1, 1))
    result = _affine(b, b.multiply(distance, scale), weight, bias)
    return result, *(b.reshape(v, channels) for v in (mean, scale, unbiased))  # type: ignore[return-value]


def batch_norm_functional(
    b: Builder,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value,
    running_var: Value,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Value, Value, Value, Value, Value]:
    """Result, saved mean and 1 / deviation, and the running statistics after this batch."""
    if not training:
        result = _with_statistics(b, x, weight, bias, running_mean, running_var, eps)
        nothing = b.array(np.zeros(0, np.float32))
        return result, nothing, nothing, running_mean, running_var
    result, mean, scale, unbiased = _trained(b, x, weight, bias, eps)
    moved = [
        b.add(b.multiply(old, 1 - momentum), b.multiply(b.convert(new, old.kind), momentum))
        for old, new in ((running_mean, mean), (running_var, unbiased))
    ]
    return result, mean, scale, moved[0], moved[1]


def batch_norm_no_stats(
    b: Builder, x: Value, weight: Value | None, bias: Value | None, _training: bool,
    _momentum: float, eps: float,
) -> tuple[Value, Value, Value]:  # fmt: skip
    return _trained(b, x, weight, bias, eps)[:3]


def batch_norm_no_training(
    b: Builder, x: Value, weight: Value | None, bias: Value | None, mean: Value, var: Value,
    _momentum: float, eps: float,
) -> tuple[Value, Value, Value]:  # fmt: skip
    nothing = b.array(np.zeros(0, np.float32))
    return _with_statistics(b, x, weight, bias, mean, var, eps), nothing, nothing


def native_batch_norm(
    b: Builder, x: Value, weight: Value | None, bias: Value | None, mean: Value | None,
    var: Value | None, training: bool, momentum: float, eps: float,
) -> tuple[Value, Value, Value]:  # fmt: skip
    """Without the update of running statistics, which functional graphs do not have."""
    if training or mean is None or var is None:
        return batch_norm_no_stats(b, x, weight, bias, training, momentum, eps)
    return batch_norm_no_training(b, x, weight, bias, mean, var, momentum, eps)


def batch_norm_with_update(
    b: Builder, x: Value, weight: Value | None, bias: Value | None, mean: Value, var: Value,
    momentum: float, eps: float,
) -> tuple[Any, ...]:  # fmt: skip
    found = batch_norm_functional(b, x, weight, bias, mean, var, True, momentum, eps)
    reserve = b.array(np.zeros(0, np.uint8))
    return (*found[:3], reserve, *found[3:])


def layer_norm(
    b: Builder, x: Value, shape: Sequence[int], weight: Value | None, bias: Value | None,
    eps: float,
) -> tuple[Value, Value, Value]:  # fmt: skip
    wide = _wide(b, x)
    axes = range(x.rank - len(shape), x.rank)
    mean, variance, distance = _moments(b, wide, axes)
    scale = _inverse_deviation(b, variance, eps)
    result = b.multiply(distance, scale)
    if weight is not None:
        result = b.multiply(result, weight)
    if bias is not None:
        result = b.add(result, bias)
    return result, mean, scale


def group_norm(
    b: Builder, x: Value, weight: Value | None, bias: Value | None, batch: int, _channels: int,
    _space: int, groups: int, eps: float,
) -> tuple[Value, Value, Value]:  # fmt: skip
    wide = b.reshape(_wide(b, x), (batch, groups, math.prod(x.dimensions[1:]) // groups))
    mean, variance, distance = _moments(b, wide, (2,))
    scale = _inverse_deviation(b, variance, eps)
    result = b.reshape(b.multiply(distance, scale), x.dimensions)
    per_group = (batch, groups)
    return (
        _affine(b, result, weight, bias),
        b.reshape(mean, per_group),
        b.reshape(scale, per_group),
    )


def weight_norm_backward(
    b: Builder, grad: Value, v: Value, g: Value, norms: Value, dim: int
) -> tuple[Value, Value]:
    """Of weights g * v / |v|, with the norm over all dimensions but one."""
    axes = [d for d in range(v.rank) if d != dim % v.rank]
    along = b.sum(b.multiply(grad, v), axes, keep=True)
    size = b.reshape(norms, along.dimensions)
    radial = b.divide(along, b.multiply(size, size))
    scale = b.divide(b.reshape(g, along.dimensions), size)
    by_v = b.multiply(scale, b.subtract(grad, b.multiply(v, radial)))
    return by_v, b.reshape(b.divide(along, size), g.dimensions)


TABLE: dict[str, Rule] = {
    "aten._native_batch_norm_legit_functional": batch_norm_functional,
    "aten._native_batch_norm_legit.no_stats": batch_norm_no_stats,
    "aten._native_batch_norm_legit_no_training": batch_norm_no_training,
    "aten._batch_norm_with_update_functional": batch_norm_with_update,
    "aten._batch_norm_no_update": lambda b, *args: (
        *batch_norm_no_training(b, *args), b.array(np.zeros(0, np.uint8))
    ),
    "aten.native_batch_norm": native_batch_norm,
    "aten._weight_norm_interface_backward": weight_norm_backward,
    "aten.native_layer_norm": layer_norm, "aten.native_group_norm": group_norm,
}  # fmt: skip
"""Rules by operator; a full name with its overload goes first."""
