"""Rules for operations that choose where an element comes from: concatenate, pad, dynamic slices,
gather.

A choice becomes a select with every index kept inside its array, unless the ranges of the indices
already say which source it is. Each undecided comparison of a counter is noted as a break, so that
a loop nest may be split there and the choice vanish.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from compiler.llvm.ir import Predicate, Value
from compiler.llvm.types import I32
from compiler.lower.affine import ZERO, Index, Quotient, constant, quotient, remainder
from compiler.lower.arithmetic import Arithmetic
from compiler.lower.elemental import Demand, Element, Elemental, Step, one, unsupported


def at_least(e: Elemental, index: Index, bound: int) -> Value | bool:
    """Whether index >= bound: known from its range, or a truth value at run time."""
    if index.low >= bound:
        return True
    if index.high < bound:
        return False
    _note_break(e, index, bound)
    a = e.arithmetic
    return a.icmp(Predicate.SGE, e.emitter.index_value(index), e.emitter.integer(bound))


def _note_break(e: Elemental, index: Index, bound: int) -> None:
    """Tells the loop nest at which value of a counter the answer of `at_least` changes."""
    if len(index.terms) != 1:
        return
    atom, factor = index.terms[0]
    missing = bound - index.constant
    if isinstance(atom, Quotient):
        if factor == 1:
            _note_break(e, atom.of, missing * atom.divisor)
        return
    change = -(-missing // factor) if factor > 0 else -missing // -factor + 1
    e.emitter.breaks.setdefault(atom, set()).add(change)


def kept_inside(e: Elemental, index: Index, extent: int) -> Index:
    """An index cut to 0..extent-1, for a load whose value may turn out not to be wanted."""
    if index.low >= 0 and index.high < extent:
        return index
    a = e.arithmetic
    value = e.emitter.index_value(index)
    if index.low < 0:
        value = a.integer_extreme("smax", value, e.emitter.integer(0))
    if index.high >= extent:
        value = a.integer_extreme("smin", value, e.emitter.integer(extent - 1))
    return e.emitter.index_of(value, 0, extent - 1)


class Conditions:
    """Collects what must hold at run time; `is_impossible` when something never does."""

    def __init__(self, arithmetic: Arithmetic) -> None:
        self.arithmetic = arithmetic
        self.wanted: list[Value] = []
        self.is_impossible = False

    def add(self, condition: Value | bool, expected: bool = True) -> None:
        if isinstance(condition, bool):
            self.is_impossible |= condition is not expected
        else:
            self.wanted.append(condition if expected else self.arithmetic.inot(condition))

    def choose(self, inside: Value, outside: Value) -> Value:
        """`inside` where all conditions hold, else `outside`."""
        total: Value | None = None
        for condition in self.wanted:
            total = condition if total is None else self.arithmetic.iand(total, condition)
        return inside if total is None else self.arithmetic.select(total, inside, outside)


def concatenate(e: Elemental, demand: Demand) -> Step:
    """The last operand that begins at or before the index."""
    along = demand.instruction.dimensions[0]
    index, offset = demand.at[along], 0
    found: Value | None = None
    for number in range(len(demand.instruction.operands)):
        extent = demand.operand_shape(number).dimensions[along]
        begins, offset = offset, offset + extent
        if extent == 0 or index.high < begins or index.low >= offset:
            continue
        place = kept_inside(e, index - begins, extent)
        at = (*demand.at[:along], place, *demand.at[along + 1 :])
        value = one((yield demand.operand(number, at)))
        starts = at_least(e, index, begins)
        decided = found is None or isinstance(starts, bool)
        found = value if decided else e.arithmetic.select(starts, value, found)  # type: ignore[arg-type]
    if found is None:
        raise unsupported(demand.instruction, "nothing to concatenate")
    return found


def pad(e: Elemental, demand: Demand) -> Step:
    """The operand's element where the index falls on one, else the padding value."""
    conditions = Conditions(e.arithmetic)
    extents = demand.operand_shape(0).dimensions
    at: list[Index] = []
    for index, extent, edge in zip(
        demand.at, extents, demand.instruction.attributes["padding"], strict=True
    ):
        step = edge.interior + 1
        end = (extent - 1) * step + 1 if extent else 0
        moved = index - edge.low
        conditions.add(at_least(e, moved, 0))
        conditions.add(at_least(e, moved, end), expected=False)
        if extent == 0 or conditions.is_impossible:
            return (yield demand.operand(1, ()))
        place = kept_inside(e, moved, end)
        if edge.interior:
            off = e.emitter.index_value(remainder(place, step))
            conditions.add(e.arithmetic.icmp(Predicate.EQ, off, e.emitter.integer(0)))
        at.append(quotient(place, step))
    value = one((yield demand.operand(0, tuple(at))))
    if not conditions.wanted:
        return value
    padding = one((yield demand.operand(1, ())))
    return conditions.choose(value, padding)


