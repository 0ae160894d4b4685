"""Operations whose result extents are values: folded to static ones where those are known.

Where they are not, the operation becomes a custom call of its own name, so that the program can be
read, printed and converted; running it is refused.
"""

from __future__ import annotations

import numpy as np

from compiler.frontend.stablehlo.lower.elementwise import Handler
from compiler.frontend.stablehlo.lower.frame import Frame, Value
from compiler.frontend.stablehlo.lower.movement import padding_of, slice_limits
from compiler.frontend.stablehlo.lower.reading import Fault, integer, ints
from compiler.frontend.stablehlo.lower.structured import emit_convolution, emit_gather
from compiler.frontend.stablehlo.operations import Operation
from compiler.hlo.infer.base import array
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ArrayShape


def numbers_of(frame: Frame, value: Value) -> tuple[int, ...] | None:
    """The integers that a value holds in every run, or None."""
    found = frame.known(value)
    if found is None or found.dtype.kind not in "iu":
        return None
    return tuple(int(v) for v in found.reshape(-1))


def _target(frame: Frame, extents: Value) -> ArrayShape | None:
    """The result's shape: as declared when static, else by the extents when known."""
    declared = frame.declared_array()
    if declared.is_static:
        return declared
    numbers = numbers_of(frame, extents)
    if numbers is None:
        return None
    if len(numbers) != declared.rank or any(n < 0 for n in numbers):
        raise Fault(f"the extents {list(numbers)} do not fit {declared}")
    return array(declared.element_type, numbers)


def unresolved(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """The operation as a custom call of its own name."""
    shape = frame.declared_array()
    return [frame.emit(Opcode.CUSTOM_CALL, operands, shape, custom_call_target=operation.name)]


def dynamic_reshape(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    shape = _target(frame, operands[1])
    if shape is None:
        return unresolved(frame, operation, operands)
    return [frame.emit(Opcode.RESHAPE, operands[:1], shape)]


def dynamic_broadcast(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    shape = _target(frame, operands[1])
    if shape is None:
        return unresolved(frame, operation, operands)
    return [frame.broadcast(operands[0], shape, ints(operation, "broadcast_dimensions"))]


def dynamic_iota(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    shape = _target(frame, operands[0])
    if shape is None:
        return unresolved(frame, operation, operands)
    dimension = integer(operation, "iota_dimension")
    return [frame.emit(Opcode.IOTA, [], shape, iota_dimension=dimension)]


def dynamic_pad(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    numbers = [numbers_of(frame, value) for value in operands[2:5]]
    low, high, interior = numbers if len(numbers) == 3 else (None, None, None)
    if low is None or high is None or interior is None:
        return unresolved(frame, operation, operands)
    padding = padding_of(low, high, interior)
    return [frame.emit(Opcode.PAD, operands[:2], padding=padding)]


def real_dynamic_slice(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """A slice where everything is known; a dynamic-slice where only the start varies."""
    starts, limits, strides = (numbers_of(frame, value) for value in operands[1:4])
    if starts is not None and limits is not None and strides is not None:
        limit = slice_limits(starts, limits, strides)
        return [frame.emit(Opcode.SLICE, operands[:1], slice=limit)]
    sizes = _slice_sizes(frame, operands)
    unit = strides is not None and all(stride == 1 for stride in strides)
    if sizes is None or not unit:
        return unresolved(frame, operation, operands)
    places = [_component(frame, operands[1], i) for i in range(len(sizes))]
    return [frame.emit(Opcode.DYNAMIC_SLICE, [operands[0], *places], dynamic_slice_sizes=sizes)]


def _slice_sizes(frame: Frame, operands: list[Value]) -> tuple[int, ...] | None:
    """The result's extents: as declared, else what the limit adds to the start, else from start to
    limit where both are known there.
    """
    declared = frame.declared_array()
    if declared.is_static:
        return declared.dimensions
    limit_made = frame.instructions[operands[2].name]
    if limit_made.opcode is Opcode.ADD and limit_made.operands[0] == operands[1].name:
        return numbers_of(frame, Value(limit_made.operands[1], operands[2].shape))
    bounds = zip(_partly_known(frame, operands[1]), _partly_known(frame, operands[2]), strict=True)
    sizes: list[int] = []
    for place, (start, limit) in enumerate(bounds):
        if not declared.is_dynamic_dimension(place):
            sizes.append(declared.dimensions[place])
        elif start is None or limit is None:
            return None
        else:
            sizes.append(limit - start)
    return tuple(sizes)


def _partly_known(frame: Frame, vector: Value) -> list[int | None]:
    """The numbers of a vector that are the same in every run; a vector joined of single numbers
    may hold others beside them.
    """
    whole = numbers_of(frame, vector)
    if whole is not None:
        return list(whole)
    joined = frame.instructions[vector.name]
    parts = [Value(o, frame.instructions[o].shape) for o in joined.operands]
    if joined.opcode is not Opcode.CONCATENATE or any(p.dimensions != (1,) for p in parts):
        return [None] * vector.dimensions[0]
    known = [numbers_of(frame, part) for part in parts]
    return [numbers[0] if numbers is not None else None for numbers in known]


def _component(frame: Frame, vector: Value, index: int) -> Value:
    """One element of a vector as a scalar."""
    limit = slice_limits((index,), (index + 1,), (1,))
    return frame.reshape(frame.emit(Opcode.SLICE, [vector], slice=limit), ())


def dynamic_gather(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    sizes = numbers_of(frame, operands[2])
    if sizes is None:
        return unresolved(frame, operation, operands)
    return [emit_gather(frame, operation, operands, sizes)]


def dynamic_conv(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    numbers = numbers_of(frame, operands[2])
    if numbers is None:
        return unresolved(frame, operation, operands)
    padding = tuple(zip(numbers[::2], numbers[1::2], strict=False))
    if len(padding) != operands[0].rank - 2:
        raise Fault(f"the padding must hold {operands[0].rank - 2} pairs")
    return [emit_convolution(frame, operation, operands, padding)]


def index_cast(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    return [frame.convert(operands[0], frame.declared_array().element_type)]


def shape_of(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """The extents of a value as a vector, where they are static."""
    value = operands[0]
    if not value.array.is_static:
        return unresolved(frame, operation, operands)
    kind = frame.declared_array().element_type
    return [frame.constant(np.array(value.dimensions, np.int64).astype(kind.dtype))]


HANDLERS: dict[str, Handler] = {
    "stablehlo.dynamic_reshape": dynamic_reshape,
    "stablehlo.dynamic_broadcast_in_dim": dynamic_broadcast,
    "stablehlo.dynamic_iota": dynamic_iota,
    "stablehlo.dynamic_pad": dynamic_pad,
    "stablehlo.real_dynamic_slice": real_dynamic_slice,
    "stablehlo.dynamic_gather": dynamic_gather,
    "stablehlo.dynamic_conv": dynamic_conv,
    "arith.index_cast": index_cast,
    "shape.shape_of": shape_of,
}
