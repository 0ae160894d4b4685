"""The start page: examples, recent files and machines, each with a look at what it is."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

import isas
from tui import look
from tui.cells import fitted
from tui.preview import preview
from tui.recent import recent_programs
from tui.screens import actions
from tui.screens.base import HobScreen
from tui.screens.machine_facts import machine_lines
from tui.widgets.choices import Choices
from tui.widgets.panel import Panel, paragraphs, plain

EXAMPLES: tuple[tuple[str, str], ...] = (
    ("element_wise_chain", "a chain of element by element operations, and a sum"),
    ("softmax", "rows that are read three times"),
    ("layernorm", "mean and variance of every row"),
    ("attention", "two products with a softmax between"),
    ("matmul", "a product of matrices"),
    ("mlp_fwd", "two layers with an activation"),
    ("gelu_tanh", "an activation with tanh"),
)
_WELCOME = (
    "Hob compiles a tensor program for a machine, runs it cycle by cycle, and says why every cycle "
    "was spent. Choose a program to begin; m chooses another machine, and the number keys lead to "
    "the screens."
)


def example_path(name: str) -> Path | None:
    """Where an example lies: beside the source, or in the installed package."""
    folder = Path(str(resources.files("lab"))) / "programs"
    for path in (folder.parent.parent / "examples" / f"{name}.hlo", folder / f"{name}.hlo"):
        if path.is_file():
            return path
    return None


class StartScreen(HobScreen):
    """Key 1."""

    KEY = "1"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "other_list", "other list", priority=True),
        Binding("shift+tab", "other_list", "other list", show=False, priority=True),
        Binding("p", "open", "program"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.programs: list[str] = []
        self.machines: list[str] = []

    def body(self) -> Iterator[Widget]:
        yield Vertical(Panel(id="welcome"), classes="framed", id="welcome-box")
        yield Horizontal(
            Vertical(Choices(id="examples"), classes="framed", id="one-box"),
            Vertical(Choices(id="machines"), classes="framed", id="two-box"),
            id="lists",
        )
        yield Horizontal(
            Vertical(Panel(id="preview"), classes="framed", id="preview-box"),
            Vertical(Panel(id="facts"), classes="framed", id="machine-box"),
            id="previews",
        )

    def refresh_content(self) -> None:
        words = self.words
        panel = self.query_one("#welcome", Panel)
        panel.show(paragraphs([(words(_WELCOME), look.PLAIN)], panel.size.width))
        self.query_one("#welcome-box").border_title = "Hob"
        self.query_one("#one-box").border_title = words("programs")
        self.query_one("#two-box").border_title = words("machines")
        self._fill_programs()
        self._fill_machines()
        self._show_program()
        self._show_machine()
        if self.focused is None:
            self.query_one("#examples").focus()

    def _fill_programs(self) -> None:
        examples = [(name, text, example_path(name)) for name, text in EXAMPLES]
        known = [(name, text, str(path)) for name, text, path in examples if path is not None]
        paths = [path for _, _, path in known]
        recent = [path for path in recent_programs() if path not in paths]
        self.programs = paths + recent
        lines = [f"{fitted(name, 19)} {self.words(text)}" for name, text, _ in known]
        lines += [f"{fitted(Path(path).name, 19)} {path}" for path in recent]
        self.query_one("#examples", Choices).fill(lines)

    def _fill_machines(self) -> None:
        self.machines = list(isas.machine_names())
        request = self.session.request
        current = request.machine if request is not None else self.hob.machine
        lines = []
        for name in self.machines:
            mark = "▸" if name == current else " "
            lines.append(f"{mark} {fitted(name, 16)} {isas.load_machine(name).core.title}")
        place = self.machines.index(current) if current in self.machines else 0
        self.query_one("#machines", Choices).fill(lines, place)

    def _show_program(self) -> None:
        """The text of the highlighted program."""
        place = self.query_one("#examples", Choices).highlighted
        if place is None or place >= len(self.programs):
            return
        path = Path(self.programs[place])
        self.query_one("#preview-box").border_title = path.name
        panel = self.query_one("#preview", Panel)
        try:
            panel.show([plain(line) for line in preview(path)])
        except OSError as error:
            panel.show([plain(str(error))])

    def _show_machine(self) -> None:
        """The main facts of the highlighted machine."""
        place = self.query_one("#machines", Choices).highlighted
        if place is None or place >= len(self.machines):
            return
        name = self.machines[place]
        self.query_one("#machine-box").border_title = name
        panel = self.query_one("#facts", Panel)
        panel.show(machine_lines(isas.load_machine(name), self.words, panel.size.width))

    def on_option_list_option_highlighted(self, event: Choices.OptionHighlighted) -> None:
        if event.option_list.id == "examples":
            self._show_program()
        else:
            self._show_machine()

    def on_option_list_option_selected(self, event: Choices.OptionSelected) -> None:
        if event.option_list.id == "examples":
            actions.open_program(self.hob, self.programs[event.option_index])
            self.hob.action_go("run")
        else:
            actions.choose_machine(self.hob, self.machines[event.option_index])
            self.update()

    def action_other_list(self) -> None:
        examples, machines = self.query_one("#examples"), self.query_one("#machines")
        (machines if examples.has_focus else examples).focus()

    def action_open(self) -> None:
        actions.ask_program(self.hob)

    def on_resize(self) -> None:
        self.set_size_classes()
        self.call_after_refresh(self.refresh_content)
