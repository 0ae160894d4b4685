"""The shape of shuffle, and what its modes ask for (openxla/xla, xla/shuffle.h)."""

from __future__ import annotations

from compiler.hlo.attributes import TypedLiteral
from compiler.hlo.infer.base import Request, array, check, check_dimensions
from compiler.hlo.shape import ArrayShape, Shape


def shuffle(request: Request) -> Shape:
    """Elements change places along some dimensions; the shape stays."""
    shape = request.array(0)
    dimensions = request.ints("dimensions")
    check_dimensions(dimensions, shape.rank, "dimension")
    mode = str(request.require("mode"))
    if mode == "rotate":
        shifts = len(request.ints("shifts"))
        check(shifts == len(dimensions), f"{shifts} shifts for {len(dimensions)} dimensions")
    elif mode == "permute":
        coordinates = (len(dimensions),) if len(dimensions) > 1 else ()
        _check_table(request, "indices", shape.dimensions, coordinates)
    else:
        check(mode in ("multi_rotate", "multi-rotate"), f"no shuffle has the mode {mode}")
        check(len(dimensions) == 1, f"{mode} takes one dimension, {len(dimensions)} are given")
        extents = shape.dimensions
        extents = (*extents[: dimensions[0]], 1, *extents[dimensions[0] + 1 :])
        _check_table(request, "multi_shifts", extents)
    return array(shape.element_type, shape.dimensions, shape.dynamic)


def _check_table(
    request: Request, key: str, extents: tuple[int, ...], coordinates: tuple[int, ...] = ()
) -> None:
    """Integers of these extents (1 serves a whole dimension), the last ones exactly."""
    table: TypedLiteral = request.require(key)
    given = table.shape
    check(given.element_type.is_integer, f"{key} must be integers, they are {given.element_type}")
    shared, last = given.dimensions[: len(extents)], given.dimensions[len(extents) :]
    fits = len(shared) == len(extents) and last == coordinates
    fits = fits and all(one in (1, whole) for one, whole in zip(shared, extents, strict=True))
    wanted = ArrayShape(given.element_type, extents + coordinates)
    check(fits, f"{key} must be {wanted} or have extents of 1 in it, they are {given}")
