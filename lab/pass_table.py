"""What `hob passes` shows: a table of pass runs, what each decided, and what it changed in the
text.
"""

from __future__ import annotations

import difflib
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from compiler.hlo.kernels import count
from compiler.hlo.module import Module
from compiler.hlo.text import print_module
from compiler.journal import Decision, Journal
from compiler.options import Options
from compiler.pipeline import CONSTRAINTS, HLO_PASSES, Snapshot, trace_hlo_passes
from isas.document import Document, Printer

WIDTH = 104
MOST_DECISIONS = 12
"""Decisions of one kind and pass that are printed before the rest is counted."""

Run = Snapshot[Module]


def traced(module: Module, options: Options, only: str | None = None) -> tuple[Run, ...]:
    """Every run of a pass, or of the one named ``only`` (and normalize, which it rests on).

    Raises InputError when there is no pass of that name.
    """
    return trace_hlo_passes(module, options, Journal(), only)


def list_document() -> Document:
    """The passes in their order, each with its reason, and what must come before what."""
    printer = Printer("passes")
    for place, row in enumerate(HLO_PASSES):
        first, *more = textwrap.wrap(row.why, WIDTH - 14)
        printer.add(f"{row.name:<13} {first}", row.name)
        for text in more:
            printer.add(f"{'':<13} {text}", row.name)
        if row.group and row.group not in {r.group for r in HLO_PASSES[place + 1 :]}:
            names = ", ".join(r.name for r in HLO_PASSES if r.group == row.group)
            printer.add(f"{'':<13} ({names}: again until nothing changes)", row.name)
    printer.add("")
    for constraint in CONSTRAINTS:
        order = f"{constraint.before} before {constraint.after}"
        printer.add(f"{order:<28} {constraint.reason}")
    return printer.finish()


def table_document(title: str, runs: Sequence[Run]) -> Document:
    """One line per run of a pass: milliseconds, instructions and launches, and decisions."""
    printer = Printer(title)
    total = sum(run.seconds for run in runs)
    printer.add(
        f"{'pass':<13} {'round':>5} {'ms':>8}   {'instructions':<15} {'launches':<12} decided"
    )
    for run in runs:
        printer.add(_row(run), run.name)
    printer.add(f"{'all':<13} {'':>5} {total * 1000:>8.2f}   {_all(runs)}")
    return printer.finish()


def _row(run: Run) -> str:
    size = _change(run.before.instruction_count, run.after.instruction_count)
    launches = _change(count(run.before).launches, count(run.after).launches)
    head = f"{run.name:<13} {run.round:>5} {run.seconds * 1000:>8.2f}   {size:<15} {launches:<12}"
    return f"{head} {_summary(run.decisions)}".rstrip()


def _all(runs: Sequence[Run]) -> str:
    if not runs:
        return ""
    first, last = runs[0].before, runs[-1].after
    size = _change(first.instruction_count, last.instruction_count)
    return f"{size:<15} {_change(count(first).launches, count(last).launches)}"


def _change(before: int, after: int) -> str:
    return f"{before}" if before == after else f"{before} → {after}"


def _summary(decisions: Sequence[Decision]) -> str:
    """`3 Folded, 2 Simplified`, in the order of first appearance."""
    kinds = Counter(_kind(decision) for decision in decisions)
    return ", ".join(f"{number} {kind}" for kind, number in kinds.items())


def _kind(decision: Decision) -> str:
    """The decision's class in words: KernelFormed is `kernel formed`."""
    name = type(decision).__name__
    words = "".join(f" {c.lower()}" if c.isupper() else c for c in name)
    return words.strip().removesuffix(" decision")


def why_document(runs: Sequence[Run]) -> Document:
    """What each pass decided, in its own words."""
    printer = Printer("why")
    for run in runs:
        if not run.decisions:
            continue
        printer.add(f"{run.name}, round {run.round}")
        for text in _told(run.decisions):
            printer.add(f"  {text}", run.name)
    return printer.finish()


def _told(decisions: Sequence[Decision]) -> Iterator[str]:
    shown: Counter[str] = Counter()
    for decision in decisions:
        kind = _kind(decision)
        shown[kind] += 1
        if shown[kind] <= MOST_DECISIONS:
            yield str(decision)
    for kind, number in shown.items():
        if number > MOST_DECISIONS:
            yield f"and {number - MOST_DECISIONS} more: {kind}"


def diff_document(runs: Sequence[Run], only: str | None = None) -> Document:
    """Unified diffs of the HLO text before and after each run that changed something."""
    printer = Printer("diff")
    for run in runs:
        if only is not None and run.name != only:
            continue
        if run.after is run.before:
            if only is not None:
                printer.add(f"{run.name} changes nothing here", run.name)
            continue
        for text in _diff(run):
            printer.add(text, run.name)
    return printer.finish()


def _diff(run: Run) -> Iterator[str]:
    before, after = (print_module(m).splitlines() for m in (run.before, run.after))
    names = (f"before {run.name}, round {run.round}", f"after {run.name}, round {run.round}")
    return difflib.unified_diff(before, after, *names, lineterm="", n=2)
