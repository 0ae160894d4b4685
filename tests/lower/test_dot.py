"""Dots with any dimension numbers, layouts, types and register counts equal NumPy's."""

from __future__ import annotations

import random
import string
from dataclasses import replace

import numpy as np
import pytest

from compiler.hlo.evaluate import evaluate
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify
from compiler.lower.decisions import Tile
from compiler.lower.support import check
from compiler.options import Options
from isas.errors import UnsupportedError
from tests.lower.harness import ARM, SCALAR, X86, Prepared, lowered, prepare, run, run_all

TARGETS = (X86, ARM, SCALAR, replace(X86, registers=(("vec", 4), ("gpr", 6))))


def layout(rng: random.Random, rank: int) -> str:
    order = list(range(rank - 1, -1, -1))
    if rng.random() < 0.5:
        rng.shuffle(order)
    return "{" + ",".join(map(str, order)) + "}"


def shape(rng: random.Random, kind: str, extents: list[int]) -> str:
    return f"{kind}[{','.join(map(str, extents))}]{layout(rng, len(extents))}"


def random_dot(rng: random.Random, kind: str) -> tuple[str, list[list[int]]]:
    """A program with one dot of shuffled dimensions, sometimes with an epilogue."""
    sizes = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17]
    letters = iter(string.ascii_lowercase)
    groups = [
        [(next(letters), rng.choice(sizes)) for _ in range(rng.randrange(low, high))]
        for low, high in ((0, 2), (0, 3), (0, 3), (0, 3))
    ]
    batch, rows, columns, contracted = groups
    left, right = batch + rows + contracted, batch + columns + contracted
    left, right = rng.sample(left, len(left)), rng.sample(right, len(right))
    names = ([n for n, _ in left], [n for n, _ in right])
    rest = {n: (names[0] + names[1]).index(n) for n, _ in batch + rows + columns}
    free_left = sorted((d for d in rows), key=lambda d: names[0].index(d[0]))
    free_right = sorted((d for d in columns), key=lambda d: names[1].index(d[0]))
    result = [e for _, e in batch + free_left + free_right]
    assert len(rest) == len(result)

    def places(side: int, dims: list[tuple[str, int]]) -> str:
        return ",".join(str(names[side].index(n)) for n, _ in dims)

    numbers = (
        f"lhs_batch_dims={{{places(0, batch)}}}, rhs_batch_dims={{{places(1, batch)}}}, "
        f"lhs_contracting_dims={{{places(0, contracted)}}}, "
        f"rhs_contracting_dims={{{places(1, contracted)}}}"
    )
    extents = [[e for _, e in left], [e for _, e in right]]
    text = f"""HloModule dot
ENTRY main {{
  x = {shape(rng, kind, extents[0])} parameter(0)
  y = {shape(rng, kind, extents[1])} parameter(1)
  ROOT d = {shape(rng, kind, result)} dot(x, y), {numbers}
}}"""
    return text, extents


def arrays(rng: np.random.Generator, kind: str, extents: list[list[int]]) -> list[np.ndarray]:
    if kind == "s32":
        return [rng.integers(-99, 99, e).astype(np.int32) for e in extents]
    dtype = np.float32 if kind == "f32" else np.float64
    return [rng.normal(size=e).astype(dtype) for e in extents]


def test_random_dots_equal_the_evaluator_on_every_kind_of_machine() -> None:
    rng, numbers = random.Random(7), np.random.default_rng(7)
    prepared: list[Prepared] = []
    expected: list[np.ndarray] = []
    for turn in range(120):
        kind = ("f32", "f64", "s32")[turn % 3]
        text, extents = random_dot(rng, kind)
        given = arrays(numbers, kind, extents)
        target = TARGETS[turn % len(TARGETS)]
        options = Options(strict_order=turn % 5 == 0)
        prepared.append(prepare(text, given, target, options))
        expected.append(evaluate(parse_module(text), *given)[0])
    for (found,), exact in zip(run_all(prepared), expected, strict=True):
        np.testing.assert_allclose(found, exact, rtol=2e-5, atol=2e-5)


