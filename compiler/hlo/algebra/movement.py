"""Rules for data movement: reshapes, transposes, broadcasts, slices and their compositions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.hlo.algebra.scope import Rule, Scope, is_splat, same_array, splat_value
from compiler.hlo.attributes import Attributes, PadDimension, SliceLimits
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ArrayShape


def _squeezed(dimensions: Sequence[int]) -> tuple[int, ...]:
    return tuple(e for e in dimensions if e != 1)


def identity(scope: Scope, instruction: Instruction) -> str | None:
    """A copy, or a move that moves nothing."""
    operand = scope.operand(instruction)
    return operand.name if same_array(operand, instruction) else None


def _scalar_of(scope: Scope, instruction: Instruction) -> str | None:
    """The scalar whose broadcast an array is."""
    if instruction.opcode is Opcode.BROADCAST and is_splat(scope, instruction):
        return instruction.operands[0]
    return None


def spread(scope: Scope, instruction: Instruction) -> str | None:
    """Moving a broadcast scalar about yields a broadcast scalar."""
    scalar = _scalar_of(scope, scope.operand(instruction))
    if scalar is None:
        return None
    if instruction.array.is_scalar:
        return scalar
    return scope.turn(Opcode.BROADCAST, (scalar,), Attributes(dimensions=()))


def reshape(scope: Scope, instruction: Instruction) -> str | None:
    operand = scope.operand(instruction)
    if operand.opcode is Opcode.RESHAPE:
        return scope.turn(Opcode.RESHAPE, operand.operands)
    if operand.opcode is Opcode.IOTA:
        return _reshaped_iota(scope, instruction, operand)
    if operand.opcode is Opcode.BROADCAST:
        return _reshaped_broadcast(scope, instruction, operand)
    return None


def _reshaped_iota(scope: Scope, instruction: Instruction, operand: Instruction) -> str | None:
    along = operand.attributes["iota_dimension"]
    old, new = operand.array.dimensions, instruction.array.dimensions
    if _squeezed(old) != _squeezed(new) or old[along] == 1:
        return None
    found = _kept_places(old, new)[along]
    return scope.turn(Opcode.IOTA, (), Attributes(iota_dimension=found))


def _kept_places(old: Sequence[int], new: Sequence[int]) -> dict[int, int]:
    """Old dimension to new one, for those of extent other than 1, when only such of 1 differ."""
    olds = [d for d, e in enumerate(old) if e != 1]
    news = [d for d, e in enumerate(new) if e != 1]
    return dict(zip(olds, news, strict=True))


def _reshaped_broadcast(scope: Scope, instruction: Instruction, operand: Instruction) -> str | None:
    """Only dimensions of extent 1 come or go: the broadcast can yield the new shape itself."""
    source = scope.operand(operand)
    old, new = operand.array.dimensions, instruction.array.dimensions
    if _squeezed(old) != _squeezed(new) or 1 in source.array.dimensions:
        return None
    places = _kept_places(old, new)
    dimensions = tuple(places[d] for d in operand.dimensions)
    return scope.turn(Opcode.BROADCAST, (source.name,), Attributes(dimensions=dimensions))


def broadcast(scope: Scope, instruction: Instruction) -> str | None:
    operand = scope.operand(instruction)
    result = instruction.array
    increasing = list(instruction.dimensions) == sorted(instruction.dimensions)
    if increasing and operand.array.element_count == result.element_count and result.rank:
        return scope.turn(Opcode.RESHAPE, (operand.name,))
    if operand.opcode is Opcode.BROADCAST:
        dimensions = tuple(instruction.dimensions[d] for d in operand.dimensions)
        return scope.turn(Opcode.BROADCAST, operand.operands, Attributes(dimensions=dimensions))
    if operand.opcode is Opcode.IOTA:
        along = instruction.dimensions[operand.attributes["iota_dimension"]]
        return scope.turn(Opcode.IOTA, (), Attributes(iota_dimension=along))
    return _without_unit_dimensions(scope, instruction, operand)


def _without_unit_dimensions(
    scope: Scope, instruction: Instruction, operand: Instruction
) -> str | None:
    """A dimension of extent 1 need not be named by a broadcast: a reshape drops it first."""
    old = operand.array.dimensions
    if 1 not in old:
        return None
    dimensions = tuple(d for d, e in zip(instruction.dimensions, old, strict=True) if e != 1)
    shape = ArrayShape(operand.array.element_type, _squeezed(old))
    smaller = scope.add(Opcode.RESHAPE, shape, (operand.name,))
    return scope.turn(Opcode.BROADCAST, (smaller,), Attributes(dimensions=dimensions))


def transpose(scope: Scope, instruction: Instruction) -> str | None:
    operand = scope.operand(instruction)
    order = instruction.dimensions
    if list(order) == sorted(order):
        return operand.name
    if operand.opcode is Opcode.TRANSPOSE:
        composed = tuple(operand.dimensions[d] for d in order)
        return scope.turn(Opcode.TRANSPOSE, operand.operands, Attributes(dimensions=composed))
    if operand.opcode is Opcode.IOTA:
        along = order.index(operand.attributes["iota_dimension"])
        return scope.turn(Opcode.IOTA, (), Attributes(iota_dimension=along))
    moved = [d for d in order if operand.array.dimensions[d] != 1]
    if moved == sorted(moved):
        return scope.turn(Opcode.RESHAPE, (operand.name,))
    if operand.opcode is Opcode.BROADCAST:
        dimensions = tuple(order.index(d) for d in operand.dimensions)
        return scope.turn(Opcode.BROADCAST, operand.operands, Attributes(dimensions=dimensions))
    return None


def slice_(scope: Scope, instruction: Instruction) -> str | None:
    operand = scope.operand(instruction)
    limits = instruction.attributes["slice"]
    if operand.opcode is Opcode.SLICE:
        joined = tuple(
            SliceLimits(
                a.start + b.start * a.stride,
                a.start + (b.start + max(b.extent - 1, 0) * b.stride) * a.stride + 1,
                a.stride * b.stride,
            )
            for a, b in zip(operand.attributes["slice"], limits, strict=True)
        )
        if all(b.extent for b in limits):
            return scope.turn(Opcode.SLICE, operand.operands, Attributes({"slice": joined}))
    if operand.opcode is Opcode.CONCATENATE:
        return _slice_of_part(scope, instruction, operand)
    if operand.opcode is Opcode.BROADCAST:
        return _slice_of_broadcast(scope, instruction, operand)
    return None


def _slice_of_part(scope: Scope, instruction: Instruction, operand: Instruction) -> str | None:
    """A slice that lies within one operand of a concatenate."""
    along = operand.dimensions[0]
    limits = list(instruction.attributes["slice"])
    cut = limits[along]
    offset = 0
    for part in scope.operands(operand):
        extent = part.array.dimensions[along]
        if offset <= cut.start and cut.limit <= offset + extent and cut.extent:
            limits[along] = SliceLimits(cut.start - offset, cut.limit - offset, cut.stride)
            return scope.turn(Opcode.SLICE, (part.name,), Attributes({"slice": tuple(limits)}))
        offset += extent
    return None


def _slice_of_broadcast(scope: Scope, instruction: Instruction, operand: Instruction) -> str | None:
    """A slice that leaves the broadcast's own operand whole."""
    source = scope.operand(operand)
    extents = tuple(instruction.array.dimensions[d] for d in operand.dimensions)
    if extents != source.array.dimensions:
        return None
    return scope.turn(Opcode.BROADCAST, (source.name,), operand.attributes)


