"""How many registers are alive at each position, and how many would make spilling unnecessary."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from compiler.allocate.coalescing import Intervals
from compiler.allocate.linear_scan import Pool, ScanProblem, linear_scan


def class_pressure(built: Intervals, register_class: str, positions: int) -> tuple[int, ...]:
    """Live registers of the class at every position, counted in storages, holes left out."""
    change = [0] * (positions + 1)
    for interval in built.all:
        if interval.register_class == register_class:
            for segment in interval.segments:
                change[segment.start] += interval.storages
                change[segment.end] -= interval.storages
    total, counted = 0, []
    for delta in change[:positions]:
        total += delta
        counted.append(total)
    return tuple(counted)


def smallest_count(
    problem: ScanProblem, register_class: str, maximum: int, pool_of: Callable[[int], Pool]
) -> int | None:
    """The smallest count with which linear scan would spill nothing of the class, or None.
    `pool_of` gives the registers for a count; `problem` is the first round's.
    """
    own = [i for i in problem.intervals if i.register_class == register_class]
    if not own:
        return 0
    least = _most_overlapping((i.start, i.end, i.storages) for i in own)
    for count in range(least, min(maximum, least + 4 * sum(i.storages for i in own)) + 1):
        trial = replace(
            problem,
            intervals=own,
            pools={register_class: pool_of(count)},
            is_recorded=False,
            is_trial=True,
        )  # fmt: skip
        found = linear_scan(trial)
        if found.stuck is None and not found.spilled:
            return count
    return None


def _most_overlapping(spans: Iterable[tuple[int, int, int]]) -> int:
    changes = sorted(
        change for start, end, storages in spans for change in ((start, storages), (end, -storages))
    )
    total = most = 0
    for _, delta in changes:
        total += delta
        most = max(most, total)
    return most
