"""The bars at the top and the bottom: what is looked at, the screens, the keys of the moment."""

from __future__ import annotations

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from tui import look
from tui.cells import fitted, width


class TopBar(Widget):
    """`Hob  softmax.hlo  x86/zen3  vec=6        1 Start 2 Compile 5 Registers ▌6 Run▐`."""

    def __init__(self) -> None:
        super().__init__()
        self.facts: tuple[str, ...] = ()
        self.tabs: tuple[tuple[str, str], ...] = ()
        self.chosen = ""

    def show(self, facts: tuple[str, ...], tabs: tuple[tuple[str, str], ...], chosen: str) -> None:
        """`tabs` are (key, name) pairs; `chosen` is the key of the screen in front."""
        self.facts, self.tabs, self.chosen = facts, tabs, chosen
        self.refresh()

    def render_line(self, y: int) -> Strip:
        texts = [(key, f"{key} {name}") for key, name in self.tabs]
        shown = [f"▌{t}▐" if key == self.chosen else f" {t} " for key, t in texts]
        right_side = "".join(shown)
        room = max(0, self.size.width - width(right_side) - 1)
        left = fitted(" Hob  " + "  ".join(fact for fact in self.facts if fact), room)
        segments = [Segment(left, look.STRONG), Segment(" ", look.PLAIN)]
        for (key, _), text in zip(texts, shown):
            segments.append(Segment(text, look.ROW if key == self.chosen else look.DIM))
        return Strip(segments).adjust_cell_length(self.size.width, look.PLAIN)


class KeyBar(Widget):
    """The keys that do something here, as many as fit; the last one, help, always."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: tuple[tuple[str, str], ...] = ()
        self.note = ""

    def show(self, keys: tuple[tuple[str, str], ...], note: str = "") -> None:
        """(key, meaning) pairs, most useful first; a note takes their place."""
        self.keys, self.note = keys, note
        self.refresh()

    def render_line(self, y: int) -> Strip:
        if self.note:
            text = fitted(f" {self.note}", self.size.width)
            return Strip([Segment(text, look.WARNING)], self.size.width)
        segments: list[Segment] = [Segment(" ", look.PLAIN)]
        needs = [width(key) + 1 + width(meaning) + 2 for key, meaning in self.keys]
        room = self.size.width - 1 - sum(needs[-1:])
        for place, (key, meaning) in enumerate(self.keys, 1):
            if place < len(self.keys):
                if needs[place - 1] > room:
                    continue
                room -= needs[place - 1]
            segments += [
                Segment(key, look.STRONG),
                Segment(f" {meaning}  ", look.DIM),
            ]
        return Strip(segments).adjust_cell_length(self.size.width, look.PLAIN)