def concatenate(scope: Scope, instruction: Instruction) -> str | None:
    along = instruction.dimensions[0]
    parts = scope.operands(instruction)
    flat: list[str] = []
    for part in parts:
        if part.opcode is Opcode.CONCATENATE and part.dimensions == instruction.dimensions:
            flat.extend(part.operands)
        elif part.array.dimensions[along]:
            flat.append(part.name)
    if len(flat) == 1:
        return flat[0]
    if flat and tuple(flat) != tuple(p.name for p in parts):
        return scope.turn(Opcode.CONCATENATE, flat, instruction.attributes)
    return _concatenated_splats(scope, instruction, parts)


def _concatenated_splats(
    scope: Scope, instruction: Instruction, parts: Sequence[Instruction]
) -> str | None:
    scalars = {_scalar_of(scope, part) for part in parts}
    if len(scalars) != 1 or None in scalars:
        return None
    scalar = scalars.pop() or ""
    return scope.turn(Opcode.BROADCAST, (scalar,), Attributes(dimensions=()))


def reverse(scope: Scope, instruction: Instruction) -> str | None:
    operand = scope.operand(instruction)
    extents = instruction.array.dimensions
    moving = tuple(d for d in instruction.dimensions if extents[d] != 1)
    if not moving:
        return operand.name
    if operand.opcode is Opcode.REVERSE and set(operand.dimensions) == set(instruction.dimensions):
        return operand.operands[0]
    return None


def pad(scope: Scope, instruction: Instruction) -> str | None:
    edges: Sequence[PadDimension] = instruction.attributes["padding"]
    if any(e.low or e.high or e.interior for e in edges):
        return None
    return scope.operand(instruction).name


def dynamic_slice(scope: Scope, instruction: Instruction) -> str | None:
    """Of everything it is the operand; from a constant start it is a plain slice."""
    array, *starts = scope.operands(instruction)
    if array.array.dimensions == instruction.array.dimensions:
        return array.name
    values = [splat_value(scope, start) for start in starts]
    if len(starts) != array.array.rank or any(v is None for v in values):
        return None
    limits = []
    for value, whole, size in zip(
        values, array.array.dimensions, instruction.array.dimensions, strict=True
    ):
        start = min(max(int(np.asarray(value)), 0), whole - size)
        limits.append(SliceLimits(start, start + size))
    return scope.turn(Opcode.SLICE, (array.name,), Attributes({"slice": tuple(limits)}))


def dynamic_update_slice(scope: Scope, instruction: Instruction) -> str | None:
    update = scope.operand(instruction, 1)
    return update.name if update.array.dimensions == instruction.array.dimensions else None


def iota(scope: Scope, instruction: Instruction) -> str | None:
    along = instruction.attributes["iota_dimension"]
    if instruction.array.dimensions[along] != 1:
        return None
    return scope.filled(instruction.array, 0)


def constant(scope: Scope, instruction: Instruction) -> str | None:
    """An array constant with one value everywhere is a broadcast scalar."""
    literal = instruction.literal
    if literal is None or literal.array is None or not literal.array.ndim:
        return None
    value = literal.scalar
    return None if value is None else scope.filled(instruction.array, value)


RULES: dict[Opcode, tuple[Rule, ...]] = {
    Opcode.CONSTANT: (constant,),
    Opcode.COPY: (identity,),
    Opcode.RESHAPE: (identity, spread, reshape),
    Opcode.BROADCAST: (broadcast,),
    Opcode.TRANSPOSE: (transpose, spread),
    Opcode.SLICE: (identity, spread, slice_),
    Opcode.CONCATENATE: (concatenate,),
    Opcode.REVERSE: (reverse, spread),
    Opcode.PAD: (pad,),
    Opcode.DYNAMIC_SLICE: (dynamic_slice,),
    Opcode.DYNAMIC_UPDATE_SLICE: (dynamic_update_slice,),
    Opcode.IOTA: (iota,),
}
