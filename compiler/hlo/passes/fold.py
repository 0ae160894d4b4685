"""Constant folding: what depends on constants only is computed now, by the evaluator.

Never when operands or result are larger than `LARGEST`: folding a large iota or dot would take
longer than the program saves, and store an array where a few instructions did. A broadcast is
left alone too, since its consumers read the scalar.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from compiler.hlo.attributes import NO_ATTRIBUTES
from compiler.hlo.evaluate import evaluate_instruction
from compiler.hlo.literal import literal_of
from compiler.hlo.module import Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.passes.context import PassContext
from compiler.hlo.rewriter import ComputationEditor, Rewriter
from compiler.journal import Decision
from isas.errors import HobError

LARGEST = 256
"""Elements of the largest array that is folded to or from."""

_NEVER = (Opcode.BROADCAST, Opcode.IOTA, Opcode.CUSTOM_CALL, Opcode.OPT_BARRIER, Opcode.BITCAST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded(Decision):
    """An instruction whose value is known now."""

    worded: ClassVar[tuple[str, ...]] = ("because",)

    @property
    def template(self) -> str:
        return "{subject} is the constant {chosen}"


def run(module: Module, context: PassContext) -> Module:
    """Replaces instructions on constants by constants, in every computation."""
    rewriter = Rewriter(module)
    for computation in module.computations_post_order():
        _fold(module, rewriter.edit(computation.name), context)
    return rewriter.build()


def _fold(module: Module, editor: ComputationEditor, context: PassContext) -> None:
    for instruction in editor.computation:
        if not _may_fold(instruction):
            continue
        values = [_value(editor.instruction(name)) for name in instruction.operands]
        if any(value is None for value in values):
            continue
        try:
            found = evaluate_instruction(module, editor.computation, instruction, values)
        except HobError:
            continue
        if not isinstance(found, np.ndarray | np.generic):
            continue
        literal = literal_of(np.asarray(found))
        folded = replace(
            instruction,
            opcode=Opcode.CONSTANT,
            operands=(),
            attributes=NO_ATTRIBUTES,
            literal=literal,
            origin=instruction.origins,
        )
        editor.rewrite(folded)
        text = str(literal.array) if literal.array is not None and literal.array.size < 8 else "…"
        context.record(Folded(subject=instruction.name, origins=instruction.origins, chosen=text))


def _may_fold(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    if opcode in _NEVER or opcode.is_view or opcode.is_control or instruction.has_side_effect:
        return False
    if not instruction.operands or not instruction.is_array or instruction.control_predecessors:
        return False
    return instruction.array.is_static and instruction.array.element_count <= LARGEST


def _value(instruction: Instruction) -> Any:
    """The array of a small constant, else None."""
    literal = instruction.literal
    if instruction.opcode is not Opcode.CONSTANT or literal is None or literal.array is None:
        return None
    return literal.array if literal.array.size <= LARGEST else None
