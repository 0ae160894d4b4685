"""Groups of instructions on their way to becoming kernels, over one computation.

Every instruction that may be fused starts in a group of its own, its *home*. Groups merge; cheap
instructions may also be copied into further groups. Constants and broadcasts of scalars belong to
no group: each group takes in those it needs when it is made into a computation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from compiler.hlo.elements import has_elemental_view
from compiler.hlo.kernels import is_scalar_broadcast, keeps_order
from compiler.hlo.module import Computation, Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ArrayShape, leaves


@dataclass(slots=True)
class Group:
    """The instructions of one future kernel, in the computation's order."""

    number: int
    names: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Graph:
    """The groups of a computation. ``homes`` maps an instruction to the group that defines it,
    ``copies`` to the further groups that compute it again."""

    computation: Computation
    positions: dict[str, int] = field(default_factory=dict)
    groups: dict[int, Group] = field(default_factory=dict)
    homes: dict[str, int] = field(default_factory=dict)
    copies: dict[str, set[int]] = field(default_factory=dict)
    instructions: dict[str, Instruction] = field(default_factory=dict)
    absorbed: dict[str, bool] = field(default_factory=dict)
    free_moves: dict[str, bool] = field(default_factory=dict)

    def instruction(self, name: str) -> Instruction:
        return self.instructions[name]

    def is_absorbed(self, name: str) -> bool:
        """True of scalar constants and scalar broadcasts, which every group takes in by itself."""
        found = self.absorbed.get(name)
        if found is None:
            found = self.absorbed[name] = self._is_absorbed(name)
        return found

    def _is_absorbed(self, name: str) -> bool:
        instruction = self.instruction(name)
        if instruction.opcode is Opcode.CONSTANT:
            return instruction.is_array and instruction.array.is_scalar
        return is_scalar_broadcast(self.computation, instruction)

    def is_free_move(self, name: str) -> bool:
        """True of a bitcast, and of a move that keeps every element at its place in memory."""
        found = self.free_moves.get(name)
        if found is None:
            instruction = self.instruction(name)
            is_bitcast = instruction.opcode is Opcode.BITCAST
            found = is_bitcast or keeps_order(self.computation, instruction)
            self.free_moves[name] = found
        return found

    def holders(self, name: str) -> list[int]:
        """The groups that compute an instruction: its home first."""
        home = self.homes.get(name)
        found = [] if home is None else [home]
        return found + sorted(self.copies.get(name, ()))

    def ordered(self, names: Iterable[str]) -> list[str]:
        return sorted(names, key=self.positions.__getitem__)

    def closure(self, names: Iterable[str]) -> list[str]:
        """The instructions with the scalar constants and broadcasts that they need, in order.

        A dot reads its operands from memory, so it takes in nothing.
        """
        found = set(names)
        waiting = list(found)
        while waiting:
            instruction = self.instruction(waiting.pop())
            if instruction.opcode is Opcode.DOT:
                continue
            for operand in instruction.operands:
                if operand not in found and self.is_absorbed(operand):
                    found.add(operand)
                    waiting.append(operand)
        return self.ordered(found)

    def inputs(self, names: Iterable[str]) -> list[str]:
        """What a set of instructions takes from outside, in order of first use."""
        inside = self.closure(names)
        held = set(inside)
        operands = (n for name in inside for n in self.instruction(name).operands)
        return list(dict.fromkeys(n for n in operands if n not in held))

    def consumers(self, name: str) -> tuple[list[int], bool]:
        """The groups that take an instruction's value from outside, and whether others do."""
        found: dict[int, None] = {}
        outside = name == self.computation.root
        for user in self.ordered(self._through_absorbed(set(self.computation.users(name)))):
            holders = self.holders(user)
            outside = outside or not holders
            found.update((h, None) for h in holders if name not in self.groups[h].names)
        return list(found), outside

    def _through_absorbed(self, users: set[str]) -> set[str]:
        """Users, those of absorbed scalar broadcasts in place of the broadcasts."""
        found: set[str] = set()
        waiting = list(users)
        while waiting:
            user = waiting.pop()
            if not self.is_absorbed(user):
                found.add(user)
                continue
            waiting.extend(self.computation.users(user))
            if self.is_materialised(user):
                found.add(user)
        return found

    def is_materialised(self, name: str) -> bool:
        """True of an absorbed instruction whose array somebody needs in memory as well."""
        users = map(self.instruction, self.computation.users(name))
        return name == self.computation.root or any(map(self._reads_memory, users))

    def _reads_memory(self, user: Instruction) -> bool:
        if user.opcode is Opcode.DOT:
            return True
        home = self.homes.get(user.name)
        return not self.is_absorbed(user.name) if home is None else is_passive(self, home)

    def outputs(self, names: Iterable[str], merged: Iterable[int]) -> list[str]:
        """What others would need of some instructions if the groups ``merged`` became one.

        Copies, whose home is another group, are needed by nobody else.
        """
        gone, inside = set(merged), set(names)
        found = []
        for name in self.ordered(n for n in inside if self.homes.get(n) in gone):
            if self._stays_inside(name, inside):
                continue
            consumers, outside = self.consumers(name)
            if outside or any(c not in gone for c in consumers):
                found.append(name)
        return found

    def _stays_inside(self, name: str, inside: set[str]) -> bool:
        """Whether all users of an instruction are among these and nowhere else, at a glance."""
        return name != self.computation.root and all(
            user in inside and not self.copies.get(user) for user in self.computation.users(name)
        )

    def merge(self, target: int, others: Iterable[int]) -> None:
        """Moves everything that other groups hold into one. Ask `Order.admits` first."""
        for number in others:
            for name in self.groups.pop(number).names:
                self._rehome(name, number, target)

    def _rehome(self, name: str, source: int, target: int) -> None:
        copies = self.copies.setdefault(name, set())
        copies.discard(source)
        if self.homes.get(name) in (source, target):
            self.homes[name] = target
            copies.discard(target)
        else:
            copies.add(target)
        self.groups[target].names.add(name)

    def copy_into(self, name: str, target: int) -> None:
        """Lets a group compute an instruction for itself."""
        self.groups[target].names.add(name)
        self.copies.setdefault(name, set()).add(target)

    def drop_home(self, name: str) -> None:
        """Removes an instruction's own group; every use has its copy."""
        number = self.homes.pop(name)
        self.groups[number].names.discard(name)
        if not self.groups[number].names:
            del self.groups[number]


