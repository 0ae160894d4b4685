"""Asks the tiler what a machine can compute, so that everything else is rewritten before
selection."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import TypeGuard

from compiler.llvm import ir
from compiler.llvm.ir import Opcode
from compiler.llvm.legal.bounds import is_mask, upper_bound
from compiler.llvm.types import Type
from compiler.select.choices import Labels
from compiler.select.homes import homes_of
from compiler.select.nodes import Node, NodeBuilder, NodeKind, value_type
from compiler.select.tile import Tile
from compiler.select.tiles import tiles_of
from compiler.select.tiling import Tiler
from isas.effects import EFFECTS, Apply, Effect, Expression, Operand, Rule, walk
from isas.errors import UnsupportedError
from isas.model import Machine
from isas.values import I32, ValueType


@lru_cache(maxsize=16)
def coverage_of(machine: Machine) -> Coverage:
    """The machine's coverage, with what was asked before remembered."""
    return Coverage(machine)


_DEEPEST = 4
"""How far into its operands a pattern may reach that covers an otherwise uncovered operation."""


class Coverage:
    """What one machine covers. Operands count as available in their home registers; if that is not
    enough, an operation is looked at together with the comparisons and single-use values it is made
    of."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.tiles = tiles_of(machine)
        self.home = homes_of(self.tiles)
        self._known: dict[Hashable, bool] = {}
        self._asked: dict[ir.Instruction, bool] = {}

    def legal(self, effect: str, type: Type) -> bool:
        """Whether some instruction computes `effect` on operands of `type` (its result follows)."""
        if effect in ("icmp", "fcmp"):
            return self._compares(effect, value_type(type))
        found = EFFECTS.get(effect)
        if found is None:
            return False
        wanted = value_type(type)
        key = ("legal", effect, wanted)
        if key not in self._known:
            self._known[key] = self._is_legal(found, wanted)
        return self._known[key]

    def _compares(self, kind: str, type: ValueType) -> bool:
        """Whether any instruction compares such operands, wherever the outcome lands."""
        key = ("compares", kind, type)
        if key not in self._known:
            rule = Rule.ICMP if kind == "icmp" else Rule.FCMP
            self._known[key] = any(
                isinstance(node, Apply)
                and node.effect.rule is rule
                and node.arguments[0].type == type
                and self._is_at_home(tile, node.arguments)
                for tile in self._all_tiles()
                for node in walk(tile.expression)
            )
        return self._known[key]

    def _is_at_home(self, tile: Tile, arguments: tuple[Expression, ...]) -> bool:
        """Whether the compared registers are those that values of their type live in."""
        kinds = [(tile.shape.by_name[a.name].kind, a.type) for a in arguments if is_operand(a)]
        return all(
            not kind.is_register or kind.class_name == self.home(type) for kind, type in kinds
        )

    def _all_tiles(self) -> Iterator[Tile]:
        yield from self.tiles.branches
        for tiles in self.tiles.by_effect.values():
            yield from tiles

    def _is_legal(self, effect: Effect, type: ValueType) -> bool:
        for tile in self.tiles.rooted(effect):
            arguments = getattr(tile.expression, "arguments", ())
            if tile.goal.startswith("flags:") or not arguments:
                continue
            operand = arguments[-1] if effect is Effect.SELECT else arguments[0]
            if operand.type == type and not _is_compound(arguments[0]):
                return True
        return False

    def covers(self, instruction: ir.Instruction) -> bool:
        """Whether selection can compute this instruction where it stands."""
        opcode = instruction.opcode
        if opcode in (Opcode.RET, Opcode.UNREACHABLE, Opcode.ALLOCA):
            return True
        if opcode is Opcode.BR and not instruction.operands:
            return True
        self._asked.clear()
        return self._is_covered(instruction)

    def _is_covered(self, instruction: ir.Instruction) -> bool:
        """By itself, or else together with what only it uses, down to the deepest level. Answers
        are remembered until the next question; the IR may change in between."""
        found = self._asked.get(instruction)
        if found is None:
            is_alone = instruction.opcode is not Opcode.BR and self._ask(instruction, _DEEPEST)
            found = self._asked[instruction] = is_alone or self._ask(instruction, 0)
        return found

    def _ask(self, instruction: ir.Instruction, depth: int) -> bool:
        key = self._key(instruction, depth, {})
        if key not in self._known:
            self._known[key] = self._covers(instruction, depth)
        return self._known[key]

    def is_left_to_users(self, instruction: ir.Instruction) -> bool:
        """Whether a value need not have a register because every user covers it as a part."""
        users = instruction.users
        if not users or not (_is_compare(instruction) or len(users) == 1):
            return False
        self._asked.clear()
        return all(
            user.opcode is not Opcode.PHI
            and (user.block is instruction.block or _is_compare(instruction))
            and self._ask(user, 0)
            for user in users
        )

    def _covers(self, instruction: ir.Instruction, depth: int) -> bool:
        try:
            return self._has_choice(instruction, depth)
        except UnsupportedError:
            return False

    def _has_choice(self, instruction: ir.Instruction, depth: int) -> bool:
        opcode = instruction.opcode
        if opcode is Opcode.PHI:
            return self._holds(instruction.type)
        builder = NodeBuilder()
        tiler = Tiler(self.tiles, self.home)
        if opcode is Opcode.BR:
            return self._branches(instruction, builder, tiler)
        node = self._node(instruction, builder, depth)
        if node.kind is NodeKind.STORE:
            return tiler.statement(node) is not None
        if node.effect is Effect.BARRIER:
            return any(shape.facts.is_barrier for shape in self.machine.shapes)
        return self._reaches_home(tiler.structural(node), node.type)

    def _reaches_home(self, labels: Labels, type: ValueType) -> bool:
        return self.home(type) in labels

    def _branches(self, instruction: ir.Instruction, builder: NodeBuilder, tiler: Tiler) -> bool:
        condition = self._operand(instruction.operands[0], instruction, builder, 0)
        branch = Node(NodeKind.BRANCH, condition.type, None, (condition,))
        if tiler.statement(branch) is not None:
            return True
        guards = self.machine.isa.guards
        return guards is not None and guards.class_name in tiler.labels(condition)

    def _holds(self, type: Type) -> bool:
        """Whether values of a type can be kept in registers and copied between them."""
        value = value_type(type)
        try:
            goal = self.home(value)
        except UnsupportedError:
            return False
        if value.bits == 1:
            return not value.is_vector and self._has_bool_registers()
        widest = max(v.bits for v in self.machine.isa.registers.classes[goal].views.values())
        core_bits = self.machine.core.vector_bits
        limit = min(widest, core_bits) if value.is_vector and core_bits else widest
        return value.total_bits <= limit

    def _has_bool_registers(self) -> bool:
        return any(
            tile.type == ValueType(I32.kind, 1) and not tile.goal.startswith("flags:")
            for tile in self.tiles.rooted(Effect.ICMP_EQ)
        )

    def _node(self, instruction: ir.Instruction, builder: NodeBuilder, depth: int) -> Node:
        """The instruction's node with its operands already decided on."""
        for operand in _inner_operands(instruction):
            if operand not in builder.nodes:
                builder.nodes[operand] = self._operand(operand, instruction, builder, depth)
        return builder.node(instruction)

    def _operand(
        self, operand: ir.Value, user: ir.Instruction, builder: NodeBuilder, depth: int
    ) -> Node:
        if isinstance(operand, ir.Constant):
            return builder.node(operand)
        if isinstance(operand, ir.Instruction) and self._is_inner(operand, user, depth):
            node = self._node(operand, builder, depth + 1)
            node.is_available = self._is_covered(operand)
            return node
        bound = upper_bound(operand) if user.opcode is Opcode.TRUNC else None
        return Node(
            NodeKind.LEAF, value_type(operand.type), is_root=True, bound=bound,
            is_mask=_may_be_tested(user) and is_mask(operand),
        )  # fmt: skip

    def _is_inner(self, operand: ir.Instruction, user: ir.Instruction, depth: int) -> bool:
        """Whether the operand is looked at together with its user."""
        if depth >= _DEEPEST or operand.opcode in (Opcode.PHI, Opcode.ALLOCA):
            return False
        if operand.opcode is Opcode.LOAD and not _is_undisturbed(operand, user):
            return False
        return _is_compare(operand) or (len(operand.users) == 1 and operand.block is user.block)

    def _key(
        self, instruction: ir.Instruction, depth: int, numbers: dict[ir.Value, int]
    ) -> Hashable:
        """What the answer depends on; equal operands are told apart from different ones by
        number."""
        operands: list[Hashable] = []
        for operand in _inner_operands(instruction):
            if isinstance(operand, ir.Constant):
                operands.append((operand.type, repr(operand.value)))
                continue
            number = numbers.setdefault(operand, len(numbers))
            if isinstance(operand, ir.Instruction) and self._is_inner(operand, instruction, depth):
                inner = self._key(operand, depth + 1, numbers)
                operands.append((number, inner, self._is_covered(operand)))
            else:
                bound = upper_bound(operand) if instruction.opcode is Opcode.TRUNC else None
                mask = _may_be_tested(instruction) and is_mask(operand)
                operands.append((number, operand.type, bound, mask))
        return (
            instruction.opcode, instruction.type, instruction.callee, instruction.predicate,
            instruction.mask, instruction.element_type, tuple(operands),
        )  # fmt: skip


