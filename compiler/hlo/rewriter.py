"""How a pass makes a new module from an old one.

A `Rewriter` hands out names that are fresh in the whole module and collects changed computations;
a `ComputationEditor` records the edits of one computation (additions, replacements, a new root) and
builds the result: unchanged instructions are shared, operands follow replacements, additions stand
before the instruction they were made for, and the order is repaired where an edit broke it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from compiler.hlo.attributes import NO_ATTRIBUTES, Attributes, Metadata
from compiler.hlo.literal import Literal
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import Shape
from isas.errors import InternalError

_SUFFIX = re.compile(r"\.\d+$")


def merged_origins(sources: Iterable[Instruction]) -> tuple[str, ...]:
    """The origins of several instructions, each once, in order."""
    return tuple(dict.fromkeys(name for source in sources for name in source.origins))


class Names:
    """Names that do not occur yet: ``add``, ``add.1``, ``add.2`` ..."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def fresh(self, hint: str) -> str:
        """A new name made of the hint without its number."""
        base = _SUFFIX.sub("", hint) or "value"
        if base not in self._taken:
            self._taken.add(base)
            return base
        number = self._next.get(base, 1)
        while f"{base}.{number}" in self._taken:
            number += 1
        self._next[base] = number + 1
        name = f"{base}.{number}"
        self._taken.add(name)
        return name


class ComputationEditor:
    """The pending edits of one computation. Made by `Rewriter.edit`; `Rewriter.build` applies
    it.
    """

    def __init__(self, computation: Computation, names: Names) -> None:
        self.computation = computation
        self._names = names
        self._before: dict[str, list[str]] = {}
        self._at_end: list[str] = []
        self._new: dict[str, Instruction] = {}
        self._replaced: dict[str, str] = {}
        self._rewritten: dict[str, Instruction] = {}
        self._elements: dict[str, str] = {}
        self._root = computation.root

    def instruction(self, name: str) -> Instruction:
        """The present state of an instruction, old or added (operands as last written)."""
        found = self._rewritten.get(name) or self._new.get(name)
        return found or self.computation.instruction(name)

    def resolve(self, name: str) -> str:
        """The name that stands for an instruction now, replacements followed."""
        seen = name
        while seen in self._replaced:
            seen = self._replaced[seen]
        return self._elements.get(seen, seen)

    def add(
        self,
        opcode: Opcode,
        shape: Shape,
        operands: Sequence[str] = (),
        attributes: Attributes = NO_ATTRIBUTES,
        *,
        sources: Sequence[Instruction] = (),
        before: str | None = None,
        name: str | None = None,
        literal: Literal | None = None,
        metadata: Metadata | None = None,
    ) -> str:
        """Adds an instruction and returns its fresh name.

        ``sources`` are the instructions it stems from (origins, and metadata of the last one);
        ``before`` the old instruction in front of which it stands, at the end when None.
        """
        fresh = self._names.fresh(name or opcode.text)
        if metadata is None and sources:
            metadata = sources[-1].metadata
        instruction = Instruction(
            name=fresh,
            opcode=opcode,
            shape=shape,
            operands=tuple(operands),
            attributes=attributes,
            literal=literal,
            metadata=metadata,
            origin=merged_origins(sources),
            line=sources[-1].line if sources else 0,
        )
        self._place(instruction, before)
        return fresh

    def insert(self, instruction: Instruction, before: str | None = None) -> str:
        """Adds a ready instruction under its own name, made fresh when taken; returns the name."""
        fresh = self._names.fresh(instruction.name)
        self._place(replace(instruction, name=fresh, origin=instruction.origins), before)
        return fresh

    def _place(self, instruction: Instruction, before: str | None) -> None:
        self._new[instruction.name] = instruction
        if before is None:
            self._at_end.append(instruction.name)
        else:
            self._before.setdefault(before, []).append(instruction.name)

    def replace(self, old: str, new: str) -> None:
        """Lets every user of one instruction (and the root) take another; the old one goes away."""
        if self.resolve(new) == self.resolve(old):
            raise InternalError(f"{old} cannot be replaced by {new}, which stands for it already")
        self._replaced[self.resolve(old)] = self.resolve(new)

    def rewrite(self, instruction: Instruction) -> None:
        """Changes an instruction in place: same name, new content."""
        target = self._new if instruction.name in self._new else self._rewritten
        target[instruction.name] = instruction

    def widen(self, instruction: Instruction, element: str | None) -> None:
        """Changes an instruction so that it yields more. ``element`` is the added instruction that
        hands its one former result to its users; None when it had several already."""
        self.rewrite(instruction)
        if element is not None:
            self._elements[instruction.name] = element

    def remove(self, *names: str) -> None:
        """Drops instructions; the caller vouches that nobody uses them any more."""
        for name in names:
            self._replaced[name] = ""

    def set_root(self, name: str) -> None:
        self._root = name

    @property
    def is_changed(self) -> bool:
        edited = self._new or self._replaced or self._rewritten
        return bool(edited) or self._root != self.computation.root

    def build(self) -> Computation:
        """The edited computation; the old object itself when nothing was changed."""
        if not self.is_changed:
            return self.computation
        kept = [self._finish(name) for name in self._order() if name not in self._replaced]
        root = self.resolve(self._root)
        return replace(self.computation, instructions=in_topological_order(kept), root=root)

    def _order(self) -> list[str]:
        order: list[str] = []
        for old in self.computation.instructions:
            order.extend(self._before.get(old.name, ()))
            order.append(old.name)
        order.extend(self._at_end)
        placed = set(order)
        late = [name for names in self._before.values() for name in names if name not in placed]
        return order + late

    def _finish(self, name: str) -> Instruction:
        instruction = self.instruction(name)
        if not self._replaced and not self._elements:
            return instruction
        if instruction.opcode is Opcode.GET_TUPLE_ELEMENT and (
            instruction.operands[0] in self._elements
        ):
            return instruction
        finished = instruction.with_operands(tuple(map(self.resolve, instruction.operands)))
        predecessors = finished.control_predecessors
        if not predecessors:
            return finished
        resolved = tuple(dict.fromkeys(filter(None, map(self.resolve, predecessors))))
        if resolved == predecessors:
            return finished
        attributes = finished.attributes.without("control-predecessors")
        if resolved:
            attributes = attributes.updated({"control-predecessors": resolved})
        return replace(finished, attributes=attributes)


