"""A listing: a document's lines with a cursor, links to lines elsewhere, and search hits."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from isas.document import Document, Line
from tui import look
from tui.cells import width
from tui.messages import LineChosen

EMPTY = Document("", ())


class Listing(ScrollView, can_focus=True, inherit_bindings=False):
    """One document. `linked` lines belong to the other pane's line exactly, `related` ones share an
    HLO instruction with it; `signs` are one-character marks in front of lines (a diff's)."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "go(-1)", "one line up", show=False),
        Binding("down", "go(1)", "line", key_display="↑/↓"),
        Binding("pageup", "page(-1)", "one page up", show=False),
        Binding("pagedown", "page(1)", "one page down", show=False),
        Binding("home", "go(-1000000000)", "to the first row", show=False),
        Binding("end", "go(1000000000)", "to the last row", show=False),
        Binding("left", "pan(-8)", "to the left", show=False),
        Binding("right", "pan(8)", "to the right", show=False),
    ]

    def __init__(self, side: int, id: str | None = None) -> None:
        super().__init__(id=id)
        self.side = side
        self.document = EMPTY
        self.line = 0
        self.linked: frozenset[int] = frozenset()
        self.related: frozenset[int] = frozenset()
        self.signs: tuple[str, ...] = ()
        self.sought = ""

    @property
    def current(self) -> Line | None:
        """The line under the cursor."""
        lines = self.document.lines
        return lines[self.line] if self.line < len(lines) else None

    def show(self, document: Document, signs: tuple[str, ...] = (), line: int = 0) -> None:
        """Another document, the cursor on `line`."""
        self.document, self.signs = document, signs
        self.linked = self.related = frozenset()
        widest = max((width(each.text) for each in document.lines), default=0)
        self.virtual_size = Size(widest + 3, len(document.lines))
        self.line = max(0, min(line, len(document.lines) - 1))
        self._bring_into_view(self.line)
        self.refresh()

    def link(self, linked: frozenset[int], related: frozenset[int], follow: bool) -> None:
        """Marks the lines that belong to the other pane's; `follow` scrolls to the first."""
        self.linked, self.related = linked, related
        targets = linked or related
        if follow and targets:
            height = self.scrollable_content_region.height
            top = int(self.scroll_offset.y)
            if not any(top <= line < top + height for line in targets):
                self._bring_into_view(min(targets))
        self.refresh()

    def go_to(self, line: int) -> None:
        """Moves the cursor."""
        self.line = max(0, min(line, len(self.document.lines) - 1))
        self._bring_into_view(self.line)
        self.refresh()
        self.post_message(LineChosen(self.side, self.line))

    def _bring_into_view(self, line: int) -> None:
        height = max(1, self.scrollable_content_region.height)
        top = int(self.scroll_offset.y)
        if not top <= line < top + height:
            near = top - 2 <= line <= top + height + 1
            y = (line if line < top else line - height + 1) if near else line - height // 3
            self.scroll_to(None, max(0, y), animate=False, force=True, immediate=True)

    def action_go(self, count: int) -> None:
        self.go_to(self.line + count)

    def action_page(self, direction: int) -> None:
        self.go_to(self.line + direction * max(1, self.scrollable_content_region.height - 1))

    def action_pan(self, columns: int) -> None:
        x = max(0, int(self.scroll_offset.x) + columns)
        self.scroll_to(x, None, animate=False, force=True, immediate=True)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None:
            self.focus()
            self.go_to(int(self.scroll_offset.y) + offset.y)

    def render_line(self, y: int) -> Strip:
        x, top = int(self.scroll_offset.x), int(self.scroll_offset.y)
        total = self.scrollable_content_region.width
        place = top + y
        if place >= len(self.document.lines):
            return Strip([Segment(" " * total, look.PLAIN)], total)
        style = self._style(place)
        strip = Strip(self._segments(self.document.lines[place].text, style))
        cropped = strip.crop(x, x + total - 2)
        head = Segment(self._sign(place), style + Style(bold=True))
        return Strip([head, *cropped]).adjust_cell_length(total, style)

    def _sign(self, place: int) -> str:
        mark = "▸" if place == self.line else "▌" if place in self.linked else (
            "┆" if place in self.related else " "
        )  # fmt: skip
        sign = self.signs[place] if place < len(self.signs) else " "
        return mark + sign

    def _style(self, place: int) -> Style:
        if place == self.line:
            return look.CURSOR if self.has_focus else look.ROW
        if place in self.linked:
            return look.LINKED
        if place in self.related:
            return look.RELATED
        sign = self.signs[place] if place < len(self.signs) else " "
        return {"+": look.ADDED, "-": look.GONE}.get(sign, look.PLAIN)

    def _segments(self, text: str, style: Style) -> list[Segment]:
        """The comment fainter, what is searched for in its own style."""
        cut = _comment(text)
        faint = style + Style(color=look.FAINT) if style is not look.CURSOR else style
        segments = [Segment(text[:cut], style), Segment(text[cut:], faint)]
        if not self.sought or self.sought.lower() not in text.lower():
            return [s for s in segments if s.text]
        start = text.lower().index(self.sought.lower())
        end = start + len(self.sought)
        return [
            Segment(text[:start], style),
            Segment(text[start:end], look.FOUND),
            Segment(text[end:], style),
        ]


def _comment(text: str) -> int:
    """Where a trailing comment begins."""
    for mark in (" # ", " ; ", " // "):
        place = text.rfind(mark)
        if place > 20:
            return place
    return len(text)
