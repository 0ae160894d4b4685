"""Reductions: whole dimensions, sliding windows, select-and-scatter, and map.

A reducer that is one plain operation becomes a NumPy reduction; sums and products of floats are
carried in float64 and rounded once, which is closest to the exact value (HLO leaves the order
open). In small windows floats of 16 bits or less are rounded at every step instead, as the reducer
says and XLA does on CPU; in large ones these errors would drown the result. Any other reducer is
lifted and folded from left to right, in pairs beyond `SEQUENTIAL_LIMIT` elements.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.hlo.attributes import Window
from compiler.hlo.evaluate.extremes import larger, largest, smaller, smallest
from compiler.hlo.evaluate.index import combine_at
from compiler.hlo.evaluate.numbers import converted, exact, kind_of, narrowed, widened
from compiler.hlo.module import Computation, Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import Family, TupleShape

if TYPE_CHECKING:
    from compiler.hlo.evaluate.run import Evaluator

Array = np.ndarray
Arrays = tuple[np.ndarray, ...]

SEQUENTIAL_LIMIT = 16384
"""Elements up to which a general reducer is folded one by one, as HLO's own evaluator does."""

STEPWISE_LIMIT = 64
"""Places of a window up to which sums and products of narrow floats are rounded at every step."""

_UFUNCS: dict[Opcode, np.ufunc] = {
    Opcode.ADD: np.add,
    Opcode.MULTIPLY: np.multiply,
    Opcode.MAXIMUM: np.maximum,
    Opcode.MINIMUM: np.minimum,
    Opcode.AND: np.bitwise_and,
    Opcode.OR: np.bitwise_or,
    Opcode.XOR: np.bitwise_xor,
}

_TRUTH: dict[Opcode, np.ufunc] = {
    Opcode.ADD: np.logical_or,
    Opcode.MULTIPLY: np.logical_and,
    Opcode.MAXIMUM: np.logical_or,
    Opcode.MINIMUM: np.logical_and,
    Opcode.AND: np.logical_and,
    Opcode.OR: np.logical_or,
    Opcode.XOR: np.logical_xor,
}
"""The same operations on truth values."""


_EXTREMES = {Opcode.MAXIMUM: largest, Opcode.MINIMUM: smallest}
_OF_PAIRS = {Opcode.MAXIMUM: larger, Opcode.MINIMUM: smaller}
"""The same operations on floats, where zeros have signs."""


def plain_reducer(computation: Computation) -> Opcode | None:
    """The operation of a computation that only combines its two parameters, else None."""
    root = computation.root_instruction
    if len(computation) != 3 or root.opcode not in _UFUNCS:
        return None
    operands = [computation.instruction(name) for name in root.operands]
    numbers = sorted(operand.parameter_number for operand in operands)
    same_type = all(operand.shape == root.shape for operand in operands)
    return root.opcode if numbers == [0, 1] and same_type else None