def in_topological_order(instructions: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """The instructions with operands before users, otherwise in the given order.

    Raises InternalError on a cycle. Operands that are not in the list are left to the verifier.
    """
    by_name = {i.name: i for i in instructions}
    done: dict[str, Instruction] = {}
    for instruction in instructions:
        _emit_with_operands(instruction, by_name, done)
    return tuple(done.values())


def _emit_with_operands(
    instruction: Instruction, by_name: dict[str, Instruction], done: dict[str, Instruction]
) -> None:
    stack = [instruction]
    open_names: set[str] = set()
    while stack:
        top = stack[-1]
        if top.name in done:
            stack.pop()
            continue
        needed = [*top.operands, *top.control_predecessors]
        waiting = [n for n in needed if n in by_name and n not in done]
        if not waiting:
            done[top.name] = stack.pop()
            continue
        if top.name in open_names:
            raise InternalError(f"instruction {top.name} depends on itself")
        open_names.add(top.name)
        stack.extend(by_name[name] for name in reversed(waiting))


class Rewriter:
    """Builds a module from an old one: edits and added computations."""

    def __init__(self, module: Module) -> None:
        self.module = module
        taken = [c.name for c in module.computations]
        taken.extend(i.name for c in module.computations for i in c.instructions)
        self.names = Names(taken)
        self._editors: dict[str, ComputationEditor] = {}
        self._added: list[Computation] = []

    def edit(self, name: str) -> ComputationEditor:
        """The editor of a computation (the same one every time)."""
        if name not in self._editors:
            computation = self.module.computation(name)
            self._editors[name] = ComputationEditor(computation, self.names)
        return self._editors[name]

    def replace_computation(self, computation: Computation) -> None:
        """Puts another computation in the place of the one with the same name."""
        self._editors[computation.name] = ComputationEditor(computation, self.names)

    def add_computation(self, computation: Computation) -> None:
        """Adds a computation; it is printed before the entry. Its name must be fresh."""
        self._added.append(computation)

    def build(self) -> Module:
        """The new module; the old object itself when nothing was changed."""
        built = [
            self._editors[c.name].build() if c.name in self._editors else c
            for c in self.module.computations
        ]
        unchanged = all(map(_same, built, self.module.computations))
        if unchanged and not self._added:
            return self.module
        return self.module.with_computations(self._ordered(built))

    def _ordered(self, built: list[Computation]) -> tuple[Computation, ...]:
        entry = next((i for i, c in enumerate(built) if c.name == self.module.entry), len(built))
        return tuple(built[:entry] + self._added + built[entry:])


def _same(one: Computation, other: Computation) -> bool:
    return one is other
