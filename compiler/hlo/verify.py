"""Checks that a module means something: names, order, one root, and every instruction's rules.

The first broken rule is raised as HloVerifyError with instruction, line and rule. Result shapes
that follow from the operands are compared with `compiler.hlo.infer`; the others have their rules
here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.hlo.errors import HloVerifyError
from compiler.hlo.infer import CannotInfer, InferenceError, infer_shape
from compiler.hlo.infer.base import check, check_dimensions, same_extent, same_extents
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import (
    UNBOUNDED,
    ArrayShape,
    ElementType,
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

    def run(self) -> None:
        module = self.module
        if len(self.computations) != len(module.computations):
            raise HloVerifyError("two computations have the same name", module.name)
        if module.entry not in self.computations:
            raise HloVerifyError(f"the entry computation {module.entry} is missing", module.name)
        self._check_recursion()
        for computation in module.computations:
            self._computation(computation)
        self._entry_layout()

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
            self._instruction(instruction, tuple(seen[o].shape for o in instruction.operands))
            seen[instruction.name] = instruction
        if computation.root not in seen:
            place = f"computation {computation.name}"
            raise HloVerifyError(
                f"its root {computation.root} is not one of its instructions", place
            )
        for instruction in computation.instructions:
            for predecessor in instruction.control_predecessors:
                if predecessor not in seen:
                    raise self._error(instruction, f"control predecessor {predecessor} is missing")
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
            special = _RULES.get(opcode)
            if special is not None:
                special(instruction, shapes)
            self._result(instruction, shapes)
        except InferenceError as error:
            raise self._error(instruction, str(error)) from None

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

    def _entry_layout(self) -> None:
        layout = self.module.entry_layout
        if layout is None:
            return
        entry = self.module.entry_computation
        parameters = tuple(p.shape for p in entry.parameters)
        pairs = [*zip(layout.parameters, parameters, strict=False), (layout.result, entry.shape)]
        fits = len(parameters) == len(layout.parameters)
        if not fits or not all(compatible(a, b) for a, b in pairs):
            rule = f"entry_computation_layout {layout} does not fit computation {entry.name}"
            raise HloVerifyError(rule, self.module.name)

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


def _result_array(instruction: Instruction) -> ArrayShape:
    if not isinstance(instruction.shape, ArrayShape):
        raise InferenceError(f"the result must be an array, it is {instruction.shape}")
    return instruction.shape


def _operand_array(shapes: tuple[Shape, ...], index: int = 0) -> ArrayShape:
    shape = shapes[index]
    if not isinstance(shape, ArrayShape):
        raise InferenceError(f"operand {index} must be an array, it is {shape}")
    return shape


def _broadcast(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    operand, result = _operand_array(shapes), _result_array(instruction)
    dimensions = instruction.dimensions
    check(
        operand.element_type is result.element_type,
        f"broadcast cannot turn {operand} into {result}",
    )
    rule = f"dimensions={dimensions} must name a result dimension for each of {operand}'s"
    check(len(dimensions) == operand.rank, rule)
    check_dimensions(dimensions, result.rank, "dimension")
    for i, dimension in enumerate(dimensions):
        extents = operand.dimensions[i], result.dimensions[dimension]
        rule = (
            f"operand dimension {i} ({extents[0]}) and result dimension {dimension} ({extents[1]})"
        )
        check(same_extent(*extents), f"{rule} must be equal")


def _reshape(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    operand, result = _operand_array(shapes), _result_array(instruction)
    check(
        operand.element_type is result.element_type, f"reshape cannot turn {operand} into {result}"
    )
    if UNBOUNDED in operand.dimensions + result.dimensions:
        return
    rule = f"{operand} has {operand.element_count} elements, {result} has {result.element_count}"
    check(operand.element_count == result.element_count, rule)


def _convert(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    operand, result = _operand_array(shapes), _result_array(instruction)
    rule = f"convert keeps dimensions, {operand} and {result} differ"
    check(same_extents(operand.dimensions, result.dimensions), rule)
    narrows = operand.element_type.is_complex and not result.element_type.is_complex
    check(not narrows, f"convert cannot turn {operand} into {result}")


def _bitcast_convert(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    operand, result = _operand_array(shapes), _result_array(instruction)
    rule = f"bitcast-convert keeps the bits, {operand} and {result} have different numbers of them"
    widths = operand.element_type.bits, result.element_type.bits
    if widths[0] == widths[1]:
        check(same_extents(operand.dimensions, result.dimensions), rule)
        return
    wide, narrow = (operand, result) if widths[0] > widths[1] else (result, operand)
    ratio = wide.element_type.bits // narrow.element_type.bits
    check(same_extents(narrow.dimensions, (*wide.dimensions, ratio)), rule)


def _bitcast(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    if not isinstance(shapes[0], ArrayShape) or not isinstance(instruction.shape, ArrayShape):
        return
    operand, result = shapes[0], instruction.shape
    if UNBOUNDED in operand.dimensions + result.dimensions:
        return
    bits = [s.element_count * s.element_type.bits for s in (operand, result)]
    check(
        bits[0] == bits[1], f"bitcast keeps the bits, {operand} has {bits[0]}, {result} {bits[1]}"
    )


def _iota(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    result = _result_array(instruction)
    dimension = instruction.attributes.get("iota_dimension")
    check(dimension is not None, "attribute iota_dimension is missing")
    check(result.rank > 0, "the result must have at least one dimension")
    check_dimensions((dimension,), result.rank, "iota_dimension")
    check(
        Opcode.IOTA.accepts.takes(result.element_type), f"iota cannot yield {result.element_type}"
    )


def _constant(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    literal = instruction.literal
    if literal is None:
        raise InferenceError("a constant needs its literal")
    if literal.array is None:
        return
    result = _result_array(instruction)
    fits = literal.array.shape == result.dimensions
    fits = fits and literal.array.dtype == result.element_type.dtype
    check(fits, f"the literal is {literal.array.dtype}{list(literal.array.shape)}, not {result}")


def _parameter(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    check(instruction.parameter_number >= 0, "a parameter needs its number")


def _rng(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    check("distribution" in instruction.attributes, "attribute distribution is missing")
    _result_array(instruction)
    check(len(shapes) == 2, f"needs 2 operands, has {len(shapes)}")
    for i in range(2):
        check(_operand_array(shapes, i).is_scalar, f"operand {i} must be a scalar")


def _rng_bit_generator(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    state = _operand_array(shapes)
    check(state.rank == 1, f"the state must be a vector, it is {state}")
    check("algorithm" in instruction.attributes, "attribute algorithm is missing")
    result = instruction.shape
    if isinstance(result, TupleShape):
        rule = f"the result must be the state {state} and the bits, it is {result}"
        check(len(result.elements) == 2 and compatible(result.elements[0], state), rule)


def _custom_call(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    check("custom_call_target" in instruction.attributes, "attribute custom_call_target is missing")


def _compare(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    check("direction" in instruction.attributes, "attribute direction is missing")
    result = _result_array(instruction)
    check(result.element_type is ElementType.PRED, f"the result must be pred, it is {result}")


_RULES: dict[Opcode, Callable[[Instruction, tuple[Shape, ...]], None]] = {
    Opcode.BROADCAST: _broadcast,
    Opcode.RESHAPE: _reshape,
    Opcode.CONVERT: _convert,
    Opcode.STOCHASTIC_CONVERT: _convert,
    Opcode.BITCAST_CONVERT: _bitcast_convert,
    Opcode.BITCAST: _bitcast,
    Opcode.IOTA: _iota,
    Opcode.CONSTANT: _constant,
    Opcode.PARAMETER: _parameter,
    Opcode.RNG: _rng,
    Opcode.RNG_BIT_GENERATOR: _rng_bit_generator,
    Opcode.CUSTOM_CALL: _custom_call,
    Opcode.COMPARE: _compare,
}

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
