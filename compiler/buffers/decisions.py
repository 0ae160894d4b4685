"""What buffer assignment decides: the order of launches, and the place of every array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from compiler.buffers.liveness import Array, Block, Facts, Lifetimes, Role, aligned
from compiler.buffers.order import Candidate
from compiler.buffers.packing import Packing
from compiler.hlo.module import Computation
from compiler.journal import Alternative, Decision, Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderChosen(Decision):
    """The order of launches, with the largest live set of each order that was tried."""

    bytes_alive: int

    @property
    def template(self) -> str:
        return "{subject} launches {chosen}: {bytes_alive} bytes alive at most"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceChosen(Decision):
    """The offset of an array, and whose place it takes over."""

    offset: int
    size_bytes: int
    first_step: int
    last_step: int

    @property
    def template(self) -> str:
        return (
            "{subject}: {size_bytes} bytes at {offset}, "
            "alive in steps {first_step} to {last_step}: {because}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DonationTaken(Decision):
    """Whether a result lies in the parameter that the caller donated for it."""

    parameter: str

    @property
    def template(self) -> str:
        return "{subject} lies {chosen} {parameter}, which the caller donates: {because}"


def record_donations(journal: Journal, facts: Facts, blocks: Sequence[Block]) -> None:
    """Records of every donated parameter whether its result came to lie there, and why not."""
    homes = {array.value: block for block in blocks for array in block.arrays}
    for wish in facts.returned:
        given, result = homes.get(wish.parameter), homes.get(wish.result)
        taken = given is not None and given is result
        because = "nobody reads the parameter when the result is written"
        if not taken:
            because = "the parameter is still read when the result is written"
            if result is not None and result.arrays[0].role is Role.PARAMETER:
                because = "the result is another parameter as it came"
            if result is None:
                because = "the result is a constant"
            because += "; the caller insists on it, so copy it there" if wish.must else ""
        journal.record(
            DonationTaken(
                subject=wish.result[0],
                origins=facts.computation.instruction(wish.result[0]).origins,
                chosen="in the place of" if taken else "apart from",
                because=because,
                parameter=wish.parameter[0],
            )
        )


class _Span(NamedTuple):
    """A block with its bytes and its first and last step, looked at many times."""

    low: int
    high: int
    start: int
    end: int
    block: Block


def record_order(
    journal: Journal,
    computation: Computation,
    tried: Sequence[Candidate],
    best: Candidate,
) -> None:
    """Records which order of launches was taken."""
    journal.record(
        OrderChosen(
            subject=computation.name,
            chosen=best.name,
            bytes_alive=best.bytes_alive,
            alternatives=tuple(Alternative(name=c.name, cost=float(c.bytes_alive)) for c in tried),
        )
    )


def record_placements(
    journal: Journal,
    computation: Computation,
    found: Lifetimes,
    blocks: Sequence[Block],
    packing: Packing,
) -> None:
    """Records the place of every array and the reason for it."""
    spans = [
        _Span(offset, offset + aligned(block.size_bytes), block.start, block.end, block)
        for block, offset in zip(blocks, packing.offsets, strict=True)
    ]
    for number, block in enumerate(blocks):
        for position, array in enumerate(block.arrays):
            before = block.arrays[position - 1] if position else None
            because = _why(found, spans, number, array, before)
            journal.record(
                PlaceChosen(
                    subject=array.name,
                    origins=computation.instruction(array.value[0]).origins,
                    chosen=f"offset {packing.offsets[number]}",
                    because=because,
                    offset=packing.offsets[number],
                    size_bytes=array.size_bytes,
                    first_step=array.start,
                    last_step=array.end,
                )
            )


def _why(
    found: Lifetimes,
    spans: Sequence[_Span],
    number: int,
    array: Array,
    before: Array | None,
) -> str:
    if array.role is Role.PARAMETER:
        return "a parameter, given by the caller"
    if before is not None and before.end < array.start:
        return f"returned in the place of {before.name}, as the caller allows"
    if before is not None:
        return (
            f"written over {before.name}, which {found.steps[array.start]} reads for the last time"
        )
    dead = _predecessors(spans, spans[number])
    if not dead:
        return "memory that nobody used before"
    names = ", ".join(b.arrays[-1].name for b in dead[:3])
    more = f" and {len(dead) - 3} more" if len(dead) > 3 else ""
    return f"takes the place of {names}{more}"


def _predecessors(spans: Sequence[_Span], mine: _Span) -> list[Block]:
    """The blocks that lay here before, latest first."""
    found = [
        span
        for span in spans
        if span.end < mine.start and span.low < mine.high and mine.low < span.high
    ]
    return [span.block for span in sorted(found, key=lambda s: -s.end)]
