# ruff: noqa: E501  (HLO text keeps its own line lengths)
"""Gather and scatter with random dimension numbers against loops written from the specification."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import pytest

from compiler.hlo.evaluate import evaluate
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify
from tests.hlo.programs import one_op


@dataclass
class Geometry:
    """Random dimension numbers, in gather's words."""

    operand: tuple[int, ...]
    sizes: tuple[int, ...]
    collapsed: tuple[int, ...]
    batching: tuple[int, ...]
    index_batching: tuple[int, ...]
    start_map: tuple[int, ...]
    indices: tuple[int, ...]
    vector: int
    offsets: tuple[int, ...]
    result: tuple[int, ...]


def random_geometry(draw: random.Random) -> Geometry:
    rank = draw.randint(1, 4)
    dims = list(range(rank))
    operand = [draw.randint(1, 4) for _ in dims]
    batching = sorted(draw.sample(dims, draw.randint(0, min(1, rank - 1))))
    free = [d for d in dims if d not in batching]
    start_map = draw.sample(free, draw.randint(1, len(free)))
    collapsed = sorted(draw.sample(free, draw.randint(0, len(free))))
    sizes = [1 if d in collapsed + batching else draw.randint(1, operand[d]) for d in dims]
    batch = [draw.randint(1, 3) for _ in range(draw.randint(len(batching), 2))]
    batch_places = draw.sample(range(len(batch)), len(batching))
    for place, dimension in zip(batch_places, batching):
        batch[place] = operand[dimension]
    implicit = len(start_map) == 1 and draw.random() < 0.3
    vector = len(batch) if implicit else draw.randint(0, len(batch))
    indices = list(batch)
    if not implicit:
        indices.insert(vector, len(start_map))
    index_batching = [place + (place >= vector and not implicit) for place in batch_places]
    window = [sizes[d] for d in free if d not in collapsed]
    result_rank = len(window) + len(batch)
    offsets = sorted(draw.sample(range(result_rank), len(window)))
    windows, batches = iter(window), iter(batch)
    result = [next(windows) if i in offsets else next(batches) for i in range(result_rank)]
    parts = (operand, sizes, collapsed, batching, index_batching, start_map, indices)
    return Geometry(*map(tuple, parts), vector, tuple(offsets), tuple(result))


def places(g: Geometry, indices: np.ndarray, position: tuple[int, ...], clamp: bool) -> list[int]:
    """Which operand element belongs to a position of the gathered (or update) array."""
    batch = [p for i, p in enumerate(position) if i not in g.offsets]
    offset = [p for i, p in enumerate(position) if i in g.offsets]
    if g.vector == len(g.indices):
        starts = [int(indices[tuple(batch)])]
    else:
        starts = [int(s) for s in np.moveaxis(indices, g.vector, -1)[tuple(batch)]]
    place = [0] * len(g.operand)
    for start, dimension in zip(starts, g.start_map):
        limit = g.operand[dimension] - g.sizes[dimension]
        place[dimension] = min(max(start, 0), limit) if clamp else start
    for dimension, source in zip(g.batching, g.index_batching):
        place[dimension] += batch[source - (source > g.vector)]
    kept = [d for d in range(len(g.operand)) if d not in g.collapsed + g.batching]
    for dimension, extra in zip(kept, offset):
        place[dimension] += extra
    return place


def braces(values: tuple[int, ...]) -> str:
    return "{" + ",".join(map(str, values)) + "}"


def dims(values: tuple[int, ...]) -> str:
    return ",".join(map(str, values))


