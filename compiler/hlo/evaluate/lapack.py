"""The LAPACK custom calls that JAX emits on CPU, by target name (``lapack_spotrf_ffi`` and so on).

Parameters come in ``backend_config`` (``uplo = 76 : ui8``). Results are computed in double
precision; those of matrices that LAPACK fails on are NaN.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.hlo.attributes import TransposeKind
from compiler.hlo.evaluate import linear
from compiler.hlo.module import Instruction

Array = np.ndarray
Target = Callable[[Instruction, list[Any]], Any]


def letter_of(instruction: Instruction, key: str, default: str) -> str:
    """A character parameter of the call, written as its code."""
    config = str(instruction.attributes.get("backend_config", ""))
    match = re.search(rf"\b{key}\s*=\s*(\d+)", config)
    return chr(int(match[1])) if match else default


def wide(array: Array) -> Array:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def status_of(shape: tuple[int, ...], failed: Array | None = None) -> Array:
    """LAPACK's info: 0, or 1 where it failed."""
    return np.zeros(shape, np.int32) if failed is None else failed.astype(np.int32)


def _potrf(instruction: Instruction, operands: list[Any]) -> Any:
    array = operands[0]
    lower = letter_of(instruction, "uplo", "L") == "L"
    factor = linear.cholesky_factor(wide(array), lower)
    failed = np.isnan(np.diagonal(factor, axis1=-2, axis2=-1)).any(axis=-1)
    ones = np.ones(array.shape[-2:], bool)
    triangle = np.tril(ones) if lower else np.triu(ones)
    result = np.where(triangle, factor.astype(array.dtype), array)
    return result, status_of(array.shape[:-2], failed)


def _trsm(instruction: Instruction, operands: list[Any]) -> Any:
    matrix, right = operands[0], operands[1]
    kinds = {"N": TransposeKind.NO_TRANSPOSE, "T": TransposeKind.TRANSPOSE}
    solution = linear.solve_triangular(
        wide(matrix),
        wide(right),
        letter_of(instruction, "side", "L") == "L",
        letter_of(instruction, "uplo", "L") == "L",
        letter_of(instruction, "diag", "N") == "U",
        kinds.get(letter_of(instruction, "trans_x", "N"), TransposeKind.ADJOINT),
    )
    return solution.astype(right.dtype)


def _getrf(instruction: Instruction, operands: list[Any]) -> Any:
    """LU with partial pivoting, by |re| + |im| as LAPACK's IxAMAX has it; pivots count rows from
    1.
    """
    array = operands[0]
    factors = np.array(wide(array))
    rows, columns = array.shape[-2:]
    steps = min(rows, columns)
    pivots = np.zeros((*array.shape[:-2], steps), np.int32)
    status = np.zeros(array.shape[:-2], np.int32)
    for index in np.ndindex(*array.shape[:-2]):
        status[index] = _eliminate(factors[index], pivots[index])
    return factors.astype(array.dtype), pivots, status


def _eliminate(matrix: Array, pivots: Array) -> int:
    status = 0
    for k in range(len(pivots)):
        column = matrix[k:, k]
        row = k + int(np.argmax(np.abs(column.real) + np.abs(column.imag)))
        pivots[k] = row + 1
        if matrix[row, k] == 0:
            status = status or k + 1
            continue
        if row != k:
            matrix[[k, row]] = matrix[[row, k]]
        matrix[k + 1 :, k] /= matrix[k, k]
        matrix[k + 1 :, k + 1 :] -= np.outer(matrix[k + 1 :, k], matrix[k, k + 1 :])
    return status


def _geqrf(instruction: Instruction, operands: list[Any]) -> Any:
    """Householder QR: R above, reflectors below the diagonal, and their factors tau."""
    array = operands[0]
    factors = np.array(wide(array))
    steps = min(array.shape[-2:])
    taus = np.zeros((*array.shape[:-2], steps), factors.dtype)
    for index in np.ndindex(*array.shape[:-2]):
        for k in range(steps):
            taus[(*index, k)] = _reflect(factors[index], k)
    return factors.astype(array.dtype), taus.astype(array.dtype)


