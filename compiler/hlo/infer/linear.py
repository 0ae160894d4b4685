"""Shapes of Fourier transforms and of what is made of matrices."""

from __future__ import annotations

from compiler.hlo.attributes import FftType
from compiler.hlo.infer.base import (
    Request,
    array,
    check,
    joined_type,
    same_extent,
    same_extents,
)
from compiler.hlo.infer.elementwise import check_type
from compiler.hlo.shape import ArrayShape, Shape


def fft(request: Request) -> Shape:
    shape = request.array(0)
    kind: FftType = request.require("fft_type")
    lengths = request.ints("fft_length")
    check(1 <= len(lengths) <= min(3, shape.rank), f"{len(lengths)} FFT lengths for {shape}")
    extents = list(shape.dimensions)
    last = len(lengths) - 1
    for i, length in enumerate(lengths):
        found = extents[i - len(lengths)]
        expected = _half(length) if kind is FftType.IRFFT and i == last else length
        rule = f"fft_length {length} does not fit {found}, the extent of {shape} there"
        check(same_extent(found, expected), rule)
    if kind is FftType.RFFT:
        check(shape.element_type.is_float, f"RFFT takes a float array, not {shape}")
        extents[-1] = _half(lengths[-1])
        return array(shape.element_type.complex, extents)
    check(shape.element_type.is_complex, f"{kind.value} takes a complex array, not {shape}")
    if kind is FftType.IRFFT:
        extents[-1] = lengths[-1]
        return array(shape.element_type.real, extents)
    return array(shape.element_type, extents)


def _half(length: int) -> int:
    """How many frequencies of a real signal of this length are kept."""
    return length // 2 + 1 if length else 0


def cholesky(request: Request) -> Shape:
    shape = request.array(0)
    _check_square(shape)
    check_type(shape, request.opcode.accepts)
    return array(shape.element_type, shape.dimensions)


def _check_square(shape: ArrayShape) -> None:
    square = shape.rank >= 2 and same_extent(shape.dimensions[-1], shape.dimensions[-2])
    check(square, f"needs square matrices, the operand is {shape}")


def triangular_solve(request: Request) -> Shape:
    matrix, right = request.array(0), request.array(1)
    _check_square(matrix)
    check(
        matrix.rank == right.rank, f"operands must have equal ranks, they are {matrix} and {right}"
    )
    check(
        same_extents(matrix.dimensions[:-2], right.dimensions[:-2]),
        "batch dimensions must be equal",
    )
    side = -2 if request.attributes.get("left_side", False) else -1
    rule = f"{right} does not fit {matrix}"
    check(same_extent(right.dimensions[side], matrix.dimensions[-1]), rule)
    check_type(matrix, request.opcode.accepts)
    joined_type([matrix.element_type, right.element_type], "operands")
    return array(right.element_type, right.dimensions)
