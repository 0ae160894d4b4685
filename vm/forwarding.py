"""Which older store each load takes its data from, found in program order.

For every load: the youngest older store that wrote any of its bytes, and whether that store wrote
all of them (and none was overwritten since), so that it can hand its data on before it reaches the
cache. Memory is cut into cells, as large as the alignment of all accesses allows; only pages that
are touched exist. The walk is a numeric core (see `vm.numeric`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vm import numeric
from vm.numeric import Arrays, Ints

Integers = NDArray[np.int64]
_PAGE_BITS = 12
_LARGEST_CELL = 64


class Accesses(NamedTuple):
    """Per row the first cell and number of cells, kinds, results; per cell its last store."""

    cell: Ints
    cells: Ints
    is_load: Ints
    is_store: Ints
    last_store: Ints
    source: Ints
    is_covered: Ints


def walk_stores(k: Accesses) -> int:
    """Fills `source` and `is_covered`; returns the number of loads that have a source."""
    found = 0
    for row in range(len(k.cell)):
        first = k.cell[row]
        last = first + k.cells[row]
        if k.is_load[row] and last > first:
            youngest = k.last_store[first]
            oldest = youngest
            for cell in range(first + 1, last):
                store = k.last_store[cell]
                if store > youngest:
                    youngest = store
                elif store < oldest:
                    oldest = store
            k.source[row] = youngest
            if youngest >= 0:
                found += 1
                k.is_covered[row] = 1 if oldest == youngest else 0
        if k.is_store[row]:
            for cell in range(first, last):
                k.last_store[cell] = row
    return found


def store_sources(
    address: Integers, size: Integers, is_load: Integers, is_store: Integers, is_compiled: bool
) -> tuple[Integers, Integers]:
    """(source, is_covered) per row: the store a load depends on (-1: none), and whether it has all
    bytes. Addresses are -1 where a row has no access."""
    cell, cells, total = _cells(address, size)
    arrays = Arrays(is_compiled)
    accesses = Accesses(
        cell=arrays.take(cell),
        cells=arrays.take(cells),
        is_load=arrays.take(is_load),
        is_store=arrays.take(is_store),
        last_store=arrays.full(total, -1),
        source=arrays.full(len(address), -1),
        is_covered=arrays.full(len(address)),
    )
    numeric.run((walk_stores,), is_compiled, accesses)
    return np.asarray(accesses.source), np.asarray(accesses.is_covered)


def _cells(address: Integers, size: Integers) -> tuple[Integers, Integers, int]:
    """Addresses and sizes in cells of a memory that has only the touched pages, and its length."""
    has_access = (address >= 0) & (size > 0)
    start = np.where(has_access, address, 0)
    length = np.where(has_access, size, 0)
    bits = int(np.bitwise_or.reduce(np.concatenate([start, length, [_LARGEST_CELL]])))
    shift = (bits & -bits).bit_length() - 1
    end = start + np.maximum(length, 1) - 1
    pages = np.unique(np.concatenate([start >> _PAGE_BITS, end >> _PAGE_BITS]))
    place = np.searchsorted(pages, start >> _PAGE_BITS)
    inside = start & ((1 << _PAGE_BITS) - 1)
    compact = (place << _PAGE_BITS) + inside
    return compact >> shift, length >> shift, len(pages) << _PAGE_BITS >> shift