def _reflect(matrix: Array, k: int) -> complex:
    """Makes column k zero below the diagonal; returns tau (LAPACK's xLARF)."""
    beta, tau, vector = reflector(matrix[k:, k])
    rest = matrix[k:, k + 1 :]
    rest -= np.conj(tau) * np.outer(vector, np.conj(vector) @ rest)
    matrix[k, k] = beta
    matrix[k + 1 :, k] = vector[1:]
    return tau


def reflector(column: Array) -> tuple[complex, complex, Array]:
    """The Householder reflection of a column onto its first place (LAPACK's xLARFG): what stays
    there, tau, and the vector, whose first element is 1.
    """
    alpha, tail = column[0], np.linalg.norm(column[1:])
    vector = np.concatenate([np.ones(1, column.dtype), column[1:]])
    if tail == 0 and np.imag(alpha) == 0:
        return alpha, 0.0, vector
    beta = -np.copysign(np.hypot(abs(alpha), tail), np.real(alpha))
    vector[1:] /= alpha - beta
    return beta, (beta - alpha) / beta, vector


def _orgqr(instruction: Instruction, operands: list[Any]) -> Any:
    """The orthogonal matrix of stored reflectors."""
    array, taus = operands[0], wide(operands[1])
    reflectors = wide(array)
    rows, columns = array.shape[-2:]
    result = np.zeros(array.shape, reflectors.dtype)
    for index in np.ndindex(*array.shape[:-2]):
        q = np.eye(rows, columns, dtype=reflectors.dtype)
        for k in reversed(range(taus.shape[-1])):
            vector = np.zeros(rows, reflectors.dtype)
            vector[k] = 1.0
            vector[k + 1 :] = reflectors[index][k + 1 :, k]
            q -= taus[(*index, k)] * np.outer(vector, np.conj(vector) @ q)
        result[index] = q
    return result.astype(array.dtype)


def _sound(array: Array) -> tuple[Array, Array]:
    """The matrices in double precision, zeros in place of those that hold NaN or infinity, and
    which those are: LAPACK fails on them.
    """
    failed = ~np.isfinite(wide(array)).all(axis=(-2, -1))
    return np.where(failed[..., None, None], 0, wide(array)), failed


def _spoiled(result: Array, failed: Array) -> Array:
    """NaN wherever a factorisation failed."""
    places = failed.reshape(failed.shape + (1,) * (result.ndim - failed.ndim))
    nothing = complex(np.nan, np.nan) if result.dtype.kind == "c" else np.nan
    return np.where(places, nothing, result)


def _real(array: Array) -> Any:
    return np.zeros(0, array.dtype).real.dtype


def _syevd(instruction: Instruction, operands: list[Any]) -> Any:
    array = operands[0]
    triangle = letter_of(instruction, "uplo", "L")
    matrices, failed = _sound(array)
    values, vectors = np.linalg.eigh(matrices, UPLO="L" if triangle == "L" else "U")
    return (
        _spoiled(vectors, failed).astype(array.dtype),
        _spoiled(values, failed).astype(_real(array)),
        status_of(failed.shape, failed),
    )


def _geev(instruction: Instruction, operands: list[Any]) -> Any:
    """Eigenvalues (real matrices: as real and imaginary parts) and eigenvectors of both sides."""
    array = operands[0]
    matrices, failed = _sound(array)
    values, right = (part.astype(np.complex128) for part in np.linalg.eig(matrices))
    left = np.zeros_like(right)
    for index in np.ndindex(*failed.shape):
        left[index] = _left_vectors(matrices[index], values[index], right[index])
    values, left, right = (_spoiled(part, failed) for part in (values, left, right))
    kind = np.result_type(array.dtype, np.complex64)
    parts: tuple[Array, ...] = (values.astype(kind),)
    if array.dtype.kind != "c":
        parts = values.real.astype(array.dtype), values.imag.astype(array.dtype)
    return (*parts, left.astype(kind), right.astype(kind), status_of(failed.shape, failed))


