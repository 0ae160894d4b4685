"""Rules for reduce and dot that compute one element by a loop on the spot.

The general fallback: it needs nothing from the kernel around it. Kernels whose loops are arranged
around their reduces (`compiler.lower.rows`, `compiler.lower.dot`) bind the results instead and
never come here.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from compiler.hlo.module import Instruction
from compiler.hlo.shape import ElementType
from compiler.llvm.ir import Opcode, Predicate, Value
from compiler.llvm.types import F64, I1, Type
from compiler.lower.affine import Index, constant
from compiler.lower.convert import convert, narrow, widen
from compiler.lower.elemental import Demand, Elemental, Frame, Step, bind_values, one
from compiler.lower.reducer import Reducer, combine_plain, reducer_of
from compiler.lower.types import computing_type, register_type


def widened(e: Elemental, values: Sequence[Value], types: Sequence[Type]) -> list[Value]:
    """Values as the accumulators hold them: floats in f32 or wider, truth values as all ones or
    zeros."""
    found: list[Value] = []
    for value, type in zip(values, types, strict=True):
        if value.type == type:
            found.append(value)
        elif value.type == I1:
            found.append(e.arithmetic.resize(value, type, is_signed=True))
        else:
            found.append(widen(e.arithmetic, value))
    return found


def narrowed(e: Elemental, values: Sequence[Value], reducer: Reducer) -> tuple[Value, ...]:
    """Accumulated values as the reduce yields them."""
    a, found = e.arithmetic, []
    for value, kind in zip(values, reducer.kinds, strict=True):
        type = register_type(kind)
        if value.type == type:
            found.append(value)
        elif type == I1:
            found.append(a.icmp(Predicate.NE, value, a.number(value.type, 0)))
        else:
            found.append(narrow(a, value, type))
    return tuple(found)


def combined(
    e: Elemental, reducer: Reducer, totals: Sequence[Value], values: Sequence[Value]
) -> tuple[Value, ...]:
    """One step of a reduce on values of the accumulators' types."""
    if reducer.plain is not None:
        return (combine_plain(e.arithmetic, reducer, totals[0], values[0], e.is_strict),)
    frame = Frame(reducer.computation)
    bind_values(e, frame, [*totals, *values])
    root = reducer.computation.root_instruction
    if root.operands and len(reducer.kinds) > 1:
        return tuple(e.value(frame, name, ()) for name in root.operands)
    return e.values(frame, root.name, ())


def accumulators(e: Elemental, types: Sequence[Type], start: Sequence[Value]) -> list[Value]:
    """Stack slots that hold the start values."""
    slots: list[Value] = []
    for type, value in zip(types, start, strict=True):
        slot = e.emitter.alloca(type, stem="total.slot")
        e.emitter.store(value, slot)
        slots.append(slot)
    return slots


def accumulate(
    e: Elemental, reducer: Reducer, slots: Sequence[Value], values: Sequence[Value]
) -> None:
    """Combines the slots with one more element, at the innermost level."""
    types = reducer.accumulator_types
    pairs = zip(slots, types, strict=True)
    totals = [e.emitter.load_here(t, s, "total") for s, t in pairs]
    for slot, value in zip(slots, combined(e, reducer, totals, widened(e, values, types))):
        e.emitter.store(value, slot)


def reduce(e: Elemental, demand: Demand) -> Step:
    """Loops over the reduced dimensions, outermost first."""
    instruction = demand.instruction
    reducer = reducer_of(e.module, instruction)
    types = reducer.accumulator_types
    count = len(instruction.operands) // 2
    start: list[Value] = []
    for number in range(count, 2 * count):
        start.append(one((yield demand.operand(number, ()))))
    extents = demand.operand_shape(0).dimensions
    if 0 in (extents[d] for d in instruction.dimensions):
        return tuple(start) if count > 1 else start[0]
    with e.emitter.at_depth(e.loop_depth(demand)):
        slots = accumulators(e, types, widened(e, start, types))
        with ExitStack() as loops:
            at = _reduced_index(e, instruction, demand.at, extents, loops)
            values: list[Value] = []
            for number in range(count):
                values.append(one((yield demand.operand(number, at))))
            accumulate(e, reducer, slots, values)
        pairs = zip(slots, types, strict=True)
        totals = [e.emitter.load_here(t, s, "total") for s, t in pairs]
        result = narrowed(e, totals, reducer)
    return result if count > 1 else result[0]


