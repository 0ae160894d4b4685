"""Which language to speak: asked for by name, or the locale's."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from isas.errors import InputError


class Language(Enum):
    """The languages that Hob speaks; the value is the name on the command line."""

    ENGLISH = "en"
    CHINESE = "zh"

    @property
    def other(self) -> Language:
        """The next language, for a key that switches."""
        return Language.CHINESE if self is Language.ENGLISH else Language.ENGLISH

    def __str__(self) -> str:
        return self.value


def language_of(name: str | None, environment: Mapping[str, str]) -> Language:
    """The language called `name` (`zh`, `zh_CN.UTF-8`); without one, the locale's, else English.

    `environment` holds LC_ALL, LC_MESSAGES and LANG, as POSIX ranks them. Raises InputError for a
    name that is not a language of ours.
    """
    if name is not None:
        found = _known(name)
        if found is None:
            languages = ", ".join(language.value for language in Language)
            raise InputError(
                f"'{name}' is not a language that Hob speaks",
                where="--lang",
                hint=f"the languages are {languages}",
            )
        return found
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if environment.get(variable):
            return _known(environment[variable]) or Language.ENGLISH
    return Language.ENGLISH


def _known(name: str) -> Language | None:
    prefix = name.strip().lower().replace("-", "_").split(".")[0].split("_")[0]
    return next((language for language in Language if language.value == prefix), None)
