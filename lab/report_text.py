"""A report as it reads in the terminal: a headline, then one line per fact with the reason beside
the number, in the user's language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compiler.compilation import Compilation, KernelFacts
from isas.document import Document, Printer
from lab.amounts import count_text, size_text
from lab.report import Check, Report, StallLine, Timing
from lab.words.width import cell_width, padded, shortened
from lab.words.words import ENGLISH, Words

WIDTH = 106
BAR = 24
MOST_KERNELS = 6
MOST_SPILLED = 4
_FREE = frozenset({"parameter", "constant", "broadcast", "reshape", "bitcast", "tuple"})
"""Operations that a kernel's line does not name."""


def document(report: Report, words: Words = ENGLISH) -> Document:
    """The report as in the terminal, up to `WIDTH` columns."""
    printer = Printer(report.title.said(words))
    for line in _lines(report, words):
        printer.add(shortened(line, WIDTH))
    return printer.finish()


def _lines(report: Report, words: Words) -> Iterator[str]:
    yield _header(report, words)
    yield _rule(words("tensor"))
    yield from (str(fact) for fact in _tensor(report, words))
    yield _rule(words("code"))
    yield from (str(fact) for fact in _code(report.compilation.kernels, words))
    yield _rule(words("time"))
    yield from _time(report.timing, words)
    yield _rule(words("checks"))
    yield "  " + "   ".join(_check(check, words) for check in report.checks)


def _header(report: Report, words: Words) -> str:
    """What was run at the left, where at the right."""
    compilation = report.compilation
    limits = [compilation.machine.name]
    for name, register_class in compilation.machine.isa.registers.classes.items():
        real = len(register_class.allocatable)
        limit = compilation.options.register_limit(name)
        limited = words("{name} {limit:d} of {real:d}", name=name, limit=limit or 0, real=real)
        limits.append(f"{name} {real}" if limit is None else limited)
    right = " · ".join(limits)
    room = WIDTH - cell_width(right)
    return padded(shortened(report.title.said(words), room - 2), room) + right


def _rule(name: str) -> str:
    """The line above a part."""
    return f"─ {name} " + "─" * (WIDTH - cell_width(name) - 3)


@dataclass(frozen=True, slots=True)
class Fact:
    """A name, its value, and the reason beside it."""

    name: str
    value: str
    reason: str = ""

    def __str__(self) -> str:
        return f"  {padded(self.name, 10)} {padded(self.value, 24)}   {self.reason}".rstrip()


def _tensor(report: Report, words: Words) -> Iterator[Fact]:
    compilation = report.compilation
    before, after = compilation.unfused, compilation.fused_count
    launches = f"{before.launches} → {after.launches}"
    yield Fact(words("launches"), launches, _fusion_reason(compilation, words))
    yield Fact(words("memory"), _moved(compilation, words), _peak(compilation, words))
    if compilation.pass_seconds:
        yield _pass_times(compilation.pass_seconds, words)


def _moved(compilation: Compilation, words: Words) -> str:
    before, after = compilation.unfused.bytes_moved, compilation.fused_count.bytes_moved
    sizes = {"before": size_text(before), "after": size_text(after)}
    factor = before / after if after else 1.0
    if factor > 1.05:
        return words("{before} → {after} moved ({factor:.1f}x less)", **sizes, factor=factor)
    return words("{before} → {after} moved", **sizes)


def _peak(compilation: Compilation, words: Words) -> str:
    assignment = compilation.assignment
    reused = assignment.buffer_bytes - assignment.peak_bytes
    peak, summed = size_text(assignment.peak_bytes), size_text(assignment.buffer_bytes)
    text = words("peak {peak} of {summed} summed", peak=peak, summed=summed)
    return words("{peak}; {reused} reused", peak=text, reused=size_text(reused)) if reused else text


def _pass_times(seconds: Mapping[str, float], words: Words) -> Fact:
    """The passes' milliseconds together, and those of the slowest ones."""
    slowest = sorted(seconds, key=lambda name: -seconds[name])[:4]
    told = ", ".join(f"{name} {seconds[name] * 1000:.1f}" for name in slowest)
    milliseconds = sum(seconds.values()) * 1000
    total = words("{count:d} in {time:.1f} ms", count=len(seconds), time=milliseconds)
    return Fact(words("passes"), total, told)


