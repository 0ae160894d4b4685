# ruff: noqa: E501  (HLO text keeps its own line lengths)
"""Dot, convolution, windows, gather, scatter and sort against naive loops written from the definitions."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable

import numpy as np
import pytest

from compiler.hlo.evaluate import evaluate
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify
from isas.errors import HobError
from tests.hlo.programs import ADD, GE, MAX, one_op

SUB = "sub_f32 {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT r = f32[] subtract(x, y)\n}\n"
ARGMAX = """
argmax {
  bv = f32[] parameter(0)
  bi = s32[] parameter(1)
  v = f32[] parameter(2)
  i = s32[] parameter(3)
  gt = pred[] compare(v, bv), direction=GT
  nv = f32[] select(gt, v, bv)
  ni = s32[] select(gt, i, bi)
  ROOT t = (f32[], s32[]) tuple(nv, ni)
}
"""


def run_all(body: str, *arrays: np.ndarray, before: str = "") -> list[np.ndarray]:
    return evaluate(verify(parse_module(one_op(body, before=before))), *arrays)


def run(body: str, *arrays: np.ndarray, before: str = "") -> np.ndarray:
    return run_all(body, *arrays, before=before)[0]


def joined(values: Iterable[object]) -> str:
    return "x".join(map(str, values))


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def shape_text(array: np.ndarray) -> str:
    name = {"float32": "f32", "int32": "s32", "float64": "f64"}[array.dtype.name]
    return f"{name}[{','.join(map(str, array.shape))}]"


def test_dot_with_every_kind_of_dimension_equals_einsum():
    a, b = floats(2, 3, 4, 5), floats(4, 2, 6, 3, seed=1)
    got = run(
        "p = f32[2,3,4,5] parameter(0)\nq = f32[4,2,6,3] parameter(1)\n"
        "r = f32[2,3,5,6] dot(p, q), lhs_batch_dims={0,1}, rhs_batch_dims={1,3}, "
        "lhs_contracting_dims={2}, rhs_contracting_dims={0}",
        a,
        b,
    )
    np.testing.assert_allclose(got, np.einsum("abcd,caeb->abde", a, b), rtol=1e-5, atol=1e-5)


def test_dot_of_vectors_and_outer_products():
    a, b = floats(4), floats(4, seed=1)
    inner = run(
        "p = f32[4] parameter(0)\nq = f32[4] parameter(1)\nr = f32[] dot(p, q), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        a,
        b,
    )
    np.testing.assert_allclose(inner, np.dot(a, b), rtol=1e-5)
    outer = run("p = f32[4] parameter(0)\nq = f32[4] parameter(1)\nr = f32[4,4] dot(p, q)", a, b)
    np.testing.assert_allclose(outer, np.outer(a, b), rtol=1e-6)


def test_integer_dot_widens_to_the_declared_type_and_wraps():
    a = np.array([100, 100, 100], np.int8)
    text = "p = s8[3] parameter(0)\nr = {}[] dot(p, p), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}"
    assert int(run(text.format("s32"), a)) == 30000
    assert int(run(text.format("s8"), a)) == np.array(30000).astype(np.int8)


def naive_convolution(lhs, rhs, strides, pads, base, window, reversal, groups, batch_groups):
    """lhs is (batch, feature, x, y), rhs (output, input, x, y)."""
    out = [
        (
            (lhs.shape[2 + i] - 1) * base[i]
            + 1
            + sum(pads[i])
            - ((rhs.shape[2 + i] - 1) * window[i] + 1)
        )
        // strides[i]
        + 1
        for i in range(2)
    ]
    batch = lhs.shape[0] // batch_groups
    result = np.zeros((batch, rhs.shape[0], *out))
    for n, o, x, y in np.ndindex(*result.shape):
        group = o // (rhs.shape[0] // (groups * batch_groups))
        for i, kx, ky in np.ndindex(*rhs.shape[1:]):
            at = []
            for axis, (place, k) in enumerate(((x, kx), (y, ky))):
                position = place * strides[axis] + k * window[axis] - pads[axis][0]
                at.append(position)
            if any(
                p % base[a] or not 0 <= p // base[a] < lhs.shape[2 + a] for a, p in enumerate(at)
            ):
                continue
            kernel = [
                rhs.shape[2 + a] - 1 - k if reversal[a] else k for a, k in enumerate((kx, ky))
            ]
            feature = i + (group * rhs.shape[1] if groups > 1 else 0)
            image = n + (group * batch if batch_groups > 1 else 0)
            value = lhs[image, feature, at[0] // base[0], at[1] // base[1]]
            result[n, o, x, y] += value * rhs[o, i, kernel[0], kernel[1]]
    return result


@pytest.mark.parametrize("seed", range(12))
def test_convolution_equals_the_naive_loops(seed):
    draw = random.Random(seed)
    groups, batch_groups = draw.choice([(1, 1), (1, 1), (2, 1), (1, 2)])
    lhs = floats(2, 2 * groups, draw.randint(3, 6), draw.randint(3, 6), seed=seed)
    rhs = floats(4, 2, draw.randint(1, 3), draw.randint(1, 3), seed=seed + 1)

    def pick(options: list[int]) -> list[int]:
        return [draw.choice(options) for _ in range(2)]

    strides, base, window, reversal = pick([1, 2]), pick([1, 2]), pick([1, 2]), pick([0, 1])
    pads = [(draw.randint(-1, 3), draw.randint(1, 3)) for _ in range(2)]
    expected = naive_convolution(
        lhs, rhs, strides, pads, base, window, reversal, groups, batch_groups
    )
    text = (
        f"p = {shape_text(lhs)} parameter(0)\nq = {shape_text(rhs)} parameter(1)\n"
        f"r = f32[{','.join(map(str, expected.shape))}] convolution(p, q), "
        f"window={{size={joined(rhs.shape[2:])} stride={joined(strides)} "
        f"pad={joined(f'{low}_{high}' for low, high in pads)} lhs_dilate={joined(base)} "
        f"rhs_dilate={joined(window)} rhs_reversal={joined(reversal)}}}, dim_labels=bf01_oi01->bf01, "
        f"feature_group_count={groups}, batch_group_count={batch_groups}"
    )
    np.testing.assert_allclose(run(text, lhs, rhs), expected, rtol=1e-4, atol=1e-4)


def test_reduce_over_several_dimensions_and_in_any_reducer():
    a = floats(3, 4, 5)
    body = "p = f32[3,4,5] parameter(0)\nz = f32[] constant(10)\nr = f32[4] reduce(p, z), dimensions={0,2}, to_apply="
    np.testing.assert_allclose(run(body + "add_f32", a, before=ADD), a.sum((0, 2)) + 10, rtol=1e-5)
    np.testing.assert_allclose(run(body + "max_f32", a, before=MAX), np.full(4, 10.0))
    got = run(body + "sub_f32", a, before=SUB)
    np.testing.assert_allclose(got, 10 - a.sum((0, 2)), rtol=1e-4)


def test_variadic_reduce_finds_the_first_greatest():
    a = np.array([[1, 5, 5, 2], [7, 0, 7, 7]], np.float32)
    values, places = run_all(
        "p = f32[2,4] parameter(0)\ni = s32[2,4] iota(), iota_dimension=1\n"
        "v = f32[] constant(-inf)\nz = s32[] constant(0)\n"
        "r = (f32[2], s32[2]) reduce(p, i, v, z), dimensions={1}, to_apply=argmax",
        a,
        before=ARGMAX,
    )
    assert values.tolist() == [5, 7] and places.tolist() == [1, 0]


def test_a_long_general_reduction_keeps_the_order_of_ties():
    a = np.zeros(40_000, np.float32)
    a[[777, 30_000]] = 3.0
    _, place = run_all(
        "p = f32[40000] parameter(0)\ni = s32[40000] iota(), iota_dimension=0\n"
        "v = f32[] constant(-inf)\nz = s32[] constant(0)\n"
        "r = (f32[], s32[]) reduce(p, i, v, z), dimensions={0}, to_apply=argmax",
        a,
        before=ARGMAX,
    )
    assert int(place) == 777


def test_f32_sums_are_rounded_once():
    a = np.full(100_000, 0.1, np.float32)
    body = "p = f32[100000] parameter(0)\nz = f32[] constant(0)\nr = f32[] reduce(p, z), dimensions={0}, to_apply=add_f32"
    assert run(body, a, before=ADD) == np.float32(a.astype(np.float64).sum())


def test_reduce_of_nothing_gives_the_initial_value():
    body = "p = f32[0,2] parameter(0)\nz = f32[] constant(4)\nr = f32[2] reduce(p, z), dimensions={0}, to_apply=max_f32"
    assert run(body, np.zeros((0, 2), np.float32), before=MAX).tolist() == [4, 4]


@pytest.mark.parametrize("seed", range(8))
def test_reduce_window_equals_the_naive_loops(seed):
    draw = random.Random(seed)
    a = floats(draw.randint(5, 7), draw.randint(5, 7), seed=seed)
    ranges = ((1, 3), (1, 2), (0, 2), (0, 2), (1, 2), (1, 2))
    dims = [tuple(draw.randint(*limits) for limits in ranges) for _ in range(2)]
    extents = [
        ((n - 1) * base + 1 + low + high - ((size - 1) * dilation + 1)) // stride + 1
        for n, (size, stride, low, high, base, dilation) in zip(a.shape, dims)
    ]
    expected = np.zeros(extents)
    for index in np.ndindex(*extents):
        for offset in itertools.product(*(range(d[0]) for d in dims)):
            at = [i * d[1] + o * d[5] - d[2] for i, o, d in zip(index, offset, dims)]
            if all(p % d[4] == 0 and 0 <= p // d[4] < n for p, d, n in zip(at, dims, a.shape)):
                expected[index] += a[tuple(p // d[4] for p, d in zip(at, dims))]

    def column(k: int) -> str:
        return joined(d[k] for d in dims)

    pads = joined(f"{d[2]}_{d[3]}" for d in dims)
    window = f"size={column(0)} stride={column(1)} pad={pads} lhs_dilate={column(4)} rhs_dilate={column(5)}"
    body = (
        f"p = {shape_text(a)} parameter(0)\nz = f32[] constant(0)\n"
        f"r = f32[{extents[0]},{extents[1]}] reduce-window(p, z), window={{{window}}}, to_apply=add_f32"
    )
    np.testing.assert_allclose(run(body, a, before=ADD), expected, rtol=1e-5, atol=1e-6)


def test_select_and_scatter_routes_to_the_selected_place():
    a = np.array([[7, 2, 5, 3], [3, 8, 9, 3], [1, 5, 7, 5], [0, 6, 2, 10]], np.float32)
    source = np.array([[2, 6], [3, 1]], np.float32)
    body = (
        "p = f32[4,4] parameter(0)\ns = f32[2,2] parameter(1)\nz = f32[] constant(0)\n"
        "r = f32[4,4] select-and-scatter(p, s, z), window={size=2x2 stride=2x2}, select=ge_f32, scatter=add_f32"
    )
    expected = np.zeros((4, 4))
    expected[1, 1], expected[1, 2], expected[3, 1], expected[3, 3] = 2, 6, 3, 1
    np.testing.assert_array_equal(run(body, a, source, before=ADD + GE), expected)


def test_gather_clamps_out_of_range_starts():
    a = np.arange(12, dtype=np.int32).reshape(4, 3)
    indices = np.array([[0], [9], [-5], [2]], np.int32)
    body = (
        "p = s32[4,3] parameter(0)\ni = s32[4,1] parameter(1)\n"
        "r = s32[4,2,3] gather(p, i), offset_dims={1,2}, collapsed_slice_dims={}, "
        "start_index_map={0}, index_vector_dim=1, slice_sizes={2,3}"
    )
    got = run(body, a, indices)
    for row, start in zip(got, [0, 2, 0, 2]):
        np.testing.assert_array_equal(row, a[start : start + 2])


def test_gather_with_batching_dimensions_picks_per_batch():
    a = floats(3, 5, 2)
    indices = np.array([[4, 0], [1, 1], [2, 3]], np.int32)
    body = (
        "p = f32[3,5,2] parameter(0)\ni = s32[3,2] parameter(1)\n"
        "r = f32[3,2,2] gather(p, i), offset_dims={2}, collapsed_slice_dims={1}, "
        "operand_batching_dims={0}, start_indices_batching_dims={0}, start_index_map={1}, "
        "index_vector_dim=2, slice_sizes={1,1,2}"
    )
    np.testing.assert_array_equal(
        run(body, a, indices), np.stack([a[b, indices[b]] for b in range(3)])
    )


def scatter_body(reducer: str) -> str:
    return (
        "p = f32[4,3] parameter(0)\ni = s32[5,1] parameter(1)\nu = f32[5,3] parameter(2)\n"
        "r = f32[4,3] scatter(p, i, u), update_window_dims={1}, inserted_window_dims={0}, "
        f"scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply={reducer}"
    )


@pytest.mark.parametrize(
    ("reducer", "before"), [("add_f32", ADD), ("max_f32", MAX), ("sub_f32", SUB)]
)
def test_scatter_combines_duplicates_and_drops_what_lies_outside(reducer, before):
    a, updates = floats(4, 3), floats(5, 3, seed=1)
    places = np.array([[1], [1], [7], [-1], [3]], np.int32)
    combine = {"add_f32": np.add, "max_f32": np.maximum, "sub_f32": np.subtract}[reducer]
    expected = a.copy()
    for place, update in zip(places[:, 0], updates):
        if 0 <= place < 4:
            expected[place] = combine(expected[place], update)
    np.testing.assert_allclose(
        run(scatter_body(reducer), a, places, updates, before=before), expected, rtol=1e-6
    )


def test_scatter_that_replaces_takes_the_last_update():
    replace = "rep { x = f32[] parameter(0)\n ROOT y = f32[] parameter(1) }\n"
    a, updates = floats(4, 3), floats(5, 3, seed=1)
    places = np.array([[1], [1], [0], [1], [3]], np.int32)
    got = run(scatter_body("rep"), a, places, updates, before=replace)
    np.testing.assert_array_equal(got, np.stack([updates[2], updates[3], a[2], updates[4]]))


LESS = "lt { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = s32[] parameter(2)\n d = s32[] parameter(3)\n ROOT r = pred[] compare(a, b), direction=%s }\n"


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 16, 33, 100])
@pytest.mark.parametrize("direction", ["LT", "GT"])
def test_sort_is_stable_for_any_length(count, direction):
    keys = np.random.default_rng(count).integers(0, 5, count).astype(np.float32)
    places = np.arange(count, dtype=np.int32)
    body = (
        f"p = f32[{count}] parameter(0)\nq = s32[{count}] parameter(1)\n"
        f"r = (f32[{count}], s32[{count}]) sort(p, q), dimensions={{0}}, is_stable=true, to_apply=lt"
    )
    sorted_keys, sorted_places = run_all(body, keys, places, before=LESS % direction)
    order = np.argsort(keys if direction == "LT" else -keys, kind="stable")
    np.testing.assert_array_equal(sorted_keys, keys[order])
    np.testing.assert_array_equal(sorted_places, order)


def test_sort_along_an_inner_dimension():
    a = floats(3, 17, 2)
    less = "lt { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=LT }\n"
    body = "p = f32[3,17,2] parameter(0)\nr = f32[3,17,2] sort(p), dimensions={1}, to_apply=lt"
    np.testing.assert_array_equal(run(body, a, before=less), np.sort(a, axis=1))


def test_top_k_orders_ties_by_place():
    a = np.array([[1, 5, 5, -2, 7]], np.float32)
    for body in (
        "r = (f32[1,3], s32[1,3]) topk(p), k=3, largest=true",
        'r = (f32[1,3], s32[1,3]) custom-call(p), custom_call_target="TopK"',
    ):
        values, places = run_all("p = f32[1,5] parameter(0)\n" + body, a)
        assert values.tolist() == [[7, 5, 5]] and places.tolist() == [[4, 1, 2]]


@pytest.mark.parametrize("seed", range(10))
def test_pad_equals_the_naive_placement(seed):
    draw = random.Random(seed)
    a = floats(draw.choice([0, 4, 5]), draw.randint(4, 6), seed=seed)
    least = 0 if a.shape[0] == 0 else -2
    padding = [
        (draw.randint(least, 3), draw.randint(least, 3), draw.randint(0, 2)) for _ in range(2)
    ]
    extents = [low + high + n + max(n - 1, 0) * i for n, (low, high, i) in zip(a.shape, padding)]
    expected = np.full(extents, 9.0)
    for index in np.ndindex(*a.shape):
        at = tuple(low + k * (inner + 1) for k, (low, _, inner) in zip(index, padding))
        if all(0 <= p < n for p, n in zip(at, extents)):
            expected[at] = a[index]
    text = "x".join("_".join(map(str, p)) for p in padding)
    body = (
        f"p = {shape_text(a)} parameter(0)\nz = f32[] constant(9)\n"
        f"r = f32[{extents[0]},{extents[1]}] pad(p, z), padding={text}"
    )
    np.testing.assert_array_equal(run(body, a), expected)


def test_dynamic_slices_clamp_their_starts():
    a = np.arange(10, dtype=np.int32)
    body = "p = s32[10] parameter(0)\ni = s32[] parameter(1)\nr = s32[4] dynamic-slice(p, i), dynamic_slice_sizes={4}"
    for start, first in ((3, 3), (9, 6), (-7, 0)):
        assert run(body, a, np.int32(start)).tolist() == list(range(first, first + 4))
    body = "p = s32[10] parameter(0)\nu = s32[2] parameter(1)\ni = s32[1] parameter(2)\nr = s32[10] dynamic-update-slice(p, u, i)"
    got = run(body, a, np.array([-1, -2], np.int32), np.array([100], np.int32))
    assert got.tolist() == [*range(8), -1, -2]


def test_moves():
    a = np.arange(6, dtype=np.int32).reshape(2, 3)
    p = "p = s32[2,3] parameter(0)\n"
    np.testing.assert_array_equal(run(p + "r = s32[3,2] transpose(p), dimensions={1,0}", a), a.T)
    np.testing.assert_array_equal(run(p + "r = s32[2,3] reverse(p), dimensions={1}", a), a[:, ::-1])
    np.testing.assert_array_equal(
        run(p + "r = s32[1,2] slice(p), slice={[1:2], [0:3:2]}", a), a[1:2, 0:3:2]
    )
    np.testing.assert_array_equal(
        run(p + "r = s32[2,6] concatenate(p, p), dimensions={1}", a), np.hstack([a, a])
    )
    got = run(p + "r = s32[3,5,2] broadcast(p), dimensions={2,0}", a)
    np.testing.assert_array_equal(got, np.broadcast_to(a.T[:, None, :], (3, 5, 2)))
    np.testing.assert_array_equal(run("r = f32[2,3] iota(), iota_dimension=1"), [[0, 1, 2]] * 2)


def test_layouts_change_values_only_in_bitcast():
    a = np.arange(6, dtype=np.int32).reshape(2, 3)
    got = run("p = s32[2,3]{0,1} parameter(0)\nr = s32[2,3]{1,0} copy(p)", a)
    np.testing.assert_array_equal(got, a)
    got = run("p = s32[2,3]{0,1} parameter(0)\nr = s32[3,2]{1,0} bitcast(p)", a)
    np.testing.assert_array_equal(got, a.T)
    got = run("p = s32[2,3]{1,0} parameter(0)\nr = s32[3,2]{1,0} bitcast(p)", a)
    np.testing.assert_array_equal(got, a.reshape(3, 2))


def test_map_applies_any_scalar_computation():
    poly = "f { x = f32[] parameter(0)\n c = f32[] constant(2)\n m = f32[] multiply(x, c)\n ROOT r = f32[] add(m, x) }\n"
    a = floats(3, 2)
    got = run(
        "p = f32[3,2] parameter(0)\nr = f32[3,2] map(p), dimensions={0,1}, to_apply=f",
        a,
        before=poly,
    )
    np.testing.assert_allclose(got, 3 * a, rtol=1e-6)


def test_a_reducer_that_loops_is_evaluated_element_by_element():
    looping = """
