"""Does compiling pay? Operation by operation against compiled and fused, in cycles and seconds.

Operation by operation, the way frameworks run eagerly, every operation is dispatched and launched
by itself: kernels exist already, so nothing is compiled, but every value travels through memory
and every call is paid for. Compiled, the program is dispatched once and its kernels are launched
one after the other; compiling costs seconds, once. From the difference per call follows after
how many calls compiling has paid for itself, if ever.

Cycles are the simulated machine's own; its clock turns them into seconds. Seconds of compilation
are those of this compiler on the computer at hand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from compiler.hlo.module import Module
from compiler.options import Options
from isas.cores import Simt
from isas.document import Document, Printer
from isas.model import Machine
from isas.program import Launch
from lab import road
from lab.amounts import size_text, time_text
from lab.words.width import padded, right, wrapped
from lab.words.words import ENGLISH, Words

WIDTH = 104
_CELLS = (9, 11, 13, 12, 12)
"""Cells of the table's columns, the blanks between them included."""

DISPATCH_SECONDS = 2.26e-6
"""What a framework spends on one operation before any kernel runs: the forward time of a split of a
small tensor on a CPU, which computes nothing (PyTorch pull request 32194, benchmark after the
change). Assumed for every operation and for one call of a compiled program alike."""

GPU_LAUNCH_SECONDS = 0.9e-6
"""What one launch adds when launches are queued on a GPU: 3.8 us per kernel that runs for 2.9 us on
a V100 (A. Gray, Getting Started with CUDA Graphs, NVIDIA technical blog, 2019)."""

CPU_LAUNCH_SECONDS = 0.0
"""On a CPU a launch is a function call, whose cycles are in the simulation."""


@dataclass(frozen=True, slots=True)
class Overheads:
    """Seconds that a call costs beside the kernels' own cycles."""

    dispatch_seconds: float
    launch_seconds: float


def overheads_of(machine: Machine) -> Overheads:
    """The assumptions for a machine (see the constants)."""
    is_gpu = isinstance(machine.core.simt, Simt)
    return Overheads(DISPATCH_SECONDS, GPU_LAUNCH_SECONDS if is_gpu else CPU_LAUNCH_SECONDS)


@dataclass(frozen=True, slots=True)
class Way:
    """One way to run the program once: kernels launched, programs dispatched, cycles, bytes moved,
    and the seconds before the first call."""

    name: str
    launches: int
    dispatches: int
    cycles: int
    bytes_moved: int
    compile_seconds: float

    def call_seconds(self, clock_hz: float, overheads: Overheads) -> float:
        """Seconds of one call."""
        outside = self.dispatches * overheads.dispatch_seconds
        return self.cycles / clock_hz + outside + self.launches * overheads.launch_seconds


@dataclass(frozen=True, slots=True)
class BreakEven:
    """Both ways on one machine. `matches` says that both computed what the evaluator does."""

    title: str
    machine: Machine
    overheads: Overheads
    eager: Way
    compiled: Way
    matches: bool

    @property
    def clock_hz(self) -> float:
        return self.machine.core.clock_ghz * 1e9

    @property
    def saved_seconds(self) -> float:
        """What one compiled call saves; negative when it loses."""
        before, after = (w.call_seconds(self.clock_hz, self.overheads) for w in self.ways)
        return before - after

    @property
    def ways(self) -> tuple[Way, Way]:
        return self.eager, self.compiled

    @property
    def calls(self) -> int | None:
        """The first number of calls for which compiling is no slower in total; None: never."""
        if self.saved_seconds <= 0:
            return None
        return max(1, math.ceil(self.compiled.compile_seconds / self.saved_seconds))

    def as_json(self) -> dict[str, object]:
        """All figures; `calls` is null when compiling never pays."""
        found: dict[str, object] = {
            "machine": self.machine.name,
            "clock_hz": self.clock_hz,
            "dispatch_seconds": self.overheads.dispatch_seconds,
            "launch_seconds": self.overheads.launch_seconds,
            "calls": self.calls,
            "saved_seconds": self.saved_seconds,
            "matches": self.matches,
        }
        for key, way in (("eager", self.eager), ("compiled", self.compiled)):
            found[key] = {
                "launches": way.launches,
                "cycles": way.cycles,
                "bytes_moved": way.bytes_moved,
                "compile_seconds": round(way.compile_seconds, 6),
                "call_seconds": way.call_seconds(self.clock_hz, self.overheads),
            }
        return found


