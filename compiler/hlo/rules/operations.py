"""Rules of single operations whose result shape is the instruction's own choice, or that choose
something besides.
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.hlo.attributes import ComparisonDirection, ComparisonType, RandomDistribution
from compiler.hlo.errors import Malformed
from compiler.hlo.infer import InferenceError
from compiler.hlo.infer.base import check, check_dimensions, same_extent, same_extents
from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Accepts, Opcode
from compiler.hlo.shape import (
    UNBOUNDED,
    ArrayShape,
    ElementType,
    Family,
    Shape,
    TupleShape,
    compatible,
    leaves,
)
from compiler.hlo.text.shapes import parse_shape


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
    kinds = operand.element_type, result.element_type
    check(
        kinds[0].is_complex is kinds[1].is_complex,
        f"bitcast-convert cannot turn {operand} into {result}",
    )
    check(any(_same_bits(operand, result, truth) for truth in _TRUTH_BITS), rule)


_TRUTH_BITS = (8, 1)
"""A truth value is a byte for XLA, a bit for StableHLO; the extents tell which is meant."""


def _width(kind: ElementType, truth: int) -> int:
    return truth if kind is ElementType.PRED else kind.bits


def _same_bits(operand: ArrayShape, result: ArrayShape, truth: int) -> bool:
    """Equal extents, or a last dimension that counts the parts of a wider element."""
    widths = _width(operand.element_type, truth), _width(result.element_type, truth)
    if widths[0] == widths[1]:
        return same_extents(operand.dimensions, result.dimensions)
    wide, narrow = (operand, result) if widths[0] > widths[1] else (result, operand)
    return same_extents(narrow.dimensions, (*wide.dimensions, max(widths) // min(widths)))


def _bitcast(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    if not isinstance(shapes[0], ArrayShape) or not isinstance(instruction.shape, ArrayShape):
        return
    operand, result = shapes[0], instruction.shape
    if UNBOUNDED in operand.dimensions + result.dimensions:
        return
    before, after = (
        [s.element_count * _width(s.element_type, truth) for truth in _TRUTH_BITS]
        for s in (operand, result)
    )
    rule = f"bitcast keeps the bits, {operand} has {before[0]}, {result} {after[0]}"
    check(any(one == other for one, other in zip(before, after, strict=True)), rule)


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
    replication = instruction.attributes.get("parameter_replication")
    count = len(leaves(instruction.shape))
    if isinstance(replication, tuple):
        rule = f"parameter_replication has {len(replication)} entries for {count} arrays"
        check(len(replication) == count, rule)


def _infeed(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    shape = instruction.shape
    is_pair = isinstance(shape, TupleShape) and len(shape.elements) == 2
    check(is_pair, f"the result must be (data, token[]), it is {shape}")


def _rng(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    kind = _result_array(instruction).element_type
    check(len(shapes) == 2, f"needs 2 operands, has {len(shapes)}")
    for i in range(2):
        operand = _operand_array(shapes, i)
        check(operand.is_scalar, f"operand {i} must be a scalar")
        fits = operand.element_type is kind or (operand.element_type.is_float and kind.is_float)
        check(fits, f"operand {i} must be {kind} as the result is, it is {operand.element_type}")
    is_normal = instruction.attributes["distribution"] is RandomDistribution.NORMAL
    is_drawn = kind.is_float or (not is_normal and Accepts.BITS.takes(kind))
    check(is_drawn, f"{instruction.attributes['distribution'].value} cannot yield {kind}")


def _rng_bit_generator(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    state = _operand_array(shapes)
    check(state.rank == 1, f"the state must be a vector, it is {state}")
    result = instruction.shape
    if isinstance(result, TupleShape):
        rule = f"the result must be the state {state} and the bits, it is {result}"
        check(len(result.elements) == 2 and compatible(result.elements[0], state), rule)


def _custom_call(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    constraints = instruction.attributes.get("operand_layout_constraints")
    if constraints is None:
        return
    try:
        asked = parse_shape(f"({str(constraints)[1:-1]})")
    except Malformed as error:
        raise InferenceError(f"operand_layout_constraints: {error}") from None
    given = TupleShape(shapes)
    rule = f"operand_layout_constraints {asked} do not fit the operands {given}"
    check(compatible(asked, given), rule)


def _compare(instruction: Instruction, shapes: tuple[Shape, ...]) -> None:
    result = _result_array(instruction)
    check(result.element_type is ElementType.PRED, f"the result must be pred, it is {result}")
    kind = _operand_array(shapes).element_type
    given = instruction.attributes.get("type")
    fitting = _COMPARISONS[Family.FLOAT if kind.is_complex else kind.family]
    names = " or ".join(t.value for t in fitting)
    shown = given.value if isinstance(given, ComparisonType) else given
    check(given is None or given in fitting, f"{kind} is compared as {names}, not as {shown}")
    direction = instruction.attributes["direction"]
    is_equality = direction in (ComparisonDirection.EQ, ComparisonDirection.NE)
    check(is_equality or not kind.is_complex, f"{kind} has no order, only EQ and NE")


_COMPARISONS = {
    Family.FLOAT: (ComparisonType.FLOAT, ComparisonType.TOTALORDER),
    Family.SIGNED: (ComparisonType.SIGNED,),
    Family.UNSIGNED: (ComparisonType.UNSIGNED,),
    Family.PREDICATE: (ComparisonType.UNSIGNED,),
}


RULES: dict[Opcode, Callable[[Instruction, tuple[Shape, ...]], None]] = {
    Opcode.BROADCAST: _broadcast,
    Opcode.RESHAPE: _reshape,
    Opcode.CONVERT: _convert,
    Opcode.STOCHASTIC_CONVERT: _convert,
    Opcode.BITCAST_CONVERT: _bitcast_convert,
    Opcode.BITCAST: _bitcast,
    Opcode.IOTA: _iota,
    Opcode.CONSTANT: _constant,
    Opcode.PARAMETER: _parameter,
    Opcode.INFEED: _infeed,
    Opcode.RNG: _rng,
    Opcode.RNG_BIT_GENERATOR: _rng_bit_generator,
    Opcode.CUSTOM_CALL: _custom_call,
    Opcode.COMPARE: _compare,
}
"""Each raises InferenceError with the rule that is broken."""
