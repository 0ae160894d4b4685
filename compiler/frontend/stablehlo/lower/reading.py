"""Reads the attributes of operations, whichever of their historical forms they are in."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import numpy as np

from compiler.frontend.stablehlo.operations import Operation
from compiler.frontend.stablehlo.values import (
    Choice,
    Dense,
    ForeignAttribute,
    Record,
    Symbol,
    Typed,
)

_MESH_AXIS = re.compile(r'mesh_axis<\s*name\s*=\s*"([^"]*)"\s*,\s*size\s*=\s*(\d{1,6})\s*>')
_AXIS_REFERENCE = re.compile(
    r'axis_ref<\s*name\s*=\s*"([^"]*)"'
    r"(?:\s*,\s*sub_axis_info\s*=\s*\(\s*(\d{1,6})\s*\)\s*(\d{1,6}))?\s*>"
)


MAX_DEVICES = 1 << 16
"""The largest mesh whose groups are listed."""


class Fault(ValueError):
    """The operation breaks a rule of StableHLO; the message is the rule."""


class Refusal(ValueError):
    """The operation is valid, but HLO or Hob cannot say it; the message names what."""


def has(operation: Operation, key: str) -> bool:
    return key in operation.attributes


def _required(operation: Operation, key: str) -> Any:
    value = operation.attributes.get(key)
    if value is None:
        raise Fault(f"{operation.name} needs attribute {key}")
    return value


def integer(operation: Operation, key: str, default: int | None = None) -> int:
    """A number; required when it has no default."""
    if key not in operation.attributes and default is not None:
        return default
    value = _required(operation, key)
    if isinstance(value, Record):
        value = value.fields.get("handle")
    if isinstance(value, Dense) and value.array.size == 1:
        value = value.array.reshape(-1)[0].item()
    if isinstance(value, Typed):
        value = value.value
    if isinstance(value, bool) or not isinstance(value, int):
        raise Fault(f"{operation.name}: attribute {key} must be an integer")
    return value


def number(operation: Operation, key: str, default: float | None = None) -> float:
    """A number with or without a fraction."""
    if key not in operation.attributes and default is not None:
        return default
    value = _required(operation, key)
    value = value.value if isinstance(value, Typed) else value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Fault(f"{operation.name}: attribute {key} must be a number")
    return float(value)


def ints(operation: Operation, key: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """A list of integers: ``array<i64: ...>``, ``dense<...>`` or a plain list."""
    if key not in operation.attributes and default is not None:
        return default
    value = _required(operation, key)
    if isinstance(value, Dense):
        if value.array.dtype.kind not in "iub":
            raise Fault(f"{operation.name}: attribute {key} must hold integers")
        return tuple(int(v) for v in value.array.reshape(-1))
    found = tuple(v.value if isinstance(v, Typed) else v for v in _listed(value))
    if not all(isinstance(v, int) for v in found):
        raise Fault(f"{operation.name}: attribute {key} must be a list of integers")
    return tuple(int(v) for v in found)


def pairs(operation: Operation, key: str, count: int) -> tuple[tuple[int, int], ...]:
    """A list of pairs, one per dimension; all zero when absent."""
    value = operation.attributes.get(key)
    if value is None:
        return ((0, 0),) * count
    array = value.array if isinstance(value, Dense) else _matrix(operation, key, value)
    if array.size != 2 * count:
        raise Fault(f"{operation.name}: attribute {key} must hold {count} pairs")
    return tuple((int(a), int(b)) for a, b in array.reshape(count, 2))


def _matrix(operation: Operation, key: str, value: Any) -> np.ndarray:
    try:
        return np.array(value, dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        raise Fault(f"{operation.name}: attribute {key} must be a list of pairs") from None


def groups(operation: Operation, key: str) -> tuple[tuple[int, ...], ...]:
    """A matrix of numbers as rows; the -1 that fills short rows is left out, and empty rows are."""
    value = operation.attributes.get(key)
    if value is None:
        return ()
    if isinstance(value, ForeignAttribute):
        return _mesh_groups(value.text)
    if not isinstance(value, Dense):
        raise Refusal(f"{operation.name} with {key} in this notation")
    matrix = value.array if value.array.ndim == 2 else value.array.reshape(1, -1)
    rows = (tuple(int(v) for v in row if v >= 0) for row in matrix)
    return tuple(row for row in rows if row)


def _mesh_groups(text: str) -> tuple[tuple[int, ...], ...]:
    """``#stablehlo.replica_group_mesh_axes<mesh = ..., axes = [...]>``: the devices of a mesh, in
    groups that differ along these axes only. ``sub_axis_info = (m)k`` names the part of an axis
    that is behind m positions and k long.
    """
    extents = {name: int(size) for name, size in _MESH_AXIS.findall(text)}
    parts: list[tuple[str, int, int]] = []
    for name, before, size in _AXIS_REFERENCE.findall(text):
        if name not in extents:
            raise Fault(f"the mesh has no axis '{name}'")
        parts.append((name, int(before or 1), int(size or extents[name])))
    count = math.prod(extents.values())
    if not extents or not parts or count > MAX_DEVICES:
        raise Refusal(f"a mesh in this notation, or of more than {MAX_DEVICES} devices,")
    split: list[tuple[str, int, int]] = []
    for name, extent in extents.items():
        split.extend(_pieces(name, extent, [part for part in parts if part[0] == name]))
    devices = np.arange(count).reshape([size for _, _, size in split])
    inside = [split.index(part) for part in parts]
    outside = [i for i in range(len(split)) if i not in inside]
    grouped = devices.transpose(*outside, *inside)
    rows = grouped.reshape(-1, math.prod(size for _, _, size in parts))
    return tuple(tuple(int(v) for v in row) for row in rows)


def _pieces(
    name: str, extent: int, parts: list[tuple[str, int, int]]
) -> list[tuple[str, int, int]]:
    """An axis cut at the beginnings and ends of its named parts, each as (name, before, size)."""
    cuts = sorted({1, extent, *(edge for _, m, k in parts for edge in (m, m * k))})
    if any(later % earlier for earlier, later in itertools.pairwise(cuts)):
        raise Fault(f"the parts of axis '{name}' do not divide its {extent} positions")
    pieces = [(name, m, end // m) for m, end in itertools.pairwise(cuts)]
    return pieces or [(name, 1, extent)]


def _listed(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def flag(operation: Operation, key: str, default: bool = False) -> bool:
    value = operation.attributes.get(key, default)
    return bool(value.array.all()) if isinstance(value, Dense) else bool(value)


def flags(operation: Operation, key: str, count: int) -> tuple[bool, ...]:
    """One truth value per dimension, false when absent."""
    value = operation.attributes.get(key)
    if value is None:
        return (False,) * count
    found = value.array.reshape(-1).tolist() if isinstance(value, Dense) else _listed(value)
    if len(found) != count:
        raise Fault(f"{operation.name}: attribute {key} must hold {count} truth values")
    return tuple(bool(v) for v in found)


def word(operation: Operation, key: str, default: str | None = None) -> str:
    """One of an enumeration's words."""
    if key not in operation.attributes and default is not None:
        return default
    value = _required(operation, key)
    if isinstance(value, Choice):
        return value.word
    if isinstance(value, str):
        return value
    raise Fault(f"{operation.name}: attribute {key} must be a word such as DEFAULT")


def text(operation: Operation, key: str, default: str | None = None) -> str:
    if key not in operation.attributes and default is not None:
        return default
    value = _required(operation, key)
    if isinstance(value, Symbol):
        return value.name
    if not isinstance(value, str):
        raise Fault(f"{operation.name}: attribute {key} must be a string")
    return value


def record(operation: Operation, key: str) -> Record:
    value = _required(operation, key)
    if not isinstance(value, Record):
        shown = str(value)[:40] if isinstance(value, ForeignAttribute) else key
        raise Fault(f"{operation.name}: attribute {key} is not understood ({shown})")
    return value


def symbols(operation: Operation, key: str) -> tuple[str, ...]:
    """Names of functions."""
    value = operation.attributes.get(key, ())
    return tuple(v.name for v in _listed(value) if isinstance(v, Symbol))


def precision(operation: Operation) -> tuple[str, ...]:
    """``precision_config`` as HLO's words, empty when all are the default."""
    found = operation.attributes.get("precision_config", ())
    words = tuple(v.word if isinstance(v, Choice) else str(v) for v in _listed(found))
    return tuple(w.lower() for w in words) if any(w != "DEFAULT" for w in words) else ()
