"""Contracts a multiplication and an addition into one fused multiply-add.

`a * b + c` rounds twice, llvm.fma(a, b, c) once: the result may differ in its last bit, so this is
a pass of its own that one can switch off (`--no-contract`), and not something instruction selection
does on the way. Both operations must carry the `contract` flag, and the machine must have the
instruction for the type. The forms with subtraction negate one operand; selection folds the
negation into the instruction where there is a form for it.

A product that is also needed for itself would be computed twice, so it is contracted only when
every one of its users takes it in. Where both operands of an addition are products, the one without
other users goes; of two such, the second, because then the first can start earlier.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.journal import Decision
from compiler.llvm.analysis.dominators import reverse_postorder
from compiler.llvm.builder import Builder
from compiler.llvm.context import Context
from compiler.llvm.ir import Constant, Function, Instruction, Opcode, Value, subject_of
from compiler.llvm.rules.fold import fold

_SUMS = frozenset({Opcode.FADD, Opcode.FSUB})


@dataclass(frozen=True, slots=True, kw_only=True)
class Contraction(Decision):
    """An addition took in a product, or why it did not."""

    product: str = ""

    @property
    def template(self) -> str:
        if self.chosen == "fma":
            return "{subject} takes in {product}: one fma, rounded once"
        return "{subject} and {product} stay two operations, because {because}"


def run(function: Function, context: Context) -> bool:
    """Contracts what the flags, the machine and the options allow; returns whether anything
    changed."""
    if not context.options.contract:
        return False
    builder = Builder(function)
    changed = False
    for block in reverse_postorder(function):
        for instruction in list(block.instructions):
            if instruction.block is block and instruction.opcode in _SUMS:
                changed |= _visit(instruction, builder, context)
    return changed


def _visit(total: Instruction, builder: Builder, context: Context) -> bool:
    products = [o for o in total.operands if isinstance(o, Instruction) and o.opcode is Opcode.FMUL]
    if not products:
        return False
    chosen = min(reversed(products), key=lambda p: len(p.users))
    obstacle = _obstacle(total, chosen, context)
    context.record(
        Contraction(
            subject=subject_of(total),
            origins=tuple(dict.fromkeys((*total.origins, *chosen.origins))),
            product=subject_of(chosen),
            chosen="kept" if obstacle else "fma",
            because=obstacle or "",
        )
    )
    if obstacle is None:
        _contract(total, chosen, builder)
    return obstacle is None


def _obstacle(total: Instruction, product: Instruction, context: Context) -> str | None:
    """Why the two stay apart; None when they may become one."""
    if "contract" not in total.flags or "contract" not in product.flags:
        return "HLO asks for both roundings here"
    if not context.target.legal("fma", total.type):
        return f"{context.target.name} has no fma for {total.type}"
    others = [u for u in product.users if u is not total and not _takes_in(u)]
    if others:
        return f"the product is also needed by {subject_of(others[0])}"
    if total.operands[0] is total.operands[1]:
        return "the product is added to itself"
    return None


def _takes_in(user: Instruction) -> bool:
    return user.opcode in _SUMS and "contract" in user.flags


def _contract(total: Instruction, product: Instruction, builder: Builder) -> None:
    if total.block is None:
        return
    builder.at(total.block, total)
    builder.origins = tuple(dict.fromkeys((*total.origins, *product.origins)))
    a, b = product.operands
    first, second = total.operands
    addend = second if first is product else first
    if total.opcode is Opcode.FSUB and first is product:
        addend = _negated(builder, addend)
    elif total.opcode is Opcode.FSUB:
        a = _negated(builder, a)
    fused = builder.call("llvm.fma", total.type, (a, b, addend), "fma")
    fused.flags = (total.flags & product.flags) | (total.flags & {"reassoc"})
    fused.name, total.name = total.name, ""
    total.replace_all_uses_with(fused)
    total.erase()
    if not product.users:
        product.erase()


def _negated(builder: Builder, value: Value) -> Value:
    negation = builder.fneg(value, "neg")
    if isinstance(value, Constant):
        folded = fold(negation, builder)
        if folded is not None:
            negation.erase()
            return folded
    return negation
