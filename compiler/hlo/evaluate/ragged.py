"""ragged-dot: a dot whose rows (or summands) fall into groups of given sizes.

Each group is computed as a whole dot with the elements of other groups set to zero; the group then
selects its own right-hand matrix (ragged free dimension) or its own result (ragged contracting
dimension).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.hlo.attributes import DotDimensions
from compiler.hlo.errors import HloUnsupportedError
from compiler.hlo.evaluate.contract import carried, contracted, finished
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode

if TYPE_CHECKING:
    from compiler.hlo.evaluate.run import Evaluator

Array = np.ndarray


def ragged_dot(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    kind = instruction.array.element_type
    lhs, rhs = (carried(operand, kind) for operand in operands[:2])
    dims = instruction.dot
    ragged = instruction.attributes.get("lhs_ragged_dims", ())
    groups = instruction.attributes.get("rhs_group_dims", ())
    if len(ragged) != 1 or len(groups) > 1:
        raise HloUnsupportedError("ragged-dot with other than one ragged dimension")
    if ragged[0] in dims.lhs_batch:
        return finished(contracted(lhs, rhs, dims), kind)
    sizes = np.asarray(operands[2], np.int64)
    masks = _group_masks(lhs, sizes, dims, ragged[0])
    if ragged[0] in dims.lhs_contracting:
        parts = [contracted(np.where(mask, lhs, 0), rhs, dims) for mask in masks]
        return finished(np.stack(parts), kind)
    without = _without_group(dims, groups[0])
    total = np.zeros(instruction.array.dimensions, np.result_type(lhs, rhs))
    for group, mask in enumerate(masks):
        matrix = np.take(rhs, group, axis=groups[0])
        total = total + contracted(np.where(mask, lhs, 0), matrix, without)
    return finished(total, kind)


def _group_masks(lhs: Array, sizes: Array, dims: DotDimensions, ragged: int) -> list[Array]:
    """For every group, which elements of the left operand belong to it.

    ``sizes`` may differ along the batch dimensions and the dimensions of the ragged one's kind
    before it.
    """
    is_contracting = ragged in dims.lhs_contracting
    kind = dims.lhs_contracting if is_contracting else dims.lhs_free(lhs.ndim)
    outer = dims.lhs_batch + kind[: kind.index(ragged)] if sizes.ndim > 1 else ()
    ends = np.cumsum(sizes, axis=-1)
    spread = [1] * lhs.ndim
    spread[ragged] = lhs.shape[ragged]
    places = np.arange(lhs.shape[ragged]).reshape(spread)
    masks = []
    for group in range(sizes.shape[-1]):
        limits = [_placed(limit[..., group], outer, lhs) for limit in (ends - sizes, ends)]
        masks.append((places >= limits[0]) & (places < limits[1]))
    return masks


def _placed(values: Array, outer: tuple[int, ...], lhs: Array) -> Array:
    """Values per outer index, with one axis for every axis of the left operand."""
    order = np.argsort(outer) if outer else ()
    spread = [lhs.shape[i] if i in outer else 1 for i in range(lhs.ndim)]
    return values.transpose(tuple(int(i) for i in order)).reshape(spread)


def _without_group(dims: DotDimensions, group: int) -> DotDimensions:
    """The dimension numbers after the right operand lost its group dimension."""

    def shifted(numbers: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(number - (number > group) for number in numbers)

    return DotDimensions(
        dims.lhs_contracting, shifted(dims.rhs_contracting), dims.lhs_batch, shifted(dims.rhs_batch)
    )


HANDLERS: dict[Opcode, Any] = {Opcode.RAGGED_DOT: ragged_dot}
