"""The allocator's walk as states to step through: what is active, waiting, done or in memory."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from compiler.allocate.linear_scan import ScanAction, ScanStep
from compiler.allocate.result import AllocationResult, IntervalRow, Round


class Standing(IntEnum):
    """How an interval stands at a step."""

    AHEAD = 0
    ACTIVE = 1
    DONE = 2
    SPILLED = 3


@dataclass(frozen=True, slots=True)
class ScanState:
    """After one step: `standing` and `place` of every interval of its round and class, by name."""

    step: ScanStep
    round: Round
    rows: tuple[IntervalRow, ...]
    standing: dict[str, Standing]
    place: dict[str, str]


def steps_of(result: AllocationResult, register_class: str) -> tuple[ScanStep, ...]:
    """The steps that concern a class, through all rounds."""
    return tuple(step for step in result.steps if step.register_class == register_class)


def state_at(result: AllocationResult, steps: tuple[ScanStep, ...], index: int) -> ScanState:
    """The state after step `index` of `steps`."""
    step = steps[index]
    round_ = next(r for r in result.rounds if r.number == step.round)
    rows = tuple(r for r in round_.intervals if r.register_class == step.register_class)
    ends = {row.name: row.end for row in rows}
    standing = {row.name: Standing.AHEAD for row in rows}
    place = {row.name: "" for row in rows}
    for earlier in steps[: index + 1]:
        if earlier.round == step.round:
            _apply(earlier, standing, place)
    for name, stands in standing.items():
        if stands is Standing.ACTIVE and ends[name] <= step.start:
            standing[name] = Standing.DONE
    homes = {row.name: row.place for row in rows if row.is_spilled}
    for name, stands in standing.items():
        if stands is Standing.SPILLED:
            place[name] = homes.get(name, "")
    return ScanState(step, round_, rows, standing, place)


def _apply(step: ScanStep, standing: dict[str, Standing], place: dict[str, str]) -> None:
    for name in filter(None, step.spilled.split(", ")):
        standing[name] = Standing.SPILLED
    if step.action is not ScanAction.SPILL:
        standing[step.subject] = Standing.ACTIVE
        place[step.subject] = step.register


def spills(steps: tuple[ScanStep, ...]) -> list[int]:
    """The indices of the steps that send something to memory."""
    return [place for place, step in enumerate(steps) if step.spilled]
