"""The three kinds of batch normalisation, computed in float64 and rounded once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.hlo.evaluate.numbers import exact, kind_of, narrowed
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode

if TYPE_CHECKING:
    from compiler.hlo.evaluate.run import Evaluator

Array = np.ndarray


def _geometry(instruction: Instruction, array: Array) -> tuple[tuple[int, ...], list[int], float]:
    """The axes a feature is summed over, the shape that spreads a per-feature vector, and
    epsilon.
    """
    feature = instruction.attributes["feature_index"]
    axes = tuple(i for i in range(array.ndim) if i != feature)
    spread = [array.shape[i] if i == feature else 1 for i in range(array.ndim)]
    return axes, spread, float(instruction.attributes.get("epsilon", 0.0))


def training(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    """The normalised array, the batch mean and the (biased) batch variance."""
    array, scale, offset = map(exact, operands)
    axes, spread, epsilon = _geometry(instruction, array)
    mean = array.mean(axis=axes)
    centered = array - mean.reshape(spread)
    variance = (centered * centered).mean(axis=axes)
    normal = centered / np.sqrt(variance + epsilon).reshape(spread)
    result = normal * scale.reshape(spread) + offset.reshape(spread)
    kinds = [kind_of(operands[0]), kind_of(operands[1]), kind_of(operands[1])]
    results = (result, mean, variance)
    return tuple(narrowed(r, kind) for r, kind in zip(results, kinds, strict=True))


def inference(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Array:
    array, scale, offset, mean, variance = map(exact, operands)
    _, spread, epsilon = _geometry(instruction, array)
    factor = scale / np.sqrt(variance + epsilon)
    result = (array - mean.reshape(spread)) * factor.reshape(spread) + offset.reshape(spread)
    return narrowed(result, kind_of(operands[0]))


def gradient(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    """The gradients of the operand, the scale and the offset."""
    array, scale, mean, variance, output = map(exact, operands)
    axes, spread, epsilon = _geometry(instruction, array)
    count = array.size // max(array.shape[instruction.attributes["feature_index"]], 1)
    inverse = 1.0 / np.sqrt(variance + epsilon)
    normal = (array - mean.reshape(spread)) * inverse.reshape(spread)
    scale_gradient = (output * normal).sum(axis=axes)
    offset_gradient = output.sum(axis=axes)
    inner = (
        count * output - offset_gradient.reshape(spread) - normal * scale_gradient.reshape(spread)
    )
    operand_gradient = (scale * inverse).reshape(spread) / count * inner
    kinds = [kind_of(operands[0]), kind_of(operands[1]), kind_of(operands[1])]
    results = (operand_gradient, scale_gradient, offset_gradient)
    return tuple(narrowed(np.asarray(r), kind) for r, kind in zip(results, kinds, strict=True))


HANDLERS: dict[Opcode, Any] = {
    Opcode.BATCH_NORM_TRAINING: training,
    Opcode.BATCH_NORM_INFERENCE: inference,
    Opcode.BATCH_NORM_GRAD: gradient,
}
