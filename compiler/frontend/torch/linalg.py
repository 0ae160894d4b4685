"""Factorisations and solutions: HLO's own operations, or the LAPACK calls that JAX makes on CPUs.

Matrices are the last two dimensions. LAPACK's info is 0: what a factorisation cannot do shows as
NaN or infinity.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.frontend.torch import movement
from compiler.frontend.torch.build import Builder, Value
from compiler.frontend.torch.build import array_shape as shape_of
from compiler.frontend.torch.pointwise import EQ, NE, Rule, sgn
from compiler.hlo.attributes import ComparisonDirection, TransposeKind, Verbatim
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ElementType, TupleShape
from isas.errors import UnsupportedError

_LETTERS = {
    ElementType.F32: "s", ElementType.F64: "d", ElementType.C64: "c", ElementType.C128: "z",
}  # fmt: skip


def _lapack(b: Builder, name: str, results: TupleShape, *operands: Value, **words: str) -> Any:
    """The results, or the only one, of a call of `lapack_sgetrf_ffi` and the like; words are its
    letters (`uplo="L"`)."""
    kind = operands[0].kind
    if kind not in _LETTERS:
        raise UnsupportedError(f"there is no LAPACK for {kind}")
    config = ", ".join(f"{key} = {ord(letter)} : ui8" for key, letter in words.items())
    attributes = {
        "custom_call_target": f"lapack_{_LETTERS[kind]}{name}_ffi",
        "api_version": Verbatim("API_VERSION_TYPED_FFI"),
        "backend_config": Verbatim(f"{{{config}}}"),
    }
    if len(results.elements) > 1:
        return b.call_many(results, *operands, **attributes)
    only = results.elements[0]
    return b.emit(Opcode.CUSTOM_CALL, *operands, shape=only, **attributes)  # type: ignore[arg-type]


def _shapes(*parts: tuple[ElementType, tuple[int, ...]]) -> TupleShape:
    return TupleShape(tuple(shape_of(kind, extents) for kind, extents in parts))


def _success(b: Builder, x: Value) -> Value:
    return b.full(0, ElementType.S32, x.dimensions[:-2])


def _adjoint(b: Builder, x: Value) -> Value:
    return movement.conjugate(b, movement.transpose(b, x, -2, -1))


def _identity(b: Builder, size: int, like: Value) -> Value:
    eye = b.array(np.eye(size).astype(like.kind.dtype))
    return b.broadcast(eye, (*like.dimensions[:-2], size, size))


def _below(b: Builder, x: Value) -> Value:
    """The lower triangle; nothing above it."""
    return movement.triangle(ComparisonDirection.LE)(b, x)


def _above(b: Builder, x: Value) -> Value:
    return movement.triangle(ComparisonDirection.GE)(b, x)


def _product(b: Builder, one: Value, other: Value) -> Value:
    batch = tuple(range(one.rank - 2))
    return b.dot(one, other, ((one.rank - 1,), (other.rank - 2,)), (batch, batch))


# -- triangles ----------------------------------------------------------------------------------


def cholesky(
    b: Builder, x: Value, *, upper: bool = False, check_errors: bool = False
) -> tuple[Value, Value]:
    source = _adjoint(b, x) if upper else x
    factor = _below(b, b.emit(Opcode.CHOLESKY, source, lower=True))
    return (_adjoint(b, factor) if upper else factor), _success(b, x)


def solve_triangular(
    b: Builder, matrix: Value, right: Value, *, upper: bool, left: bool = True,
    unitriangular: bool = False,
) -> Value:  # fmt: skip
    lead = tuple(np.broadcast_shapes(matrix.dimensions[:-2], right.dimensions[:-2]))
    return b.emit(
        Opcode.TRIANGULAR_SOLVE,
        b.broadcast(matrix, lead + matrix.dimensions[-2:]),
        b.broadcast(right, lead + right.dimensions[-2:]),
        left_side=left, lower=not upper, unit_diagonal=unitriangular,
        transpose_a=TransposeKind.NO_TRANSPOSE,
    )  # fmt: skip


def cholesky_solve(b: Builder, right: Value, factor: Value, upper: bool = False) -> Value:
    lower = _adjoint(b, factor) if upper else factor
    inner = solve_triangular(b, lower, right, upper=False)
    return solve_triangular(b, _adjoint(b, lower), inner, upper=True)


def cholesky_inverse(b: Builder, factor: Value, upper: bool = False) -> Value:
    return cholesky_solve(b, _identity(b, factor.dimensions[-1], factor), factor, upper)


# -- LU -----------------------------------------------------------------------------------------


def lu_factor(
    b: Builder, x: Value, *, pivot: bool = True, check_errors: bool = False
) -> tuple[Value, Value, Value]:
    """L below the diagonal and U above it, the row each row was exchanged with (from 1), info."""
    if not pivot:
        raise UnsupportedError("LU without pivots")
    lead, steps = x.dimensions[:-2], min(x.dimensions[-2:])
    results = _shapes((x.kind, x.dimensions), (ElementType.S32, (*lead, steps)),
                      (ElementType.S32, lead))  # fmt: skip
    factors, pivots, info = _lapack(b, "getrf", results, x)
    return factors, pivots, info


def _order(b: Builder, pivots: Value, rows: int) -> Value:
    """For each row of the product L U, the row of the matrix that it is: all exchanges made."""
    shape = (*pivots.dimensions[:-1], rows)
    places = b.iota(ElementType.S32, shape, len(shape) - 1)
    order = places
    for k in range(pivots.dimensions[-1]):
        at = b.subtract(b.slice_along(pivots, pivots.rank - 1, k, k + 1), 1)
        is_at = b.compare(EQ, places, at)
        here = b.slice_along(order, order.rank - 1, k, k + 1)
        there = b.sum(b.select(is_at, order, 0, order.kind), (order.rank - 1,), keep=True)
        order = b.select(b.compare(EQ, places, k), there, order, order.kind)
        order = b.select(is_at, here, order, order.kind)
    return order


def _permutation(b: Builder, pivots: Value, rows: int, kind: ElementType) -> Value:
    """The matrix P with P A = L U."""
    order = _order(b, pivots, rows)
    wide = movement.unsqueeze(b, order, -1)
    columns = b.iota(ElementType.S32, (*order.dimensions, rows), order.rank)
    return b.convert(b.compare(EQ, columns, wide), kind)


def lu_unpack(
    b: Builder, factors: Value, pivots: Value, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Value, Value, Value]:
    """P, L and U with A = P L U."""
    rows, columns = factors.dimensions[-2:]
    steps = min(rows, columns)
    thin = b.slice_along(factors, factors.rank - 1, 0, steps)
    strict = movement.triangle(ComparisonDirection.LE)(b, thin, -1)
    eye = b.array(np.eye(rows, steps).astype(factors.kind.dtype))
    lower = b.add(strict, b.broadcast(eye, strict.dimensions))
    upper = _above(b, b.slice_along(factors, factors.rank - 2, 0, steps))
    swap = _permutation(b, pivots, rows, factors.kind)
    return movement.transpose(b, swap, -2, -1), lower, upper


def lu(b: Builder, x: Value, *, pivot: bool = True) -> tuple[Value, Value, Value]:
    factors, pivots, _info = lu_factor(b, x, pivot=pivot)
    return lu_unpack(b, factors, pivots)


def lu_solve(
    b: Builder, factors: Value, pivots: Value, right: Value, *, left: bool = True,
    adjoint: bool = False,
) -> Value:  # fmt: skip
    """Solves A X = B, with A's adjoint or from the right if asked."""
    if not left:
        turned = lu_solve(b, factors, pivots, _adjoint(b, right), adjoint=not adjoint)
        return _adjoint(b, turned)
    swap = _permutation(b, pivots, factors.dimensions[-2], factors.kind)
    lead = tuple(np.broadcast_shapes(swap.dimensions[:-2], right.dimensions[:-2]))
    swap = b.broadcast(swap, lead + swap.dimensions[-2:])
    right = b.broadcast(right, lead + right.dimensions[-2:])
    if adjoint:
        turned = _adjoint(b, factors)
        inner = solve_triangular(b, turned, right, upper=False)
        inner = solve_triangular(b, turned, inner, upper=True, unitriangular=True)
        return _product(b, movement.transpose(b, swap, -2, -1), inner)
    inner = _product(b, swap, right)
    inner = solve_triangular(b, factors, inner, upper=False, unitriangular=True)
    return solve_triangular(b, factors, inner, upper=True)