def _is_undisturbed(load: ir.Instruction, user: ir.Instruction) -> bool:
    """Whether nothing writes memory between a load and its user in the same block."""
    if load.block is None or load.block is not user.block:
        return False
    instructions = load.block.instructions
    first, last = instructions.index(load), instructions.index(user)
    return not any(may_write(instruction) for instruction in instructions[first:last])


def may_write(instruction: ir.Instruction) -> bool:
    """Whether a load may not be moved across: stores, barriers, unknown calls."""
    return instruction.has_side_effects and not instruction.opcode.is_terminator


def _may_be_tested(user: ir.Instruction) -> bool:
    """Whether it matters to a user that an operand is a mask: it tests the sign."""
    return user.predicate is ir.Predicate.SLT and user.operands[0].type.is_vector


def is_operand(expression: Expression) -> TypeGuard[Operand]:
    return isinstance(expression, Operand)


def _is_compound(argument: Expression) -> bool:
    """Whether a pattern does more than the one operation: its argument is computed, too."""
    if not isinstance(argument, Apply):
        return False
    return argument.effect is not Effect.LOAD and argument.effect.rule is not Rule.CONDITION


def _is_compare(value: ir.Value) -> bool:
    return isinstance(value, ir.Instruction) and value.opcode in (Opcode.ICMP, Opcode.FCMP)


def _inner_operands(instruction: ir.Instruction) -> list[ir.Value]:
    """The operands, and behind a splat's shuffle the scalar that it repeats."""
    operands = list(instruction.operands)
    if instruction.opcode is Opcode.SHUFFLEVECTOR:
        first = operands[0]
        if isinstance(first, ir.Instruction) and first.opcode is Opcode.INSERTELEMENT:
            operands += first.operands[1:2]
    return operands
