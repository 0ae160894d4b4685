"""The one printer: a document is lines of text, each linked to the objects and origins it shows.

Every level (HLO, LLVM IR, machine code, assembly) prints into a `Document`; screens and commands
map a line to the thing it shows (`subject`) and to where that came from one level up (`origins`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Line:
    """One printed line. `subject` is the printed object's name at this level (instruction, value,
    block), `origins` the names of the HLO instructions it stems from. `names` are further names
    under which decisions speak of it, and by which lines of neighbouring levels belong together:
    the IR value that it computes, virtual registers that it writes or moves, places in
    schedules."""

    text: str
    subject: str | None = None
    origins: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A printed level: `lines` in order; `str()` joins them."""

    title: str
    lines: tuple[Line, ...]

    def __str__(self) -> str:
        return "\n".join(line.text for line in self.lines)


@dataclass(slots=True)
class Printer:
    """Collects lines for one document."""

    title: str
    lines: list[Line] = field(default_factory=list)

    def add(
        self,
        text: str,
        subject: Any = None,
        origins: Iterable[str] = (),
        names: Iterable[str] = (),
    ) -> None:
        name = None if subject is None else str(subject)
        self.lines.append(Line(text, name, tuple(origins), tuple(names)))

    def finish(self) -> Document:
        return Document(self.title, tuple(self.lines))
