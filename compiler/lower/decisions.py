"""What lowering decides and records: the shape of every loop nest, tiles, and how values are
kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compiler.journal import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopNest(Decision):
    """The loops of a kernel from outermost to innermost, as text."""

    worded: ClassVar[tuple[str, ...]] = ("chosen", "because", "loops")

    loops: str

    @property
    def template(self) -> str:
        return "{subject}: loops {loops}, because {because}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptValue(Decision):
    """Where a value that several stages of a row need is kept between them."""

    value: str

    @property
    def template(self) -> str:
        return "{subject}: {value} is {chosen}, because {because}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile(Decision):
    """The register tile of a dot: rows by vectors, and what bounded it."""

    rows: int
    vectors: int
    lanes: int

    @property
    def template(self) -> str:
        return (
            "{subject}: {chosen} tile of {rows} x {vectors} vectors of {lanes}, because {because}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadMapping(Decision):
    """What a thread of the grid computes."""

    threads: int

    @property
    def template(self) -> str:
        return "{subject}: {chosen}, {threads} threads, because {because}"
