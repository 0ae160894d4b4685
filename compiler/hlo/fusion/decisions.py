"""What fusion decides, told for every pair of producer and consumer that it looked at."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import ClassVar

from compiler.journal import Decision


class How(enum.Enum):
    """In which way two instructions came together, or that they did not."""

    MOVED = "moved into"
    COPIED = "copied into"
    SHARED = "computed together, and also written out, with"
    SIBLING = "computed beside"
    APART = "kept apart from"


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionDecision(Decision):
    """One pair. ``consumer`` names the last instruction of the kernel in question.

    ``bytes_saved`` is memory traffic that goes away, ``launches_saved`` kernels,
    ``code_duplicated`` instructions that are computed at one more place.
    """

    consumer: str
    how: How
    bytes_saved: int = 0
    launches_saved: int = 0
    code_duplicated: int = 0

    @property
    def template(self) -> str:
        return "{subject} {chosen} {consumer}: {because}"

    @property
    def is_fused(self) -> bool:
        return self.how is not How.APART


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFormed(Decision):
    """A finished fusion: what is inside and how its row runs. ``members`` are the instructions it
    is made of, by the names that `FusionDecision` calls them."""

    worded: ClassVar[tuple[str, ...]] = ("because",)

    instructions: tuple[str, ...]
    members: tuple[str, ...]
    stages: tuple[str, ...]
    launches_before: int
    bytes_before: int
    bytes_after: int

    @property
    def template(self) -> str:
        return (
            "{subject} holds {chosen}; launches {launches_before} → 1, "
            "bytes {bytes_before} → {bytes_after}"
        )
