"""Rules for tuples, reductions, dots, and elementwise work on broadcast values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.hlo.algebra.arithmetic import is_neutral_extreme
from compiler.hlo.algebra.scope import Rule, Scope, all_ones, is_splat, is_value, splat_value
from compiler.hlo.attributes import Attributes
from compiler.hlo.module import Computation, Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ArrayShape, ElementType, TupleShape


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


def small_operand(scope: Scope, instruction: Instruction) -> str | None:
    """Elementwise work on values that are broadcast alike is done before the broadcast."""
    operands = scope.operands(instruction)
    if instruction.array.is_scalar or not operands:
        return None
    spread = [o for o in operands if not is_splat(scope, o)]
    if not spread:
        return _on_scalars(scope, instruction, operands)
    if any(o.opcode is not Opcode.BROADCAST for o in spread):
        return None
    dimensions = {o.dimensions for o in spread}
    shapes = {scope.operand(o).array.dimensions for o in spread}
    if len(dimensions) > 1 or len(shapes) > 1:
        return None
    return _before_broadcast(scope, instruction, operands, spread[0].dimensions, shapes.pop())


def _scalar(scope: Scope, instruction: Instruction) -> str:
    return instruction.name if instruction.array.is_scalar else instruction.operands[0]


def _on_scalars(
    scope: Scope, instruction: Instruction, operands: Sequence[Instruction]
) -> str | None:
    names = tuple(_scalar(scope, o) for o in operands)
    shape = ArrayShape(instruction.array.element_type)
    scalar = scope.add(instruction.opcode, shape, names, instruction.attributes)
    return scope.turn(Opcode.BROADCAST, (scalar,), Attributes(dimensions=()))


def _before_broadcast(
    scope: Scope,
    instruction: Instruction,
    operands: Sequence[Instruction],
    dimensions: tuple[int, ...],
    extents: tuple[int, ...],
) -> str | None:
    names = []
    for operand in operands:
        if is_splat(scope, operand):
            shape = ArrayShape(operand.array.element_type, extents)
            names.append(scope.splat(shape, _scalar(scope, operand)))
        else:
            names.append(operand.operands[0])
    shape = ArrayShape(instruction.array.element_type, extents)
    small = scope.add(instruction.opcode, shape, names, instruction.attributes)
    return scope.turn(Opcode.BROADCAST, (small,), Attributes(dimensions=dimensions))


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


def dot(scope: Scope, instruction: Instruction) -> str | None:
    """A dot reads a transposed operand as it lies; its dimension numbers say the rest."""
    for number, side in enumerate(("lhs", "rhs")):
        operand = scope.operand(instruction, number)
        if operand.opcode is Opcode.TRANSPOSE:
            found = _through_transpose(scope, instruction, operand, number, side)
            if found is not None:
                return found
    return None


def _through_transpose(
    scope: Scope, instruction: Instruction, operand: Instruction, number: int, side: str
) -> str | None:
    order = operand.dimensions
    contracting = instruction.attributes.get(f"{side}_contracting_dims", ())
    batch = instruction.attributes.get(f"{side}_batch_dims", ())
    free = [order[d] for d in range(len(order)) if d not in contracting and d not in batch]
    if free != sorted(free):
        return None
    changed = {f"{side}_contracting_dims": tuple(order[d] for d in contracting)}
    if batch:
        changed[f"{side}_batch_dims"] = tuple(order[d] for d in batch)
    operands = list(instruction.operands)
    operands[number] = operand.operands[0]
    return scope.turn(Opcode.DOT, operands, instruction.attributes.updated(changed))


def transposed_dot(scope: Scope, instruction: Instruction) -> str | None:
    """The transpose of a product is the product of the operands in the other order."""
    operand = scope.operand(instruction)
    if operand.opcode is not Opcode.DOT or len(scope.users(operand.name)) != 1:
        return None
    batch = operand.dot.lhs_batch
    lhs = scope.operand(operand)
    left = len(operand.dot.lhs_free(lhs.array.rank))
    kept = tuple(range(len(batch)))
    middle = len(batch) + left
    swapped = kept + tuple(range(middle, operand.array.rank)) + tuple(range(len(batch), middle))
    if instruction.dimensions != swapped or operand.attributes.get("operand_precision"):
        return None
    attributes = Attributes({_other_side(key): value for key, value in operand.attributes.items()})
    return scope.turn(Opcode.DOT, tuple(reversed(operand.operands)), attributes)


def _other_side(key: str) -> str:
    swapped = {"lhs": "rhs", "rhs": "lhs"}
    side, _, rest = key.partition("_")
    return f"{swapped[side]}_{rest}" if side in swapped else key


RULES: dict[Opcode, tuple[Rule, ...]] = {
    Opcode.GET_TUPLE_ELEMENT: (tuple_element,),
    Opcode.TUPLE: (tuple_again,),
    Opcode.REDUCE: (reduce,),
    Opcode.DOT: (dot,),
    Opcode.TRANSPOSE: (transposed_dot,),
}
