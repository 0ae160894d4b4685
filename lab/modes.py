"""Where a traced function runs: on a simulated machine, or in the NumPy evaluator."""

from __future__ import annotations

from enum import Enum

from isas.errors import InputError


class Mode(Enum):
    """SIMULATE compiles and runs cycle by cycle; EVALUATE runs any operation, without a machine."""

    SIMULATE = "simulate"
    EVALUATE = "evaluate"


def mode_of(text: str | Mode) -> Mode:
    """The mode of this name. Raises InputError for any other."""
    if isinstance(text, Mode):
        return text
    for mode in Mode:
        if mode.value == text:
            return mode
    raise InputError(
        f"there is no mode '{text}'", where="mode", hint="choose 'simulate' or 'evaluate'"
    )
