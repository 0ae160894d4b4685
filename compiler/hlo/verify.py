"""Checks that a module means something: names, order, one root, and every instruction's rules.

The first broken rule is raised as HloVerifyError with instruction, line and rule. Result shapes
that follow from the operands are compared with `compiler.hlo.infer`; the others have their rules
here.
"""

from __future__ import annotations

from collections.abc import Mapping

from compiler.hlo.errors import HloVerifyError
from compiler.hlo.infer import CannotInfer, InferenceError, infer_shape
from compiler.hlo.infer.base import check, same_extents
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.rules import collectives, operations
from compiler.hlo.rules.attributes import check_attributes
from compiler.hlo.rules.interface import check_channel, check_interface, check_threads
from compiler.hlo.rules.pairs import check_async, check_pair
from compiler.hlo.shape import (
    ArrayShape,
    Shape,
    TupleShape,
    compatible,
    leaves,
)

_CHOOSES_TYPE = (Opcode.DOT, Opcode.CONVOLUTION)
"""Operations that may yield another element type than their operands' (preferred types)."""

_CHOOSES_WIDTH = (
    Opcode.REDUCE,
    Opcode.REDUCE_WINDOW,
    Opcode.SCATTER,
    Opcode.ALL_REDUCE,
    Opcode.ALL_REDUCE_START,
)
"""Operations that may yield wider or narrower floats, as elementwise ones may (mixed precision)."""


def verify(module: Module) -> Module:
    """Checks a module and returns it. Raises HloVerifyError."""
    _Verifier(module).run()
    return module


