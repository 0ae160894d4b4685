"""Prints machine functions: the stages selected, scheduled, allocated and rescheduled.

Instructions are spelled as their assembler wants them, with virtual registers where none are chosen
yet. Each line ends in a comment: the HLO instruction it comes from and, for instructions that only
move values about, why it is there.
"""

from __future__ import annotations

from compiler.machine.code import (
    MachineBlock,
    MachineFunction,
    MachineInstruction,
    MachineNode,
    ParallelCopy,
    Role,
    VirtualRegister,
)
from compiler.machine.operands import program_instruction
from isas.assembly import instruction_text
from isas.document import Document, Printer
from isas.model import Isa

COMMENT_COLUMN = 52

_ROLE_NOTES = {
    Role.SPILL: "spill",
    Role.RELOAD: "reload",
    Role.REMATERIALIZE: "made again",
    Role.COPY: "copy",
    Role.FRAME: "frame",
}


def document(function: MachineFunction, isa: Isa) -> Document:
    """The text of a machine function of `isa`, one line per block label and instruction."""
    printer = Printer(function.name)
    printer.add(f"{function.name}:  {isa.comment} {_parameters(function)}", function.name)
    for block in function.blocks:
        _print_block(printer, function, block, isa)
    if function.constants:
        _print_constants(printer, function, isa)
    return printer.finish()


def _parameters(function: MachineFunction) -> str:
    arriving = [f"{virtual} in {physical}" for virtual, physical in function.incoming]
    names = ", ".join(function.parameters)
    return f"({names})" + (f"  arrives: {', '.join(arriving)}" if arriving else "")


def _print_block(
    printer: Printer, function: MachineFunction, block: MachineBlock, isa: Isa
) -> None:
    depth = f"  {isa.comment} loop depth {block.loop_depth}" if block.loop_depth else ""
    printer.add(f"{block.name}:{depth}", f"{function.name}/{block.name}")
    for place, node in enumerate(block.instructions):
        subject = f"{function.name}/{block.name}:{place}"
        code = node_text(node, isa)
        names = names_of(node, function.name)
        if isinstance(node, MachineInstruction):
            names += node.places
        printer.add(_commented(code, remarks(node), isa), subject, node.origins, names)


def names_of(node: MachineNode, kernel: str) -> tuple[str, ...]:
    """What decisions call the node: the IR value that it computes, and the virtual registers that
    it writes or, when it spills or reloads, that it is about."""
    if isinstance(node, ParallelCopy):
        moved = [destination for destination, _ in node.moves]
        return tuple(str(r) for r in moved if isinstance(r, VirtualRegister))
    found = [f"{kernel}/%{node.value.removeprefix('%')}"] if node.value else []
    written = (node.operands.get(name) for name in node.shape.facts.writes)
    found += [str(register) for register in written if isinstance(register, VirtualRegister)]
    found += [str(node.about)] if node.about is not None else []
    return tuple(dict.fromkeys(found))


def node_text(node: MachineNode, isa: Isa) -> str:
    """One instruction or parallel copy without its comment."""
    if isinstance(node, ParallelCopy):
        moves = ", ".join(f"{destination} <- {source}" for destination, source in node.moves)
        return f"copy {moves}"
    tied = ", ".join(f"{node.operands[n]} from {r}" for n, r in sorted(node.tied.items()))
    text = instruction_text(isa, program_instruction(node, isa.registers))
    return f"{text}  ({tied})" if tied else text


def remarks(node: MachineNode) -> list[str]:
    """What a line's comment says: origins, then the node's purpose beside computing."""
    found = [", ".join(f"%{origin}" for origin in node.origins)] if node.origins else []
    if isinstance(node, ParallelCopy):
        return [*found, "into phis"]
    purpose = role_note(node)
    return [*found, purpose] if purpose else found


def role_note(node: MachineInstruction) -> str:
    """`reload v41`, `spill v41`, ... or nothing for instructions that compute."""
    note = _ROLE_NOTES.get(node.role, "")
    return f"{note} {node.about}" if note and node.about is not None else note


def _commented(code: str, notes: list[str], isa: Isa) -> str:
    line = f"    {code}"
    return f"{line:<{COMMENT_COLUMN}} {isa.comment} {' · '.join(notes)}" if notes else line


def _print_constants(printer: Printer, function: MachineFunction, isa: Isa) -> None:
    for constant in function.constants.values():
        words = " ".join(f"{byte:02x}" for byte in constant.data)
        printer.add(f"{constant.name}:  {isa.comment} {words}", f"{function.name}/{constant.name}")
