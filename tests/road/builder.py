"""HLO text under construction: arrays in random layouts, constants, operands of a wanted shape."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

EXTENTS = (1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 100)
FLOATS = ("0", "-0", "1", "-1", "0.5", "-2.25", "3.14159274", "1e-3", "100", "7")
SPECIAL_FLOATS = ("nan", "inf", "-inf", "1e-40", "3e38", "-1.17549435e-38", "-0")
INTEGERS = ("0", "1", "-1", "2", "3", "7", "-5", "31", "255")
SPECIAL_INTEGERS = ("-2147483648", "2147483647", "32", "33", "-2147483647", "65536")


@dataclass(frozen=True)
class Array:
    """A value of the program."""

    name: str
    kind: str
    extents: tuple[int, ...]

    @property
    def count(self) -> int:
        return prod(self.extents)

    @property
    def rank(self) -> int:
        return len(self.extents)


@dataclass
class Style:
    """How one program spells itself."""

    sigil: str = ""
    shuffle: float = 0.25
    special: float = 0.05
    zero: float = 0.0
    most: int = 3000
    typed_operands: bool = False


def listed(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


@dataclass
class Module:
    """What all computations of one program share."""

    rng: random.Random
    style: Style
    computations: dict[str, str] = field(default_factory=dict)
    names: int = 0

    def fresh(self, stem: str = "v") -> str:
        self.names += 1
        return f"{self.style.sigil}{stem}.{self.names}"


@dataclass
class Builder:
    """One computation. `arrays` are its values that steps may use."""

    module: Module
    lines: list[str] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    shapes: dict[str, str] = field(default_factory=dict)
    depth: int = 0

    @property
    def rng(self) -> random.Random:
        return self.module.rng

    @property
    def style(self) -> Style:
        return self.module.style

    def shape(self, kind: str, extents: Sequence[int]) -> str:
        order = list(range(len(extents) - 1, -1, -1))
        text = f"{kind}[{listed(extents)}]"
        if self.rng.random() < self.style.shuffle:
            self.rng.shuffle(order)
        elif self.rng.random() < 0.3:
            return text
        return text + (f"{{{listed(order)}}}" if order else "")

    def operand(self, array: Array) -> str:
        if self.style.typed_operands:
            return f"{self.shapes[array.name]} {array.name}"
        return array.name

    def write(self, kind: str, extents: Sequence[int], body: str) -> Array:
        """A line whose value other steps do not choose by themselves."""
        found = Array(self.module.fresh(), kind, tuple(extents))
        self.shapes[found.name] = self.shape(kind, extents)
        self.lines.append(f"  {found.name} = {self.shapes[found.name]} {body}")
        return found

    def add(self, kind: str, extents: Sequence[int], body: str) -> Array:
        found = self.write(kind, extents, body)
        self.arrays.append(found)
        return found

    def apply(
        self, kind: str, extents: Sequence[int], opcode: str, *operands: Array, more: str = ""
    ) -> Array:
        names = ", ".join(self.operand(a) for a in operands)
        return self.add(kind, extents, f"{opcode}({names}){', ' + more if more else ''}")

    def number(self, kind: str, special: float | None = None) -> str:
        """One value as literal text."""
        is_special = self.rng.random() < (self.style.special if special is None else special)
        if kind == "pred":
            return self.rng.choice(("true", "false"))
        if kind == "s32":
            return self.rng.choice(SPECIAL_INTEGERS if is_special else INTEGERS)
        if not is_special and self.rng.random() < 0.3:
            return f"{self.rng.gauss(0, 3):.6g}"
        return self.rng.choice(SPECIAL_FLOATS if is_special else FLOATS)

    def scalar(self, kind: str, text: str | None = None) -> Array:
        return self.write(kind, (), f"constant({text or self.number(kind)})")

    def literal(self, kind: str, extents: Sequence[int]) -> Array:
        """An array constant."""

        def nest(sizes: Sequence[int]) -> str:
            if not sizes:
                return self.number(kind)
            return "{" + ", ".join(nest(sizes[1:]) for _ in range(sizes[0])) + "}"

        return self.add(kind, extents, f"constant({nest(tuple(extents))})")

    def pick(self, *kinds: str) -> Array:
        """A recent value of one of these kinds (all kinds when none is given)."""
        fitting = [a for a in self.arrays if not kinds or a.kind in kinds]
        if not fitting:
            return self.fill(kinds[0], self.rng.choice(self.arrays).extents)
        return self.rng.choice(fitting[-8:] if self.rng.random() < 0.8 else fitting)

    def extent(self) -> int:
        if self.rng.random() < self.style.zero:
            return 0
        return self.rng.choice(EXTENTS)

    def extents(self, rank: int | None = None, most: int | None = None) -> tuple[int, ...]:
        """Random extents with at most so many elements."""
        limit = most or self.style.most
        size = rank if rank is not None else self.rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4))
        found = [self.extent() for _ in range(size)]
        while prod(found) > limit:
            place = self.rng.choice([d for d, e in enumerate(found) if e > 1])
            found[place] = max(1, found[place] // 2)
        return tuple(found)

    def fill(self, kind: str, extents: Sequence[int]) -> Array:
        """A new array of this shape: a constant, an iota, a broadcast of something smaller."""
        choice, rank = self.rng.random(), len(extents)
        if rank == 0:
            found = self.scalar(kind)
            self.arrays.append(found)
            return found
        if choice < 0.15 and prod(extents) <= 40:
            return self.literal(kind, extents)
        if choice < 0.3 and kind != "pred":
            return self.add(kind, extents, f"iota(), iota_dimension={self.rng.randrange(rank)}")
        smaller = [a for a in self.arrays if a.kind == kind and self._placed(a, extents)]
        if smaller and choice < 0.8:
            chosen = self.rng.choice(smaller)
            dimensions = self._placed(chosen, extents)
            more = f"dimensions={{{listed(dimensions or ())}}}"
            return self.apply(kind, extents, "broadcast", chosen, more=more)
        return self.apply(kind, extents, "broadcast", self.scalar(kind), more="dimensions={}")

    def _placed(self, array: Array, extents: Sequence[int]) -> tuple[int, ...] | None:
        """Increasing dimensions of `extents` that an array of lower rank fits, last ones first."""
        if not 0 < array.rank < len(extents):
            return None
        found: list[int] = []
        position = len(extents) - 1
        for extent in reversed(array.extents):
            while position >= 0 and extents[position] != extent:
                position -= 1
            if position < 0:
                return None
            found.append(position)
            position -= 1
        return tuple(reversed(found))

    def like(self, kind: str, extents: Sequence[int], new: float = 0.15) -> Array:
        """Some array of this shape, made when there is none."""
        fitting = [a for a in self.arrays if (a.kind, a.extents) == (kind, tuple(extents))]
        if fitting and self.rng.random() >= new:
            return self.rng.choice(fitting)
        others = [a for a in self.arrays if a.kind == kind and a.count == prod(extents)]
        if others and self.rng.random() < 0.2:
            return self.apply(kind, extents, "reshape", self.rng.choice(others))
        return self.fill(kind, extents)

    def computation(self, name: str, signature: str = "") -> str:
        body = "\n".join(self.lines)
        return f"{name}{signature} {{\n{body}\n}}\n"
