"""Small machine functions written by hand, in a short notation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compiler.machine.code import (
    AnyRegister,
    MachineBlock,
    MachineFunction,
    MachineInstruction,
    MachineNode,
    Operand,
    ParallelCopy,
    VirtualRegister,
)
from isas.model import Machine, Shape


@dataclass
class Writer:
    """Builds a function of one machine. `do("vaddps ymm, ymm, ymm", ...)` finds shapes by title."""

    machine: Machine
    function: MachineFunction = field(init=False)

    def __post_init__(self) -> None:
        self.function = MachineFunction("small", [])
        self.titles: dict[str, Shape] = {}
        for shape in self.machine.shapes:
            self.titles.setdefault(shape.title, shape)

    def shape(self, title: str) -> Shape:
        return self.titles[title]

    def new(self, register_class: str, bits: int) -> VirtualRegister:
        return self.function.new_virtual(register_class, bits)

    def block(
        self, name: str, successors: Sequence[str] = (), loop_depth: int = 0
    ) -> list[MachineNode]:
        made = MachineBlock(name, successors=tuple(successors), loop_depth=loop_depth)
        self.function.blocks.append(made)
        return made.instructions

    def do(
        self,
        title: str,
        *operands: Operand,
        tied: Mapping[str, AnyRegister] | None = None,
        guard: tuple[AnyRegister, bool] | None = None,
    ) -> MachineInstruction:
        """An instruction; operands in the shape's order."""
        shape = self.shape(title)
        named = {o.name: operand for o, operand in zip(shape.operands, operands, strict=True)}
        return MachineInstruction(shape, named, tied=dict(tied or {}), guard=guard)


def copy(*moves: tuple[AnyRegister, AnyRegister]) -> ParallelCopy:
    """A parallel copy of (destination, source) pairs."""
    return ParallelCopy(moves)
