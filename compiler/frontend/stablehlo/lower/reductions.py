"""Operations that apply a region to elements: reduce, windows, sort, map, scan."""

from __future__ import annotations

from compiler.frontend.stablehlo.lower.elementwise import Handler
from compiler.frontend.stablehlo.lower.frame import Frame, Value
from compiler.frontend.stablehlo.lower.reading import Fault, flag, integer, ints, pairs
from compiler.frontend.stablehlo.lower.structured import only_region
from compiler.frontend.stablehlo.operations import Operation
from compiler.hlo.attributes import Window, WindowDimension
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import TupleShape


def reduce(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    made = frame.emit(
        Opcode.REDUCE,
        operands,
        dimensions=ints(operation, "dimensions"),
        to_apply=frame.function(only_region(operation), "region"),
    )
    return frame.split(made, len(operation.result_types))


def window_of(operation: Operation, rank: int) -> Window:
    """The window of reduce_window and select_and_scatter."""
    ones = (1,) * rank
    keys = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    sizes, strides, bases, dilations = (ints(operation, key, ones) for key in keys)
    padding = pairs(operation, "padding", rank)
    if not len(sizes) == len(strides) == len(bases) == len(dilations) == rank:
        raise Fault(f"window attributes must hold {rank} numbers each")
    return Window(
        tuple(
            WindowDimension(sizes[i], strides[i], *padding[i], bases[i], dilations[i])
            for i in range(rank)
        )
    )


def reduce_window(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    if not operands:
        raise Fault("needs operands")
    rank = operands[0].rank
    made = frame.emit(
        Opcode.REDUCE_WINDOW,
        operands,
        window=window_of(operation, rank) if rank else None,
        to_apply=frame.function(only_region(operation), "region"),
    )
    return frame.split(made, len(operation.result_types))


def select_and_scatter(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    if len(operation.regions) != 2:
        raise Fault(f"needs two regions, has {len(operation.regions)}")
    return [
        frame.emit(
            Opcode.SELECT_AND_SCATTER,
            operands,
            window=window_of(operation, operands[0].rank),
            select=frame.function(operation.regions[0], "select"),
            scatter=frame.function(operation.regions[1], "scatter"),
        )
    ]


def sort(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    dimension = integer(operation, "dimension", -1)
    rank = operands[0].rank if operands else 0
    dimension = dimension + rank if dimension < 0 else dimension
    made = frame.emit(
        Opcode.SORT,
        operands,
        dimensions=(dimension,),
        is_stable=flag(operation, "is_stable") or None,
        to_apply=frame.function(only_region(operation), "compare"),
    )
    return frame.split(made, len(operation.result_types))


def map_(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    return [
        frame.emit(
            Opcode.MAP,
            operands,
            dimensions=ints(operation, "dimensions"),
            to_apply=frame.function(only_region(operation), "map"),
        )
    ]


def scan(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """Inputs and carries in; outputs and last carries out, always as a tuple."""
    segments = ints(operation, "operandSegmentSizes")
    if len(segments) != 2 or sum(segments) != len(operands):
        raise Fault("needs inputs and initial values")
    inner = frame.function(only_region(operation), "scan")
    root = frame.program.computations[inner].root_instruction
    if not isinstance(root.shape, TupleShape):
        inner = frame.program.repacked(inner)
    shapes = tuple(frame.declared_shape(i) for i in range(len(operation.result_types)))
    made = frame.emit(
        Opcode.SCAN,
        operands,
        TupleShape(shapes),
        dimensions=(integer(operation, "dimension"),),
        num_carries=segments[1],
        is_reverse=flag(operation, "is_reverse") or None,
        to_apply=inner,
    )
    return frame.split(made, len(shapes))


def top_k(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """Values and places; places may be declared wider than HLO's s32."""
    largest = flag(operation, "largest", True)
    count = integer(operation, "k")
    made = frame.emit(Opcode.TOPK, operands, k=count, largest=largest)
    values, places = frame.split(made, 2)
    wanted = frame.declared_array(1).element_type
    return [values, frame.convert(places, wanted)]


HANDLERS: dict[str, Handler] = {
    "stablehlo.reduce": reduce,
    "stablehlo.reduce_window": reduce_window,
    "stablehlo.select_and_scatter": select_and_scatter,
    "stablehlo.sort": sort,
    "stablehlo.map": map_,
    "chlo.scan": scan,
    "chlo.top_k": top_k,
}