def clamped_start(e: Elemental, value: Value, is_signed: bool, limit: int) -> Index:
    """A start index as HLO clamps it: into 0..limit."""
    if limit <= 0:
        return ZERO
    a = e.arithmetic
    wide = value if value.type.bits >= 32 else a.resize(value, I32, is_signed)
    most = a.number(wide.type, limit)
    if is_signed:
        wide = a.integer_extreme("smax", wide, a.number(wide.type, 0))
        wide = a.integer_extreme("smin", wide, most)
    else:
        wide = a.integer_extreme("umin", wide, most)
    return e.emitter.index_of(a.resize(wide, e.emitter.index_type, is_signed=False), 0, limit)


def _starts(
    e: Elemental, demand: Demand, first: int, limits: Sequence[int]
) -> Generator[Demand, Element, tuple[Index, ...]]:
    """The clamped start indices of a dynamic slice: scalars from operand `first` on, or one
    vector."""
    found: list[Index] = []
    is_vector = demand.operand_shape(first).rank == 1 if limits else False
    for dimension, limit in enumerate(limits):
        number = first if is_vector else first + dimension
        at = (constant(dimension),) if is_vector else ()
        value = one((yield demand.operand(number, at)))
        kind = demand.operand_shape(number).element_type
        found.append(clamped_start(e, value, kind.is_signed, limit))
    return tuple(found)


def dynamic_slice(e: Elemental, demand: Demand) -> Step:
    """The operand's element, displaced by the clamped starts."""
    outer = demand.operand_shape(0).dimensions
    inner = demand.instruction.array.dimensions
    starts = yield from _starts(e, demand, 1, [o - i for o, i in zip(outer, inner)])
    at = tuple(index + start for index, start in zip(demand.at, starts))
    return (yield demand.operand(0, at))


def dynamic_update_slice(e: Elemental, demand: Demand) -> Step:
    """The update's element inside its window, the operand's elsewhere."""
    outer = demand.operand_shape(0).dimensions
    inner = demand.operand_shape(1).dimensions
    if 0 in inner:
        return (yield demand.operand(0, demand.at))
    starts = yield from _starts(e, demand, 2, [o - i for o, i in zip(outer, inner)])
    conditions = Conditions(e.arithmetic)
    at: list[Index] = []
    for index, start, extent in zip(demand.at, starts, inner):
        moved = index - start
        conditions.add(at_least(e, moved, 0))
        conditions.add(at_least(e, moved, extent), expected=False)
        at.append(kept_inside(e, moved, extent))
    update = one((yield demand.operand(1, tuple(at))))
    if not conditions.wanted:
        return update
    old = one((yield demand.operand(0, demand.at)))
    return conditions.choose(update, old)


def gather(e: Elemental, demand: Demand) -> Step:
    """The operand's element at the clamped start that the start indices give, plus the offset in
    the window.

    Dimension numbers as in openxla.org/stablehlo/spec, "gather".
    """
    get = demand.instruction.attributes.get
    offsets: tuple[int, ...] = get("offset_dims", ())
    collapsed: tuple[int, ...] = get("collapsed_slice_dims", ())
    start_map: tuple[int, ...] = get("start_index_map", ())
    batching: tuple[int, ...] = get("operand_batching_dims", ())
    start_batching: tuple[int, ...] = get("start_indices_batching_dims", ())
    sizes: tuple[int, ...] = get("slice_sizes", ())
    vector_dimension: int = get("index_vector_dim", 0)
    extents = demand.operand_shape(0).dimensions
    batch = [i for d, i in enumerate(demand.at) if d not in offsets]
    window = iter([demand.at[d] for d in offsets])
    at: list[Index] = []
    for dimension in range(len(extents)):
        is_windowed = dimension not in collapsed and dimension not in batching
        at.append(next(window) if is_windowed else ZERO)
    kind = demand.operand_shape(1).element_type
    has_vector = vector_dimension < demand.operand_shape(1).rank
    for number, dimension in enumerate(start_map):
        place = list(batch)
        if has_vector:
            place.insert(vector_dimension, constant(number))
        value = one((yield demand.operand(1, tuple(place))))
        limit = extents[dimension] - sizes[dimension]
        at[dimension] = at[dimension] + clamped_start(e, value, kind.is_signed, limit)
    for dimension, source in zip(batching, start_batching):
        at[dimension] = at[dimension] + batch[source - (has_vector and source > vector_dimension)]
    return (yield demand.operand(0, tuple(at)))
