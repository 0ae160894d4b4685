"""The Compile screen: any two stages side by side, their lines linked, and the reasons below."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.worker import Worker, WorkerState

from compiler.compilation import Compilation, Stage
from compiler.journal import Entry
from isas.document import Document
from tui import look
from tui.cells import fitted
from tui.links import Differences, LineIndex, ReasonIndex, Signs, differences, links
from tui.messages import LineChosen
from tui.screens.base import HobScreen
from tui.screens.dialogs import Ask, Choose, Read
from tui.screens.stage_list import stage_lines
from tui.session import Request, pictured
from tui.widgets.listing import Listing
from tui.widgets.panel import Line, Panel, paragraphs, plain

if TYPE_CHECKING:
    from lab.pass_pictures import PassPicture

STAGES = tuple(Stage)


class CompileScreen(HobScreen):
    """Key 2."""

    KEY = "2"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left_square_bracket", "stage(-1)", "stage", key_display="[ ]"),
        Binding("right_square_bracket", "stage(1)", "next stage", show=False),
        Binding("tab", "other_pane", "other pane", priority=True),
        Binding("s", "choose_stage", "choose a stage", show=False),
        Binding("w", "all_reasons", "why"),
        Binding("d", "difference", "diff"),
        Binding("D", "passes", "diff of a pass"),
        Binding("slash", "search", "search"),
        Binding("n", "found(1)", "next hit", show=False),
        Binding("N", "found(-1)", "previous hit", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.request: Request | None = None
        self.compilation: Compilation | None = None
        self.reasons: ReasonIndex | None = None
        self.indices: list[LineIndex] = []
        self.stages = [Stage.HLO_FUSED, Stage.ASSEMBLY]
        self.active = 0
        self.is_diff = False
        self.picture: PassPicture | None = None
        self.pictures: tuple[Compilation, tuple[PassPicture, ...]] | None = None
        self.sought = ""
        self.wanted = ""

    def body(self) -> Iterator[Widget]:
        yield Horizontal(
            Vertical(Panel(id="stages"), classes="framed", id="stages-box"),
            Vertical(Listing(0, id="one"), classes="framed", id="one-box"),
            Vertical(Listing(1, id="two"), classes="framed", id="two-box"),
            id="upper",
        )
        yield Vertical(Panel(id="reasons"), classes="framed", id="reasons-box")

    @property
    def panes(self) -> tuple[Listing, Listing]:
        return self.query_one("#one", Listing), self.query_one("#two", Listing)

    # Showing

    def refresh_content(self) -> None:
        compilation = self.snapshot.compilation if self.snapshot is not None else None
        self.query_one("#stages-box").border_title = self.words("stages")
        self.query_one("#reasons-box").border_title = self.words("why")
        if compilation is None:
            panel = self.query_one("#reasons", Panel)
            panel.show(paragraphs([(self.hob.nothing_text, look.PLAIN)], panel.size.width))
            return
        if compilation is not self.compilation and self.snapshot is not None:
            is_same = self.snapshot.request.is_about(self.request)
            self.request, self.compilation = self.snapshot.request, compilation
            self.reasons, self.indices, self.picture = ReasonIndex(compilation), [], None
            lines = self._places() if is_same else (self._first_decided(), 0)
            self._show_documents(lines)
            self.panes[self.active].focus()
        self._show_stages()
        self._titles()
        self._link()
        if self.wanted:
            self.ask_for(self.wanted)

    def _places(self) -> tuple[int, int]:
        one, other = self.panes
        return one.line, other.line

    def _first_decided(self) -> int:
        """The first line of the left pane that became code and was decided about."""
        if self.compilation is None:
            return 0
        stage, other = self.stages
        code = self._index(self.compilation.documents[other])
        decided = {
            entry.decision.subject for entry in self.compilation.journal.of_stage(stage.value)
        }
        lines = self.compilation.documents[stage].lines
        found = [i for i, line in enumerate(lines) if line.subject in decided]
        linked = [i for i in found if links(lines[i], stage, code, other).linked]
        return next(iter([*linked, *found]), 0)

    def document(self, side: int) -> Document:
        """What a pane shows."""
        if self.picture is not None:
            return self.picture.after if side else self.picture.before
        if self.compilation is None:
            return Document("", ())
        return self.compilation.documents[self.stages[side]]

    def _index(self, document: Document) -> LineIndex:
        """The lines of a document that is shown, by what links them; the last few are kept."""
        found = next((index for index in self.indices if index.document is document), None)
        if found is None:
            found = LineIndex(document)
            self.indices = [found, *self.indices[:5]]
        return found

    def _show_documents(self, lines: tuple[int, int] = (0, 0)) -> None:
        """Both panes anew; a worker finds what differs, which takes seconds for long documents."""
        for side, pane in enumerate(self.panes):
            pane.show(self.document(side), (), lines[side])
        self.workers.cancel_group(self, "difference")
        if self.is_diff or self.picture is not None:
            work = partial(differences, self.document(0), self.document(1))
            self.run_worker(work, thread=True, group="difference")

    def _show_signs(self, found: Differences) -> None:
        """Marks what differs, unless something else is shown by now."""
        if found.before is not self.document(0) or found.after is not self.document(1):
            return
        for pane, signs in zip(self.panes, found.signs):
            pane.show(pane.document, signs, pane.line or _first_line(signs))
        self._link()

    def _titles(self) -> None:
        for side, name in enumerate(("#one-box", "#two-box")):
            stage = self.stages[side].value
            if self.picture is not None:
                which = "after {name}" if side else "before {name}"
                stage = self.words(which, name=self.picture.name)
            mark = "▸ " if side == self.active else ""
            self.query_one(name).border_title = f"{mark}{stage}"

    def _show_stages(self) -> None:
        if self.compilation is not None:
            panel = self.query_one("#stages", Panel)
            shown = self.stages[self.active], self.stages[1 - self.active]
            panel.show(stage_lines(self.compilation, *shown, panel.size.width))

    def _link(self, follow: bool = True) -> None:
        """Marks the other pane's lines and says why the line under the cursor is there."""
        pane, other = self.panes[self.active], self.panes[1 - self.active]
        line = pane.current
        if line is None:
            return
        if self.picture is not None:
            here = there = self.picture.stage
        else:
            here, there = self.stages[self.active], self.stages[1 - self.active]
        found = links(line, here, self._index(other.document), there)
        other.link(found.linked, found.related, follow)
        pane.link(frozenset(), frozenset(), False)
        self._say_why()

    def entries(self) -> list[Entry]:
        """The decisions about the line under the cursor."""
        line = self.panes[self.active].current
        if line is None or self.reasons is None:
            return []
        stage = self.picture.stage if self.picture is not None else self.stages[self.active]
        return self.reasons.about(stage, line)

    def reason_lines(self, cells: int, most: int) -> list[Line]:
        """The decisions in words, with the alternatives there were."""
        texts = []
        for entry in self.entries()[:most]:
            said = self.words.decision(entry.decision)
            texts.append((f"[{entry.stage} · {entry.pass_name}] {said}", look.PLAIN))
            others = ", ".join(self.words.alternative(a) for a in entry.decision.alternatives[:6])
            if others:
                texts.append((f"  {self.words('choices: {others}', others=others)}", look.DIM))
        return paragraphs(texts, cells)

    def _say_why(self) -> None:
        panel = self.query_one("#reasons", Panel)
        line = self.panes[self.active].current
        if line is None:
            return
        cells = panel.size.width
        lines = self.reason_lines(cells, 4)
        if self.picture is not None:
            lines = paragraphs([(self.words.told(self.picture.why), look.PLAIN)], cells) + lines
        origins = "  ".join(f"%{origin}" for origin in line.origins)
        if origins:
            lines = [[(self.words("from {origin}", origin=origins), look.STRONG)], *lines]
        panel.show(lines or [plain(self.words("no decision was recorded about this line"))])

    def on_line_chosen(self, message: LineChosen) -> None:
        if message.side == self.active:
            self._link()

    def on_descendant_focus(self, event: object) -> None:
        for side, pane in enumerate(self.panes):
            if pane.has_focus and side != self.active:
                self.active = side
                self._show_stages()
                self._titles()
                self._link(follow=False)
        self.refresh_bars()

    def on_resize(self) -> None:
        self.set_size_classes()
        if self.compilation is not None:
            self.call_after_refresh(self._show_stages)
            self.call_after_refresh(self._say_why)

    # Keys

    def ask_for(self, subject: str) -> None:
        """Goes to the line of the assembly that shows `subject`, as soon as there is one."""
        self.wanted = subject
        if self.compilation is None or not self.is_mounted:
            return
        lines = self.compilation.documents[Stage.ASSEMBLY].lines
        place = next((i for i, line in enumerate(lines) if line.subject == subject), None)
        self.wanted = ""
        if place is not None:
            self.picture, self.active = None, 1
            self.stages[1] = Stage.ASSEMBLY
            self._show_documents((self._places()[0], place))
            self._show_stages()
            self._titles()
            self.panes[1].focus()
            self._link()

    def set_stage(self, stage: Stage) -> None:
        """Another stage in the active pane; its cursor goes to a line linked with the old one."""
        if self.compilation is None:
            return
        pane = self.panes[self.active]
        old_line, old_stage = pane.current, self.stages[self.active]
        self.picture = None
        self.stages[self.active] = stage
        target = 0
        if old_line is not None:
            index = self._index(self.compilation.documents[stage])
            found = links(old_line, old_stage, index, stage)
            target = min(found.linked or found.related or {0})
        lines = [each.line for each in self.panes]
        lines[self.active] = target
        self._show_documents((lines[0], lines[1]))
        self._show_stages()
        self._titles()
        self._link()

    def action_stage(self, step: int) -> None:
        place = STAGES.index(self.stages[self.active]) + step
        self.set_stage(STAGES[place % len(STAGES)])

    def action_choose_stage(self) -> None:
        if self.compilation is None:
            return
        choices = [(stage.value, stage.value) for stage in STAGES]

        def chosen(name: str | None) -> None:
            if name is not None:
                self.set_stage(Stage(name))

        current = self.stages[self.active].value
        self.app.push_screen(Choose(self.words("stages"), choices, current), chosen)

    def action_other_pane(self) -> None:
        """To the other pane, at the line that is linked with this one's."""
        other = self.panes[1 - self.active]
        targets = other.linked or other.related
        if targets and other.line not in targets:
            other.go_to(min(targets))
        other.focus()

    def action_all_reasons(self) -> None:
        cells = min(86, self.size.width - 12)
        lines = self.reason_lines(cells, 40)
        if lines:
            self.app.push_screen(Read(self.words("why"), lines))

    def action_difference(self) -> None:
        """The active pane's stage and the one before it, with what changed marked."""
        if self.compilation is None:
            return
        self.is_diff = not self.is_diff and self.picture is None
        self.picture = None
        if self.is_diff:
            place = max(1, STAGES.index(self.stages[self.active]))
            self.stages = [STAGES[place - 1], STAGES[place]]
        self._show_documents()
        self._show_stages()
        self._titles()
        self._link()

    def action_passes(self) -> None:
        """Lets one pass be chosen, to see what it did."""
        if self.compilation is None:
            return
        if self.pictures is not None and self.pictures[0] is self.compilation:
            self._choose_pass()
            return
        self.hob.note_step("passes")
        work = partial(pictured, self.compilation)
        self.run_worker(work, thread=True, exclusive=True, group="passes")

    def stop_work(self) -> None:
        self.workers.cancel_group(self, "passes")
        self.hob.note_step("")

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A worker has what it was to find; the user may have gone on meanwhile."""
        found = event.worker.result
        if event.state is not WorkerState.SUCCESS:
            return
        if isinstance(found, Differences):
            self._show_signs(found)
        elif event.worker.group == "passes":
            self.hob.note_step("")
            self.pictures = found
            if self.pictures is not None and self.pictures[0] is self.compilation:
                self._choose_pass()

    def _choose_pass(self) -> None:
        if self.pictures is None:
            return
        changing = [p for p in self.pictures[1] if p.is_changing]
        choices = [
            (str(place), f"{fitted(p.stage.value, 16)} {fitted(p.name, 20)}")
            for place, p in enumerate(changing)
        ]

        def chosen(value: str | None) -> None:
            if value is not None:
                self.show_pass(changing[int(value)])

        self.app.push_screen(Choose(self.words("passes that changed something"), choices), chosen)

    def show_pass(self, picture: PassPicture) -> None:
        """The program before and after one pass."""
        self.picture, self.is_diff = picture, False
        self._show_documents()
        self._titles()
        self._link()

    def action_search(self) -> None:
        hint = self.words("text in the active pane; n and N go on")
        self.app.push_screen(Ask(self.words("search"), hint, self.sought), self._search)

    def _search(self, text: str | None) -> None:
        if text is None:
            return
        self.sought = text
        for pane in self.panes:
            pane.sought = text
            pane.refresh()
        self.action_found(1)

    def action_found(self, direction: int) -> None:
        """To the next line with the text that is sought, around the end."""
        pane = self.panes[self.active]
        lines = pane.document.lines
        if not self.sought or not lines:
            return
        count = len(lines)
        for step in range(1, count + 1):
            place = (pane.line + direction * step) % count
            if self.sought.lower() in lines[place].text.lower():
                pane.go_to(place)
                return
        self.hob.tell(self.words("'{text}' is not here", text=self.sought))


def _first_line(signs: Signs) -> int:
    """The first changed line."""
    return next((i for i, sign in enumerate(signs) if sign != " "), 0)
