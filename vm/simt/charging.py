"""Charging every issue slot of a SIMT run once.

A scheduler has one slot per cycle. A slot in which it issues is useful as far as the warp's lanes
are active; the rest is divergence. A slot in which it does not is charged to what holds up the
oldest of its warps. Only SMs that got a block of the launch count, so that a small grid shows its
stalls and not the idle rest of the machine; the cycles before the launch starts are its overhead.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isas.cores import Simt
from vm.stalls import Stall
from vm.stream import Stream
from vm.timeline import Causes, Charges

Integers = NDArray[np.int64]


def charge(
    stream: Stream,
    lost: tuple[tuple[Causes, Integers], ...],
    bounds: list[tuple[int, int]],
    used: list[tuple[int, int]],
    simt: Simt,
) -> Charges:
    """The charges of a run, normalised to cycles.

    `lost` are (cause, slots) columns per row; `bounds` (start, end) of each launch, `used` its SMs
    and the slots of their schedulers without a warp.
    """
    slots = np.array([max(sms, 1) * simt.schedulers for sms, _ in used], dtype=np.float64)
    share = 1.0 / slots[stream.launch] if len(stream) else np.zeros(0)
    active = stream.active_lanes() / simt.warp_size
    rows = np.arange(len(stream))
    pieces = [
        (rows, np.full(len(rows), Stall.RETIRING.code), active * share),
        (rows, np.full(len(rows), Stall.DIVERGENCE.code), (1.0 - active) * share),
        *[(rows, cause, count * share) for cause, count in lost],
    ]
    before = [start - end for (start, _), (_, end) in zip(bounds, [(0, 0), *bounds])]
    idle = np.array([count for _, count in used], dtype=np.float64) / slots
    for stall, cycles in ((Stall.LAUNCH, np.array(before)), (Stall.NO_WARP, idle)):
        pieces.append((np.full(len(cycles), -1), np.full(len(cycles), stall.code), cycles))
    row, cause, count = (np.concatenate(parts) for parts in zip(*pieces))
    kept = count > 0
    return Charges(
        row[kept].astype(np.int32), cause[kept].astype(np.int8), count[kept].astype(np.float64), 1.0
    )
