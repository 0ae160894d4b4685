"""The passes over LLVM IR as a table: what runs, in which order, and why it stands there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compiler.llvm.context import Context
from compiler.llvm.ir import Function
from compiler.llvm.passes import (
    combine,
    contract,
    dce,
    gvn,
    legalize,
    licm,
    mem2reg,
    rotate,
    simplify_cfg,
    unroll,
    vectorize,
)
from compiler.llvm.verify import verify_function

STAGE = "llvm-optimized"


@dataclass(frozen=True, slots=True)
class Row:
    """One pass and the reason for its place."""

    name: str
    why: str
    run: Callable[[Function, Context], bool]


LLVM_PASSES: tuple[Row, ...] = (
    Row("mem2reg", "first: until variables are values nothing is seen of loops", mem2reg.run),
    Row("simplify-cfg", "joins the blocks that lowering split for itself", simplify_cfg.run),
    Row("combine", "folds address arithmetic before loops are looked at", combine.run),
    Row("gvn", "one value per expression, before anything is counted", gvn.run),
    Row("licm", "what does not change leaves the loop: bodies show their true size", licm.run),
    Row("contract", "after folding, so that no fma hides a product to fold", contract.run),
    Row("vectorize", "on clean innermost loops, while their tests are still on top", vectorize.run),
    Row(
        "unroll", "after vectorising, which would rather have the loop than its pieces", unroll.run
    ),
    Row("rotate", "what is still a loop tests at its bottom", rotate.run),
    Row("combine again", "copies of bodies hold constants now", combine.run),
    Row(
        "simplify-cfg again",
        "unrolling and rotating leave blocks with one way in, and tests of constants",
        simplify_cfg.run,
    ),
    Row("gvn again", "copies of bodies repeat addresses", gvn.run),
    Row("legalize", "last but cleaning: every type and width is known now", legalize.run),
    Row("gvn after legalize", "rules build the same masks again and again", gvn.run),
    Row("licm after legalize", "constants and masks that rules made leave the loop", licm.run),
    Row("dce", "clears what the others left", dce.run),
)


def optimize(function: Function, context: Context) -> None:
    """Runs the table over one function, verifying after every pass."""
    for row in LLVM_PASSES:
        context.journal.enter(STAGE, row.name)
        row.run(function, context)
        verify_function(function)
