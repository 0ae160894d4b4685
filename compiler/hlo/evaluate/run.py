"""Runs a module: arguments in, results out, one NumPy operation per instruction.

A computation becomes a plan once: each instruction with its handler and with the values that die
after it. A scalar computation can also be *lifted*: run on whole arrays at once, one element per
call of the computation, which is how reducers, comparators and mapped functions become NumPy
operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from compiler.hlo.errors import HloEvaluationError, HloUnsupportedError
from compiler.hlo.evaluate.arguments import bind_arguments, flatten
from compiler.hlo.evaluate.checks import CheckResult
from compiler.hlo.evaluate.moves import bitcast_from
from compiler.hlo.evaluate.table import HANDLERS, LIFTED, Handler
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ArrayShape, TupleShape

Value: TypeAlias = Any
"""An array, a tuple of values, or None for a token."""

LIMIT_BYTES = 1 << 33
"""The largest value that is evaluated."""

Observer: TypeAlias = Callable[[Computation, Instruction, Value], None]


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction with its handler and the values nobody needs after it."""

    instruction: Instruction
    handler: Handler
    dead: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """One run: the results in tuple order, and the program's checks in the order they ran."""

    outputs: list[np.ndarray]
    checks: tuple[CheckResult, ...]


class Evaluator:
    """Evaluates the computations of one module. Holds the plans and the random state of one run."""

    def __init__(self, module: Module, observe: Observer | None = None) -> None:
        self.module = module
        self.observe = observe
        self.random_state = 0
        self.checks: list[CheckResult] = []
        self.probes: dict[str, list[Value]] = {}
        self._plans: dict[str, tuple[Step, ...]] = {}
        self._lifted: dict[str, tuple[Step, ...] | None] = {}

    def run(self, name: str, arguments: Sequence[Value]) -> Value:
        """The value of a computation for these arguments."""
        computation = self.module.computation(name)
        plan = self._plans.get(name)
        if plan is None:
            self._check_sizes(computation)
            plan = self._plans[name] = _plan(computation, HANDLERS)
        return self._execute(computation, plan, arguments, self.observe)

    def _check_sizes(self, computation: Computation) -> None:
        """Refuses values that no machine would hold, before anything is allocated."""
        for instruction in computation.instructions:
            size = instruction.shape.size_bytes
            if size > LIMIT_BYTES:
                message = f"{instruction.shape} takes {size / 2**30:.0f} GiB, the evaluator's limit"
                limit = f"is {LIMIT_BYTES >> 30} GiB a value"
                raise HloEvaluationError(f"{message} {limit}", self.place(instruction))

    def apply(self, name: str, arguments: Sequence[Value]) -> tuple[np.ndarray, ...]:
        """A scalar computation applied elementwise to arrays of one shape; its results
        flattened.
        """
        computation = self.module.computation(name)
        if name not in self._lifted:
            liftable = self._is_liftable(computation)
            self._lifted[name] = _plan(computation, LIFTED) if liftable else None
        plan = self._lifted[name]
        shape = np.broadcast_shapes(*(np.shape(a) for a in arguments))
        if plan is None:
            return self._apply_one_by_one(name, arguments, shape)
        value = self._execute(computation, plan, arguments, None)
        return tuple(_spread(array, shape) for array in flatten(value))

    def _apply_one_by_one(
        self, name: str, arguments: Sequence[Value], shape: tuple[int, ...]
    ) -> tuple[np.ndarray, ...]:
        columns = [np.broadcast_to(a, shape) for a in arguments]
        rows = [
            flatten(self.run(name, [np.asarray(column[index]) for column in columns]))
            for index in np.ndindex(*shape)
        ]
        if not rows:
            results = flatten_shapes(self.module.computation(name))
            return tuple(np.zeros(shape, r.element_type.dtype) for r in results)
        return tuple(
            np.array([np.asarray(row[i]) for row in rows], rows[0][i].dtype).reshape(shape)
            for i in range(len(rows[0]))
        )

    def _is_liftable(self, computation: Computation) -> bool:
        return all(self._is_liftable_instruction(i) for i in computation.instructions)

    def _is_liftable_instruction(self, instruction: Instruction) -> bool:
        if instruction.opcode not in LIFTED:
            return False
        shape = instruction.shape
        leaves = shape.elements if isinstance(shape, TupleShape) else (shape,)
        if not all(isinstance(leaf, ArrayShape) and leaf.is_scalar for leaf in leaves):
            return False
        return all(self._is_liftable(c) for c in self.module.callees(instruction))

    def _execute(
        self,
        computation: Computation,
        plan: tuple[Step, ...],
        arguments: Sequence[Value],
        observe: Observer | None,
    ) -> Value:
        values: dict[str, Value] = {}
        for step in plan:
            instruction = step.instruction
            if instruction.opcode is Opcode.PARAMETER:
                value = _argument(computation, instruction, arguments)
            else:
                operands = [values[name] for name in instruction.operands]
                value = self.step(step, operands)
            values[instruction.name] = value
            if observe is not None:
                observe(computation, instruction, value)
            for name in step.dead:
                del values[name]
        return values[computation.root]

    def step(self, step: Step, operands: list[Value]) -> Value:
        """The value of one instruction, with its place in whatever goes wrong."""
        try:
            return step.handler(self, step.instruction, operands)
        except (ValueError, TypeError, IndexError, OverflowError, np.linalg.LinAlgError) as error:
            raise HloEvaluationError(
                f"cannot be computed: {error}", self.place(step.instruction)
            ) from None
        except KeyError as error:
            message = f"attribute {error.args[0]} is missing"
            raise HloEvaluationError(message, self.place(step.instruction)) from None
        except (HloEvaluationError, HloUnsupportedError) as error:
            if error.where is None:
                error.where = self.place(step.instruction)
            raise
        except MemoryError:
            message = f"{step.instruction.shape} does not fit in memory"
            raise HloEvaluationError(message, self.place(step.instruction)) from None

    def place(self, instruction: Instruction) -> str:
        """Where an instruction stands, for messages."""
        source = self.module.source or self.module.name
        line = f":{instruction.line}" if instruction.line else ""
        return f"{source}{line}: {instruction.name} ({instruction.opcode})"


