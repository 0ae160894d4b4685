"""Symbolic indices: sums of loop counters times constants, and quotients of such sums.

An HLO element index, and the place of that element in memory, are arithmetic on the loops'
counters. Kept symbolic until code is emitted, most of that arithmetic vanishes: splitting a counter
into rows and columns and putting it together again gives the counter back, so a reshape, a
broadcast or a collapsed loop costs nothing. The only nonlinear form is the quotient by a positive
constant; a remainder is written `x - d*(x / d)`, which makes the recombination an ordinary
cancellation of terms. Every counter has a range, and ranges decide when a quotient is known (`(48*i
+ j) / 48 = i` when 0 <= j < 48).

All quotients are floored. Their numerators are never negative (a multiple of the divisor is added
where one could be), so code may divide unsigned.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Symbol:
    """A run-time integer: a loop counter, a thread number, a clamped start index. Its value lies in
    low..high, both included. `number` is unique in a kernel; outer loops have smaller numbers."""

    number: int
    low: int
    high: int

    @property
    def order(self) -> tuple[Any, ...]:
        return (0, self.number)

    def __str__(self) -> str:
        return f"s{self.number}"


@dataclass(frozen=True, slots=True)
class Quotient:
    """`of / divisor`, floored; `of` is never negative."""

    of: Index
    divisor: int

    @property
    def low(self) -> int:
        return self.of.low // self.divisor

    @property
    def high(self) -> int:
        return self.of.high // self.divisor

    @property
    def order(self) -> tuple[Any, ...]:
        return (1, self.divisor, self.of.order)

    def __str__(self) -> str:
        return f"({self.of})/{self.divisor}"


Atom = Symbol | Quotient


@dataclass(frozen=True, slots=True)
class Index:
    """`constant` plus the sum of atom times coefficient; terms in canonical order, coefficients not
    0."""

    terms: tuple[tuple[Atom, int], ...] = ()
    constant: int = 0

    @property
    def order(self) -> tuple[Any, ...]:
        return (self.constant, tuple((coefficient, atom.order) for atom, coefficient in self.terms))

    @property
    def is_constant(self) -> bool:
        return not self.terms

    @property
    def low(self) -> int:
        return bounds(self)[0]

    @property
    def high(self) -> int:
        return bounds(self)[1]

    def __add__(self, other: Index | int) -> Index:
        if isinstance(other, int):
            return Index(self.terms, self.constant + other)
        if not other.terms:
            return Index(self.terms, self.constant + other.constant)
        if not self.terms:
            return Index(other.terms, self.constant + other.constant)
        terms = dict(self.terms)
        for atom, coefficient in other.terms:
            terms[atom] = terms.get(atom, 0) + coefficient
        return _index(terms, self.constant + other.constant)

    def __sub__(self, other: Index | int) -> Index:
        return self + other * -1 if isinstance(other, Index) else self + -other

    def __mul__(self, factor: int) -> Index:
        if factor == 0:
            return Index()
        scaled = tuple((atom, coefficient * factor) for atom, coefficient in self.terms)
        return Index(scaled, self.constant * factor)

    def __str__(self) -> str:
        parts = [f"{c}*{atom}" if c != 1 else str(atom) for atom, c in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts)


ZERO = Index()


def constant(value: int) -> Index:
    """The index that is always `value`."""
    return Index((), value)


def of_symbol(symbol: Symbol) -> Index:
    """The symbol itself, or its value when only one is possible."""
    return constant(symbol.low) if symbol.low == symbol.high else Index(((symbol, 1),), 0)


def _index(terms: Mapping[Atom, int], constant: int) -> Index:
    kept = [(atom, coefficient) for atom, coefficient in terms.items() if coefficient]
    kept.sort(key=lambda term: term[0].order)
    return Index(tuple(kept), constant)


def bounds(index: Index) -> tuple[int, int]:
    """The least and the greatest value (perhaps wider than the truth, never narrower)."""
    for atom, coefficient in index.terms:
        if isinstance(atom, Quotient) and coefficient < 0:
            found = _remainder_bounds(index, atom, -coefficient)
            if found is not None:
                return found
    low = high = index.constant
    for atom, coefficient in index.terms:
        ends = (atom.low * coefficient, atom.high * coefficient)
        low += min(ends)
        high += max(ends)
    return low, high


def _remainder_bounds(index: Index, atom: Quotient, weight: int) -> tuple[int, int] | None:
    """Bounds of an index that holds `k*(x - d*(x / d))`, where the atom is `x / d` and k*d its
    weight.

    `x` may itself be a quotient: `y/a - b*(y/(a*b))` is the remainder of `y/a` by b.
    """
    for whole, divisor in _remainder_forms(atom, weight, index):
        factor = weight // divisor
        rest = index - whole * factor + Index(((atom, 1),), 0) * weight
        if len(rest.terms) < len(index.terms):
            low, high = bounds(rest)
            return low, high + factor * min(divisor - 1, whole.high)
    return None


def _remainder_forms(atom: Quotient, weight: int, index: Index) -> Iterable[tuple[Index, int]]:
    if weight % atom.divisor == 0:
        yield atom.of, atom.divisor
    for other, _ in index.terms:
        if not isinstance(other, Quotient) or other.of != atom.of or other == atom:
            continue
        ratio, remainder = divmod(atom.divisor, other.divisor)
        if remainder == 0 and ratio > 1 and weight % ratio == 0:
            yield Index(((other, 1),), 0), ratio


def quotient(index: Index, divisor: int) -> Index:
    """`index / divisor`, floored."""
    if divisor == 1 or index == ZERO:
        return index
    exact, rest = _split(index, divisor)
    low, high = bounds(rest)
    if low >= 0 and high < divisor:
        return exact
    for factor in _common_factors(rest, divisor):
        scaled, small = _split(rest, factor)
        small_low, small_high = bounds(small)
        if small_low >= 0 and small_high < factor:
            return exact + quotient(scaled, divisor // factor)
    if low < 0 <= bounds(index)[0]:
        return _opaque(index, divisor)
    lift = max(0, -(low // divisor))
    return exact + _opaque(rest + lift * divisor, divisor) - lift


def _opaque(rest: Index, divisor: int) -> Index:
    if len(rest.terms) == 1 and rest.constant == 0:
        atom, coefficient = rest.terms[0]
        if isinstance(atom, Quotient) and coefficient == 1:
            return quotient(atom.of, atom.divisor * divisor)
    return Index(((Quotient(rest, divisor), 1),), 0)


def _split(index: Index, divisor: int) -> tuple[Index, Index]:
    """`index = divisor * first + second`, with whole multiples in the first."""
    exact = tuple((a, c // divisor) for a, c in index.terms if c % divisor == 0)
    rest = tuple((a, c) for a, c in index.terms if c % divisor)
    whole, remainder = divmod(index.constant, divisor)
    return Index(exact, whole), Index(rest, remainder)


def _common_factors(rest: Index, divisor: int) -> list[int]:
    found = {math.gcd(coefficient, divisor) for _, coefficient in rest.terms}
    return sorted(factor for factor in found if 1 < factor < divisor)


def remainder(index: Index, divisor: int) -> Index:
    """`index` modulo `divisor`, never negative."""
    return index - quotient(index, divisor) * divisor


def linearize(indices: Iterable[Index], strides: Iterable[int]) -> Index:
    """The sum of index times stride."""
    total = ZERO
    for index, stride in zip(indices, strides, strict=True):
        total = total + index * stride
    return total


def delinearize(linear: Index, extents: tuple[int, ...]) -> tuple[Index, ...]:
    """The row-major indices whose linear number is given; the inverse of `linearize`."""
    indices: list[Index] = []
    for position, extent in enumerate(reversed(extents)):
        if position == len(extents) - 1:
            indices.append(linear if extent != 1 else ZERO)
        else:
            indices.append(remainder(linear, extent) if extent != 1 else ZERO)
            linear = quotient(linear, extent)
    return tuple(reversed(indices))


def symbols(index: Index) -> frozenset[Symbol]:
    """All run-time values the index depends on."""
    found: set[Symbol] = set()
    for atom, _ in index.terms:
        found |= {atom} if isinstance(atom, Symbol) else symbols(atom.of)
    return frozenset(found)


def reciprocal(divisor: int, largest: int, bits: int) -> tuple[int, int] | None:
    """(m, s) such that n / divisor = (n * m) >> s for all n up to `largest`, in unsigned words;
    None when the product would not fit. m exceeds 2^s / divisor by so little that n times the
    excess stays under one part of the divisor (T. Granlund, P. Montgomery, Division by Invariant
    Integers using Multiplication, 1994)."""
    for shift in range(bits):
        factor = -(-(1 << shift) // divisor)
        excess = factor * divisor - (1 << shift)
        if excess * largest < 1 << shift:
            return (factor, shift) if largest * factor < 1 << bits else None
    return None
