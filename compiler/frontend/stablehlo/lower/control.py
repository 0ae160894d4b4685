"""Calls, loops and branches.

Values that a region takes from outside become further elements of a loop's state, or of a branch's
operand; constants are repeated inside instead.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.frontend.stablehlo.lower.elementwise import Handler
from compiler.frontend.stablehlo.lower.frame import Frame, Value
from compiler.frontend.stablehlo.lower.reading import Fault, integer, symbols, text
from compiler.frontend.stablehlo.lower.structured import only_region
from compiler.frontend.stablehlo.operations import Block, Operation, Use
from compiler.hlo.attributes import Verbatim
from compiler.hlo.opcodes import Opcode
from compiler.hlo.quoting import quoted
from compiler.hlo.shape import ElementType


def call(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """A call of a function; one with dynamic types is lowered in place."""
    return call_function(frame, operation, operands, text(operation, "callee"))


def call_function(
    frame: Frame, operation: Operation, operands: list[Value], name: str, **attributes: object
) -> list[Value]:
    function = frame.program.called(name)
    if frame.program.is_dynamic(function):
        line, metadata = frame.line, frame.metadata
        results = frame.program.inline(name, frame, operands)
        frame.line, frame.metadata = line, metadata
        return results
    computation = frame.program.function(name)
    made = frame.emit(Opcode.CALL, operands, to_apply=computation, **attributes)
    return frame.split(made, len(operation.result_types))


def composite(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """A call of the decomposition that remembers what it stands for, as XLA prints it."""
    names = symbols(operation, "decomposition")
    if len(names) != 1:
        raise Fault("needs attribute decomposition, the name of a function")
    details = operation.attributes.get("composite_attributes", {})
    shown = getattr(details, "text", "") or "{}"
    entries = (
        f"composite.attributes={_on_one_line(shown)},"
        f"composite.name={_on_one_line(text(operation, 'name'))},"
        f'composite.version="{integer(operation, "version", 0)}"'
    )
    return call_function(
        frame,
        operation,
        operands,
        names[0],
        is_composite=True,
        frontend_attributes=Verbatim(f"{{{entries}}}"),
    )


def _on_one_line(shown: str) -> str:
    return quoted(" ".join(shown.split()))


def while_(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    if len(operation.regions) != 2:
        raise Fault(f"needs a condition and a body, has {len(operation.regions)} regions")
    condition, body = operation.regions
    for block in (condition, body):
        if len(block.arguments) != len(operands):
            message = f"a region takes {len(block.arguments)} values, the loop carries"
            raise Fault(f"{message} {len(operands)}")
    varying, constants = frame.captured([condition, body])
    carried = [*operands, *(frame.value(use) for use in varying)]
    test, _ = _loop_part(frame, condition, "condition", carried, varying, constants)
    step, _ = _loop_part(frame, body, "body", carried, varying, constants)
    made = frame.emit(Opcode.WHILE, [frame.bundle(carried)], condition=test, body=step)
    results = [frame.element(made, i) for i in range(len(operands))]
    return [replace(r, quantized=v.quantized) for r, v in zip(results, operands, strict=True)]


def _loop_part(
    frame: Frame,
    block: Block,
    hint: str,
    carried: list[Value],
    varying: list[Use],
    constants: list[Use],
) -> tuple[str, list[Value]]:
    """A loop's condition or body as a computation of the whole state."""
    inner = frame.program.frame(hint, frame.line)
    received = inner.receive_tuple(carried)
    inner.adopt(frame, block, received, varying, constants)
    results = frame.program.block(block, inner)
    if hint == "condition":
        if len(results) != 1:
            raise Fault(f"the condition returns {len(results)} values, one is needed")
        return inner.finish(results), results
    if len(results) != len(block.arguments):
        raise Fault(f"the body returns {len(results)} values, not {len(block.arguments)}")
    return inner.finish([*results, *received[len(block.arguments) :]], packs=True), results


def case(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """An index out of range takes the last branch."""
    if not operation.regions:
        raise Fault("needs at least one branch")
    return _branches(frame, operation, frame.convert(operands[0], ElementType.S32))


def if_(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    if len(operation.regions) != 2:
        raise Fault(f"needs two branches, has {len(operation.regions)}")
    return _branches(frame, operation, operands[0])


def _branches(frame: Frame, operation: Operation, selector: Value) -> list[Value]:
    count = len(operation.result_types)
    parts = [
        frame.branch(block, f"branch_{i}", (), packs=count != 1)
        for i, block in enumerate(operation.regions)
    ]
    names = tuple(name for name, _ in parts)
    passed = [frame.packed(values) for _, values in parts]
    is_choice = selector.kind is ElementType.PRED
    attributes = (
        {"true_computation": names[0], "false_computation": names[1]}
        if is_choice
        else {"branch_computations": names}
    )
    made = frame.emit(Opcode.CONDITIONAL, [selector, *passed], **attributes)
    return frame.split(made, count)


def async_start(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """The region itself, in place: on one device nothing runs meanwhile. Its results are a tuple
    until ``async_done`` takes them apart.
    """
    block = only_region(operation)
    if len(block.arguments) != len(operands):
        raise Fault(f"takes {len(operands)} values, its region {len(block.arguments)}")
    outside, frame.values = frame.values, dict(frame.values)
    for (name, _), value in zip(block.arguments, operands, strict=True):
        frame.values.pop((name, 0), None)
        frame.bind(name, [value], operation.at)
    results = frame.program.block(block, frame)
    frame.values = outside
    return [frame.bundle(results)]


def async_done(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    return [frame.element(operands[0], i) for i in range(len(operation.result_types))]


HANDLERS: dict[str, Handler] = {
    "stablehlo.async_start": async_start,
    "stablehlo.async_done": async_done,
    "func.call": call,
    "stablehlo.composite": composite,
    "stablehlo.while": while_,
    "stablehlo.case": case,
    "stablehlo.if": if_,
}