def build_graph(computation: Computation, fusible: frozenset[Opcode]) -> Graph:
    """One group per instruction that may be part of a kernel with others."""
    positions = {i.name: p for p, i in enumerate(computation)}
    graph = Graph(computation, positions, instructions={i.name: i for i in computation})
    for instruction in computation:
        if not graph.is_absorbed(instruction.name) and _may_fuse(computation, instruction, fusible):
            _give_home(graph, instruction)
    return graph


def _give_home(graph: Graph, instruction: Instruction) -> None:
    if instruction.opcode is Opcode.GET_TUPLE_ELEMENT:
        number = graph.homes[instruction.operands[0]]
    else:
        number = len(graph.groups)
        graph.groups[number] = Group(number)
    graph.groups[number].names.add(instruction.name)
    graph.homes[instruction.name] = number


def _may_fuse(
    computation: Computation, instruction: Instruction, fusible: frozenset[Opcode]
) -> bool:
    if instruction.opcode is Opcode.GET_TUPLE_ELEMENT:
        source = computation.instruction(instruction.operands[0])
        return source.opcode is Opcode.REDUCE and _may_fuse(computation, source, fusible)
    if instruction.opcode in (Opcode.PARAMETER, Opcode.CONSTANT) or not _is_plain(instruction):
        return False
    if any(not _is_plain(operand) for operand in computation.operands(instruction)):
        return False
    if instruction.opcode in (Opcode.REDUCE, Opcode.DOT):
        return True
    return instruction.opcode in fusible and has_elemental_view(instruction)


def _is_plain(instruction: Instruction) -> bool:
    """True when all results are static arrays, without tiles or packed elements."""
    found = leaves(instruction.shape)
    return all(isinstance(s, ArrayShape) and s.is_static and _is_simple(s) for s in found)


def _is_simple(shape: ArrayShape) -> bool:
    layout = shape.layout
    return layout is None or not (layout.tiles or layout.element_size_bits or layout.memory_space)


def is_passive(graph: Graph, number: int) -> bool:
    """True of a group that only renames memory: bitcasts and moves that keep the order."""
    return all(graph.is_free_move(name) for name in graph.groups[number].names)
