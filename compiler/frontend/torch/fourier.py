"""Fourier transforms, one dimension at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.frontend.torch.build import Builder, Value
from compiler.frontend.torch.pointwise import Rule
from compiler.hlo.attributes import FftType
from compiler.hlo.opcodes import Opcode


def _along(b: Builder, x: Value, axis: int, kind: FftType, length: int) -> Value:
    """HLO transforms the last dimension."""
    order = [d for d in range(x.rank) if d != axis] + [axis]
    last = b.transpose(x, order)
    found = b.emit(Opcode.FFT, last, fft_type=kind, fft_length=(length,))
    return b.transpose(found, [order.index(d) for d in range(x.rank)])


def _scaled(b: Builder, x: Value, count: int, normalization: int, is_inverse: bool) -> Value:
    """PyTorch's normalizations: 0 none, 1 by the root of the count, 2 by the count; HLO's inverse
    divides by the count."""
    divisor = {0: 1.0, 1: math.sqrt(count), 2: float(count)}[normalization]
    factor = (count if is_inverse else 1) / divisor
    return x if factor == 1 else b.multiply(x, factor)


def _count(x: Value, axes: Sequence[int]) -> int:
    return math.prod(x.dimensions[a] for a in axes)


def c2c(b: Builder, x: Value, dim: Sequence[int], normalization: int, forward: bool) -> Value:
    axes = [x.axis(d) for d in dim]
    found = x
    for axis in axes:
        kind = FftType.FFT if forward else FftType.IFFT
        found = _along(b, found, axis, kind, x.dimensions[axis])
    return _scaled(b, found, _count(x, axes), normalization, not forward)


def r2c(b: Builder, x: Value, dim: Sequence[int], normalization: int, onesided: bool) -> Value:
    """The last of the dimensions is halved, or all of it follows from complex transforms."""
    if not onesided:
        return c2c(b, b.convert(x, x.kind.complex), dim, normalization, True)
    axes = [x.axis(d) for d in dim]
    found = _along(b, x, axes[-1], FftType.RFFT, x.dimensions[axes[-1]])
    for axis in axes[:-1]:
        found = _along(b, found, axis, FftType.FFT, x.dimensions[axis])
    return _scaled(b, found, _count(x, axes), normalization, False)


def c2r(b: Builder, x: Value, dim: Sequence[int], normalization: int, last_dim_size: int) -> Value:
    axes = [x.axis(d) for d in dim]
    found = x
    for axis in axes[:-1]:
        found = _along(b, found, axis, FftType.IFFT, x.dimensions[axis])
    found = _along(b, found, axes[-1], FftType.IRFFT, last_dim_size)
    return _scaled(b, found, _count(found, axes), normalization, True)


TABLE: dict[str, Rule] = {"aten._fft_c2c": c2c, "aten._fft_r2c": r2c, "aten._fft_c2r": c2r}
"""Rules by operator."""
