"""The attribute values of StableHLO text: numbers, lists, dense arrays, dialect attributes.

Plain values become Python's own (int, float, bool, str, tuple, dict); everything with a meaning of
its own has a small class here. What is read over without being understood is `ForeignAttribute`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from compiler.frontend.stablehlo.types import MlirType

Value: TypeAlias = Any
"""An attribute's value, as `AttributeParser.parse` describes."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """``@name``."""

    name: str


def names_in(value: Value) -> tuple[str, ...]:
    """The names in an attribute's value, at any depth of lists."""
    if isinstance(value, Symbol):
        return (value.name,)
    inner = value if isinstance(value, tuple) else ()
    return tuple(name for each in inner for name in names_in(each))


@dataclass(frozen=True, slots=True)
class Choice:
    """``#stablehlo<precision HIGHEST>``: one of an enumeration's words."""

    kind: str
    word: str


@dataclass(frozen=True, slots=True)
class Record:
    """``#stablehlo.gather<offset_dims = [1], ...>``: integers, words and tuples of them by name."""

    kind: str
    fields: dict[str, Any]

    def ints(self, key: str) -> tuple[int, ...]:
        """A list of integers, empty when absent. Raises ValueError for anything else."""
        found = self.fields.get(key, ())
        listed = found if isinstance(found, tuple) else (found,)
        if not all(isinstance(number, int) for number in listed):
            raise ValueError(f"{key} holds more than integers")
        return listed


@dataclass(frozen=True, slots=True)
class Labels:
    """``[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]``: the dimensions of a convolution's three
    arrays.
    """

    input: tuple[str, ...]
    kernel: tuple[str, ...]
    output: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dense:
    """``dense<...> : type`` of element values; a splat is spread over the whole shape."""

    array: np.ndarray
    kind: MlirType


@dataclass(frozen=True, slots=True)
class Resource:
    """``dense_resource<key>`` whose data the text does not hold."""

    key: str
    kind: MlirType


@dataclass(frozen=True, slots=True)
class Typed:
    """A number with its type: ``1.0 : f32``."""

    value: int | float
    kind: MlirType


class Dictionary(dict[str, Any]):
    """A dictionary attribute, with its own spelling."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class ForeignAttribute:
    """An attribute that is read over. ``text`` is its spelling."""

    text: str

    def __str__(self) -> str:
        return self.text
