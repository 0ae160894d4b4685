"""Keeps Python's garbage collector from blocking keys.

A compilation leaves hundreds of thousands of objects that stay. Walking over all of them takes the
collector up to a second, and no key is answered meanwhile. `settle` takes everything that is there
out of its rounds, in no time; garbage among it stays until `release` puts it back.
"""

from __future__ import annotations

import gc

FEW_OBJECTS = 200_000
"""So many are walked over in about a tenth of a second."""
MANY_FORGOTTEN = 8
"""Snapshots that no one remembers, for which a long walk pays."""


def settle() -> None:
    """Leaves all objects of the moment out of later rounds."""
    gc.freeze()


def release(forgotten: int) -> bool:
    """Puts them back, when that costs little or `forgotten` snapshots make it worth while; says
    whether it did."""
    if gc.get_freeze_count() > FEW_OBJECTS and forgotten < MANY_FORGOTTEN:
        return False
    gc.unfreeze()
    return True
