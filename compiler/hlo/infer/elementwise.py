"""Shapes of elementwise operations, of dimension moves and of everything that copies elements."""

from __future__ import annotations

from compiler.hlo.attributes import PadDimension, SliceLimits
from compiler.hlo.infer.base import (
    CannotInfer,
    InferenceError,
    Request,
    array,
    check,
    check_dimensions,
    joined,
    joined_type,
    same_extent,
    same_extents,
    takes_element,
)
from compiler.hlo.opcodes import Accepts, Opcode
from compiler.hlo.shape import UNBOUNDED, ArrayShape, ElementType, Shape


def check_type(shape: ArrayShape, accepts: Accepts, what: str = "operand") -> None:
    if not accepts.takes(shape.element_type):
        wanted = " or ".join(str(a.name).lower() for a in accepts)
        raise InferenceError(f"{what} must be {wanted}, it is {shape.element_type}")


def unary(request: Request) -> Shape:
    shape = request.array(0)
    check_type(shape, request.opcode.accepts)
    kind = shape.element_type
    if request.opcode is Opcode.IS_FINITE:
        kind = ElementType.PRED
    elif request.opcode in (Opcode.REAL, Opcode.IMAG, Opcode.ABS):
        kind = kind.real
    return array(kind, shape.dimensions, shape.dynamic)


def same_as_first(request: Request) -> Shape:
    """Operations whose result is shaped exactly like their first operand."""
    return request.operand(0)


def binary(request: Request) -> Shape:
    shapes = (request.array(0), request.array(1))
    if not same_extents(shapes[0].dimensions, shapes[1].dimensions):
        rule = f"operands must have equal shapes, they are {shapes[0]} and {shapes[1]}"
        raise InferenceError(rule)
    kind = joined_type([s.element_type for s in shapes], "operands")
    check_type(shapes[0], request.opcode.accepts)
    if request.opcode is Opcode.COMPARE:
        request.require("direction")
        kind = ElementType.PRED
    elif request.opcode is Opcode.COMPLEX:
        check(
            kind in (ElementType.F32, ElementType.F64), f"complex is made of f32 or f64, not {kind}"
        )
        kind = kind.complex
    return array(kind, *joined(shapes))


def select(request: Request) -> Shape:
    which, chosen, other = request.array(0), request.array(1), request.array(2)
    check(which.element_type is ElementType.PRED, f"the selector must be pred, it is {which}")
    rule = f"both choices must have equal shapes, they are {chosen} and {other}"
    check(same_extents(chosen.dimensions, other.dimensions), rule)
    fits = which.is_scalar or same_extents(which.dimensions, chosen.dimensions)
    check(fits, f"the selector must be a scalar or shaped {chosen}, it is {which}")
    kind = joined_type([chosen.element_type, other.element_type], "choices")
    return array(kind, *joined((chosen, other)))


def clamp(request: Request) -> Shape:
    low, value, high = request.array(0), request.array(1), request.array(2)
    for limit in (low, high):
        fits = limit.is_scalar or same_extents(limit.dimensions, value.dimensions)
        check(fits, f"a limit must be a scalar or shaped {value}, it is {limit}")
    kind = joined_type([s.element_type for s in (low, value, high)], "operands")
    check_type(value, request.opcode.accepts)
    return array(kind, value.dimensions, value.dynamic)


def mapped(request: Request) -> Shape:
    shapes = request.arrays()
    check(bool(shapes), "needs at least one operand")
    for shape in shapes[1:]:
        rule = f"operands must have equal dimensions, they are {shapes[0]} and {shape}"
        check(same_extents(shape.dimensions, shapes[0].dimensions), rule)
    callee = request.callee("to_apply")
    root, parameters = callee.shape, callee.parameters
    rule = f"computation {callee.name} takes {len(parameters)} parameters, {len(shapes)} are given"
    check(len(parameters) == len(shapes), rule)
    for i, (parameter, given) in enumerate(zip(parameters, shapes, strict=True)):
        rule = f"parameter {i} of {callee.name} is {parameter.shape}, given are {given}"
        check(takes_element(parameter.shape, given), rule)
    if not isinstance(root, ArrayShape) or not root.is_scalar:
        raise CannotInfer(f"the mapped computation must yield a scalar, it yields {root}")
    return array(root.element_type, *joined(shapes))


def transpose(request: Request) -> Shape:
    shape = request.array(0)
    order = request.ints("dimensions")
    check(
        sorted(order) == list(range(shape.rank)),
        f"{order} is no permutation of {shape}'s dimensions",
    )
    dynamic = tuple(shape.is_dynamic_dimension(i) for i in order)
    return array(shape.element_type, tuple(shape.dimensions[i] for i in order), dynamic)


def reverse(request: Request) -> Shape:
    shape = request.array(0)
    check_dimensions(request.ints("dimensions"), shape.rank, "dimension")
    return array(shape.element_type, shape.dimensions, shape.dynamic)


