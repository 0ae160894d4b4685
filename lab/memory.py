"""What `hob buffers` says of a program's memory: the picture, the peak, reuse, and whether it
fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from compiler.buffers.assign import Assignment, Placement, assign
from compiler.buffers.liveness import Role, aligned
from compiler.buffers.picture import draw, heading
from compiler.buffers.regions import Region
from compiler.hlo.module import Module
from compiler.journal import Journal
from compiler.options import Options
from compiler.pipeline import run_hlo_passes
from isas.document import Document, Printer
from isas.errors import InputError
from lab.amounts import size_text
from lab.words.width import padded
from lab.words.words import ENGLISH, Words

MOST_LISTED = 8
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40,
          "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}  # fmt: skip


def read_bytes(text: str) -> int:
    """`16GiB`, `512 MB` or `4096` as bytes. Raises InputError when it is neither."""
    found = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*([A-Za-z]*)\s*", text, re.ASCII)
    if found is None or found[2].upper() not in _UNITS:
        raise InputError(
            f"'{text}' is no amount of memory", "--memory", "write for example --memory 16GiB"
        )
    return int(float(found[1]) * _UNITS[found[2].upper()])


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """The memory of one program; ``memory_bytes`` is what the user has, None when not said."""

    title: str
    assignment: Assignment
    memory_bytes: int | None = None

    @property
    def without_reuse(self) -> int:
        """What the arena takes when no place is used twice, constants included."""
        return self.assignment.buffer_bytes + self._constant_bytes

    @property
    def _constant_bytes(self) -> int:
        return self.assignment.arena_bytes - self.assignment.peak_bytes

    @property
    def peak_step(self) -> int:
        """The step with most bytes alive; -1 is before the first launch."""
        live = self.assignment.live_bytes
        return live.index(max(live)) - 1 if live else -1

    def alive(self, step: int) -> list[Placement]:
        """The arrays alive in a step, the largest first."""
        found = [p for p in self.assignment.placements if p.array.start <= step <= p.array.end]
        return sorted(found, key=lambda p: (-p.slice.size_bytes, p.slice.offset))

    def as_json(self) -> dict[str, Any]:
        """peak_bytes, lower_bound_bytes, buffer_bytes, placements; regions for what loops and
        branches run, in steps of their own; fits and fits_without_reuse when the memory is
        known."""
        found: dict[str, Any] = {
            "peak_bytes": self.assignment.peak_bytes,
            "lower_bound_bytes": self.assignment.lower_bound_bytes,
            "buffer_bytes": self.assignment.buffer_bytes,
            "constant_bytes": self._constant_bytes,
            "peak_step": self.peak_step,
            "launches": list(self.assignment.launches),
            "placements": [_placement(p) for p in self.assignment.placements],
            "regions": [_region(region) for region in self.assignment.regions.values()],
        }
        if self.memory_bytes is not None:
            found["memory_bytes"] = self.memory_bytes
            found["fits"] = self.assignment.arena_bytes <= self.memory_bytes
            found["fits_without_reuse"] = self.without_reuse <= self.memory_bytes
        return found


def _region(region: Region) -> dict[str, Any]:
    return {
        "computation": region.computation,
        "part": region.part.value,
        "caller": region.caller,
        "holder": region.holder,
        "launches": list(region.launches),
        "placements": [_placement(p) for p in _drawn(region)],
    }


def _drawn(region: Region) -> list[Placement]:
    """All arrays but constants, which lie behind the arena."""
    return [p for p in region.placements if p.array.role is not Role.CONSTANT]


def _placement(placement: Placement) -> dict[str, Any]:
    array, place = placement.array, placement.slice
    return {
        "name": array.name,
        "role": array.role.value,
        "offset": place.offset,
        "size_bytes": place.size_bytes,
        "start": array.start,
        "end": array.end,
    }


def memory_report(
    module: Module, options: Options, title: str, memory_bytes: int | None = None
) -> MemoryReport:
    """Runs the tensor-level passes and buffer assignment."""
    journal = Journal()
    final = run_hlo_passes(module, options, journal)
    return MemoryReport(title, assign(final, options, journal), memory_bytes)


def document(report: MemoryReport, words: Words = ENGLISH) -> Document:
    """The picture and one line per fact."""
    printer = Printer(report.title)
    count = len(report.assignment.launches)
    printer.add(words("{title} · {count} launches", title=report.title, count=count))
    for line in draw(report.assignment, words).lines:
        printer.add(line.text)
    for text in _lines(report, words):
        printer.add(text)
    for region in report.assignment.regions.values():
        printer.add("")
        printer.add(heading(report.assignment, region, words))
        for line in draw(replace(region, placements=tuple(_drawn(region))), words).lines:
            printer.add(line.text)
    return printer.finish()


def _fact(name: str, text: str) -> str:
    return f"  {padded(name, 11)} {text}"


def _lines(report: MemoryReport, words: Words) -> Iterator[str]:
    yield _fact(words("arena"), _arena(report.assignment, words))
    yield from _peak(report, words)
    yield _fact(words("reuse"), _reuse(report.assignment, words))
    yield _fact(words("temporaries"), _temporaries(report.assignment, words))
    constants = report.assignment.arena_bytes - report.assignment.peak_bytes
    if constants:
        behind = words("{size} behind the arena", size=size_text(constants))
        yield _fact(words("constants"), behind)
    if report.memory_bytes is not None:
        yield from _fits(report, report.memory_bytes, words)


def _arena(assignment: Assignment, words: Words) -> str:
    peak, bound = assignment.peak_bytes, assignment.lower_bound_bytes
    sizes = {"peak": size_text(peak), "bound": size_text(bound)}
    if peak == bound:
        return words("{peak}; the largest live set is {bound}", **sizes)
    return words(
        "{peak}; the largest live set is {bound}, {over:.1%} above it",
        **sizes,
        over=peak / bound - 1,
    )


def _reuse(assignment: Assignment, words: Words) -> str:
    summed = assignment.buffer_bytes
    saved = summed - assignment.peak_bytes
    return words(
        "{saved} saved: {summed} without it ({share:.0%} less)",
        saved=size_text(saved),
        summed=size_text(summed),
        share=saved / summed if summed else 0.0,
    )


def _peak(report: MemoryReport, words: Words) -> Iterator[str]:
    alive = report.alive(report.peak_step)
    where = _step(report.peak_step, report.assignment.launches, words)
    text = words("{where}, with {count} arrays alive:", where=where, count=len(alive))
    yield _fact(words("peak"), text)
    for placement in alive[:MOST_LISTED]:
        array = placement.array
        role = padded(words(array.role.value), 10)
        yield f"{'':<15}{size_text(placement.slice.size_bytes):>9}  {role} {array.name}"
    if len(alive) > MOST_LISTED:
        rest = size_text(sum(p.slice.size_bytes for p in alive[MOST_LISTED:]))
        more = words("in {count} more", count=len(alive) - MOST_LISTED)
        yield f"{'':<15}{rest:>9}  {more}"


def _step(step: int, launches: Sequence[str], words: Words) -> str:
    if step < 0:
        return words("before the first launch")
    if step >= len(launches):
        return words("after the last launch")
    return words("at step {step}, {launch}", step=step, launch=launches[step])


def _temporaries(assignment: Assignment, words: Words) -> str:
    """Memory that is neither given nor handed back."""
    found = [p for p in assignment.placements if p.array.role in (Role.TEMPORARY, Role.SCRATCH)]
    if not found:
        return words("none: every array is a parameter or a result")
    summed = size_text(sum(aligned(p.slice.size_bytes) for p in found))
    text = words("{count} arrays, {size} summed", count=len(found), size=summed)
    scratch = sum(p.array.role is Role.SCRATCH for p in found)
    if not scratch:
        return text
    return words("{arrays}, {count} of them inside loops and branches", arrays=text, count=scratch)


def _fits(report: MemoryReport, memory: int, words: Words) -> Iterator[str]:
    needed, summed = report.assignment.arena_bytes, report.without_reuse
    with_reuse = words("fits with reuse ({size} needed)", size=size_text(needed))
    if needed > memory:
        with_reuse = words("does not fit with reuse ({size} needed)", size=size_text(needed))
    without = words("fits without reuse ({size} needed)", size=size_text(summed))
    if summed > memory:
        without = words("does not fit without reuse ({size} needed)", size=size_text(summed))
    yield _fact(size_text(memory), with_reuse)
    yield _fact(size_text(memory), without)
