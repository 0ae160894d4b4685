"""What the application's own keys do: dialogs for program, machine, limits, history and help."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from isas.errors import HobError
from lab.models import is_python
from tui import look
from tui.cells import fitted
from tui.recent import remember
from tui.screens.base import HobScreen
from tui.screens.dialogs import Ask, Choose, Read, heading
from tui.session import Request
from tui.widgets.panel import Line

if TYPE_CHECKING:
    from tui.app import HobApp


def ask_program(app: HobApp) -> None:
    """Asks for a file to open."""
    words, request = app.words, app.session.request
    value = "" if request is None else " ".join((request.program, *request.arguments))

    def opened(text: str | None) -> None:
        if text and text.strip():
            open_program(app, text.strip())

    hint = words("a file of HLO or StableHLO, or model.py:function with its arguments' shapes")
    app.push_screen(Ask(words("open a program"), hint, value), opened)


def open_program(app: HobApp, text: str) -> None:
    """Looks at another program, on the machine and with the options of the moment. `text` is a
    file's name, or `FILE.py:NAME` followed by shapes such as `f32[8,128]`."""
    old = app.session.request
    program, shapes = program_and_shapes(os.path.expanduser(text))
    inputs = _inputs_beside(program)
    if old is None:
        request = Request(program, app.machine, inputs=inputs, arguments=shapes)
    else:
        request = replace(old, program=program, inputs=inputs, arguments=shapes)
    remember(program)
    app.look_at(request)


def program_and_shapes(text: str) -> tuple[str, tuple[str, ...]]:
    """File names may have blanks in them; what follows the function of a Python file is shapes."""
    program, *shapes = text.split()
    return (program, tuple(shapes)) if is_python(program) else (text, ())


def _inputs_beside(program: str) -> str | None:
    """The npz file of the same name, when there is one."""
    path = f"{os.path.splitext(program)[0]}.npz"
    return path if os.path.isfile(path) else None


def ask_machine(app: HobApp) -> None:
    """Lets a machine be chosen."""
    import isas

    choices = [
        (name, f"{fitted(name, 18)} {isas.load_machine(name).core.title}")
        for name in isas.machine_names()
    ]
    request = app.session.request
    current = request.machine if request is not None else app.machine

    def chosen(name: str | None) -> None:
        if name is not None:
            choose_machine(app, name)

    app.push_screen(Choose(app.words("machine"), choices, current), chosen)


def choose_machine(app: HobApp, name: str) -> None:
    """The same program on another machine; limits stay where the new one has such registers."""
    import isas

    request = app.session.request
    app.machine = name
    if request is None:
        app.tell(app.words("programs will run on {machine}", machine=name))
        return
    classes = isas.load_machine(name).isa.registers.classes
    kept = tuple(limit for limit in request.options.registers if limit[0] in classes)
    options = replace(request.options, registers=kept)
    app.look_at(replace(request, machine=name, options=options))


def ask_limits(app: HobApp) -> None:
    """Asks for register limits, as on the command line."""
    request = app.session.request
    if request is None:
        return
    words = app.words

    def given(text: str | None) -> None:
        if text is not None:
            _limit(app, text)

    hint = words("such as vec=6,gpr=5; empty: all there are")
    app.push_screen(Ask(words("registers that may be used"), hint, request.limits), given)


def _limit(app: HobApp, text: str) -> None:
    import isas
    from compiler.allocate.limits import check_register_limits
    from tui.commands.options import read_registers

    request = app.session.request
    if request is None:
        return
    try:
        options = replace(request.options, registers=read_registers(text))
        check_register_limits(isas.load_machine(request.machine), options)
    except HobError as error:
        app.tell(app.words.error(error))
        return
    app.look_at(replace(request, options=options))


def ask_history(app: HobApp) -> None:
    """Lets one of the session's runs be looked at again."""
    history = app.session.history
    if not history:
        return
    choices = []
    for place in range(len(history) - 1, -1, -1):
        snapshot = history[place]
        facts = f"{snapshot.request.title}  {snapshot.request.machine}  {snapshot.request.limits}"
        cycles = app.words("{cycles} cycles", cycles=snapshot.cycles)
        choices.append((str(place), f"{fitted(facts, 46)} {cycles}"))

    def chosen(value: str | None) -> None:
        if value is not None:
            app.look_back(history[int(value)])

    app.push_screen(Choose(app.words("earlier runs"), choices), chosen)


def show_help(app: HobApp) -> None:
    """The keys of the screen in front, and what its signs mean."""
    screen = app.hob_screen
    if screen is None or not isinstance(app.screen, HobScreen):
        return
    lines: list[Line] = [heading(app.words("keys"))]
    for key, meaning in screen.keys(only_shown=False):
        lines.append([(fitted(f"  {key}", 14), look.STRONG), (meaning, look.PLAIN)])
    app.push_screen(Read(app.words("help"), lines))


def perform(app: HobApp, action: str) -> None:
    """One entry of the command palette."""
    if action.startswith("option("):
        switch_option(app, action[8:-2])
    else:
        app.call_later(app.run_action, action)


def switch_option(app: HobApp, name: str) -> None:
    """Turns one of the compiler's switches."""
    request = app.session.request
    if request is None:
        return
    old = request.options
    switched = {
        "fuse": replace(old, fuse=not old.fuse),
        "strict_order": replace(old, strict_order=not old.strict_order),
        "contract": replace(old, contract=not old.contract),
        "schedule": replace(old, schedule=not old.schedule),
        "fast_math": replace(old, fast_math=not old.fast_math),
    }
    app.look_at(replace(request, options=switched[name]))
