"""Schur forms: similar to the matrix by a unitary one, and triangular but for conjugate pairs."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.hlo.evaluate import evaluate
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify

RNG = np.random.default_rng(6)
DENSE = RNG.standard_normal((6, 6))
MATRICES = {
    "dense": DENSE,
    "complex": DENSE + 1j * RNG.standard_normal((6, 6)),
    "single precision": DENSE.astype(np.float32),
    "symmetric": DENSE + DENSE.T,
    "equal eigenvalues": np.kron(np.eye(2), np.ones((3, 3))),
    "a rotation": np.kron(np.eye(3), [[0.0, -1.0], [1.0, 0.0]]),
    "rows and columns that stand alone": np.where(RNG.random((6, 6)) < 0.25, DENSE, 0.0),
    "lower triangle": np.tril(DENSE),
    "nilpotent": np.diag(np.ones(5), -1),
    "cyclic": np.roll(np.eye(6), 1, axis=0),
    "complex cyclic": np.roll(np.eye(6), 1, axis=0) * 1j,
    "one row": np.array([[3.0]]),
}
KINDS = {"float32": "f32", "float64": "f64", "complex128": "c128"}
LETTERS = {"f32": "s", "f64": "d", "c128": "z"}


def schur(array: np.ndarray) -> list[np.ndarray]:
    kind = KINDS[array.dtype.name]
    full = f"{kind}[{','.join(map(str, array.shape))}]"
    row = f"{kind}[{','.join(map(str, array.shape[:-1]))}]"
    count = f"s32[{','.join(map(str, array.shape[:-2]))}]"
    values = row if kind == "c128" else f"{row}, {row}"
    text = f"""HloModule m

    ENTRY e {{
      a = {full} parameter(0)
      ROOT r = ({full}, {full}, {values}, {count}, {count}) custom-call(a),
        custom_call_target="lapack_{LETTERS[kind]}gees_ffi",
        backend_config={{mode = 86 : ui8, sort = 78 : ui8}}
    }}
    """
    return evaluate(verify(parse_module(text)), array)


@pytest.mark.parametrize("name", MATRICES)
def test_the_form_is_similar_to_the_matrix_and_triangular(name: str) -> None:
    array = MATRICES[name]
    form, vectors, *values, _, info = schur(array)
    near = 1e-5 if array.dtype == np.float32 else 1e-12
    assert info == 0
    assert np.allclose(vectors @ np.conj(vectors).T, np.eye(len(array)), atol=near)
    assert np.allclose(vectors @ form @ np.conj(vectors).T, array, atol=near)
    assert not np.tril(form, -2).any()
    below = np.diagonal(form, -1)
    if array.dtype.kind == "c":
        assert not below.any() and np.array_equal(values[0], np.diagonal(form))
        return
    assert not (below[1:] * below[:-1]).any()
    for k in np.flatnonzero(below):
        assert form[k, k] == form[k + 1, k + 1] and below[k] * form[k, k + 1] < 0
    found = np.sort_complex(values[0] + 1j * values[1])
    assert np.allclose(np.poly(found), np.poly(np.linalg.eigvals(array)), atol=1e-4)


def test_a_batch_whose_second_matrix_is_not_finite_fails_there() -> None:
    array = np.stack([DENSE, np.full((6, 6), np.nan)])
    form, vectors, *_, info = schur(array)
    assert info.tolist() == [0, 1]
    assert np.allclose(vectors[0] @ form[0] @ vectors[0].T, DENSE)
