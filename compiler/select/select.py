"""Instruction selection for one function: LLVM IR in, machine code with virtual registers out."""

from __future__ import annotations

from compiler.journal import Journal
from compiler.llvm import ir
from compiler.llvm.ir import Opcode
from compiler.machine.code import (
    Address,
    AnyRegister,
    MachineBlock,
    MachineFunction,
    MachineInstruction,
    StackArgument,
    Symbol,
    VirtualRegister,
)
from compiler.options import Options
from compiler.select.choices import Tiled
from compiler.select.constants import ConstantUse, Survey, choose_hoisted
from compiler.select.control import PhiPlacer, TerminatorSelector, drop_fallthrough_jumps
from compiler.select.coverage import coverage_of
from compiler.select.emitter import Emitter, Place, uncovered
from compiler.select.flow import flow_of
from compiler.select.graph import build_graph
from compiler.select.homes import homes_of
from compiler.select.nodes import Node, NodeKind
from compiler.select.origins import fill_origins
from compiler.select.recording import tile_decision
from compiler.select.tile import Goal, Tile
from compiler.select.tiles import TileSet, tiles_of
from compiler.select.tiling import Tiler
from isas.effects import Effect
from isas.errors import UnsupportedError
from isas.model import Machine, Role
from isas.values import I64


def select(
    function: ir.Function, machine: Machine, options: Options, journal: Journal
) -> MachineFunction:
    """Covers every value of `function` with instructions of `machine`.

    The IR must have been legalised for the machine; an operation that no instruction covers raises
    UnsupportedError with its name, type and HLO instruction."""
    return _Selection(function, machine, options, journal).run()


