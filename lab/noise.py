"""How far apart two right results of one program may be.

A program is evaluated several times with the rounding errors that code generation is allowed:
products that become part of an fma, sums in another order, transcendentals a few units off. Where
the results spread, as after a subtraction of almost equal numbers, a machine's may differ as much.
Monte Carlo arithmetic: Parker, "Monte Carlo Arithmetic", UCLA CSD-970002, 1997.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from compiler.hlo.evaluate import Evaluator
from compiler.hlo.evaluate.arguments import bind_arguments, flatten
from compiler.hlo.evaluate.run import Step
from compiler.hlo.module import Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import element_type_of

Array = NDArray[Any]
GATHERED = 4
"""Units of the sum of sizes that a sum in another order may be off at least; a long one may be off
by the square root of its length (Higham and Mary, "A New Approach to Probabilistic Rounding Error
Analysis", SIAM J. Sci. Comput. 41(5), 2019)."""
_SMALLEST_FACTOR = 2.0**-115
_ROUNDED = frozenset({Opcode.MULTIPLY, Opcode.DIVIDE})
_GATHERED = frozenset(
    {Opcode.REDUCE, Opcode.DOT, Opcode.CONVOLUTION, Opcode.REDUCE_WINDOW, Opcode.SCATTER}
)


class NoisyEvaluator(Evaluator):
    """An evaluator whose inexact results are a little off, in units of the last place."""

    def __init__(self, module: Module, seed: int) -> None:
        super().__init__(module, None)
        self.random = np.random.default_rng(seed)

    def step(self, step: Step, operands: list[Any]) -> Any:
        """The instruction's value, with noise where it is rounded."""
        value = super().step(step, operands)
        opcode = step.instruction.opcode
        if opcode in _ROUNDED:
            return self._off(value, value, 1)
        if opcode.is_transcendental:
            return self._off(value, value, 8)
        if opcode in _GATHERED:
            return self._gathered(step, operands, value)
        return value

    def _off(self, value: Any, size: Any, units: float, is_sum: bool = False) -> Any:
        unit = _unit(value)
        if not unit:
            return value
        noise = self.random.uniform(-units, units, value.shape) * unit
        wide = np.result_type(value.dtype, np.float64) if value.dtype.kind in "fc" else np.float64
        size = np.abs(size.astype(wide))
        noisy = (value.astype(wide) + size * noise).astype(value.dtype)
        if is_sum:  # one whose sizes overflow may do so or not, depending on the order
            return np.where(np.isinf(size), value.dtype.type(np.nan), noisy)
        return noisy

    def _gathered(self, step: Step, operands: list[Any], value: Any) -> Any:
        sizes = [np.abs(o).astype(o.dtype) if _unit(o) else o for o in operands]
        if self._multiplies(step) and self._depends_on_order(step, sizes):
            return np.full_like(value, np.nan)
        most = super().step(step, sizes)
        units = max(GATHERED, _terms(step, operands, value) ** 0.5)
        if isinstance(value, tuple):
            return tuple(self._off(v, m, units, is_sum=True) for v, m in zip(value, most))
        return self._off(value, most, units, is_sum=True)

    def _multiplies(self, step: Step) -> bool:
        called = self.module.callees(step.instruction)
        return any(i.opcode is Opcode.MULTIPLY for c in called for i in c.instructions)

    def _depends_on_order(self, step: Step, sizes: list[Any]) -> bool:
        """Whether some partial product leaves the range of numbers."""
        if not _unit(sizes[0]):
            return False
        large = flatten(super().step(step, [np.maximum(s, 1) for s in sizes]))
        small = flatten(super().step(step, [np.minimum(s, 1) for s in sizes]))
        is_finite = all(np.isfinite(array).all() for array in large)
        return not (is_finite and all((array > _SMALLEST_FACTOR).all() for array in small))


def _terms(step: Step, operands: list[Any], value: Any) -> int:
    """How many terms one result sums up, at most."""
    instruction, first = step.instruction, operands[0]
    if instruction.opcode is Opcode.DOT:
        return prod(first.shape[d] for d in instruction.dot.lhs_contracting)
    if instruction.opcode is Opcode.CONVOLUTION:
        return int(operands[1].size)
    if instruction.opcode is Opcode.SCATTER:
        return int(operands[-1].size)
    results = value[0] if isinstance(value, tuple) else value
    is_whole = instruction.opcode is Opcode.REDUCE_WINDOW
    return int(first.size if is_whole else first.size // max(1, results.size))


def _unit(value: Any) -> float:
    """The distance from 1 to the next number of the array's type; 0 where numbers are exact."""
    kind = element_type_of(value.dtype) if isinstance(value, np.ndarray) else None
    if kind is None or not (kind.is_float or kind.is_complex):
        return 0.0
    return float(ml_dtypes.finfo(kind.real.dtype).eps)


def spreads(
    module: Module,
    inputs: Sequence[Array],
    exact: Sequence[Array],
    runs: int = 5,
    evaluator: type[NoisyEvaluator] = NoisyEvaluator,
) -> list[Array]:
    """Per output the largest difference from `exact` that noise makes, elementwise; infinite where
    it changes what is finite. Seeds are fixed."""
    found = [np.zeros(a.shape) for a in exact]
    with np.errstate(all="ignore"):
        for seed in range(runs):
            machine = evaluator(module, seed)
            results = flatten(machine.run(module.entry, bind_arguments(module, inputs)))
            for number, (one, other) in enumerate(zip(results, exact)):
                found[number] = np.maximum(found[number], _difference(one, other))
    return found


def _difference(one: Array, other: Array) -> Array:
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    a, b = one.astype(wide), other.astype(wide)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    apart = np.abs(a - b)
    return np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))