def _reduced_index(
    e: Elemental,
    reduce: Instruction,
    at: tuple[Index, ...],
    extents: tuple[int, ...],
    loops: ExitStack,
) -> tuple[Index, ...]:
    kept = iter(at)
    found: list[Index] = []
    for dimension, extent in enumerate(extents):
        if dimension not in reduce.dimensions:
            found.append(next(kept))
        else:
            found.append(counter(e, extent, loops))
    return tuple(found)


def counter(e: Elemental, extent: int, loops: ExitStack) -> Index:
    """A new innermost loop's counter; no loop when there is only one turn."""
    if extent == 1:
        return constant(0)
    value = loops.enter_context(e.emitter.loop(extent, "k"))
    return e.emitter.index_of(value, 0, max(extent - 1, 0))


LONGEST_STEP = 8
"""Up to so many products are written out in one turn of a dot's loop, so that their loads
overlap."""


def dot(e: Elemental, demand: Demand) -> Step:
    """Loops over the contracting dimensions, several products of the innermost one per turn."""
    numbers = demand.instruction.dot
    left, right = demand.operand_shape(0), demand.operand_shape(1)
    kind = demand.instruction.array.element_type
    type = computing_type(kind)
    if 0 in left.dimensions:
        return e.arithmetic.number(register_type(kind), 0)
    *outer, inner = [left.dimensions[d] for d in numbers.lhs_contracting] or [1]
    step = next(n for n in range(LONGEST_STEP, 0, -1) if inner % n == 0)
    with e.emitter.at_depth(e.loop_depth(demand)):
        slots = accumulators(e, (type,), (e.arithmetic.number(type, 0),))
        with ExitStack() as loops:
            turns = [counter(e, extent, loops) for extent in (*outer, inner // step)]
            total: Value = e.emitter.load_here(type, slots[0], "total")
            for number in range(step):
                contracted = (*turns[:-1], turns[-1] * step + number)
                x_at, y_at = _dot_places(demand, left.rank, right.rank, contracted)
                x = one((yield demand.operand(0, x_at)))
                y = one((yield demand.operand(1, y_at)))
                total = multiply_add(
                    e,
                    converted(e, x, left.element_type, type),
                    converted(e, y, right.element_type, type),
                    total,
                )
            e.emitter.store(total, slots[0])
        result = e.emitter.load_here(type, slots[0], "total")
    return narrow(e.arithmetic, result, register_type(kind)) if kind.is_float else result


def _dot_places(
    demand: Demand, left_rank: int, right_rank: int, contracted: Sequence[Index]
) -> tuple[tuple[Index, ...], tuple[Index, ...]]:
    """The elements of both operands that one product takes."""
    numbers = demand.instruction.dot
    contracted = contracted[: len(numbers.lhs_contracting)]
    free = numbers.lhs_free(left_rank)
    batch = len(numbers.lhs_batch)
    split = batch + len(free)
    x = _placed(
        left_rank,
        (numbers.lhs_batch, free, numbers.lhs_contracting),
        (demand.at[:batch], demand.at[batch:split], contracted),
    )
    y = _placed(
        right_rank,
        (numbers.rhs_batch, numbers.rhs_free(right_rank), numbers.rhs_contracting),
        (demand.at[:batch], demand.at[split:], contracted),
    )
    return x, y


def multiply_add(e: Elemental, x: Value, y: Value, total: Value) -> Value:
    """total + x*y, all of one type, which may be contracted to an fma, and reassociated unless
    order is strict.
    """
    a = e.arithmetic
    if total.type.is_float:
        flags = ("contract",) if e.is_strict else ("contract", "reassoc")
        return a.binary(Opcode.FADD, total, a.binary(Opcode.FMUL, x, y, flags), flags)
    if total.type.is_bool:
        return a.ior(total, a.iand(x, y))
    return a.iadd(total, a.imul(x, y))


def converted(e: Elemental, value: Value, kind: ElementType, type: Type) -> Value:
    """An operand of a dot, an element of `kind`, in the type it accumulates in."""
    if value.type == type:
        return value
    if type.is_float and kind.is_float:
        return narrow(e.arithmetic, widen(e.arithmetic, value), type)
    if type.is_float:
        return convert(
            e.arithmetic, value, kind, ElementType.F64 if type == F64 else ElementType.F32
        )
    return e.arithmetic.resize(value, type, is_signed=kind.is_signed)


def _placed(
    rank: int, groups: Sequence[Sequence[int]], indices: Sequence[Sequence[Index]]
) -> tuple[Index, ...]:
    found = [constant(0)] * rank
    for dimensions, group in zip(groups, indices, strict=True):
        for dimension, index in zip(dimensions, group, strict=True):
            found[dimension] = index
    return tuple(found)
