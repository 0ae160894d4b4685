"""The session: what is being looked at, and how it came about. It knows no widget.

`Session.work` runs in a thread: it loads, compiles and runs what a request asks for and hands out
frozen snapshots on the way. The rest is for the application's own thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from compiler.options import Options
from isas.errors import HobError
from lab import road
from lab.models import load_program

if TYPE_CHECKING:
    from compiler.allocate.linear_scan import SpillRule
    from compiler.allocate.result import AllocationResult
    from compiler.compilation import Compilation
    from lab.pass_pictures import PassPicture
    from vm.replay import Replay

MOST_REMEMBERED = 20
"""Finished runs that one can go back to, and ..."""
MOST_BYTES = 512 << 20
"""... how much memory they take together at most; the last two are always kept."""


class Cancelled(HobError):
    """The user gave up waiting."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to look at: a program file on a machine, with options and where the inputs come from.
    `arguments` are the argument shapes of a Python function."""

    program: str
    machine: str = road.DEFAULT_MACHINE
    options: Options = field(default_factory=Options)
    inputs: str | None = None
    seed: int = 0
    arguments: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The file's name."""
        return Path(self.program).name

    def is_about(self, other: Request | None) -> bool:
        """Whether `other` looks at the same program."""
        return other is not None and (self.program, self.arguments) == (
            other.program,
            other.arguments,
        )

    @property
    def limits(self) -> str:
        """The register limits, as on the command line; empty without any."""
        return ",".join(f"{name}={count}" for name, count in self.options.registers)

    def with_registers(self, register_class: str, count: int | None) -> Request:
        """The same with another number of registers of one class; None: all there are."""
        limits = dict(self.options.registers)
        limits.pop(register_class, None)
        if count is not None:
            limits[register_class] = count
        options = replace(self.options, registers=tuple(sorted(limits.items())))
        return replace(self, options=options)


Stamps = tuple[tuple[int, int], ...]
"""Of each file that a request reads: when it was written (ns) and its size (bytes)."""


def stamps_of(request: Request) -> Stamps:
    """The stamps of the program's file and of the inputs'; (0, 0) for one that is not there."""
    from lab.models import is_python

    program = request.program
    if is_python(program) and not program.endswith(".py"):
        program = program.rpartition(":")[0]
    return tuple(_stamp(Path(path)) for path in (program, request.inputs) if path is not None)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        facts = path.stat()
    except OSError:
        return (0, 0)
    return (facts.st_mtime_ns, facts.st_size)


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """One compilation and, once it has run, its result. `stamps` tell which state of the files it
    was made from."""

    request: Request
    compilation: Compilation
    result: road.Result | None = None
    stamps: Stamps = ()

    @property
    def cycles(self) -> int | None:
        """Cycles of the run; None before it has ended."""
        return None if self.result is None else self.result.cycles

    @property
    def size_bytes(self) -> int:
        """About how much memory it takes: measured on programs of some ten thousand lines, 200
        bytes for an executed instruction and 5000 for a decision with the code it is about."""
        rows = 0 if self.result is None else len(self.result.timeline)
        return 200 * rows + 5000 * len(self.compilation.journal.entries)


Tell = Callable[[str], None]
Deliver = Callable[[Snapshot], None]


