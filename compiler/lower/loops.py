"""Loop nests for kernels without reduces: every element of the results once, in memory order.

The nest follows the first result's layout, its contiguous dimension innermost. Neighbouring
dimensions become one loop where no index needs a division for it: the nest is tried on a scratch
function and the divisions are counted. Where a choice between sources depends on a counter
(concatenate, pad), the loop is split at the places where the choice changes, so that the inner
loops have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod

from compiler.hlo.shape import ArrayShape
from compiler.hlo.stages import Axis, RowStructure, Space
from compiler.journal import Journal
from compiler.llvm.ir import Value
from compiler.lower.affine import ZERO, Index, Symbol, constant, delinearize
from compiler.lower.decisions import LoopNest
from compiler.lower.elemental import Indices
from compiler.lower.source import Output
from compiler.lower.workshop import Workshop

LARGEST_SPLIT = 16
"""A nest is split into at most this many pieces."""


@dataclass(frozen=True, slots=True)
class Nest:
    """`groups` lists loops from outermost to innermost; each covers some column positions, whose
    counters it splits into by division. `breaks` are the places at which each loop is cut in
    pieces."""

    groups: tuple[tuple[int, ...], ...]
    breaks: tuple[tuple[int, ...], ...] = field(default=())

    def cuts(self, number: int, extent: int) -> list[tuple[int, int]]:
        """The pieces of one loop."""
        inside = [b for b in (self.breaks[number] if self.breaks else ()) if 0 < b < extent]
        edges = [0, *sorted(inside), extent]
        return list(pairwise(edges))


def placed(axes: Sequence[Axis], rows: Indices, columns: Indices) -> Indices:
    """The index of the element that a row and a column counter stand for."""
    found: list[Index] = []
    for axis in axes:
        source = {Space.ROW: rows, Space.COLUMN: columns, Space.UNIT: (ZERO,)}[axis.space]
        found.append(source[axis.position if axis.space is not Space.UNIT else 0])
    return tuple(found)


def memory_order(shape: ArrayShape, axes: Sequence[Axis], space: Space) -> list[int]:
    """Loop positions of one space in the order of an array's memory, outermost first."""
    order = [axes[d] for d in reversed(shape.minor_to_major)]
    return [axis.position for axis in order if axis.space is space]


def emit_loop_kernel(shop: Workshop, structure: RowStructure, journal: Journal) -> None:
    """Fills a kernel of kind LOOP."""
    columns = structure.stages[0].columns
    if 0 in columns:
        return
    nest = choose_nest(shop, structure)
    emit_nest(shop, structure, nest)
    names = [_group_text(group, columns) for group in nest.groups]
    journal.record(
        LoopNest(
            subject=shop.source.instruction.name,
            origins=shop.source.instruction.origins,
            chosen=f"{len(names)} loops",
            loops=" ".join(names) or "none",
            because=_reason(nest, columns),
        )
    )


def _group_text(group: tuple[int, ...], columns: Sequence[int]) -> str:
    return "*".join(str(columns[position]) for position in group)


def _reason(nest: Nest, columns: Sequence[int]) -> str:
    parts = ["the innermost one runs along contiguous memory of the result"]
    if any(len(group) > 1 for group in nest.groups):
        parts.append("dimensions whose indices recombine share a loop")
    if any(nest.breaks):
        parts.append("loops are split where the source of an element changes")
    return "; ".join(parts) if columns else "the result is one element"


def choose_nest(shop: Workshop, structure: RowStructure) -> Nest:
    """The nest with as few loops as need no more divisions than one loop per dimension."""
    columns = structure.stages[0].columns
    first = shop.source.outputs[0]
    order = [
        p for p in memory_order(first.shape, structure.axes[first.name], Space.COLUMN)
        if columns[p] > 1
    ]  # fmt: skip
    best, cost = _tried(shop, structure, tuple((p,) for p in order))
    groups: tuple[tuple[int, ...], ...] = ()
    for number, position in enumerate(order):
        rest = tuple((p,) for p in order[number + 1 :])
        if groups:
            merged = (*groups[:-1], (*groups[-1], position))
            nest, divisions = _tried(shop, structure, merged + rest)
            if divisions <= cost:
                groups, best = merged, nest
                continue
        groups = (*groups, (position,))
    return best


def _tried(
    shop: Workshop, structure: RowStructure, groups: tuple[tuple[int, ...], ...]
) -> tuple[Nest, int]:
    """The nest with its breaks, and how many divisions it needs."""
    nest = Nest(groups)
    trial = shop.fresh()
    breaks = emit_nest(trial, structure, nest)
    pieces = prod(len(b) + 1 for b in breaks)
    if not any(breaks) or pieces > LARGEST_SPLIT:
        return nest, trial.emitter.divisions
    nest = Nest(groups, breaks)
    trial = shop.fresh()
    emit_nest(trial, structure, nest)
    return nest, trial.emitter.divisions


def emit_nest(shop: Workshop, structure: RowStructure, nest: Nest) -> tuple[tuple[int, ...], ...]:
    """Emits the loops and returns where each would have to be cut to decide all choices."""
    writer = _Writer(shop, structure, nest, [set() for _ in nest.groups])
    writer.descend(0, {})
    return tuple(tuple(sorted(found)) for found in writer.breaks)


@dataclass(slots=True)
class _Writer:
    """Emits a nest; `breaks` collects where the loops would have to be cut."""

    shop: Workshop
    structure: RowStructure
    nest: Nest
    breaks: list[set[int]]

    def descend(self, number: int, known: dict[int, Index]) -> None:
        """Emits loop `number` and all inside it; `known` are the counters of the outer ones."""
        columns = self.structure.stages[0].columns
        if number == len(self.nest.groups):
            at = tuple(known.get(p, ZERO) for p in range(len(columns)))
            write_roots(self.shop, self.structure, (), at)
            return
        extent = prod(columns[p] for p in self.nest.groups[number])
        for low, high in self.nest.cuts(number, extent):
            if high - low == 1:
                self._inside(number, known, constant(low))
                continue
            with self.shop.emitter.loop(high - low, "i") as value:
                counter = self.shop.emitter.index_of(value, 0, high - low - 1)
                self._inside(number, known, counter + low)

    def _inside(self, number: int, known: dict[int, Index], counter: Index) -> None:
        group = self.nest.groups[number]
        columns = self.structure.stages[0].columns
        parts = delinearize(counter, tuple(columns[p] for p in group))
        self.descend(number + 1, {**known, **dict(zip(group, parts, strict=True))})
        for atom, _ in counter.terms:
            found = self.shop.emitter.breaks.get(atom, set()) if isinstance(atom, Symbol) else set()
            self.breaks[number] |= {place + counter.constant for place in found}


def write_roots(shop: Workshop, structure: RowStructure, rows: Indices, columns: Indices) -> None:
    """Computes and writes every result's element at a place."""
    outputs = shop.source.outputs
    places = [placed(structure.axes[output.name], rows, columns) for output in outputs]
    write_roots_of(shop, outputs, places, nullcontext())


def write_roots_of(
    shop: Workshop,
    outputs: Sequence[Output],
    places: Sequence[Indices],
    around: AbstractContextManager[None],
) -> None:
    """Computes all elements, then writes them (inside `around`): a result may share memory with an
    operand."""
    found: list[Value] = []
    for output, at in zip(outputs, places, strict=True):
        found.append(shop.elemental.values(shop.frame, output.name, at)[output.part])
    with around:
        for output, at, value in zip(outputs, places, found, strict=True):
            shop.write(output, value, at)
