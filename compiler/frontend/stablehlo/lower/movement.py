"""Operations that move elements: broadcast, transpose, slice, pad, concatenate, tuples."""

from __future__ import annotations

from compiler.frontend.stablehlo.lower.elementwise import Handler, plain
from compiler.frontend.stablehlo.lower.frame import Frame, Value
from compiler.frontend.stablehlo.lower.reading import Fault, integer, ints
from compiler.frontend.stablehlo.operations import Operation
from compiler.hlo.attributes import PadDimension, SliceLimits
from compiler.hlo.infer.base import array
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ElementType


def broadcast_in_dim(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    dimensions = ints(operation, "broadcast_dimensions")
    return [frame.broadcast(operands[0], frame.declared_array(), dimensions)]


def broadcast(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """New dimensions in front."""
    sizes = ints(operation, "broadcast_sizes")
    value = operands[0]
    shape = array(value.kind, (*sizes, *value.dimensions))
    dimensions = tuple(range(len(sizes), shape.rank))
    return [frame.emit(Opcode.BROADCAST, [value], shape, dimensions=dimensions)]


def reshape(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    return [frame.emit(Opcode.RESHAPE, operands, frame.declared_array())]


def transpose(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    order = ints(operation, "permutation")
    return [frame.emit(Opcode.TRANSPOSE, operands, dimensions=order)]


def reverse(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    dimensions = ints(operation, "dimensions")
    return [frame.emit(Opcode.REVERSE, operands, dimensions=dimensions)]


def concatenate(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    dimension = integer(operation, "dimension")
    return [frame.emit(Opcode.CONCATENATE, operands, dimensions=(dimension,))]


def slice_limits(
    starts: tuple[int, ...], limits: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[SliceLimits, ...]:
    if not len(starts) == len(limits) == len(strides):
        raise Fault("start, limit and stride lists must be equally long")
    return tuple(SliceLimits(*each) for each in zip(starts, limits, strides, strict=True))


def slice_(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    starts = ints(operation, "start_indices")
    limits = ints(operation, "limit_indices")
    made = slice_limits(starts, limits, ints(operation, "strides", (1,) * len(starts)))
    return [frame.emit(Opcode.SLICE, operands, slice=made)]


def padding_of(
    low: tuple[int, ...], high: tuple[int, ...], interior: tuple[int, ...]
) -> tuple[PadDimension, ...]:
    if not len(low) == len(high) == len(interior):
        raise Fault("low, high and interior padding must be equally long")
    return tuple(PadDimension(*each) for each in zip(low, high, interior, strict=True))


def pad(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    low, high = ints(operation, "edge_padding_low"), ints(operation, "edge_padding_high")
    interior = ints(operation, "interior_padding", (0,) * len(low))
    return [frame.emit(Opcode.PAD, operands, padding=padding_of(low, high, interior))]


def dynamic_slice(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    sizes = ints(operation, "slice_sizes")
    return [frame.emit(Opcode.DYNAMIC_SLICE, operands, dynamic_slice_sizes=sizes)]


def tuple_(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    return [frame.bundle(operands)]


def get_tuple_element(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    return [frame.element(operands[0], integer(operation, "index"))]


def optimization_barrier(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    if not operands:
        return []
    made = frame.emit(Opcode.OPT_BARRIER, [frame.packed(operands)])
    return frame.split(made, len(operands)) if len(operands) > 1 else [made]


def get_dimension_size(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """The extent itself where it is static."""
    dimension = integer(operation, "dimension")
    value = operands[0]
    if not 0 <= dimension < value.rank:
        raise Fault(f"dimension {dimension} is out of range for {value.shape}")
    if not value.array.is_dynamic_dimension(dimension):
        return [frame.scalar(value.dimensions[dimension], ElementType.S32)]
    return [frame.emit(Opcode.GET_DIMENSION_SIZE, operands, dimensions=(dimension,))]


def set_dimension_size(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    dimension = integer(operation, "dimension")
    size = frame.convert(operands[1], ElementType.S32)
    value = operands[0]
    if not 0 <= dimension < value.rank:
        raise Fault(f"dimension {dimension} is out of range for {value.shape}")
    known = frame.known(size)
    if known is not None and int(known) == value.dimensions[dimension]:
        return [value]
    return [frame.emit(Opcode.SET_DIMENSION_SIZE, [value, size], dimensions=(dimension,))]


def torch_index_select(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """Whole slices along one dimension, one per index; leading batch dimensions are paired."""
    value, index = operands
    along, batch = integer(operation, "dim"), integer(operation, "batch_dims", 0)
    if not 0 <= batch <= along < value.rank or batch > index.rank:
        raise Fault(f"dim {along} and batch_dims {batch} do not fit {value.shape}")
    sizes = [1 if i < batch or i == along else e for i, e in enumerate(value.dimensions)]
    first = along
    last = along + index.rank - batch
    rank = value.rank - 1 + index.rank - batch
    offsets = tuple(i for i in range(rank) if not i < batch and not first <= i < last)
    made = frame.emit(
        Opcode.GATHER,
        operands,
        offset_dims=offsets,
        collapsed_slice_dims=(along,),
        start_index_map=(along,),
        operand_batching_dims=tuple(range(batch)) or None,
        start_indices_batching_dims=tuple(range(batch)) or None,
        index_vector_dim=index.rank,
        slice_sizes=tuple(sizes),
    )
    return [made]


HANDLERS: dict[str, Handler] = {
    "stablehlo.broadcast_in_dim": broadcast_in_dim,
    "stablehlo.broadcast": broadcast,
    "stablehlo.reshape": reshape,
    "stablehlo.transpose": transpose,
    "stablehlo.reverse": reverse,
    "stablehlo.concatenate": concatenate,
    "stablehlo.slice": slice_,
    "stablehlo.pad": pad,
    "stablehlo.dynamic_slice": dynamic_slice,
    "stablehlo.dynamic_update_slice": plain(Opcode.DYNAMIC_UPDATE_SLICE),
    "stablehlo.tuple": tuple_,
    "stablehlo.get_tuple_element": get_tuple_element,
    "stablehlo.optimization_barrier": optimization_barrier,
    "stablehlo.get_dimension_size": get_dimension_size,
    "stablehlo.set_dimension_size": set_dimension_size,
    "stablehlo.torch_index_select": torch_index_select,
}
