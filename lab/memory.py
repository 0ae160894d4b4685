"""What `hob buffers` says of a program's memory: the picture, the peak, reuse, and whether it
fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from compiler.buffers.assign import Assignment, Placement, assign
from compiler.buffers.liveness import Role, aligned
from compiler.buffers.picture import draw
from compiler.hlo.module import Module
from compiler.journal import Journal
from compiler.options import Options
from compiler.pipeline import run_hlo_passes
from isas.document import Document, Printer
from isas.errors import InputError
from lab.report import size

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
        """peak_bytes, lower_bound_bytes, buffer_bytes, placements; fits and fits_without_reuse
        when the memory is known."""
        found: dict[str, Any] = {
            "peak_bytes": self.assignment.peak_bytes,
            "lower_bound_bytes": self.assignment.lower_bound_bytes,
            "buffer_bytes": self.assignment.buffer_bytes,
            "constant_bytes": self._constant_bytes,
            "peak_step": self.peak_step,
            "launches": list(self.assignment.launches),
            "placements": [_placement(p) for p in self.assignment.placements],
        }
        if self.memory_bytes is not None:
            found["memory_bytes"] = self.memory_bytes
            found["fits"] = self.assignment.arena_bytes <= self.memory_bytes
            found["fits_without_reuse"] = self.without_reuse <= self.memory_bytes
        return found


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


def document(report: MemoryReport) -> Document:
    """The picture and one line per fact."""
    printer = Printer(report.title)
    printer.add(f"{report.title} · {len(report.assignment.launches)} launches")
    for line in draw(report.assignment).lines:
        printer.add(line.text)
    for text in _lines(report):
        printer.add(text)
    return printer.finish()


def _fact(name: str, text: str) -> str:
    return f"  {name:<11} {text}"


def _lines(report: MemoryReport) -> Iterator[str]:
    assignment = report.assignment
    peak, bound = assignment.peak_bytes, assignment.lower_bound_bytes
    over = "" if peak == bound else f", {peak / bound - 1:.1%} above it"
    yield _fact("arena", f"{size(peak)}; the largest live set is {size(bound)}{over}")
    yield from _peak(report)
    saved = assignment.buffer_bytes - peak
    share = saved / assignment.buffer_bytes if assignment.buffer_bytes else 0.0
    summed = size(assignment.buffer_bytes)
    yield _fact("reuse", f"{size(saved)} saved: {summed} without it ({share:.0%} less)")
    yield from _temporaries(assignment)
    constants = assignment.arena_bytes - peak
    if constants:
        yield _fact("constants", f"{size(constants)} behind the arena")
    if report.memory_bytes is not None:
        yield from _fits(report, report.memory_bytes)


def _peak(report: MemoryReport) -> Iterator[str]:
    step = report.peak_step
    launches = report.assignment.launches
    if step < 0:
        where = "before the first launch"
    elif step >= len(launches):
        where = "after the last launch"
    else:
        where = f"at step {step}, {launches[step]}"
    alive = report.alive(step)
    yield _fact("peak", f"{where}, with {len(alive)} arrays alive:")
    for placement in alive[:MOST_LISTED]:
        array = placement.array
        yield f"{'':<15}{size(placement.slice.size_bytes):>9}  {array.role.value:<10} {array.name}"
    if len(alive) > MOST_LISTED:
        rest = sum(p.slice.size_bytes for p in alive[MOST_LISTED:])
        yield f"{'':<15}{size(rest):>9}  in {len(alive) - MOST_LISTED} more"


def _temporaries(assignment: Assignment) -> Iterator[str]:
    """Memory that is neither given nor handed back."""
    found = [p for p in assignment.placements if p.array.role in (Role.TEMPORARY, Role.SCRATCH)]
    if not found:
        yield _fact("temporaries", "none: every array is a parameter or a result")
        return
    summed = sum(aligned(p.slice.size_bytes) for p in found)
    scratch = sum(p.array.role is Role.SCRATCH for p in found)
    of_loops = f", {scratch} of them inside loops and branches" if scratch else ""
    yield _fact("temporaries", f"{len(found)} arrays, {size(summed)} summed{of_loops}")


def _fits(report: MemoryReport, memory: int) -> Iterator[str]:
    for word, needed in (
        ("with", report.assignment.arena_bytes),
        ("without", report.without_reuse),
    ):
        verdict = "fits" if needed <= memory else "does not fit"
        yield _fact(f"{size(memory)}", f"{verdict} {word} reuse ({size(needed)} needed)")
