"""Rules for elementwise work on values that were moved: it is done before the move."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.hlo.algebra.scope import Rule, Scope, is_splat
from compiler.hlo.attributes import Attributes
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ArrayShape


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


def turned_operands(scope: Scope, instruction: Instruction) -> str | None:
    """Elementwise work on values that are all transposed or reshaped alike, and nowhere else
    needed, is done before the move, when that saves a move: several become one, or the result is
    moved on. A transposed product stays, because the product can write its result so."""
    operands = scope.operands(instruction)
    if instruction.array.is_scalar or not operands:
        return None
    moved = [o for o in operands if not is_splat(scope, o)]
    if not moved or any(o.opcode not in (Opcode.TRANSPOSE, Opcode.RESHAPE) for o in moved):
        return None
    if len({(o.opcode, o.dimensions) for o in moved}) > 1:
        return None
    sources = [scope.operand(o) for o in moved]
    shapes = {source.array.dimensions for source in sources}
    if len(shapes) > 1 or any(len(scope.users(o.name)) != 1 for o in moved):
        return None
    if any(source.opcode in (Opcode.DOT, Opcode.CONVOLUTION) for source in sources):
        return None
    if len({o.name for o in moved}) == 1 and not _is_moved_on(scope, instruction, moved[0].opcode):
        return None
    return _before_move(scope, instruction, operands, moved[0], shapes.pop())


def _is_moved_on(scope: Scope, instruction: Instruction, move: Opcode) -> bool:
    """True when all that happens to a value is another move of the same kind."""
    users = [scope.get(name).opcode for name in scope.users(instruction.name)]
    return bool(users) and all(opcode is move for opcode in users)


def _before_move(
    scope: Scope,
    instruction: Instruction,
    operands: Sequence[Instruction],
    move: Instruction,
    extents: tuple[int, ...],
) -> str:
    names = []
    for operand in operands:
        if is_splat(scope, operand):
            shape = ArrayShape(operand.array.element_type, extents)
            scalar = _scalar(scope, operand)
            names.append(scalar if operand.array.is_scalar else scope.splat(shape, scalar))
        else:
            names.append(operand.operands[0])
    shape = ArrayShape(instruction.array.element_type, extents)
    early = scope.add(instruction.opcode, shape, names, instruction.attributes)
    return scope.turn(move.opcode, (early,), move.attributes)


RULES: dict[Opcode, tuple[Rule, ...]] = {
    opcode: (small_operand, turned_operands)
    for opcode in Opcode
    if opcode.is_elementwise and opcode not in (Opcode.MAP, Opcode.COPY)
}
