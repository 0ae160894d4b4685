"""What all screens have in common: the bars, the words, and being told of new snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import Screen
from textual.widget import Widget

from lab.words.words import Words
from tui import garbage
from tui.widgets.bars import KeyBar, TopBar

if TYPE_CHECKING:
    from tui.app import HobApp
    from tui.session import Session, Snapshot

TABS = (("1", "Start"), ("2", "Compile"), ("5", "Registers"), ("6", "Run"))
"""The screens' number keys and names; the gaps are for the screens to come."""


class HobScreen(Screen[None], inherit_bindings=False):
    """A screen. Subclasses give `body`, and `refresh_content` fills it from the snapshot."""

    KEY: ClassVar[str] = ""

    def __init__(self) -> None:
        super().__init__()
        self.snapshot: Snapshot | None = None

    @property
    def hob(self) -> HobApp:
        """The application, with its own type."""
        return cast("HobApp", self.app)

    @property
    def words(self) -> Words:
        """The language of the moment."""
        return self.hob.words

    @property
    def session(self) -> Session:
        """What is being looked at."""
        return self.hob.session

    def compose(self) -> ComposeResult:
        yield TopBar()
        yield from self.body()
        yield KeyBar()

    def body(self) -> Iterator[Widget]:
        """The widgets between the bars."""
        yield from ()

    def set_size_classes(self) -> None:
        """What the style sheet needs to know of the size."""
        self.set_class(self.size.width < 110, "narrow")
        self.set_class(self.size.width >= 150, "wide")
        self.set_class(self.size.height < 30, "low")

    def refresh_content(self) -> None:
        """Shows `self.snapshot`, in the language of the moment."""

    def stop_work(self) -> None:
        """Stops what workers of the screen's own are at."""

    def on_mount(self) -> None:
        self.update()

    def on_screen_resume(self) -> None:
        self.update()

    def update(self) -> None:
        """Takes over the session's snapshot and draws everything."""
        self.snapshot = self.session.current
        self.refresh_bars()
        self.refresh_content()
        garbage.settle()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self.refresh_bars()

    def refresh_bars(self) -> None:
        """The top bar's facts and the keys of the moment."""
        request = self.session.request
        facts: tuple[str, ...] = ()
        if request is not None:
            facts = (request.title, request.machine, request.limits)
        tabs = tuple((key, self.words(name)) for key, name in TABS)
        self.query_one(TopBar).show(facts, tabs, self.KEY)
        self.query_one(KeyBar).show(tuple(self.keys(only_shown=True)), self.hob.note)

    def keys(self, only_shown: bool) -> Iterator[tuple[str, str]]:
        """(key, meaning) of everything that can be pressed here, the nearest first."""
        for binding in self.bindings_here():
            if binding.show or not only_shown:
                yield key_name(binding), self.words(binding.description)

    def bindings_here(self) -> list[Binding]:
        """Bindings of the focused widget, of the screen and of the application; one per action."""
        found: dict[str, Binding] = {}
        for active in self.active_bindings.values():
            binding = active.binding
            if binding.description and not binding.system:
                found.setdefault(binding.action, binding)
        ranked = sorted(found.values(), key=lambda b: b.action.startswith("app."))
        return ranked


_NAMES = {
    "question_mark": "?", "left_square_bracket": "[", "right_square_bracket": "]",
    "slash": "/", "space": "Space", "enter": "Enter", "escape": "Esc", "tab": "Tab",
    "shift+tab": "Shift+Tab", "plus": "+", "minus": "-", "backspace": "Backspace",
    "pageup": "PgUp", "pagedown": "PgDn", "home": "Home", "end": "End", "ctrl+p": "^p",
    "left": "←", "right": "→", "up": "↑", "down": "↓", "shift+left": "Shift+←",
    "shift+right": "Shift+→", "equals_sign": "=",
}  # fmt: skip


def key_name(binding: Binding) -> str:
    """How a key is written for people."""
    if binding.key_display:
        return binding.key_display
    return _NAMES.get(binding.key, binding.key)
