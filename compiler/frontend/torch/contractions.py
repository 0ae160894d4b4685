"""Matrix products and convolutions, with the gradients of the latter.

Both gradients of a convolution are convolutions: with respect to the input, of the dilated output
gradient with the reversed kernel; with respect to the kernel, of the input with the output gradient
where batch and feature change places (Dumoulin and Visin, "A guide to convolution arithmetic").
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.frontend.torch.build import Builder, Value
from compiler.frontend.torch.dtypes import Number
from compiler.frontend.torch.pointwise import Rule
from compiler.hlo.attributes import (
    ConvolutionLabels,
    ConvolutionSide,
    Window,
    WindowDimension,
)
from compiler.hlo.opcodes import Opcode
from isas.errors import UnsupportedError


def mm(b: Builder, x: Value, y: Value) -> Value:
    return b.dot(x, y, ((1,), (0,)))


def bmm(b: Builder, x: Value, y: Value) -> Value:
    return b.dot(x, y, ((2,), (1,)), ((0,), (0,)))


def dot(b: Builder, x: Value, y: Value) -> Value:
    return b.dot(x, y, ((0,), (0,)))


def mv(b: Builder, x: Value, y: Value) -> Value:
    return b.dot(x, y, ((1,), (0,)))


def _added(product: Rule) -> Rule:
    def rule(
        b: Builder, addend: Value, x: Value, y: Value, *, beta: Number = 1, alpha: Number = 1
    ) -> Value:
        found = product(b, x, y)
        if alpha != 1:
            found = b.multiply(found, alpha)
        if beta == 0:
            return found
        return b.add(found, addend if beta == 1 else b.multiply(addend, beta))

    return rule


def matmul(b: Builder, x: Value, y: Value) -> Value:
    """Vectors, matrices, and stacks of matrices that broadcast."""
    one = b.reshape(x, (1, *x.dimensions)) if x.rank == 1 else x
    other = b.reshape(y, (*y.dimensions, 1)) if y.rank == 1 else y
    stack = _stack(one.dimensions[:-2], other.dimensions[:-2])
    one = b.broadcast(one, (*stack, *one.dimensions[-2:]))
    other = b.broadcast(other, (*stack, *other.dimensions[-2:]))
    rank = len(stack)
    batch = tuple(range(rank))
    found = b.dot(one, other, ((rank + 1,), (rank,)), (batch, batch))
    kept = list(stack)
    kept += [one.dimensions[-2]] if x.rank > 1 else []
    kept += [other.dimensions[-1]] if y.rank > 1 else []
    return b.reshape(found, kept)


def _stack(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    import numpy as np

    return tuple(np.broadcast_shapes(tuple(one), tuple(other)))


def trilinear(
    b: Builder,
    one: Value,
    two: Value,
    three: Value,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    _unroll_dim: int = 1,
) -> Value:
    """The product of three arrays, each with dimensions of extent 1 put in, summed over some."""
    rank = one.rank + len(expand1)
    wide = []
    for value, expand in ((one, expand1), (two, expand2), (three, expand3)):
        extents = iter(value.dimensions)
        wide.append(b.reshape(value, [1 if d in expand else next(extents) for d in range(rank)]))
    return b.sum(b.multiply(b.multiply(wide[0], wide[1]), wide[2]), tuple(sumdim))


# -- convolutions -------------------------------------------------------------------------------


def _each(numbers: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """One number per spatial dimension."""
    if isinstance(numbers, int):
        return (numbers,) * rank
    return tuple(numbers) if len(numbers) == rank else (numbers[0],) * rank


def _labels(rank: int, input: str, kernel: str, output: str) -> ConvolutionLabels:
    """Two letters each say where the special dimensions are: 01 as usual, 10 changed over."""
    spatial = tuple(range(2, 2 + rank))
    sides = [ConvolutionSide(int(s[0]), int(s[1]), spatial) for s in (input, kernel, output)]
    return ConvolutionLabels(*sides)


def convolution(
    b: Builder,
    x: Value,
    weight: Value,
    bias: Value | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Value:
    """Arrays are (batch, feature, space...), kernels (output feature, input feature, space...)."""
    rank = weight.rank - 2
    if x.rank != weight.rank:
        raise UnsupportedError(f"convolution of {x.shape} without a batch dimension")
    steps, edges, holes = (_each(n, rank) for n in (stride, padding, dilation))
    if transposed:
        extents = _transposed_extents(x, weight, steps, edges, holes, _each(output_padding, rank))
        found = _spread_out(b, x, weight, steps, edges, holes, groups, extents)
    else:
        found = _forward(b, x, weight, steps, edges, holes, groups)
    if bias is None:
        return found
    return b.add(found, b.spread(bias, found.dimensions, (1,)))


def _forward(
    b: Builder,
    x: Value,
    weight: Value,
    steps: Sequence[int],
    edges: Sequence[int],
    holes: Sequence[int],
    groups: int,
) -> Value:
    window = tuple(
        WindowDimension(size, step, edge, edge, 1, hole)
        for size, step, edge, hole in zip(weight.dimensions[2:], steps, edges, holes)
    )
    return _convolve(b, x, weight, window, _labels(len(window), "01", "01", "01"), groups, 1)


def _convolve(
    b: Builder,
    x: Value,
    kernel: Value,
    window: tuple[WindowDimension, ...],
    labels: ConvolutionLabels,
    groups: int,
    batch_groups: int,
) -> Value:
    return b.emit(
        Opcode.CONVOLUTION, x, kernel, window=Window(window), dim_labels=labels,
        feature_group_count=groups, batch_group_count=batch_groups,
    )  # fmt: skip


def _transposed_extents(
    x: Value,
    weight: Value,
    steps: Sequence[int],
    edges: Sequence[int],
    holes: Sequence[int],
    more: Sequence[int],
) -> list[int]:
    sizes = zip(x.dimensions[2:], weight.dimensions[2:], steps, edges, holes, more)
    return [(n - 1) * s - 2 * e + h * (k - 1) + m + 1 for n, k, s, e, h, m in sizes]


def _spread_out(
    b: Builder,
    x: Value,
    weight: Value,
    steps: Sequence[int],
    edges: Sequence[int],
    holes: Sequence[int],
    groups: int,
    extents: Sequence[int],
) -> Value:
    """Every element of x spreads the kernel over the result: the transpose of `_forward`. The
    kernel is (input feature, output feature per group, space...)."""
    window = []
    sizes = zip(x.dimensions[2:], weight.dimensions[2:], steps, edges, holes, extents)
    for base, size, step, edge, hole, extent in sizes:
        reach = hole * (size - 1)
        low = reach - edge
        high = extent - (base - 1) * step - 1 - low + reach
        window.append(WindowDimension(size, 1, low, high, step, hole, True))
    kernel = _grouped(b, weight, groups)
    labels = _labels(len(window), "01", "10", "01")
    return _convolve(b, x, kernel, tuple(window), labels, groups, 1)


def _grouped(b: Builder, weight: Value, groups: int) -> Value:
    """(groups * i, o, ...) as (i, groups * o, ...)."""
    if groups == 1:
        return weight
    inner, outer, *space = weight.dimensions
    split = b.reshape(weight, (groups, inner // groups, outer, *space))
    swapped = b.transpose(split, (1, 0, *range(2, split.rank)))
    return b.reshape(swapped, (inner // groups, groups * outer, *space))


def _kernel_gradient(
    b: Builder,
    x: Value,
    grad: Value,
    sizes: Sequence[int],
    steps: Sequence[int],
    edges: Sequence[int],
    holes: Sequence[int],
    groups: int,
) -> Value:
    window = []
    spaces = zip(x.dimensions[2:], grad.dimensions[2:], sizes, steps, edges, holes)
    for base, reach, size, step, edge, hole in spaces:
        high = (size - 1) * hole + (reach - 1) * step + 1 - base - edge
        window.append(WindowDimension(reach, hole, edge, high, 1, step))
    labels = _labels(len(window), "10", "10", "10")
    return _convolve(b, x, grad, tuple(window), labels, 1, groups)


def convolution_backward(
    b: Builder,
    grad: Value,
    x: Value,
    weight: Value,
    _bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    _output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Value | None, Value | None, Value | None]:
    rank = weight.rank - 2
    steps, edges, holes = (_each(n, rank) for n in (stride, padding, dilation))
    sizes = weight.dimensions[2:]
    by_input = by_weight = by_bias = None
    if output_mask[0] and transposed:
        by_input = _forward(b, grad, weight, steps, edges, holes, groups)
    elif output_mask[0]:
        extents = x.dimensions[2:]
        by_input = _spread_out(b, grad, weight, steps, edges, holes, groups, extents)
    if output_mask[1]:
        one, other = (grad, x) if transposed else (x, grad)
        by_weight = _kernel_gradient(b, one, other, sizes, steps, edges, holes, groups)
    if output_mask[2]:
        by_bias = b.sum(grad, (0, *range(2, grad.rank)))
    return by_input, by_weight, by_bias


TABLE: dict[str, Rule] = {
    "aten.mm": mm, "aten.bmm": bmm, "aten.dot": dot, "aten.vdot": dot, "aten.mv": mv,
    "aten.matmul": matmul, "aten.addmm": _added(mm), "aten.baddbmm": _added(bmm),
    "aten.addmv": _added(mv), "aten._trilinear": trilinear, "aten.convolution": convolution,
    "aten.convolution_backward": convolution_backward,
}  # fmt: skip
"""Rules by operator."""
