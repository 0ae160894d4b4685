"""Sorting with any comparator, and top-k.

The comparator is lifted and drives a sorting network (Batcher, "Sorting networks and their
applications", 1968): log² n steps, each one NumPy operation. Equal elements are told apart by
their old place, which makes any network stable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.hlo.evaluate.elementwise import total_order_key
from compiler.hlo.evaluate.numbers import kind_of, widened
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import TupleShape

if TYPE_CHECKING:
    from compiler.hlo.evaluate.run import Evaluator

Array = np.ndarray


def sort(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    """Stable whether asked to or not."""
    axis = instruction.dimensions[0]
    rows = [np.moveaxis(operand, axis, 0) for operand in operands]
    order = sorted_order(machine, instruction.attributes["to_apply"], rows)
    results = tuple(np.moveaxis(np.take_along_axis(row, order, axis=0), 0, axis) for row in rows)
    return results if isinstance(instruction.shape, TupleShape) else results[0]


def sorted_order(machine: Evaluator, comparator: str, rows: list[Array]) -> Array:
    """The permutation along the first axis that sorts the rows."""
    count = rows[0].shape[0]
    order = np.broadcast_to(
        np.arange(count).reshape((count, *[1] * (rows[0].ndim - 1))), rows[0].shape
    ).copy()
    if rows[0].size == 0:
        return order
    for low, high in _network(count):
        first, second = order[low], order[high]
        keys_first = [np.take_along_axis(row, first, axis=0) for row in rows]
        keys_second = [np.take_along_axis(row, second, axis=0) for row in rows]
        swaps = _is_before(machine, comparator, keys_second, keys_first)
        tied = ~swaps & (second < first)
        if tied.any():
            tied &= ~_is_before(machine, comparator, keys_first, keys_second)
        swaps = swaps | tied
        order[low] = np.where(swaps, second, first)
        order[high] = np.where(swaps, first, second)
    return order


def _is_before(machine: Evaluator, comparator: str, one: list[Array], other: list[Array]) -> Array:
    interleaved = [array for pair in zip(one, other, strict=True) for array in pair]
    return machine.apply(comparator, interleaved)[0].astype(bool)


def _network(count: int) -> list[tuple[Array, Array]]:
    """Batcher's odd-even merge sort for any count: rounds of (lower, upper) places to compare."""
    rounds: list[tuple[Array, Array]] = []
    size = 1
    places = np.arange(count)
    while size < count:
        step = size
        while step >= 1:
            begin = step % size
            low = places[(places >= begin) & (places + step < count)]
            low = low[(low - begin) // step % 2 == 0]
            low = low[low // (2 * size) == (low + step) // (2 * size)]
            if low.size:
                rounds.append((low, low + step))
            step //= 2
        size *= 2
    return rounds


def top_k(values: Array, count: int, largest: bool = True) -> tuple[Array, Array]:
    """The greatest (least) values of the last dimension in order, and their places; NaN is
    greatest.
    """
    kind = kind_of(values)
    keys = total_order_key(values) if kind.is_float else widened(values)
    order = np.argsort(_descending(keys) if largest else keys, axis=-1, kind="stable")[..., :count]
    return np.take_along_axis(values, order, axis=-1), order.astype(np.int32)


def _descending(keys: Array) -> Array:
    """Keys whose ascending order is the given one's descending order (``~`` cannot overflow)."""
    return np.asarray(~keys)


def topk(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    largest = instruction.attributes.get("largest", True)
    return top_k(operands[0], instruction.attributes["k"], largest)


HANDLERS: dict[Opcode, Any] = {Opcode.SORT: sort, Opcode.TOPK: topk}
