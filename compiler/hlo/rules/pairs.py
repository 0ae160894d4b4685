"""Asynchronous operations in two or three instructions: a start, updates, and one done.

The start's value has one user, the next instruction of its chain; async-start's tuple is
((operands), result, state...). Rules as in openxla/xla, xla/service/hlo_verifier.cc.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from compiler.hlo.infer.base import check
from compiler.hlo.module import Computation, Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import Shape, TupleShape, compatible

_AFTER: dict[Opcode, tuple[Opcode, ...]] = {
    Opcode.ASYNC_START: (Opcode.ASYNC_UPDATE, Opcode.ASYNC_DONE),
    Opcode.ASYNC_UPDATE: (Opcode.ASYNC_UPDATE, Opcode.ASYNC_DONE),
    Opcode.ALL_GATHER_START: (Opcode.ALL_GATHER_DONE,),
    Opcode.ALL_REDUCE_START: (Opcode.ALL_REDUCE_DONE,),
    Opcode.COLLECTIVE_PERMUTE_START: (Opcode.COLLECTIVE_PERMUTE_DONE,),
    Opcode.COPY_START: (Opcode.COPY_DONE,),
}
"""Which operations may take the value of a start or an update."""

_BEFORE: dict[Opcode, tuple[Opcode, ...]] = {
    done: tuple(start for start, dones in _AFTER.items() if done in dones)
    for dones in _AFTER.values()
    for done in dones
}


def check_pair(computation: Computation, instruction: Instruction) -> None:
    """Who may use a start, and what a done may finish. Raises InferenceError."""
    opcode = instruction.opcode
    before = _BEFORE.get(opcode)
    if before is not None:
        operand = computation.instruction(instruction.operands[0])
        names = " or ".join(map(str, before))
        check(operand.opcode in before, f"its operand must be {names}, it is {operand.opcode}")
    after = _AFTER.get(opcode)
    if after is None:
        return
    users = computation.users(instruction.name)
    check(len(users) == 1, f"needs exactly one user, has {len(users)}")
    user = computation.instruction(users[0])
    names = " or ".join(map(str, after))
    check(user.opcode in after, f"its user must be {names}, it is {user.opcode}")


def check_async(
    computation: Computation, instruction: Instruction, computations: Mapping[str, Computation]
) -> Instruction | None:
    """The shapes of an asynchronous chain; gives the operation that a short form wraps.

    Raises InferenceError.
    """
    operands = computation.operands(instruction)
    if instruction.opcode is Opcode.ASYNC_START:
        return _check_start(instruction, tuple(o.shape for o in operands), computations)
    if instruction.opcode in (Opcode.ASYNC_UPDATE, Opcode.ASYNC_DONE):
        _check_next(computation, instruction, operands[0])
    return None


def _check_start(
    instruction: Instruction, shapes: tuple[Shape, ...], computations: Mapping[str, Computation]
) -> Instruction | None:
    shape = instruction.shape
    if not isinstance(shape, TupleShape) or len(shape.elements) < 2:
        check(False, f"the result must be ((operands), result, state...), it is {shape}")
        return None
    given, result = shape.elements[0], shape.elements[1]
    rule = f"the result must begin with the operands {TupleShape(shapes)}, it begins with {given}"
    check(compatible(given, TupleShape(shapes)), rule)
    wrapped = instruction.attributes.get("wrapped_opcode")
    if isinstance(wrapped, Opcode):
        attributes = instruction.attributes.without(
            "wrapped_opcode", "async_execution_thread", "output_to_operand_aliasing"
        )
        return replace(instruction, opcode=wrapped, shape=result, attributes=attributes)
    name = instruction.attributes.get("calls")
    check(name is not None, "attribute calls is missing")
    callee = computations[name]
    taken = TupleShape(tuple(p.shape for p in callee.parameters))
    check(compatible(taken, given), f"computation {name} takes {taken}, {given} is given")
    rule = f"computation {name} yields {callee.shape}, the result is said to be {result}"
    check(compatible(callee.shape, result), rule)
    return None


def _check_next(computation: Computation, instruction: Instruction, operand: Instruction) -> None:
    before = operand.shape
    if instruction.opcode is Opcode.ASYNC_UPDATE:
        expected: Shape = before
    else:
        is_chain = isinstance(before, TupleShape) and len(before.elements) > 1
        check(is_chain, f"the operand must be ((operands), result, state...), it is {before}")
        expected = before.elements[1] if isinstance(before, TupleShape) else before
    rule = f"the result must be {expected}, it is {instruction.shape}"
    check(compatible(expected, instruction.shape), rule)
    start = _start_of(computation, operand)
    for key, default in (
        ("calls", None),
        ("wrapped_opcode", None),
        ("async_execution_thread", "main"),
    ):
        value = instruction.attributes.get(key)
        expected_value = start.attributes.get(key, default)
        rule = f"{key} must be {expected_value} as in {start.name}, it is {value}"
        check(value is None or value == expected_value, rule)


def _start_of(computation: Computation, instruction: Instruction) -> Instruction:
    while instruction.opcode is Opcode.ASYNC_UPDATE:
        instruction = computation.instruction(instruction.operands[0])
    return instruction