def solve(
    b: Builder, x: Value, right: Value, *, left: bool = True, check_errors: bool = False
) -> tuple[Value, Value, Value, Value]:
    factors, pivots, info = lu_factor(b, x)
    is_vector = right.rank == 1 or (
        right.rank == x.rank - 1 and right.dimensions == x.dimensions[:-1]
    )
    wide = movement.unsqueeze(b, right, -1) if is_vector else right
    found = lu_solve(b, factors, pivots, wide, left=left)
    if is_vector:
        found = b.reshape(found, found.dimensions[:-1])
    return found, factors, pivots, info


def inverse(b: Builder, x: Value, *, check_errors: bool = False) -> tuple[Value, Value]:
    return solve(b, x, _identity(b, x.dimensions[-1], x))[0], _success(b, x)


def _swaps_sign(b: Builder, pivots: Value, kind: ElementType) -> Value:
    """1 for an even number of exchanges, -1 for an odd one."""
    places = b.iota(ElementType.S32, pivots.dimensions, pivots.rank - 1)
    is_swap = b.convert(b.compare(NE, pivots, b.add(places, 1)), ElementType.S32)
    count = b.sum(is_swap, (pivots.rank - 1,))
    return b.subtract(1, b.convert(b.multiply(b.emit(
        Opcode.AND, count, b.full_like(1, count)), 2), kind))  # fmt: skip


