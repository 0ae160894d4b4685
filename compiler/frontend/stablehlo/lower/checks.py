"""The checks that test programs make of their own results, and the probes they check.

A check becomes a custom call named ``check.expect_...`` whose backend configuration holds its
tolerances; the evaluator records how it went (`compiler.hlo.evaluate.checks`). The names and the
tolerances that hold when none is written are those of the StableHLO project's check dialect and of
its interpreter (stablehlo/tests/CheckOps.td, stablehlo/tools/StablehloTranslateMain.cpp).
"""

from __future__ import annotations

import json
from typing import Any

from compiler.frontend.stablehlo.lower.elementwise import Handler
from compiler.frontend.stablehlo.lower.frame import Frame, Value
from compiler.frontend.stablehlo.lower.reading import Fault, text
from compiler.frontend.stablehlo.operations import Operation
from compiler.frontend.stablehlo.values import Dense, Typed
from compiler.hlo.attributes import Verbatim
from compiler.hlo.evaluate.checks import BOUNDED, PREFIX, PROBE
from compiler.hlo.opcodes import Opcode
from compiler.hlo.quoting import quoted
from compiler.hlo.shape import Shape, TokenShape, TupleShape

Settings = dict[str, Any]

_ALMOST: Settings = {"tolerance": 1e-4}
_DIALECT: dict[str, tuple[str, Settings]] = {
    "check.eq": ("expect_eq", {}),
    "check.almost_eq": ("expect_almost_eq", _ALMOST),
    "check.expect_eq": ("expect_eq", {}),
    "check.expect_eq_const": ("expect_eq", {}),
    "check.expect_almost_eq": ("expect_almost_eq", _ALMOST),
    "check.expect_almost_eq_const": ("expect_almost_eq", _ALMOST),
    "check.expect_close": ("expect_close", {"max_ulp_difference": 1}),
    "check.expect_is_close": (BOUNDED, {}),
    "check.expect_serialized_eq": ("expect_serialized_eq", {}),
}
"""Operations of the check dialect: the check, and what holds when its attributes are left out."""

_CALLS: dict[str, tuple[str, Settings]] = {
    **_DIALECT,
    "check.expect_almost_eq": ("expect_almost_eq", {"tolerance": 1e-3}),
    "check.expect_close": ("expect_close", {"max_ulp_difference": 3}),
}
"""Custom calls, which the interpreter takes for checks with looser tolerances of their own."""

_SETTINGS = ("tolerance", "max_ulp_difference", "min_ulp_difference", "probe_id", "iteration")


def is_check(target: str) -> bool:
    """True of a custom call that checks something."""
    return target.startswith(PREFIX)


def called_check(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """A check that is written as a custom call.

    ``check.eq`` compares integers exactly and other numbers nearly, and yields how it went.
    """
    target = text(operation, "call_target_name")
    if target not in _CALLS:
        shown = ", ".join(name.removeprefix(PREFIX) for name in _CALLS)
        raise Fault(f"there is no check '{target.removeprefix(PREFIX)}' ({shown})")
    name, defaults = _CALLS[target]
    if target == "check.eq" and operands and not _is_exact(operands[0]):
        name, defaults = "expect_almost_eq", _ALMOST
    return _check(frame, operation, operands, name, defaults)


def _is_exact(value: Value) -> bool:
    return not (value.kind.is_float or value.kind.is_complex)


def check(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """An operation of the check dialect; a constant to compare with becomes an operand."""
    name, defaults = _DIALECT[operation.name]
    value = operation.attributes.get("value")
    if isinstance(value, Dense):
        operands = [*operands, frame.constant(value.array)]
    return _check(frame, operation, operands, name, defaults)


def _check(
    frame: Frame, operation: Operation, operands: list[Value], name: str, defaults: Settings
) -> list[Value]:
    _check_operands(name, operands)
    made = frame.emit(
        Opcode.CUSTOM_CALL,
        operands,
        declared_results(frame, operation),
        custom_call_target=f"{PREFIX}{name}",
        custom_call_has_side_effect=True,
        backend_config=_configuration({**defaults, **_given(operation)}),
    )
    return [made] if operation.result_types else []


def _check_operands(name: str, operands: list[Value]) -> None:
    count = 1 if name == "expect_serialized_eq" else 2
    bounds = operands[2:4] if name == BOUNDED else []
    if name == BOUNDED and not bounds:
        raise Fault(f"takes two values and how far apart they may be, {len(operands)} are given")
    if len(operands) != count + len(bounds):
        wanted = "two values" if count == 2 else "one value"
        raise Fault(f"compares {wanted}, {len(operands)} are given")
    if count == 1 or all(isinstance(value.shape, TokenShape) for value in operands):
        return
    one, other = operands[:2]
    if one.dimensions != other.dimensions or one.kind != other.kind:
        raise Fault(f"compares equal shapes, not {one.shape} and {other.shape}")
    if bounds and (bounds[0].dimensions != one.dimensions or not bounds[0].kind.is_float):
        raise Fault(f"takes a floating-point bound for each element, not {bounds[0].shape}")


def declared_results(frame: Frame, operation: Operation) -> Shape:
    """The shape that an operation's result types make: one alone, any other number as a tuple."""
    shapes = tuple(frame.declared_shape(i) for i in range(len(operation.result_types)))
    return shapes[0] if len(shapes) == 1 else TupleShape(shapes)


def _given(operation: Operation) -> Settings:
    """The settings that the text writes; ``iter`` is how the pretty form spells iteration."""
    found = {**operation.attributes, "iteration": operation.attributes.get("iteration")}
    if found["iteration"] is None:
        found["iteration"] = found.get("iter")
    plain = {key: _plain(found.get(key)) for key in _SETTINGS}
    return {key: value for key, value in plain.items() if value is not None}


def _plain(value: object) -> object:
    return value.value if isinstance(value, Typed) else value


def _configuration(settings: Settings) -> Verbatim | None:
    """The settings as JSON inside a string."""
    if not settings:
        return None
    return Verbatim(quoted(json.dumps(settings, separators=(",", ":"))))


def probe(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """The value itself, which is kept under its name for ``check.expect_serialized_eq``."""
    name = text(operation, "probe_id")
    return [
        frame.emit(
            Opcode.CUSTOM_CALL,
            operands,
            operands[0].shape,
            custom_call_target=PROBE,
            custom_call_has_side_effect=True,
            backend_config=_configuration({"probe_id": name}),
        )
    ]


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(_DIALECT, check),
    "interpreter.probe": probe,
}
