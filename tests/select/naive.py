"""The simplest possible allocation, as an independent path from selected code to the simulator:
every virtual register gets a register of its own, beyond those that the ISA really has."""

from __future__ import annotations

import numpy as np

from compiler.emit import emit
from compiler.machine.code import (
    Address,
    AnyRegister,
    MachineBlock,
    MachineFunction,
    MachineInstruction,
    Operand,
    ParallelCopy,
    VirtualRegister,
)
from isas.model import Machine, Shape
from isas.program import Executable, Grid, Launch, Placement, Program
from isas.registers import Register
from vm.host import execute


class Naive:
    """Turns one function into a program."""

    def __init__(self, function: MachineFunction, machine: Machine) -> None:
        self.function, self.machine = function, machine
        self.next = {name: c.count + 1 for name, c in machine.isa.registers.classes.items()}
        self.places: dict[int, Register] = {}

    def place(self, register: AnyRegister) -> Register:
        if isinstance(register, Register):
            return register
        found = self.places.get(register.number)
        if found is None:
            found = self.places[register.number] = self._new(register.register_class, register.bits)
        return found

    def _new(self, class_name: str, bits: int) -> Register:
        views = self.machine.isa.registers.classes[class_name].views.values()
        wide = [v for v in views if v.bits >= bits]
        view = min(wide, key=lambda v: (v.storages_per_register, -v.bits))
        step = max(v.storages_per_register for v in views)
        index = -(-self.next[class_name] // step) * step
        self.next[class_name] = index + step
        return self.machine.isa.registers.register(class_name, view.name, index)

    def program(self, grid: Grid | None = None) -> Program:
        blocks = [
            MachineBlock(b.name, self._code(b), b.successors, b.loop_depth)
            for b in self.function.blocks
        ]
        arrivals = [self._copy(self.place(v), r) for v, r in self.function.incoming]
        blocks[0].instructions[:0] = arrivals
        finished = MachineFunction(
            self.function.name,
            blocks,
            [],
            dict(self.function.constants),
            list(self.function.slots),
            0,
            self.function.parameters,
        )
        return emit(finished, self.machine, grid)

    def _code(self, block: MachineBlock) -> list[MachineInstruction]:
        code: list[MachineInstruction] = []
        for node in block.instructions:
            if isinstance(node, ParallelCopy):
                code += self._parallel(node)
            else:
                code += self._instruction(node)
        return code

    def _parallel(self, node: ParallelCopy) -> list[MachineInstruction]:
        """All sources into fresh registers, then those into the destinations."""
        pairs = [(self.place(d), self.place(s)) for d, s in node.moves]
        bits = [_bits(d) for d, _ in node.moves]
        between = [self._new(s.class_name, b) for (_, s), b in zip(pairs, bits)]
        first = [self._copy(t, s) for t, (_, s) in zip(between, pairs)]
        return first + [self._copy(d, t) for t, (d, _) in zip(between, pairs)]

    def _instruction(self, node: MachineInstruction) -> list[MachineInstruction]:
        before = []
        operands: dict[str, Operand] = {}
        for name, operand in node.operands.items():
            operands[name] = self._operand(operand)
        for name, source in node.tied.items():
            target = operands[name]
            assert isinstance(target, Register)
            before.append(self._copy(target, self.place(source)))
        guard = None if node.guard is None else (self.place(node.guard[0]), node.guard[1])
        made = MachineInstruction(node.shape, operands, node.origins, node.value, guard=guard)
        return [*before, made]

    def _operand(self, operand: Operand) -> Operand:
        if isinstance(operand, VirtualRegister | Register):
            return self.place(operand)
        if isinstance(operand, Address):
            base, index = operand.base, operand.index
            if isinstance(base, VirtualRegister):
                base = self.place(base)
            if index is not None:
                index = self.place(index)
            return Address(base, index, operand.scale, operand.displacement)
        return operand

    def _copy(self, target: Register, source: Register) -> MachineInstruction:
        shape = self._move(target.class_name, max(_width(target), 1))
        names = [o.name for o in shape.operands]
        written = shape.facts.writes[0]
        other = next(name for name in names if name != written)
        values: dict[str, Operand] = {written: target, other: source}
        return MachineInstruction(shape, {name: values[name] for name in names})

    def _move(self, class_name: str, bits: int) -> Shape:
        """The copy of the class that moves at least `bits`, as few as possible."""
        core_bits = self.machine.core.vector_bits or 10**9
        moves = [
            s
            for s in self.machine.shapes
            if s.facts.is_move and s.operands[0].kind.class_name == class_name
        ]
        wide = [s for s in moves if s.operands[0].kind.bits >= min(bits, core_bits)]
        return min(wide or moves, key=lambda s: (s.operands[0].kind.bits, s.id))


def _bits(register: AnyRegister) -> int:
    return register.bits


def _width(register: Register) -> int:
    return register.bits


def run_program(program: Program, arguments: list[int], memory: np.ndarray) -> np.ndarray:
    """Runs a kernel over a copy of `memory`; arguments are offsets into it (multiples of 64)."""
    size = memory.size
    whole = Placement("memory", 0, size)
    executable = Executable(
        {program.name: program},
        (Launch(program.name, tuple(arguments), program.grid),),
        size,
        (whole,),
        (whole,),
    )
    result = execute(executable, [memory.tobytes()])
    return np.frombuffer(result.outputs[0], np.uint8).copy()
