"""Constants, tuples, calls, loops, branches, asynchronous pairs, and collectives on one replica.

A single participant receives what it sends: all-reduce, all-gather and the like yield their
operand. Infeed and recv, which have no counterpart, yield zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from compiler.hlo.errors import HloEvaluationError, HloUnsupportedError
from compiler.hlo.evaluate.arguments import flatten
from compiler.hlo.literal import Literal
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ArrayShape, Shape, TupleShape, leaves

if TYPE_CHECKING:
    from compiler.hlo.evaluate.run import Evaluator

Handler: TypeAlias = Callable[["Evaluator", Instruction, list[Any]], Any]


def constant(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    if instruction.literal is None:
        raise HloEvaluationError("the constant has no value")
    return _literal_value(instruction.literal)


def _literal_value(literal: Literal) -> Any:
    if literal.is_elided:
        message = "the constant's digits were left out ({...}) when the text was printed"
        raise HloEvaluationError(message, hint="print the module with its large constants")
    if literal.array is not None:
        return literal.array
    return tuple(map(_literal_value, literal.elements))


def nothing(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    return None


def first(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    return operands[0]


def tuple_(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    return tuple(operands)


def get_tuple_element(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    return operands[0][instruction.tuple_index]


def call(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    return machine.run(instruction.callees[0], operands)


def lifted_call(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    results = machine.apply(instruction.callees[0], operands)
    return results if isinstance(instruction.shape, TupleShape) else results[0]


_FIRST_WATCHED = 1024
_WATCHED = 64


def while_(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    """Runs the body while the condition holds. Raises HloEvaluationError when the state repeats,
    which is looked for in the `_WATCHED` steps after each power of two from `_FIRST_WATCHED` on.
    """
    condition, body = instruction.attributes["condition"], instruction.attributes["body"]
    state, steps, kept, kept_at = operands[0], 0, None, 0
    while bool(machine.run(condition, [state])):
        steps += 1
        if steps >= _FIRST_WATCHED and steps & (steps - 1) == 0:
            kept, kept_at = _bits(machine, state), steps
        elif kept and steps - kept_at <= _WATCHED and kept == _bits(machine, state):
            raise HloEvaluationError(f"never ends: its state repeats after {steps} steps")
        state = machine.run(body, [state])
    return state


def _bits(machine: Evaluator, state: Any) -> list[Any]:
    return [machine.random_state, *(np.asarray(array).tobytes() for array in flatten(state))]


def conditional(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    """An index out of range takes the last branch; a true selector the first of two."""
    get = instruction.attributes.get
    names = get("branch_computations") or (get("true_computation"), get("false_computation"))
    selector = np.asarray(operands[0])
    if selector.dtype == np.bool_:
        chosen = 0 if bool(selector) else 1
    else:
        chosen = int(selector) if 0 <= int(selector) < len(names) else len(names) - 1
    return machine.run(names[chosen], [operands[1 + chosen]])


def zeros(shape: Shape) -> Any:
    """A value of this shape made of zeros."""
    if isinstance(shape, TupleShape):
        return tuple(map(zeros, shape.elements))
    if isinstance(shape, ArrayShape):
        return np.zeros(shape.dimensions, np.uint8).astype(shape.element_type.dtype)
    return None


def zero(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    return zeros(instruction.shape)


def participate(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    """A collective among one participant."""
    results = leaves(instruction.shape)
    for value, shape in zip(operands, results, strict=True):
        if isinstance(shape, ArrayShape) and np.shape(value) != shape.dimensions:
            message = f"{instruction.opcode} among several replicas"
            raise HloUnsupportedError(f"{message}: operand {list(np.shape(value))}, result {shape}")
    return tuple(operands) if isinstance(instruction.shape, TupleShape) else operands[0]


def permute(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    """Replica 0 keeps its value when it sends to itself, else receives zeros."""
    if (0, 0) in instruction.attributes.get("source_target_pairs", ()):
        return operands[0]
    return zeros(instruction.shape)


def ragged_exchange(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    """One participant sends its rows to itself: slices of the first operand land in the second."""
    rows, result, starts, counts, targets, _ = operands
    result = np.array(result)
    for start, count, target in zip(
        *(np.asarray(a).reshape(-1) for a in (starts, counts, targets)), strict=True
    ):
        result[int(target) : int(target) + int(count)] = rows[int(start) : int(start) + int(count)]
    return result


def collective_start(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    """(operands, results, bookkeeping) as the instruction's tuple asks; a plain shape is the
    result.
    """
    given = operands[0] if len(operands) == 1 else tuple(operands)
    shape = instruction.shape
    is_reduce = instruction.opcode is Opcode.ALL_REDUCE_START
    if not isinstance(shape, TupleShape) or is_reduce:
        return given
    permutes = instruction.opcode is Opcode.COLLECTIVE_PERMUTE_START
    pairs = instruction.attributes.get("source_target_pairs", ())
    received = zeros(shape.elements[1]) if permutes and (0, 0) not in pairs else given
    return (given, received, *map(zeros, shape.elements[2:]))


def collective_done(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    value = operands[0]
    if isinstance(value, tuple) and instruction.opcode is not Opcode.ALL_REDUCE_DONE:
        return value[1]
    return value


def copy_start(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    shape = instruction.shape
    more = shape.elements[2:] if isinstance(shape, TupleShape) else ()
    return (operands[0], operands[0], *map(zeros, more))


def element_zero(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    return operands[0][0]


def send(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    return (operands[0], np.zeros((), np.uint32), None)


def recv_done(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    return (operands[0][0], None)


def async_start(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    """The whole operation runs here; update and done hand its result on."""
    shape = instruction.shape
    if not isinstance(shape, TupleShape) or len(shape.elements) < 2:
        raise HloEvaluationError(f"async-start must yield (operands, result, ...), not {shape}")
    if instruction.callees and "wrapped_opcode" not in instruction.attributes:
        result = machine.run(instruction.callees[0], operands)
    elif "calls" in instruction.attributes:
        result = machine.run(instruction.attributes["calls"], operands)
    else:
        result = _wrapped(machine, instruction, operands, shape.elements[1])
    return (tuple(operands), result, *map(zeros, shape.elements[2:]))


def _wrapped(
    machine: Evaluator, instruction: Instruction, operands: list[Any], shape: Shape
) -> Any:
    from compiler.hlo.evaluate.table import HANDLERS

    opcode = instruction.attributes.get("wrapped_opcode")
    handler = HANDLERS.get(opcode) if isinstance(opcode, Opcode) else None
    if handler is None or not isinstance(opcode, Opcode):
        raise HloUnsupportedError("an asynchronous operation that names no computation")
    attributes = instruction.attributes.without("wrapped_opcode")
    inner = Instruction(instruction.name, opcode, shape, instruction.operands, attributes)
    return handler(machine, inner, operands)


def async_done(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    return operands[0][1]


def scan(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    """Runs a computation along one dimension: (elements, carries) to (outputs, carries)."""
    get = instruction.attributes.get
    carries_count = int(get("num_carries", 1))
    inputs, carries = operands[: len(operands) - carries_count], operands[-carries_count:]
    axis = instruction.dimensions[0]
    outputs: list[Any] = []
    steps = range(inputs[0].shape[axis])
    for i in reversed(steps) if get("is_reverse", False) else steps:
        slices = [np.take(array, i, axis=axis) for array in inputs]
        results = machine.run(instruction.attributes["to_apply"], [*slices, *carries])
        split = len(results) - carries_count
        outputs.append(results[:split])
        carries = list(results[split:])
    if get("is_reverse", False):
        outputs.reverse()
    columns = zip(*outputs, strict=True) if outputs else ()
    stacked = [np.stack(column, axis=axis) for column in columns]
    return (*stacked, *carries)


HANDLERS: dict[Opcode, Handler] = {
    Opcode.ADD_DEPENDENCY: first,
    Opcode.AFTER_ALL: nothing,
    Opcode.DOMAIN: first,
    Opcode.CALL: call,
    Opcode.FUSION: call,
    Opcode.WHILE: while_,
    Opcode.CONDITIONAL: conditional,
    Opcode.SCAN: scan,
    Opcode.ALL_REDUCE: participate,
    Opcode.ALL_GATHER: participate,
    Opcode.ALL_TO_ALL: participate,
    Opcode.REDUCE_SCATTER: participate,
    Opcode.COLLECTIVE_BROADCAST: participate,
    Opcode.COLLECTIVE_REDUCE: participate,
    Opcode.RAGGED_ALL_TO_ALL: ragged_exchange,
    Opcode.COLLECTIVE_PERMUTE: permute,
    Opcode.ALL_REDUCE_START: collective_start,
    Opcode.ALL_GATHER_START: collective_start,
    Opcode.COLLECTIVE_PERMUTE_START: collective_start,
    Opcode.ALL_REDUCE_DONE: collective_done,
    Opcode.ALL_GATHER_DONE: collective_done,
    Opcode.COLLECTIVE_PERMUTE_DONE: collective_done,
    Opcode.COPY_START: copy_start,
    Opcode.COPY_DONE: element_zero,
    Opcode.REPLICA_ID: zero,
    Opcode.PARTITION_ID: zero,
    Opcode.INFEED: zero,
    Opcode.OUTFEED: nothing,
    Opcode.SEND: send,
    Opcode.SEND_DONE: nothing,
    Opcode.RECV: zero,
    Opcode.RECV_DONE: recv_done,
    Opcode.ASYNC_START: async_start,
    Opcode.ASYNC_UPDATE: first,
    Opcode.ASYNC_DONE: async_done,
}
