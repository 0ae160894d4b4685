"""The command line's language: `--lang` after any command, else the locale; help and errors in it.

The option is given to every command here, so that none has to mention it; a command finds the
language in its context. English needs no catalogue and costs nothing at start.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.main

from isas.errors import HobError
from lab.words.language import Language, language_of

if TYPE_CHECKING:
    from lab.words.words import Words

OPTION = "--lang"
_HELP = "Language: en or zh; without it, the locale's."


def spoken_language(arguments: Sequence[str]) -> Language:
    """The language that the arguments ask for, else the locale's. Raises InputError for one that
    Hob does not speak."""
    return language_of(next(_asked(arguments), None), os.environ)


def _asked(arguments: Sequence[str]) -> Iterator[str]:
    """What stands behind `--lang`, up to a `--`."""
    for place, word in enumerate(arguments):
        if word == "--":
            return
        name, equals, value = word.partition("=")
        if name == OPTION and equals:
            yield value
        elif word == OPTION and place + 1 < len(arguments):
            yield arguments[place + 1]


def prepare(command: Any, language: Language) -> None:
    """Gives every command below `command` the option, and its help in the language."""
    words = None if language is Language.ENGLISH else words_in(language)
    for each in _below(command):
        each.params.append(_option())
        if words is not None:
            _translate(each, words)


def _option() -> Any:
    """The option as typer makes it for a command of its own; its value is read before parsing."""
    carrier = typer.Typer()

    @carrier.command()
    def _carry(
        lang: Annotated[str | None, typer.Option(OPTION, metavar="en|zh", help=_HELP)] = None,
    ) -> None:
        """Holds the option."""

    parameters = typer.main.get_command(carrier).params
    option = next(each for each in parameters if each.name == "lang")
    option.expose_value = False
    return option


def _below(command: Any) -> Iterator[Any]:
    yield command
    for inner in getattr(command, "commands", {}).values():
        yield from _below(inner)


def _translate(command: Any, words: Words) -> None:
    from tui.commands.spoken_help import one_line, spoken_context

    command.context_class = spoken_context(command.context_class, words)
    if command.help:
        command.short_help = words(one_line(command.help))


def words_in(language: Language) -> Words:
    """The words of a language, loaded when needed."""
    from lab.words.words import words_for

    return words_for(language)


def error_text(error: HobError, language: Language) -> str:
    """An error in the language."""
    return str(error) if language is Language.ENGLISH else words_in(language).error(error)


def told(text: str, language: Language) -> str:
    """Any finished English text in the language."""
    return text if language is Language.ENGLISH else words_in(language).told(text)
