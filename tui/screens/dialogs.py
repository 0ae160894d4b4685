"""Dialogs: ask for a line of text, choose from a list, read a text."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from tui import look
from tui.widgets.choices import Choices
from tui.widgets.panel import Line, Panel


class Ask(ModalScreen[str | None]):
    """Asks for a line; None when dismissed."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "close")]

    def __init__(self, title: str, hint: str = "", value: str = "") -> None:
        super().__init__()
        self.title_text, self.hint, self.value = title, hint, value

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = self.title_text
            yield Input(self.value, id="answer")
            yield Static(self.hint, markup=False, classes="hint")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)

    def action_leave(self) -> None:
        self.dismiss(None)


class Choose(ModalScreen[str | None]):
    """Lets one of several (value, text) pairs be chosen; None when dismissed."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "close")]

    def __init__(self, title: str, choices: list[tuple[str, str]], current: str = "") -> None:
        super().__init__()
        self.title_text, self.choices, self.current = title, choices, current

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = self.title_text
            options = Choices([text for _, text in self.choices])
            values = [value for value, _ in self.choices]
            if self.current in values:
                options.highlighted = values.index(self.current)
            yield options

    def on_option_list_option_selected(self, event: Choices.OptionSelected) -> None:
        self.dismiss(self.choices[event.option_index][0])

    def action_leave(self) -> None:
        self.dismiss(None)


class Read(ModalScreen[None]):
    """Shows lines of text, scrolled with the arrow keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,question_mark", "leave", "close"),
        Binding("up", "move(-1)", "one line up", show=False),
        Binding("down", "move(1)", "one line down", show=False),
        Binding("pageup", "move(-12)", "one page up", show=False),
        Binding("pagedown", "move(12)", "one page down", show=False),
    ]

    def __init__(self, title: str, lines: list[Line], is_wide: bool = True) -> None:
        super().__init__()
        self.title_text, self.lines, self.is_wide = title, lines, is_wide

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog wide" if self.is_wide else "dialog") as box:
            box.border_title = self.title_text
            yield Panel(id="text")

    def on_mount(self) -> None:
        panel = self.query_one(Panel)
        panel.show(self.lines)
        panel.styles.height = max(3, min(len(self.lines), self.app.size.height - 6))

    def action_move(self, count: int) -> None:
        self.query_one(Panel).scroll_lines(count)

    def action_leave(self) -> None:
        self.dismiss(None)


def heading(text: str) -> Line:
    """A line that opens a part."""
    return [(text, look.STRONG)]
