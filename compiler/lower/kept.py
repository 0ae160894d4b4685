"""Values that several stages of a row need and that are dear: computed once, kept, and loaded
again.

The best place is the row of a result that is written only at the end, has the same type and lies at
the same index (softmax keeps its exponentials where the quotients will stand); else a buffer on the
stack, if a row fits into half of L1; else the value is computed again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.hlo import indices as ix
from compiler.hlo.shape import ArrayShape
from compiler.hlo.stages import RowStructure, Space, StageKind
from compiler.journal import Journal
from compiler.llvm.ir import Value
from compiler.lower.affine import ZERO, constant
from compiler.lower.decisions import KeptValue
from compiler.lower.elemental import Indices
from compiler.lower.source import Output
from compiler.lower.types import memory_type
from compiler.lower.workshop import Workshop


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value is kept: at `base`, an array of `shape`. `mask` says which of the value's
    dimensions count there."""

    name: str
    base: Value
    shape: ArrayShape
    mask: tuple[bool, ...]

    def at(self, index: Indices) -> Indices:
        """The element of the array that holds an element of the value."""
        return tuple(i if counts else ZERO for i, counts in zip(index, self.mask, strict=True))


@dataclass(slots=True)
class KeptValues:
    """Stores kept values in the first stage that needs them, and binds them to loads for all later
    ones."""

    shop: Workshop
    structure: RowStructure
    places: tuple[Place, ...]
    bound: set[str] = field(default_factory=set)

    def _is_read(self, place: Place, number: int) -> bool:
        reads = self.structure.reads.get(place.name, ())
        return place.name not in self.bound and any(read.stage == number for read in reads)

    def store(self, number: int, rows: Indices, columns: Indices) -> None:
        """Inside the column loop of a stage: stores what is kept from this stage on."""
        emitter, frame = self.shop.emitter, self.shop.frame
        for place in self.places:
            if not self._is_read(place, number):
                continue
            index = element_index(self.structure, place.name, rows, columns)
            value = self.shop.elemental.value(frame, place.name, index)
            before, emitter.origins = emitter.origins, frame.instruction(place.name).origins
            self.shop.store(value, place.base, place.shape, place.at(index))
            emitter.origins = before

    def bind(self, number: int) -> None:
        """After a stage: what it stored is loaded from now on."""
        for place in self.places:
            if self._is_read(place, number):
                self.bound.add(place.name)
                load = self.shop.reload(place.base, place.shape)
                self.shop.frame.bindings[place.name] = lambda at, p=place, f=load: f(p.at(at))  # type: ignore[misc]

    def forget(self) -> None:
        """Before other rows: nothing is stored yet."""
        for name in self.bound:
            self.shop.frame.bindings.pop(name, None)
        self.bound.clear()


def element_index(structure: RowStructure, name: str, rows: Indices, columns: Indices) -> Indices:
    """Where a kept value is needed, in terms of the counters."""
    read = structure.reads[name][0]
    counters = {f"r{i}": index for i, index in enumerate(rows)}
    counters |= {f"c{i}": index for i, index in enumerate(columns)}
    return tuple(counters[i.variable.name] if i.variable else constant(i.constant) for i in read.at)


def column_mask(structure: RowStructure, name: str) -> tuple[bool, ...]:
    """For each dimension of a kept value, whether it runs along a column."""
    read = structure.reads[name][0]
    return tuple(i.variable is not None and i.variable.name.startswith("c") for i in read.at)


def is_keepable(structure: RowStructure, name: str) -> bool:
    """Whether all stages need the value at one place that is made of counters and constants
    only."""
    places = {read.at for read in structure.reads.get(name, ())}
    return len(places) == 1 and all(
        i.variable is not None or not i.terms for i in next(iter(places))
    )


def scratch_output(shop: Workshop, structure: RowStructure, name: str) -> Output | None:
    """An output whose elements can hold the value until they are written themselves: written in the
    last stage, at the same index, of the same type, and nowhere an input."""
    kind = shop.frame.instruction(name).array
    last = structure.stages[-1]
    inputs = {given.pointer for given in shop.source.inputs}
    if last.kind is not StageKind.WRITE:
        return None
    for output in shop.source.outputs:
        is_free = output.name in last.instructions and output.pointer not in inputs
        if not is_free or output.shape.element_type is not kind.element_type:
            continue
        if structure.reads[name][0].at == place_of(structure, output):
            return output
    return None


def place_of(structure: RowStructure, output: Output) -> tuple[ix.Index, ...]:
    """An output's element in the row structure's own variables."""
    found = []
    for axis, extent in zip(structure.axes[output.name], output.shape.dimensions, strict=True):
        variable = ix.Variable(str(axis), extent)
        found.append(ix.ZERO if axis.space is Space.UNIT else ix.of_variable(variable))
    return tuple(found)


def row_buffer_shape(shop: Workshop, structure: RowStructure, name: str) -> ArrayShape:
    """The shape of a kept value with its row dimensions reduced to 1."""
    shape = shop.frame.instruction(name).array
    pairs = zip(shape.dimensions, column_mask(structure, name), strict=True)
    return shape.with_dimensions(tuple(e if is_column else 1 for e, is_column in pairs))


def plan_kept(
    shop: Workshop, structure: RowStructure, journal: Journal | None, allows_stack: bool
) -> KeptValues:
    """Where each value worth keeping is kept; values without a place are computed again."""
    found: list[Place] = []
    room = shop.target.l1_bytes // 2
    taken: set[str] = set()
    for name in structure.kept:
        if not is_keepable(structure, name):
            _record(shop, journal, name, "computed again", "its element is not a plain place")
            continue
        output = scratch_output(shop, structure, name)
        shape = row_buffer_shape(shop, structure, name)
        if output is not None and output.name not in taken:
            taken.add(output.name)
            base = shop.function.arguments[output.pointer]
            found.append(Place(name, base, output.shape, (True,) * output.shape.rank))
            where = f"kept in the row of {output.name}"
            _record(shop, journal, name, where, "that row is written last and of the same type")
        elif allows_stack and shape.size_bytes <= room:
            room -= shape.size_bytes
            type = memory_type(shape.element_type)
            buffer = shop.emitter.alloca(type, shape.element_count, "row")
            found.append(Place(name, buffer, shape, column_mask(structure, name)))
            because = f"{shape.size_bytes} bytes fit into half of L1"
            _record(shop, journal, name, "kept on the stack", because)
        else:
            _record(shop, journal, name, "computed again", "there is no room for a row of it")
    return KeptValues(shop, structure, tuple(found))


def _record(shop: Workshop, journal: Journal | None, name: str, chosen: str, because: str) -> None:
    if journal is not None:
        origins = shop.frame.instruction(name).origins
        subject = shop.source.instruction.name
        journal.record(
            KeptValue(subject=subject, origins=origins, value=name, chosen=chosen, because=because)
        )
