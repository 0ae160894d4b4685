"""Which loop counter runs along contiguous memory: what loop order, vectors and coalescing hinge
on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from compiler.hlo import indices as ix
from compiler.hlo.stages import Axis, RowStructure, Space, StageKind
from compiler.lower.source import KernelSource


@dataclass(frozen=True, slots=True)
class Access:
    """One array read or written in a stage: the distance in elements that each loop variable moves
    it (`r0`, `c1`, ...), and how large the array is."""

    strides: tuple[tuple[str, int], ...]
    count: int

    def stride(self, variable: str) -> int:
        return dict(self.strides).get(variable, 0)


def accesses(source: KernelSource, structure: RowStructure, stage: int) -> tuple[Access, ...]:
    """All accesses of arrays in memory in one stage (by number)."""
    return (*_reads(source, structure, stage), *_writes(source, structure, stage))


def all_accesses(source: KernelSource, structure: RowStructure) -> tuple[Access, ...]:
    """The accesses of all stages."""
    numbers = range(len(structure.stages))
    return tuple(access for n in numbers for access in accesses(source, structure, n))


def _reads(source: KernelSource, structure: RowStructure, stage: int) -> Iterator[Access]:
    for given in source.inputs:
        for read in structure.reads.get(given.name, ()):
            if read.stage == stage:
                yield _access(ix.linear(read.at, given.shape.strides), given.shape.element_count)


def _access(place: ix.Index, count: int) -> Access:
    strides = [(atom.name, f) for atom, f in place.terms if isinstance(atom, ix.Variable)]
    return Access(tuple(strides), count)


def _writes(source: KernelSource, structure: RowStructure, stage: int) -> Iterator[Access]:
    found = structure.stages[stage]
    if found.kind is StageKind.REDUCE:
        return
    for output in source.outputs:
        if output.name in found.instructions and output.name in structure.axes:
            pairs = zip(structure.axes[output.name], output.shape.strides)
            strides = tuple((name_of(axis), stride) for axis, stride in pairs)
            yield Access(strides, output.shape.element_count)


def name_of(axis: Axis) -> str:
    """The variable that an axis runs along, as the row structure names it."""
    return "" if axis.space is Space.UNIT else str(axis)


def contiguous_variable(found: Iterable[Access]) -> str:
    """The variable that moves most elements by one place, '' when none does."""
    votes: dict[str, int] = {}
    for access in found:
        for name, stride in access.strides:
            if abs(stride) == 1 and name:
                votes[name] = votes.get(name, 0) + access.count
    return max(votes, key=lambda name: (votes[name], name), default="")


def loop_order(found: Iterable[Access], prefix: str, extents: tuple[int, ...]) -> tuple[int, ...]:
    """Positions of the loops of one space whose extent is not 1, outermost first: long strides
    outside, and the contiguous variable innermost."""
    listed = list(found)
    inner = contiguous_variable(listed)

    def weight(position: int) -> tuple[bool, int, int]:
        name = f"{prefix}{position}"
        total = sum(abs(access.stride(name)) * access.count for access in listed)
        return (name == inner, -total, position)

    return tuple(sorted((p for p, e in enumerate(extents) if e != 1), key=weight))
