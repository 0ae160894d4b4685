"""The root of Hob's error tree: every error a user can cause is a HobError with a place and a
remedy."""

from __future__ import annotations


class HobError(Exception):
    """Bad input or an impossible request, told in one sentence.

    `message` says what was found and what was expected, `where` names the place (file:line:column,
    an instruction, an option), `hint` says what to do. The command line prints `str(error)` and
    exits 2.
    """

    def __init__(self, message: str, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        remedy = f"\n  {self.hint}" if self.hint else ""
        return f"{place}{self.message}{remedy}"


class InputError(HobError):
    """A file, argument or program the user gave cannot be used as it is."""


class UnsupportedError(HobError):
    """The input is valid but asks for something Hob does not do (yet); the message names it."""


class InternalError(HobError):
    """Two of Hob's own stages disagree: a defect in Hob, never the user's fault."""


class CheckFailed(HobError):
    """A comparison or witness disagreed; the command line exits 1."""
