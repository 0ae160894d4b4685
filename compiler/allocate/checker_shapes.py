"""What the allocation checker asks about single instructions, from their cards' effects alone."""

from __future__ import annotations

from dataclasses import replace

from compiler.allocate.checker_state import Value
from compiler.machine.code import (
    Address,
    AnyRegister,
    MachineInstruction,
    Operand,
    Slot,
    StackArgument,
    Symbol,
    VirtualRegister,
)
from isas.effects import Apply, Effect, Expression
from isas.effects import Operand as EffectOperand
from isas.model import Shape
from isas.registers import Register


class Violation(Exception):
    """What is wrong with an allocation, in words."""


def is_slot(operand: Operand) -> bool:
    """Whether the operand is the whole of a frame slot and nothing else."""
    return (
        isinstance(operand, Address)
        and isinstance(operand.base, Slot)
        and operand.index is None
        and operand.displacement == 0
    )


def moved_bits(shape: Shape) -> int:
    """The bits that a move, load or store carries."""
    return min(operand.kind.bits for operand in shape.operands)


def register_in(operand: Operand) -> AnyRegister:
    if not isinstance(operand, VirtualRegister | Register):
        raise Violation(f"{operand} is no register")
    return operand


def physical_in(operand: Operand) -> Register:
    if not isinstance(operand, Register):
        raise Violation(f"{operand} is no physical register")
    return operand


def check_fixed(meant: AnyRegister, found: Register, node: MachineInstruction) -> None:
    if isinstance(meant, Register):
        if meant.storages != found.storages:
            raise Violation(f"{node.shape}: fixed register {meant} has become {found}")
    elif meant.register_class != found.class_name:
        raise Violation(f"{node.shape}: {meant} is no {found.class_name} register")


def check_view(found: Register, name: str, node: MachineInstruction) -> None:
    kind = node.shape.by_name[name].kind
    if (kind.class_name, kind.view) != (found.class_name, found.view):
        raise Violation(f"{node.shape}: operand {name} cannot be {found}")


def is_exchange(shape: Shape) -> bool:
    names = [operand.name for operand in shape.operands]
    pairs = {(str(e.target), str(e.expression)) for e in shape.effects if not e.is_store}
    return len(names) == 2 and pairs == {(names[0], names[1]), (names[1], names[0])}


def is_constant(node: MachineInstruction) -> bool:
    """Whether the instruction reads nothing but immediates and constants, and writes one
    register.
    """
    facts = node.shape.facts
    if facts.reads or facts.implicit_reads or facts.implicit_writes or len(facts.writes) != 1:
        return False
    if facts.stores or facts.is_branch or facts.is_barrier:
        return False
    addresses = [o for o in node.operands.values() if isinstance(o, Address)]
    return all(isinstance(a.base, Symbol | StackArgument) and a.index is None for a in addresses)


def makes_same(one: MachineInstruction, other: MachineInstruction) -> bool:
    if one.shape is not other.shape:
        return False
    target = one.shape.facts.writes[0]
    rest = [name for name in one.operands if name != target]
    return all(one.operands[name] == other.operands[name] for name in rest)


def is_same_shape(before: MachineInstruction, after: MachineInstruction) -> bool:
    """Whether the shapes are one, or differ in an operand that is loaded instead of read."""
    if before.shape is after.shape:
        return True
    folded = {
        name
        for name, operand in after.operands.items()
        if isinstance(operand, Address) and not isinstance(before.operands.get(name), Address)
    }
    effects = tuple(
        replace(e, expression=unloaded(e.expression, folded)) for e in after.shape.effects
    )
    return effects == before.shape.effects


def unloaded(expression: Expression, folded: set[str]) -> Expression:
    """The expression with loads from the folded operands read as the operands themselves."""
    if not isinstance(expression, Apply):
        return expression
    if expression.effect is Effect.LOAD and str(expression.arguments[0]) in folded:
        return EffectOperand(str(expression.arguments[0]), expression.type)
    arguments = tuple(unloaded(argument, folded) for argument in expression.arguments)
    return replace(expression, arguments=arguments)


def value_name(value: Value) -> str:
    number, part = value
    name = f"v{number}" if number >= 0 else f"storage {-1 - number}"
    return name if part == 0 else f"{name}.{part}"
