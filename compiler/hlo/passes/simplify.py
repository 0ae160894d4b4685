"""Algebraic simplification: rewrites every instruction by rules until none applies.

The rules live in `compiler.hlo.algebra`, by subject. Each holds for every value, NaN,
infinities and the sign of zero included. Layouts play no part here; `normalize` has taken them
out of the way.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.hlo.algebra import arithmetic, logic, movement, structure
from compiler.hlo.algebra.scope import Rule, Scope
from compiler.hlo.module import Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.passes.context import PassContext
from compiler.hlo.rewriter import ComputationEditor, Rewriter
from compiler.hlo.shape import ArrayShape, leaves
from compiler.journal import Decision

MOST_ROUNDS = 8
"""How often a computation is gone through at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simplified(Decision):
    """A rule applied: what the instruction was and what stands for it now."""

    rule: str

    @property
    def template(self) -> str:
        return "{subject} became {chosen} ({rule})"


def _table() -> dict[Opcode, tuple[Rule, ...]]:
    table: dict[Opcode, tuple[Rule, ...]] = {}
    for rules in (arithmetic.RULES, logic.RULES, movement.RULES, structure.RULES):
        for opcode, found in rules.items():
            table[opcode] = table.get(opcode, ()) + found
    for opcode in Opcode:
        if opcode.is_elementwise and opcode not in (Opcode.MAP, Opcode.COPY):
            table[opcode] = (*table.get(opcode, ()), structure.small_operand)
    return table


_RULES = _table()


def run(module: Module, context: PassContext) -> Module:
    """Simplifies all computations that the entry needs."""
    for _ in range(MOST_ROUNDS):
        rewriter = Rewriter(module)
        for computation in module.computations_post_order():
            _simplify(rewriter, computation.name, context)
        simplified = rewriter.build()
        if simplified is module:
            break
        module = simplified
    return module


def _simplify(rewriter: Rewriter, name: str, context: PassContext) -> None:
    editor = rewriter.edit(name)
    for instruction in editor.computation:
        rules = _RULES.get(instruction.opcode, ())
        scope = Scope(editor, instruction, rewriter.module)
        if rules and _is_static(scope, instruction):
            _apply(scope, editor, rules, context)


def _apply(
    scope: Scope, editor: ComputationEditor, rules: tuple[Rule, ...], context: PassContext
) -> None:
    for rule in rules:
        current = scope.get(scope.at.name)
        found = rule(scope, current)
        if found is None:
            continue
        if found != current.name:
            editor.replace(current.name, found)
        after = scope.get(found)
        text = found if found != current.name else f"{after.opcode}({', '.join(after.operands)})"
        context.record(
            Simplified(
                subject=current.name,
                origins=current.origins,
                chosen=text,
                rule=rule.__name__.strip("_"),
            )
        )
        return


def _is_static(scope: Scope, instruction: Instruction) -> bool:
    if instruction.control_predecessors or "sharding" in instruction.attributes:
        return False
    shapes = [instruction.shape, *(o.shape for o in scope.operands(instruction))]
    arrays = [leaf for shape in shapes for leaf in leaves(shape) if isinstance(leaf, ArrayShape)]
    return all(shape.is_static for shape in arrays)