cond { s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  ROOT c = pred[] compare(i, s32[] constant(0)), direction=GT }
body { s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = s32[] get-tuple-element(s), index=1
  ROOT t = (s32[], s32[]) tuple(subtract(i, s32[] constant(1)), add(x, s32[] constant(1))) }
slow_add { x = s32[] parameter(0)
  y = s32[] parameter(1)
  t = (s32[], s32[]) tuple(y, x)
  w = (s32[], s32[]) while(t), condition=cond, body=body
  ROOT r = s32[] get-tuple-element(w), index=1 }
"""
    a = np.array([[1, 2, 3], [4, 0, 1]], np.int32)
    body = "p = s32[2,3] parameter(0)\nz = s32[] constant(0)\nr = s32[2] reduce(p, z), dimensions={1}, to_apply=slow_add"
    assert run(body, a, before=looping).tolist() == [6, 5]


COUNTING = """
cond { i = s32[] parameter(0)
  ROOT c = pred[] compare(i, s32[] constant(5000)), direction=NE }
body { i = s32[] parameter(0)
  ROOT next = s32[] add(i, s32[] constant(1)) }
"""


def test_a_loop_whose_state_repeats_is_refused_and_a_long_one_is_not():
    body = "p = s32[] parameter(0)\nr = s32[] while(p), condition=cond, body=body"
    assert run(body, np.int32(1), before=COUNTING) == 5000
    toggling = COUNTING.replace("add", "xor")
    with pytest.raises(HobError, match="never ends: its state repeats after 1026 steps"):
        run(body, np.int32(1), before=toggling)


def test_ragged_dot_gives_every_row_its_groups_matrix():
    a, b = floats(2, 6, 3), floats(4, 3, 5, seed=1)
    sizes = np.array([[1, 0, 3, 2], [2, 2, 0, 1]], np.int32)
    body = (
        "p = f32[2,6,3] parameter(0)\nq = f32[4,3,5] parameter(1)\ns = s32[2,4] parameter(2)\n"
        "r = f32[2,6,5] ragged-dot(p, q, s), lhs_contracting_dims={2}, rhs_contracting_dims={1}, "
        "lhs_ragged_dims={1}, rhs_group_dims={0}"
    )
    expected = np.zeros((2, 6, 5))
    for i in range(2):
        group_of_row = np.repeat(np.arange(4), sizes[i])
        for row, group in enumerate(group_of_row):
            expected[i, row] = a[i, row] @ b[group]
    np.testing.assert_allclose(run(body, a, b, sizes), expected, rtol=1e-5, atol=1e-6)


def test_ragged_dot_over_a_contracting_dimension_sums_group_by_group():
    a, b = floats(2, 7), floats(7, 3, seed=1)
    body = (
        "p = f32[2,7] parameter(0)\nq = f32[7,3] parameter(1)\ns = s32[3] parameter(2)\n"
        "r = f32[3,2,3] ragged-dot(p, q, s), lhs_contracting_dims={1}, rhs_contracting_dims={0}, lhs_ragged_dims={1}"
    )
    got = run(body, a, b, np.array([2, 0, 4], np.int32))
    expected = np.stack([a[:, :2] @ b[:2], np.zeros((2, 3)), a[:, 2:6] @ b[2:6]])
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("kind", "one", "half"), [("bf16", 256.0, 1.0), ("f16", 2048.0, 1.0)])
def test_small_windows_of_narrow_floats_round_at_every_step(
    kind: str, one: float, half: float
) -> None:
    """The small summands vanish one by one beside the large one, though their sum would not."""
    adder = ADD.replace("f32", kind)
    text = (
        f"HloModule m\n\n{adder}\n\nENTRY e {{\n"
        f"  p = {kind}[5] constant({{{one}, {half}, {half}, {half}, {half}}})\n"
        f"  z = {kind}[] constant(0)\n"
        f"  ROOT r = {kind}[1] reduce-window(p, z), window={{size=5}}, to_apply=add_{kind}\n}}\n"
    )
    (result,) = evaluate(verify(parse_module(text)))
    assert float(result[0]) == one


def test_what_several_replicas_would_gather_is_refused_in_a_tuple_too():
    body = (
        "p = f32[2] parameter(0)\nq = s32[3] parameter(1)\n"
        "r = (f32[4], s32[6]) all-gather(p, q), dimensions={0}"
    )
    module = verify(parse_module(one_op(body)))
    with pytest.raises(HobError, match="all-gather among several replicas"):
        evaluate(module, np.zeros(2, np.float32), np.zeros(3, np.int32))
