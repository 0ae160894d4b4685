"""Elementwise operations, comparisons, conversions and constants."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from compiler.frontend.stablehlo.lower.frame import Frame, Value
from compiler.frontend.stablehlo.lower.known import KNOWN_LIMIT
from compiler.frontend.stablehlo.lower.reading import Fault, Refusal, integer, word
from compiler.frontend.stablehlo.operations import Operation
from compiler.frontend.stablehlo.types import TensorType
from compiler.frontend.stablehlo.values import Dense, Resource
from compiler.hlo.attributes import ComparisonDirection, ComparisonType, RandomDistribution
from compiler.hlo.infer.base import array
from compiler.hlo.opcodes import OPCODES, Opcode
from compiler.hlo.shape import TokenShape

Handler = Callable[[Frame, Operation, list[Value]], list[Value]]

SAME_NAMES = (
    "abs", "add", "and", "atan2", "cbrt", "ceil", "clamp", "complex", "cosine",
    "count_leading_zeros", "divide", "exponential", "exponential_minus_one", "floor", "is_finite",
    "log", "log_plus_one", "logistic", "maximum", "minimum", "multiply", "negate", "not", "or",
    "popcnt", "power", "remainder", "round_nearest_afz", "round_nearest_even", "rsqrt", "select",
    "shift_left", "shift_right_arithmetic", "shift_right_logical", "sign", "sine", "sqrt",
    "subtract", "tan", "tanh", "xor",
)  # fmt: skip
"""Operations that HLO has under the same name (with hyphens) and with the same meaning."""


def plain(opcode: Opcode) -> Handler:
    """The handler of an operation whose only inputs are its operands."""

    def handle(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
        return [frame.emit(opcode, operands)]

    return handle


def compare(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    direction = word(operation, "comparison_direction")
    if direction not in ComparisonDirection.__members__:
        raise Fault(f"'{direction}' is no direction ({', '.join(ComparisonDirection.__members__)})")
    kind = word(operation, "compare_type", "NOTYPE")
    if kind not in ("NOTYPE", "WEAKORDER", *ComparisonType.__members__):
        raise Fault(f"'{kind}' is no type of comparison")
    made = ComparisonDirection[direction]
    if kind == "WEAKORDER" and operands[0].kind.is_float:
        return [_weakly_ordered(frame, operands, made)]
    is_total = kind == "TOTALORDER" and operands[0].kind.is_float
    total = ComparisonType.TOTALORDER if is_total else None
    return [frame.emit(Opcode.COMPARE, operands, direction=made, type=total)]


_OPPOSITES = {
    ComparisonDirection.NE: ComparisonDirection.EQ,
    ComparisonDirection.LE: ComparisonDirection.GT,
    ComparisonDirection.GE: ComparisonDirection.LT,
}


def _weakly_ordered(frame: Frame, operands: list[Value], direction: ComparisonDirection) -> Value:
    """The order in which all NaNs are equal and above all numbers, and both zeros are equal."""
    opposite = _OPPOSITES.get(direction)
    if opposite is not None:
        return frame.emit(Opcode.NOT, [_weakly_ordered(frame, operands, opposite)])
    plain = frame.emit(Opcode.COMPARE, operands, direction=direction)
    unequal = ComparisonDirection.NE
    left, right = (frame.emit(Opcode.COMPARE, [v, v], direction=unequal) for v in operands)
    if direction is ComparisonDirection.EQ:
        return frame.emit(Opcode.OR, [plain, frame.emit(Opcode.AND, [left, right])])
    above, below = (right, left) if direction is ComparisonDirection.LT else (left, right)
    only_above = frame.emit(Opcode.AND, [above, frame.emit(Opcode.NOT, [below])])
    return frame.emit(Opcode.OR, [plain, only_above])


def constant(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    value = operation.attributes.get("value")
    if isinstance(value, Resource):
        raise Refusal(f"dense_resource<{value.key}>, whose data the text does not hold,")
    if not isinstance(value, Dense):
        raise Fault("the value must be dense<...>")
    declared = frame.declared[0]
    quantized = declared.quantized if isinstance(declared, TensorType) else None
    is_splat = value.array.size > KNOWN_LIMIT and not any(value.array.strides)
    if is_splat:
        first = frame.constant(np.asarray(value.array[(0,) * value.array.ndim]))
        made = frame.spread(first, value.array.shape)
    else:
        made = frame.constant(value.array)
    return [replace(made, quantized=quantized)]


def convert(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    value, declared = operands[0], frame.declared_array()
    if value.kind is declared.element_type:
        return [frame.emit(Opcode.CONVERT, [value], value.array)]
    return [frame.convert(value, declared.element_type)]


def bitcast_convert(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """Extents that the result's type leaves open are the operand's; a last dimension joins or
    leaves where the element types differ in size.
    """
    shape = frame.declared_array()
    value = operands[0].array
    if not shape.is_static and value.is_static:
        wide, narrow = shape.element_type.bits, value.element_type.bits
        last = (narrow // wide,) if narrow > wide else ()
        kept = value.dimensions[:-1] if narrow < wide else value.dimensions
        shape = array(shape.element_type, (*kept, *last))
    return [frame.emit(Opcode.BITCAST_CONVERT, operands, shape)]


def reduce_precision(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """A format without mantissa has no NaN: it becomes infinity, as in StableHLO's interpreter (HLO
    keeps it).
    """
    value, mantissa_bits = operands[0], integer(operation, "mantissa_bits")
    made = frame.emit(
        Opcode.REDUCE_PRECISION,
        operands,
        exponent_bits=integer(operation, "exponent_bits"),
        mantissa_bits=mantissa_bits,
    )
    if mantissa_bits:
        return [made]
    is_nan = frame.emit(Opcode.COMPARE, [value, value], direction=ComparisonDirection.NE)
    return [frame.emit(Opcode.SELECT, [is_nan, frame.filled(math.inf, value), made])]


def identity(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """Operations that only annotate."""
    return list(operands)


def nothing(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    return []


def token(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    return [frame.emit(Opcode.AFTER_ALL, operands, TokenShape())]


def iota(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    shape = frame.declared_array()
    if not shape.is_static:
        raise Fault(f"iota needs a static shape, not {shape}")
    dimension = integer(operation, "iota_dimension")
    return [frame.emit(Opcode.IOTA, [], shape, iota_dimension=dimension)]


def rng(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """The third operand is the shape."""
    shape = frame.declared_array()
    dimensions = frame.known(operands[2]) if len(operands) > 2 else None
    if dimensions is not None:
        shape = array(shape.element_type, [int(v) for v in dimensions.reshape(-1)])
    name = word(operation, "rng_distribution")
    if name not in RandomDistribution.__members__:
        raise Fault(f"'{name}' is no distribution (UNIFORM, NORMAL)")
    made = RandomDistribution[name]
    return [frame.emit(Opcode.RNG, operands[:2], shape, distribution=made)]


HANDLERS: dict[str, Handler] = {
    **{f"stablehlo.{name}": plain(OPCODES[name.replace("_", "-")]) for name in SAME_NAMES},
    "stablehlo.real": plain(Opcode.REAL),
    "stablehlo.imag": plain(Opcode.IMAG),
    "stablehlo.compare": compare,
    "stablehlo.constant": constant,
    "chlo.constant": constant,
    "arith.constant": constant,
    "stablehlo.convert": convert,
    "stablehlo.bitcast_convert": bitcast_convert,
    "stablehlo.reduce_precision": reduce_precision,
    "stablehlo.iota": iota,
    "stablehlo.rng": rng,
    "stablehlo.create_token": token,
    "stablehlo.after_all": token,
    "stablehlo.trace": nothing,
    "sdy.sharding_constraint": identity,
}
