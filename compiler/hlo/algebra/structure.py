"""Rules for tuples and reductions."""

from __future__ import annotations

import numpy as np

from compiler.hlo.algebra.arithmetic import is_neutral_extreme
from compiler.hlo.algebra.scope import Rule, Scope, all_ones, is_value, splat_value
from compiler.hlo.module import Computation, Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ElementType, TupleShape


def tuple_element(scope: Scope, instruction: Instruction) -> str | None:
    """An element of a tuple made here."""
    operand = scope.operand(instruction)
    return operand.operands[instruction.tuple_index] if operand.opcode is Opcode.TUPLE else None


def tuple_again(scope: Scope, instruction: Instruction) -> str | None:
    """A tuple of all elements of a tuple, in order."""
    parts = scope.operands(instruction)
    if not parts or any(p.opcode is not Opcode.GET_TUPLE_ELEMENT for p in parts):
        return None
    sources = {p.operands[0] for p in parts}
    if len(sources) > 1 or [p.tuple_index for p in parts] != list(range(len(parts))):
        return None
    source = scope.get(sources.pop())
    whole = isinstance(source.shape, TupleShape) and len(source.shape.elements) == len(parts)
    return source.name if whole else None


def reduce(scope: Scope, instruction: Instruction) -> str | None:
    """A reduce over dimensions of extent 1 only, from a neutral start value, is a reshape."""
    if not instruction.is_array or len(instruction.operands) != 2:
        return None
    array, start = scope.operands(instruction)
    if any(array.array.dimensions[d] != 1 for d in instruction.dimensions):
        return None
    value = splat_value(scope, start)
    if value is None or array.array.element_type is not instruction.array.element_type:
        return None
    reducer = scope.computation(instruction.attributes["to_apply"])
    if not _is_neutral(reducer, array.array.element_type, value):
        return None
    return scope.turn(Opcode.RESHAPE, (array.name,))


def _is_neutral(reducer: Computation, kind: ElementType, value: np.generic) -> bool:
    """True when the reducer is one operation whose result with ``value`` is its other operand."""
    root = reducer.root_instruction
    parameters = {p.name for p in reducer.parameters}
    if len(reducer) != 3 or set(root.operands) != parameters:
        return False
    if root.opcode is Opcode.ADD:
        return is_value(value, -0.0 if kind.is_float else 0.0) and not kind.is_complex
    if root.opcode is Opcode.MULTIPLY:
        return is_value(value, 1.0)
    if root.opcode in (Opcode.MAXIMUM, Opcode.MINIMUM):
        return is_neutral_extreme(kind, value, root.opcode is Opcode.MAXIMUM)
    if root.opcode is Opcode.OR:
        return int(value) == 0
    if root.opcode is Opcode.AND:
        return int(value) == (1 if kind is ElementType.PRED else all_ones(kind))
    return False


RULES: dict[Opcode, tuple[Rule, ...]] = {
    Opcode.GET_TUPLE_ELEMENT: (tuple_element,),
    Opcode.TUPLE: (tuple_again,),
    Opcode.REDUCE: (reduce,),
}
