"""Operations with dimension numbers: dot, convolution, gather, scatter, einsum."""

from __future__ import annotations

import re

from compiler.frontend.stablehlo.lower.elementwise import Handler
from compiler.frontend.stablehlo.lower.frame import Frame, Value
from compiler.frontend.stablehlo.lower.reading import (
    Fault,
    flag,
    flags,
    integer,
    ints,
    pairs,
    precision,
    record,
    text,
)
from compiler.frontend.stablehlo.operations import Block, Operation
from compiler.frontend.stablehlo.values import Labels, Record
from compiler.hlo.attributes import (
    ConvolutionLabels,
    ConvolutionSide,
    DotDimensions,
    Verbatim,
    Window,
    WindowDimension,
)
from compiler.hlo.opcodes import Opcode


def dot_general(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    numbers = record(operation, "dot_dimension_numbers")
    dims = DotDimensions(
        numbers.ints("lhs_contracting_dimensions"),
        numbers.ints("rhs_contracting_dimensions"),
        numbers.ints("lhs_batching_dimensions"),
        numbers.ints("rhs_batching_dimensions"),
    )
    return [emit_dot(frame, operation, operands, dims)]


def dot(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """The last dimension of the left with the first of the right."""
    lhs, rhs = operands
    if not (1 <= lhs.rank <= 2 and 1 <= rhs.rank <= 2):
        raise Fault(f"dot takes vectors and matrices, not {lhs.shape} and {rhs.shape}")
    return [emit_dot(frame, operation, operands, DotDimensions((lhs.rank - 1,), (0,)))]


def emit_dot(
    frame: Frame, operation: Operation, operands: list[Value], dims: DotDimensions
) -> Value:
    """A dot of the declared element type."""
    attributes: dict[str, object] = {
        "lhs_batch_dims": dims.lhs_batch or None,
        "lhs_contracting_dims": dims.lhs_contracting,
        "rhs_batch_dims": dims.rhs_batch or None,
        "rhs_contracting_dims": dims.rhs_contracting,
        "operand_precision": precision(operation) or None,
        "algorithm": _algorithm(operation.attributes.get("algorithm")),
    }
    return _chosen_type(frame, Opcode.DOT, operands, attributes)


def _chosen_type(
    frame: Frame, opcode: Opcode, operands: list[Value], attributes: dict[str, object]
) -> Value:
    """An operation whose extents follow, but whose element type is the declared one."""
    made = frame.emit(opcode, operands, **attributes)
    kind = frame.declared_array().element_type
    if made.kind is kind:
        return made
    shape = made.array.with_element_type(kind)
    del frame.instructions[made.name]
    return frame.emit(opcode, operands, shape, **attributes)


def _algorithm(value: object) -> Verbatim | None:
    """``dot_bf16_bf16_f32_x3`` from a dot algorithm's record; unnamed ones are left to choice."""
    if not isinstance(value, Record):
        return None
    get = value.fields.get
    kinds = [get(f"{part}_type") for part in ("lhs_precision", "rhs_precision", "accumulation")]
    if not all(isinstance(k, str) and re.fullmatch(r"t?b?f\d+", k) for k in kinds):
        return None
    count = get("num_primitive_operations", 1)
    suffix = f"_x{count}" if isinstance(count, int) and count > 1 else ""
    return Verbatim(f"dot_{'_'.join(map(str, kinds))}{suffix}")


def convolution(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    spatial = operands[0].rank - 2
    return [emit_convolution(frame, operation, operands, pairs(operation, "padding", spatial))]


def emit_convolution(
    frame: Frame,
    operation: Operation,
    operands: list[Value],
    padding: tuple[tuple[int, int], ...],
) -> Value:
    lhs, rhs = operands[:2]
    if lhs.rank != rhs.rank or lhs.rank < 2:
        raise Fault(f"operands must have equal ranks of at least 2: {lhs.shape}, {rhs.shape}")
    labels = _labels(operation)
    count = lhs.rank - 2
    if len(labels.input.spatial) != count:
        raise Fault(f"the dimension numbers do not fit operands of rank {lhs.rank}")
    ones = (1,) * count
    columns = zip(
        (rhs.dimensions[i] for i in labels.kernel.spatial),
        _settings(operation, "window_strides", ones),
        padding,
        _settings(operation, "lhs_dilation", ones),
        _settings(operation, "rhs_dilation", ones),
        flags(operation, "window_reversal", count),
        strict=True,
    )
    window = Window(
        tuple(
            WindowDimension(size, stride, low, high, base, dilation, is_reversed)
            for size, stride, (low, high), base, dilation, is_reversed in columns
        )
    )
    attributes: dict[str, object] = {
        "window": window if count else None,
        "dim_labels": labels,
        "feature_group_count": _more_than_one(operation, "feature_group_count"),
        "batch_group_count": _more_than_one(operation, "batch_group_count"),
        "operand_precision": precision(operation) or None,
    }
    return _chosen_type(frame, Opcode.CONVOLUTION, [lhs, rhs], attributes)


def _more_than_one(operation: Operation, key: str) -> int | None:
    count = integer(operation, key, 1)
    return count if count != 1 else None


def _settings(operation: Operation, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
    found = ints(operation, key, default)
    if len(found) != len(default):
        raise Fault(f"attribute {key} must hold {len(default)} numbers, it holds {len(found)}")
    return found


def _labels(operation: Operation) -> ConvolutionLabels:
    found = operation.attributes.get("dimension_numbers")
    if isinstance(found, Labels):
        sides = (
            _side(found.input, "b", "f"),
            _side(found.kernel, "o", "i"),
            _side(found.output, "b", "f"),
        )
    elif isinstance(found, Record):
        sides = (
            _raw_side(found, "input", "batch", "feature"),
            _raw_side(found, "kernel", "output_feature", "input_feature"),
            _raw_side(found, "output", "batch", "feature"),
        )
    else:
        raise Fault("attribute dimension_numbers is missing or not understood")
    if len({len(side.spatial) for side in sides}) != 1:
        raise Fault("the three arrays must have equally many spatial dimensions")
    return ConvolutionLabels(*sides)


def _side(words: tuple[str, ...], first: str, second: str) -> ConvolutionSide:
    spatial = sorted((int(w), i) for i, w in enumerate(words) if w.isdigit() and len(w) < 4)
    numbered = [number for number, _ in spatial] == list(range(len(spatial)))
    if words.count(first) != 1 or words.count(second) != 1 or len(spatial) != len(words) - 2:
        raise Fault(f"labels [{', '.join(words)}] need one {first}, one {second} and numbers")
    if not numbered:
        raise Fault(f"labels [{', '.join(words)}] must number the spatial dimensions from 0")
    places = tuple(place for _, place in spatial)
    return ConvolutionSide(words.index(first), words.index(second), places)


def _raw_side(numbers: Record, array: str, first: str, second: str) -> ConvolutionSide:
    def one(name: str) -> int:
        found = numbers.ints(f"{array}_{name}_dimension")
        if len(found) != 1:
            raise Fault(f"dimension number {array}_{name}_dimension is missing")
        return found[0]

    return ConvolutionSide(one(first), one(second), numbers.ints(f"{array}_spatial_dimensions"))


def gather(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    return [emit_gather(frame, operation, operands, ints(operation, "slice_sizes"))]


def emit_gather(
    frame: Frame, operation: Operation, operands: list[Value], sizes: tuple[int, ...]
) -> Value:
    numbers = record(operation, "dimension_numbers")
    return frame.emit(
        Opcode.GATHER,
        operands[:2],
        offset_dims=numbers.ints("offset_dims"),
        collapsed_slice_dims=numbers.ints("collapsed_slice_dims"),
        start_index_map=numbers.ints("start_index_map"),
        operand_batching_dims=numbers.ints("operand_batching_dims") or None,
        start_indices_batching_dims=numbers.ints("start_indices_batching_dims") or None,
        index_vector_dim=(numbers.ints("index_vector_dim") or (0,))[0],
        slice_sizes=sizes,
        indices_are_sorted=flag(operation, "indices_are_sorted") or None,
    )


def scatter(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    numbers = record(operation, "scatter_dimension_numbers")
    made = frame.emit(
        Opcode.SCATTER,
        operands,
        update_window_dims=numbers.ints("update_window_dims"),
        inserted_window_dims=numbers.ints("inserted_window_dims"),
        scatter_dims_to_operand_dims=numbers.ints("scatter_dims_to_operand_dims"),
        input_batching_dims=numbers.ints("input_batching_dims") or None,
        scatter_indices_batching_dims=numbers.ints("scatter_indices_batching_dims") or None,
        index_vector_dim=(numbers.ints("index_vector_dim") or (0,))[0],
        indices_are_sorted=flag(operation, "indices_are_sorted") or None,
        unique_indices=flag(operation, "unique_indices") or None,
        to_apply=frame.function(only_region(operation), "scatter"),
    )
    return frame.split(made, len(operation.result_types))


def only_region(operation: Operation) -> Block:
    """The single region of an operation."""
    if len(operation.regions) != 1:
        raise Fault(f"needs one region, has {len(operation.regions)}")
    return operation.regions[0]


_EINSUM = re.compile(r"([a-zA-Z]*),([a-zA-Z]*)->([a-zA-Z]*)\Z")
_UNARY_EINSUM = re.compile(r"([a-zA-Z]*)->([a-zA-Z]*)\Z")


def einsum(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    """Sums over letters that the result lacks; both sides' common letters of the result pair."""
    match = _EINSUM.match(text(operation, "einsum_config").replace(" ", ""))
    if match is None:
        raise Fault("einsum_config must look like ab,bc->ac")
    left, right, out = match[1], match[2], match[3]
    _check_letters(left, operands[0])
    _check_letters(right, operands[1])
    operands[0], left = _summed(frame, operands[0], left, set(right) | set(out))
    operands[1], right = _summed(frame, operands[1], right, set(left) | set(out))
    shared = [letter for letter in left if letter in right]
    batch = [letter for letter in shared if letter in out]
    contracted = [letter for letter in shared if letter not in out]
    dims = DotDimensions(
        tuple(map(left.index, contracted)),
        tuple(map(right.index, contracted)),
        tuple(map(left.index, batch)),
        tuple(map(right.index, batch)),
    )
    made = emit_dot(frame, operation, operands, dims)
    order = [*batch, *(c for c in left if c not in shared), *(c for c in right if c not in shared)]
    return [_ordered(frame, made, order, out)]


def unary_einsum(frame: Frame, operation: Operation, operands: list[Value]) -> list[Value]:
    match = _UNARY_EINSUM.match(text(operation, "einsum_config").replace(" ", ""))
    if match is None:
        raise Fault("einsum_config must look like ab->a")
    _check_letters(match[1], operands[0])
    value, letters = _summed(frame, operands[0], match[1], set(match[2]))
    return [_ordered(frame, value, list(letters), match[2])]


def _check_letters(letters: str, value: Value) -> None:
    if len(letters) != value.rank or len(set(letters)) != len(letters):
        raise Fault(f"letters '{letters}' must name each dimension of {value.shape} once")


def _summed(frame: Frame, value: Value, letters: str, kept: set[str]) -> tuple[Value, str]:
    gone = tuple(i for i, letter in enumerate(letters) if letter not in kept)
    if not gone:
        return value, letters
    zero = frame.scalar(0, value.kind)
    adder = frame.program.binary(Opcode.ADD, value.kind, frame.line)
    made = frame.emit(Opcode.REDUCE, [value, zero], dimensions=gone, to_apply=adder)
    return made, "".join(c for c in letters if c in kept)


def _ordered(frame: Frame, value: Value, letters: list[str], out: str) -> Value:
    if sorted(letters) != sorted(out):
        raise Fault(f"the result '{out}' must be made of the letters {', '.join(letters)}")
    if "".join(letters) == out:
        return value
    order = tuple(letters.index(letter) for letter in out)
    return frame.emit(Opcode.TRANSPOSE, [value], dimensions=order)


HANDLERS: dict[str, Handler] = {
    "stablehlo.dot_general": dot_general,
    "stablehlo.dot": dot,
    "stablehlo.convolution": convolution,
    "stablehlo.gather": gather,
    "stablehlo.scatter": scatter,
    "stablehlo.einsum": einsum,
    "stablehlo.unary_einsum": unary_einsum,
}
