"""What every tensor-level pass is given beside the module: the options and the journal."""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.journal import Decision, Journal
from compiler.options import Options


@dataclass(frozen=True, slots=True)
class PassContext:
    """The surroundings of a pass run."""

    options: Options = field(default_factory=Options)
    journal: Journal = field(default_factory=Journal)

    def record(self, decision: Decision) -> None:
        self.journal.record(decision)
