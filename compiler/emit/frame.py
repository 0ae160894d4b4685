"""The stack frame: where slots lie, which registers are kept, what enters and leaves the kernel.

    incoming stack pointer -> | return address (where the machine pushes one) | stack arguments ...
                              | slots and kept registers, widest first
    stack pointer          -> | (a multiple of the stack's alignment)

Slots are addressed upwards from the lowered stack pointer. SIMT threads have local memory of their
own instead: slots lie from address 0 and nothing needs to be kept, since a kernel is nobody's
callee.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from compiler.machine.code import (
    Address,
    AnyRegister,
    Immediate,
    MachineFunction,
    MachineInstruction,
    Operand,
    Role,
    Slot,
    SlotOffset,
    StackArgument,
)
from compiler.select.tiles import tiles_of
from isas.effects import Apply, Effect
from isas.effects import Operand as EffectOperand
from isas.errors import InternalError, UnsupportedError
from isas.model import Machine, Shape
from isas.model import Role as OperandRole
from isas.registers import Register


@dataclass(frozen=True, slots=True)
class Frame:
    """Offsets in bytes from the lowered stack pointer. `kept` are callee-saved registers with the
    offset they are saved at; `size_bytes` is how far the stack pointer is lowered."""

    size_bytes: int
    offsets: dict[Slot, int]
    kept: tuple[tuple[Register, int], ...]


def layout(function: MachineFunction, machine: Machine) -> Frame:
    """Places every slot that the code still uses, and every callee-saved register it writes."""
    calling = machine.isa.calling
    used = {base for base in _bases(function) if isinstance(base, Slot)}
    places: list[tuple[int, int, Slot | Register]] = [
        (slot.size_bytes, slot.align_bytes, slot)
        for slot in sorted(used, key=lambda slot: slot.number)
    ]
    if calling.stack_pointer is not None:
        places += [(r.bits // 8, r.bits // 8, r) for r in _kept_registers(function, machine)]
    offsets: dict[Slot, int] = {}
    kept: list[tuple[Register, int]] = []
    end = 0
    for size, align, what in sorted(places, key=lambda place: -place[1]):
        end = _aligned(end, align)
        if isinstance(what, Slot):
            offsets[what] = end
        else:
            kept.append((what, end))
        end += size
    return Frame(_frame_size(end, machine), offsets, tuple(kept))


def _frame_size(end: int, machine: Machine) -> int:
    """The stack pointer stays aligned as the ABI wants it at calls, return address included."""
    calling = machine.isa.calling
    if end == 0 or calling.stack_pointer is None:
        return _aligned(end, 8)
    pushed = calling.return_address_bytes
    return _aligned(end + pushed, max(1, calling.stack_alignment_bytes)) - pushed


def _aligned(value: int, align: int) -> int:
    align = max(1, align)
    return (value + align - 1) // align * align


def _bases(function: MachineFunction) -> Iterable[object]:
    for node in function.instructions():
        if isinstance(node, MachineInstruction):
            for operand in node.operands.values():
                if isinstance(operand, Address):
                    yield operand.base
                elif isinstance(operand, SlotOffset):
                    yield operand.slot


def _kept_registers(function: MachineFunction, machine: Machine) -> list[Register]:
    """Callee-saved registers that the code writes, in the convention's order."""
    written: set[int] = set()
    for node in function.instructions():
        if not isinstance(node, MachineInstruction):
            continue
        for name in node.shape.facts.writes:
            operand = node.operands[name]
            if isinstance(operand, Register):
                written.update(operand.storages)
        for name in node.shape.facts.implicit_writes:
            register = machine.isa.registers.by_name(name)
            written.update(register.storages if register is not None else ())
    return [r for r in machine.isa.calling.callee_saved if written & set(r.storages)]


def resolve(node: MachineInstruction, frame: Frame, machine: Machine) -> list[MachineInstruction]:
    """The instruction with frame places turned into stack addresses; further ones follow where the
    distance of a slot does not fit into one."""
    changed: dict[str, Operand] = {
        name: _resolved(operand, frame, machine)
        for name, operand in node.operands.items()
        if isinstance(operand, Address) and isinstance(operand.base, Slot | StackArgument)
    }
    for name, operand in node.operands.items():
        if isinstance(operand, SlotOffset):
            return _stepped(node, name, frame.offsets[operand.slot])
    return [_with(node, changed)] if changed else [node]


def _with(node: MachineInstruction, changed: dict[str, Operand]) -> MachineInstruction:
    return replace(node, operands={**node.operands, **changed}, tied={})