def reduce(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    count = len(operands) // 2
    inputs, inits = operands[:count], operands[count:]
    name = instruction.attributes["to_apply"]
    opcode = plain_reducer(machine.module.computation(name))
    axes = instruction.dimensions
    if count == 1 and opcode is not None:
        result: Any = _reduce_plain(opcode, inputs[0], inits[0], axes)
        return _as_declared(instruction, (result,))
    results = _reduce_general(machine, name, inputs, inits, axes)
    return _as_declared(instruction, results)


def _as_declared(instruction: Instruction, results: Sequence[Array]) -> Any:
    """The results in the types that the instruction declares."""
    shape = instruction.shape
    if isinstance(shape, TupleShape):
        pairs = zip(results, shape.elements, strict=True)
        return tuple(converted(r, s.element_type) for r, s in pairs)  # type: ignore[union-attr]
    return converted(results[0], instruction.array.element_type)


def _reduce_plain(opcode: Opcode, array: Array, init: Array, axes: tuple[int, ...]) -> Array:
    kind = kind_of(array)
    ufunc = _UFUNCS[opcode]
    if kind.family is Family.PREDICATE:
        ufunc = _TRUTH.get(opcode, ufunc)
    wide, start = _carried(opcode, array), _carried(opcode, init)
    fold = _EXTREMES.get(opcode) if wide.dtype.kind == "f" else None
    if fold is not None:
        return narrowed(fold(wide, start, axes), kind)
    reduced = ufunc.reduce(wide, axis=axes, initial=start[()], dtype=wide.dtype)
    return narrowed(np.asarray(reduced), kind)


def _reduce_general(
    machine: Evaluator, name: str, inputs: list[Array], inits: list[Array], axes: tuple[int, ...]
) -> Arrays:
    kept = [i for i in range(inputs[0].ndim) if i not in axes]
    shape = tuple(inputs[0].shape[i] for i in kept)
    count = math.prod(inputs[0].shape[i] for i in axes)
    order = [*sorted(axes), *kept]
    columns = [array.transpose(order).reshape((count, *shape)) for array in inputs]
    start = tuple(np.broadcast_to(init, shape) for init in inits)

    def combine(one: Sequence[Array], other: Sequence[Array]) -> Arrays:
        return machine.apply(name, [*one, *other])

    if count > SEQUENTIAL_LIMIT:
        return combine(start, _in_pairs(columns, combine))
    result: Arrays = start
    for i in range(count):
        result = combine(result, [column[i] for column in columns])
    return result


def _in_pairs(
    columns: list[Array], combine: Callable[[Sequence[Array], Sequence[Array]], Arrays]
) -> list[Array]:
    """Combines neighbours, then neighbours of those, until one is left; order is kept."""
    while len(columns[0]) > 1:
        even = len(columns[0]) // 2 * 2
        pairs = combine([c[0:even:2] for c in columns], [c[1:even:2] for c in columns])
        rest = [c[even:] for c in columns]
        columns = [np.concatenate([p, r]) for p, r in zip(pairs, rest, strict=True)]
    return [column[0] for column in columns]


def _positions(window: Window) -> Iterator[tuple[int, ...]]:
    return itertools.product(*(range(d.size) for d in window.dimensions))


def _window_view(
    extents: tuple[int, ...], window: Window, offset: tuple[int, ...], outputs: tuple[int, ...]
) -> tuple[tuple[Array, ...], Array]:
    """For one place in the window: the base index per output along each dimension, and which exist.

    Places in the padding and in the holes of a dilated base do not exist.
    """
    indices: list[Array] = []
    valid = np.ones(outputs, bool)
    for i, d in enumerate(window.dimensions):
        along = np.arange(outputs[i]) * d.stride + offset[i] * d.window_dilation - d.pad_low
        index, hole = np.divmod(along, d.base_dilation)
        exists = (hole == 0) & (index >= 0) & (index < extents[i])
        spread = [1] * len(outputs)
        spread[i] = outputs[i]
        valid = valid & exists.reshape(spread)
        indices.append(np.clip(index, 0, max(extents[i] - 1, 0)))
    return tuple(indices), valid


def reduce_window(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    count = len(operands) // 2
    inputs, inits = operands[:count], operands[count:]
    name = instruction.attributes["to_apply"]
    window: Window = instruction.attributes.get("window", Window())
    extents = inputs[0].shape
    outputs = tuple(d.extent(e) for d, e in zip(window.dimensions, extents, strict=True))
    size = math.prod(d.size for d in window.dimensions)
    opcode = plain_reducer(machine.module.computation(name)) if count == 1 else None
    if size <= STEPWISE_LIMIT and opcode in (Opcode.ADD, Opcode.MULTIPLY):
        kind = kind_of(inputs[0])
        opcode = None if kind.is_float and kind.bits < 32 else opcode
    if opcode is not None:
        combine = _plain_combine(opcode, inputs[0])
        accumulated: Arrays = (np.broadcast_to(_carried(opcode, inits[0]), outputs),)
        sources = [_carried(opcode, inputs[0])]
    else:
        combine = _lifted_combine(machine, name)
        accumulated = tuple(np.broadcast_to(init, outputs) for init in inits)
        sources = inputs
    for offset in _positions(window) if math.prod(outputs) else ():
        index, valid = _window_view(extents, window, offset, outputs)
        values = tuple(source[np.ix_(*index)] if index else source for source in sources)
        combined = combine(accumulated, values)
        accumulated = tuple(
            new if valid.all() else np.where(valid, new, old)
            for new, old in zip(combined, accumulated, strict=True)
        )
    if opcode is not None:
        accumulated = (narrowed(np.asarray(accumulated[0]), kind_of(inputs[0])),)
    return _as_declared(instruction, [np.asarray(a) for a in accumulated])


def _carried(opcode: Opcode, array: Array) -> Array:
    if kind_of(array).family is Family.PREDICATE:
        return array
    return exact(array) if opcode in (Opcode.ADD, Opcode.MULTIPLY) else widened(array)


def _plain_combine(opcode: Opcode, array: Array) -> Callable[[Arrays, Arrays], Arrays]:
    combine: Callable[[Array, Array], Array] = _OF_PAIRS.get(opcode, _UFUNCS[opcode])
    if kind_of(array).family is Family.PREDICATE:
        combine = _TRUTH.get(opcode, _UFUNCS[opcode])
    return lambda one, other: (np.asarray(combine(one[0], other[0])),)


def _lifted_combine(machine: Evaluator, name: str) -> Callable[[Arrays, Arrays], Arrays]:
    return lambda one, other: machine.apply(name, [*one, *other])


def select_and_scatter(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    """For each window the selected element's place receives the source's value."""
    operand, source, init = operands
    window: Window = instruction.attributes.get("window", Window())
    select = instruction.attributes["select"]
    outputs = source.shape
    best: Array | None = None
    place = np.zeros(outputs, np.int64)
    found = np.zeros(outputs, bool)
    for offset in _positions(window) if source.size else ():
        index, valid = _window_view(operand.shape, window, offset, outputs)
        values = operand[np.ix_(*index)] if index else operand
        flat = _flat_index(index, operand.shape, outputs)
        if best is None:
            best = values
        keeps = found & machine.apply(select, [best, values])[0].astype(bool)
        takes = valid & ~keeps
        best = np.where(takes, values, best)
        place = np.where(takes, flat, place)
        found = found | valid
    scatter = instruction.attributes["scatter"]
    result = np.full(operand.size, init, operand.dtype)
    chosen = place[found].reshape(-1)
    updates = (np.ascontiguousarray(source[found]).reshape(-1),)
    opcode = plain_reducer(machine.module.computation(scatter))
    results = combine_at((result,), chosen, updates, _lifted_combine(machine, scatter), opcode)
    return results[0].reshape(operand.shape)


def _flat_index(
    index: tuple[Array, ...], extents: tuple[int, ...], outputs: tuple[int, ...]
) -> Array:
    if not index:
        return np.zeros(outputs, np.int64)
    grid = np.ix_(*index)
    return np.broadcast_to(np.ravel_multi_index(grid, extents), outputs)


def map_(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    return machine.apply(instruction.attributes["to_apply"], operands)[0]


HANDLERS: dict[Opcode, Any] = {
    Opcode.REDUCE: reduce,
    Opcode.REDUCE_WINDOW: reduce_window,
    Opcode.SELECT_AND_SCATTER: select_and_scatter,
    Opcode.MAP: map_,
}
