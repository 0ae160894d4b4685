"""Hessenberg and tridiagonal forms: similar to the matrix, by the reflectors that are left."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.hlo.evaluate import evaluate
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify

RNG = np.random.default_rng(4)
REAL = RNG.standard_normal((2, 4, 4))
COMPLEX = REAL + 1j * RNG.standard_normal((2, 4, 4))
KINDS = {"float64": "f64", "complex128": "c128"}


def call(target: str, config: str, result: str, array: np.ndarray) -> list[np.ndarray]:
    shape = ",".join(map(str, array.shape))
    text = f"""HloModule m

    ENTRY e {{
      a = {KINDS[array.dtype.name]}[{shape}] parameter(0)
      ROOT r = {result} custom-call(a), custom_call_target="{target}", backend_config={config}
    }}
    """
    return evaluate(verify(parse_module(text)), array)


def unitary(vectors: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """The product of reflections whose vectors stand below the first subdiagonal."""
    size = len(vectors)
    product = np.eye(size, dtype=vectors.dtype)
    for k, factor in enumerate(factors):
        vector = np.zeros(size, vectors.dtype)
        vector[k + 1] = 1
        vector[k + 2 :] = vectors[k + 2 :, k]
        product = product @ (np.eye(size) - factor * np.outer(vector, np.conj(vector)))
    return product


@pytest.mark.parametrize("array", [REAL, COMPLEX])
def test_hessenberg_form(array: np.ndarray) -> None:
    kind, name = KINDS[array.dtype.name], "d" if array.dtype.kind == "f" else "z"
    shape = f"({kind}[2,4,4], {kind}[2,3], s32[2])"
    config = "{high = 4 : i32, low = 1 : i32}"
    packed, factors, info = call(f"lapack_{name}gehrd_ffi", config, shape, array)
    for matrix, left, factor in zip(array, packed, factors, strict=True):
        q = unitary(left, factor)
        assert np.allclose(q @ np.triu(left, -1) @ np.conj(q).T, matrix)
    assert not info.any()


@pytest.mark.parametrize("array", [REAL, COMPLEX])
@pytest.mark.parametrize("letter", ["L", "U"])
def test_tridiagonal_form(array: np.ndarray, letter: str) -> None:
    array = array + np.conj(np.swapaxes(array, 1, 2))
    given = np.tril(array) if letter == "L" else np.triu(array)
    kind, name = KINDS[array.dtype.name], "dsytrd" if array.dtype.kind == "f" else "zhetrd"
    shape = f"({kind}[2,4,4], f64[2,4], f64[2,3], {kind}[2,3], s32[2])"
    config = f"{{uplo = {ord(letter)} : ui8}}"
    results = call(f"lapack_{name}_ffi", config, shape, given)
    for matrix, packed, diagonal, beside, factors in zip(array, *results[:4], strict=True):
        form = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
        if letter == "U":
            q = unitary(packed[::-1, ::-1], factors[::-1])[::-1, ::-1]
        else:
            q = unitary(packed, factors)
        assert np.allclose(q @ form @ np.conj(q).T, matrix)
