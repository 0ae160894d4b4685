"""Custom calls through which JAX says dynamic operations that StableHLO has no form of its own for:
reduce_window, rng_bit_generator and top_k whose settings are values, and assertions about extents
(stablehlo/experimental of the StableHLO project, docs/experimental).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from compiler.frontend.stablehlo.lower.dynamic import numbers_of
from compiler.frontend.stablehlo.lower.elementwise import Handler
from compiler.frontend.stablehlo.lower.frame import Frame, Value
from compiler.frontend.stablehlo.lower.library import rng_bit_generator
from compiler.frontend.stablehlo.lower.reading import Fault, symbols, text
from compiler.frontend.stablehlo.lower.reductions import top_k, window_of
from compiler.frontend.stablehlo.operations import Operation
from compiler.frontend.stablehlo.types import TensorType
from compiler.hlo.attributes import Verbatim
from compiler.hlo.evaluate.checks import asserted
from compiler.hlo.infer.base import array
from compiler.hlo.opcodes import Opcode
from compiler.hlo.quoting import quoted
from compiler.hlo.shape import ArrayShape, TupleShape

ASSERTION = "shape_assertion"
_WINDOW = ("window_dimensions", "window_strides", "base_dilations", "window_dilations", "padding")


def dynamic_reduce_window(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """Arrays, initial values, then sizes, strides, both dilations and padding as vectors."""
    names = symbols(operation, "called_computations")
    count, odd = divmod(len(operands) - len(_WINDOW), 2)
    if len(names) != 1 or odd or count < 1:
        raise Fault("needs arrays, as many initial values, five settings and one function")
    known = [frame.known(value) for value in operands[2 * count :]]
    if any(setting is None for setting in known):
        return []
    settings = dict(zip(_WINDOW, map(_nested, known), strict=True))
    window = window_of(replace(operation, attributes=settings), operands[0].rank)
    made = frame.emit(
        Opcode.REDUCE_WINDOW,
        operands[: 2 * count],
        window=window,
        to_apply=frame.program.function(names[0]),
    )
    return frame.split(made, len(operation.result_types))


def _nested(values: Any) -> Any:
    return tuple(map(_nested, values)) if np.ndim(values) else int(values)


def dynamic_rng_bit_generator(
    frame: Frame, operation: Operation, operands: list[Value]
) -> list[Value]:
    """The state, then the extents of the bits."""
    extents = numbers_of(frame, operands[1])
    if extents is None:
        return []
    bits = array(frame.declared_array(1).element_type, extents)
    frame.declared = (TensorType(operands[0].array), TensorType(bits))
    return rng_bit_generator(frame, operation, operands[:1])


def dynamic_top_k(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """The values, then how many of them."""
    count = numbers_of(frame, operands[1])
    if count is None:
        return []
    counted = replace(operation, attributes={**operation.attributes, "k": count[0]})
    return top_k(frame, counted, operands[:1])


def shape_assertion(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """What the program asks of extents; asked while lowering where the answer is known."""
    message = text(operation, "error_message", "a shape assertion failed")
    holds = frame.known(operands[0])
    if holds is None:
        frame.emit(
            Opcode.CUSTOM_CALL,
            operands,
            TupleShape(()),
            custom_call_target=ASSERTION,
            custom_call_has_side_effect=True,
            backend_config=Verbatim(quoted(message)),
        )
    elif not holds.all():
        found = [numbers_of(frame, value) for value in operands[1:]]
        raise Fault(asserted(message, [numbers[0] if numbers else None for numbers in found]))
    return []


SPELLED: dict[str, Handler] = {
    "stablehlo.dynamic_reduce_window": dynamic_reduce_window,
    "stablehlo.dynamic_rng_bit_generator": dynamic_rng_bit_generator,
    "stablehlo.dynamic_top_k": dynamic_top_k,
}
"""Custom call targets that become operations where their settings are known; no values where they
are not."""


def refined(frame: Frame, operation: Operation, operands: list[Value]) -> None:
    """Declares the result extents that ``indices_of_shape_operands`` points at, where known."""
    given = operation.attributes.get("indices_of_shape_operands")
    places = getattr(given, "array", np.zeros(0, np.int64)).reshape(-1)
    if len(places) != len(frame.declared):
        return
    kinds = list(frame.declared)
    for result, place in enumerate(places):
        kind = kinds[result]
        extents = numbers_of(frame, operands[int(place)])
        if extents is not None and isinstance(kind, TensorType):
            kinds[result] = TensorType(_resized(kind.shape, extents), kind.quantized)
    frame.declared = tuple(kinds)


def _resized(shape: ArrayShape, extents: tuple[int, ...]) -> ArrayShape:
    return array(shape.element_type, extents)
