"""A list to choose from, with its keys in the user's language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import OptionList
from textual.widgets.option_list import Option


class Choices(OptionList, inherit_bindings=False):
    """Lines of which one is highlighted; Enter chooses it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "choose"),
        Binding("up", "cursor_up", "one line up", show=False),
        Binding("down", "cursor_down", "line", key_display="↑/↓"),
        Binding("pageup", "page_up", "one page up", show=False),
        Binding("pagedown", "page_down", "one page down", show=False),
        Binding("home", "first", "to the first row", show=False),
        Binding("end", "last", "to the last row", show=False),
    ]

    def __init__(self, lines: Iterable[str] = (), id: str | None = None) -> None:
        super().__init__(*map(Option, lines), id=id, markup=False)

    def fill(self, lines: Sequence[str], first: int = 0) -> None:
        """Other lines; the highlighted one stays where it was, at first it is `first`."""
        place = first if self.highlighted is None else self.highlighted
        self.clear_options()
        self.add_options([Option(line) for line in lines])
        if lines:
            self.highlighted = min(place, len(lines) - 1)

    def action_page_up(self) -> None:
        self._go_by(-1)

    def action_page_down(self) -> None:
        self._go_by(1)

    def _go_by(self, pages: int) -> None:
        """Also where there is no room for a single line, which the base class does not expect."""
        if self.option_count:
            place = (self.highlighted or 0) + pages * max(1, self.size.height - 1)
            self.highlighted = max(0, min(place, self.option_count - 1))
