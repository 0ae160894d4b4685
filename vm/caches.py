"""The first-level data cache, walked in program order: who misses, and who fetched the line.

A set-associative cache with least-recently-used replacement; loads and stores both bring in the
line they miss. The state advances in program order, whatever order the accesses are issued in: a
stated simplification that the test oracles share. The walk is a numeric core (see `vm.numeric`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isas.cores import Cache
from vm import numeric
from vm.numeric import Arrays, Ints

Integers = NDArray[np.int64]


class Walk(NamedTuple):
    """The arrays of one walk; `tags` and `owners` hold the sets' ways, most recently used first."""

    address: Ints
    size: Ints
    tags: Ints
    owners: Ints
    is_miss: Ints
    owner: Ints


def touch(k: Walk, row: int, line: int, sets: int, ways: int) -> None:
    """One line of one access: moves it to the front of its set, fetching it when absent."""
    base = line % sets * ways
    way = 0
    while way < ways and k.tags[base + way] != line:
        way += 1
    owner = row
    if way == ways:
        k.is_miss[row] = 1
        way = ways - 1
    else:
        owner = k.owners[base + way]
        if owner > k.owner[row]:
            k.owner[row] = owner
    while way > 0:
        k.tags[base + way] = k.tags[base + way - 1]
        k.owners[base + way] = k.owners[base + way - 1]
        way -= 1
    k.tags[base] = line
    k.owners[base] = owner


def walk_cache(k: Walk, line_bytes: int, sets: int, ways: int) -> int:
    """Walks all accesses (rows with an address); returns how many missed."""
    misses = 0
    for row in range(len(k.address)):
        if k.address[row] >= 0 and k.size[row] > 0:
            first = k.address[row] // line_bytes
            last = (k.address[row] + k.size[row] - 1) // line_bytes
            touch(k, row, first, sets, ways)
            if last != first:
                touch(k, row, last, sets, ways)
            misses += k.is_miss[row]
    return misses


@dataclass(frozen=True, slots=True)
class CacheTrace:
    """Per row: whether it missed, and the row that brought in the (youngest) line of a hit."""

    is_miss: Integers
    owner: Integers
    miss_count: int


def trace_cache(
    address: NDArray[Any], size: NDArray[Any], cache: Cache, is_compiled: bool = False
) -> CacheTrace:
    """Walks the accesses `address` (-1: none), `size` bytes each, in order through a cold cache."""
    arrays = Arrays(is_compiled)
    rows, ways = len(address), cache.ways
    walk = Walk(
        address=arrays.take(address),
        size=arrays.take(size),
        tags=arrays.full(cache.sets * ways, -1),
        owners=arrays.full(cache.sets * ways, -1),
        is_miss=arrays.full(rows),
        owner=arrays.full(rows, -1),
    )
    functions = (touch, walk_cache)
    misses = numeric.run(functions, is_compiled, walk, cache.line_bytes, cache.sets, ways)
    return CacheTrace(np.asarray(walk.is_miss), np.asarray(walk.owner), misses)
