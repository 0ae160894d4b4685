"""The flags table says the truth: producer then condition equals the comparison it names."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest

from isas.effects import Effect
from isas.flags import (
    CARRY,
    FLAG_MEANINGS,
    OVERFLOW,
    PARITY,
    PRODUCED_OPERATION,
    SIGN,
    ZERO,
    condition_holds,
)

BITS = 4
MASK = (1 << BITS) - 1
FLOATS = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan)


def _signed(value: int) -> int:
    value &= MASK
    return value - (1 << BITS) if value >> (BITS - 1) else value


INT_OPERATIONS: dict[Effect, Callable[[int, int], int]] = {
    Effect.ADD: lambda a, b: a + b,
    Effect.SUB: lambda a, b: a - b,
    Effect.AND: lambda a, b: a & b,
    Effect.OR: lambda a, b: a | b,
    Effect.XOR: lambda a, b: a ^ b,
}


def _integer_flags(producer: Effect, a: int, b: int) -> int:
    """Flags from the definition: from the wide result, signed and unsigned."""
    operation = PRODUCED_OPERATION[producer]
    exact = INT_OPERATIONS[operation]
    result = exact(a, b) & MASK
    flags = (result == 0) << ZERO | (result >> (BITS - 1)) << SIGN
    flags |= (bin(result & 0xFF).count("1") % 2 == 0) << PARITY
    if operation in (Effect.ADD, Effect.SUB):
        carry = exact(a, b) != result
        if producer is Effect.FLAGS_SUB_NZCV:
            carry = not carry
        overflow = exact(_signed(a), _signed(b)) != _signed(result)
        flags |= carry << CARRY | overflow << OVERFLOW
    return flags


def _icmp(predicate: Effect, a: int, b: int) -> bool:
    name = predicate.spelling.removeprefix("icmp.")
    if name[0] == "s":
        a, b, name = _signed(a), _signed(b), name[1:]
    return {
        "eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b,
        "ult": a < b, "ule": a <= b, "ugt": a > b, "uge": a >= b,
    }[name]  # fmt: skip


def _fcmp(predicate: Effect, a: float, b: float) -> bool:
    name = predicate.spelling.removeprefix("fcmp.")
    unordered = math.isnan(a) or math.isnan(b)
    if name in ("ord", "uno"):
        return unordered == (name == "uno")
    if unordered:
        return name[0] == "u"
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[
        name[1:]
    ]


def _float_flags(producer: Effect, a: float, b: float) -> int:
    """From the manuals' own tables (SDM UCOMISS; Arm ARM FPCompare)."""
    unordered = math.isnan(a) or math.isnan(b)
    if producer is Effect.FLAGS_FCMP:
        rows = (1 << ZERO | 1 << PARITY | 1 << CARRY, 1 << CARRY, 1 << ZERO, 0)
    else:
        rows = (1 << CARRY | 1 << OVERFLOW, 1 << SIGN, 1 << ZERO | 1 << CARRY, 1 << CARRY)
    return rows[0 if unordered else 1 if a < b else 2 if a == b else 3]


@pytest.mark.parametrize("producer", PRODUCED_OPERATION)
def test_integer_conditions_mean_their_comparison(producer: Effect) -> None:
    operation = INT_OPERATIONS[PRODUCED_OPERATION[producer]]
    for a, b in itertools.product(range(MASK + 1), repeat=2):
        flags = _integer_flags(producer, a, b)
        for condition, meaning in FLAG_MEANINGS[producer].items():
            sides = (operation(a, b) & MASK, 0) if meaning.of_result else (a, b)
            expected = _icmp(meaning.predicate, *sides)
            assert condition_holds(condition, flags) == expected, (condition, a, b)


@pytest.mark.parametrize("producer", [Effect.FLAGS_FCMP, Effect.FLAGS_FCMP_NZCV])
def test_float_conditions_mean_their_comparison(producer: Effect) -> None:
    for a, b in itertools.product(FLOATS, repeat=2):
        flags = _float_flags(producer, a, b)
        for condition, meaning in FLAG_MEANINGS[producer].items():
            expected = _fcmp(meaning.predicate, a, b)
            assert condition_holds(condition, flags) == expected, (condition, a, b)
