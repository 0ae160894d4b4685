"""Custom calls by target name: those that JAX's CPU path emits, and those that only annotate."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.hlo.errors import HloEvaluationError, HloUnsupportedError
from compiler.hlo.evaluate import condense, ducc, linear, order, schur, special
from compiler.hlo.evaluate.checks import PREFIX, PROBE, asserted, run_check, run_probe
from compiler.hlo.evaluate.control import zeros
from compiler.hlo.evaluate.lapack import LAPACK
from compiler.hlo.evaluate.lapack_older import OLDER_LAPACK
from compiler.hlo.evaluate.transcendental import FUNCTIONS
from compiler.hlo.module import Instruction
from compiler.hlo.quoting import unquoted
from compiler.hlo.shape import ArrayShape, TupleShape

if TYPE_CHECKING:
    from compiler.hlo.evaluate.run import Evaluator

_IDENTITIES = frozenset(
    {
        "Sharding",
        "SPMDFullToShardShape",
        "SPMDShardToFullShape",
        "AllocateBuffer",
        "CreateBuffer",
        "annotate_device_placement",
        "MoveToHost",
        "MoveToDevice",
        "LayoutConstraint",
        "xla.sdy.FuncResultSharding",
        "X64Combine",
        "AssumeGatherIndicesInBound",
    }
)


_NOT_STATIC = ("stablehlo.dynamic_", "stablehlo.real_dynamic_", "shape.")
"""What reading a program leaves of operations whose extents it cannot know."""


def _assert(instruction: Instruction, operands: list[Any]) -> Any:
    """What a program asks of extents: nothing when it holds."""
    if not np.all(operands[0]):
        message = unquoted(str(instruction.attributes.get("backend_config", "")))
        numbers = [int(np.reshape(operand, -1)[0]) for operand in operands[1:]]
        raise HloEvaluationError(asserted(message, numbers) or "a shape assertion failed")
    return ()


def _top_k(instruction: Instruction, operands: list[Any]) -> Any:
    shape = instruction.shape
    leaf = shape.elements[0] if isinstance(shape, TupleShape) else shape
    if not isinstance(leaf, ArrayShape):
        raise HloUnsupportedError(f"TopK that yields {shape}")
    largest = "largest = false" not in str(instruction.attributes.get("backend_config", ""))
    return order.top_k(operands[0], leaf.dimensions[-1], largest)


def _cholesky(instruction: Instruction, operands: list[Any]) -> Any:
    return linear.cholesky_factor(operands[0].astype(np.float64), True).astype(operands[0].dtype)


def _unary(name: str) -> Callable[[Instruction, list[Any]], Any]:
    return lambda instruction, operands: FUNCTIONS[name](operands[0])


_TARGETS: dict[str, Callable[[Instruction, list[Any]], Any]] = {
    "TopK": _top_k,
    "__gpu$TopK": _top_k,
    "mhlo.topk": _top_k,
    "Cholesky": _cholesky,
    "mhlo.erf": _unary("erf"),
    "mhlo.acos": _unary("acos"),
    "mhlo.acosh": _unary("acosh"),
    "mhlo.asin": _unary("asin"),
    "mhlo.asinh": _unary("asinh"),
    "mhlo.atanh": _unary("atanh"),
    "mhlo.cosh": _unary("cosh"),
    "mhlo.sinh": _unary("sinh"),
    "mhlo.tan": _unary("tan"),
    **special.TARGETS,
    **LAPACK,
    **OLDER_LAPACK,
    **condense.TARGETS,
    **schur.TARGETS,
    **ducc.TARGETS,
}


def _approximate_top_k(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    """The first elements in the comparator's order; exact, which every recall allows."""
    shape = instruction.shape
    leaf = shape.elements[0] if isinstance(shape, TupleShape) else shape
    if not instruction.callees or not isinstance(leaf, ArrayShape):
        return _top_k(instruction, operands)
    arrays = operands[: len(operands) // 2]
    changed = [i for i, e in enumerate(leaf.dimensions) if e != arrays[0].shape[i]]
    axis = changed[0] if changed else len(leaf.dimensions) - 1
    rows = [np.moveaxis(array, axis, 0) for array in arrays]
    sequence = order.sorted_order(machine, instruction.callees[0], rows)
    taken = sequence[: leaf.dimensions[axis]]
    return tuple(np.moveaxis(np.take_along_axis(row, taken, axis=0), 0, axis) for row in rows)


def custom_call(machine: Evaluator, instruction: Instruction, operands: list[Any]) -> Any:
    target = instruction.attributes.get("custom_call_target", "")
    if target.startswith(PREFIX):
        return run_check(machine, instruction, operands)
    if target == PROBE:
        return run_probe(machine, instruction, operands)
    if target == "ApproxTopK":
        return _approximate_top_k(machine, instruction, operands)
    if target in _IDENTITIES:
        return operands[0] if operands else zeros(instruction.shape)
    if target == "shape_assertion":
        return _assert(instruction, operands)
    function = _TARGETS.get(target)
    if function is None and target.startswith(_NOT_STATIC):
        raise HloUnsupportedError(f"{target}: its extents are not known before the program runs")
    if function is None:
        raise HloUnsupportedError(f"the evaluator does not know custom call '{target}'")
    result = function(instruction, operands)
    if not isinstance(instruction.shape, TupleShape) and isinstance(result, tuple):
        return result[0]
    return result