@pytest.mark.parametrize("seed", range(60))
def test_gather_equals_the_specification(seed):
    draw = random.Random(seed)
    g = random_geometry(draw)
    generator = np.random.default_rng(seed)
    operand = generator.integers(-99, 99, g.operand).astype(np.int32)
    indices = generator.integers(-2, 6, g.indices).astype(np.int32)
    body = (
        f"p = s32[{dims(g.operand)}] parameter(0)\ni = s32[{dims(g.indices)}] parameter(1)\n"
        f"r = s32[{dims(g.result)}] gather(p, i), offset_dims={braces(g.offsets)}, "
        f"collapsed_slice_dims={braces(g.collapsed)}, start_index_map={braces(g.start_map)}, "
        f"operand_batching_dims={braces(g.batching)}, start_indices_batching_dims={braces(g.index_batching)}, "
        f"index_vector_dim={g.vector}, slice_sizes={braces(g.sizes)}"
    )
    expected = np.empty(g.result, np.int32)
    for position in np.ndindex(*g.result):
        expected[position] = operand[tuple(places(g, indices, position, clamp=True))]
    (result,) = evaluate(verify(parse_module(one_op(body))), operand, indices)
    np.testing.assert_array_equal(result, expected)


COMBINERS = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "maximum": max,
}


@pytest.mark.parametrize("seed", range(60))
def test_scatter_equals_the_specification(seed):
    draw = random.Random(seed)
    g = random_geometry(draw)
    generator = np.random.default_rng(seed)
    operand = generator.integers(-99, 99, g.operand).astype(np.int32)
    indices = generator.integers(-2, 6, g.indices).astype(np.int32)
    updates = generator.integers(-99, 99, g.result).astype(np.int32)
    name = draw.choice(list(COMBINERS))
    combiner = (
        f"f {{\n x = s32[] parameter(0)\n y = s32[] parameter(1)\n ROOT r = s32[] {name}(x, y)\n}}"
    )
    body = (
        f"p = s32[{dims(g.operand)}] parameter(0)\ni = s32[{dims(g.indices)}] parameter(1)\n"
        f"u = s32[{dims(g.result)}] parameter(2)\n"
        f"r = s32[{dims(g.operand)}] scatter(p, i, u), update_window_dims={braces(g.offsets)}, "
        f"inserted_window_dims={braces(g.collapsed)}, scatter_dims_to_operand_dims={braces(g.start_map)}, "
        f"input_batching_dims={braces(g.batching)}, scatter_indices_batching_dims={braces(g.index_batching)}, "
        f"index_vector_dim={g.vector}, to_apply=f"
    )
    expected = operand.copy()
    for position in np.ndindex(*g.result):
        place = tuple(places(g, indices, position, clamp=False))
        ends = [
            tuple(end if i in g.offsets else p for i, p in enumerate(position)) for end in (0, -1)
        ]
        corners = [
            places(g, indices, tuple(np.mod(end, g.result).tolist()), clamp=False) for end in ends
        ]
        if all(0 <= p < n for corner in corners for p, n in zip(corner, g.operand)):
            expected[place] = COMBINERS[name](int(expected[place]), int(updates[position]))
    (result,) = evaluate(
        verify(parse_module(one_op(body, before=combiner))), operand, indices, updates
    )
    np.testing.assert_array_equal(result, expected)


def test_a_window_that_sticks_out_is_dropped_whole():
    """As openxla/xla does on every backend (xla/hlo/evaluator, xla/service/scatter_expander.cc)."""
    body = (
        "p = s32[5] parameter(0)\ni = s32[3] parameter(1)\nu = s32[3,2] parameter(2)\n"
        "r = s32[5] scatter(p, i, u), update_window_dims={1}, inserted_window_dims={}, "
        "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f"
    )
    second = "f {\n x = s32[] parameter(0)\n ROOT y = s32[] parameter(1)\n}"
    module = verify(parse_module(one_op(body, before=second)))
    updates = np.array([[10, 20], [30, 40], [50, 60]], np.int32)
    starts = np.array([-1, 4, 1], np.int32)
    (result,) = evaluate(module, np.arange(5, dtype=np.int32), starts, updates)
    assert result.tolist() == [0, 50, 60, 3, 4]


def test_an_empty_iota_costs_nothing():
    module = verify(parse_module(one_op("r = s32[1000000000000,0] iota(), iota_dimension=0")))
    assert evaluate(module)[0].shape == (10**12, 0)
