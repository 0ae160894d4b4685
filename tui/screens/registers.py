"""The Registers screen: live intervals, and the allocator's walk over them step by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.worker import Worker, WorkerState

from compiler.allocate.linear_scan import ScanStep, SpillRule
from compiler.allocate.result import AllocationResult
from compiler.compilation import Compilation
from isas.errors import HobError
from tui import look
from tui.cells import fitted, right
from tui.messages import Moved
from tui.scan import ScanState, spills, state_at, steps_of
from tui.screens.base import HobScreen
from tui.screens.dialogs import Read
from tui.session import Request, reallocate
from tui.widgets.intervals import Intervals
from tui.widgets.panel import Line, Panel, paragraphs, plain

RULES = tuple(SpillRule)


class RegistersScreen(HobScreen):
    """Key 5."""

    KEY = "5"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", "step", key_display="←/→", priority=True),
        Binding("right", "step(1)", "next step", show=False, priority=True),
        Binding("home", "edge(0)", "first step", show=False, priority=True),
        Binding("end", "edge(1)", "last step", show=False, priority=True),
        Binding("n", "spill(1)", "spill"),
        Binding("N", "spill(-1)", "previous spill", show=False),
        Binding("minus", "count(-1)", "count", key_display="- +"),
        Binding("plus,equals_sign", "count(1)", "one register more", show=False),
        Binding("c", "register_class", "class"),
        Binding("k", "kernel", "kernel"),
        Binding("a", "rule", "rule"),
        Binding("w", "explain", "why"),
        Binding("o", "origins", "to the code", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.request: Request | None = None
        self.compilation: Compilation | None = None
        self.result: AllocationResult | None = None
        self.kernel = ""
        self.register_class = ""
        self.steps: tuple[ScanStep, ...] = ()
        self.index = 0
        self.rule = SpillRule.FURTHEST_END
        self.state: ScanState | None = None

    def body(self) -> Iterator[Widget]:
        yield Horizontal(
            Vertical(Intervals(id="intervals"), classes="framed", id="left"),
            Vertical(Panel(id="step"), classes="framed", id="step-box"),
            id="upper",
        )
        yield Vertical(Panel(id="facts"), classes="framed", id="facts-box")

    # Showing

    def refresh_content(self) -> None:
        compilation = self.snapshot.compilation if self.snapshot is not None else None
        self.query_one("#facts-box").border_title = self.words("allocation")
        if compilation is None:
            panel = self.query_one("#facts", Panel)
            panel.show(paragraphs([(self.hob.nothing_text, look.PLAIN)], panel.size.width))
            return
        if compilation is not self.compilation:
            self._take(compilation)
        self.describe()

    def _take(self, compilation: Compilation) -> None:
        """Another compilation: stays with the kernel, the class and the place in the walk."""
        request = self.snapshot.request if self.snapshot is not None else None
        is_other = request is None or not request.is_about(self.request)
        self.request = request
        old = self.steps[self.index].subject if self.steps else ""
        self.compilation, self.rule = compilation, SpillRule.FURTHEST_END
        kernels = list(compilation.allocations)
        if is_other or self.kernel not in kernels:
            self.kernel = max(
                kernels, key=lambda k: (len(compilation.allocations[k].spilled),
                                        len(compilation.allocations[k].steps)), default="",
            )  # fmt: skip
        self._show_kernel(old)
        self.query_one(Intervals).focus()

    def _show_kernel(self, subject: str = "") -> None:
        if self.compilation is None or not self.kernel:
            self.result, self.steps = None, ()
            return
        self.result = self.compilation.allocations[self.kernel]
        names = self.class_names
        if self.register_class not in names:
            self.register_class = max(names, key=self._tightness, default="")
        self._take_steps(subject)

    def _tightness(self, name: str) -> tuple[int, float]:
        """What makes a class the one to look at: its spills, else its pressure by its limit."""
        if self.result is None:
            return (0, 0.0)
        use = self.result.classes[name]
        spilled = sum(register.register_class == name for register in self.result.spilled)
        return (spilled, use.max_pressure / use.limit)

    @property
    def class_names(self) -> list[str]:
        """The classes that the kernel uses."""
        if self.result is None:
            return []
        return [n for n, use in self.result.classes.items() if use.max_pressure]

    def _take_steps(self, subject: str = "") -> None:
        """The walk of the class: at `subject`'s step, else where the pressure is highest."""
        if self.result is None:
            return
        self.steps = steps_of(self.result, self.register_class)
        found = [i for i, step in enumerate(self.steps) if step.subject == subject]
        first_spills = spills(self.steps)
        places = found or first_spills
        self.index = places[0] if places else self._fullest()

    def _fullest(self) -> int:
        """The step at which most registers are taken."""
        return max(range(len(self.steps)), key=lambda i: len(self.steps[i].active), default=0)

    def describe(self) -> None:
        """Fills everything for the step of the moment."""
        sheet = self.query_one(Intervals)
        sheet.title = self.words("pressure")
        if self.result is None or not self.steps:
            text = self.words("nothing to allocate in this class")
            self.query_one("#facts", Panel).show([plain(text)])
            return
        self.state = state_at(self.result, self.steps, self.index)
        use = self.result.classes[self.register_class]
        pressure = use.pressure if self.state.step.round == 0 else ()
        sheet.show(self.state, pressure, use.limit)
        title = self.words(
            "live intervals, kernel {kernel}, round {round}",
            kernel=self.kernel, round=self.state.step.round + 1,
        )  # fmt: skip
        self.query_one("#left").border_title = title
        counter = self.words("step {step} of {steps}", step=self.index + 1, steps=len(self.steps))
        self.query_one("#step-box").border_title = counter
        self._describe_step()
        self._describe_facts()

    def _describe_step(self) -> None:
        panel = self.query_one("#step", Panel)
        panel.show(self.step_lines(panel.size.width))

    def step_lines(self, cells: int) -> list[Line]:
        """The step in words: what was found, what was chosen, and among what."""
        if self.state is None:
            return []
        step, words = self.state.step, self.words
        head = words(
            "{name} starts at {start}, ends at {end}",
            name=step.subject, start=step.start, end=step.end,
        )  # fmt: skip
        free = " ".join(step.free) or "–"
        texts = [(head, look.STRONG)]
        for entry in step.expired:
            texts.append((words("{name} has ended: {register} is free", name=entry.interval,
                                register=entry.register), look.PLAIN))  # fmt: skip
        texts.append((f"{words('free')}  {free}", look.PLAIN))
        chosen = words.told(step.chosen) if step.chosen else "–"
        texts.append((f"→ {chosen}", look.WARNING if step.spilled else look.CHANGED))
        texts.append((words.told(step.because), look.PLAIN))
        lines = paragraphs(texts, cells)
        lines.append([(words("active, by end"), look.DIM)])
        for entry in step.active:
            mark = " ↓" if entry.interval in step.spilled.split(", ") else ""
            text = f"  {fitted(entry.interval, 6)} {fitted(entry.register, 7)}"
            lines.append([(f"{text}{right(str(entry.end), 6)}{mark}", look.PLAIN)])
        if step.alternatives:
            lines.append([(words("choices, the best first"), look.DIM)])
            for choice in step.alternatives:
                lines += paragraphs([(f"  {words.alternative(choice)}", look.PLAIN)], cells)
        return lines

    def _describe_facts(self) -> None:
        result, snapshot = self.result, self.snapshot
        if result is None or snapshot is None or self.compilation is None:
            return
        words, use = self.words, result.classes[self.register_class]
        panel = self.query_one("#facts", Panel)
        others = " ".join(name for name in self.class_names if name != self.register_class)
        setting = words(
            "registers {name} ◂ {count} ▸   rule ◂ {rule} ▸",
            name=self.register_class, count=use.limit, rule=words(self.rule.value),
        )  # fmt: skip
        if others:
            setting += f"   ({words('c: also')} {others})"
        counts = words(
            "{spilled} spilled, {spills} stores, {reloads} reloads, {again} made again",
            spilled=len(result.spilled), spills=result.spills, reloads=result.reloads,
            again=result.rematerializations,
        )  # fmt: skip
        enough = (
            words("with {count} none would spill", count=use.enough)
            if use.enough is not None else words("no count is enough for all")
        )  # fmt: skip
        lines: list[Line] = [
            [(setting, look.STRONG)],
            [(words("; ").join((counts, enough)), look.PLAIN)],
            [(self._cost(), look.PLAIN)],
        ]
        panel.show(lines)

    def _cost(self) -> str:
        """What it costs in cycles, beside the last other count."""
        snapshot, words = self.snapshot, self.words
        if snapshot is None or self.result is None:
            return ""
        if self.rule is not SpillRule.FURTHEST_END:
            return words("what if: only the allocation follows this rule, the run does not")
        peak = words("highest pressure {count}",
                     count=self.result.classes[self.register_class].max_pressure)  # fmt: skip
        if snapshot.cycles is None:
            return f"{peak}   {words('running …')}"
        text = words("{cycles} cycles", cycles=snapshot.cycles)
        before = self.session.previous
        if before is not None and before.cycles is not None:
            limits = before.request.limits or words("all registers")
            earlier = words("with {limits}: {cycles}", limits=limits, cycles=before.cycles)
            text += f"   {earlier}"
        return f"{peak}   {text}"

    def on_moved(self, message: Moved) -> None:
        self.query_one(Intervals).refresh()

    def on_resize(self) -> None:
        self.set_size_classes()
        if self.steps:
            self.call_after_refresh(self._describe_step)
            self.call_after_refresh(self._describe_facts)

    # Keys

    def _go_to(self, index: int) -> None:
        if self.steps:
            self.index = max(0, min(index, len(self.steps) - 1))
            self.describe()

    def action_step(self, count: int) -> None:
        self._go_to(self.index + count)

    def action_edge(self, side: int) -> None:
        self._go_to(side * (len(self.steps) - 1))

    def action_spill(self, direction: int) -> None:
        """To the next (or previous) step that sends something to memory."""
        found = spills(self.steps)
        others = [i for i in found if i > self.index] if direction > 0 else [
            i for i in reversed(found) if i < self.index
        ]  # fmt: skip
        if others:
            self._go_to(others[0])

    def action_count(self, change: int) -> None:
        """One register more or fewer, and everything anew."""
        request = self.session.request
        if self.result is None or request is None or self.compilation is None:
            return
        limits = dict(request.options.registers)
        real = self.result.classes[self.register_class].limit
        count = limits.get(self.register_class, real) + change
        register_class = self.compilation.machine.isa.registers.classes[self.register_class]
        if 1 <= count <= register_class.maximum:
            self.hob.look_at(request.with_registers(self.register_class, count))

    def action_register_class(self) -> None:
        names = self.class_names
        if len(names) > 1:
            place = names.index(self.register_class)
            self.register_class = names[(place + 1) % len(names)]
            self._take_steps()
            self.describe()

    def action_kernel(self) -> None:
        if self.compilation is None:
            return
        kernels = list(self.compilation.allocations)
        if len(kernels) > 1:
            self.kernel = kernels[(kernels.index(self.kernel) + 1) % len(kernels)]
            self.rule = SpillRule.FURTHEST_END
            self._show_kernel()
            self.describe()

    def action_rule(self) -> None:
        """The same kernel with the other rule for whom to spill."""
        if self.compilation is None or not self.kernel:
            return
        rule = RULES[(RULES.index(self.rule) + 1) % len(RULES)]
        if rule is SpillRule.FURTHEST_END:
            self.rule = rule
            self._show_kernel()
            self.describe()
            return
        self.hob.note_step("allocate")
        work = partial(_reallocated, self.compilation, self.kernel, rule)
        self.run_worker(work, thread=True, exclusive=True, group="rule")

    def stop_work(self) -> None:
        self.workers.cancel_group(self, "rule")
        self.hob.note_step("")

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """The other rule's allocation is there, or cannot be; the user may have gone on."""
        found = event.worker.result
        if event.state is not WorkerState.SUCCESS or not isinstance(found, Reallocated):
            return
        self.hob.note_step("")
        if (found.compilation, found.kernel) != (self.compilation, self.kernel):
            return
        if isinstance(found.result, HobError):
            self.hob.tell(self.words.error(found.result))
            return
        self.rule, self.result = found.rule, found.result
        self._take_steps()
        self.describe()

    def action_explain(self) -> None:
        lines = self.step_lines(min(86, self.size.width - 12))
        if lines:
            self.app.push_screen(Read(self.words("why"), lines))

    def action_origins(self) -> None:
        """To the Compile screen, at the first line that spills or reloads the interval."""
        interval = self.query_one(Intervals).interval
        if interval is None or self.compilation is None:
            return
        from compiler.compilation import Stage
        from tui.links import spill_lines

        document = self.compilation.documents[Stage.ASSEMBLY]
        places = [p for m in interval.members for p in spill_lines(document, m, self.kernel)]
        subjects = [document.lines[place].subject for place in sorted(places)]
        if subjects and subjects[0] is not None:
            self.hob.show_line(subjects[0])
        else:
            self.hob.tell(self.words("{name} is neither spilled nor copied", name=interval.name))


@dataclass(frozen=True, slots=True)
class Reallocated:
    """What was asked of a worker, and what came of it."""

    compilation: Compilation
    kernel: str
    rule: SpillRule
    result: AllocationResult | HobError


def _reallocated(compilation: Compilation, kernel: str, rule: SpillRule) -> Reallocated:
    try:
        result = reallocate(compilation, kernel, rule)
    except HobError as error:
        return Reallocated(compilation, kernel, rule, error)
    return Reallocated(compilation, kernel, rule, result)
