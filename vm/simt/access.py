"""How SIMT memory accesses reach memory: distinct sectors and lines, and rounds of shared banks.

Lanes of a warp that touch one 32-byte sector are served together (coalescing); each distinct line
takes the load/store unit one cycle. Shared memory serves one word per bank and round; lanes that
read the same word share it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isas.cores import Cache, Simt
from vm.stream import Stream

Integers = NDArray[np.int64]
_WORD_BYTES = 4


@dataclass(frozen=True, slots=True)
class Requests:
    """Per row: `rounds` (cycles on the load/store unit, at least 1) and its stretch of sectors.

    first [rows + 1]   its sectors are first[i] to first[i + 1] of the following
    sector             number of the sector among all that the run touches
    line, part         its cache line, and its place in the line
    """

    rounds: Integers
    first: Integers
    sector: Integers
    line: Integers
    part: Integers

    @property
    def sector_count(self) -> int:
        """Distinct sectors of the run."""
        return int(self.sector.max(initial=-1)) + 1


def find_requests(
    stream: Stream, is_global: Integers, is_shared: Integers, simt: Simt, cache: Cache
) -> Requests:
    """The requests of all rows; the two masks say which space a row accesses."""
    rows = len(stream)
    row, address, size = _lanes(stream)
    chosen = is_global[row] > 0
    at, sector = _pieces(row[chosen], address[chosen], size[chosen], simt.sector_bytes)
    line = sector * simt.sector_bytes // cache.line_bytes
    lines = np.bincount(_distinct(at, line)[0], minlength=rows)
    chosen = is_shared[row] > 0
    word_row, word = _pieces(row[chosen], address[chosen], size[chosen], _WORD_BYTES)
    rounds = np.maximum(lines, _bank_rounds(word_row, word, simt.shared_banks, rows))
    parts = max(1, cache.line_bytes // simt.sector_bytes)
    return Requests(
        rounds=np.maximum(rounds, 1),
        first=np.concatenate([[0], np.cumsum(np.bincount(at, minlength=rows))]),
        sector=np.unique(sector, return_inverse=True)[1].reshape(-1).astype(np.int64),
        line=line,
        part=sector % parts,
    )


def _lanes(stream: Stream) -> tuple[Integers, Integers, Integers]:
    """(row, address, size) of every lane's access; a row without lanes has its one address."""
    rows = len(stream)
    counts = np.zeros(rows, np.int64)
    if len(stream.lane_offsets):
        counts = np.diff(stream.lane_offsets)
    alone = np.flatnonzero((counts == 0) & (stream.address >= 0) & (stream.active != 0))
    row = np.concatenate([np.repeat(np.arange(rows), counts), alone])
    address = np.concatenate([stream.lane_addresses, stream.address[alone]])
    order = np.argsort(row, kind="stable")
    row = row[order]
    return row, address[order], np.maximum(stream.size[row].astype(np.int64), 1)


def _pieces(
    row: Integers, address: Integers, size: Integers, unit: int
) -> tuple[Integers, Integers]:
    """The distinct (row, piece) pairs, where pieces are `unit` bytes long, sorted."""
    first, last = address // unit, (address + size - 1) // unit
    counts = last - first + 1
    start = np.repeat(np.cumsum(counts) - counts, counts)
    piece = np.repeat(first, counts) + np.arange(int(counts.sum())) - start
    return _distinct(np.repeat(row, counts), piece)


def _distinct(row: Integers, value: Integers) -> tuple[Integers, Integers]:
    """The distinct pairs, sorted."""
    order = np.lexsort((value, row))
    row, value = row[order], value[order]
    if not len(row):
        return row, value
    kept = np.concatenate([[True], (np.diff(row) != 0) | (np.diff(value) != 0)])
    return row[kept], value[kept]


def _bank_rounds(row: Integers, word: Integers, banks: int, rows: int) -> Integers:
    """Per row the most distinct words that fall on one bank."""
    counts = np.bincount(row * banks + word % banks, minlength=rows * banks)
    most: Integers = counts.reshape(rows, banks).max(axis=1, initial=0)
    return most
