"""What can be wrong with an HLO program: its text, its meaning, or a value while it is
evaluated.
"""

from __future__ import annotations

from isas.errors import InputError, UnsupportedError


class HloSyntaxError(InputError):
    """The text is not HLO; the message shows the line with a caret."""


class HloVerifyError(InputError):
    """The program is HLO text but breaks a rule; names the instruction, its line and the rule."""


class HloEvaluationError(InputError):
    """The program is valid but this run of it has no meaning (wrong arguments, elided
    constants).
    """


class HloUnsupportedError(UnsupportedError):
    """The evaluator does not do this operation (with these attributes); the message names it."""


class Malformed(ValueError):
    """A piece of text is not what it should be. The parser adds the place and raises
    HloSyntaxError.
    """