def _fusion_reason(compilation: Compilation, words: Words) -> str:
    """What the largest kernel holds, in words."""
    if not compilation.options.fuse:
        return words("fusion is switched off")
    inside = [_inside(compilation, kernel.instruction) for kernel in compilation.kernels]
    widest = max(inside, key=len, default=[])
    if len(widest) < 2:
        return words("nothing to join")
    names = list(dict.fromkeys(widest))
    shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    if len(compilation.kernels) == 1:
        return words("one kernel joins {count}: {names}", count=len(widest), names=shown)
    return words("the largest kernel joins {count}: {names}", count=len(widest), names=shown)


def _inside(compilation: Compilation, kernel: str) -> list[str]:
    """The operations inside a fused kernel, free ones left out."""
    entry = compilation.fused.entry_computation
    if kernel not in entry or entry.instruction(kernel).opcode.text != "fusion":
        return []
    called = compilation.fused.callees(entry.instruction(kernel))
    opcodes = [instruction.opcode.text for each in called for instruction in each]
    return [opcode for opcode in opcodes if opcode not in _FREE]


def _code(kernels: Sequence[KernelFacts], words: Words) -> Iterator[Fact]:
    shown = sorted(kernels, key=lambda k: -k.instructions)[:MOST_KERNELS]
    for kernel in [k for k in kernels if k in shown]:
        origin = words("from {origin}", origin=kernel.instruction)
        yield Fact(words("kernel"), _kernel_text(kernel, words), origin)
    if len(kernels) > len(shown):
        yield Fact("", words("and {count} smaller kernels", count=len(kernels) - len(shown)))
    for name in dict.fromkeys(name for kernel in kernels for name in kernel.registers):
        yield _registers(name, kernels, words)


def _kernel_text(kernel: KernelFacts, words: Words) -> str:
    size = words("– bytes")
    if kernel.size_bytes is not None:
        size = words("{size:d} bytes", size=kernel.size_bytes)
    parts = [words("{count} instructions", count=kernel.instructions), size]
    if kernel.lanes > 1:
        parts.append(words("{count} lanes", count=kernel.lanes))
    if kernel.unroll > 1:
        parts.append(words("unrolled x{count}", count=kernel.unroll))
    return words(", ").join(parts)


def _registers(name: str, kernels: Sequence[KernelFacts], words: Words) -> Fact:
    """How many registers of a class are in use, and what spilled."""
    uses = [kernel.registers[name] for kernel in kernels if name in kernel.registers]
    needed, allowed = max(u.spill_free for u in uses), max(u.allowed for u in uses)
    used = max(u.used for u in uses)
    text = words("{name} {used:d}/{allowed:d} used", name=name, used=used, allowed=allowed)
    if needed <= allowed:
        return Fact(words("registers"), text, words("nothing spilled"))
    return Fact(words("registers"), text, _spills(kernels, needed, words))


def _spills(kernels: Sequence[KernelFacts], needed: int, words: Words) -> str:
    spilled = [register for kernel in kernels for register in kernel.spilled]
    return words(
        "{count} spilled ({reloads} reloads): {names}; with {needed} none would spill",
        count=len(spilled),
        reloads=sum(kernel.reloads for kernel in kernels),
        names=" ".join(spilled[:MOST_SPILLED]) + (" …" if len(spilled) > MOST_SPILLED else ""),
        needed=needed,
    )


def _time(timing: Timing, words: Words) -> Iterator[str]:
    counts = words(
        "{cycles}   instructions {instructions}   IPC {ipc:.2f}",
        cycles=count_text(timing.cycles),
        instructions=count_text(timing.instructions),
        ipc=timing.ipc,
    )
    yield str(Fact(words("cycles"), counts))
    for name, remark in timing.remarks:
        yield str(Fact(name.said(words), remark.said(words)))
    for line in sorted(timing.stalls, key=lambda s: (s.cause != "retiring", -s.cycles)):
        if line.share >= 0.005 or line.cause == "retiring":
            yield _bar(line, words)


def _bar(line: StallLine, words: Words) -> str:
    """A cause's share of the cycles as a bar."""
    filled = round(line.share * BAR)
    rest = "░" if line.cause == "retiring" else " "
    bar = "█" * filled + rest * (BAR - filled)
    detail = line.detail.said(words) if line.detail else ""
    return f"  {padded(words(line.cause), 15)} {bar} {line.share:>4.0%}   {detail}".rstrip()


def _check(check: Check, words: Words) -> str:
    detail = f" {check.detail.said(words)}" if check.detail else ""
    return f"{check.verdict.value} {check.name.said(words)}{detail}"
