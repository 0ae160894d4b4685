"""The report of a run: what independent witnesses say, where the cycles went, and which instruction
is to blame. How it reads is in `lab.report_text`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from compiler.compilation import Compilation, Stage
from compiler.hlo.module import Module, flat_results
from isas.errors import CheckFailed
from isas.program import ProgramInstruction
from lab import arrays
from lab.compare import Comparison
from lab.crosscheck.llvm import Llvm
from lab.road import Result
from lab.words.words import Finished, Sentence, sentence
from vm.highlights import Highlight, highlights
from vm.timeline import Timeline

KEYS = (
    "machine", "cycles", "instructions", "ipc", "stalls", "spills", "reloads", "launches",
    "launches_unfused", "bytes_moved", "bytes_moved_unfused", "buffer_bytes", "peak_bytes",
    "stage_seconds", "max_relative_error", "matches",
)  # fmt: skip
"""The keys of the JSON report; `error` joins them when the input was bad."""


class Verdict(Enum):
    """How a check ended."""

    PASSED = "✔"
    FAILED = "✘"
    ABSENT = "–"


@dataclass(frozen=True, slots=True)
class Check:
    """One witness and what it said."""

    name: Sentence
    verdict: Verdict
    detail: Sentence | None = None


@dataclass(frozen=True, slots=True)
class StallLine:
    """Cycles charged to one cause, with the worst place in words."""

    cause: str
    cycles: float
    share: float
    detail: Sentence | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """What the timing model says of a whole run. `remarks` are machine-specific lines, such as
    warps and occupancy, under their names."""

    cycles: int
    instructions: int
    stalls: tuple[StallLine, ...]
    remarks: tuple[tuple[Sentence, Sentence], ...] = ()

    @property
    def ipc(self) -> float:
        return self.instructions / self.cycles if self.cycles else 0.0


@dataclass(frozen=True, slots=True)
class Report:
    """Facts of one run. `comparison` is the worst of the comparisons made."""

    title: Sentence
    compilation: Compilation
    timing: Timing
    comparison: Comparison
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(check.verdict is not Verdict.FAILED for check in self.checks)

    def as_json(self) -> dict[str, Any]:
        """The report under the keys of `KEYS`. Counts of spills and reloads are executed ones."""
        compilation = self.compilation
        assignment = compilation.assignment
        values = (
            compilation.machine.name,
            self.timing.cycles,
            self.timing.instructions,
            round(self.timing.ipc, 6),
            {line.cause: line.cycles for line in self.timing.stalls},
            sum(kernel.spills for kernel in compilation.kernels),
            sum(kernel.reloads for kernel in compilation.kernels),
            compilation.fused_count.launches,
            compilation.unfused.launches,
            compilation.fused_count.bytes_moved,
            compilation.unfused.bytes_moved,
            assignment.buffer_bytes,
            assignment.peak_bytes,
            {str(stage): round(s, 6) for stage, s in compilation.seconds.items()},
            self.comparison.max_relative_error,
            self.passed,
        )
        return dict(zip(KEYS, values, strict=True))

    def __str__(self) -> str:
        from lab.report_text import document

        return str(document(self))

    def __repr__(self) -> str:
        verdict = "passed" if self.passed else "FAILED"
        return f"<Report {self.title}: {self.timing.cycles} cycles, {verdict}>"


def error_json(message: str) -> dict[str, Any]:
    """The JSON document of a run that could not start: every key null, and the reason."""
    return {**dict.fromkeys(KEYS), "error": message}


def build_report(result: Result, title: str) -> Report:
    """The report of a run. Real LLVM reads the IR of both LLVM stages here."""
    compilation = result.compilation
    worst = _worst([c for c in (result.evaluator, result.expected) if c is not None])
    checks = (
        _comparison(sentence("evaluator"), result.evaluator),
        _comparison(sentence("expected output"), result.expected),
        check_llvm(compilation),
        # The checker ran inside the compilation, which raises CheckFailed where it disagrees.
        Check(sentence("allocation"), Verdict.PASSED),
    )
    return Report(headline(compilation.source, title), compilation, _timing(result), worst, checks)


def headline(module: Module, title: str) -> Sentence:
    """`softmax.hlo · 14 instructions · f32[16,48] → f32[16,48]`."""
    count = len(module.entry_computation)
    before = [_plain(shape) for shape in arrays.parameter_shapes(module)]
    after = [_plain(shape) for shape in flat_results(module)]
    return sentence(
        "{title} · {count} instructions · {before} → {after}",
        title=title,
        count=count,
        before=_few(before),
        after=_few(after),
    )


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


def _comparison(name: Sentence, comparison: Comparison | None) -> Check:
    if comparison is None:
        return Check(name, Verdict.ABSENT, sentence("not given"))
    verdict = Verdict.PASSED if comparison.matches else Verdict.FAILED
    return Check(name, verdict, comparison.told)


def check_llvm(compilation: Compilation) -> Check:
    """Real LLVM parses and verifies the IR as lowered and as optimised."""
    with Llvm() as llvm:
        for stage in (Stage.LLVM, Stage.LLVM_OPTIMIZED):
            try:
                llvm.check(compilation.llvm_text[stage])
            except CheckFailed as error:
                message = Finished(error.message)
                said = sentence("of {stage}: {message}", stage=stage.value, message=message)
                return Check(sentence("LLVM refuses the IR"), Verdict.FAILED, said)
    return Check(sentence("LLVM accepts the IR"), Verdict.PASSED)


def _timing(result: Result) -> Timing:
    timeline = result.timeline
    total = float(timeline.cycles) or 1.0
    found = highlights(timeline, tuple(result.compilation.executable.programs.values()))
    lines = tuple(
        StallLine(
            cause.value,
            cycles,
            cycles / total,
            _told(found[cause]) if cause in found else None,
        )
        for cause, cycles in timeline.stalls().items()
    )
    return Timing(int(timeline.cycles), timeline.instructions, lines, tuple(_remarks(timeline)))


def _remarks(timeline: Timeline) -> Iterator[tuple[Sentence, Sentence]]:
    """What SIMT machines add: warps and occupancy, divergence, sectors per request."""
    facts = timeline.simt
    if facts is None:
        return
    if facts.occupancy:
        tightest = min(facts.occupancy, key=lambda occupancy: occupancy.fraction)
        yield (
            sentence("warps"),
            sentence(
                "{warps} on {sms} SMs; up to {resident} of {most} resident ({share:.0%}), "
                "limited by {limit}",
                warps=facts.warps,
                sms=facts.sms_used,
                resident=tightest.warps_per_sm,
                most=tightest.most_warps,
                share=tightest.fraction,
                limit=sentence(tightest.limit),
            ),
        )
    off = sentence("{share:.0%} of lane slots switched off", share=facts.divergence)
    yield sentence("divergence"), off
    sectors = sentence("{count:.1f} per global request", count=facts.sectors_per_request)
    yield sentence("sectors"), sectors


def _told(found: Highlight) -> Sentence:
    """The instructions behind most of a cause's cycles, and the HLO instruction concerned."""
    what = sentence(
        found.template,
        instruction=_name(found.instruction),
        culprit=_name(found.culprit or found.instruction),
        latency=found.latency,
        ports=" ".join(found.ports),
    )
    return (
        sentence("{origin}: {what}", origin=found.origins[0], what=what) if found.origins else what
    )


def _name(instruction: ProgramInstruction) -> Sentence | str:
    """The mnemonic, behind its remark (a spilled value's name)."""
    mnemonic = instruction.shape.mnemonic
    if not instruction.note:
        return mnemonic
    return sentence("{note} ({mnemonic})", note=Finished(instruction.note), mnemonic=mnemonic)
