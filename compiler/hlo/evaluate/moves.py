"""Operations that move elements: broadcast, reshape, slice, pad, bitcast and their like."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from compiler.hlo.errors import HloUnsupportedError
from compiler.hlo.evaluate.numbers import is_small_integer, kind_of, narrowed
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ArrayShape, ElementType, Shape

if TYPE_CHECKING:
    from compiler.hlo.evaluate.run import Evaluator

Array = np.ndarray
Handler: TypeAlias = Callable[["Evaluator", Instruction, list[Any]], Any]


def broadcast(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    operand, shape = operands[0], instruction.array
    dimensions = instruction.dimensions
    order = np.argsort(dimensions, kind="stable") if dimensions else ()
    spread = [1] * shape.rank
    for source, target in enumerate(dimensions):
        spread[target] = operand.shape[source]
    placed = operand.transpose([int(i) for i in order]).reshape(spread)
    return np.broadcast_to(placed, shape.dimensions)


def reshape(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    return np.asarray(operands[0]).reshape(instruction.array.dimensions)


def transpose(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    return np.transpose(operands[0], instruction.dimensions)


def reverse(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    return np.flip(operands[0], instruction.dimensions) if instruction.dimensions else operands[0]


def shuffle(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    """Every result element comes from another place along the shuffled dimensions."""
    operand, dimensions = np.asarray(operands[0]), instruction.dimensions
    given = instruction.attributes
    if str(given["mode"]) == "rotate":
        return np.roll(operand, [-shift for shift in given["shifts"]], dimensions)
    places: list[Array] = list(np.indices(operand.shape, sparse=True))
    if str(given["mode"]) == "permute":
        indices = _table(instruction, "indices")
        if len(dimensions) == 1:
            indices = indices[..., np.newaxis]
        for coordinate, dimension in enumerate(dimensions):
            limit = max(0, operand.shape[dimension] - 1)
            places[dimension] = np.clip(indices[..., coordinate], 0, limit)
    else:
        shifts, dimension = _table(instruction, "multi_shifts"), dimensions[0]
        places[dimension] = (places[dimension] + shifts) % max(1, operand.shape[dimension])
    return np.broadcast_to(operand[tuple(places)], operand.shape)


def _table(instruction: Instruction, key: str) -> Array:
    literal = instruction.attributes[key].literal
    if literal.array is None:
        raise HloUnsupportedError(f"{key} whose values were left out")
    return np.asarray(literal.array.astype(np.int64))


def slice_(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    limits = instruction.attributes["slice"]
    return np.asarray(operands[0][tuple(slice(s.start, s.limit, s.stride) for s in limits)])


def concatenate(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    dtype = instruction.array.element_type.dtype
    parts = [part.astype(dtype, copy=False) for part in operands]
    return np.concatenate(parts, axis=instruction.dimensions[0])


def pad(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    return padded(operands[0], operands[1], instruction.attributes["padding"])


def padded(array: Array, value: Array, padding: Any) -> Array:
    """Interior padding first, then the edges; negative edges crop."""
    extents = [p.padded(e) for p, e in zip(padding, array.shape, strict=True)]
    result = np.full(extents, value, array.dtype)
    source: list[slice] = []
    target: list[slice] = []
    for p, extent, size in zip(padding, array.shape, extents, strict=True):
        step = p.interior + 1
        first = max(0, -(p.low // step)) if p.low < 0 else 0
        last = min(extent, (size - 1 - p.low) // step + 1) if size else 0
        last = max(first, last)
        source.append(slice(first, last))
        begin = p.low + first * step
        end = begin + (last - first - 1) * step + 1 if last > first else begin
        target.append(slice(begin, end, step))
    result[tuple(target)] = array[tuple(source)]
    return result


def iota(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    shape = instruction.array
    dimension = instruction.attributes["iota_dimension"]
    if shape.element_count == 0:
        return np.zeros(shape.dimensions, shape.element_type.dtype)
    counts = np.arange(shape.dimensions[dimension], dtype=np.int64)
    kind = shape.element_type
    wide = counts if kind.is_integer else counts.astype(np.float64)
    line = narrowed(wide, kind) if wide.dtype != kind.dtype else wide
    spread = [1] * shape.rank
    spread[dimension] = line.size
    return np.broadcast_to(line.reshape(spread), shape.dimensions)


def start_indices(
    indices: list[Any], extents: tuple[int, ...], sizes: tuple[int, ...]
) -> list[int]:
    """Start indices as integers, clamped so that the slice lies inside."""
    flat = [int(value) for array in indices for value in np.asarray(array).reshape(-1)]
    bounds = zip(flat, extents, sizes, strict=True)
    return [min(max(start, 0), extent - size) for start, extent, size in bounds]


def dynamic_slice(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    operand = operands[0]
    sizes = instruction.array.dimensions
    starts = start_indices(operands[1:], operand.shape, sizes)
    return np.asarray(operand[tuple(slice(s, s + n) for s, n in zip(starts, sizes, strict=True))])


def dynamic_update_slice(
    machine: Evaluator, instruction: Instruction, operands: list[Any]
) -> Array:
    operand, update = operands[0], operands[1]
    starts = start_indices(operands[2:], operand.shape, update.shape)
    result = np.array(operand)
    region = tuple(slice(s, s + n) for s, n in zip(starts, update.shape, strict=True))
    result[region] = update
    return result


def bitcast_convert(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    """The same bits as another type; a narrower type adds a last dimension, a wider one removes
    it.
    """
    shape = instruction.array
    operand = np.ascontiguousarray(operands[0]).reshape(operands[0].shape)
    return _reinterpreted(operand, kind_of(operand), shape.element_type, shape.dimensions)


def _reinterpreted(
    array: Array, source: ElementType, target: ElementType, dimensions: tuple[int, ...]
) -> Array:
    """The same bits as another type. A truth value is a byte (XLA), or a bit (StableHLO) where
    only that fits.
    """
    if source is not target and ElementType.PRED in (source, target):
        counts = array.size, math.prod(dimensions)
        if source is ElementType.PRED and counts[0] * 8 == counts[1] * target.bits:
            return _reinterpreted(array.view(np.uint8), ElementType.U8, target, dimensions)
        if target is ElementType.PRED and counts[1] * 8 == counts[0] * source.bits:
            return _reinterpreted(array, source, ElementType.U8, dimensions) != 0
    whole = all(kind.bits == 8 * kind.size_bytes for kind in (source, target))
    if whole or source.bits == target.bits:
        return np.frombuffer(array.tobytes(), target.dtype).reshape(dimensions)
    raw = np.frombuffer(array.tobytes(), np.uint8).reshape(-1, source.size_bytes)
    bits = np.unpackbits(raw, axis=1, bitorder="little")[:, : source.bits].reshape(-1, target.bits)
    if target.bits >= 8:
        return np.packbits(bits, axis=1, bitorder="little").view(target.dtype).reshape(dimensions)
    packed = np.packbits(bits, axis=1, bitorder="little").reshape(-1)
    if is_small_integer(target):
        return narrowed(packed.astype(np.int64), target).reshape(dimensions)
    return packed.view(target.dtype).reshape(dimensions)


def bitcast_from(source: Shape) -> Handler:
    """The handler of a bitcast whose operand has this shape: the same memory, read as another."""
    order = source.minor_to_major if isinstance(source, ArrayShape) else None

    def handle(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
        if order is None or not instruction.is_array:
            return operands[0]
        return bitcast_array(operands[0], order, instruction.array)

    return handle


def bitcast_array(array: Array, minor_to_major: tuple[int, ...], target: ArrayShape) -> Array:
    """Lays an array out in memory and reads it back as another shape."""
    memory = np.ascontiguousarray(array.transpose(tuple(reversed(minor_to_major))))
    target_major = tuple(reversed(target.minor_to_major))
    physical = tuple(target.dimensions[i] for i in target_major)
    read = _reinterpreted(memory, kind_of(array), target.element_type, physical)
    return read.transpose(tuple(int(i) for i in np.argsort(target_major)))


def lifted_bitcast(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    operand = np.ascontiguousarray(operands[0]).reshape(np.shape(operands[0]))
    return _reinterpreted(operand, kind_of(operand), instruction.array.element_type, operand.shape)


def get_dimension_size(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    return np.asarray(np.int32(operands[0].shape[instruction.dimensions[0]]))


def set_dimension_size(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    """Runs when it sets a dimension to the extent that it has."""
    operand, size = operands
    dimension = instruction.dimensions[0]
    if int(size) != operand.shape[dimension]:
        message = f"dimension {dimension} becomes {int(size)} of {operand.shape[dimension]}"
        raise HloUnsupportedError(f"{message}: dynamic extents cannot be evaluated")
    return np.asarray(operand)


HANDLERS: dict[Opcode, Any] = {
    Opcode.BROADCAST: broadcast,
    Opcode.RESHAPE: reshape,
    Opcode.DYNAMIC_RESHAPE: reshape,
    Opcode.TRANSPOSE: transpose,
    Opcode.REVERSE: reverse,
    Opcode.SHUFFLE: shuffle,
    Opcode.SLICE: slice_,
    Opcode.CONCATENATE: concatenate,
    Opcode.PAD: pad,
    Opcode.IOTA: iota,
    Opcode.DYNAMIC_SLICE: dynamic_slice,
    Opcode.DYNAMIC_UPDATE_SLICE: dynamic_update_slice,
    Opcode.BITCAST_CONVERT: bitcast_convert,
    Opcode.GET_DIMENSION_SIZE: get_dimension_size,
    Opcode.SET_DIMENSION_SIZE: set_dimension_size,
}
