"""Linear algebra and Fourier transforms, computed in float64 or complex128."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.hlo.attributes import FftType, TransposeKind
from compiler.hlo.evaluate.numbers import exact, narrowed
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode

if TYPE_CHECKING:
    from compiler.hlo.evaluate.run import Evaluator

Array = np.ndarray


def fft(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    array = exact(operands[0])
    lengths = instruction.attributes["fft_length"]
    axes = tuple(range(array.ndim - len(lengths), array.ndim))
    kind: FftType = instruction.attributes["fft_type"]
    if array.size == 0:
        return np.zeros(instruction.array.dimensions, instruction.array.element_type.dtype)
    result: Array
    if kind is FftType.FFT:
        result = np.fft.fftn(array, axes=axes)
    elif kind is FftType.IFFT:
        result = np.fft.ifftn(array, axes=axes)
    elif kind is FftType.RFFT:
        result = np.fft.rfftn(array, axes=axes)
    else:
        result = np.fft.irfftn(array, s=lengths, axes=axes)
    return np.asarray(result).astype(instruction.array.element_type.dtype)


def cholesky(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    """Reads one triangle; a matrix that is not positive definite gives NaN in its triangle."""
    lower = instruction.attributes.get("lower", False)
    factor = cholesky_factor(exact(operands[0]), lower)
    return narrowed(factor, instruction.array.element_type)


def cholesky_factor(array: Array, lower: bool) -> Array:
    """The triangular factor of Hermitian matrices, of which one triangle is read."""
    matrix = array if lower else np.conj(np.swapaxes(array, -1, -2))
    size = matrix.shape[-1]
    factor = np.zeros_like(matrix)
    for j in range(size):
        row = factor[..., j, :j]
        pivot = matrix[..., j, j].real - np.sum((row * np.conj(row)).real, axis=-1)
        diagonal = np.sqrt(np.where(pivot > 0, pivot, np.nan))
        factor[..., j, j] = diagonal
        products = np.einsum("...ij,...j->...i", factor[..., j + 1 :, :j], np.conj(row))
        factor[..., j + 1 :, j] = (matrix[..., j + 1 :, j] - products) / diagonal[..., np.newaxis]
    return factor if lower else np.conj(np.swapaxes(factor, -1, -2))


def triangular_solve(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    get = instruction.attributes.get
    solution = solve_triangular(
        exact(operands[0]),
        exact(operands[1]),
        get("left_side", False),
        get("lower", False),
        get("unit_diagonal", False),
        get("transpose_a", TransposeKind.NO_TRANSPOSE),
    )
    return narrowed(solution, instruction.array.element_type)


def solve_triangular(
    matrix: Array,
    right: Array,
    left_side: bool,
    lower: bool,
    unit_diagonal: bool,
    transpose: TransposeKind,
) -> Array:
    """Solves op(a) x = b, or x op(a) = b, by substitution; the other triangle is not read."""
    if transpose is not TransposeKind.NO_TRANSPOSE:
        matrix = np.swapaxes(matrix, -1, -2)
        lower = not lower
    if transpose is TransposeKind.ADJOINT:
        matrix = np.conj(matrix)
    if not left_side:
        matrix, right, lower = np.swapaxes(matrix, -1, -2), np.swapaxes(right, -1, -2), not lower
    size = matrix.shape[-1]
    solution = np.zeros_like(right, dtype=np.result_type(matrix, right))
    for i in range(size) if lower else range(size - 1, -1, -1):
        known = slice(0, i) if lower else slice(i + 1, size)
        row = matrix[..., i, known]
        rest = right[..., i, :] - np.einsum("...k,...kj->...j", row, solution[..., known, :])
        solution[..., i, :] = rest if unit_diagonal else rest / matrix[..., i, i, np.newaxis]
    return solution if left_side else np.swapaxes(solution, -1, -2)


HANDLERS: dict[Opcode, Any] = {
    Opcode.FFT: fft,
    Opcode.CHOLESKY: cholesky,
    Opcode.TRIANGULAR_SOLVE: triangular_solve,
}
