"""Running a numeric core as plain Python or as machine code: the same lines either way.

A numeric core is a file of functions over integer arrays, in the subset that numba compiles. For
short runs the arrays are lists and Python runs the lines (no import of numba, no compile time); for
long runs they are NumPy arrays and numba compiles the functions once, into a cache beside the
package or, where that is not writable, in the user's cache folder.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from functools import cache
from types import FunctionType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

Ints = MutableSequence[int]
"""What a numeric core sees of an array: a list (plain) or a NumPy array (compiled)."""

Table = Sequence[Ints]
"""Columns of equal length: a list of lists, or a two-dimensional array."""

LONG_RUN = 200_000
"""From this many instructions on, loading the compiled core pays (see bench/timing.py)."""


class Arrays:
    """Makes the arrays of one run in the form its execution needs."""

    def __init__(self, is_compiled: bool) -> None:
        self.is_compiled = is_compiled

    def take(self, values: NDArray[Any] | Sequence[int]) -> Ints:
        """An input; compiled cores see 64-bit integers, so that one compilation serves all."""
        array = np.ascontiguousarray(values, dtype=np.int64)
        return cast(Ints, array) if self.is_compiled else array.tolist()

    def full(self, length: int, value: int = 0) -> Ints:
        """A new array of `length` copies of `value`."""
        if self.is_compiled:
            return cast(Ints, np.full(length, value, np.int64))
        return [value] * length

    def table(self, columns: Sequence[NDArray[Any]]) -> Table:
        """Input columns of equal length."""
        if self.is_compiled:
            return cast(Table, np.array(columns, dtype=np.int64).reshape(len(columns), -1))
        return [self.take(column) for column in columns]

    def full_table(self, columns: int, length: int, value: int = 0) -> Table:
        """New columns of `length` copies of `value`, 64 bits as all integers of compiled cores."""
        if self.is_compiled:
            return cast(Table, np.full((columns, length), value, np.int64))
        return [[value] * length for _ in range(columns)]


def run(functions: Sequence[Callable[..., Any]], is_compiled: bool, *arguments: Any) -> int:
    """Calls the last of `functions` (each may call those before it); plain or compiled."""
    entry = compiled(tuple(functions)) if is_compiled else functions[-1]
    return int(entry(*arguments))


@cache
def compiled(functions: tuple[Callable[..., Any], ...]) -> Callable[..., Any]:
    """The last function, compiled together with those it calls. All stand in one file."""
    import numba

    last = functions[-1]
    assert isinstance(last, FunctionType)
    names: dict[str, Any] = dict(last.__globals__)
    for function in functions:
        assert isinstance(function, FunctionType)
        twin = FunctionType(function.__code__, names, function.__name__)
        twin.__module__, twin.__qualname__ = function.__module__, function.__qualname__
        names[function.__name__] = _jit(numba, twin)
    entry: Callable[..., Any] = names[last.__name__]
    return entry


def _jit(numba: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    # Cores allocate nothing, so numba's reference counts (`_nrt`) are switched off.
    try:
        jitted: Callable[..., Any] = numba.njit(cache=True, _nrt=False)(function)
    except RuntimeError:  # no folder at all can hold the cache
        jitted = numba.njit(_nrt=False)(function)
    return jitted
