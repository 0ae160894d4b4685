"""Sums of products: dot with any dimension numbers, and convolution with every window setting.

Float products are summed in float64 (complex128) and rounded once; integers wrap in the result's
type.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.hlo.attributes import (
    ConvolutionLabels,
    ConvolutionSide,
    DotDimensions,
    PadDimension,
    Window,
    WindowDimension,
)
from compiler.hlo.errors import HloUnsupportedError
from compiler.hlo.evaluate.moves import padded
from compiler.hlo.evaluate.numbers import exact, kind_of, narrowed
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ElementType, Family

if TYPE_CHECKING:
    from compiler.hlo.evaluate.run import Evaluator

Array = np.ndarray


def carried(array: Array, result: ElementType) -> Array:
    """An operand in the type its products are summed in."""
    kind = kind_of(array)
    if kind.is_integer and result.is_float:
        return exact(array).astype(np.float64)
    if kind.family is Family.PREDICATE:
        return array.astype(np.int64)
    if kind.is_integer:
        carrier = np.uint64 if result is ElementType.U64 else np.int64
        return exact(array).astype(carrier)
    return exact(array)


def finished(total: Array, result: ElementType) -> Array:
    if result.family is Family.PREDICATE:
        return np.asarray(total != 0)
    if result.is_integer or total.dtype.kind in "fc":
        return narrowed(np.asarray(total), result)
    return np.asarray(total).astype(result.dtype)


def dot(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    kind = instruction.array.element_type
    lhs, rhs = (carried(operand, kind) for operand in operands[:2])
    return finished(contracted(lhs, rhs, instruction.dot), kind)


def scaled_dot(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    """A dot of operands times their scales; a scale covers a block along each dimension."""
    kind = instruction.array.element_type
    lhs, rhs = (
        exact(operand) * _stretched(exact(scale), operand.shape)
        for operand, scale in zip(operands[:2], operands[2:4], strict=True)
    )
    return finished(contracted(lhs, rhs, instruction.dot), kind)


def _stretched(scale: Array, shape: tuple[int, ...]) -> Array:
    """Each scale repeated over its block."""
    if scale.ndim != len(shape):
        if scale.size == 1:
            return scale.reshape([1] * len(shape))
        raise HloUnsupportedError(f"scales of shape {scale.shape} for an operand of {shape}")
    for axis, (blocks, extent) in enumerate(zip(scale.shape, shape, strict=True)):
        if blocks != extent:
            scale = np.repeat(scale, -(-extent // max(blocks, 1)), axis=axis)
            scale = np.take(scale, range(extent), axis=axis)
    return scale


def contracted(lhs: Array, rhs: Array, dims: DotDimensions) -> Array:
    """Batch dimensions first, then the left free ones, then the right free ones."""
    left_free, right_free = dims.lhs_free(lhs.ndim), dims.rhs_free(rhs.ndim)
    left = lhs.transpose(dims.lhs_batch + left_free + dims.lhs_contracting)
    right = rhs.transpose(dims.rhs_batch + dims.rhs_contracting + right_free)
    batch = [lhs.shape[i] for i in dims.lhs_batch]
    rows = [lhs.shape[i] for i in left_free]
    columns = [rhs.shape[i] for i in right_free]
    inner = int(np.prod([lhs.shape[i] for i in dims.lhs_contracting], dtype=np.int64))
    matrices = left.reshape((*batch, int(np.prod(rows, dtype=np.int64)), inner))
    others = right.reshape((*batch, inner, int(np.prod(columns, dtype=np.int64))))
    return np.matmul(matrices, others).reshape((*batch, *rows, *columns))


def convolution(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    labels = instruction.attributes["dim_labels"]
    if not isinstance(labels, ConvolutionLabels):
        raise HloUnsupportedError(f"convolution with dimension labels {labels} cannot be evaluated")
    kind = instruction.array.element_type
    window: Window = instruction.attributes.get("window", Window())
    lhs, rhs = (carried(operand, kind) for operand in operands[:2])
    base = _arranged(lhs, labels.input)
    kernel = _arranged(rhs, labels.kernel)
    get = instruction.attributes.get
    total = _convolved(
        base,
        kernel,
        window.dimensions,
        get("feature_group_count", 1),
        get("batch_group_count", 1),
    )
    return finished(_placed(total, labels.output), kind)


def _arranged(array: Array, side: ConvolutionSide) -> Array:
    """Dimensions in the order first, second, spatial."""
    return array.transpose((side.first, side.second, *side.spatial))


def _placed(array: Array, side: ConvolutionSide) -> Array:
    places = (side.first, side.second, *side.spatial)
    return array.transpose(tuple(int(i) for i in np.argsort(places)))


def _convolved(
    base: Array,
    kernel: Array,
    window: Sequence[WindowDimension],
    feature_groups: int,
    batch_groups: int,
) -> Array:
    """``base`` is (batch, feature, spatial), ``kernel`` (output, input, spatial)."""
    groups = feature_groups * batch_groups
    outputs = tuple(d.extent(e) for d, e in zip(window, base.shape[2:], strict=True))
    dilated = _dilated(base, window)
    batch, features = base.shape[0] // batch_groups, base.shape[1] // feature_groups
    if batch_groups > 1:
        grouped = dilated.reshape((groups, batch, features, *dilated.shape[2:]))
    else:
        grouped = np.moveaxis(dilated.reshape((batch, groups, features, *dilated.shape[2:])), 1, 0)
    kernels = kernel.reshape((groups, kernel.shape[0] // groups, *kernel.shape[1:]))
    total = np.zeros((groups, batch, kernels.shape[1], *outputs), np.result_type(base, kernel))
    for place in itertools.product(*(range(d.size) for d in window)):
        region = [_region(d, i, n) for d, i, n in zip(window, place, outputs, strict=True)]
        here: tuple[Any, ...] = (..., *region)
        there: tuple[Any, ...] = (..., *_kernel_place(window, place))
        part, weights = grouped[here], kernels[there]
        flat = np.moveaxis(part, 2, -1).reshape((groups, -1, features))
        product = np.matmul(flat, weights.transpose(0, 2, 1))
        shaped = product.reshape((groups, batch, *outputs, kernels.shape[1]))
        total += np.moveaxis(shaped, -1, 2)
    return np.moveaxis(total, 0, 1).reshape((batch, kernel.shape[0], *outputs))


def _dilated(base: Array, window: Sequence[WindowDimension]) -> Array:
    spatial = [PadDimension(d.pad_low, d.pad_high, d.base_dilation - 1) for d in window]
    padding = [PadDimension(0, 0), PadDimension(0, 0), *spatial]
    if all(p == PadDimension(0, 0) for p in padding):
        return base
    return padded(base, np.zeros((), base.dtype), padding)


def _region(dimension: WindowDimension, place: int, outputs: int) -> slice:
    """The base elements that meet one place of the window, one per output."""
    start = place * dimension.window_dilation
    return slice(
        start, start + max(outputs - 1, 0) * dimension.stride + min(outputs, 1), dimension.stride
    )


def _kernel_place(window: Sequence[WindowDimension], place: tuple[int, ...]) -> tuple[int, ...]:
    pairs = zip(window, place, strict=True)
    return tuple(d.size - 1 - i if d.is_reversed else i for d, i in pairs)


HANDLERS: dict[Opcode, Any] = {
    Opcode.DOT: dot,
    Opcode.SCALED_DOT: scaled_dot,
    Opcode.CONVOLUTION: convolution,
}
