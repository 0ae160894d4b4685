"""Pieces of the arena, and what is put or moved there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from compiler.buffers.liveness import Array


@dataclass(frozen=True, slots=True)
class Slice:
    """A piece of the arena, in bytes."""

    offset: int
    size_bytes: int

    @property
    def end(self) -> int:
        return self.offset + self.size_bytes

    def overlaps(self, other: Slice) -> bool:
        return self.offset < other.end and other.offset < self.end

    def __str__(self) -> str:
        return f"[{self.offset}, {self.end})"


@dataclass(frozen=True, slots=True)
class Placement:
    """One array with its life (steps, both included) and place, for the pictures of memory."""

    array: Array
    slice: Slice


class Timeline(Protocol):
    """What a picture of memory shows: the entry computation's, or one that a loop runs."""

    @property
    def launches(self) -> Sequence[str]:
        """The steps, in order."""

    @property
    def placements(self) -> Sequence[Placement]:
        """The arrays with their lives in these steps."""


@dataclass(frozen=True, slots=True)
class Move:
    """Bytes to copy inside the arena; the pieces are of one size and do not overlap."""

    source: Slice
    target: Slice
