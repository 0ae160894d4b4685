"""The journal: what every pass decided, among which alternatives, and because of what.

A pass calls `journal.record(...)`; commands print the records, screens replay them, exams ask about
them. A decision is a typed fact with one English template beside its type, so that it can be
translated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from typing import ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """One choice that was open: its name, and its cost in the decision's own unit (None: not
    possible)."""

    name: str
    cost: float | None = None
    note: str = ""

    def __str__(self) -> str:
        cost = "" if self.cost is None else f" {self.cost:g}"
        return f"{self.name}{cost}" + (f" ({self.note})" if self.note else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The base of all decisions. Subclasses add fields and set `template`, an English sentence with
    `{field}` places.

    `subject` names the object decided about at its own level; `origins` are the HLO instructions
    concerned; `chosen` names the alternative taken; `because` is the reason as a short clause.
    `worded` lists the fields that hold English; the others hold names, the same in every language.
    """

    worded: ClassVar[tuple[str, ...]] = ("chosen", "because")

    subject: str
    origins: tuple[str, ...] = ()
    chosen: str = ""
    because: str = ""
    alternatives: tuple[Alternative, ...] = ()

    @property
    def template(self) -> str:
        return "{subject}: {chosen}, because {because}" if self.because else "{subject}: {chosen}"

    def __str__(self) -> str:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return self.template.format(**values)


@dataclass(frozen=True, slots=True)
class Entry:
    """A decision with the stage and pass that took it. Stages are named as in
    `compiler.pipeline`."""

    stage: str
    pass_name: str
    decision: Decision


@dataclass(slots=True)
class Journal:
    """All entries of one compilation, in the order in which they were taken. `watch` hears the
    stage at every pass and every decision; what it raises ends the compilation."""

    entries: list[Entry] = field(default_factory=list)
    stage: str = ""
    pass_name: str = ""
    watch: Callable[[str], None] | None = None

    def enter(self, stage: str, pass_name: str) -> None:
        """Says whose decisions follow; the pipeline calls this before each pass."""
        self.stage = stage
        self.pass_name = pass_name
        if self.watch is not None:
            self.watch(stage)

    def record(self, decision: Decision) -> None:
        self.entries.append(Entry(self.stage, self.pass_name, decision))
        if self.watch is not None:
            self.watch(self.stage)

    def of_stage(self, stage: str) -> Iterator[Entry]:
        return (entry for entry in self.entries if entry.stage == stage)

    def about(self, name: str) -> Iterator[Entry]:
        """Entries whose subject or origins name `name`."""
        return (
            entry
            for entry in self.entries
            if entry.decision.subject == name or name in entry.decision.origins
        )
