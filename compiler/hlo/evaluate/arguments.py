"""Binds the caller's arrays to the entry's parameters, and flattens results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from compiler.hlo.errors import HloEvaluationError
from compiler.hlo.evaluate.numbers import is_small_integer
from compiler.hlo.module import Module
from compiler.hlo.shape import ArrayShape, Shape, TupleShape, leaves

_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def bind_arguments(module: Module, arrays: Sequence[Any]) -> list[Any]:
    """One value per parameter of the entry. Raises HloEvaluationError when they do not fit."""
    shapes = [p.shape for p in module.entry_computation.parameters]
    wanted = [leaf for shape in shapes for leaf in leaves(shape) if isinstance(leaf, ArrayShape)]
    if len(arrays) != len(wanted):
        listed = ", ".join(map(str, wanted)) or "none"
        message = f"{module.name} takes {len(wanted)} arrays ({listed}), {len(arrays)} are given"
        raise HloEvaluationError(message)
    pairs = enumerate(zip(arrays, wanted, strict=True))
    bound = iter([_bind(array, shape, f"argument {i}") for i, (array, shape) in pairs])
    return [_assemble(shape, bound) for shape in shapes]


def _assemble(shape: Shape, arrays: Iterator[np.ndarray]) -> Any:
    if isinstance(shape, TupleShape):
        return tuple(_assemble(element, arrays) for element in shape.elements)
    return next(arrays) if isinstance(shape, ArrayShape) else None


def _bind(array: Any, shape: ArrayShape, what: str) -> np.ndarray:
    if not shape.is_static:
        raise HloEvaluationError(f"{what} is {shape}, whose dimensions are not static")
    dtype = shape.element_type.dtype
    if isinstance(array, (bool, int, float, complex, list, tuple)):
        array = _from_numbers(array, dtype, shape, what)
    array = np.asarray(array)
    if array.dtype != dtype:
        array = _from_bits(array, shape, what)
    if array.shape != shape.dimensions:
        message = f"{what} has dimensions {list(array.shape)}, {shape} is expected"
        raise HloEvaluationError(message)
    return array


def _from_numbers(numbers: Any, dtype: np.dtype, shape: ArrayShape, what: str) -> np.ndarray:
    try:
        return np.asarray(np.array(numbers), dtype=dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise HloEvaluationError(f"{what} cannot become {shape}: {error}") from None


def _from_bits(array: np.ndarray, shape: ArrayShape, what: str) -> np.ndarray:
    """An array of bit patterns as the type they stand for."""
    kind = shape.element_type
    is_foreign = kind.dtype.type.__module__ != "numpy"
    if is_foreign and array.dtype == _UNSIGNED.get(kind.dtype.itemsize):
        if is_small_integer(kind):
            return array.astype(kind.dtype)
        return array.view(kind.dtype)
    raise HloEvaluationError(f"{what} has type {array.dtype}, {shape} is expected")


def flatten(value: Any) -> list[np.ndarray]:
    """The arrays of a value in tuple order; tokens are left out."""
    if isinstance(value, tuple):
        return [array for element in value for array in flatten(element)]
    return [] if value is None else [value]
