"""Applies a table of rewrite rules to a module until none applies; the passes own the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from compiler.hlo.algebra.scope import Rule, Scope
from compiler.hlo.module import Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.rewriter import ComputationEditor, Rewriter
from compiler.hlo.shape import ArrayShape, leaves
from compiler.journal import Decision

MOST_ROUNDS = 8
"""How often a computation is gone through at most."""

Rules: TypeAlias = Mapping[Opcode, tuple[Rule, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Simplified(Decision):
    """A rule applied: what the instruction was and what stands for it now."""

    worded: ClassVar[tuple[str, ...]] = ("because",)

    rule: str

    @property
    def template(self) -> str:
        return "{subject} became {chosen} ({rule})"


def joined(tables: Iterable[Rules]) -> dict[Opcode, tuple[Rule, ...]]:
    """One table of several; rules of earlier tables are tried first."""
    found: dict[Opcode, tuple[Rule, ...]] = {}
    for table in tables:
        for opcode, rules in table.items():
            found[opcode] = found.get(opcode, ()) + rules
    return found


def apply_rules(module: Module, rules: Rules, record: Callable[[Decision], None]) -> Module:
    """Rewrites all computations that the entry needs, one rule per instruction and round."""
    for _ in range(MOST_ROUNDS):
        rewriter = Rewriter(module)
        for computation in module.computations_post_order():
            _rewrite(rewriter, computation.name, rules, record)
        rewritten = rewriter.build()
        if rewritten is module:
            break
        module = rewritten
    return module


def _rewrite(
    rewriter: Rewriter, name: str, table: Rules, record: Callable[[Decision], None]
) -> None:
    editor = rewriter.edit(name)
    for instruction in editor.computation:
        rules = table.get(instruction.opcode, ())
        if not rules:
            continue
        scope = Scope(editor, instruction, rewriter.module)
        if _is_static(scope, instruction):
            _apply(scope, editor, rules, record)


def _apply(
    scope: Scope,
    editor: ComputationEditor,
    rules: tuple[Rule, ...],
    record: Callable[[Decision], None],
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
        record(
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