def slice_(request: Request) -> Shape:
    shape = request.array(0)
    limits: tuple[SliceLimits, ...] = request.require("slice")
    check(len(limits) == shape.rank, f"slice has {len(limits)} ranges, the operand is {shape}")
    for i, (limit, extent) in enumerate(zip(limits, shape.dimensions, strict=True)):
        check(limit.stride > 0, f"stride of dimension {i} must be positive")
        inside = 0 <= limit.start <= limit.limit and (extent == UNBOUNDED or limit.limit <= extent)
        rule = f"range [{limit.start}:{limit.limit}] of dimension {i} must lie in 0:{extent}"
        check(inside, rule)
    dynamic = [
        shape.is_dynamic_dimension(i) and limit.extent == extent
        for i, (limit, extent) in enumerate(zip(limits, shape.dimensions, strict=True))
    ]
    return array(shape.element_type, tuple(limit.extent for limit in limits), dynamic)


def concatenate(request: Request) -> Shape:
    shapes = request.arrays()
    dimensions = request.ints("dimensions")
    check(bool(shapes) and len(dimensions) == 1, "needs operands and exactly one dimension")
    first, along = shapes[0], dimensions[0]
    check_dimensions(dimensions, first.rank, "dimension")
    for shape in shapes[1:]:
        fits = shape.rank == first.rank and all(
            i == along or same_extent(a, b)
            for i, (a, b) in enumerate(zip(shape.dimensions, first.dimensions, strict=True))
        )
        check(fits, f"{shape} and {first} may differ in dimension {along} only")
    extents, dynamic = joined(shapes)
    total = sum(shape.dimensions[along] for shape in shapes)
    if any(shape.dimensions[along] == UNBOUNDED for shape in shapes):
        total = UNBOUNDED
    kind = joined_type([s.element_type for s in shapes], "operands")
    return array(kind, (*extents[:along], total, *extents[along + 1 :]), dynamic)


def pad(request: Request) -> Shape:
    shape, value = request.array(0), request.array(1)
    check(value.is_scalar, f"the padding value must be a scalar, it is {value}")
    kind = joined_type([shape.element_type, value.element_type], "operand and padding value")
    padding: tuple[PadDimension, ...] = request.require("padding")
    check(
        len(padding) == shape.rank, f"padding has {len(padding)} dimensions, the operand is {shape}"
    )
    extents: list[int] = []
    for i, (dimension, extent) in enumerate(zip(padding, shape.dimensions, strict=True)):
        check(dimension.interior >= 0, f"interior padding of dimension {i} must not be negative")
        padded = UNBOUNDED if extent == UNBOUNDED else dimension.padded(extent)
        check(padded >= 0 or extent == UNBOUNDED, f"padding makes dimension {i} negative")
        extents.append(padded)
    return array(kind, extents, shape.dynamic)


def check_start_indices(request: Request, first: int, rank: int) -> None:
    """Start indices: one scalar per dimension, or one vector of them."""
    indices = [request.array(i) for i in range(first, len(request.shapes))]
    for index in indices:
        check(index.element_type.is_integer, f"start indices must be integers, one is {index}")
    if len(indices) == 1 and indices[0].rank == 1:
        check(same_extent(indices[0].dimensions[0], rank), f"needs {rank} start indices")
        return
    check(len(indices) == rank, f"needs {rank} start indices, has {len(indices)}")
    check(all(index.is_scalar for index in indices), "start indices must be scalars")
    kinds = {str(index.element_type) for index in indices}
    check(
        len(kinds) <= 1, f"start indices must have one type, they have {', '.join(sorted(kinds))}"
    )


def dynamic_slice(request: Request) -> Shape:
    shape = request.array(0)
    sizes = request.ints("dynamic_slice_sizes")
    check(len(sizes) == shape.rank, f"has {len(sizes)} slice sizes, the operand is {shape}")
    check_start_indices(request, 1, shape.rank)
    for size, extent in zip(sizes, shape.dimensions, strict=True):
        fits = size >= 0 and (extent == UNBOUNDED or size <= extent)
        check(fits, f"slice size {size} does not fit in {extent}")
    return array(shape.element_type, sizes)


def dynamic_update_slice(request: Request) -> Shape:
    shape, update = request.array(0), request.array(1)
    check(update.rank == shape.rank, f"update {update} must have the rank of {shape}")
    joined_type([shape.element_type, update.element_type], "operand and update")
    check_start_indices(request, 2, shape.rank)
    for size, extent in zip(update.dimensions, shape.dimensions, strict=True):
        check(extent == UNBOUNDED or size <= extent, f"update {update} does not fit in {shape}")
    return array(shape.element_type, shape.dimensions, shape.dynamic)


def reduce_precision(request: Request) -> Shape:
    shape = request.array(0)
    check_type(shape, request.opcode.accepts)
    check(request.require("exponent_bits") >= 1, "exponent_bits must be at least 1")
    check(request.require("mantissa_bits") >= 0, "mantissa_bits must not be negative")
    return array(shape.element_type, shape.dimensions, shape.dynamic)
