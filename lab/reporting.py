"""Turns a result into a report: independent witnesses, and a culprit in words per cause."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from compiler.compilation import Compilation, Stage
from compiler.hlo.module import Module, flat_results
from isas.errors import CheckFailed
from isas.program import ProgramInstruction
from lab import arrays
from lab.compare import Comparison
from lab.crosscheck.llvm import Llvm
from lab.report import Check, Report, StallLine, Timing, Verdict
from lab.road import Result
from vm.stalls import Stall
from vm.timeline import Timeline


def build_report(result: Result, title: str) -> Report:
    """The report of a run. Real LLVM reads the IR of both LLVM stages here."""
    compilation = result.compilation
    worst = _worst([c for c in (result.evaluator, result.expected) if c is not None])
    checks = (
        _comparison("evaluator", result.evaluator),
        _comparison("expected output", result.expected),
        check_llvm(compilation),
        # The checker ran inside the compilation, which raises CheckFailed where it disagrees.
        Check("allocation", Verdict.PASSED),
    )
    return Report(headline(compilation.source, title), compilation, _timing(result), worst, checks)


def headline(module: Module, title: str) -> str:
    """`softmax.hlo · 14 instructions · f32[16,48] → f32[16,48]`."""
    count = len(module.entry_computation)
    before = [_plain(shape) for shape in arrays.parameter_shapes(module)]
    after = [_plain(shape) for shape in flat_results(module)]
    return f"{title} · {count} instructions · {_few(before)} → {_few(after)}"


def _plain(shape: object) -> str:
    return str(shape).split("{")[0]


def _few(names: list[str]) -> str:
    if not names:
        return "()"
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown}, … ({len(names)})"


def _worst(comparisons: list[Comparison]) -> Comparison:
    def badness(comparison: Comparison) -> tuple[bool, float]:
        error = comparison.max_relative_error
        return (not comparison.matches, float("inf") if error is None else error)

    return max(comparisons, key=badness)


def _comparison(name: str, comparison: Comparison | None) -> Check:
    if comparison is None:
        return Check(name, Verdict.ABSENT, "not given")
    verdict = Verdict.PASSED if comparison.matches else Verdict.FAILED
    return Check(name, verdict, str(comparison))


def check_llvm(compilation: Compilation) -> Check:
    """Real LLVM parses and verifies the IR as lowered and as optimised."""
    with Llvm() as llvm:
        for stage in (Stage.LLVM, Stage.LLVM_OPTIMIZED):
            try:
                llvm.check(compilation.llvm_text[stage])
            except CheckFailed as error:
                return Check("LLVM refuses the IR", Verdict.FAILED, f"of {stage}: {error.message}")
    return Check("LLVM accepts the IR", Verdict.PASSED)


def _timing(result: Result) -> Timing:
    timeline = result.timeline
    total = float(timeline.cycles) or 1.0
    lines = tuple(
        StallLine(
            cause.value, cycles, cycles / total, _culprit(timeline, cause, result.compilation)
        )
        for cause, cycles in timeline.stalls().items()
    )
    return Timing(int(timeline.cycles), timeline.instructions, lines, tuple(_remarks(timeline)))


def _remarks(timeline: Timeline) -> Iterator[tuple[str, str]]:
    """What SIMT machines add: warps and occupancy, divergence, sectors per request."""
    facts = timeline.simt
    if facts is None:
        return
    if facts.occupancy:
        tightest = min(facts.occupancy, key=lambda occupancy: occupancy.fraction)
        resident = f"up to {tightest.warps_per_sm} of {tightest.most_warps} resident"
        limit = f"({tightest.fraction:.0%}), limited by {tightest.limit}"
        yield "warps", f"{facts.warps} on {facts.sms_used} SMs; {resident} {limit}"
    yield "divergence", f"{facts.divergence:.0%} of lane slots switched off"
    yield "sectors", f"{facts.sectors_per_request:.1f} per global request"


def _culprit(timeline: Timeline, cause: Stall, compilation: Compilation) -> str:
    """The instruction that most of a cause's cycles were charged to, and what it waited for."""
    charges = timeline.charges
    chosen = (charges.cause == cause.code) & (charges.row >= 0)
    if cause is Stall.RETIRING or not chosen.any():
        return ""
    rows = charges.row[chosen]
    statics = timeline.static[rows]
    per_static = np.bincount(statics, charges.slots[chosen])
    worst = int(per_static.argmax())
    share = float(per_static[worst] / per_static.sum())
    row = int(rows[statics == worst][0])
    waited = _waited_for(timeline, cause, row, compilation)
    where = instruction_at(timeline, worst, compilation)
    return f"{_name(where)}{waited} ({share:.0%} of it)"


def _waited_for(timeline: Timeline, cause: Stall, row: int, compilation: Compilation) -> str:
    micro_ops = timeline.micro_ops
    for index in timeline.micro_op_range(row):
        if micro_ops.wait[index] == cause.code and micro_ops.producer[index] >= 0:
            producer = int(micro_ops.row[micro_ops.producer[index]])
            source = instruction_at(timeline, int(timeline.static[producer]), compilation)
            return f" waits for {source.shape.mnemonic}"
    return ""


def _name(instruction: ProgramInstruction) -> str:
    origin = f" of {instruction.origin}" if instruction.origin else ""
    note = f" ({instruction.note})" if instruction.note else ""
    return f"{instruction.shape.mnemonic}{origin}{note}"


def instruction_at(timeline: Timeline, static: int, compilation: Compilation) -> ProgramInstruction:
    """The instruction with number `static` when all programs are numbered through in order."""
    for program in compilation.executable.programs.values():
        if static < len(program.instructions):
            return program.instructions[static]
        static -= len(program.instructions)
    raise IndexError(static)
