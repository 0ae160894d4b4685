"""LAPACK calls as older JAX writes them: sizes and options as operands, workspaces as results."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.hlo.evaluate import evaluate
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify

A = np.array([[4, 1, -2], [1, 5, 3], [-2, 3, 9]], np.float32)
B = np.array([[1, 2], [-3, 4], [5, 6]], np.float32)


def call(target: str, scalars: list[int], result: str, *arrays: np.ndarray) -> list[np.ndarray]:
    """The results of one call whose first operands are these numbers."""
    kinds = {"float32": "f32", "int32": "s32", "complex64": "c64"}
    lines, names = [], []
    for place, number in enumerate(scalars):
        lines.append(f"  c{place} = s32[] constant({number})")
        names.append(f"c{place}")
    if target == "blas_strsm":
        lines.append("  factor = f32[] constant(2)")
        names.append("factor")
    for place, array in enumerate(arrays):
        shape = f"{kinds[array.dtype.name]}[{','.join(map(str, array.shape))}]"
        lines.append(f"  p{place} = {shape} parameter({place})")
        names.append(f"p{place}")
    lines.append(
        f'  ROOT r = {result} custom-call({", ".join(names)}), custom_call_target="{target}"'
    )
    text = "HloModule m\n\nENTRY e {\n" + "\n".join(lines) + "\n}\n"
    return evaluate(verify(parse_module(text)), *arrays)


def test_cholesky_of_either_triangle() -> None:
    for lower in (0, 1):
        factor, info = call("lapack_spotrf", [lower, 1, 3], "(f32[3,3], s32[])", A)
        factor = np.tril(factor) if lower else np.triu(factor).T
        assert np.allclose(factor @ factor.T, A, atol=1e-5) and info == 0


def test_elimination_agrees_with_the_call_of_today() -> None:
    shape = "(f32[3,3], s32[3], s32[])"
    older = call("lapack_sgetrf", [1, 3, 3], shape, A)
    for name in ("lapack_sgetrf", "lapack_sgetrf_ffi"):
        assert all(map(np.array_equal, older, call(name, [], shape, A)))


def test_orthogonal_factors_with_their_workspaces() -> None:
    shape = "(f32[3,3], f32[3], s32[], f32[96])"
    factors, taus, info, work = call("lapack_sgeqrf", [1, 3, 3, 96], shape, A)
    assert info == 0 and work.shape == (96,)
    shape = "(f32[3,3], s32[], f32[96])"
    q, info, _ = call("lapack_sorgqr", [1, 3, 3, 3, 96], shape, factors, taus)
    assert np.allclose(q @ np.triu(factors), A, atol=1e-5) and info == 0


def test_eigenvalues_of_symmetric_and_general_matrices() -> None:
    shape = "(f32[3,3], f32[3], s32[], f32[37], s32[18])"
    vectors, values, info, _, _ = call("lapack_ssyevd", [1, 1, 3], shape, A)
    assert np.allclose(vectors * values @ vectors.T, A, atol=1e-4) and info == 0
    workspaces = "f32[3,3], f32[3,3], f32[3,3]"
    shape = f"({workspaces}, f32[3], f32[3], c64[3,3], c64[3,3], s32[])"
    results = call("lapack_sgeev", [1, 3, 86, 86], shape, A)
    assert np.allclose(np.sort(results[3]), values, atol=1e-4)
    assert np.allclose(results[4], 0) and results[-1] == 0


@pytest.mark.parametrize("full", [0, 1])
def test_singular_values_with_square_or_thin_bases(full: int) -> None:
    columns = 3 if full else 2
    shape = f"(f32[3,2], f32[2], f32[3,{columns}], f32[2,2], s32[], s32[16], f32[80])"
    _, values, left, right, info, _, _ = call("lapack_sgesdd", [full, 1, 1, 3, 2, 80], shape, B)
    assert np.allclose(left[:, :2] * values @ right, B, atol=1e-5) and info == 0


@pytest.mark.parametrize("lower", [0, 1])
@pytest.mark.parametrize("transposed", [0, 1, 2])
def test_triangular_systems(lower: int, transposed: int) -> None:
    (solution,) = call("blas_strsm", [1, lower, transposed, 0, 3, 2, 1], "f32[3,2]", A, B)
    triangle = np.tril(A) if lower else np.triu(A)
    assert np.allclose((triangle.T if transposed else triangle) @ solution, 2 * B, atol=1e-4)


def test_complex_pivots_are_the_largest_sums_of_parts() -> None:
    text = """HloModule m

    ENTRY e {
      a = c64[2,2] constant({{(3, 0), (1, 0)}, {(2, 2), (0, 1)}})
      ROOT r = (c64[2,2], s32[2], s32[]) custom-call(a), custom_call_target="lapack_cgetrf_ffi"
    }
    """
    factors, pivots, _ = evaluate(verify(parse_module(text)))
    assert pivots.tolist() == [2, 2] and factors[0, 0] == 2 + 2j


def test_schur_forms_with_their_vectors_after_the_eigenvalues() -> None:
    shape = "(f32[3,3], f32[3], f32[3], f32[3,3], s32[], s32[])"
    form, values, _, vectors, _, info = call("lapack_sgees", [1, 3, 86, 78], shape, A)
    assert np.allclose(vectors @ form @ vectors.T, A, atol=1e-4) and info == 0
    assert np.array_equal(values, np.diagonal(form))
    shape = "(c64[3,3], f32[3], c64[3], c64[3,3], s32[], s32[])"
    results = call("lapack_cgees", [1, 3, 86, 78], shape, A * np.complex64(1j))
    form, work, values, vectors, _, info = results
    assert np.allclose(vectors @ form @ np.conj(vectors).T, A * 1j, atol=1e-4)
    assert work.shape == (3,) and np.array_equal(values, np.diagonal(form))


def test_condensed_forms_agree_with_the_calls_of_today() -> None:
    shape = "(f32[3,3], f32[2], s32[], f32[96])"
    older = call("lapack_sgehrd", [3, 1, 3, 3, 1, 96], shape, A)[:3]
    today = call("lapack_sgehrd_ffi", [], "(f32[3,3], f32[2], s32[])", A)
    assert all(map(np.array_equal, older, today))
    shape = "(f32[3,3], f32[3], f32[2], f32[2], s32[], f32[96])"
    lower = call("lapack_ssytrd", [3, 1, 3, 1, 96], shape, A)[:5]
    upper = call("lapack_ssytrd", [3, 0, 3, 1, 96], shape, A)[:5]
    shape = "(f32[3,3], f32[3], f32[2], f32[2], s32[])"
    assert all(map(np.array_equal, lower, call("lapack_ssytrd_ffi", [], shape, A)))
    assert not np.array_equal(upper[0], lower[0])
