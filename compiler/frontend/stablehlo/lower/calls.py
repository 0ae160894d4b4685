"""Custom calls, and what the StableHLO project's interpreter adds: printing, and programs that it
runs side by side.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.frontend.stablehlo.lower.checks import called_check, declared_results, is_check
from compiler.frontend.stablehlo.lower.elementwise import Handler
from compiler.frontend.stablehlo.lower.extents import (
    ASSERTION,
    SPELLED,
    refined,
    shape_assertion,
)
from compiler.frontend.stablehlo.lower.frame import Frame, Value
from compiler.frontend.stablehlo.lower.reading import Refusal, flag, integer, symbols, text
from compiler.frontend.stablehlo.lower.reductions import top_k
from compiler.frontend.stablehlo.operations import Operation
from compiler.frontend.stablehlo.values import Dictionary, names_in
from compiler.hlo.attributes import Verbatim
from compiler.hlo.opcodes import Opcode
from compiler.hlo.quoting import quoted
from compiler.hlo.shape import TupleShape

_API_VERSIONS = {
    2: "API_VERSION_STATUS_RETURNING",
    3: "API_VERSION_STATUS_RETURNING_UNIFIED",
    4: "API_VERSION_TYPED_FFI",
}
"""xla/service/hlo.proto, CustomCallApiVersion; 1 is the default and not written."""


def custom_call(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    target = text(operation, "call_target_name")
    if is_check(target):
        return called_check(frame, operation, operands)
    details = operation.attributes.get("mhlo.attributes")
    if target in ("mhlo.topk", "chlo.top_k") and isinstance(details, Dictionary):
        counted = replace(operation, attributes={**operation.attributes, **details})
        return top_k(frame, counted, operands)
    if target == ASSERTION:
        return shape_assertion(frame, operation, operands)
    known = SPELLED[target](frame, operation, operands) if target in SPELLED else []
    if known:
        return known
    refined(frame, operation, operands)
    called = tuple(map(frame.program.function, symbols(operation, "called_computations")))
    version = integer(operation, "api_version", 1)
    made = frame.emit(
        Opcode.CUSTOM_CALL,
        operands,
        declared_results(frame, operation),
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


def _configuration(operation: Operation) -> Verbatim | None:
    """``backend_config``: a quoted string, or a dictionary in its own spelling."""
    found = operation.attributes.get("mhlo.backend_config")
    if found is None:
        found = operation.attributes.get("backend_config")
    if isinstance(found, Dictionary):
        return Verbatim(found.text) if found else None
    if isinstance(found, str) and found:
        return Verbatim(quoted(found))
    return None


def print_(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """The interpreter shows the value; here the text only says so."""
    return operands[: len(operation.result_types)]


def run_parallel(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """One program, lowered in place; its infeeds take what the functions of ``infeed`` yield."""
    names = names_in(operation.attributes.get("programs"))
    if len(names) != 1:
        raise Refusal(f"a run of {len(names)} programs, one on each of {len(names)} devices,")
    program = frame.program
    for source in names_in(operation.attributes.get("infeed")):
        program.infeed.append((frame, program.inline(source, frame, [])))
    return program.inline(names[0], frame, operands)


HANDLERS: dict[str, Handler] = {
    "stablehlo.custom_call": custom_call,
    "interpreter.print": print_,
    "interpreter.run_parallel": run_parallel,
}
