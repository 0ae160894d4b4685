"""Unitary reductions of LAPACK: to Hessenberg form (xGEHRD) and to tridiagonal form (xSYTRD).

The matrices hold the form itself and, in the places that it leaves, the reflectors' vectors, as the
unblocked routines xGEHD2 and xSYTD2 of LAPACK 3 leave them.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from compiler.hlo.evaluate.lapack import (
    Target,
    each_type,
    letter_of,
    reflector,
    status_of,
    wide,
)
from compiler.hlo.module import Instruction

Array = np.ndarray


def gehrd(instruction: Instruction, operands: list[Any]) -> Any:
    """The form, the reflectors' factors, and a status; rows ``low`` to ``high`` count from 1."""
    array = operands[0]
    size = array.shape[-1]
    low, high = _number(instruction, "low", 1), _number(instruction, "high", size)
    form = np.array(wide(array))
    factors = np.zeros((*array.shape[:-2], max(size - 1, 0)), form.dtype)
    for index in np.ndindex(*array.shape[:-2]):
        for k in range(low - 1, high - 1):
            factors[(*index, k)], _ = condense_column(form[index], k, high)
    return form.astype(array.dtype), factors.astype(array.dtype), status_of(array.shape[:-2])


def _number(instruction: Instruction, key: str, default: int) -> int:
    config = str(instruction.attributes.get("backend_config", ""))
    match = re.search(rf"\b{key}\s*=\s*(\d+)", config)
    return int(match[1]) if match else default


def condense_column(matrix: Array, k: int, high: int) -> tuple[complex, Array]:
    """Makes column k zero below its first subdiagonal, from both sides, and keeps the reflector's
    vector there. Returns tau and the vector.
    """
    beta, tau, vector = reflector(matrix[k + 1 : high, k])
    left, right = matrix[k + 1 : high, k + 1 :], matrix[:high, k + 1 : high]
    right -= tau * np.outer(right @ vector, np.conj(vector))
    left -= np.conj(tau) * np.outer(vector, np.conj(vector) @ left)
    matrix[k + 1, k] = beta
    matrix[k + 2 : high, k] = vector[1:]
    return tau, vector


def sytrd(instruction: Instruction, operands: list[Any]) -> Any:
    """The packed matrix, the form's diagonal and the one beside it, factors and a status."""
    array = operands[0]
    batch, size = array.shape[:-2], array.shape[-1]
    is_lower = letter_of(instruction, "uplo", "L") == "L"
    packed = np.array(wide(array))
    diagonal = np.zeros((*batch, size))
    beside = np.zeros((*batch, max(size - 1, 0)))
    factors = np.zeros(beside.shape, packed.dtype)
    for index in np.ndindex(*batch):
        places = (diagonal[index], beside[index], factors[index])
        if is_lower:
            _tridiagonal(packed[index], *places)
        else:
            _tridiagonal(packed[index][::-1, ::-1], *(place[::-1] for place in places))
    real = np.zeros(0, array.dtype).real.dtype
    return (
        packed.astype(array.dtype),
        diagonal.astype(real),
        beside.astype(real),
        factors.astype(array.dtype),
        status_of(batch),
    )


def _tridiagonal(matrix: Array, diagonal: Array, beside: Array, factors: Array) -> None:
    """Works on the lower triangle in place. The upper one is the same seen from its last corner."""
    size = len(matrix)
    for k in range(size - 1):
        beta, tau, vector = reflector(matrix[k + 1 :, k])
        rest = np.tril(matrix[k + 1 :, k + 1 :])
        whole = rest + np.conj(np.tril(rest, -1)).T
        np.fill_diagonal(whole, np.real(np.diagonal(whole)))
        side = tau * (whole @ vector)
        side -= 0.5 * tau * np.vdot(side, vector) * vector
        change = np.outer(vector, np.conj(side)) + np.outer(side, np.conj(vector))
        below = np.tril_indices(size - k - 1)
        matrix[k + 1 :, k + 1 :][below] = (whole - change)[below]
        diagonal[k], beside[k], factors[k] = np.real(matrix[k, k]), np.real(beta), tau
        matrix[k + 1, k] = beta
        matrix[k + 2 :, k] = vector[1:]
    if size:
        diagonal[size - 1] = np.real(matrix[size - 1, size - 1])


TARGETS: dict[str, Target] = {
    **each_type("gehrd", "gehrd", gehrd),
    **each_type("sytrd", "hetrd", sytrd),
}
"""Custom call targets and what they compute."""
