"""The table from opcode to handler, for whole values and for lifted scalar computations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from compiler.hlo.attributes import ComparisonDirection, ComparisonType
from compiler.hlo.evaluate import (
    contract,
    control,
    custom,
    elementwise,
    index,
    linear,
    moves,
    normalize,
    order,
    ragged,
    random,
    reduce,
    transcendental,
)
from compiler.hlo.evaluate.numbers import bits_of, converted, kind_of, widened
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import OPCODES, Opcode
from compiler.hlo.shape import ArrayShape

if TYPE_CHECKING:
    from compiler.hlo.evaluate.run import Evaluator

Handler: TypeAlias = Callable[["Evaluator", Instruction, list[Any]], Any]
ArrayFunction: TypeAlias = Callable[..., np.ndarray]

_FUNCTIONS: dict[Opcode, ArrayFunction] = {
    Opcode.ABS: elementwise.absolute,
    Opcode.ADD: elementwise.add,
    Opcode.AND: elementwise.and_,
    Opcode.ATAN2: transcendental.atan2,
    Opcode.CEIL: elementwise.ceil,
    Opcode.CLAMP: elementwise.clamp,
    Opcode.COMPLEX: elementwise.complex_,
    Opcode.COPY: elementwise.copy,
    Opcode.COUNT_LEADING_ZEROS: elementwise.count_leading_zeros,
    Opcode.DIVIDE: elementwise.divide,
    Opcode.FLOOR: elementwise.floor,
    Opcode.IMAG: elementwise.imag,
    Opcode.IS_FINITE: elementwise.is_finite,
    Opcode.MAXIMUM: elementwise.maximum,
    Opcode.MINIMUM: elementwise.minimum,
    Opcode.MULHI: elementwise.mulhi,
    Opcode.MULTIPLY: elementwise.multiply,
    Opcode.NEGATE: elementwise.negate,
    Opcode.NOT: elementwise.not_,
    Opcode.OR: elementwise.or_,
    Opcode.POPCNT: elementwise.popcnt,
    Opcode.POWER: transcendental.power,
    Opcode.REAL: elementwise.real,
    Opcode.REMAINDER: elementwise.remainder,
    Opcode.ROUND_NEAREST_AFZ: elementwise.round_nearest_afz,
    Opcode.ROUND_NEAREST_EVEN: elementwise.round_nearest_even,
    Opcode.SELECT: elementwise.select,
    Opcode.SHIFT_LEFT: elementwise.shift_left,
    Opcode.SHIFT_RIGHT_ARITHMETIC: elementwise.shift_right_arithmetic,
    Opcode.SHIFT_RIGHT_LOGICAL: elementwise.shift_right_logical,
    Opcode.SIGN: elementwise.sign,
    Opcode.SUBTRACT: elementwise.subtract,
    Opcode.XOR: elementwise.xor,
    **{OPCODES[name]: function for name, function in transcendental.FUNCTIONS.items()},
}


def _elementwise(function: ArrayFunction) -> Handler:
    """A handler that applies a function and makes the result the instruction's type."""

    def handle(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
        result = np.asarray(function(*operands))
        shape = instruction.shape
        if isinstance(shape, ArrayShape) and result.dtype != shape.element_type.dtype:
            return converted(result, shape.element_type)
        return result

    return handle


_COMPARISONS: dict[ComparisonDirection, Callable[[Any, Any], Any]] = {
    ComparisonDirection.EQ: np.equal,
    ComparisonDirection.NE: np.not_equal,
    ComparisonDirection.GE: np.greater_equal,
    ComparisonDirection.GT: np.greater,
    ComparisonDirection.LE: np.less_equal,
    ComparisonDirection.LT: np.less,
}


def compare(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    """Compares elements; total order ranks -NaN lowest, -0 below 0, NaN highest."""
    one, other = operands
    is_total = instruction.attributes.get("type") is ComparisonType.TOTALORDER
    if is_total and kind_of(one).is_float:
        one, other = elementwise.total_order_key(one), elementwise.total_order_key(other)
    else:
        one, other = widened(one), widened(other)
    return np.asarray(_COMPARISONS[instruction.attributes["direction"]](one, other))


def convert(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    return converted(operands[0], instruction.array.element_type)


def reduce_precision(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    get = instruction.attributes.get
    return elementwise.reduce_precision(operands[0], get("exponent_bits"), get("mantissa_bits"))


def stochastic_convert(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    """Rounds away from zero when the random bits lie below the lost fraction."""
    value, random_bits = operands
    kind = instruction.array.element_type
    wide = value.astype(np.float64)
    if not kind.is_integer:
        return converted(value, kind)
    whole = np.trunc(wide)
    share = bits_of(random_bits) / 2.0 ** kind_of(random_bits).bits
    step = np.where(share < np.abs(wide - whole), np.copysign(1.0, wide), 0.0)
    return converted(np.asarray(whole + step), kind)


_ELEMENTWISE: dict[Opcode, Handler] = {
    **{opcode: _elementwise(function) for opcode, function in _FUNCTIONS.items()},
    Opcode.COMPARE: compare,
    Opcode.CONVERT: convert,
    Opcode.REDUCE_PRECISION: reduce_precision,
    Opcode.STOCHASTIC_CONVERT: stochastic_convert,
}

_SHARED: dict[Opcode, Handler] = {
    **_ELEMENTWISE,
    Opcode.CONSTANT: control.constant,
    Opcode.PARAMETER: control.nothing,
    Opcode.TUPLE: control.tuple_,
    Opcode.GET_TUPLE_ELEMENT: control.get_tuple_element,
    Opcode.OPT_BARRIER: control.first,
}

HANDLERS: dict[Opcode, Handler] = {
    **_SHARED,
    **control.HANDLERS,
    **moves.HANDLERS,
    **reduce.HANDLERS,
    **contract.HANDLERS,
    **ragged.HANDLERS,
    **index.HANDLERS,
    **order.HANDLERS,
    **linear.HANDLERS,
    **normalize.HANDLERS,
    **random.HANDLERS,
    Opcode.COPY: control.first,
    Opcode.CUSTOM_CALL: custom.custom_call,
}
"""Handlers of whole values, by opcode."""

LIFTED: dict[Opcode, Handler] = {
    **_SHARED,
    Opcode.BITCAST: moves.lifted_bitcast,
    Opcode.BITCAST_CONVERT: moves.lifted_bitcast,
    Opcode.BROADCAST: control.first,
    Opcode.RESHAPE: control.first,
    Opcode.TRANSPOSE: control.first,
    Opcode.CALL: control.lifted_call,
    Opcode.FUSION: control.lifted_call,
    Opcode.MAP: control.lifted_call,
}
"""Handlers that also hold elementwise when scalars stand for arrays."""
