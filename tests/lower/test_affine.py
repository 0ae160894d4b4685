"""Symbolic indices equal the arithmetic they stand for, and cancel where they should."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np

from compiler.lower.affine import (
    Index,
    Quotient,
    Symbol,
    bounds,
    constant,
    delinearize,
    linearize,
    of_symbol,
    quotient,
    reciprocal,
    remainder,
)


def evaluate(index: Index, values: dict[int, int]) -> int:
    total = index.constant
    for atom, coefficient in index.terms:
        if isinstance(atom, Quotient):
            total += coefficient * (evaluate(atom.of, values) // atom.divisor)
        else:
            total += coefficient * values[atom.number]
    return total


def random_index(rng: random.Random, symbols: list[Symbol], depth: int = 3) -> Index:
    kind = rng.randrange(5) if depth else 0
    if kind <= 1:
        return of_symbol(rng.choice(symbols)) * rng.choice([1, 2, 3, 4, 6, 12])
    inner = random_index(rng, symbols, depth - 1)
    if kind == 2:
        return inner + random_index(rng, symbols, depth - 1) + rng.randrange(5)
    divisor = rng.choice([2, 3, 4, 6, 8, 12])
    return quotient(inner, divisor) if kind == 3 else remainder(inner, divisor)


def test_random_indices_equal_integer_arithmetic_and_stay_within_their_bounds() -> None:
    rng = random.Random(1)
    symbols = [Symbol(0, 0, 3), Symbol(1, 0, 11), Symbol(2, 0, 4)]
    points = list(itertools.product(range(4), range(12), range(5)))
    for _ in range(300):
        index = random_index(rng, symbols)
        low, high = bounds(index)
        divisor = rng.choice([2, 3, 4, 6, 12])
        by = (quotient(index, divisor), remainder(index, divisor))
        for point in rng.sample(points, 40):
            values = dict(enumerate(point))
            value = evaluate(index, values)
            assert low <= value <= high
            assert (evaluate(by[0], values), evaluate(by[1], values)) == divmod(value, divisor)


def test_a_collapsed_index_recombines_into_its_counter() -> None:
    counter = of_symbol(Symbol(0, 0, 16 * 48 - 1))
    rows = delinearize(counter, (16, 48))
    assert rows == (quotient(counter, 48), remainder(counter, 48))
    assert linearize(rows, (48, 1)) == counter


def test_a_reshape_of_nested_counters_needs_no_division() -> None:
    i, j = of_symbol(Symbol(0, 0, 15)), of_symbol(Symbol(1, 0, 47))
    linear = linearize((i, j), (48, 1))
    assert delinearize(linear, (16, 1, 48)) == (i, constant(0), j)
    assert delinearize(linear, (2, 8, 48)) == (quotient(i, 8), remainder(i, 8), j)


def test_split_and_merged_dimensions_cancel_through_two_reshapes() -> None:
    counter = of_symbol(Symbol(0, 0, 2 * 3 * 4 * 5 - 1))
    split = delinearize(counter, (2, 3, 4, 5))
    merged = delinearize(linearize(split, (60, 20, 5, 1)), (6, 20))
    assert linearize(merged, (20, 1)) == counter
    for index, extent in zip(split, (2, 3, 4, 5)):
        assert bounds(index) == (0, extent - 1)
    assert math.prod((6, 20)) == 120


def test_division_by_multiplication_is_exact_for_every_numerator() -> None:
    for divisor in (3, 5, 7, 10, 12, 24, 40, 48, 97, 641, 1000):
        for largest in (10, 1279, 46340):
            found = reciprocal(divisor, largest, 32)
            assert found is not None
            factor, shift = found
            numerators = np.arange(largest + 1, dtype=np.uint64)
            assert ((numerators * factor) < 1 << 32).all()
            assert np.array_equal((numerators * factor) >> np.uint64(shift), numerators // divisor)
    assert reciprocal(7, 1 << 30, 32) is None
    assert reciprocal(7, 1 << 30, 64) is not None
