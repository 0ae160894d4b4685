"""Quantised tensors: integers q that stand for (q - zero point) * scale.

HLO has no quantised types, so values are kept as their stored integers, and an operation on them
becomes what the specification defines it by: dequantise, compute in the expressed type, quantise
(openxla.org/stablehlo/spec, "Quantization").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from compiler.frontend.stablehlo.lower.frame import Frame, Value
from compiler.frontend.stablehlo.lower.reading import Fault, Refusal
from compiler.frontend.stablehlo.operations import Operation
from compiler.frontend.stablehlo.types import MlirType, QuantizedType, TensorType
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ElementType

Handler = Callable[[Frame, Operation, list[Value]], list[Value]]

_OWN = frozenset(
    {
        "stablehlo.constant",
        "stablehlo.uniform_quantize",
        "stablehlo.uniform_dequantize",
        "stablehlo.while",
        "stablehlo.if",
        "stablehlo.case",
        "stablehlo.optimization_barrier",
        "stablehlo.bitcast_convert",
        "stablehlo.custom_call",
        "stablehlo.composite",
        "func.call",
    }
)
"""Operations that handle quantised values themselves, or only hand them on."""


def is_quantized(operation: Operation, operands: Sequence[Value]) -> bool:
    """True when the operation computes with quantised values."""
    if operation.name in _OWN or operation.dialect == "check":
        return False
    yields = any(isinstance(t, TensorType) and t.quantized for t in operation.result_types)
    return yields or any(v.quantized for v in operands)


def through_expressed(
    frame: Frame, operation: Operation, operands: Sequence[Value], handler: Handler
) -> list[Value]:
    """Dequantise, compute, quantise."""
    if operation.regions:
        raise Refusal("a region that computes with quantised values")
    wide = [dequantized(frame, v) if v.quantized else v for v in operands]
    declared = operation.result_types
    frame.declared = tuple(map(_expressed, declared))
    results = handler(frame, operation, wide)
    frame.declared = declared
    return [_stored(frame, value, kind) for value, kind in zip(results, declared, strict=False)]


def _expressed(kind: MlirType) -> MlirType:
    if not isinstance(kind, TensorType) or kind.quantized is None:
        return kind
    return TensorType(kind.shape.with_element_type(kind.quantized.expressed))


def _stored(frame: Frame, value: Value, kind: MlirType) -> Value:
    if not isinstance(kind, TensorType) or kind.quantized is None:
        return value
    return quantized(frame, value, kind.quantized)


def uniform_quantize(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    target = _declared(frame)
    value = operands[0]
    if value.quantized is not None:
        value = dequantized(frame, value)
    return [quantized(frame, value, target)]


def uniform_dequantize(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    if operands[0].quantized is None:
        raise Fault(f"the operand must be quantised, it is {operands[0].shape}")
    return [dequantized(frame, operands[0])]


def _declared(frame: Frame) -> QuantizedType:
    kind = frame.declared[0] if frame.declared else None
    if not isinstance(kind, TensorType) or kind.quantized is None:
        raise Fault(f"the result must be quantised, it is {kind}")
    return kind.quantized


def dequantized(frame: Frame, value: Value) -> Value:
    """(stored - zero point) * scale, in the expressed type."""
    kind = _type_of(value)
    difference = frame.convert(value, ElementType.S32)
    if any(kind.zero_points):
        zeros = _per_index(frame, kind.zero_points, ElementType.S32, value, kind.axis)
        difference = frame.emit(Opcode.SUBTRACT, [difference, zeros])
    wide = frame.convert(difference, kind.expressed)
    scales = _per_index(frame, kind.scales, kind.expressed, value, kind.axis)
    return frame.emit(Opcode.MULTIPLY, [wide, scales])


def quantized(frame: Frame, value: Value, kind: QuantizedType) -> Value:
    """The nearest stored integer (halves to even), within the type's limits."""
    scales = _per_index(frame, kind.scales, value.kind, value, kind.axis)
    rounded = frame.emit(Opcode.ROUND_NEAREST_EVEN, [frame.emit(Opcode.DIVIDE, [value, scales])])
    zeros = _per_index(frame, kind.zero_points, value.kind, value, kind.axis)
    shifted = frame.emit(Opcode.ADD, [rounded, zeros])
    low, high = (frame.scalar(limit, value.kind) for limit in (kind.low, kind.high))
    clamped = frame.emit(Opcode.CLAMP, [low, shifted, high])
    return replace(frame.convert(clamped, kind.storage), quantized=kind)


def _type_of(value: Value) -> QuantizedType:
    if value.quantized is None:
        raise Fault(f"{value.shape} is not quantised")
    return value.quantized


def _per_index(
    frame: Frame, numbers: Sequence[float], kind: ElementType, like: Value, axis: int | None
) -> Value:
    """One number for all elements, or one per index along an axis, shaped like a value."""
    if len(numbers) == 1 and axis is None:
        return frame.spread(frame.scalar(numbers[0], kind), like.dimensions)
    if axis is None or axis >= like.rank or len(numbers) != like.dimensions[axis]:
        raise Fault(f"{len(numbers)} scales do not fit {like.shape}")
    line = frame.constant(np.asarray(np.array(numbers).astype(kind.dtype)))
    return frame.broadcast(line, like.array.with_element_type(kind), (axis,))
