"""Branch prediction, walked in program order: which branches the front end guesses wrong.

A conditional branch has a two-bit counter (cold: taken if it jumps backwards) and, with a loop
predictor, the length of its last run of taken outcomes: when two runs in a row were equally long,
and not longer than the history can hold, the end of the next is foreseen. Every branch has its own
entry (no aliasing), and targets are always known. Unconditional branches are never mispredicted.
The walk is a numeric core (see `vm.numeric`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isas.cores import Predictor
from vm import numeric
from vm.numeric import Arrays, Ints

LOOP_HISTORY = 32
"""Longest run whose end is foreseen: about what global history of today's predictors holds."""


class Branches(NamedTuple):
    """Per conditional branch executed, then per static branch, then the result."""

    branch: Ints
    is_taken: Ints
    counter: Ints
    run: Ints
    last_run: Ints
    is_steady: Ints
    is_wrong: Ints


def predict(k: Branches, branch: int, is_adaptive: int, history: int) -> int:
    """1 when the branch is expected to be taken."""
    if is_adaptive > 1 and k.is_steady[branch] > 0 and k.last_run[branch] <= history:
        return 1 if k.run[branch] < k.last_run[branch] else 0
    return 1 if k.counter[branch] >= 2 else 0


def learn(k: Branches, branch: int, is_taken: int) -> None:
    """Moves the counter and the run lengths on."""
    if is_taken:
        k.counter[branch] = min(3, k.counter[branch] + 1)
        k.run[branch] += 1
    else:
        k.counter[branch] = max(0, k.counter[branch] - 1)
        k.is_steady[branch] = 1 if k.run[branch] == k.last_run[branch] else 0
        k.last_run[branch] = k.run[branch]
        k.run[branch] = 0


def walk_branches(k: Branches, is_adaptive: int, history: int) -> int:
    """Marks the wrong guesses; `is_adaptive`: 0 static, 1 counters, 2 with runs. Returns them."""
    wrong = 0
    for i in range(len(k.branch)):
        branch = k.branch[i]
        if predict(k, branch, is_adaptive, history) != k.is_taken[i]:
            k.is_wrong[i] = 1
            wrong += 1
        if is_adaptive > 0:
            learn(k, branch, k.is_taken[i])
    return wrong


_ADAPTIVE = {Predictor.STATIC: 0, Predictor.TWO_BIT: 1, Predictor.LOOP: 2}


def mispredicted(
    branch: NDArray[Any],
    is_taken: NDArray[Any],
    is_backward: NDArray[Any],
    predictor: Predictor,
    is_compiled: bool = False,
) -> NDArray[np.int64]:
    """1 for each executed conditional branch that was guessed wrong.

    `branch` is the static index of each, `is_backward` tells for every static index whether the
    branch jumps backwards.
    """
    arrays = Arrays(is_compiled)
    statics = len(is_backward)
    state = Branches(
        branch=arrays.take(branch),
        is_taken=arrays.take(is_taken),
        counter=arrays.take(np.where(is_backward, 2, 1)),
        run=arrays.full(statics),
        last_run=arrays.full(statics, -1),
        is_steady=arrays.full(statics),
        is_wrong=arrays.full(len(branch)),
    )
    functions = (predict, learn, walk_branches)
    numeric.run(functions, is_compiled, state, _ADAPTIVE[predictor], LOOP_HISTORY)
    return np.asarray(state.is_wrong, dtype=np.int64)