def _argument(
    computation: Computation, instruction: Instruction, arguments: Sequence[Value]
) -> Value:
    number = instruction.parameter_number
    if not 0 <= number < len(arguments):
        message = (
            f"{computation.name} takes parameter {number}, {len(arguments)} arguments are given"
        )
        raise HloEvaluationError(message)
    return arguments[number]


def _spread(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    array = np.asarray(array)
    return array if array.shape == shape else np.broadcast_to(array, shape)


def flatten_shapes(computation: Computation) -> tuple[ArrayShape, ...]:
    """The arrays that a computation yields, in tuple order."""
    from compiler.hlo.shape import leaves

    return tuple(s for s in leaves(computation.shape) if isinstance(s, ArrayShape))


def _plan(computation: Computation, handlers: dict[Opcode, Handler]) -> tuple[Step, ...]:
    last_use: dict[str, int] = {}
    for position, instruction in enumerate(computation.instructions):
        last_use[instruction.name] = position
        for operand in instruction.operands:
            last_use[operand] = position
    dead: dict[int, list[str]] = {}
    for name, position in last_use.items():
        if name != computation.root:
            dead.setdefault(position, []).append(name)
    return tuple(
        Step(instruction, _handler(instruction, computation, handlers), tuple(dead.get(i, ())))
        for i, instruction in enumerate(computation.instructions)
    )


def _handler(
    instruction: Instruction, computation: Computation, handlers: dict[Opcode, Handler]
) -> Handler:
    if instruction.opcode is Opcode.BITCAST and Opcode.BITCAST not in handlers:
        return bitcast_from(computation.instruction(instruction.operands[0]).shape)
    return handlers.get(instruction.opcode, _unsupported)


def _unsupported(machine: Evaluator, instruction: Instruction, operands: list[Value]) -> Value:
    raise HloUnsupportedError(f"the evaluator does not know operation {instruction.opcode}")


def evaluate(module: Module, *arrays: Any, observe: Observer | None = None) -> list[np.ndarray]:
    """Runs the entry computation.

    ``arrays`` are the parameters in number order, tuples flattened; their shapes and types must be
    the parameters' (bit patterns as unsigned arrays are taken for types that NumPy lacks). Returns
    the results in tuple order. ``observe(computation, instruction, value)`` sees every value of
    the run. Raises HloEvaluationError and HloUnsupportedError, with the instruction and its line.
    """
    return evaluate_checked(module, *arrays, observe=observe).outputs


def evaluate_checked(module: Module, *arrays: Any, observe: Observer | None = None) -> Evaluation:
    """As `evaluate`, together with how the program's own checks went."""
    machine = Evaluator(module, observe)
    arguments = bind_arguments(module, arrays)
    with np.errstate(all="ignore"):
        value = machine.run(module.entry, arguments)
    outputs = [np.array(array, order="C") for array in flatten(value)]
    return Evaluation(outputs, tuple(machine.checks))


def evaluate_instruction(
    module: Module, computation: Computation, instruction: Instruction, operands: Iterable[Value]
) -> Value:
    """The value of one instruction of a computation for given operand values (for folding)."""
    machine = Evaluator(module)
    step = Step(instruction, _handler(instruction, computation, HANDLERS), ())
    with np.errstate(all="ignore"):
        return machine.step(step, list(operands))
