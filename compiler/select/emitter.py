"""Turns chosen tilings into machine instructions with virtual registers.

Values are emitted on demand: a register that some emitted instruction reads puts its value on the
list. What nobody asks for is never emitted, so values that only existed inside addresses or
compares disappear.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from compiler.llvm import ir
from compiler.machine.code import (
    Address,
    AnyRegister,
    Immediate,
    MachineFunction,
    MachineInstruction,
    MachineNode,
    Operand,
    PoolConstant,
    Role,
    Slot,
    SlotOffset,
    Symbol,
    VirtualRegister,
)
from compiler.select.addresses import AddressMatch
from compiler.select.choices import (
    AddressLeaf,
    Alias,
    Available,
    Choice,
    FixedLeaf,
    FlagsLeaf,
    FrameLeaf,
    ImmediateLeaf,
    Moved,
    RegisterLeaf,
    Tiled,
)
from compiler.select.nodes import Node, NodeKind, constant_bits
from compiler.select.tile import Goal, Tile
from compiler.select.tiles import TileSet
from compiler.select.tiling import Tiler
from isas.effects import Assignment, Constant
from isas.errors import InternalError, UnsupportedError
from isas.model import Role as OperandRole
from isas.model import Shape
from isas.registers import Register
from isas.values import I64


@dataclass(slots=True)
class Place:
    """Where instructions go: the end of `code`, with the HLO instructions they are for."""

    code: list[MachineNode]
    origins: tuple[str, ...] = ()


@dataclass(slots=True)
class Emitter:
    """One function's registers and what is still to be computed into them.

    `registers` maps root nodes (and hoisted constants) to their virtual register; `wanted` are the
    roots that were asked for and not emitted yet; `slots` are the frame places of allocas."""

    tiles: TileSet
    tiler: Tiler
    function: MachineFunction
    registers: dict[Node, VirtualRegister] = field(default_factory=dict)
    targets: dict[Node, tuple[Node, Choice]] = field(default_factory=dict)
    wanted: list[Node] = field(default_factory=list)
    slots: dict[ir.Value, Slot] = field(default_factory=dict)
    pool: dict[tuple[int, int], str] = field(default_factory=dict)

    def register_of(self, node: Node) -> VirtualRegister:
        """The register of a root's value; asks for the value to be computed."""
        found = self.registers.get(node)
        if found is None:
            found = self.registers[node] = self._resolve(node)
        return found

    def _resolve(self, node: Node) -> VirtualRegister:
        goal = self.tiler.home_of(node)
        if node.kind is NodeKind.INPUT or node.kind is NodeKind.CONSTANT:
            self.wanted.append(node)
            return self.function.new_virtual(goal, node.type.total_bits)
        inner, choice = node, self._needed(node, self.tiler.structural(node), goal)
        while isinstance(choice, Alias):
            inner, goal = choice.node, choice.goal
            choice = self._needed(inner, self.tiler.labels(inner), goal)
        if isinstance(choice, Available):
            return self.register_of(inner)
        self.targets[node] = (inner, choice)
        self.wanted.append(node)
        return self.function.new_virtual(goal, inner.type.total_bits)

    def _needed(self, node: Node, labels: Mapping[Goal, Choice], goal: Goal) -> Choice:
        choice = labels.get(goal)
        if choice is None:
            raise uncovered(node, self.tiles.machine.name)
        return choice

    def emit_root(self, node: Node, place: Place) -> None:
        """Computes a wanted root into its register."""
        inner, choice = self.targets[node]
        labels = self.tiler.structural(inner)
        self._emit_choice(inner, choice, labels, place, self.registers[node])

    def emit(
        self, node: Node, goal: Goal, place: Place, target: AnyRegister | None = None
    ) -> AnyRegister:
        """Brings a node into a register of class `goal` (into `target`, if given, unless the value
        is in a register already) and returns that register."""
        labels = self.tiler.labels(node)
        return self._emit_choice(node, self._needed(node, labels, goal), labels, place, target)

    def _emit_choice(
        self,
        node: Node,
        choice: Choice,
        labels: Mapping[Goal, Choice],
        place: Place,
        target: AnyRegister | None,
    ) -> AnyRegister:
        if isinstance(choice, Available):
            return self.register_of(node)
        if isinstance(choice, Alias):
            return self.emit(choice.node, choice.goal, place, target)
        if isinstance(choice, Moved):
            inner = self._needed(node, labels, choice.source)
            source = self._emit_choice(node, inner, labels, place, None)
            return self.move(choice.tile, source, target, place, node.type.total_bits)
        return self._instantiate(node, choice, place, target)

    def move(
        self, tile: Tile, source: AnyRegister, target: AnyRegister | None, place: Place, bits: int
    ) -> AnyRegister:
        """A register-to-register copy by this tile."""
        result = target or self.function.new_virtual(tile.goal, bits)
        name = next(
            o.name for o in tile.shape.operands if o.name != tile.result and o.kind.is_register
        )
        self._add(tile.shape, {tile.result: result, name: source}, place, role=Role.COPY)
        return result

    # Tiles

    def _instantiate(
        self, node: Node, choice: Tiled, place: Place, target: AnyRegister | None
    ) -> AnyRegister:
        tile = choice.tile
        result = target or self.function.new_virtual(tile.goal, node.type.total_bits)
        if tile.is_fixed_result:
            self.statement(choice, place)
            fixed = self._fixed(tile.result)
            self._copy_from_fixed(fixed, result, node.type.total_bits, place)
            return result
        self.statement(choice, place, {tile.result: result} if tile.result else {})
        return result

    def statement(
        self,
        choice: Tiled,
        place: Place,
        results: Mapping[str, AnyRegister] | None = None,
        extra: Mapping[str, Operand] | None = None,
    ) -> MachineInstruction:
        """Emits a tile's leaves, then the instruction. Flags come last, right in front of their
        reader; fixed registers are loaded in between."""
        inner = self._inner_place(choice, place)
        operands: dict[str, Operand] = dict(extra or {})
        tied: dict[str, AnyRegister] = {}
        fixed: list[tuple[FixedLeaf, AnyRegister]] = []
        written = results or {}
        for leaf in choice.leaves:
            if isinstance(leaf, RegisterLeaf):
                register = self.emit(leaf.node, leaf.goal, inner)
                (tied if leaf.name in written else operands)[leaf.name] = register
            elif isinstance(leaf, ImmediateLeaf):
                operands[leaf.name] = Immediate(leaf.value)
            elif isinstance(leaf, AddressLeaf):
                operands[leaf.name] = self.address(leaf.match, inner)
            elif isinstance(leaf, FrameLeaf):
                operands.update(self._frame_place(leaf))
            elif isinstance(leaf, FixedLeaf):
                fixed.append((leaf, self.emit(leaf.node, leaf.goal, inner)))
        for leaf in choice.leaves:
            if isinstance(leaf, FlagsLeaf):
                self._emit_flags(leaf, inner)
        for fixed_leaf, register in fixed:
            self._copy_to_fixed(fixed_leaf, register, inner)
        for requirement in choice.tile.pattern.requires:
            self._establish(requirement, inner)
        for name, other in choice.tile.same:
            operands[name] = operands.get(other) or tied[other]
        operands.update(written)
        self._fill_rest(choice.tile.shape, operands, tied)
        value = self._value_name(choice)
        return self._add(choice.tile.shape, operands, inner, tied=tied, value=value)

    def _frame_place(self, leaf: FrameLeaf) -> dict[str, Operand]:
        pointer = self.tiles.machine.isa.calling.stack_pointer
        if pointer is None or leaf.node.value is None:
            raise uncovered(leaf.node, self.tiles.machine.name)
        return {leaf.base: pointer, leaf.offset: SlotOffset(self.slots[leaf.node.value])}

    def _emit_flags(self, leaf: FlagsLeaf, place: Place) -> None:
        choice = self.tiler.labels(leaf.node).get(leaf.goal)
        if not isinstance(choice, Tiled):
            raise uncovered(leaf.node, self.tiles.machine.name)
        self.statement(choice, place)

    def address(self, match: AddressMatch, place: Place) -> Address:
        """The operand of a matched address."""
        goal = self.tiler.home(I64)
        base: AnyRegister | Slot | Symbol | None = None
        if match.base is not None:
            if match.base.kind is NodeKind.CONSTANT:
                base = self.symbol(match.base)
            elif match.base.kind is NodeKind.FRAME and match.base.value is not None:
                base = self.slots[match.base.value]
            else:
                base = self.emit(match.base, goal, place)
        index = None if match.index is None else self.emit(match.index, goal, place)
        return Address(base, index, match.scale, match.displacement)

    def symbol(self, node: Node) -> Symbol:
        """The pool entry that holds a constant; equal bits share one."""
        bits, size = constant_bits(node.constant, node.type), max(1, node.type.total_bits // 8)
        name = self.pool.get((bits, size))
        if name is None:
            name = self.pool[(bits, size)] = f"C{len(self.pool)}"
            data = bits.to_bytes(size, "little")
            self.function.constants[name] = PoolConstant(name, data, size)
        return Symbol(name)

    # Fixed registers

    def _fixed(self, name: str) -> Register:
        register = self.tiles.machine.isa.registers.by_name(name)
        if register is None:
            raise InternalError(f"a card names the register {name}, which does not exist")
        return register

    def _copy_to_fixed(self, leaf: FixedLeaf, source: AnyRegister, place: Place) -> None:
        register = self._fixed(leaf.name)
        tile = self._plain_move(register.class_name, register.bits)
        self.move(tile, source, register, place, register.bits)

    def _copy_from_fixed(
        self, register: Register, target: AnyRegister, bits: int, place: Place
    ) -> None:
        tile = self._plain_move(register.class_name, max(bits, 1))
        self.move(tile, register, target, place, bits)

    def _plain_move(self, class_name: str, bits: int) -> Tile:
        """The cheapest copy inside a class of at least this many bits."""
        widths = sorted(
            width
            for source, goal, width in self.tiles.moves
            if source == goal == class_name and width >= bits
        )
        if not widths:
            raise InternalError(f"no instruction copies {bits}-bit registers of {class_name}")
        return self.tiles.moves[(class_name, class_name, widths[0])][0]

    def _establish(self, requirement: Assignment, place: Place) -> None:
        """Makes an implicit register hold what a pattern requires of it."""
        assert requirement.target is not None
        name = requirement.target.name
        if isinstance(requirement.expression, Constant):
            register = self._fixed(name)
            self.constant_into(register, int(requirement.expression.value), place)
            return
        for shape in self.tiles.machine.shapes:
            if shape.operands or len(shape.effects) != 1:
                continue
            effect = shape.effects[0]
            same_target = effect.target is not None and effect.target.name == name
            if same_target and effect.expression == requirement.expression:
                self._add(shape, {}, place)
                return
        raise UnsupportedError(f"no instruction of {self.tiles.machine.name} gives {requirement}")

    def constant_into(self, register: Register, value: int, place: Place) -> None:
        """Sets a physical register to a number."""
        for tile in self.tiles.constants:
            kind = tile.shape.by_name[tile.result].kind if tile.result else None
            if kind is None or tile.goal != register.class_name or kind.bits != register.bits:
                continue
            names = [o.name for o in tile.shape.operands if o.kind.role is OperandRole.IMMEDIATE]
            if len(names) == 1:
                operands: dict[str, Operand] = {
                    tile.result: register,
                    names[0]: Immediate(value),
                }
                self._add(tile.shape, operands, place)
                return
        raise UnsupportedError(f"no instruction sets {register} to {value}")

    # Instructions

    def _fill_rest(
        self, shape: Shape, operands: dict[str, Operand], tied: Mapping[str, AnyRegister]
    ) -> None:
        """An operand that only fills the destination's upper bits: any register read anyway."""
        if shape.rest is None or shape.rest in operands:
            return
        class_name = shape.by_name[shape.rest].kind.class_name
        read = [operand for name, operand in operands.items() if name not in shape.facts.writes]
        for operand in [*read, *tied.values()]:
            if _class_of(operand) == class_name:
                operands[shape.rest] = operand
                return
        raise InternalError(f"nothing can stand for operand {shape.rest} of {shape.title}")

    def _inner_place(self, choice: Tiled, place: Place) -> Place:
        origins = dict.fromkeys(
            origin
            for node in choice.covered
            if isinstance(node.value, ir.Instruction)
            for origin in node.value.origins
        )
        return Place(place.code, tuple(origins) or place.origins)

    def _value_name(self, choice: Tiled) -> str:
        return next((n.value.name for n in choice.covered if n.value is not None), "")

    def _add(
        self,
        shape: Shape,
        operands: Mapping[str, Operand],
        place: Place,
        *,
        tied: Mapping[str, AnyRegister] | None = None,
        role: Role = Role.COMPUTE,
        value: str = "",
    ) -> MachineInstruction:
        ordered = {o.name: operands[o.name] for o in shape.operands if o.name in operands}
        if len(ordered) != len(shape.operands):
            missing = [o.name for o in shape.operands if o.name not in operands]
            raise InternalError(f"operand {missing[0]} of {shape.title} was not bound")
        different = {n: r for n, r in (tied or {}).items() if r != ordered[n]}
        instruction = MachineInstruction(
            shape, ordered, place.origins, value, tied=different, role=role
        )
        place.code.append(instruction)
        return instruction


def _class_of(operand: Operand) -> str:
    if isinstance(operand, VirtualRegister):
        return operand.register_class
    return operand.class_name if isinstance(operand, Register) else ""


def uncovered(node: Node, machine: str) -> UnsupportedError:
    """No instructions of the machine compute this node."""
    operation = node.title
    origins: tuple[str, ...] = ()
    if isinstance(node.value, ir.Instruction):
        origins = node.value.origins
        operation = f"{node.value.opcode.value} {node.value.callee}".strip()
    source = f" (from {', '.join(origins)})" if origins else ""
    return UnsupportedError(
        f"{machine} has no instructions for {operation} giving {node.type}{source}", node.title
    )
