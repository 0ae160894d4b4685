"""What happened to each executed instruction, found in program order before timing begins.

Joins the dynamic stream with the machine tables: the instruction's place in the tables,
mispredicted branches, cache misses, and the store each load takes its data from. The CPU timing
models read this.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isas.cores import Cache, Predictor
from isas.tables import IS_BACKWARD, IS_CONDITIONAL, MachineTables
from vm.caches import trace_cache
from vm.forwarding import store_sources
from vm.predictor import mispredicted
from vm.stream import Stream

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Events:
    """Per row: `static` (index into the tables), flags as 0 or 1, and rows it depends on.

    `owner` is the row that brought in the line of a hit, `source` the youngest older store that
    wrote any byte of a load (-1: none), `is_covered` says that it wrote all of them.
    """

    static: Integers
    is_taken: Integers
    is_mispredicted: Integers
    is_miss: Integers
    owner: Integers
    source: Integers
    is_covered: Integers

    def __len__(self) -> int:
        return len(self.static)


def find_events(
    stream: Stream,
    tables: MachineTables,
    cache: Cache,
    predictor: Predictor,
    is_compiled: bool = False,
) -> Events:
    """Walks a CPU stream once through predictor, cache and store queue."""
    static = tables.instruction_base[stream.program] + stream.static
    address, size = stream.address.astype(np.int64), stream.size.astype(np.int64)
    is_load, is_store = tables.loads[static] > 0, tables.stores[static] > 0
    has_access = is_load | is_store
    address = np.where(has_access, address, -1)
    lines = trace_cache(address, size, cache, is_compiled)
    source, is_covered = store_sources(
        address, size, is_load.astype(np.int64), is_store.astype(np.int64), is_compiled
    )
    return Events(
        static=static,
        is_taken=stream.is_taken.astype(np.int64),
        is_mispredicted=_mispredicted(stream, static, tables, predictor, is_compiled),
        is_miss=lines.is_miss,
        owner=lines.owner,
        source=source,
        is_covered=is_covered,
    )


def _mispredicted(
    stream: Stream,
    static: Integers,
    tables: MachineTables,
    predictor: Predictor,
    is_compiled: bool,
) -> Integers:
    wrong = np.zeros(len(static), np.int64)
    rows = np.flatnonzero(tables.flags[static] & IS_CONDITIONAL)
    is_backward = (tables.flags & IS_BACKWARD) != 0
    wrong[rows] = mispredicted(
        static[rows], stream.is_taken[rows], is_backward, predictor, is_compiled
    )
    return wrong
