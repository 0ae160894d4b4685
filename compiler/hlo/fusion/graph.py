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


@dataclass(slots=True, eq=False)
class Group:
    """The instructions of one future kernel. Everything is kept up to date while groups grow, since
    a kernel of a thousand instructions grows a thousand times.

    ``last`` is the last instruction in the computation's order, ``inside`` the closure of ``names``
    (see `Graph.closure`), ``inputs`` what that takes from elsewhere, ``outputs`` a superset of the
    members that others need, ``controls`` the control predecessors.
    """

    number: int
    last: str
    names: set[str] = field(default_factory=set)
    inside: set[str] = field(default_factory=set)
    inputs: set[str] = field(default_factory=set)
    outputs: set[str] = field(default_factory=set)
    controls: set[str] = field(default_factory=set)

    def absorb(self, other: Group) -> None:
        """Takes in what another group computes, outputs apart."""
        self.names |= other.names
        self.inside |= other.inside
        self.inputs |= other.inputs
        self.inputs = {name for name in self.inputs if name not in self.inside}
        self.controls |= other.controls


@dataclass(slots=True)
class Graph:
    """The groups of a computation. ``homes`` maps an instruction to the group that defines it,
    ``copies`` to the further groups that compute it again; a copied instruction that no group
    defines any more keeps its entry there."""

    computation: Computation
    positions: dict[str, int] = field(default_factory=dict)
    groups: dict[int, Group] = field(default_factory=dict)
    homes: dict[str, Group] = field(default_factory=dict)
    copies: dict[str, set[Group]] = field(default_factory=dict)
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

    def home(self, name: str) -> int | None:
        """The group that defines an instruction."""
        group = self.homes.get(name)
        return None if group is None else group.number

    def holders(self, name: str) -> list[int]:
        """The groups that compute an instruction: its home first."""
        home = self.homes.get(name)
        found = [] if home is None else [home.number]
        return found + sorted(group.number for group in self.copies.get(name, ()))

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
        return name == self.computation.root or any(map(self.reads_memory, users))

    def reads_memory(self, user: Instruction) -> bool:
        """True of a user that takes no scalar constants and broadcasts in."""
        if user.opcode is Opcode.DOT:
            return True
        home = self.home(user.name)
        return not self.is_absorbed(user.name) if home is None else is_passive(self, home)

    def outputs(self, merged: Iterable[int]) -> list[str]:
        """What others would need if some groups became one, in order.

        Copies, whose home is another group, are needed by nobody else. Merging and copying never
        give a member its first consumer elsewhere, so only what was an output can be one.
        """
        gone = set(merged)
        found = set()
        for number in gone:
            for name in self.groups[number].outputs:
                consumers, outside = self.consumers(name)
                if outside or any(c not in gone for c in consumers):
                    found.add(name)
        return self.ordered(found)

    def merged_inputs(self, numbers: Iterable[int]) -> set[str]:
        """What some groups together take from elsewhere."""
        groups = [self.groups[n] for n in numbers]
        found = {name for group in groups for name in group.inputs}
        return {name for name in found if not any(name in g.inside for g in groups)}

    def merge(self, target: int, others: Iterable[int]) -> None:
        """Moves everything that other groups hold into one. Ask `Order.admits` first."""
        numbers = [target, *others]
        outputs = self.outputs(numbers)
        groups = [self.groups.pop(number) for number in numbers]
        largest = max(groups, key=lambda group: len(group.names))
        for group in groups:
            if group is not largest:
                self._rehome(group, largest)
                largest.absorb(group)
        largest.last = max((g.last for g in groups), key=self.positions.__getitem__)
        largest.outputs = set(outputs)
        largest.number = target
        self.groups[target] = largest

    def _rehome(self, source: Group, target: Group) -> None:
        for name in source.names:
            copies = self.copies.get(name, set())
            copies.discard(source)
            if self.homes.get(name) in (source, target):
                self.homes[name] = target
                copies.discard(target)
            else:
                copies.add(target)

    def copy_into(self, number: int, target: int) -> None:
        """Lets a group compute for itself what another one defines."""
        source, group = self.groups[number], self.groups[target]
        group.absorb(source)
        group.last = max(group.last, source.last, key=self.positions.__getitem__)
        for name in source.names:
            self.copies.setdefault(name, set()).add(group)

    def drop(self, number: int) -> None:
        """Removes a group; every use of what it defines has its copy."""
        for name in self.groups.pop(number).names:
            del self.homes[name]


def build_graph(computation: Computation, fusible: frozenset[Opcode]) -> Graph:
    """One group per instruction that may be part of a kernel with others."""
    positions = {i.name: p for p, i in enumerate(computation)}
    graph = Graph(computation, positions, instructions={i.name: i for i in computation})
    for instruction in computation:
        if not graph.is_absorbed(instruction.name) and _may_fuse(computation, instruction, fusible):
            _give_home(graph, instruction)
    return graph


def _give_home(graph: Graph, instruction: Instruction) -> None:
    name = instruction.name
    if instruction.opcode is Opcode.GET_TUPLE_ELEMENT:
        group = graph.homes[instruction.operands[0]]
        group.last = name
    else:
        group = Group(len(graph.groups), name)
        graph.groups[group.number] = group
    group.names.add(name)
    group.outputs.add(name)
    group.inside.update(graph.closure(group.names))
    group.inputs.update(graph.inputs(group.names))
    group.controls.update(instruction.control_predecessors)
    graph.homes[name] = group


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