def _stepped(node: MachineInstruction, name: str, offset: int) -> list[MachineInstruction]:
    """An addition of `offset` to a register, in as many steps as its immediate needs."""
    described = node.shape.by_name[name].kind.immediate
    most = offset if described is None else described.maximum // 16 * 16
    result = node.shape.facts.writes[0]
    bases = [o.name for o in node.shape.operands if o.kind.is_register and o.name != result]
    steps = [_with(node, {name: Immediate(min(offset, most))})]
    while (offset := offset - most) > 0:
        again: dict[str, Operand] = dict.fromkeys(bases, node.operands[result])
        steps.append(_with(node, {**again, name: Immediate(min(offset, most))}))
    return steps


def _resolved(address: Address, frame: Frame, machine: Machine) -> Address:
    calling = machine.isa.calling
    if isinstance(address.base, StackArgument):
        offset = frame.size_bytes + calling.return_address_bytes + address.base.offset_bytes
    else:
        assert isinstance(address.base, Slot)
        offset = frame.offsets[address.base]
    return Address(
        calling.stack_pointer, address.index, address.scale, address.displacement + offset
    )


def prologue(frame: Frame, machine: Machine) -> list[MachineInstruction]:
    """Lowers the stack pointer and saves the kept registers."""
    if machine.isa.calling.stack_pointer is None:
        return []
    code = _adjust(Effect.SUB, frame.size_bytes, machine)
    return code + [_transfer(register, offset, machine, True) for register, offset in frame.kept]


def epilogue(frame: Frame, machine: Machine) -> list[MachineInstruction]:
    """Restores the kept registers and raises the stack pointer."""
    if machine.isa.calling.stack_pointer is None:
        return []
    code = [_transfer(register, offset, machine, False) for register, offset in frame.kept]
    return code + _adjust(Effect.ADD, frame.size_bytes, machine)


def _adjust(effect: Effect, amount: int, machine: Machine) -> list[MachineInstruction]:
    pointer = machine.isa.calling.stack_pointer
    if amount == 0 or pointer is None:
        return []
    steps: list[MachineInstruction] = []
    while amount > 0:
        shape, step, operands = _adjustment(effect, amount, machine, pointer)
        steps.append(MachineInstruction(shape, operands, role=Role.FRAME))
        amount -= step
    return steps


def _adjustment(
    effect: Effect, amount: int, machine: Machine, pointer: Register
) -> tuple[Shape, int, dict[str, Operand]]:
    """The instruction that changes the stack pointer by as much of `amount` as one can."""
    best: tuple[int, Shape, str] | None = None
    for tile in tiles_of(machine).rooted(effect):
        expression = tile.expression
        if tile.rule or tile.type.total_bits != pointer.bits or not isinstance(expression, Apply):
            continue
        base, offset = expression.arguments
        if not (isinstance(base, EffectOperand) and isinstance(offset, EffectOperand)):
            continue
        kind = tile.shape.by_name[offset.name].kind
        if kind.role is not OperandRole.IMMEDIATE or kind.immediate is None:
            continue
        most = min(amount, kind.immediate.maximum // 16 * 16 or kind.immediate.maximum)
        if best is None or most > best[0]:
            best = (most, tile.shape, offset.name)
    if best is None or best[0] <= 0:
        raise UnsupportedError(f"{machine.name} has no instruction that moves its stack pointer")
    step, shape, offset_name = best
    operands: dict[str, Operand] = {o.name: pointer for o in shape.operands}
    operands[offset_name] = Immediate(step)
    return shape, step, operands


def _transfer(
    register: Register, offset: int, machine: Machine, is_save: bool
) -> MachineInstruction:
    """Saves a register to its place in the frame, or restores it."""
    pointer: AnyRegister | None = machine.isa.calling.stack_pointer
    for shape in machine.shapes:
        facts = shape.facts
        if not (facts.is_store_only if is_save else facts.is_load_only):
            continue
        memory = next(o for o in shape.operands if o.kind.is_memory)
        value = next(o for o in shape.operands if o.kind.is_register)
        form = memory.kind.address
        is_fit = memory.kind.bits == register.bits and value.kind.class_name == register.class_name
        if not is_fit or form is None or not form.has_base or form.requires_index:
            continue
        if form.allows_displacement(offset):
            address = Address(pointer, displacement=offset)
            operands: dict[str, Operand] = {value.name: register, memory.name: address}
            ordered = {o.name: operands[o.name] for o in shape.operands}
            return MachineInstruction(shape, ordered, role=Role.FRAME)
    raise InternalError(f"no instruction keeps {register} at {offset} in the frame")
