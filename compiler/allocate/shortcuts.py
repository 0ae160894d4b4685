"""Ways around a reload: constants made again, and operands that come from memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from compiler.machine.accesses import accesses
from compiler.machine.code import (
    Address,
    AnyRegister,
    MachineFunction,
    MachineInstruction,
    MachineNode,
    Operand,
    Role,
    Slot,
    StackArgument,
    Symbol,
    VirtualRegister,
)
from isas.effects import Apply, Effect, Expression
from isas.effects import Operand as EffectOperand
from isas.model import Machine, Shape
from isas.values import I64


def single_definitions(
    function: MachineFunction, machine: Machine
) -> dict[int, MachineInstruction]:
    """Instructions that make a constant, by the number of the virtual register that only they
    write.
    """
    writers: dict[int, list[MachineNode]] = {}
    for node in function.instructions():
        for register in accesses(node, machine.isa.registers).writes:
            if isinstance(register, VirtualRegister):
                writers.setdefault(register.number, []).append(node)
    return {
        number: nodes[0]
        for number, nodes in sorted(writers.items())
        if len(nodes) == 1
        and isinstance(nodes[0], MachineInstruction)
        and is_constant(nodes[0], machine)
    }


def is_constant(node: MachineInstruction, machine: Machine) -> bool:
    """Whether running the instruction again anywhere gives the same value and changes nothing else:
    it reads no register, writes no other, and loads at most a constant or an argument.
    """
    facts = node.shape.facts
    row = accesses(node, machine.isa.registers)
    if row.reads or len(row.writes) != 1 or facts.stores or facts.is_branch or facts.is_barrier:
        return False
    addresses = [operand for operand in node.operands.values() if isinstance(operand, Address)]
    return len(facts.writes) == 1 and all(
        isinstance(a.base, Symbol | StackArgument) for a in addresses
    )


def remade(
    constant: MachineInstruction, into: AnyRegister, about: VirtualRegister | None
) -> MachineInstruction:
    """The constant's instruction again, with another destination."""
    operands: dict[str, Operand] = {**constant.operands, constant.shape.facts.writes[0]: into}
    return replace(constant, operands=operands, role=Role.REMATERIALIZE, about=about, places=())


def address_of(
    slot: Slot | None, constant: MachineInstruction | None
) -> tuple[Address, int] | None:
    """Where memory holds a spilled value, and how many bits of it: its slot, or the place that its
    constant is loaded from."""
    if slot is not None:
        return Address(base=slot), slot.size_bytes * 8
    if constant is None or not constant.shape.facts.is_load_only:
        return None
    name = constant.shape.facts.loads[0]
    operand = constant.operands[name]
    bits = constant.shape.by_name[name].kind.bits
    return (operand, bits) if isinstance(operand, Address) else None


def foldable(
    node: MachineInstruction, register: VirtualRegister, bits: int, machine: Machine
) -> tuple[Shape, str] | None:
    """A sibling shape of the node's card that reads at most `bits` bits of memory where the node
    reads `register`, and the operand's name; None when the card has none or the register is read
    elsewhere too."""
    places = [name for name, operand in node.operands.items() if operand == register]
    in_addresses = any(
        register in operand.registers()
        for operand in node.operands.values()
        if isinstance(operand, Address)
    )
    is_guard = node.guard is not None and node.guard[0] == register
    if len(places) != 1 or in_addresses or is_guard:
        return None
    features = frozenset(machine.core.features)
    for shape in _with_memory(node.shape, places[0]):
        kind = shape.by_name[places[0]].kind
        if features.issuperset(shape.needs) and kind.bits <= bits:
            return shape, places[0]
    return None


@cache
def _with_memory(shape: Shape, name: str) -> tuple[Shape, ...]:
    """Shapes of the same card that do the same with the operand `name` loaded from memory."""
    return tuple(
        other
        for other in shape.card.shapes
        if name in other.facts.loads
        and [(o.name, o.kind) for o in other.operands if o.name != name]
        == [(o.name, o.kind) for o in shape.operands if o.name != name]
        and tuple(replace(e, expression=_loaded(e.expression, name)) for e in shape.effects)
        == tuple(replace(e, expression=_without_space(e.expression)) for e in other.effects)
    )


def _loaded(expression: Expression, name: str) -> Expression:
    """The expression with the operand `name` loaded from its address."""
    if isinstance(expression, EffectOperand) and expression.name == name:
        return Apply(Effect.LOAD, (EffectOperand(name, I64),), expression.type)
    return _within(expression, lambda inner: _loaded(inner, name))


def _without_space(expression: Expression) -> Expression:
    """The expression with loads from the general address space written without it."""
    if isinstance(expression, Apply) and expression.effect is Effect.LOAD:
        is_general = expression.attributes in ((), ("",))
        return replace(expression, attributes=()) if is_general else expression
    return _within(expression, _without_space)


def _within(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    if not isinstance(expression, Apply):
        return expression
    return replace(expression, arguments=tuple(change(a) for a in expression.arguments))
