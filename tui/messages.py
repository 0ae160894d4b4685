"""What workers and widgets tell the application: frozen facts, never widgets or live objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from isas.errors import HobError

if TYPE_CHECKING:
    from tui.session import Request, Snapshot


class Progress(Message):
    """Work for `request` began its next step: a stage of compilation, `run`, `time`, ..."""

    def __init__(self, request: Request, step: str) -> None:
        super().__init__()
        self.request = request
        self.step = step


class Arrived(Message):
    """A snapshot is ready: first with the compilation alone, then with the run."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot = snapshot


@dataclass(frozen=True, slots=True)
class Problem:
    """Why work ended early, in words: `error` is the error that they tell, `defect` the exception
    when the fault is Hob's own."""

    text: str
    error: HobError | None = None
    defect: Exception | None = None


class Ended(Message):
    """Work for `request` ended without a finished snapshot."""

    def __init__(self, request: Request, problem: Problem) -> None:
        super().__init__()
        self.request = request
        self.problem = problem


class Replaying(Message):
    """A replay of `row` in the background has done `percent` of its way."""

    def __init__(self, row: int, percent: int) -> None:
        super().__init__()
        self.row = row
        self.percent = percent


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
