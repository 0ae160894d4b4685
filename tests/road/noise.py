"""Noise as `lab.noise` makes it, and what the machines' periodic functions do not promise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.hlo.evaluate.run import Step
from compiler.hlo.module import Module
from compiler.hlo.opcodes import Opcode
from lab import noise

_PERIODIC = frozenset({Opcode.SIN, Opcode.COS, Opcode.TAN})
FURTHEST = 2.0**20
"""From here on the periodic functions' generated code promises nothing."""


class _Noisy(noise.NoisyEvaluator):
    def step(self, step: Step, operands: list[Any]) -> Any:
        value = super().step(step, operands)
        if step.instruction.opcode in _PERIODIC:
            return np.where(np.abs(operands[0]) > FURTHEST, np.float32(np.nan), value)
        return value


def spreads(
    module: Module, inputs: Sequence[np.ndarray], exact: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """As `lab.noise.spreads`; infinite too where such a function went too far."""
    return noise.spreads(module, inputs, exact, evaluator=_Noisy)
