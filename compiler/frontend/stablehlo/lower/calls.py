"""Custom calls, and the checks that test programs make of their own results.

A check becomes a custom call named ``check.expect_...`` whose backend configuration holds its
tolerances; the evaluator records how it went (`compiler.hlo.evaluate.checks`).
"""

from __future__ import annotations

from typing import Any

from compiler.frontend.stablehlo.lower.elementwise import Handler, identity
from compiler.frontend.stablehlo.lower.frame import Frame, Value
from compiler.frontend.stablehlo.lower.reading import Fault, flag, integer, symbols, text
from compiler.frontend.stablehlo.lower.reductions import top_k
from compiler.frontend.stablehlo.operations import Operation
from compiler.frontend.stablehlo.values import Dense, Dictionary, Typed
from compiler.hlo.attributes import Verbatim
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import TupleShape

_SETTINGS = ("tolerance", "max_ulp_difference", "min_ulp_difference")
_API_VERSIONS = {
    2: "API_VERSION_STATUS_RETURNING",
    3: "API_VERSION_STATUS_RETURNING_UNIFIED",
    4: "API_VERSION_TYPED_FFI",
}
"""xla/service/hlo.proto, CustomCallApiVersion; 1 is the default and not written."""


def custom_call(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    target = text(operation, "call_target_name")
    if target.startswith("check."):
        return _check(frame, operation, operands, _check_name(target.removeprefix("check.")))
    details = operation.attributes.get("mhlo.attributes")
    if target in ("mhlo.topk", "chlo.top_k") and isinstance(details, Dictionary):
        operation.attributes.update(details)
        return top_k(frame, operation, operands)
    called = tuple(map(frame.program.function, symbols(operation, "called_computations")))
    version = integer(operation, "api_version", 1)
    made = frame.emit(
        Opcode.CUSTOM_CALL,
        operands,
        _declared(frame, operation),
        custom_call_target=target,
        custom_call_has_side_effect=flag(operation, "has_side_effect") or None,
        called_computations=called or None,
        api_version=Verbatim(_API_VERSIONS[version]) if version in _API_VERSIONS else None,
        backend_config=_configuration(operation),
    )
    count = len(operation.result_types)
    if not isinstance(made.shape, TupleShape):
        return [made]
    return frame.split(made, count) if count != 1 else [made]


def _declared(frame: Frame, operation: Operation) -> Any:
    shapes = tuple(frame.declared_shape(i) for i in range(len(operation.result_types)))
    return shapes[0] if len(shapes) == 1 else TupleShape(shapes)


def _configuration(operation: Operation) -> Verbatim | None:
    """``backend_config``: a quoted string, or a dictionary in its own spelling."""
    found = operation.attributes.get("mhlo.backend_config")
    if found is None:
        found = operation.attributes.get("backend_config")
    if isinstance(found, Dictionary):
        return Verbatim(found.text) if found else None
    if isinstance(found, str) and found:
        escaped = found.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return Verbatim(f'"{escaped}"')
    return None


def check(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """An operation of the check dialect; a constant to compare with becomes an operand."""
    name = _check_name(operation.mnemonic)
    value = operation.attributes.get("value")
    if isinstance(value, Dense):
        operands = [*operands, frame.constant(value.array)]
    return _check(frame, operation, operands, name)


def _check_name(mnemonic: str) -> str:
    """``eq`` and ``expect_eq_const`` are ``expect_eq``."""
    name = mnemonic.removesuffix("_const")
    return name if name.startswith("expect_") else f"expect_{name}"


_CHECKS = ("expect_eq", "expect_almost_eq", "expect_close", "expect_serialized_eq")


def _check(frame: Frame, operation: Operation, operands: list[Value], name: str) -> list[Value]:
    if name not in _CHECKS:
        raise Fault(f"there is no check '{name}' ({', '.join(_CHECKS)})")
    if len(operands) != 2:
        raise Fault(f"compares two values, {len(operands)} are given")
    if operands[0].dimensions != operands[1].dimensions or operands[0].kind != operands[1].kind:
        raise Fault(f"compares equal shapes, not {operands[0].shape} and {operands[1].shape}")
    settings = {key: _plain(operation.attributes.get(key)) for key in _SETTINGS}
    given = [f'\\"{key}\\":{value!r}' for key, value in settings.items() if value is not None]
    made = frame.emit(
        Opcode.CUSTOM_CALL,
        operands,
        _declared(frame, operation),
        custom_call_target=f"check.{name}",
        custom_call_has_side_effect=True,
        backend_config=Verbatim('"{' + ",".join(given) + '}"') if given else None,
    )
    return [made] if operation.result_types else []


def _plain(value: object) -> object:
    return value.value if isinstance(value, Typed) else value


HANDLERS: dict[str, Handler] = {
    "stablehlo.custom_call": custom_call,
    "check.eq": check,
    "check.almost_eq": check,
    "check.expect_eq": check,
    "check.expect_eq_const": check,
    "check.expect_almost_eq": check,
    "check.expect_almost_eq_const": check,
    "check.expect_close": check,
    "interpreter.print": identity,
    "interpreter.probe": identity,
}
