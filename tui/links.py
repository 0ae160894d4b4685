"""Which lines of two stages belong together, and which decisions are about a line. No widgets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher

from compiler.compilation import Compilation, Stage
from compiler.journal import Entry
from compiler.machine.code import place_name
from isas.document import Document, Line

_HLO = (Stage.HLO, Stage.HLO_FUSED, Stage.BUFFERS)
_ALLOCATION = Stage.ALLOCATED.value
MOST_ABOUT_ORIGINS = 12


@dataclass(frozen=True, slots=True)
class Links:
    """Lines of another document: `linked` show the same thing, `related` stem from the same HLO
    instruction."""

    linked: frozenset[int]
    related: frozenset[int]


class LineIndex:
    """The lines of a document by what they can be linked through."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.by_origin: dict[str, list[int]] = defaultdict(list)
        self.by_subject: dict[str, list[int]] = defaultdict(list)
        self.by_name: dict[tuple[str, str], list[int]] = defaultdict(list)
        for place, line in enumerate(document.lines):
            for origin in line.origins:
                self.by_origin[origin].append(place)
            if line.subject is not None:
                self.by_subject[line.subject].append(place)
            for name in names_of(line):
                self.by_name[kernel_of(line), name].append(place)

    def of_origins(self, origins: Iterable[str]) -> frozenset[int]:
        """The lines that stem from any of the HLO instructions."""
        return _all(self.by_origin.get(origin, ()) for origin in origins)

    def of_names(self, kernel: str, names: Iterable[str]) -> frozenset[int]:
        """The lines of a kernel that are called any of the names."""
        return _all(self.by_name.get((kernel, name), ()) for name in names)


def _all(found: Iterable[Iterable[int]]) -> frozenset[int]:
    return frozenset(place for places in found for place in places)


def links(line: Line, stage: Stage, other: LineIndex, other_stage: Stage) -> Links:
    """The lines of the other document that belong to `line` of `stage`."""
    related = other.of_origins(line.origins)
    if stage in _HLO and other_stage in _HLO:
        same = other.by_subject.get(line.subject, ()) if line.subject is not None else ()
        linked = frozenset(same)
        return Links(linked or related, related - linked)
    if stage in _HLO or other_stage in _HLO:
        return Links(related, frozenset())
    kernel = kernel_of(line)
    linked = other.of_names(kernel, _places_of(line)) or other.of_names(kernel, names_of(line))
    return Links(linked, related - linked)


def names_of(line: Line) -> frozenset[str]:
    """Everything the line is called in more than one stage."""
    subject = line.subject or ""
    return frozenset((*line.names, *((subject,) if subject and ":" not in subject else ())))


def _places_of(line: Line) -> frozenset[str]:
    """Its places in schedules, each with its stage: no two instructions share one."""
    return frozenset(name for name in line.names if ":" in name)


def kernel_of(line: Line) -> str:
    """The kernel a line of code belongs to: what its subject begins with."""
    subject = line.subject or ""
    return subject.split("/")[0].split(":")[0]


class ReasonIndex:
    """The decisions of a compilation by what they are about; numbers are places in the journal."""

    def __init__(self, compilation: Compilation) -> None:
        self.entries = compilation.journal.entries
        self.by_subject: dict[str, list[int]] = defaultdict(list)
        self.by_place: dict[str, list[int]] = defaultdict(list)
        self.by_tensor: dict[str, list[int]] = defaultdict(list)
        for place, entry in enumerate(self.entries):
            decision = entry.decision
            self.by_subject[decision.subject].append(place)
            self.by_place[place_name(entry.stage, decision.subject)].append(place)
            if _is_about_tensors(entry):
                for origin in {decision.subject, *decision.origins}:
                    self.by_tensor[origin].append(place)

    def about(self, stage: Stage, line: Line) -> list[Entry]:
        """The decisions about a line of a stage, the nearest first: of its own stage, of other
        stages about what it computes or moves, then about the HLO instructions it stems from."""
        named = self._named(line) if stage not in _HLO else []
        own = [place for place in named if self.entries[place].stage == stage.value]
        others = [place for place in named if self.entries[place].stage != stage.value]
        distant = [place for place in self._distant(line) if place not in named]
        wanted = {*names_of(line), *line.origins}
        distant.sort(key=lambda place: self.entries[place].decision.subject not in wanted)
        places = [*own, *others, *distant[:MOST_ABOUT_ORIGINS]]
        return [self.entries[place] for place in places]

    def _named(self, line: Line) -> list[int]:
        """What names the line itself. Virtual registers are names within their kernel only."""
        names, kernel = names_of(line), kernel_of(line)
        found = _all(self.by_place.get(name, ()) for name in names) | {
            place
            for name in names
            for place in self.by_subject.get(name, ())
            if self.entries[place].stage != _ALLOCATION or self.entries[place].pass_name == kernel
        }
        return sorted(found)

    def _distant(self, line: Line) -> list[int]:
        """What is about the line's HLO instructions, or about a tensor of its name."""
        of_origins = _all(self.by_tensor.get(origin, ()) for origin in line.origins)
        of_names = {
            place
            for name in names_of(line)
            for place in self.by_subject.get(name, ())
            if _is_about_tensors(self.entries[place])
        }
        return sorted(of_origins | of_names)


_TENSOR_STAGES = frozenset(stage.value for stage in (*_HLO, Stage.LLVM))


def _is_about_tensors(entry: Entry) -> bool:
    return entry.stage in _TENSOR_STAGES


def spill_lines(document: Document, register: str, kernel: str) -> list[int]:
    """Lines of a kernel that name a virtual register."""
    return [
        i
        for i, line in enumerate(document.lines)
        if register in line.names and kernel_of(line) == kernel
    ]


Signs = tuple[str, ...]
"""A character for each line of a document."""


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """`signs` for the lines of both: `-` is only in the first, `+` only in the second."""

    before: Document
    after: Document
    signs: tuple[Signs, Signs]


def differences(before: Document, after: Document) -> Differences:
    """What differs; takes seconds where thousands of lines have moved."""
    one = [_bare(line.text) for line in before.lines]
    other = [_bare(line.text) for line in after.lines]
    gone, added = [" "] * len(one), [" "] * len(other)
    for tag, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag != "equal":
            gone[a:b] = "-" * (b - a)
            added[c:d] = "+" * (d - c)
    return Differences(before, after, (tuple(gone), tuple(added)))


def _bare(text: str) -> str:
    return " ".join(text.split())
