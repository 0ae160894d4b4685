"""Before and after: what every pass over HLO and LLVM IR did to a program, as documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compiler.compilation import Compilation, Stage
from compiler.hlo.text import module_document
from compiler.journal import Journal
from compiler.llvm import text as llvm_text
from compiler.llvm.context import Context
from compiler.llvm.pipeline import LLVM_PASSES
from compiler.lower import lower
from compiler.pipeline import HLO_PASSES, trace_hlo_passes
from compiler.select.target import target_of
from isas.document import Document


@dataclass(frozen=True, slots=True)
class PassPicture:
    """One pass: its stage, name and reason for its place, and the program before and after it."""

    stage: Stage
    name: str
    why: str
    before: Document
    after: Document

    @property
    def is_changing(self) -> bool:
        """Whether the pass did anything here."""
        return str(self.before) != str(self.after)


def pass_pictures(compilation: Compilation) -> tuple[PassPicture, ...]:
    """Runs all passes once more, from the source, and keeps every step."""
    return (*_hlo(compilation), *_llvm(compilation))


def _hlo(compilation: Compilation) -> Iterator[PassPicture]:
    reasons = {row.name: row.why for row in HLO_PASSES}
    for snapshot in trace_hlo_passes(compilation.source, compilation.options, Journal()):
        yield PassPicture(
            Stage.HLO_FUSED,
            snapshot.name,
            reasons[snapshot.name],
            module_document(snapshot.before),
            module_document(snapshot.after),
        )


def _llvm(compilation: Compilation) -> Iterator[PassPicture]:
    options = compilation.options
    target = target_of(compilation.machine, options)
    module = lower(
        compilation.fused, compilation.assignment, target, options, Journal()
    ).llvm_module
    context = Context(target, options, Journal())
    before = llvm_text.document(module)
    for row in LLVM_PASSES:
        for function in module.functions:
            row.run(function, context)
        after = llvm_text.document(module)
        yield PassPicture(Stage.LLVM_OPTIMIZED, row.name, row.why, before, after)
        before = after
