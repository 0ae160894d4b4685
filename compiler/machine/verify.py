"""Checks machine functions between stages: operands match their shapes, registers their classes,
branches their blocks, and no path reads a virtual register before writing it.

The last is a forward dataflow over sets of numbers: what is written on *every* path to a block's
entry is the intersection over its predecessors (Aho, Lam, Sethi, Ullman, *Compilers*, 9.2).
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.machine.accesses import accesses
from compiler.machine.code import (
    Address,
    AnyRegister,
    Immediate,
    Label,
    MachineBlock,
    MachineFunction,
    MachineInstruction,
    MachineNode,
    Operand,
    ParallelCopy,
    Slot,
    SlotOffset,
    StackArgument,
    Symbol,
    VirtualRegister,
)
from isas.errors import InternalError
from isas.immediates import LANE_ENCODINGS, fits
from isas.model import Machine, Role, ShapeOperand
from isas.registers import Register, RegisterFile


def verify_machine_function(function: MachineFunction, machine: Machine) -> None:
    """Raises InternalError, naming the instruction and the rule, for the first mistake."""
    names = {block.name for block in function.blocks}
    if len(names) != len(function.blocks):
        raise InternalError("two blocks have one name", function.name)
    for block in function.blocks:
        for place, node in enumerate(block.instructions):
            where = f"{function.name}/{block.name}:{place}"
            _check_node(node, function, machine, where)
        _check_successors(function, block, names)
    _check_definitions(function, machine.isa.registers)


def _check_node(node: MachineNode, function: MachineFunction, machine: Machine, where: str) -> None:
    if isinstance(node, ParallelCopy):
        _check_copy(node, where)
        return
    expected = [operand.name for operand in node.shape.operands]
    if sorted(expected) != sorted(node.operands):
        raise InternalError(
            f"{node.shape.title} has operands {', '.join(expected)}, "
            f"not {', '.join(node.operands) or 'none'}",
            where,
        )
    for name, operand in node.operands.items():
        _check_operand(operand, node.shape.by_name[name], function, where)
    for name, source in node.tied.items():
        if name not in node.shape.facts.tied and name != node.shape.rest:
            raise InternalError(f"operand {name} of {node.shape.title} is not read", where)
        _check_class(source, node.shape.by_name[name], where)
    if node.shape not in machine.shapes:
        raise InternalError(f"{machine.name} does not have {node.shape.title}", where)


def _check_copy(node: ParallelCopy, where: str) -> None:
    written = [destination for destination, _ in node.moves]
    if len(set(written)) != len(written):
        raise InternalError("a parallel copy writes one register twice", where)
    for destination, source in node.moves:
        if _class_of(destination) != _class_of(source):
            raise InternalError(f"a copy from {source} to {destination} changes the class", where)


def _check_operand(
    operand: Operand, described: ShapeOperand, function: MachineFunction, where: str
) -> None:
    role = described.kind.role
    if role is Role.REGISTER and isinstance(operand, VirtualRegister | Register):
        _check_class(operand, described, where)
    elif role is Role.IMMEDIATE and isinstance(operand, Immediate):
        _check_immediate(operand, described, where)
    elif role is Role.IMMEDIATE and isinstance(operand, SlotOffset):
        return
    elif role is Role.MEMORY and isinstance(operand, Address):
        _check_address(operand, described, function, where)
    elif not (role is Role.LABEL and isinstance(operand, Label)):
        raise InternalError(f"operand {described.name} must be a {role.value}: {operand}", where)


def _check_class(register: AnyRegister, described: ShapeOperand, where: str) -> None:
    if _class_of(register) != described.kind.class_name:
        raise InternalError(
            f"operand {described.name} is of class {described.kind.class_name}, "
            f"but {register} is of {_class_of(register)}",
            where,
        )


def _class_of(register: AnyRegister) -> str:
    if isinstance(register, VirtualRegister):
        return register.register_class
    return register.class_name


def _check_immediate(operand: Immediate, described: ShapeOperand, where: str) -> None:
    form = described.kind.immediate
    is_number = form is not None and form.encoding not in LANE_ENCODINGS
    if form is None or not is_number or described.type.is_float:
        return
    if not fits(form, operand.value, described.type.bits):
        raise InternalError(f"{operand.value} does not fit into operand {described.name}", where)


def _check_address(
    operand: Address, described: ShapeOperand, function: MachineFunction, where: str
) -> None:
    form = described.kind.address
    assert form is not None
    if isinstance(operand.base, Slot | StackArgument):
        return
    if isinstance(operand.base, Symbol):
        known = operand.base.name in function.constants or (
            operand.base.name in function.parameters
        )
        if not form.has_symbol or not known:
            raise InternalError(f"{operand.base} cannot be addressed here", where)
        return
    if operand.index is not None and operand.scale not in form.scales:
        raise InternalError(f"an index cannot be scaled by {operand.scale} here", where)
    is_crowded = form.index_excludes_displacement and operand.index is not None
    if not form.allows_displacement(operand.displacement) or (is_crowded and operand.displacement):
        raise InternalError(f"displacement {operand.displacement} does not fit", where)


def _check_successors(function: MachineFunction, block: MachineBlock, names: set[str]) -> None:
    where = f"{function.name}/{block.name}"
    for name in block.successors:
        if name not in names:
            raise InternalError(f"there is no block {name}", where)
    for node in block.instructions:
        if not isinstance(node, MachineInstruction):
            continue
        target = node.operands.get(node.shape.facts.target or "")
        if isinstance(target, Label) and target.block not in block.successors:
            raise InternalError(f"a branch goes to {target}, which is no successor", where)


def _check_definitions(function: MachineFunction, registers: RegisterFile) -> None:
    written = _written_before(function, registers)
    for block in function.blocks:
        known = set(written.get(block.name, ()))
        for place, node in enumerate(block.instructions):
            found = accesses(node, registers)
            for register in found.reads:
                if isinstance(register, VirtualRegister) and register.number not in known:
                    raise InternalError(
                        f"{register} is read before it is written on some path",
                        f"{function.name}/{block.name}:{place}",
                    )
            known |= _numbers(found.writes)


def _written_before(
    function: MachineFunction, registers: RegisterFile
) -> dict[str, frozenset[int]]:
    """The virtual registers written on every path to each reachable block's entry."""
    writes = {
        block.name: frozenset(
            number
            for node in block.instructions
            for number in _numbers(accesses(node, registers).writes)
        )
        for block in function.blocks
    }
    entry = function.blocks[0].name
    known = {entry: frozenset(virtual.number for virtual, _ in function.incoming)}
    pending = [entry]
    blocks = {block.name: block for block in function.blocks}
    while pending:
        name = pending.pop()
        after = known[name] | writes[name]
        for successor in blocks[name].successors:
            before = known.get(successor)
            new = after if before is None else before & after
            if new != before:
                known[successor] = new
                pending.append(successor)
    return known


def _numbers(registers: Iterable[AnyRegister]) -> set[int]:
    return {r.number for r in registers if isinstance(r, VirtualRegister)}
