"""The report of a run: facts first, then one line per fact with the reason beside the number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from compiler.compilation import Compilation, KernelFacts
from isas.document import Document, Printer
from lab.compare import Comparison
from lab.words.width import cell_width, padded, shortened

Say = Callable[[str], str]
"""Says a finished English text in the user's language."""
WIDTH = 106
BAR = 30
KEYS = (
    "machine", "cycles", "instructions", "ipc", "stalls", "spills", "reloads", "launches",
    "launches_unfused", "bytes_moved", "bytes_moved_unfused", "buffer_bytes", "peak_bytes",
    "stage_seconds", "max_relative_error", "matches",
)  # fmt: skip
"""The keys of the JSON report; `error` joins them when the input was bad."""


class Verdict(Enum):
    """How a check ended."""

    PASSED = "✔"
    FAILED = "✘"
    ABSENT = "–"


@dataclass(frozen=True, slots=True)
class Check:
    """One witness and what it said."""

    name: str
    verdict: Verdict
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.verdict.value} {self.name}" + (f" {self.detail}" if self.detail else "")


@dataclass(frozen=True, slots=True)
class StallLine:
    """Cycles charged to one cause, with the worst place in words."""

    cause: str
    cycles: float
    share: float
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Timing:
    """What the timing model says of a whole run. `remarks` are machine-specific lines such as warps
    and occupancy."""

    cycles: int
    instructions: int
    stalls: tuple[StallLine, ...]
    remarks: tuple[tuple[str, str], ...] = ()

    @property
    def ipc(self) -> float:
        return self.instructions / self.cycles if self.cycles else 0.0


@dataclass(frozen=True, slots=True)
class Report:
    """Facts of one run. `comparison` is the worst of the comparisons made."""

    title: str
    compilation: Compilation
    timing: Timing
    comparison: Comparison
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(check.verdict is not Verdict.FAILED for check in self.checks)

    def as_json(self) -> dict[str, Any]:
        """The report under the keys of `KEYS`. Counts of spills and reloads are executed ones."""
        compilation = self.compilation
        assignment = compilation.assignment
        values = (
            compilation.machine.name,
            self.timing.cycles,
            self.timing.instructions,
            round(self.timing.ipc, 6),
            {line.cause: line.cycles for line in self.timing.stalls},
            sum(kernel.spills for kernel in compilation.kernels),
            sum(kernel.reloads for kernel in compilation.kernels),
            compilation.fused_count.launches,
            compilation.unfused.launches,
            compilation.fused_count.bytes_moved,
            compilation.unfused.bytes_moved,
            assignment.buffer_bytes,
            assignment.peak_bytes,
            {str(stage): round(s, 6) for stage, s in compilation.seconds.items()},
            self.comparison.max_relative_error,
            self.passed,
        )
        return dict(zip(KEYS, values, strict=True))

    def __str__(self) -> str:
        return str(document(self))

    def __repr__(self) -> str:
        verdict = "passed" if self.passed else "FAILED"
        return f"<Report {self.title}: {self.timing.cycles} cycles, {verdict}>"


def error_json(message: str) -> dict[str, Any]:
    """The JSON document of a run that could not start: every key null, and the reason."""
    return {**dict.fromkeys(KEYS), "error": message}


def document(report: Report, say: Say = str) -> Document:
    """The report as in the terminal, up to `WIDTH` columns, every part of it said by `say`."""
    printer = Printer(report.title)
    for row in _rows(report):
        printer.add(row.text(say))
    return printer.finish()


@dataclass(frozen=True, slots=True)
class Header:
    """What was run at the left, where at the right."""

    left: str
    right: tuple[str, ...]

    def text(self, say: Say) -> str:
        right = " · ".join(say(part) for part in self.right)
        room = WIDTH - cell_width(right)
        return padded(shortened(say(self.left), room - 2), room) + right


@dataclass(frozen=True, slots=True)
class Rule:
    """The line above a part."""

    name: str

    def text(self, say: Say) -> str:
        name = say(self.name)
        return f"─ {name} " + "─" * (WIDTH - cell_width(name) - 3)


@dataclass(frozen=True, slots=True)
class Fact:
    """A name, its value, and the reason beside it."""

    name: str
    value: str
    reason: str = ""

    def text(self, say: Say) -> str:
        name, value = padded(say(self.name), 10), padded(say(self.value), 24)
        return shortened(f"  {name} {value}   {say(self.reason)}".rstrip(), WIDTH)


@dataclass(frozen=True, slots=True)
class Bar:
    """A cause's share of the cycles as a bar."""

    line: StallLine

    def text(self, say: Say) -> str:
        share, cause = self.line.share, self.line.cause
        filled = round(share * BAR)
        rest = "░" if cause == "retiring" else " "
        bar = "█" * filled + rest * (BAR - filled)
        text = f"  {padded(say(cause), 15)} {bar} {share:>4.0%}   {say(self.line.detail)}"
        return shortened(text.rstrip(), WIDTH)


@dataclass(frozen=True, slots=True)
class Checks:
    """The witnesses, side by side."""

    checks: tuple[Check, ...]

    def text(self, say: Say) -> str:
        return "  " + "   ".join(self._check(check, say) for check in self.checks)

    def _check(self, check: Check, say: Say) -> str:
        detail = f" {say(check.detail)}" if check.detail else ""
        return f"{check.verdict.value} {say(check.name)}{detail}"


Row = Header | Rule | Fact | Bar | Checks


def _rows(report: Report) -> Iterator[Row]:
    yield _header(report)
    yield Rule("tensor")
    yield from _tensor(report)
    yield Rule("code")
    yield from _code(report)
    yield Rule("time")
    yield from _time(report.timing)
    yield Rule("checks")
    yield Checks(report.checks)


