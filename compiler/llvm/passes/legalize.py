"""Rewrites operations that the machine lacks into ones it has, until selection can cover all.

The target answers, per instruction and from its cards, whether selection covers it. What is not
covered goes to the first rule of `compiler.llvm.legal.rules` that applies; what the rule puts there
is asked about in turn. The result is plain LLVM IR that computes the same bits, so everything that
follows (evaluator, real LLVM, the machine) runs the same program.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.journal import Decision
from compiler.llvm.builder import Builder
from compiler.llvm.context import Context
from compiler.llvm.ir import Function, Instruction, Opcode, Value, subject_of
from compiler.llvm.legal.rules import RULES, Rule
from compiler.llvm.legal.widths import is_left_to_halves, is_too_wide
from compiler.llvm.legal.work import Facts, Work
from compiler.llvm.types import VOID
from isas.errors import InternalError, UnsupportedError

_MOST_ROUNDS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationLegalized(Decision):
    """An operation that the machine lacks, and the rule that replaced it."""

    operation: str
    machine: str

    @property
    def template(self) -> str:
        return "{subject}: {operation} -> {chosen}, because {machine} has no instruction for it"


def run(function: Function, context: Context) -> bool:
    """Legalises `function` for the context's target; says whether anything changed.

    Raises UnsupportedError, with the operation, its type, the machine and the HLO instruction, for
    what neither the machine nor any rule covers."""
    legalizer = _Legalizer(function, context)
    changed = False
    for _ in range(_MOST_ROUNDS):
        if not legalizer.round():
            _remove_dead(function)
            return changed
        changed = True
        _remove_dead(function)
    raise InternalError(f"legalising {function.name} does not come to an end")


class _Legalizer:
    """The state of one function's legalisation."""

    def __init__(self, function: Function, context: Context) -> None:
        self.function = function
        self.context = context
        self.target = context.target
        self.facts = Facts()

    def round(self) -> bool:
        """Rewrites every uncovered instruction once, in program order."""
        changed = False
        for block in list(self.function.blocks):
            for instruction in list(block.instructions):
                if instruction.block is None or self._is_fine(instruction):
                    continue
                changed = True
                if not self._are_operands_fine(instruction):
                    continue
                self._rewrite(instruction)
        return changed

    def _are_operands_fine(self, instruction: Instruction) -> bool:
        """Whether everything it uses is settled; otherwise its turn comes in a later round."""
        return instruction.opcode is Opcode.PHI or all(
            self._is_settled(operand)
            for operand in instruction.operands
            if isinstance(operand, Instruction) and operand.opcode is not Opcode.PHI
        )

    def _is_settled(self, operand: Instruction) -> bool:
        """Comparisons are looked at together with their users, so what they compare counts, too."""
        if not self._is_fine(operand):
            return False
        is_compare = operand.opcode in (Opcode.ICMP, Opcode.FCMP)
        return not is_compare or self._are_operands_fine(operand)

    def _is_fine(self, instruction: Instruction) -> bool:
        if instruction.type != VOID and not instruction.users and not instruction.has_side_effects:
            return True
        if self.target.covers(instruction) and not self._is_wide(instruction):
            return True
        if is_left_to_halves(instruction, self.target):
            return True
        return self._is_compare(instruction) or self.target.is_left_to_users(instruction)

    def _is_wide(self, instruction: Instruction) -> bool:
        return any(
            is_too_wide(value, self.target) for value in (instruction, *instruction.operands)
        )

    def _is_compare(self, instruction: Instruction) -> bool:
        """Comparisons of numbers that the machine compares at all are their users' business."""
        if instruction.opcode not in (Opcode.ICMP, Opcode.FCMP):
            return False
        operand = instruction.operands[0]
        if is_too_wide(operand, self.target):
            return False
        is_known = self.target.legal(instruction.opcode.value, operand.type)
        return is_known and not operand.type.is_pointer

    def _rewrite(self, instruction: Instruction) -> None:
        assert instruction.block is not None
        builder = Builder(self.function, instruction.block)
        builder.at(instruction.block, instruction)
        builder.origins = instruction.origins
        work = Work(self.target, builder, instruction, self.facts)
        for rule in RULES:
            replacement = rule.rewrite(instruction, work)
            if replacement is not None:
                self._replace(instruction, replacement, rule)
                return
        raise self._uncovered(instruction)

    def _replace(self, instruction: Instruction, replacement: Value, rule: Rule) -> None:
        self.context.record(
            OperationLegalized(
                subject=subject_of(instruction),
                origins=instruction.origins,
                chosen=rule.name,
                operation=_operation(instruction),
                machine=self.target.name,
            )
        )
        if instruction.type != VOID:
            instruction.replace_all_uses_with(replacement)
        instruction.erase()

    def _uncovered(self, instruction: Instruction) -> UnsupportedError:
        origins = ", ".join(f"%{origin}" for origin in instruction.origins)
        source = f" (from {origins})" if origins else ""
        return UnsupportedError(
            f"{self.target.name} cannot compute {_operation(instruction)}{source}",
            subject_of(instruction),
        )


def _operation(instruction: Instruction) -> str:
    """`fcmp oeq <8 x float>`, `llvm.maximum double`, `store half`."""
    name = instruction.intrinsic if instruction.opcode is Opcode.CALL else instruction.opcode.value
    predicate = f" {instruction.predicate.value}" if instruction.predicate is not None else ""
    type = instruction.type
    if instruction.predicate is not None or (type == VOID and instruction.operands):
        type = instruction.operands[0].type
    source = ""
    if instruction.opcode.is_cast:
        source = f"{instruction.operands[0].type} to "
    return f"{name}{predicate} {source}{type}"


def _remove_dead(function: Function) -> None:
    """Removes values that nobody uses any more, users before what they use."""
    for block in reversed(function.blocks):
        for instruction in reversed(list(block.instructions)):
            is_value = instruction.type != VOID and not instruction.has_side_effects
            if is_value and not instruction.users:
                instruction.erase()
