"""Which lines of two stages belong together, and which decisions are about a line. No widgets."""

from __future__ import annotations

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


def links(line: Line, stage: Stage, other: Document, other_stage: Stage) -> Links:
    """The lines of `other` that belong to `line` of `stage`."""
    related = frozenset(_related(line, other))
    if stage in _HLO and other_stage in _HLO:
        same = {i for i, each in enumerate(other.lines) if each.subject == line.subject}
        linked = frozenset(same) if line.subject is not None else frozenset[int]()
        return Links(linked or related, related - linked)
    if stage in _HLO or other_stage in _HLO:
        return Links(related, frozenset())
    places = _places_of(line)
    linked = frozenset(i for i, each in enumerate(other.lines) if places & _places_of(each))
    if not linked:
        names, kernel = names_of(line), kernel_of(line)
        linked = frozenset(
            i
            for i, each in enumerate(other.lines)
            if names & names_of(each) and kernel_of(each) == kernel
        )
    return Links(linked, related - linked)


def _related(line: Line, other: Document) -> list[int]:
    origins = set(line.origins)
    if not origins:
        return []
    return [i for i, each in enumerate(other.lines) if not origins.isdisjoint(each.origins)]


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


def reasons(compilation: Compilation, stage: Stage, line: Line) -> list[Entry]:
    """The decisions about a line, the nearest first: of its own stage, of other stages about what
    it computes or moves, then about the HLO instructions it stems from."""
    names, kernel, origins = names_of(line), kernel_of(line), set(line.origins)
    own: list[Entry] = []
    others: list[Entry] = []
    distant: list[Entry] = []
    for entry in compilation.journal.entries:
        subject = entry.decision.subject
        is_named = (
            subject in names and (entry.stage != _ALLOCATION or entry.pass_name == kernel)
        ) or place_name(entry.stage, subject) in names
        if is_named and stage not in _HLO:
            (own if entry.stage == stage.value else others).append(entry)
        elif _is_about_tensors(entry) and (
            subject in origins or subject in names or origins & set(entry.decision.origins)
        ):
            distant.append(entry)
    distant.sort(
        key=lambda entry: not (entry.decision.subject in origins or entry.decision.subject in names)
    )
    return own + others + distant[:MOST_ABOUT_ORIGINS]


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


def differences(before: Document, after: Document) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Signs for the lines of both: `-` is only in the first, `+` only in the second."""
    one = [_bare(line.text) for line in before.lines]
    other = [_bare(line.text) for line in after.lines]
    gone, added = [" "] * len(one), [" "] * len(other)
    for tag, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag != "equal":
            gone[a:b] = "-" * (b - a)
            added[c:d] = "+" * (d - c)
    return tuple(gone), tuple(added)


def _bare(text: str) -> str:
    return " ".join(text.split())
