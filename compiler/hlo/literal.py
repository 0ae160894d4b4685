"""The value of a constant: an array, a tuple of literals, or one whose digits were left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """Exactly one of: ``array`` (read only), ``elements`` (a tuple), or ``is_elided`` (``{...}``).

    Two literals are equal when type, shape and every bit are: 0.0 differs from -0.0, a NaN equals
    itself when the payload does.
    """

    array: np.ndarray | None = None
    elements: tuple[Literal, ...] = ()
    is_elided: bool = False

    @property
    def is_tuple(self) -> bool:
        return self.array is None and not self.is_elided

    @property
    def scalar(self) -> np.generic | None:
        """The one value of an array that is the same everywhere, else None."""
        if self.array is None or self.array.size == 0:
            return None
        flat = self.array.reshape(-1)
        first: np.generic = flat[0]
        same = flat.size == 1 or self.array.tobytes() == first.tobytes() * flat.size
        return first if same else None

    def _key(self) -> tuple[object, ...]:
        if self.array is None:
            return (self.elements, self.is_elided)
        return (self.array.dtype.name, self.array.shape, self.array.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


ELIDED = Literal(is_elided=True)


def literal_of(array: np.ndarray) -> Literal:
    """A literal that owns a read-only, row-major copy of an array."""
    copy = np.array(array, order="C")
    copy.setflags(write=False)
    return Literal(copy)
