"""What a pass over LLVM IR is told: the machine, the user's options, and where to write
decisions."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.journal import Decision, Journal
from compiler.options import Options
from compiler.target import Target


@dataclass(frozen=True, slots=True)
class Context:
    """`run(function, context)` of every pass receives one of these."""

    target: Target
    options: Options
    journal: Journal

    def record(self, decision: Decision) -> None:
        self.journal.record(decision)