NUMBERS = {
    "u8": np.uint8, "s8": np.int8, "u16": np.uint16, "s32": np.int32, "u32": np.uint32,
    "pred": np.bool_, "f16": np.float16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip


def test_operands_of_other_types_count_as_the_numbers_they_are() -> None:
    """A u8 of 200 is 200, not -56; integers among floats become floats."""
    rng, prepared, expected = np.random.default_rng(3), [], []
    for kinds in (
        "u8 u8 s32", "u8 u8 u32", "u8 s8 s32", "s8 u8 s32", "s32 u8 s32", "u16 u16 u32",
        "u32 u32 u64", "u32 u32 s64", "pred pred s32", "s8 s8 f32", "u8 u8 f32", "u32 u32 f64",
        "s8 f32 f32", "f32 u8 f32", "u8 f64 f64", "f16 s8 f32",
    ):  # fmt: skip
        left, right, result = kinds.split()
        text = f"""HloModule m
ENTRY main {{
  x = {left}[5,12] parameter(0)
  y = {right}[12,9] parameter(1)
  ROOT d = {result}[5,9] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}"""
        given = []
        for kind, extents in ((left, (5, 12)), (right, (12, 9))):
            lowest = 0 if kind[0] in "up" else -128
            highest = {"u8": 256, "u16": 65536, "u32": 2**32, "pred": 2}.get(kind, 128)
            given.append(rng.integers(lowest, highest, extents).astype(NUMBERS[kind]))
        for target in (X86, SCALAR):
            prepared.append(prepare(text, given, target))
            expected.append(evaluate(parse_module(text), *given)[0])
    for (found,), exact in zip(run_all(prepared), expected, strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-6)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            "s32[2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
            "dot from bf16 to s32",
        ),
        ("f32[2] reduce(x, z), dimensions={1}, to_apply=add", "reduce from bf16 to f32"),
    ],
)
def test_other_mixtures_are_refused_by_name(line: str, reason: str) -> None:
    text = f"""HloModule m
add {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}}
ENTRY main {{
  x = bf16[2,3] parameter(0)
  y = bf16[3] parameter(1)
  z = bf16[] constant(0)
  ROOT r = {line}
}}"""
    with pytest.raises(UnsupportedError, match=reason):
        check(verify(parse_module(text)))


LARGE = """HloModule large
ENTRY main {
  x = f32[61,130] parameter(0)
  y = f32[130,93] parameter(1)
  ROOT d = f32[61,93] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""


def test_a_large_dot_with_ragged_edges() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(61, 130)).astype("f4"), rng.normal(size=(130, 93)).astype("f4")
    for target in TARGETS:
        (found,) = run(LARGE, x, y, target=target)
        np.testing.assert_allclose(found, x.astype(float) @ y, rtol=1e-4, atol=1e-5)


def tile(text: str, target=X86, options: Options | None = None) -> Tile:  # type: ignore[no-untyped-def]
    journal = lowered(text, target, options)[3]
    (found,) = [e.decision for e in journal.entries if isinstance(e.decision, Tile)]
    return found


def test_the_tile_fits_the_registers_it_is_given() -> None:
    for count in (3, 4, 6, 8, 12, 16, 32):
        found = tile(LARGE, replace(X86, registers=(("vec", count),)))
        assert found.lanes == 8
        assert found.rows * found.vectors + found.vectors + 1 <= count
    assert tile(LARGE).rows * tile(LARGE).vectors >= 9


def test_vectors_run_along_what_is_contiguous() -> None:
    rows_first = LARGE.replace("f32[130,93]", "f32[130,93]{0,1}")
    assert tile(LARGE).chosen == "vectors along columns"
    assert tile(rows_first).chosen == "vectors along the contracted dimension"
    assert tile(rows_first, options=Options(strict_order=True)).lanes == 1
    column_major = LARGE.replace("f32[61,130]", "f32[61,130]{0,1}").replace(
        "ROOT d = f32[61,93]", "ROOT d = f32[61,93]{0,1}"
    )
    assert tile(column_major).chosen == "vectors along columns"
    assert tile(LARGE, options=Options(vector_lanes=1)).lanes == 1
