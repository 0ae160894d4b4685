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

    @property
    def excerpt(self) -> str:
        """The lines of the input that are wrong, where an error has them."""
        return ""

    def __str__(self) -> str:
        return self.told(self.message, self.hint)

    def told(self, message: str, hint: str | None) -> str:
        """The error with its message and hint as somebody says them."""
        place = f"{self.where}: " if self.where else ""
        below = "".join(f"\n  {text}" for text in (self.excerpt, hint) if text)
        return f"{place}{message}{below}"


class InputError(HobError):
    """A file, argument or program the user gave cannot be used as it is."""


class UnsupportedError(HobError):
    """The input is valid but asks for something Hob does not do (yet); the message names it."""


class InternalError(HobError):
    """Two of Hob's own stages disagree: a defect in Hob, never the user's fault."""


class CheckFailed(HobError):
    """A comparison or witness disagreed; the command line exits 1."""
