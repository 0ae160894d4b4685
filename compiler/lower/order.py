"""Whether a reduce may combine its elements in any grouping and order, and count its initial value
more than once, without anyone noticing.

HLO leaves the order of a reduce open, so this is no matter of right and wrong: a program in which
order shows (the last of equal elements wins, a start value that is added) then gives what its
elements in order give, as it does on every other machine. Whether order shows is found by trying
the reducer on samples, ties, infinities and NaN among them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.hlo.evaluate import Evaluator
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ElementType
from compiler.lower.reducer import Reducer, reducer_of
from isas.errors import HobError

_SAMPLES = 256
_FLOATS = (-np.inf, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, np.inf, np.nan)

Arrays = Sequence[np.ndarray]


def order_shows(module: Module, computation: Computation, reduce: Instruction) -> bool:
    """Whether the result of a reduce (an instruction of `computation`) may depend on how its
    elements are gathered. One plain operation never lets it show."""
    reducer = reducer_of(module, reduce)
    if reducer.plain is not None:
        return False
    name = reduce.attributes["to_apply"]
    generator = np.random.default_rng(0)
    one, other = (_samples(generator, reducer) for _ in range(2))
    starts = _starts(computation, reduce, _samples(generator, reducer))
    machine = Evaluator(module)
    try:
        with np.errstate(all="ignore"):
            forth, back = machine.apply(name, [*one, *other]), machine.apply(name, [*other, *one])
            once = machine.apply(name, [*starts, *one])
            twice = machine.apply(name, [*starts, *once])
    except HobError:
        return True
    return not (_agree(forth, back) and _agree(once, twice))


def _samples(generator: np.random.Generator, reducer: Reducer) -> list[np.ndarray]:
    return [_draw(generator, kind) for kind in reducer.kinds]


def _draw(generator: np.random.Generator, kind: ElementType) -> np.ndarray:
    if kind is ElementType.PRED:
        return generator.integers(0, 2, _SAMPLES).astype(np.bool_)
    if kind.is_float:
        return generator.choice(np.array(_FLOATS), _SAMPLES).astype(kind.dtype)
    low = -2 if kind.is_signed else 0
    return generator.integers(low, 2 if kind.bits <= 2 else 4, _SAMPLES).astype(kind.dtype)


def _starts(computation: Computation, reduce: Instruction, drawn: Arrays) -> list[np.ndarray]:
    """The initial values where they are constants, any others as drawn."""
    found = []
    for name, array in zip(reduce.operands[len(reduce.operands) // 2 :], drawn, strict=True):
        start = computation.instruction(name)
        literal = start.literal if start.opcode is Opcode.CONSTANT else None
        scalar = literal.scalar if literal is not None else None
        found.append(array if scalar is None else np.full(_SAMPLES, scalar, array.dtype))
    return found


def _agree(one: Arrays, other: Arrays) -> bool:
    return all(
        bool(((a == b) | ((a != a) & (b != b))).all()) for a, b in zip(one, other, strict=True)
    )