def _left_vectors(matrix: Array, values: Array, right: Array) -> Array:
    """Left eigenvectors: rows of the inverse of the right ones. A matrix with too few of those has
    each as the null vector of its own shifted adjoint.
    """
    try:
        return _unit_columns(np.conj(np.linalg.inv(right).T))
    except np.linalg.LinAlgError:
        shifts = np.conj(values)[:, None, None] * np.eye(len(matrix))
        basis = np.linalg.svd(np.conj(matrix.T) - shifts)[2]
        return _unit_columns(np.conj(basis[:, -1, :]).T)


def _unit_columns(vectors: Array) -> Array:
    """Columns of length 1 whose largest component is real, as LAPACK has eigenvectors."""
    if vectors.size == 0:
        return vectors
    unit = vectors / np.linalg.norm(vectors, axis=-2, keepdims=True)
    largest = np.argmax(np.abs(unit), axis=-2, keepdims=True)
    pivot = np.take_along_axis(unit, largest, axis=-2)
    return np.asarray(unit * np.conj(pivot) / np.abs(pivot))


def _gtsv(instruction: Instruction, operands: list[Any]) -> Any:
    """Solves with a tridiagonal matrix given as its three diagonals, each as long as the matrix:
    the first element below and the last one above it do not count. Singular: NaN, and info says so.
    """
    low, middle, high, right = operands
    size = middle.shape[-1]
    matrix = np.zeros((*middle.shape, size), wide(middle).dtype)
    for diagonal, offset in ((low, -1), (middle, 0), (high, 1)):
        rows = np.arange(max(0, -offset), min(size, size - offset))
        matrix[..., rows, rows + offset] = diagonal[..., rows]
    solution = np.full(right.shape, np.nan, wide(right).dtype)
    failed = np.zeros(middle.shape[:-1], bool)
    for index in np.ndindex(*failed.shape):
        try:
            solution[index] = np.linalg.solve(matrix[index], wide(right)[index])
        except np.linalg.LinAlgError:
            failed[index] = True
    return low, middle, high, solution.astype(right.dtype), status_of(failed.shape, failed)


def _gesdd(instruction: Instruction, operands: list[Any]) -> Any:
    """Singular values with both bases (mode A: square, S: thin)."""
    array = operands[0]
    full = letter_of(instruction, "mode", "S") == "A"
    matrices, failed = _sound(array)
    found = np.linalg.svd(matrices, full_matrices=full)
    left, values, right = (_spoiled(part, failed) for part in found)
    return (
        array,
        values.astype(_real(array)),
        left.astype(array.dtype),
        right.astype(array.dtype),
        status_of(failed.shape, failed),
    )


def each_type(name: str, complex_name: str, target: Target) -> dict[str, Target]:
    names = [f"lapack_{letter}{name}_ffi" for letter in "sd"]
    names += [f"lapack_{letter}{complex_name}_ffi" for letter in "cz"]
    return dict.fromkeys(names, target)


def _trsm_name(letter: str) -> str:
    return f"blas_{letter}trsm_ffi"


LAPACK: dict[str, Target] = {
    **each_type("potrf", "potrf", _potrf),
    **each_type("getrf", "getrf", _getrf),
    **each_type("geqrf", "geqrf", _geqrf),
    **each_type("orgqr", "ungqr", _orgqr),
    **each_type("syevd", "heevd", _syevd),
    **each_type("gesdd", "gesdd", _gesdd),
    **each_type("geev", "geev", _geev),
    **each_type("gtsv", "gtsv", _gtsv),
    **each_type("trsm", "trsm", _trsm),
    **{_trsm_name(letter): _trsm for letter in "sdcz"},
}
"""Custom call targets and what they compute."""
