"""Common subexpressions: what computes the same from the same stands for its twin.

Two instructions are twins when operation, shape, operands, attributes and constants agree;
operands of a commutative operation may be swapped. Computations that they call agree when they
are alike instruction by instruction, so the many sums that JAX writes one reducer each for meet
as well.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import ClassVar

from compiler.hlo.attributes import Attributes
from compiler.hlo.module import CALLEE_KEYS, Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.passes.context import PassContext
from compiler.hlo.rewriter import ComputationEditor, Rewriter
from compiler.journal import Decision

_NEVER = (Opcode.PARAMETER, Opcode.CUSTOM_CALL, Opcode.AFTER_ALL, Opcode.OPT_BARRIER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared(Decision):
    """An instruction that its twin stands for."""

    worded: ClassVar[tuple[str, ...]] = ("because",)

    @property
    def template(self) -> str:
        return "{subject} computes the same as {chosen}"


def run(module: Module, context: PassContext) -> Module:
    """Merges twins in every computation, callees first."""
    rewriter = Rewriter(module)
    classes = _Classes(module)
    for computation in module.computations_post_order():
        classes.add(computation)
        _merge(rewriter.edit(computation.name), classes, context)
    return rewriter.build()


@dataclass(slots=True)
class _Classes:
    """For every computation seen, the first one that is like it; and which have side effects."""

    module: Module
    first: dict[Hashable, str] = field(default_factory=dict)
    like: dict[str, str] = field(default_factory=dict)
    effects: set[str] = field(default_factory=set)

    def add(self, computation: Computation) -> None:
        numbers = {i.name: n for n, i in enumerate(computation)}
        body = tuple(
            _key(self._canonical(i), tuple(str(numbers[o]) for o in i.operands))
            for i in computation
        )
        key = (body, numbers[computation.root], computation.attributes)
        self.like[computation.name] = self.first.setdefault(key, computation.name)
        if any(i.has_side_effect or self.effects.intersection(i.callees) for i in computation):
            self.effects.add(computation.name)

    def _canonical(self, instruction: Instruction) -> Instruction:
        return with_callees(instruction, self.like)

    def may_merge(self, instruction: Instruction) -> bool:
        if instruction.opcode in _NEVER or instruction.has_side_effect:
            return False
        if instruction.control_predecessors:
            return False
        return self.effects.isdisjoint(instruction.callees)


def with_callees(instruction: Instruction, like: dict[str, str]) -> Instruction:
    """The instruction calling the first computation of each kind."""
    changed: dict[str, object] = {}
    for key in CALLEE_KEYS:
        value = instruction.attributes.get(key)
        if value is None:
            continue
        if isinstance(value, str):
            new: object = like.get(value, value)
        else:
            new = tuple(like.get(name, name) for name in value)
        if new != value:
            changed[key] = new
    if not changed:
        return instruction
    return replace(instruction, attributes=instruction.attributes.updated(changed))


def _key(instruction: Instruction, operands: tuple[str, ...]) -> Hashable:
    if instruction.opcode.is_commutative and len(operands) == 2:
        operands = tuple(sorted(operands))
    attributes: Attributes = instruction.attributes
    return (instruction.opcode, instruction.shape, operands, attributes, instruction.literal)


def _merge(editor: ComputationEditor, classes: _Classes, context: PassContext) -> None:
    seen: dict[Hashable, str] = {}
    for instruction in editor.computation:
        current = with_callees(instruction, classes.like)
        if current is not instruction:
            editor.rewrite(current)
        if not classes.may_merge(current):
            continue
        operands = tuple(map(editor.resolve, current.operands))
        twin = seen.setdefault(_key(current, operands), current.name)
        if twin != current.name:
            editor.replace(current.name, twin)
            context.record(Shared(subject=current.name, origins=current.origins, chosen=twin))