class _Verifier:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.computations: Mapping[str, Computation] = {c.name: c for c in module.computations}
        self._channels: dict[int, bool] = {}
        self._started: dict[str, str] = {}

    def run(self) -> None:
        module = self.module
        if len(self.computations) != len(module.computations):
            raise HloVerifyError("two computations have the same name", module.name)
        if module.entry not in self.computations:
            raise HloVerifyError(f"the entry computation {module.entry} is missing", module.name)
        self._check_recursion()
        for computation in module.computations:
            self._computation(computation)
        check_interface(module)

    def _check_recursion(self) -> None:
        """No computation may call itself, directly or not."""
        state: dict[str, int] = {}
        for start in self.computations:
            stack = [(start, False)]
            while stack:
                name, is_done = stack.pop()
                if is_done:
                    state[name] = 2
                    continue
                if state.get(name) == 2:
                    continue
                state[name] = 1
                stack.append((name, True))
                stack.extend((callee, False) for callee in self._callees(name, state))

    def _callees(self, name: str, state: dict[str, int]) -> list[str]:
        found: list[str] = []
        for instruction in self.computations[name].instructions:
            for callee in instruction.callees:
                if callee not in self.computations:
                    raise self._error(instruction, f"computation {callee} is not defined")
                if state.get(callee) == 1:
                    raise self._error(instruction, f"computation {callee} calls itself")
                if callee not in state:
                    found.append(callee)
        return found

    def _computation(self, computation: Computation) -> None:
        seen: dict[str, Instruction] = {}
        for instruction in computation.instructions:
            if instruction.name in seen:
                raise self._error(instruction, "this name is taken already")
            for operand in instruction.operands:
                if operand not in seen:
                    raise self._error(instruction, self._missing(computation, operand))
            for predecessor in instruction.control_predecessors:
                if predecessor not in seen:
                    raise self._error(instruction, f"control predecessor {predecessor} is missing")
            self._instruction(instruction, tuple(seen[o].shape for o in instruction.operands))
            seen[instruction.name] = instruction
        if computation.root not in seen:
            place = f"computation {computation.name}"
            raise HloVerifyError(
                f"its root {computation.root} is not one of its instructions", place
            )
        for instruction in computation.instructions:
            self._surroundings(computation, instruction)
        self._parameters(computation)

    def _missing(self, computation: Computation, operand: str) -> str:
        if operand in computation:
            return f"operand {operand} is defined later; operands come first"
        return f"operand {operand} is not defined in {computation.name}"

    def _parameters(self, computation: Computation) -> None:
        for expected, parameter in enumerate(computation.parameters):
            if parameter.parameter_number != expected:
                rule = (
                    f"parameters are numbered without gaps; number {expected} is missing or doubled"
                )
                raise self._error(parameter, rule)

    def _instruction(self, instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
        opcode = instruction.opcode
        try:
            if opcode.arity is not None:
                rule = f"needs {opcode.arity} operands, has {len(shapes)}"
                check(len(shapes) == opcode.arity, rule)
            check_attributes(instruction, shapes)
            for rules in (operations.RULES, collectives.RULES):
                special = rules.get(opcode)
                if special is not None:
                    special(instruction, shapes)
            self._result(instruction, shapes)
        except InferenceError as error:
            raise self._error(instruction, str(error)) from None

    def _surroundings(self, computation: Computation, instruction: Instruction) -> None:
        """What depends on users, callees and other instructions' attributes."""
        try:
            check_pair(computation, instruction)
            wrapped = check_async(computation, instruction, self.computations)
            check_threads(computation, instruction, self.computations)
            check_channel(instruction, self._channels)
            if instruction.opcode is Opcode.ASYNC_START:
                self._start(instruction)
        except InferenceError as error:
            raise self._error(instruction, str(error)) from None
        if wrapped is not None:
            shapes = tuple(o.shape for o in computation.operands(instruction))
            self._instruction(wrapped, shapes)

    def _start(self, instruction: Instruction) -> None:
        name = instruction.attributes.get("calls")
        if name is not None:
            first = self._started.setdefault(name, instruction.name)
            rule = f"computation {name} is started by {first} already"
            check(first == instruction.name, rule)

    def _result(self, instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
        if instruction.opcode in _OWN_RESULT:
            return
        try:
            expected = infer_shape(
                instruction.opcode, shapes, instruction.attributes, self.computations
            )
        except CannotInfer:
            return
        fits = compatible(expected, instruction.shape)
        if not fits and instruction.opcode in _CHOOSES_TYPE:
            fits = _same_but_for_type(expected, instruction.shape)
        elif not fits and (
            instruction.opcode.is_elementwise or instruction.opcode in _CHOOSES_WIDTH
        ):
            fits = _same_but_for_float_width(expected, instruction.shape)
        check(fits, f"the result must be {expected}, it is {instruction.shape}")

    def _error(self, instruction: Instruction, rule: str) -> HloVerifyError:
        source = self.module.source or self.module.name
        place = f"{source}:{instruction.line}" if instruction.line else source
        return HloVerifyError(f"{instruction.name} ({instruction.opcode}): {rule}", place)


def _leaf_pairs(one: Shape, other: Shape) -> list[tuple[ArrayShape, ArrayShape]] | None:
    """The arrays of two shapes side by side when their extents agree, else None."""
    firsts, seconds = leaves(one), leaves(other)
    pairs: list[tuple[ArrayShape, ArrayShape]] = []
    if len(firsts) != len(seconds) or isinstance(one, TupleShape) != isinstance(other, TupleShape):
        return None
    for a, b in zip(firsts, seconds, strict=True):
        if not isinstance(a, ArrayShape) or not isinstance(b, ArrayShape):
            return None
        if not same_extents(a.dimensions, b.dimensions):
            return None
        pairs.append((a, b))
    return pairs


def _same_but_for_type(expected: Shape, actual: Shape) -> bool:
    return _leaf_pairs(expected, actual) is not None


def _same_but_for_float_width(expected: Shape, actual: Shape) -> bool:
    pairs = _leaf_pairs(expected, actual)
    if pairs is None:
        return False
    return all(
        a.element_type is b.element_type or (a.element_type.is_float and b.element_type.is_float)
        for a, b in pairs
    )


_OWN_RESULT = frozenset(
    {
        Opcode.COPY_START,
        Opcode.RECV_DONE,
        Opcode.SEND,
        Opcode.ALL_REDUCE_START,
        Opcode.ASYNC_START,
        Opcode.ASYNC_UPDATE,
        Opcode.ASYNC_DONE,
    }
)
"""Operations whose bookkeeping results are written in several ways."""
