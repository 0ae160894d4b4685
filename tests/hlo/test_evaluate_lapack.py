"""LAPACK calls of today's JAX where a factorisation fails or a basis is missing."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.hlo.evaluate import evaluate
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify

SOUND = np.array([[4, 1, -2], [1, 5, 3], [-2, 3, 9]], np.float32)
SPECTRAL = {
    "ssyevd": "(f32[2,3,3], f32[2,3], s32[2])",
    "sgeev": "(f32[2,3], f32[2,3], c64[2,3,3], c64[2,3,3], s32[2])",
    "sgesdd": "(f32[2,3,3], f32[2,3], f32[2,3,3], f32[2,3,3], s32[2])",
}


def call(target: str, result: str, *arrays: np.ndarray) -> list[np.ndarray]:
    """The results of one call of `lapack_TARGET_ffi`."""
    shapes = [f"f32[{','.join(map(str, array.shape))}]" for array in arrays]
    lines = [f"  p{n} = {shape} parameter({n})" for n, shape in enumerate(shapes)]
    names = ", ".join(f"p{n}" for n in range(len(arrays)))
    root = f'  ROOT r = {result} custom-call({names}), custom_call_target="lapack_{target}_ffi"'
    text = "HloModule m\n\nENTRY e {\n" + "\n".join([*lines, root]) + "\n}\n"
    return evaluate(verify(parse_module(text)), *arrays)


@pytest.mark.parametrize("target", SPECTRAL)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_matrix_that_is_not_finite_spoils_its_own_results_only(target: str, bad: float) -> None:
    matrices = np.stack([np.full((3, 3), bad, np.float32), SOUND])
    *parts, info = call(target, SPECTRAL[target], matrices)
    alone = call(target, SPECTRAL[target], np.stack([SOUND, SOUND]))
    assert info.tolist() == [1, 0]
    rest = slice(1 if target == "sgesdd" else 0, None)
    for part, right in zip(parts[rest], alone[rest]):
        assert np.isnan(part[0]).all() and np.array_equal(part[1], right[1])


def test_a_matrix_with_one_eigenvector_has_one_of_each_side() -> None:
    shape = "(f32[3], f32[3], c64[3,3], c64[3,3], s32[])"
    matrix = np.diag(np.ones(2, np.float32), 1)
    real, imaginary, left, right, info = call("sgeev", shape, matrix)
    assert info == 0 and not real.any() and not imaginary.any()
    assert np.allclose(np.abs(left), [[0, 0, 0], [0, 0, 0], [1, 1, 1]])
    assert np.allclose(matrix @ right, 0)


def test_a_singular_tridiagonal_system_is_reported() -> None:
    zeros, ones = np.zeros((2, 3), np.float32), np.ones((2, 3), np.float32)
    middle = np.array([[0, 0, 0], [2, 4, 5]], np.float32)
    shape = "(f32[2,3], f32[2,3], f32[2,3], f32[2,3,1], s32[2])"
    *_, solution, info = call("sgtsv", shape, zeros, middle, zeros, ones[..., None])
    assert info.tolist() == [1, 0]
    assert np.isnan(solution[0]).all() and np.allclose(solution[1, :, 0], [0.5, 0.25, 0.2])
