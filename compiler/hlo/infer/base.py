"""What every inference rule works on: operand shapes, attributes and called computations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compiler.hlo.attributes import Attributes
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import (
    UNBOUNDED,
    ArrayShape,
    ElementType,
    Shape,
    TupleShape,
    row_major,
)

if TYPE_CHECKING:
    from compiler.hlo.module import Computation


class InferenceError(ValueError):
    """The operands or attributes break a rule of the operation; the message is the rule."""


class CannotInfer(InferenceError):
    """The result shape does not follow from operands and attributes; it must be written."""


@dataclass(frozen=True, slots=True)
class Request:
    """One question: what does this operation yield?"""

    opcode: Opcode
    shapes: Sequence[Shape]
    attributes: Attributes
    computations: Mapping[str, Computation]

    def operand(self, index: int) -> Shape:
        if index >= len(self.shapes):
            raise InferenceError(f"needs at least {index + 1} operands, has {len(self.shapes)}")
        return self.shapes[index]

    def array(self, index: int) -> ArrayShape:
        """The array shape of an operand."""
        shape = self.operand(index)
        if not isinstance(shape, ArrayShape):
            raise InferenceError(f"operand {index} must be an array, it is {shape}")
        return shape

    def arrays(self) -> tuple[ArrayShape, ...]:
        return tuple(self.array(i) for i in range(len(self.shapes)))

    def require(self, key: str) -> Any:
        value = self.attributes.get(key)
        if value is None:
            raise InferenceError(f"attribute {key} is missing")
        return value

    def ints(self, key: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """A list of integers, required when it has no default."""
        value = self.require(key) if default is None else self.attributes.get(key, default)
        if not isinstance(value, tuple) or any(not isinstance(v, int) for v in value):
            raise InferenceError(f"{key} must be a list of integers")
        return value

    def callee(self, key: str) -> Computation:
        name = self.require(key)
        found = self.computations.get(name)
        if found is None:
            raise CannotInfer(f"computation {name} is not defined before")
        return found


def array(kind: ElementType, dimensions: Sequence[int], dynamic: Sequence[bool] = ()) -> ArrayShape:
    """A result shape in the default layout."""
    extents = tuple(dimensions)
    flags = tuple(flag or extent == UNBOUNDED for flag, extent in _pairs(extents, dynamic))
    layout = row_major(len(extents)) if extents else None
    return ArrayShape(kind, extents, layout, flags if any(flags) else ())


def _pairs(extents: tuple[int, ...], dynamic: Sequence[bool]) -> list[tuple[bool, int]]:
    flags = tuple(dynamic) or (False,) * len(extents)
    return list(zip(flags, extents, strict=True))


def one_or_tuple(shapes: Sequence[Shape]) -> Shape:
    """A single result itself, several as a tuple."""
    return shapes[0] if len(shapes) == 1 else TupleShape(tuple(shapes))


def check(condition: bool, rule: str) -> None:
    """Raises InferenceError with the rule when it is broken."""
    if not condition:
        raise InferenceError(rule)


def check_dimensions(dimensions: Sequence[int], rank: int, what: str) -> None:
    """Each dimension in range and named once."""
    for dimension in dimensions:
        check(0 <= dimension < rank, f"{what} {dimension} is out of range for rank {rank}")
    check(len(set(dimensions)) == len(dimensions), f"{what} {tuple(dimensions)} has repetitions")


def same_extent(one: int, other: int) -> bool:
    return one == other or UNBOUNDED in (one, other)


def same_extents(one: Sequence[int], other: Sequence[int]) -> bool:
    return len(one) == len(other) and all(map(same_extent, one, other))


def joined(shapes: Sequence[ArrayShape]) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """Extents and dynamic flags of several equal shapes, the known extent where one is
    unbounded.
    """
    first = shapes[0]
    extents = list(first.dimensions)
    dynamic = [first.is_dynamic_dimension(i) for i in range(first.rank)]
    for shape in shapes[1:]:
        for i, extent in enumerate(shape.dimensions):
            if extents[i] == UNBOUNDED:
                extents[i] = extent
            dynamic[i] = dynamic[i] or shape.is_dynamic_dimension(i)
    return tuple(extents), tuple(dynamic)


def joined_type(kinds: Sequence[ElementType], what: str) -> ElementType:
    """The common element type; different float types join in the widest (mixed precision)."""
    first = kinds[0]
    if all(kind is first for kind in kinds):
        return first
    if all(kind.is_float for kind in kinds):
        return max(kinds, key=lambda kind: kind.bits)
    names = ", ".join(map(str, kinds))
    raise InferenceError(f"{what} must have one element type, they have {names}")


def takes_element(parameter: Shape, given: ArrayShape) -> bool:
    """True of a scalar parameter for an array's elements.

    Floats may differ in width (mixed precision), integers may be widened.
    """
    if not isinstance(parameter, ArrayShape) or not parameter.is_scalar:
        return False
    taken, kind = parameter.element_type, given.element_type
    if taken.is_float and kind.is_float:
        return True
    return taken.family is kind.family and taken.bits >= kind.bits
