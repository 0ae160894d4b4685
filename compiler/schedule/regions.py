"""Where pointers may point: for every memory access the kernel parameters its address may stem
from.

A forward dataflow over registers and frame slots. An argument stems from its parameter, a computed
value from whatever its operands stem from, a value loaded from the arena from nothing (kernels keep
no pointers there). Two accesses through different parameters, one of them `noalias`, cannot meet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from compiler.machine.accesses import accesses, keys
from compiler.machine.code import (
    Address,
    AnyRegister,
    MachineFunction,
    MachineInstruction,
    MachineNode,
    ParallelCopy,
    Slot,
    SlotOffset,
    StackArgument,
    Symbol,
)
from isas.model import Machine

Regions = frozenset[str]
"""Names of parameters; empty means unknown."""

_Place = int | tuple[str, int]
"""A register's key, or ("slot", number)."""


@dataclass(frozen=True, slots=True)
class PointsTo:
    """`regions` of every memory address by instruction and operand name. `escaped` are the slots
    whose address some instruction computes.
    """

    regions: Mapping[tuple[MachineInstruction, str], Regions]
    escaped: frozenset[int]


@dataclass(slots=True)
class _Analysis:
    function: MachineFunction
    machine: Machine
    entering: dict[str, dict[_Place, Regions]] = field(default_factory=dict)
    regions: dict[tuple[MachineInstruction, str], Regions] = field(default_factory=dict)

    def run(self) -> None:
        first = self.function.blocks[0].name
        self.entering[first] = self._arguments()
        waiting = [first]
        while waiting:
            name = waiting.pop(0)
            state = dict(self.entering[name])
            block = self.function.block(name)
            for node in block.instructions:
                self._node(node, state)
            for successor in block.successors:
                if self._merge(successor, state) and successor not in waiting:
                    waiting.append(successor)

    def _merge(self, name: str, state: Mapping[_Place, Regions]) -> bool:
        if name not in self.entering:
            self.entering[name] = dict(state)
            return True
        known, is_changed = self.entering[name], False
        for place, regions in state.items():
            joined = known.get(place, frozenset()) | regions
            if joined != known.get(place, frozenset()):
                known[place] = joined
                is_changed = True
        return is_changed

    def _arguments(self) -> dict[_Place, Regions]:
        """What virtual and physical registers hold when the kernel starts."""
        arguments = self.machine.isa.calling.arguments
        state: dict[_Place, Regions] = {}
        for virtual, physical in self.function.incoming:
            name = self._parameter(arguments.index(physical)) if physical in arguments else ""
            for key in (*keys(virtual), *keys(physical)):
                state[key] = frozenset((name,)) if name else frozenset()
        return state

    def _parameter(self, index: int) -> str:
        parameters = self.function.parameters
        return parameters[index] if index < len(parameters) else ""

    def _node(self, node: MachineNode, state: dict[_Place, Regions]) -> None:
        if isinstance(node, ParallelCopy):
            values = [self._of(source, state) for _, source in node.moves]
            for (target, _), value in zip(node.moves, values):
                state.update((key, value) for key in keys(target))
            return
        for name, operand in node.operands.items():
            if isinstance(operand, Address):
                self.regions[node, name] = self._address(operand, state)
        row = accesses(node, self.machine.isa.registers)
        result = self._result(node, row.reads, state)
        for register in row.writes:
            state.update((key, result) for key in keys(register))
        for name in node.shape.facts.stores:
            operand = node.operands[name]
            if isinstance(operand, Address) and isinstance(operand.base, Slot):
                slot = ("slot", operand.base.number)
                state[slot] = state.get(slot, frozenset()) | result

    def _result(
        self,
        node: MachineInstruction,
        reads: tuple[AnyRegister, ...],
        state: Mapping[_Place, Regions],
    ) -> Regions:
        if node.shape.facts.is_load_only:
            addresses = [o for o in node.operands.values() if isinstance(o, Address)]
            return self._loaded(addresses[0], state) if addresses else frozenset()
        found: Regions = frozenset()
        for register in reads:
            found |= self._of(register, state)
        for operand in node.operands.values():
            if isinstance(operand, Address) and isinstance(operand.base, Slot | StackArgument):
                found |= self._loaded(operand, state)
        return found

    def _loaded(self, address: Address, state: Mapping[_Place, Regions]) -> Regions:
        base = address.base
        if isinstance(base, Slot):
            return state.get(("slot", base.number), frozenset())
        if isinstance(base, StackArgument):
            width = self.machine.isa.pointer_bits // 8
            index = len(self.machine.isa.calling.arguments) + base.offset_bytes // width
            name = self._parameter(index)
            return frozenset((name,)) if name else frozenset()
        if isinstance(base, Symbol) and base.name in self.function.parameters:
            return frozenset((base.name,))
        return frozenset()

    def _address(self, address: Address, state: Mapping[_Place, Regions]) -> Regions:
        found: Regions = frozenset()
        for register in address.registers():
            found |= self._of(register, state)
        return found

    def _of(self, register: AnyRegister, state: Mapping[_Place, Regions]) -> Regions:
        found: Regions = frozenset()
        for key in keys(register):
            found |= state.get(key, frozenset())
        return found


def points_to(function: MachineFunction, machine: Machine) -> PointsTo:
    """Solves the dataflow for all memory operands of `function`."""
    analysis = _Analysis(function, machine)
    analysis.run()
    escaped = {
        operand.base.number
        for node in function.instructions()
        if isinstance(node, MachineInstruction)
        for name in node.shape.facts.addresses
        if isinstance(operand := node.operands[name], Address) and isinstance(operand.base, Slot)
    }
    escaped |= {
        operand.slot.number
        for node in function.instructions()
        if isinstance(node, MachineInstruction)
        for operand in node.operands.values()
        if isinstance(operand, SlotOffset)
    }
    return PointsTo(analysis.regions, frozenset(escaped))
