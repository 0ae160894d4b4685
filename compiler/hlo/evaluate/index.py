"""Gather and scatter: reading and writing slices at computed places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.hlo.evaluate.numbers import exact, kind_of, narrowed, widened
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import Family, TupleShape

if TYPE_CHECKING:
    from compiler.hlo.evaluate.run import Evaluator

Array = np.ndarray
Arrays = tuple[np.ndarray, ...]
Combine = Callable[[Arrays, Arrays], Arrays]


@dataclass(frozen=True, slots=True)
class Numbering:
    """Dimension numbers that gather and scatter share, in gather's words.

    ``window`` are the positions of the slice dimensions in the gathered (or update) array,
    ``dropped`` the operand dimensions without one, ``start_map`` where each component of an index
    vector goes, ``operand_batch``/``index_batch`` the paired batching dimensions, ``vector`` the
    index vector's place.
    """

    window: tuple[int, ...]
    dropped: tuple[int, ...]
    start_map: tuple[int, ...]
    operand_batch: tuple[int, ...]
    index_batch: tuple[int, ...]
    vector: int


def _gather_numbering(instruction: Instruction) -> Numbering:
    get = instruction.attributes.get
    return Numbering(
        get("offset_dims", ()),
        get("collapsed_slice_dims", ()),
        get("start_index_map", ()),
        get("operand_batching_dims", ()),
        get("start_indices_batching_dims", ()),
        get("index_vector_dim", 0),
    )


def _scatter_numbering(instruction: Instruction) -> Numbering:
    get = instruction.attributes.get
    return Numbering(
        get("update_window_dims", ()),
        get("inserted_window_dims", ()),
        get("scatter_dims_to_operand_dims", ()),
        get("input_batching_dims", ()),
        get("scatter_indices_batching_dims", ()),
        get("index_vector_dim", 0),
    )


def _starts(indices: Array, numbering: Numbering, rank: int) -> tuple[Array, ...]:
    """For every operand dimension its start, shaped like the batch of index vectors."""
    wide = _signed(indices)
    if numbering.vector == wide.ndim:
        wide = wide[..., np.newaxis]
    vectors = np.moveaxis(wide, numbering.vector, -1)
    batch = vectors.shape[:-1]
    starts = [np.zeros(batch, np.int64) for _ in range(rank)]
    for component, dimension in enumerate(numbering.start_map):
        starts[dimension] = vectors[..., component]
    pairs = zip(numbering.operand_batch, numbering.index_batch, strict=True)
    for operand_dimension, index_dimension in pairs:
        place = index_dimension - (index_dimension > numbering.vector)
        spread = [1] * len(batch)
        spread[place] = batch[place]
        starts[operand_dimension] = np.broadcast_to(np.arange(batch[place]).reshape(spread), batch)
    return tuple(starts)


def _signed(indices: Array) -> Array:
    """Indices as int64; unsigned ones too large for it become the largest."""
    wide = widened(indices)
    if wide.dtype == np.uint64:
        return np.minimum(wide, np.uint64(2**63 - 1)).astype(np.int64)
    return wide.astype(np.int64)


def _places(
    starts: tuple[Array, ...], numbering: Numbering, sizes: tuple[int, ...], rank: int
) -> list[Array]:
    """For every operand dimension the index of each element of the gathered array."""
    batch_axes = [i for i in range(rank) if i not in numbering.window]
    skipped = numbering.dropped + numbering.operand_batch
    window = iter(sorted(numbering.window))
    places: list[Array] = []
    for dimension, start in enumerate(starts):
        spread = [1] * rank
        for axis, extent in zip(batch_axes, start.shape, strict=True):
            spread[axis] = extent
        place = start.reshape(spread)
        if dimension not in skipped:
            offsets = [1] * rank
            offsets[next(window)] = sizes[dimension]
            place = place + np.arange(sizes[dimension]).reshape(offsets)
        places.append(place)
    return places


def gather(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    """Out-of-range starts are clamped so that the slice lies inside."""
    operand, indices = operands
    numbering = _gather_numbering(instruction)
    sizes = instruction.attributes["slice_sizes"]
    starts = _starts(indices, numbering, operand.ndim)
    limits = zip(starts, operand.shape, sizes, strict=True)
    clamped = tuple(np.clip(start, 0, extent - size) for start, extent, size in limits)
    shape = instruction.array.dimensions
    if 0 in shape:
        return np.zeros(shape, operand.dtype)
    places = _places(clamped, numbering, sizes, len(shape))
    taken = operand[tuple(places)] if places else operand
    return np.broadcast_to(taken, shape)


def scatter(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    """An update is dropped whole when a part of its window lies outside the operand."""
    from compiler.hlo.evaluate.reduce import plain_reducer

    count = (len(operands) - 1) // 2
    targets, indices, updates = operands[:count], operands[count], operands[count + 1 :]
    numbering = _scatter_numbering(instruction)
    shape = updates[0].shape
    sizes = _window_sizes(numbering, shape, targets[0].ndim)
    starts = _starts(indices, numbering, targets[0].ndim)
    places = _places(starts, numbering, sizes, len(shape))
    corners = _places(starts, numbering, (1,) * targets[0].ndim, len(shape))
    inside = np.ones(shape, bool)
    for corner, size, extent in zip(corners, sizes, targets[0].shape, strict=True):
        inside = inside & (corner >= 0) & (corner <= extent - size)
    flat = _flat(places, targets[0].shape, shape)[inside]
    name = instruction.attributes["to_apply"]
    opcode = plain_reducer(machine.module.computation(name)) if count == 1 else None
    results = combine_at(
        tuple(np.array(target).reshape(-1) for target in targets),
        flat,
        tuple(update[inside] for update in updates),
        lambda one, other: machine.apply(name, [*one, *other]),
        opcode,
    )
    shaped = tuple(r.reshape(t.shape) for r, t in zip(results, targets, strict=True))
    return shaped if isinstance(instruction.shape, TupleShape) else shaped[0]


def _window_sizes(numbering: Numbering, shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """The update window's extent along every operand dimension."""
    skipped = numbering.dropped + numbering.operand_batch
    window = iter(sorted(numbering.window))
    return tuple(1 if i in skipped else shape[next(window)] for i in range(rank))


