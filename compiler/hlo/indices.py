"""Symbolic element indices: which element of an operand is read for an element of the result.

An index is a sum of atoms with integer factors: loop variables, quotients and remainders of sums by
constants, and opaque places (where a gather reads). Sums are kept in one normal form, using the
range of every atom, so that two indices are equal when their normal forms are: a reshape to
[4,4,48] and back to [16,48] turns out to be nothing at all. Fusion and lowering rest on that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from typing import TypeAlias

from compiler.hlo.shape import ArrayShape


@dataclass(frozen=True, slots=True)
class Variable:
    """A loop variable that runs from 0 up to, not including, ``extent``."""

    name: str
    extent: int

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Quotient:
    """``of`` divided by a positive constant, rounded down."""

    of: Index
    divisor: int

    def __str__(self) -> str:
        return f"({self.of}) / {self.divisor}"


@dataclass(frozen=True, slots=True)
class Remainder:
    """What is left of ``of`` after division by a positive constant; never negative."""

    of: Index
    divisor: int

    def __str__(self) -> str:
        return f"({self.of}) % {self.divisor}"


@dataclass(frozen=True, slots=True)
class Opaque:
    """An index in 0..extent-1 that depends on data or on a choice, and on the given indices."""

    label: str
    extent: int
    inputs: tuple[Index, ...] = ()

    def __str__(self) -> str:
        return f"{self.label}({', '.join(map(str, self.inputs))})"


Atom: TypeAlias = Variable | Quotient | Remainder | Opaque
Term: TypeAlias = tuple[Atom, int]


@dataclass(frozen=True, slots=True)
class Index:
    """``constant`` plus the sum of atom times factor; terms are sorted and factors are not 0."""

    constant: int = 0
    terms: tuple[Term, ...] = ()

    def __str__(self) -> str:
        parts = [str(a) if f == 1 else f"{f}*{a}" for a, f in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts)

    @property
    def low(self) -> int:
        """The smallest value it can have."""
        return _bounds(self)[0]

    @property
    def high(self) -> int:
        """The largest value it can have."""
        return _bounds(self)[1]

    def __add__(self, other: Index | int) -> Index:
        if isinstance(other, int):
            return Index(self.constant + other, self.terms)
        return summed(self.constant + other.constant, self.terms + other.terms)

    def __mul__(self, factor: int) -> Index:
        return summed(self.constant * factor, tuple((a, f * factor) for a, f in self.terms))

    def variables(self) -> frozenset[Variable]:
        """All loop variables it depends on, at any depth."""
        return _variables(self)

    @property
    def variable(self) -> Variable | None:
        """The loop variable that this index is, exactly; None when it is anything else."""
        if self.constant or len(self.terms) != 1:
            return None
        atom, factor = self.terms[0]
        return atom if factor == 1 and isinstance(atom, Variable) else None


ZERO = Index()


def of_variable(variable: Variable) -> Index:
    """The index that is this variable; 0 when it can have no other value."""
    return ZERO if variable.extent <= 1 else Index(0, ((variable, 1),))


def opaque(label: str, extent: int, inputs: Sequence[Index] = ()) -> Index:
    """An index nothing is known about but its range."""
    return ZERO if extent <= 1 else Index(0, ((Opaque(label, extent, tuple(inputs)), 1),))


def _atom_bounds(atom: Atom) -> tuple[int, int]:
    if isinstance(atom, Variable | Opaque):
        return 0, max(atom.extent - 1, 0)
    if isinstance(atom, Remainder):
        return 0, atom.divisor - 1
    return atom.of.low // atom.divisor, atom.of.high // atom.divisor


@lru_cache(maxsize=65536)
def _bounds(index: Index) -> tuple[int, int]:
    low = high = index.constant
    for atom, factor in index.terms:
        first, last = _atom_bounds(atom)
        low += min(first * factor, last * factor)
        high += max(first * factor, last * factor)
    return low, high


def _atom_variables(atom: Atom) -> Iterator[Variable]:
    if isinstance(atom, Variable):
        yield atom
    elif isinstance(atom, Opaque):
        for index in atom.inputs:
            yield from _variables(index)
    else:
        yield from _variables(atom.of)


@lru_cache(maxsize=65536)
def _variables(index: Index) -> frozenset[Variable]:
    return frozenset(v for atom, _ in index.terms for v in _atom_variables(atom))


def summed(constant: int, terms: Sequence[Term]) -> Index:
    """The normal form of a sum: equal atoms collected, quotient and remainder joined again."""
    factors: dict[Atom, int] = {}
    for atom, factor in terms:
        factors[atom] = factors.get(atom, 0) + factor
    for atom in [a for a in factors if isinstance(a, Remainder)]:
        whole = _sole_atom(quotient(atom.of, atom.divisor))
        if whole is not None and factors.get(whole, 0) == factors[atom] * atom.divisor != 0:
            factor = factors.pop(atom)
            del factors[whole]
            joined = atom.of * factor
            rest = tuple(factors.items())
            return summed(constant + joined.constant, rest + joined.terms)
    kept = [(a, f) for a, f in factors.items() if f]
    return Index(constant, tuple(sorted(kept, key=_order)))


def _sole_atom(index: Index) -> Atom | None:
    if index.constant or len(index.terms) != 1 or index.terms[0][1] != 1:
        return None
    return index.terms[0][0]


def _order(term: Term) -> tuple[int, str]:
    return -term[1], str(term[0])


def _split(index: Index, divisor: int) -> tuple[Index, Index]:
    """(whole, rest) with index = whole * divisor + rest and all that divides in ``whole``."""
    whole = [(a, f // divisor) for a, f in index.terms if f % divisor == 0]
    rest = [(a, f) for a, f in index.terms if f % divisor]
    quotient, remainder = divmod(index.constant, divisor)
    return summed(quotient, whole), summed(remainder, rest)


def _narrow(rest: Index, divisor: int) -> tuple[Index, int, Index]:
    """Pulls a common factor out: (coarse, factor, fine) with rest = coarse * factor + fine,
    0 <= fine < factor and factor dividing ``divisor``; factor 1 when there is none."""
    candidates = sorted({gcd(f, divisor) for _, f in rest.terms}, reverse=True)
    for factor in candidates:
        if factor <= 1:
            break
        coarse, fine = _split(rest, factor)
        if fine.low >= 0 and fine.high < factor:
            return coarse, factor, fine
    return rest, 1, ZERO


def quotient(index: Index, divisor: int) -> Index:
    """``index / divisor``, rounded down, in normal form."""
    if divisor == 1:
        return index
    whole, rest = _split(index, divisor)
    if rest.low // divisor == rest.high // divisor:
        return whole + rest.low // divisor
    coarse, factor, _ = _narrow(rest, divisor)
    if factor > 1:
        return whole + quotient(coarse, divisor // factor)
    inner = _sole_atom(rest)
    if isinstance(inner, Quotient):
        return whole + quotient(inner.of, inner.divisor * divisor)
    return whole + Index(0, ((Quotient(rest, divisor), 1),))


def remainder(index: Index, divisor: int) -> Index:
    """``index % divisor``, never negative, in normal form."""
    if divisor == 1:
        return ZERO
    _, rest = _split(index, divisor)
    if rest.low // divisor == rest.high // divisor:
        return rest + -divisor * (rest.low // divisor)
    coarse, factor, fine = _narrow(rest, divisor)
    if factor > 1:
        return remainder(coarse, divisor // factor) * factor + fine
    return Index(0, ((Remainder(rest, divisor), 1),))


def linear(indices: Sequence[Index], strides: Sequence[int]) -> Index:
    """The distance in elements from the first element."""
    constant = sum(i.constant * s for i, s in zip(indices, strides, strict=True))
    terms = [(a, f * s) for i, s in zip(indices, strides, strict=True) for a, f in i.terms]
    return summed(constant, terms)


def delinear(position: Index, shape: ArrayShape, strides: Sequence[int]) -> tuple[Index, ...]:
    """The indices of the element at a distance from the first one (0 in an array without any)."""
    if 0 in shape.dimensions:
        return (ZERO,) * shape.rank
    found = []
    for extent, stride in zip(shape.dimensions, strides, strict=True):
        found.append(ZERO if extent <= 1 else remainder(quotient(position, stride), extent))
    return tuple(found)


def row_major_strides(dimensions: Sequence[int]) -> tuple[int, ...]:
    """Strides in elements when the last dimension varies fastest."""
    strides = [1] * len(dimensions)
    for i in range(len(dimensions) - 2, -1, -1):
        strides[i] = strides[i + 1] * dimensions[i + 1]
    return tuple(strides)


def reshaped(
    indices: Sequence[Index], result: ArrayShape, operand: ArrayShape
) -> tuple[Index, ...]:
    """Where a reshape of ``operand`` to ``result`` reads for the result's element ``indices``."""
    position = linear(indices, row_major_strides(result.dimensions))
    return delinear(position, operand, row_major_strides(operand.dimensions))


def bitcast(indices: Sequence[Index], result: ArrayShape, operand: ArrayShape) -> tuple[Index, ...]:
    """Where a bitcast reads: the element at the same place in memory."""
    return delinear(linear(indices, result.strides), operand, operand.strides)
