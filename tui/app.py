"""The application: composes screens, binds keys, carries messages between workers and screens."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.command import CommandPalette
from textual.screen import Screen
from textual.worker import get_current_worker

from isas.errors import HobError
from lab.road import DEFAULT_MACHINE
from lab.words.language import Language
from lab.words.words import Words, words_for
from tui import garbage
from tui.defects import defect_text
from tui.messages import Arrived, Ended, Problem, Progress
from tui.screens import actions
from tui.screens.base import HobScreen
from tui.screens.compile import CompileScreen
from tui.screens.registers import RegistersScreen
from tui.screens.run import RunScreen
from tui.screens.start import StartScreen
from tui.session import Cancelled, Request, Session, Snapshot
from tui.words_of_commands import COMMANDS_IN_PALETTE


class HobApp(App[None]):
    """`hob tui`."""

    TITLE = "Hob"
    CSS_PATH = Path(__file__).parent / "styles" / "hob.tcss"
    SCREENS: ClassVar[dict[str, Callable[[], Screen[None]]]] = {
        "start": StartScreen,
        "compile": CompileScreen,
        "registers": RegistersScreen,
        "run": RunScreen,
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "go('start')", "Start", show=False),
        Binding("2", "go('compile')", "Compile", show=False),
        Binding("5", "go('registers')", "Registers", show=False),
        Binding("6", "go('run')", "Run", show=False),
        Binding("p", "program", "program", show=False),
        Binding("m", "machine", "machine"),
        Binding("r", "limits", "registers"),
        Binding("u", "history", "earlier runs", show=False),
        Binding("l", "language", "中文/English"),
        Binding("question_mark", "help", "help", key_display="?"),
        Binding("escape", "cancel", "stop the work", show=False),
        Binding("q", "quit", "quit", show=False),
        Binding("ctrl+p", "command_palette", "command palette", show=False),
    ]

    def __init__(
        self,
        request: Request | None = None,
        language: Language | None = None,
        machine: str = DEFAULT_MACHINE,
    ) -> None:
        super().__init__()
        self.machine = machine
        self.words: Words = words_for(language or Language.ENGLISH)
        self.session = Session(request)
        self.note = ""
        self.problem: Problem | None = None
        self.first_screen = "start" if request is None else "run"

    def on_mount(self) -> None:
        self.push_screen(self.first_screen)
        if self.session.request is not None:
            self.look_at(self.session.request)

    @property
    def hob_screen(self) -> HobScreen | None:
        """The screen in front of all others that is not a dialog."""
        return next((s for s in reversed(self.screen_stack) if isinstance(s, HobScreen)), None)

    def on_unmount(self) -> None:
        garbage.release(garbage.MANY_FORGOTTEN)

    # Work

    @property
    def is_working(self) -> bool:
        """Whether a worker is at what was asked for last."""
        return self.session.awaited is not None

    def look_at(self, request: Request) -> None:
        """Loads, compiles and runs in a worker; what was going on is dropped."""
        self.session.begin(request)
        self.problem = None
        if garbage.release(self.session.forgotten):
            self.session.forgotten = 0
        self.run_worker(partial(self._work, request), thread=True, exclusive=True, group="road")
        self._refresh_bars()

    def look_back(self, snapshot: Snapshot) -> None:
        """Shows an earlier run again; what was going on is dropped."""
        self.workers.cancel_group(self, "road")
        self.note, self.problem = "", None
        self.session.accept(snapshot)
        self._update_screen()

    def _work(self, request: Request) -> None:
        """In the worker's thread: whatever comes of it is posted as a message."""
        worker = get_current_worker()

        def tell(step: str) -> None:
            self.post_message(Progress(request, step))

        def deliver(snapshot: Snapshot) -> None:
            if not worker.is_cancelled:
                self.post_message(Arrived(snapshot))

        def end(problem: Problem) -> None:
            if not worker.is_cancelled:
                self.post_message(Ended(request, problem))

        try:
            deliver(self.session.work(request, tell, deliver, lambda: worker.is_cancelled))
        except Cancelled:
            return
        except HobError as error:
            end(Problem(self.words.error(error), error))
        except Exception as error:
            end(Problem(defect_text(error, self.words), defect=error))

    def _handle_exception(self, error: Exception) -> None:
        """A defect anywhere else ends the application with one sentence, the terminal as it was;
        without a terminal whoever drives the application gets the exception itself."""
        if self.is_headless:
            super()._handle_exception(error)
        else:
            self._return_code = 1
            self.panic(Text(f"hob: {defect_text(error, self.words)}"))

    def on_progress(self, message: Progress) -> None:
        if message.request == self.session.awaited:
            self.note_step(message.step)

    def note_step(self, step: str) -> None:
        """Says in the footer what is being done; without a step nothing is."""
        garbage.settle()
        self.note = self.words("{step} …  Esc stops", step=self.words(step)) if step else ""
        self._refresh_bars()

    def on_arrived(self, message: Arrived) -> None:
        """What is out of date is dropped."""
        if message.snapshot.request != self.session.awaited:
            return
        self.session.accept(message.snapshot)
        if not self.is_working:
            self.note = ""
        self._update_screen()

    def _update_screen(self) -> None:
        screen = self.hob_screen
        if screen is not None and screen.is_mounted:
            screen.update()

    def on_ended(self, message: Ended) -> None:
        if message.request != self.session.awaited:
            return
        self.note, self.problem = "", message.problem
        self.session.give_up()
        self.tell(message.problem.text)
        self._update_screen()

    def action_cancel(self) -> None:
        """Stops waiting; the worker ends at its next step."""
        if self.is_working:
            self.workers.cancel_group(self, "road")
            self.note = ""
            self.session.give_up()
            self.tell(self.words("stopped"))
            self._update_screen()
        elif self.hob_screen is not None:
            self.hob_screen.stop_work()

    @property
    def nothing_text(self) -> str:
        """What to say where there is nothing to show: why the work ended, or what to do."""
        if self.is_working:
            return self.words("running …")
        if self.problem is not None and self.problem.error is not None:
            return self.words.error(self.problem.error)
        if self.problem is not None:
            return self.problem.text
        if self.session.current is not None:
            return self.words("stopped")
        return self.words("open a program first: key p")

    def tell(self, text: str) -> None:
        """A remark that goes away by itself."""
        self.notify(text, markup=False, timeout=6)

    def _refresh_bars(self) -> None:
        screen = self.hob_screen
        if screen is not None and screen.is_mounted:
            screen.refresh_bars()

    # Keys

    def action_go(self, name: str) -> None:
        if isinstance(self.screen, HobScreen):
            self.switch_screen(name)

    def show_line(self, subject: str) -> None:
        """The Compile screen at a line of the assembly."""
        self.action_go("compile")
        screen = self.get_screen("compile")
        if isinstance(screen, CompileScreen):
            screen.ask_for(subject)

    def action_language(self) -> None:
        self.speak(self.words.language.other)

    def speak(self, language: Language) -> None:
        """Everything in another language from now on."""
        self.words = words_for(language)
        self._update_screen()

    def action_program(self) -> None:
        actions.ask_program(self)

    def action_machine(self) -> None:
        actions.ask_machine(self)

    def action_limits(self) -> None:
        actions.ask_limits(self)

    def action_history(self) -> None:
        actions.ask_history(self)

    def action_help(self) -> None:
        actions.show_help(self)

    def action_command_palette(self) -> None:
        """Opens the command palette, its field labelled in the language."""
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(CommandPalette(placeholder=self.words("Search for commands…")))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The command palette: everything that keys do, and the options that have none."""
        for title, meaning, action in COMMANDS_IN_PALETTE:
            yield SystemCommand(
                self.words(title), self.words(meaning), partial(actions.perform, self, action)
            )