def _header(report: Report) -> Header:
    compilation = report.compilation
    limits = [compilation.machine.name]
    for name, register_class in compilation.machine.isa.registers.classes.items():
        real = len(register_class.allocatable)
        limit = compilation.options.register_limit(name)
        limits.append(f"{name} {real}" if limit is None else f"{name} {limit} of {real}")
    return Header(report.title, tuple(limits))


def _tensor(report: Report) -> Iterator[Row]:
    compilation, assignment = report.compilation, report.compilation.assignment
    before, after = compilation.unfused, compilation.fused_count
    yield Fact("launches", f"{before.launches} → {after.launches}", _fusion_reason(compilation))
    factor = before.bytes_moved / after.bytes_moved if after.bytes_moved else 1.0
    saved = f" ({factor:.1f}x less)" if factor > 1.05 else ""
    moved = f"{size(before.bytes_moved)} → {size(after.bytes_moved)} moved{saved}"
    reused = assignment.buffer_bytes - assignment.peak_bytes
    peak = f"peak {size(assignment.peak_bytes)} of {size(assignment.buffer_bytes)} summed"
    yield Fact("memory", moved, f"{peak}; {size(reused)} reused" if reused else peak)
    if compilation.pass_seconds:
        yield _pass_times(compilation.pass_seconds)


def _pass_times(seconds: Mapping[str, float]) -> Row:
    """The passes' milliseconds together, and those of the slowest ones."""
    slowest = sorted(seconds, key=lambda name: -seconds[name])[:4]
    told = ", ".join(f"{name} {seconds[name] * 1000:.1f}" for name in slowest)
    total = f"{len(seconds)} in {sum(seconds.values()) * 1000:.1f} ms"
    return Fact("passes", total, told)


def _fusion_reason(compilation: Compilation) -> str:
    """What the largest kernel holds, in words."""
    if not compilation.options.fuse:
        return "fusion is switched off"
    inside = [_inside(compilation, kernel.instruction) for kernel in compilation.kernels]
    widest = max(inside, key=len, default=[])
    if len(widest) < 2:
        return "nothing to join"
    names = list(dict.fromkeys(widest))
    shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    kernels = "one kernel" if len(compilation.kernels) == 1 else "the largest kernel"
    return f"{kernels} joins {len(widest)}: {shown}"


_FREE = frozenset({"parameter", "constant", "broadcast", "reshape", "bitcast", "tuple"})


def _inside(compilation: Compilation, kernel: str) -> list[str]:
    """The operations inside a fused kernel, free ones left out."""
    entry = compilation.fused.entry_computation
    if kernel not in entry or entry.instruction(kernel).opcode.text != "fusion":
        return []
    called = compilation.fused.callees(entry.instruction(kernel))
    opcodes = [instruction.opcode.text for each in called for instruction in each]
    return [opcode for opcode in opcodes if opcode not in _FREE]


def _code(report: Report) -> Iterator[Row]:
    kernels = report.compilation.kernels
    shown = sorted(kernels, key=lambda k: -k.instructions)[:6]
    for kernel in [k for k in kernels if k in shown]:
        yield Fact("kernel", _kernel_text(kernel), f"from {kernel.instruction}")
    if len(kernels) > len(shown):
        yield Fact("", f"and {len(kernels) - len(shown)} smaller kernels")
    for name in _classes(kernels):
        yield Fact("registers", _register_text(name, kernels), _spill_text(name, kernels))


def _kernel_text(kernel: KernelFacts) -> str:
    size_text = "– bytes" if kernel.size_bytes is None else f"{kernel.size_bytes} bytes"
    parts = [f"{kernel.instructions} instructions", size_text]
    if kernel.lanes > 1:
        parts.append(f"{kernel.lanes} lanes")
    if kernel.unroll > 1:
        parts.append(f"unrolled x{kernel.unroll}")
    return ", ".join(parts)


def _classes(kernels: tuple[KernelFacts, ...]) -> list[str]:
    return list(dict.fromkeys(name for kernel in kernels for name in kernel.registers))


def _register_text(name: str, kernels: tuple[KernelFacts, ...]) -> str:
    uses = [kernel.registers[name] for kernel in kernels if name in kernel.registers]
    return f"{name} {max(u.used for u in uses)}/{max(u.allowed for u in uses)} used"


def _spill_text(name: str, kernels: tuple[KernelFacts, ...]) -> str:
    uses = [kernel.registers[name] for kernel in kernels if name in kernel.registers]
    needed, allowed = max(u.spill_free for u in uses), max(u.allowed for u in uses)
    if needed <= allowed:
        return "nothing spilled"
    spilled = [register for kernel in kernels for register in kernel.spilled]
    reloads = sum(kernel.reloads for kernel in kernels)
    names = " ".join(spilled[:6]) + (" …" if len(spilled) > 6 else "")
    return f"{len(spilled)} spilled ({reloads} reloads): {names}; with {needed} none would spill"


def _time(timing: Timing) -> Iterator[Row]:
    counts = f"{_number(timing.cycles)}   instructions {_number(timing.instructions)}"
    yield Fact("cycles", f"{counts}   IPC {timing.ipc:.2f}")
    for name, text in timing.remarks:
        yield Fact(name, text)
    for line in sorted(timing.stalls, key=lambda s: (s.cause != "retiring", -s.cycles)):
        if line.share >= 0.005 or line.cause == "retiring":
            yield Bar(line)


def _number(value: int) -> str:
    return f"{value:,}".replace(",", " ")


def size(size_bytes: int) -> str:
    """Bytes in words: 512 B, 27.6 KB, 3.2 MB (powers of 1024)."""
    value = float(size_bytes)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1024 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GB"
