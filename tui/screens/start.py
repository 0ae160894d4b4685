"""The start page: examples, machines and recent files."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import OptionList
from textual.widgets.option_list import Option

import isas
from tui import look
from tui.cells import fitted
from tui.recent import recent_programs
from tui.screens import actions
from tui.screens.base import HobScreen
from tui.widgets.panel import Panel, paragraphs

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
        Binding("p", "app.program", "program"),
        Binding("tab", "app.focus_next", "next list", priority=True),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.programs: list[str] = []
        self.machines: list[str] = []

    def body(self) -> Iterator[Widget]:
        yield Vertical(Panel(id="welcome"), classes="framed", id="welcome-box")
        yield Horizontal(
            Vertical(OptionList(id="examples", markup=False), classes="framed", id="one-box"),
            Vertical(OptionList(id="machines", markup=False), classes="framed", id="two-box"),
            id="lists",
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
        _fill(self.query_one("#examples", OptionList), lines)

    def _fill_machines(self) -> None:
        self.machines = list(isas.machine_names())
        request = self.session.request
        current = request.machine if request is not None else self.hob.machine
        lines = []
        for name in self.machines:
            mark = "▸" if name == current else " "
            lines.append(f"{mark} {fitted(name, 16)} {isas.load_machine(name).core.title}")
        _fill(self.query_one("#machines", OptionList), lines)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if event.option_list.id == "examples":
            actions.open_program(self.hob, self.programs[event.option_index])
            self.hob.action_go("run")
        else:
            actions.choose_machine(self.hob, self.machines[event.option_index])
            self.update()

    def on_resize(self) -> None:
        self.call_after_refresh(self.refresh_content)


def _fill(options: OptionList, lines: list[str]) -> None:
    """Other lines; the highlighted one stays where it was."""
    place = options.highlighted
    options.clear_options()
    options.add_options([Option(line) for line in lines])
    if lines:
        options.highlighted = min(place or 0, len(lines) - 1)