def determinant(b: Builder, x: Value) -> tuple[Value, Value, Value]:
    factors, pivots, _info = lu_factor(b, x)
    diagonal = movement.diagonal(b, factors, 0, -2, -1)
    product = b.reduce(Opcode.MULTIPLY, diagonal, (diagonal.rank - 1,), 1)
    return b.multiply(product, _swaps_sign(b, pivots, x.kind)), factors, pivots


def log_determinant(b: Builder, x: Value) -> tuple[Value, Value, Value, Value]:
    factors, pivots, _info = lu_factor(b, x)
    diagonal = movement.diagonal(b, factors, 0, -2, -1)
    signs = b.reduce(Opcode.MULTIPLY, sgn(b, diagonal), (diagonal.rank - 1,), 1)
    logarithms = b.emit(Opcode.LOG, b.emit(Opcode.ABS, diagonal))
    total = b.sum(logarithms, (diagonal.rank - 1,))
    return b.multiply(signs, _swaps_sign(b, pivots, x.kind)), total, factors, pivots


# -- orthogonal factors -------------------------------------------------------------------------


def qr(b: Builder, x: Value, mode: str = "reduced") -> tuple[Value, Value]:
    lead, (rows, columns) = x.dimensions[:-2], x.dimensions[-2:]
    steps = min(rows, columns)
    results = _shapes((x.kind, x.dimensions), (x.kind, (*lead, steps)))
    reflectors, factors = _lapack(b, "geqrf", results, x)
    width = rows if mode == "complete" else steps
    upper = _above(b, b.slice_along(reflectors, x.rank - 2, 0, width))
    if mode == "r":
        return b.array(np.zeros(0, x.kind.dtype)), upper
    thin = b.slice_along(reflectors, x.rank - 1, 0, min(columns, width))
    edges = [(0, 0, 0)] * (x.rank - 1) + [(0, width - thin.dimensions[-1], 0)]
    return householder_product(b, b.pad(thin, edges, b.number(0, x.kind)), factors), upper


def householder_product(b: Builder, reflectors: Value, factors: Value) -> Value:
    name = "ungqr" if reflectors.kind.is_complex else "orgqr"
    results = _shapes((reflectors.kind, reflectors.dimensions))
    product: Value = _lapack(b, name, results, reflectors, factors)
    return product


def _real(kind: ElementType) -> ElementType:
    return kind.real if kind.is_complex else kind


def svd(
    b: Builder, x: Value, full_matrices: bool = False, compute_uv: bool = True, *,
    driver: str | None = None,
) -> tuple[Value, Value, Value]:  # fmt: skip
    lead, (rows, columns) = x.dimensions[:-2], x.dimensions[-2:]
    steps = min(rows, columns)
    height, width = (rows, columns) if full_matrices else (steps, steps)
    results = _shapes(
        (x.kind, x.dimensions), (_real(x.kind), (*lead, steps)), (x.kind, (*lead, rows, height)),
        (x.kind, (*lead, width, columns)), (ElementType.S32, lead),
    )  # fmt: skip
    mode = "A" if full_matrices else "S"
    _rest, values, left, right, _status = _lapack(b, "gesdd", results, x, mode=mode)
    if compute_uv:
        return left, values, right
    nothing = b.array(np.zeros(0, x.kind.dtype))
    return nothing, values, nothing


def eigh(b: Builder, x: Value, uplo: str = "L", compute_v: bool = True) -> tuple[Value, Value]:
    lead = x.dimensions[:-2]
    results = _shapes((x.kind, x.dimensions), (_real(x.kind), x.dimensions[:-1]),
                      (ElementType.S32, lead))  # fmt: skip
    name = "heevd" if x.kind.is_complex else "syevd"
    vectors, values, _status = _lapack(b, name, results, x, mode="V", uplo=uplo)
    return values, vectors if compute_v else b.array(np.zeros(0, x.kind.dtype))


TABLE: dict[str, Rule] = {
    "aten.linalg_cholesky_ex": cholesky, "aten.cholesky": lambda b, x, upper=False: cholesky(
        b, x, upper=upper
    )[0],
    "aten.linalg_solve_triangular": solve_triangular, "aten.cholesky_solve": cholesky_solve,
    "aten.cholesky_inverse": cholesky_inverse, "aten.linalg_lu_factor_ex": lu_factor,
    "aten.lu_unpack": lu_unpack, "aten.linalg_lu": lu, "aten.linalg_lu_solve": lu_solve,
    "aten._linalg_solve_ex": solve, "aten.linalg_inv_ex": inverse,
    "aten._linalg_det": determinant, "aten._linalg_slogdet": log_determinant,
    "aten.linalg_qr": qr, "aten.linalg_householder_product": householder_product,
    "aten._linalg_svd": svd, "aten._linalg_eigh": eigh,
}  # fmt: skip
"""Rules by operator."""
