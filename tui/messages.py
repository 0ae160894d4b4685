"""What workers and widgets tell the application: frozen facts, never widgets or live objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from tui.session import Snapshot


class Progress(Message):
    """Work began its next step: a stage of compilation, `run`, `time` or `compare`."""

    def __init__(self, step: str) -> None:
        super().__init__()
        self.step = step


class Arrived(Message):
    """A snapshot is ready: first with the compilation alone, then with the run."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot = snapshot


@dataclass(frozen=True, slots=True)
class Problem:
    """Why work ended early: an error in words, or that it was cancelled; `defect` is the exception
    when the fault is Hob's own."""

    text: str
    is_cancelled: bool = False
    defect: Exception | None = None


class Ended(Message):
    """Work ended without a snapshot."""

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.problem = problem


class Moved(Message):
    """The cursor of a sheet went to another cell."""

    def __init__(self, row: int, column: int) -> None:
        super().__init__()
        self.row = row
        self.column = column


class LineChosen(Message):
    """The cursor of a listing went to another line."""

    def __init__(self, side: int, line: int) -> None:
        super().__init__()
        self.side = side
        self.line = line
