"""What `hob passes` shows: a table of pass runs, what each decided, and what it changed in the
text.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence

from compiler.hlo.kernels import count
from compiler.hlo.module import Module
from compiler.hlo.text import print_module
from compiler.journal import Decision, Journal
from compiler.options import Options
from compiler.pipeline import CONSTRAINTS, HLO_PASSES, Snapshot, trace_hlo_passes
from isas.document import Document, Printer
from lab.words.width import padded, right, wrapped
from lab.words.words import ENGLISH, Words

WIDTH = 104
MOST_DECISIONS = 12
"""Decisions of one kind and pass that are printed before the rest is counted."""

Run = Snapshot[Module]


def traced(module: Module, options: Options, only: str | None = None) -> tuple[Run, ...]:
    """Every run of a pass, or of the one named ``only`` (and normalize, which it rests on).

    Raises InputError when there is no pass of that name.
    """
    return trace_hlo_passes(module, options, Journal(), only)


def list_document(words: Words = ENGLISH) -> Document:
    """The passes in their order, each with its reason, and what must come before what."""
    printer = Printer("passes")
    for place, row in enumerate(HLO_PASSES):
        texts = wrapped(words(row.why), WIDTH - 14)
        if row.group and row.group not in {r.group for r in HLO_PASSES[place + 1 :]}:
            names = ", ".join(r.name for r in HLO_PASSES if r.group == row.group)
            texts.append(words("({passes}: again until nothing changes)", passes=names))
        for name, text in zip([row.name, *[""] * len(texts)], texts):
            printer.add(f"{name:<13} {text}", row.name)
    printer.add("")
    for constraint in CONSTRAINTS:
        order = words("{before} before {after}", before=constraint.before, after=constraint.after)
        printer.add(f"{padded(order, 28)} {words(constraint.reason)}")
    return printer.finish()


def table_document(title: str, runs: Sequence[Run], words: Words = ENGLISH) -> Document:
    """One line per run of a pass: milliseconds, instructions and launches, and decisions."""
    printer = Printer(title)
    total = sum(run.seconds for run in runs)
    name, number, time = padded(words("pass"), 13), right(words("round"), 5), right("ms", 8)
    sizes = f"{padded(words('instructions'), 15)} {padded(words('launches'), 12)}"
    printer.add(f"{name} {number} {time}   {sizes} {words('decided')}")
    for run in runs:
        printer.add(_row(run, words), run.name)
    printer.add(f"{padded(words('all'), 13)} {'':>5} {total * 1000:>8.2f}   {_all(runs)}")
    return printer.finish()


def _row(run: Run, words: Words) -> str:
    size = _change(run.before.instruction_count, run.after.instruction_count)
    launches = _change(count(run.before).launches, count(run.after).launches)
    head = f"{run.name:<13} {run.round:>5} {run.seconds * 1000:>8.2f}   {size:<15} {launches:<12}"
    return f"{head} {_summary(run.decisions, words)}".rstrip()


def _all(runs: Sequence[Run]) -> str:
    if not runs:
        return ""
    first, last = runs[0].before, runs[-1].after
    size = _change(first.instruction_count, last.instruction_count)
    return f"{size:<15} {_change(count(first).launches, count(last).launches)}"


def _change(before: int, after: int) -> str:
    return f"{before}" if before == after else f"{before} → {after}"


def _summary(decisions: Sequence[Decision], words: Words) -> str:
    """`3 folded, 2 simplified`, in the order of first appearance."""
    kinds = Counter(kind_of(type(decision)) for decision in decisions)
    return words(", ").join(
        words("{count} {kind}", count=number, kind=words(kind)) for kind, number in kinds.items()
    )


def kind_of(decision: type[Decision]) -> str:
    """A class of decisions in words: KernelFormed is `kernel formed`."""
    words = "".join(f" {c.lower()}" if c.isupper() else c for c in decision.__name__)
    return words.strip().removesuffix(" decision")


def why_document(runs: Sequence[Run], words: Words = ENGLISH) -> Document:
    """What each pass decided, in its own words."""
    printer = Printer("why")
    for run in runs:
        if not run.decisions:
            continue
        printer.add(words("{name}, round {round}", name=run.name, round=run.round))
        for text in _told(run.decisions, words):
            printer.add(f"  {text}", run.name)
    return printer.finish()


def _told(decisions: Sequence[Decision], words: Words) -> Iterator[str]:
    shown: Counter[str] = Counter()
    for decision in decisions:
        kind = kind_of(type(decision))
        shown[kind] += 1
        if shown[kind] <= MOST_DECISIONS:
            yield words.decision(decision)
    for kind, number in shown.items():
        if number > MOST_DECISIONS:
            more = number - MOST_DECISIONS
            yield words("and {count} more: {kind}", count=more, kind=words(kind))


def diff_document(runs: Sequence[Run], only: str | None = None, words: Words = ENGLISH) -> Document:
    """Unified diffs of the HLO text before and after each run that changed something."""
    printer = Printer("diff")
    for run in runs:
        if only is not None and run.name != only:
            continue
        if run.after is run.before:
            if only is not None:
                printer.add(words("{name} changes nothing here", name=run.name), run.name)
            continue
        for text in _diff(run, words):
            printer.add(text, run.name)
    return printer.finish()


def _diff(run: Run, words: Words) -> Iterator[str]:
    before, after = (print_module(m).splitlines() for m in (run.before, run.after))
    names = (
        words("before {name}, round {round}", name=run.name, round=run.round),
        words("after {name}, round {round}", name=run.name, round=run.round),
    )
    return difflib.unified_diff(before, after, *names, lineterm="", n=2)
