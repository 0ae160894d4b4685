"""CHLO: operations that client libraries use, mapped to HLO's or expanded into them.

Special functions that HLO lacks (erfc, lgamma, digamma, zeta, ...) become custom calls of their own
name, which the evaluator computes in float64.
"""

from __future__ import annotations

import math

import numpy as np

from compiler.frontend.stablehlo.lower.elementwise import HANDLERS as PLAIN
from compiler.frontend.stablehlo.lower.elementwise import Handler, plain
from compiler.frontend.stablehlo.lower.frame import Frame, Value
from compiler.frontend.stablehlo.lower.reading import Fault, ints, record
from compiler.frontend.stablehlo.operations import Operation
from compiler.frontend.stablehlo.values import Typed
from compiler.hlo.attributes import ComparisonDirection
from compiler.hlo.infer.base import array
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import UNBOUNDED

SPECIAL = (
    "bessel_i1e", "digamma", "erf_inv", "erfc", "lgamma", "next_after", "polygamma", "zeta",
)  # fmt: skip
"""Functions that HLO has no opcode for."""


def special(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    for value in operands[1:]:
        if value.shape != operands[0].shape:
            raise Fault(f"operands must have equal shapes: {operands[0].shape}, {value.shape}")
    shape = operands[0].array
    if not shape.element_type.is_float:
        raise Fault(f"takes floats, not {shape}")
    target = operation.name.replace("broadcast_", "")
    return [frame.emit(Opcode.CUSTOM_CALL, operands, shape, custom_call_target=target)]


def square(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """The product with itself; of x + iy, (x - y)(x + y) + 2xyi, which overflows only where the
    square does. Where |x| = |y| the real part is |x| - |y|: nothing, or NaN at infinity.
    """
    value = operands[0]
    if not value.kind.is_complex:
        return [frame.emit(Opcode.MULTIPLY, [value, value])]
    x, y = (frame.emit(part, [value]) for part in (Opcode.REAL, Opcode.IMAG))
    sizes = [frame.emit(Opcode.ABS, [part]) for part in (x, y)]
    product = frame.emit(
        Opcode.MULTIPLY, [frame.emit(Opcode.SUBTRACT, [x, y]), frame.emit(Opcode.ADD, [x, y])]
    )
    are_equal = frame.emit(Opcode.COMPARE, sizes, direction=ComparisonDirection.EQ)
    real = frame.emit(Opcode.SELECT, [are_equal, frame.emit(Opcode.SUBTRACT, sizes), product])
    half = frame.emit(Opcode.MULTIPLY, [x, y])
    return [frame.emit(Opcode.COMPLEX, [real, frame.emit(Opcode.ADD, [half, half])])]


def conjugate(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    value = operands[0]
    if not value.kind.is_complex:
        return [value]
    imaginary = frame.emit(Opcode.NEGATE, [frame.emit(Opcode.IMAG, [value])])
    return [frame.emit(Opcode.COMPLEX, [frame.emit(Opcode.REAL, [value]), imaginary])]


def _is_infinite(sign: int) -> Handler:
    """Whether elements are infinite; with one sign, or with either (0)."""

    def handle(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
        value = operands[0] if sign else frame.emit(Opcode.ABS, operands)
        limit = frame.filled(math.copysign(math.inf, sign or 1), value)
        equal = ComparisonDirection.EQ
        return [frame.emit(Opcode.COMPARE, [value, limit], direction=equal)]

    return handle


def constant_like(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    given = operation.attributes.get("value")
    number = given.value if isinstance(given, Typed) else given
    if isinstance(number, bool) or not isinstance(number, (int, float, complex)):
        raise Fault("needs attribute value, a number")
    return [frame.filled(number, operands[0])]


def broadcasting(name: str) -> Handler:
    """A binary operation on operands that broadcast with one another, as NumPy does it."""
    inner = _INNER.get(name) or PLAIN[f"stablehlo.{name}"]

    def handle(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
        return inner(frame, operation, broadcast_together(frame, operation, operands))

    return handle


def broadcast_together(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """Operands spread to their common dimensions; ``broadcast_dimensions`` places the lower one."""
    rank = max(value.rank for value in operands)
    given = ints(operation, "broadcast_dimensions", ())
    places = []
    for value in operands:
        is_placed = bool(given) and len(given) == value.rank and value.rank < rank
        places.append(given if is_placed else tuple(range(rank - value.rank, rank)))
    extents = [1] * rank
    for value, dimensions in zip(operands, places, strict=True):
        for extent, dimension in zip(value.dimensions, dimensions, strict=True):
            if not 0 <= dimension < rank or UNBOUNDED in (extent, extents[dimension]):
                raise Fault(f"{value.shape} cannot be broadcast along {dimensions}")
            if extents[dimension] != extent and 1 not in (extents[dimension], extent):
                shapes = " and ".join(str(v.shape) for v in operands)
                raise Fault(f"{shapes} do not broadcast")
            extents[dimension] = extent if extents[dimension] == 1 else extents[dimension]
    return [
        value
        if value.dimensions == tuple(extents)
        else frame.broadcast(value, array(value.kind, extents), dimensions)
        for value, dimensions in zip(operands, places, strict=True)
    ]


def broadcast_select(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    if operands[0].rank == 0:
        chosen = broadcast_together(frame, operation, operands[1:])
        return [frame.emit(Opcode.SELECT, [operands[0], *chosen])]
    return [frame.emit(Opcode.SELECT, broadcast_together(frame, operation, operands))]


def ragged_dot(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    numbers = record(operation, "ragged_dot_dimension_numbers")
    return [
        frame.emit(
            Opcode.RAGGED_DOT,
            operands,
            frame.declared_array(),
            lhs_batch_dims=numbers.ints("lhs_batching_dimensions") or None,
            lhs_contracting_dims=numbers.ints("lhs_contracting_dimensions"),
            rhs_batch_dims=numbers.ints("rhs_batching_dimensions") or None,
            rhs_contracting_dims=numbers.ints("rhs_contracting_dimensions"),
            lhs_ragged_dims=numbers.ints("lhs_ragged_dimensions"),
            rhs_group_dims=numbers.ints("rhs_group_dimensions") or None,
        )
    ]


def minimum_shapes(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """Shapes that are known broadcast as they are."""
    known = [frame.known(value) for value in operands]
    if any(extents is None for extents in known):
        raise Fault("the shapes must be constants")
    return [frame.constant(np.asarray(extents)) for extents in known]


_INNER: dict[str, Handler] = dict.fromkeys(("next_after", "polygamma", "zeta"), special)
_BROADCASTING = (
    "add", "and", "atan2", "compare", "complex", "divide", "maximum", "minimum", "multiply",
    "next_after", "or", "polygamma", "power", "remainder", "shift_left", "shift_right_arithmetic",
    "shift_right_logical", "subtract", "xor", "zeta",
)  # fmt: skip

HANDLERS: dict[str, Handler] = {
    **{f"chlo.{name}": special for name in SPECIAL},
    **{f"chlo.broadcast_{name}": broadcasting(name) for name in _BROADCASTING},
    "chlo.broadcast_select": broadcast_select,
    "chlo.acos": plain(Opcode.ACOS),
    "chlo.acosh": plain(Opcode.ACOSH),
    "chlo.asin": plain(Opcode.ASIN),
    "chlo.asinh": plain(Opcode.ASINH),
    "chlo.atan": plain(Opcode.ATAN),
    "chlo.atanh": plain(Opcode.ATANH),
    "chlo.cosh": plain(Opcode.COSH),
    "chlo.erf": plain(Opcode.ERF),
    "chlo.mulhi": plain(Opcode.MULHI),
    "chlo.sinh": plain(Opcode.SINH),
    "chlo.tan": plain(Opcode.TAN),
    "chlo.square": square,
    "stablehlo.square": square,
    "chlo.conj": conjugate,
    "chlo.is_inf": _is_infinite(0),
    "chlo.is_pos_inf": _is_infinite(1),
    "chlo.is_neg_inf": _is_infinite(-1),
    "chlo.constant_like": constant_like,
    "chlo.ragged_dot": ragged_dot,
    "chlo.minimum_broadcast_shapes": minimum_shapes,
}