class Session:
    """The current snapshot and those before it. `request` is what is asked for, `awaited` the
    request that a worker is at (None: none); whatever arrives for another one is out of date.
    `forgotten` counts finished snapshots that are not remembered any more."""

    def __init__(self, request: Request | None = None) -> None:
        self.request = request
        self.awaited: Request | None = None
        self.current: Snapshot | None = None
        self.history: list[Snapshot] = []
        self.forgotten = 0
        self._replay: tuple[road.Result, Replay] | None = None

    def begin(self, request: Request) -> None:
        """Work for `request` begins; what was awaited before is not any more."""
        self.request = self.awaited = request

    def work(
        self, request: Request, tell: Tell, deliver: Deliver, is_cancelled: Callable[[], bool]
    ) -> Snapshot:
        """Does all the work for `request`. Raises HobError for bad input, Cancelled when told to.

        `tell` hears of every step; `deliver` gets the compilation as soon as it is there.
        """
        told = ""

        def watch(step: str) -> None:
            nonlocal told
            if is_cancelled():
                raise Cancelled("cancelled")
            if step != told:
                told = step
                tell(step)

        stamps = stamps_of(request)
        known = self.remembered(request, stamps)
        if known is not None:
            return known
        watch("load")
        program = load_program(request.program, request.arguments)
        compilation = road.compile(program.module, request.machine, request.options, watch)
        half = Snapshot(request, compilation, stamps=stamps)
        deliver(half)
        data = program.data(request.inputs, request.seed)
        result = road.run(compilation, data=data, watch=watch)
        watch("done")
        return replace(half, result=result)

    def remembered(self, request: Request, stamps: Stamps) -> Snapshot | None:
        """A finished snapshot of the same request, made from the files as they are, if one is
        still at hand."""
        like = (s for s in reversed(self.history) if s.request == request and s.stamps == stamps)
        return next(like, None)

    def accept(self, snapshot: Snapshot) -> None:
        """Makes the snapshot the current one; finished ones enter the history."""
        self.current, self.request = snapshot, snapshot.request
        if snapshot.result is not None:
            self.awaited = None
            others = [s for s in self.history if s.request != snapshot.request]
            history = _within_limits([*others, snapshot])
            self.forgotten += len(self.history) + (snapshot not in self.history) - len(history)
            self.history = history

    def give_up(self) -> None:
        """Forgets work that was not finished: the last finished snapshot is the current one."""
        self.awaited = None
        if self.current is not None and self.current.result is None and self.history:
            self.current = self.history[-1]
        if self.current is not None:
            self.request = self.current.request

    @property
    def previous(self) -> Snapshot | None:
        """The finished snapshot before the current one, of the same program and machine."""
        current = self.current
        if current is None:
            return None
        like = [
            s
            for s in self.history
            if s is not current
            and s.request != current.request
            and s.request.is_about(current.request)
            and s.request.machine == current.request.machine
        ]
        return like[-1] if like else None

    def replay(self) -> Replay | None:
        """The replay of the current run."""
        result = self.current.result if self.current is not None else None
        return None if result is None else self.replay_of(result)

    def replay_of(self, result: road.Result) -> Replay:
        """The replay of a run, made when first asked for; one is kept."""
        if self._replay is None or self._replay[0] is not result:
            self._replay = (result, road.replay(result))
        return self._replay[1]


def _within_limits(history: list[Snapshot]) -> list[Snapshot]:
    """The latest of them, as many as are kept."""
    kept, size_bytes = 0, 0
    for snapshot in reversed(history[-MOST_REMEMBERED:]):
        size_bytes += snapshot.size_bytes
        if size_bytes > MOST_BYTES and kept >= 2:
            break
        kept += 1
    return history[-kept:]


def pictured(compilation: Compilation) -> tuple[Compilation, tuple[PassPicture, ...]]:
    """The compilation with what every pass did. The passes are imported here: the application's
    first frame does not need them."""
    from lab.pass_pictures import pass_pictures

    return compilation, pass_pictures(compilation)


def reallocate(compilation: Compilation, kernel: str, rule: SpillRule) -> AllocationResult:
    """The kernel's registers given out by another rule; everything else as compiled. Raises
    InputError when that rule needs more registers than there are."""
    from compiler.allocate.allocate import allocate
    from compiler.journal import Journal
    from compiler.machine.origins import complete_origins
    from compiler.schedule.schedule import schedule

    machine, options = compilation.machine, compilation.options
    selected = compilation.selected[kernel]
    scheduled = schedule(selected, machine, options, Journal()) if options.schedule else selected
    complete_origins(scheduled, machine.isa.registers)
    return allocate(scheduled, machine, options, Journal(), rule)
