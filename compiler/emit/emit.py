"""Allocated machine code becomes a program: frame, branches, constant pool, labels."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from compiler.emit.branches import tidy
from compiler.emit.frame import Frame, epilogue, layout, prologue, resolve
from compiler.machine.code import (
    Address,
    MachineBlock,
    MachineFunction,
    MachineInstruction,
    MachineNode,
    ParallelCopy,
    Role,
    Slot,
    VirtualRegister,
)
from compiler.machine.operands import program_instruction
from compiler.machine.origins import complete_origins
from compiler.machine.text import names_of, role_note
from isas.assembly import instruction_text
from isas.errors import InternalError
from isas.model import Isa, Machine
from isas.program import (
    FramePlace,
    Grid,
    LabelTarget,
    MemoryOperand,
    Program,
    ProgramInstruction,
    RegisterOperand,
)
from isas.registers import Register

_UNSAFE = re.compile(r"[^A-Za-z0-9_]")


def emit(function: MachineFunction, machine: Machine, grid: Grid | None = None) -> Program:
    """The program of an allocated function. The function itself stays as it was.

    Raises InternalError when a virtual register or a parallel copy is left."""
    _check_finished(function)
    work = _copy(function)
    frame = layout(work, machine)
    _lay_out(work, frame, machine)
    tidy(work)
    complete_origins(work, machine.isa.registers)
    names = _label_names(work.blocks)
    instructions: list[ProgramInstruction] = []
    labels: dict[str, int] = {}
    for block in work.blocks:
        labels[names[block.name]] = len(instructions)
        for node in block.instructions:
            if isinstance(node, MachineInstruction):
                instructions.append(_instruction(node, machine.isa, names, work.name))
    constants, symbols = _pool(work)
    return Program(
        isa=machine.isa,
        name=work.name,
        instructions=tuple(instructions),
        labels=labels,
        parameters=work.parameters,
        constants=constants,
        symbols=symbols,
        frame_size_bytes=frame.size_bytes,
        grid=grid,
        registers_used=_registers_used(instructions),
        frame=_frame_places(frame, function),
    )


def _frame_places(frame: Frame, function: MachineFunction) -> tuple[FramePlace, ...]:
    """What lies in the frame, lowest first; slots with the values that spill code keeps there."""
    values: dict[Slot, dict[str, None]] = {}
    for node in function.instructions():
        if isinstance(node, MachineInstruction) and node.about is not None:
            for operand in node.operands.values():
                if isinstance(operand, Address) and isinstance(operand.base, Slot):
                    values.setdefault(operand.base, {})[str(node.about)] = None
    places = [
        FramePlace(str(slot), offset, slot.size_bytes, tuple(values.get(slot, ())))
        for slot, offset in frame.offsets.items()
    ]
    places += [
        FramePlace(register.name, offset, register.bits // 8, is_kept=True)
        for register, offset in frame.kept
    ]
    return tuple(sorted(places, key=lambda place: place.offset_bytes))


def _check_finished(function: MachineFunction) -> None:
    for node in function.instructions():
        if isinstance(node, ParallelCopy):
            raise InternalError(f"{function.name}: a parallel copy was not resolved")
        for name, operand in node.operands.items():
            registers = operand.registers() if hasattr(operand, "registers") else (operand,)
            if any(isinstance(register, VirtualRegister) for register in registers):
                raise InternalError(
                    f"{function.name}: operand {name} of {node.shape.title} is still virtual"
                )


def _copy(function: MachineFunction) -> MachineFunction:
    """A copy whose blocks and branches may be changed."""
    blocks = [
        MachineBlock(b.name, [_same(n) for n in b.instructions], b.successors, b.loop_depth)
        for b in function.blocks
    ]
    return MachineFunction(
        function.name, blocks, list(function.incoming), dict(function.constants),
        list(function.slots), function.next_virtual, function.parameters,
    )  # fmt: skip


def _same(node: MachineNode) -> MachineNode:
    if isinstance(node, ParallelCopy):
        return node
    return replace(node, operands=dict(node.operands), tied=dict(node.tied))


def _lay_out(function: MachineFunction, frame: Frame, machine: Machine) -> None:
    """Resolves frame places and puts the frame's code at the entry and in front of every return."""
    for block in function.blocks:
        code: list[MachineNode] = []
        for node in block.instructions:
            if isinstance(node, MachineInstruction):
                if node.shape.facts.is_return:
                    code += epilogue(frame, machine)
                code += resolve(node, frame, machine)
            else:
                code.append(node)
        block.instructions = code
    function.blocks[0].instructions[:0] = prologue(frame, machine)


def _label_names(blocks: Iterable[MachineBlock]) -> dict[str, str]:
    """Block names as labels that every assembler accepts, still distinct."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for block in blocks:
        stem = _UNSAFE.sub("_", block.name) or "block"
        name, count = stem, 0
        while name in taken:
            count += 1
            name = f"{stem}_{count}"
        taken.add(name)
        names[block.name] = name
    return names


def _instruction(
    node: MachineInstruction, isa: Isa, names: dict[str, str], kernel: str
) -> ProgramInstruction:
    plain = program_instruction(node, isa.registers)
    operands = {
        name: LabelTarget(names[operand.label]) if isinstance(operand, LabelTarget) else operand
        for name, operand in plain.operands.items()
    }
    origin = node.origins[0] if node.origins else ""
    note = "frame" if node.role is Role.FRAME else role_note(node)
    found = ProgramInstruction(node.shape, operands, plain.guard, origin, note)
    return ProgramInstruction(
        found.shape, found.operands, found.guard, origin, note, instruction_text(isa, found),
        names_of(node, kernel), node.places,
    )  # fmt: skip


def _pool(function: MachineFunction) -> tuple[bytes, dict[str, int]]:
    """The constants one behind the other, the most aligned first."""
    data = bytearray()
    symbols: dict[str, int] = {}
    used = _used_symbols(function)
    entries = [c for c in function.constants.values() if c.name in used]
    for constant in sorted(entries, key=lambda c: -c.align_bytes):
        while len(data) % max(1, constant.align_bytes):
            data.append(0)
        symbols[constant.name] = len(data)
        data += constant.data
    return bytes(data), symbols


def _used_symbols(function: MachineFunction) -> set[str]:
    found: set[str] = set()
    for node in function.instructions():
        if isinstance(node, MachineInstruction):
            for operand in node.operands.values():
                base = getattr(operand, "base", None)
                name = getattr(base, "name", None)
                if name is not None and not isinstance(base, Register):
                    found.add(name)
    return found


def _registers_used(instructions: Iterable[ProgramInstruction]) -> dict[str, tuple[int, ...]]:
    found: dict[str, set[int]] = {}
    for instruction in instructions:
        for register in _registers(instruction):
            indices = range(register.index, register.index + len(register.storages))
            if register.class_name:
                found.setdefault(register.class_name, set()).update(indices)
    return {name: tuple(sorted(indices)) for name, indices in sorted(found.items())}


def _registers(instruction: ProgramInstruction) -> list[Register]:
    found = [instruction.guard.register] if instruction.guard is not None else []
    for operand in instruction.operands.values():
        if isinstance(operand, RegisterOperand):
            found.append(operand.register)
        elif isinstance(operand, MemoryOperand):
            found += [r for r in (operand.base, operand.index) if r is not None]
    return found
