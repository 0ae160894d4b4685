"""Inlining: every call, and every fusion that came with the program, is replaced by its body.

JAX wraps helpers such as relu in calls; only what stands in one computation can be simplified and
fused together. Fusions read from a file are opened as well, because this compiler fuses for its
own machines. A map whose body is scalar arithmetic becomes the same arithmetic on arrays. Bodies
keep their names where they are free, and every instruction its origins.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace

from compiler.hlo.attributes import Attributes
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.passes.context import PassContext
from compiler.hlo.rewriter import Names
from compiler.hlo.shape import ArrayShape
from compiler.journal import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Inlined(Decision):
    """A call or fusion gave way to its body."""

    body: str
    instructions: int

    @property
    def template(self) -> str:
        return "{subject}: the {instructions} instructions of {body} stand here now"


def run(module: Module, context: PassContext) -> Module:
    """Inlines all calls and fusions, in every computation; computations nobody uses are dropped."""
    order = module.computations_post_order()
    if not any(_is_opened(module, i) for c in order for i in c):
        return module
    kept = _still_used(module, order)
    taken = [i.name for c in order if c.name in kept for i in c]
    work = _Inliner(module, context, _UniqueNames(set(taken), Names(taken)))
    for computation in order:
        work.done[computation.name] = work.inline(computation)
    finished = tuple(work.done[c.name] for c in module.computations if c.name in kept)
    return module.with_computations(finished)


def _is_inlined(instruction: Instruction) -> bool:
    return instruction.opcode in (Opcode.CALL, Opcode.FUSION)


def _is_opened(module: Module, instruction: Instruction) -> bool:
    return _is_inlined(instruction) or _is_plain_map(module, instruction)


def _is_plain_map(module: Module, instruction: Instruction) -> bool:
    """True of a map whose body is made of elementwise operations on scalars."""
    if instruction.opcode is not Opcode.MAP or not instruction.is_array:
        return False
    (body,) = module.callees(instruction)
    return instruction.array.is_static and all(map(_is_scalar_work, body))


def _is_scalar_work(instruction: Instruction) -> bool:
    if not instruction.is_array or not instruction.array.is_scalar:
        return False
    plain = instruction.opcode.is_elementwise and instruction.opcode is not Opcode.MAP
    return plain or instruction.opcode in (Opcode.PARAMETER, Opcode.CONSTANT)


def _still_used(module: Module, order: Iterable[Computation]) -> set[str]:
    """The computations that something else than a call or fusion refers to."""
    used = {module.entry}
    for computation in order:
        for instruction in computation:
            if not _is_opened(module, instruction):
                used.update(instruction.callees)
    return used


@dataclass(slots=True)
class _UniqueNames:
    """Hands out names, unchanged where they are free. ``used`` are those of the computations that
    stay and those that were handed out."""

    used: set[str]
    names: Names

    def take(self, name: str, own: Container[str]) -> str:
        """A name for an instruction that moves into a computation whose names are ``own``: that
        one may go away itself, and its names be free elsewhere."""
        while name in self.used or name in own:
            name = self.names.fresh(name)
        self.used.add(name)
        return name


@dataclass(slots=True)
class _Inliner:
    """Computations that are done already, by name."""

    module: Module
    context: PassContext
    names: _UniqueNames
    done: dict[str, Computation] = field(default_factory=dict)

    def inline(self, computation: Computation) -> Computation:
        if not any(_is_opened(self.module, i) for i in computation):
            return computation
        placed: list[Instruction] = []
        stands_for: dict[str, str] = {}
        for instruction in computation:
            current = _renamed(instruction, stands_for)
            if not _is_opened(self.module, instruction):
                placed.append(current)
                continue
            body = self.done[instruction.callees[0]]
            if instruction.opcode is Opcode.MAP:
                body = _on_arrays(body, instruction.array)
            stands_for[instruction.name] = self._expand(current, body, computation, placed)
            self.context.record(
                Inlined(
                    subject=instruction.name,
                    origins=instruction.origins,
                    body=body.name,
                    instructions=len(body) - len(body.parameters),
                )
            )
        root = stands_for.get(computation.root, computation.root)
        return replace(computation, instructions=tuple(placed), root=root)

    def _expand(
        self, call: Instruction, body: Computation, into: Computation, placed: list[Instruction]
    ) -> str:
        inner: dict[str, str] = {}
        for parameter in body.parameters:
            inner[parameter.name] = call.operands[parameter.parameter_number]
        for instruction in body:
            if instruction.opcode is Opcode.PARAMETER:
                continue
            copy = _renamed(instruction, inner)
            name = self.names.take(instruction.name, into)
            copy = replace(copy, name=name, origin=instruction.origins)
            inner[instruction.name] = copy.name
            placed.append(copy)
        return inner[body.root]


def _on_arrays(body: Computation, shape: ArrayShape) -> Computation:
    """A scalar computation made to work on arrays of a shape; constants are broadcast."""
    names = Names(i.name for i in body)
    placed: list[Instruction] = []
    stands_for: dict[str, str] = {}
    for instruction in body:
        current = _renamed(instruction, stands_for)
        wide = shape.with_element_type(instruction.array.element_type)
        if instruction.opcode is not Opcode.CONSTANT:
            placed.append(replace(current, shape=wide))
            continue
        spread = Instruction(
            names.fresh(instruction.name),
            Opcode.BROADCAST,
            wide,
            (instruction.name,),
            Attributes(dimensions=()),
            origin=instruction.origins,
        )
        stands_for[instruction.name] = spread.name
        placed += [current, spread]
    root = stands_for.get(body.root, body.root)
    return replace(body, instructions=tuple(placed), root=root)


def _renamed(instruction: Instruction, stands_for: dict[str, str]) -> Instruction:
    renamed = instruction.with_operands(tuple(stands_for.get(n, n) for n in instruction.operands))
    before = tuple(dict.fromkeys(stands_for.get(n, n) for n in renamed.control_predecessors))
    if before == renamed.control_predecessors:
        return renamed
    attributes = renamed.attributes.updated({"control-predecessors": before})
    return replace(renamed, attributes=attributes)