def _flat(places: list[Array], extents: tuple[int, ...], shape: tuple[int, ...]) -> Array:
    flat = np.zeros(shape, np.int64)
    for place, extent in zip(places, extents, strict=True):
        flat = flat * extent + place
    return flat


_AT: dict[Opcode, np.ufunc] = {
    Opcode.ADD: np.add,
    Opcode.MULTIPLY: np.multiply,
    Opcode.MAXIMUM: np.maximum,
    Opcode.MINIMUM: np.minimum,
}


def combine_at(
    targets: Arrays, flat: Array, updates: Arrays, combine: Combine, opcode: Opcode | None
) -> Arrays:
    """Combines updates into one-dimensional targets at flat places, in the updates' order.

    Plain operations use NumPy's unbuffered form; others run in rounds in which no place occurs
    twice.
    """
    kind = kind_of(targets[0])
    if opcode in _AT and kind.family is not Family.PREDICATE:
        carry = exact if opcode in (Opcode.ADD, Opcode.MULTIPLY) else widened
        carried = np.array(carry(targets[0]))
        _AT[opcode].at(carried, flat, carry(updates[0]))
        return (narrowed(carried, kind),)
    results = tuple(np.array(target) for target in targets)
    ranks = _occurrence(flat)
    for turn in range(int(ranks.max()) + 1 if ranks.size else 0):
        chosen = ranks == turn
        places = flat[chosen]
        old = tuple(result[places] for result in results)
        new = combine(old, tuple(update[chosen] for update in updates))
        for result, value in zip(results, new, strict=True):
            result[places] = value
    return results


def _occurrence(flat: Array) -> Array:
    """For every entry, how many equal ones stand before it."""
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    begins = (
        np.concatenate([[True], ordered[1:] != ordered[:-1]]) if flat.size else np.zeros(0, bool)
    )
    positions = np.arange(flat.size)
    first = np.maximum.accumulate(np.where(begins, positions, 0)) if flat.size else positions
    ranks = np.empty(flat.size, np.int64)
    ranks[order] = positions - first
    return ranks


HANDLERS: dict[Opcode, Any] = {Opcode.GATHER: gather, Opcode.SCATTER: scatter}
