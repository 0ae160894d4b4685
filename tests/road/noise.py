"""How far apart two right results of one program may be.

A program is evaluated several times with the rounding errors that code generation is allowed:
products that become part of an fma, sums in another order, transcendentals a few units off. Where
the results spread, as after a subtraction of almost equal numbers, a machine's may differ as much.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.hlo.evaluate import Evaluator
from compiler.hlo.evaluate.arguments import bind_arguments, flatten
from compiler.hlo.evaluate.run import Step
from compiler.hlo.module import Module
from compiler.hlo.opcodes import Opcode

UNIT = 2.0**-23
GATHERED = 4
"""Units of the sum of sizes that a sum in another order may be off."""
_ROUNDED = frozenset({Opcode.MULTIPLY, Opcode.DIVIDE})
_PERIODIC = frozenset({Opcode.SIN, Opcode.COS, Opcode.TAN})
FURTHEST = 2.0**20
"""From here on the periodic functions' generated code promises nothing."""
_GATHERED = frozenset({Opcode.REDUCE, Opcode.DOT})


class _Noisy(Evaluator):
    """An evaluator whose inexact f32 results are a little off."""

    def __init__(self, module: Module, seed: int) -> None:
        super().__init__(module, None)
        self.random = np.random.default_rng(seed)

    def _step(self, step: Step, operands: list[Any]) -> Any:
        value = super()._step(step, operands)
        opcode = step.instruction.opcode
        if opcode in _ROUNDED:
            return self._off(value, np.abs(value), 1)
        if opcode in _PERIODIC:
            value = np.where(np.abs(operands[0]) > FURTHEST, np.float32(np.nan), value)
        if opcode.is_transcendental:
            return self._off(value, np.abs(value), 8)
        if opcode in _GATHERED:
            return self._gathered(step, operands, value)
        return value

    def _off(self, value: Any, size: Any, units: float) -> Any:
        if not isinstance(value, np.ndarray) or value.dtype != np.float32:
            return value
        noise = self.random.uniform(-units, units, value.shape) * UNIT
        noisy = (value + size.astype(np.float64) * noise).astype(np.float32)
        # A sum of sizes that overflows may do so or not, depending on the order.
        return np.where(np.isinf(size) & (units == GATHERED), np.float32(np.nan), noisy)

    def _gathered(self, step: Step, operands: list[Any], value: Any) -> Any:
        sizes = [np.abs(o) if o.dtype == np.float32 else o for o in operands]
        if self._multiplies(step) and self._depends_on_order(step, sizes):
            return np.full_like(value, np.nan)
        most = super()._step(step, sizes)
        if isinstance(value, tuple):
            return tuple(self._off(v, np.abs(m), GATHERED) for v, m in zip(value, most))
        return self._off(value, np.abs(most) if value.dtype == np.float32 else most, GATHERED)

    def _multiplies(self, step: Step) -> bool:
        called = self.module.callees(step.instruction)
        return any(i.opcode is Opcode.MULTIPLY for c in called for i in c.instructions)

    def _depends_on_order(self, step: Step, sizes: list[Any]) -> bool:
        """Whether some partial product leaves the range of numbers."""
        if sizes[0].dtype != np.float32:
            return False
        large = super()._step(step, [np.maximum(s, 1) for s in sizes])
        small = super()._step(step, [np.minimum(s, 1) for s in sizes])
        return not bool(np.isfinite(large).all() and (small > UNIT**5).all())


def spreads(
    module: Module, inputs: tuple[np.ndarray, ...], exact: list[np.ndarray], runs: int = 5
) -> list[np.ndarray]:
    """Per output, the largest difference that noise makes (inf where it changes what is
    finite)."""
    found = [np.zeros(a.shape) for a in exact]
    with np.errstate(all="ignore"):
        for seed in range(runs):
            machine = _Noisy(module, seed)
            results = flatten(machine.run(module.entry, bind_arguments(module, inputs)))
            for number, (one, other) in enumerate(zip(results, exact)):
                found[number] = np.maximum(found[number], _difference(one, other))
    return found


def _difference(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    a, b = one.astype(np.float64), other.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    apart = np.abs(a - b)
    return np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))
