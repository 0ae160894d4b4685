"""Schur forms (LAPACK's xGEES): a = z t zᴴ with a unitary z and an upper triangular t, which for a
real matrix keeps blocks of two by two where eigenvalues are conjugate pairs.

The form is not unique. The way here is LAPACK's for up to 75 rows, in the matrix's own precision:
rows and columns that stand alone are moved to the corners (xGEBAL), the rest is brought to
Hessenberg form (xGEHRD), and shifted QR steps (xLAHQR, in the module ``shifted``) do what remains.
Still, signs and phases of vectors, and now and then the order of eigenvalues, hang on rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.hlo.evaluate.condense import condense_column
from compiler.hlo.evaluate.lapack import Target, each_type, status_of
from compiler.hlo.evaluate.shifted import make_triangular
from compiler.hlo.module import Instruction

Array = np.ndarray


def gees(instruction: Instruction, operands: list[Any]) -> Any:
    """The form, the unitary matrix, the eigenvalues (of real matrices in two parts), how many were
    selected, which is none as nothing is sorted, and a status.
    """
    array = operands[0]
    batch, size = array.shape[:-2], array.shape[-1]
    form = np.array(array)
    vectors = np.zeros_like(form)
    failed = np.zeros(batch, bool)
    for index in np.ndindex(*batch):
        vectors[index] = np.eye(size)
        failed[index] = not _decompose(form[index], vectors[index])
    return form, vectors, *_eigenvalues(form), status_of(batch), status_of(batch, failed)


def _eigenvalues(form: Array) -> list[Array]:
    diagonal = np.array(np.diagonal(form, axis1=-2, axis2=-1))
    if form.dtype.kind == "c":
        return [diagonal]
    above = np.diagonal(form, 1, axis1=-2, axis2=-1)
    below = np.diagonal(form, -1, axis1=-2, axis2=-1)
    parts = np.sqrt(np.abs(above)) * np.sqrt(np.abs(below))
    imaginary = np.zeros_like(diagonal)
    imaginary[..., :-1] += parts
    imaginary[..., 1:] -= parts
    return [diagonal, imaginary]


def _decompose(form: Array, vectors: Array) -> bool:
    """Makes a matrix its form and the identity its vectors, in place. False where the steps do not
    converge, or the matrix is not finite.
    """
    if not np.isfinite(form).all():
        return False
    low, high, swaps = _set_apart(form)
    reflections = [(k, *condense_column(form, k, high + 1)) for k in range(low, high)]
    for k, tau, vector in reversed(reflections):
        rows = vectors[k + 1 : high + 1]
        rows -= tau * np.outer(vector, np.conj(vector) @ rows)
        form[k + 2 : high + 1, k] = 0
    converged = make_triangular(form, vectors, low, high)
    for one, other in reversed(swaps):
        vectors[[one, other]] = vectors[[other, one]]
    return converged


def _set_apart(matrix: Array) -> tuple[int, int, list[tuple[int, int]]]:
    """Moves rows without other elements to the end and columns without others to the beginning.

    Returns the first and the last row of what remains, and the exchanges made, in order.
    """
    low, high = 0, len(matrix) - 1
    swaps: list[tuple[int, int]] = []
    is_changed = True
    while is_changed:
        is_changed = False
        for row in range(high, -1, -1):
            if np.count_nonzero(np.delete(matrix[row, : high + 1], row)) == 0:
                _exchange(matrix, row, high, swaps)
                if high == 0:
                    return 0, 0, swaps
                high, is_changed = high - 1, True
    is_changed = True
    while is_changed:
        is_changed = False
        for column in range(low, high + 1):
            if np.count_nonzero(np.delete(matrix[low : high + 1, column], column - low)) == 0:
                _exchange(matrix, column, low, swaps)
                low, is_changed = low + 1, True
    return low, high, swaps


def _exchange(matrix: Array, one: int, other: int, swaps: list[tuple[int, int]]) -> None:
    matrix[:, [one, other]] = matrix[:, [other, one]]
    matrix[[one, other]] = matrix[[other, one]]
    swaps.append((one, other))


TARGETS: dict[str, Target] = each_type("gees", "gees", gees)
"""Custom call targets and what they compute."""