class _Selection:
    """The selection of one function."""

    def __init__(
        self, function: ir.Function, machine: Machine, options: Options, journal: Journal
    ) -> None:
        self.function, self.machine = function, machine
        self.options, self.journal = options, journal
        self.tiles: TileSet = tiles_of(machine)
        self.home = homes_of(self.tiles)
        self.builder = build_graph(function, self.tiles, coverage_of(machine).covers)
        self.flow = flow_of(function)
        self.blocks = [b for b in function.blocks if self.flow.tree.is_reachable(b)]
        self.result = MachineFunction(
            function.name,
            [],
            parameters=tuple(a.name for a in function.arguments),
            noalias=frozenset(a.name for a in function.arguments if "noalias" in a.attributes),
        )

    def run(self) -> MachineFunction:
        hoisted = self._hoisted()
        tiler = Tiler(self.tiles, self.home, frozenset(hoisted))
        self.emitter = Emitter(self.tiles, tiler, self.result)
        self._make_slots()
        self.code: dict[ir.Instruction, Place] = {}
        self.arrivals: list[MachineInstruction] = []
        self._emit_statements()
        branches = self._emit_ends()
        self._emit_wanted()
        constants = self._emit_constants(hoisted)
        self._assemble(branches, constants)
        self._record()
        return self.result

    # Constants

    def _hoisted(self) -> dict[Node, ConstantUse]:
        """A dry run finds out which constants loops would make."""
        tiler = Tiler(self.tiles, self.home)
        survey = Survey(tiler, self.home, self.flow.depth)
        for block in self.blocks:
            for instruction in block.instructions:
                self._survey(survey, instruction, block)
        while survey.pending:
            node = survey.pending.pop()
            if isinstance(node.value, ir.Instruction) and node.value.block is not None:
                survey.origins = node.value.origins
                labels = tiler.structural(node)
                choice = labels.get(tiler.home_of(node))
                survey.visit(node, choice, node.value.block, labels)
        return choose_hoisted(survey, self._constant_budget, self.journal, self.function.name)

    def _survey(self, survey: Survey, instruction: ir.Instruction, block: ir.BasicBlock) -> None:
        survey.origins = instruction.origins
        if instruction.opcode is Opcode.PHI:
            for value, source in zip(instruction.operands, instruction.blocks):
                node = self.builder.node(value)
                survey.visit(
                    node, survey.tiler.labels(node).get(node.home or self.home(node.type)), source
                )
        elif instruction.opcode is Opcode.STORE:
            node = self.builder.node(instruction)
            survey.visit(node, survey.tiler.statement(node), block)
        elif instruction.opcode is Opcode.BR and instruction.operands:
            condition = self.builder.node(instruction.operands[0])
            branch = Node(NodeKind.BRANCH, condition.type, None, (condition,))
            survey.visit(branch, survey.tiler.statement(branch), block)
        elif is_statement(instruction):
            node = self.builder.node(instruction)
            survey.visit(
                node, survey.tiler.structural(node).get(node.home or self.home(node.type)), block
            )

    def _constant_budget(self, goal: Goal) -> int:
        """Half of the registers that the allocator may use."""
        register_class = self.machine.isa.registers.classes[goal]
        count = len(register_class.indices(self.options.register_limit(goal)))
        return count // 2

    def _emit_constants(
        self, hoisted: dict[Node, ConstantUse]
    ) -> dict[ir.BasicBlock, list[MachineInstruction]]:
        """Makes the hoisted constants outside of loops, in front of the block's own code if it uses
        them, else at its end."""
        found: dict[ir.BasicBlock, Place] = {}
        plain = Tiler(self.tiles, self.home)
        for node, use in hoisted.items():
            register = self.emitter.registers.get(node)
            if register is None:
                continue
            place = found.setdefault(self.flow.place_for(use.blocks), Place([]))
            place.origins = tuple(use.origins)
            choice = plain.labels(node).get(node.home or self.home(node.type))
            if choice is None:
                raise uncovered(node, self.machine.name)
            tiler, self.emitter.tiler = self.emitter.tiler, plain
            self.emitter.emit(node, (node.home or self.home(node.type)), place, register)
            self.emitter.tiler = tiler
        return {
            block: [node for node in place.code if isinstance(node, MachineInstruction)]
            for block, place in found.items()
        }

    # Values and statements

    def _make_slots(self) -> None:
        for instruction in self.function.instructions():
            if instruction.opcode is Opcode.ALLOCA and instruction.element_type is not None:
                size = instruction.element_type.size_bytes * instruction.count
                align = max(instruction.align, instruction.element_type.size_bytes)
                self.emitter.slots[instruction] = self.result.new_slot(size, align)

    def _place(self, instruction: ir.Instruction) -> Place:
        place = self.code.get(instruction)
        if place is None:
            place = self.code[instruction] = Place([], instruction.origins)
        return place

    def _emit_statements(self) -> None:
        for block in self.blocks:
            for instruction in block.instructions:
                if instruction.opcode is Opcode.STORE:
                    node = self.builder.node(instruction)
                    choice = self.emitter.tiler.statement(node)
                    if choice is None:
                        raise uncovered(node, self.machine.name)
                    self.emitter.statement(choice, self._place(instruction))
                elif is_statement(instruction):
                    self._emit_effectful(instruction)

    def _emit_effectful(self, instruction: ir.Instruction) -> None:
        """Barriers and lane exchanges, which happen whether or not their value is used."""
        node = self.builder.node(instruction)
        if node.effect is not Effect.BARRIER:
            self.emitter.register_of(node)
            return
        shapes = [s for s in self.machine.shapes if s.facts.is_barrier and not s.operands]
        if not shapes:
            raise uncovered(node, self.machine.name)
        place = self._place(instruction)
        place.code.append(MachineInstruction(shapes[0], {}, place.origins))

    def _emit_ends(self) -> dict[ir.BasicBlock, list[MachineInstruction]]:
        """Branches, and the values that phis receive."""
        terminators = TerminatorSelector(self.emitter)
        self.jump = terminators.jump
        branches: dict[ir.BasicBlock, list[MachineInstruction]] = {}
        self.edges: dict[tuple[str, str], tuple[tuple[AnyRegister, AnyRegister], ...]] = {}
        for block, following in zip(self.blocks, [*self.blocks[1:], None]):
            end = block.terminator
            if end is None:
                raise UnsupportedError(f"block {block.name} of {self.function.name} has no end")
            condition = self.builder.node(end.operands[0]) if end.operands else None
            branches[block] = terminators.select(end, condition, self._place(end), following)
        return branches

    def _emit_wanted(self) -> None:
        """Computes what is asked for until nothing is; phis ask for what flows into them."""
        emitter = self.emitter
        while emitter.wanted:
            node = emitter.wanted.pop()
            value = node.value
            if isinstance(value, ir.Argument):
                self._receive(value, emitter.registers[node])
            elif isinstance(value, ir.Instruction) and value.opcode is Opcode.PHI:
                self._flow_into(value, emitter.registers[node])
            elif isinstance(value, ir.Instruction):
                emitter.emit_root(node, self._place(value))

    def _flow_into(self, phi: ir.Instruction, register: VirtualRegister) -> None:
        assert phi.block is not None
        for value, source in zip(phi.operands, phi.blocks):
            end = source.terminator
            if end is None or not self.flow.tree.is_reachable(source):
                continue
            node = self.builder.node(value)
            if node.kind is NodeKind.CONSTANT and node.constant is None:
                continue
            moved = self.emitter.emit(node, (node.home or self.home(node.type)), self._place(end))
            if moved == register:
                continue
            edge = (source.name, phi.block.name)
            self.edges[edge] = (*self.edges.get(edge, ()), (register, moved))

    def _receive(self, argument: ir.Argument, register: VirtualRegister) -> None:
        """An argument arrives in its register, on the stack, or in parameter memory."""
        calling = self.machine.isa.calling
        index = self.function.arguments.index(argument)
        if calling.parameter_space:
            self._load_argument(register, Address(Symbol(argument.name)), calling.parameter_space)
        elif index < len(calling.arguments):
            self.result.incoming.append((register, calling.arguments[index]))
        else:
            offset = (index - len(calling.arguments)) * (self.machine.isa.pointer_bits // 8)
            self._load_argument(register, Address(StackArgument(offset)), "")

    def _load_argument(self, register: VirtualRegister, address: Address, space: str) -> None:
        tile = self._load_tile(space)
        names = {o.name for o in tile.shape.operands} - {tile.result}
        self.arrivals.append(
            MachineInstruction(tile.shape, {tile.result: register, names.pop(): address})
        )

    def _load_tile(self, space: str) -> Tile:
        for tile in self.tiles.rooted(Effect.LOAD):
            memory = next(o.kind for o in tile.shape.operands if o.kind.role is Role.MEMORY)
            in_space = memory.address is not None and memory.address.space == space
            if in_space and tile.goal == self.home(I64) and tile.type == I64:
                return tile
        raise UnsupportedError(f"{self.machine.name} has no load of an argument")

    # The function as a whole

    def _assemble(
        self,
        branches: dict[ir.BasicBlock, list[MachineInstruction]],
        constants: dict[ir.BasicBlock, list[MachineInstruction]],
    ) -> None:
        for block in self.blocks:
            machine_block = MachineBlock(
                block.name,
                successors=tuple(dict.fromkeys(s.name for s in block.successors)),
                loop_depth=self.flow.depth[block],
            )
            if block is self.function.entry:
                machine_block.instructions += self.arrivals
            machine_block.instructions += constants.get(block, ())
            for instruction in block.instructions:
                if instruction in self.code:
                    machine_block.instructions += self.code[instruction].code
            machine_block.instructions += branches[block]
            self.result.blocks.append(machine_block)
        self.result.incoming.sort(key=lambda pair: pair[0].number)
        if self.jump is not None:
            PhiPlacer(
                self.result, self.machine.isa.registers, self.jump, self.edges,
                self._edge_depths(), self._phi_origins(), self.journal,
            ).place()  # fmt: skip
        drop_fallthrough_jumps(self.result)
        fill_origins(self.result)

    def _edge_depths(self) -> dict[tuple[str, str], int]:
        return {
            (block.name, successor.name): self.flow.common_depth(block, successor)
            for block in self.blocks
            for successor in block.successors
        }

    def _phi_origins(self) -> dict[str, tuple[str, ...]]:
        return {
            block.name: tuple(dict.fromkeys(o for phi in block.phis for o in phi.origins))
            for block in self.blocks
        }

    def _record(self) -> None:
        """One decision per emitted tree: what covers its root and what else would have."""
        for node, (inner, choice) in self.emitter.targets.items():
            if isinstance(choice, Tiled):
                fitted = self.emitter.tiler.alternatives.get(inner, [])
                self.journal.record(tile_decision(node, choice, fitted))
        for block in self.blocks:
            for instruction in block.instructions:
                if instruction.opcode is Opcode.STORE:
                    node = self.builder.node(instruction)
                    chosen = self.emitter.tiler.statement(node)
                    if chosen is not None:
                        fitted = self.emitter.tiler.alternatives.get(node, [])
                        self.journal.record(tile_decision(node, chosen, fitted))


def is_statement(instruction: ir.Instruction) -> bool:
    """Whether a call must be emitted even if nobody uses its value."""
    return instruction.opcode is Opcode.CALL and instruction.has_side_effects