def breakeven(
    module: Module,
    machine: Machine,
    options: Options,
    title: str,
    overheads: Overheads | None = None,
    data: road.Data | None = None,
) -> BreakEven:
    """Compiles and runs both ways. Raises UnsupportedError for what has no code generation."""
    eager = road.run(module, machine, replace(options, fuse=False), data=data)
    compiled = road.run(module, machine, replace(options, fuse=True), data=data)
    return BreakEven(
        title,
        machine,
        overheads or overheads_of(machine),
        _eager(eager),
        _compiled(compiled),
        eager.matches and compiled.matches,
    )


def _launches(result: road.Result) -> int:
    return sum(isinstance(step, Launch) for step in result.execution.steps)


def _eager(result: road.Result) -> Way:
    launches = _launches(result)
    moved = result.compilation.fused_count.bytes_moved
    return Way("one by one", launches, launches, result.cycles, moved, 0.0)


def _compiled(result: road.Result) -> Way:
    moved = result.compilation.fused_count.bytes_moved
    seconds = sum(result.compilation.seconds.values())
    return Way("compiled", _launches(result), 1, result.cycles, moved, seconds)


def document(found: BreakEven, words: Words = ENGLISH) -> Document:
    """Two lines of figures, and the answer."""
    printer = Printer(found.title)
    clock = found.machine.core.clock_ghz
    printer.add(
        words("{title} on {machine} at {clock:g} GHz",
              title=found.title, machine=found.machine.name, clock=clock)
    )  # fmt: skip
    heads = ("launches", "moved", "cycles", "per call", "compiling")
    columns = "".join(right(words(head), cells) for head, cells in zip(heads, _CELLS))
    printer.add(f"  {'':<11}{columns}")
    for way in found.ways:
        printer.add(f"  {padded(words(way.name), 11)}{_figures(found, way)}")
    for text in _answer(found, words):
        for line in wrapped(text, WIDTH):
            printer.add(f"  {line}")
    return printer.finish()


def _figures(found: BreakEven, way: Way) -> str:
    seconds = way.call_seconds(found.clock_hz, found.overheads)
    figures = (
        str(way.launches),
        size_text(way.bytes_moved),
        str(way.cycles),
        time_text(seconds),
        time_text(way.compile_seconds),
    )
    return "".join(f"{text:>{cells}}" for text, cells in zip(figures, _CELLS))


def _answer(found: BreakEven, words: Words) -> Iterator[str]:
    yield _assumptions(found, words)
    yield _verdict(found, words)
    yield _kernels_alone(found, words)
    if not found.matches:
        yield words("the results do not agree with the evaluator")


def _verdict(found: BreakEven, words: Words) -> str:
    eager, compiled = (w.call_seconds(found.clock_hz, found.overheads) for w in found.ways)
    if found.calls is None and compiled == eager:
        return words("compiling never pays: nothing was left to join")
    if found.calls is None:
        longer = time_text(compiled - eager)
        return words("compiling never pays: a compiled call takes {time} longer", time=longer)
    return words(
        "a compiled call saves {time} ({factor:.1f} times as fast); "
        "compiling pays from call {call} on",
        time=time_text(found.saved_seconds),
        factor=eager / compiled,
        call=found.calls,
    )


def _assumptions(found: BreakEven, words: Words) -> str:
    dispatch = time_text(found.overheads.dispatch_seconds)
    launch = found.overheads.launch_seconds
    beside = words(
        "beside the cycles: {time} per dispatch (each operation, or the program once)",
        time=dispatch,
    )
    if launch:
        return words("{beside}, {time} per launch", beside=beside, time=time_text(launch))
    return words("{beside}; a launch is a function call", beside=beside)


def _kernels_alone(found: BreakEven, words: Words) -> str:
    """What fusion does for the kernels themselves, overheads left out."""
    cycles = found.eager.cycles - found.compiled.cycles
    if cycles <= 0:
        return words("the kernels alone: fusion costs {cycles} cycles per call", cycles=-cycles)
    seconds = cycles / found.clock_hz
    return words(
        "the kernels alone: fusion saves {cycles} cycles per call, which pays from call {call} on",
        cycles=cycles,
        call=max(1, math.ceil(found.compiled.compile_seconds / seconds)),
    )
