"""Writes one HLO computation, instruction by instruction, with NumPy's broadcasting.

The methods take and yield `Value`s: names of instructions together with their shapes. Every
instruction gets the metadata of the graph node that is being lowered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.frontend.torch.dtypes import Number, highest, lowest, promoted
from compiler.hlo.attributes import (
    NO_ATTRIBUTES,
    Attributes,
    ComparisonDirection,
    Metadata,
    PadDimension,
    SliceLimits,
)
from compiler.hlo.infer import infer_shape
from compiler.hlo.literal import Literal, literal_of
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.rewriter import Names
from compiler.hlo.shape import ArrayShape, ElementType, Shape, TupleShape, row_major

Dimensions = Sequence[int]


@dataclass(frozen=True, slots=True)
class Value:
    """An instruction's result."""

    name: str
    shape: ArrayShape

    @property
    def kind(self) -> ElementType:
        return self.shape.element_type

    @property
    def dimensions(self) -> tuple[int, ...]:
        return self.shape.dimensions

    @property
    def rank(self) -> int:
        return self.shape.rank

    def axis(self, dimension: int) -> int:
        """A dimension counted from the front; scalars count as having one."""
        return dimension % max(self.rank, 1)

    def axes(self, dimensions: int | Dimensions | None) -> tuple[int, ...]:
        """Dimensions counted from the front, in order; None and () mean all."""
        if isinstance(dimensions, int):
            dimensions = (dimensions,)
        if not dimensions:
            return tuple(range(self.rank))
        return tuple(sorted({self.axis(d) for d in dimensions})) if self.rank else ()


def array_shape(kind: ElementType, dimensions: Dimensions) -> ArrayShape:
    return ArrayShape(kind, tuple(dimensions), row_major(len(dimensions)))


class Builder:
    """The computation under construction. `result_kind` is the element type that the present node
    is known to yield, `result_strides` the strides of each of its results."""

    def __init__(self) -> None:
        self.names = Names()
        self.instructions: list[Instruction] = []
        self.computations: dict[str, Computation] = {}
        self.metadata: Metadata | None = None
        self.result_kind = ElementType.F32
        self.result_strides: tuple[tuple[int, ...] | None, ...] = (None,)
        self._reducers: dict[tuple[Opcode, ElementType], str] = {}
        self._constants: dict[tuple[Any, ...], Value] = {}

    # -- instructions -------------------------------------------------------------------------

    def _append(
        self,
        opcode: Opcode,
        shape: Shape,
        operands: Sequence[str] = (),
        attributes: Attributes = NO_ATTRIBUTES,
        literal: Literal | None = None,
        name: str | None = None,
    ) -> str:
        fresh = self.names.fresh(name or opcode.text)
        self.instructions.append(
            Instruction(fresh, opcode, shape, tuple(operands), attributes, literal, self.metadata)
        )
        return fresh

    def parameter(self, shape: ArrayShape, name: str, number: int) -> Value:
        attributes = Attributes(parameter_number=number)
        return Value(self._append(Opcode.PARAMETER, shape, (), attributes, name=name), shape)

    def emit(
        self, opcode: Opcode, *operands: Value, shape: ArrayShape | None = None, **attributes: Any
    ) -> Value:
        """One instruction; its shape follows from the operands unless it is given."""
        found = Attributes(attributes) if attributes else NO_ATTRIBUTES
        result: Shape = shape or infer_shape(
            opcode, [o.shape for o in operands], found, self.computations
        )
        if not isinstance(result, ArrayShape):
            raise TypeError(f"{opcode} yields {result}")
        return Value(self._append(opcode, result, [o.name for o in operands], found), result)

    def emit_many(self, opcode: Opcode, *operands: Value, **attributes: Any) -> list[Value]:
        """One instruction that yields a tuple, taken apart."""
        found = Attributes(attributes)
        result = infer_shape(opcode, [o.shape for o in operands], found, self.computations)
        if isinstance(result, ArrayShape):
            return [Value(self._append(opcode, result, [o.name for o in operands], found), result)]
        return self._apart(self._append(opcode, result, [o.name for o in operands], found), result)

    def call_many(self, results: TupleShape, *operands: Value, **attributes: Any) -> list[Value]:
        """A custom call that yields a tuple, taken apart."""
        found = Attributes(attributes)
        names = [operand.name for operand in operands]
        return self._apart(self._append(Opcode.CUSTOM_CALL, results, names, found), results)

    def _apart(self, name: str, result: Shape) -> list[Value]:
        """The elements of the tuple that an instruction yields."""
        elements = result.elements if isinstance(result, TupleShape) else ()
        return [
            Value(
                self._append(Opcode.GET_TUPLE_ELEMENT, e, (name,), Attributes(index=i)),
                array_shape(e.element_type, e.dimensions),
            )
            for i, e in enumerate(elements)
            if isinstance(e, ArrayShape)
        ]

    def tuple_of(self, values: Sequence[Value]) -> str:
        shape = TupleShape(tuple(v.shape for v in values))
        return self._append(Opcode.TUPLE, shape, [v.name for v in values])

    def module(self, name: str, root: str) -> Module:
        entry = Computation("main", tuple(self.instructions), root)
        return Module(name, (*self.computations.values(), entry), entry.name)

    # -- constants ----------------------------------------------------------------------------

    def array(self, content: np.ndarray) -> Value:
        """A constant array."""
        from compiler.hlo.shape import element_type_of

        kind = element_type_of(content.dtype)
        if kind is None:
            raise TypeError(f"no element type for {content.dtype}")
        key = (kind, content.shape, content.tobytes())
        if key not in self._constants:
            shape = array_shape(kind, content.shape)
            name = self._append(Opcode.CONSTANT, shape, literal=literal_of(content))
            self._constants[key] = Value(name, shape)
        return self._constants[key]

    def number(self, value: Number, kind: ElementType) -> Value:
        """A scalar constant; integers wrap."""
        if kind.is_integer and not isinstance(value, complex):
            value = int(value) & ((1 << kind.bits) - 1)
            if kind.is_signed and value >> (kind.bits - 1):
                value -= 1 << kind.bits
        return self.array(np.asarray(value).astype(kind.dtype))

    def full(self, value: Number, kind: ElementType, dimensions: Dimensions) -> Value:
        return self.broadcast(self.number(value, kind), dimensions)

    def full_like(self, value: Number, like: Value) -> Value:
        return self.full(value, like.kind, like.dimensions)

    def iota(self, kind: ElementType, dimensions: Dimensions, along: int) -> Value:
        return self.emit(Opcode.IOTA, shape=array_shape(kind, dimensions), iota_dimension=along)

    # -- shapes -------------------------------------------------------------------------------

    def reshape(self, value: Value, dimensions: Dimensions) -> Value:
        if value.dimensions == tuple(dimensions):
            return value
        return self.emit(Opcode.RESHAPE, value, shape=array_shape(value.kind, dimensions))

    def broadcast(self, value: Value, dimensions: Dimensions) -> Value:
        """Aligned at the last dimension; extents of 1 are repeated."""
        target = tuple(dimensions)
        if value.dimensions == target:
            return value
        offset = len(target) - value.rank
        kept = [d for d in range(value.rank) if value.dimensions[d] == target[d + offset]]
        squeezed = self.reshape(value, [value.dimensions[d] for d in kept])
        places = tuple(d + offset for d in kept)
        shape = array_shape(value.kind, target)
        return self.emit(Opcode.BROADCAST, squeezed, shape=shape, dimensions=places)

    def spread(self, value: Value, dimensions: Dimensions, along: Dimensions) -> Value:
        """Dimension i of the value becomes dimension along[i]; the others repeat it."""
        shape = array_shape(value.kind, dimensions)
        return self.emit(Opcode.BROADCAST, value, shape=shape, dimensions=tuple(along))

    def transpose(self, value: Value, order: Dimensions) -> Value:
        if tuple(order) == tuple(range(value.rank)):
            return value
        return self.emit(Opcode.TRANSPOSE, value, dimensions=tuple(order))

    def slice(self, value: Value, limits: Sequence[tuple[int, int, int]]) -> Value:
        """(start, limit, stride) for every dimension."""
        whole = tuple((0, extent, 1) for extent in value.dimensions)
        if tuple(limits) == whole:
            return value
        return self.emit(Opcode.SLICE, value, slice=tuple(SliceLimits(*limit) for limit in limits))

    def slice_along(
        self, value: Value, axis: int, start: int, limit: int, stride: int = 1
    ) -> Value:
        limits = [(0, extent, 1) for extent in value.dimensions]
        limits[axis] = (start, limit, stride)
        return self.slice(value, limits)

    def pad(self, value: Value, edges: Sequence[tuple[int, int, int]], filler: Value) -> Value:
        """(low, high, interior) for every dimension."""
        if not any(any(edge) for edge in edges):
            return value
        padding = tuple(PadDimension(*edge) for edge in edges)
        return self.emit(Opcode.PAD, value, filler, padding=padding)

    def concatenate(self, values: Sequence[Value], axis: int) -> Value:
        if len(values) == 1:
            return values[0]
        return self.emit(Opcode.CONCATENATE, *values, dimensions=(axis,))

    # -- elementwise --------------------------------------------------------------------------

    def convert(self, value: Value, kind: ElementType) -> Value:
        """To another type as PyTorch does: truth is what is not zero, and floats become narrow
        integers by way of 32 bits, as processors convert them."""
        if value.kind is kind:
            return value
        if kind is ElementType.PRED:
            return self.compare(ComparisonDirection.NE, value, self.full_like(0, value))
        if value.kind.is_complex and not kind.is_complex:
            value = self.emit(Opcode.REAL, value)
        if value.kind.is_float and kind.is_integer and kind.bits < 32:
            value = self.convert(value, ElementType.S32)
        return self.emit(Opcode.CONVERT, value, shape=array_shape(kind, value.dimensions))

    def common_kind(self, *values: Value | Number) -> ElementType:
        """The type that PyTorch computes in."""
        found = [v for v in values if isinstance(v, Value)]
        return promoted(
            [v.kind for v in found if v.rank],
            [v.kind for v in found if not v.rank],
            [v for v in values if not isinstance(v, Value)],
        )

    def aligned(self, kind: ElementType, *values: Value | Number) -> list[Value]:
        """The values in one type and one shape."""
        shapes = [v.dimensions for v in values if isinstance(v, Value)]
        target = tuple(np.broadcast_shapes(*shapes))
        return [
            self.broadcast(self.convert(v, kind), target)
            if isinstance(v, Value)
            else self.full(v, kind, target)
            for v in values
        ]

    def binary(self, opcode: Opcode, one: Value | Number, other: Value | Number) -> Value:
        """An elementwise operation in the common type."""
        kind = self.common_kind(one, other)
        return self.emit(opcode, *self.aligned(kind, one, other))

    def add(self, one: Value | Number, other: Value | Number) -> Value:
        return self.binary(Opcode.ADD, one, other)

    def subtract(self, one: Value | Number, other: Value | Number) -> Value:
        return self.binary(Opcode.SUBTRACT, one, other)

    def multiply(self, one: Value | Number, other: Value | Number) -> Value:
        return self.binary(Opcode.MULTIPLY, one, other)

    def divide(self, one: Value | Number, other: Value | Number) -> Value:
        return self.binary(Opcode.DIVIDE, one, other)

    def compare(
        self, direction: ComparisonDirection, one: Value | Number, other: Value | Number
    ) -> Value:
        a, b = self.aligned(self.common_kind(one, other), one, other)
        return self.emit(Opcode.COMPARE, a, b, direction=direction)

    def is_nan(self, value: Value) -> Value:
        return self.compare(ComparisonDirection.NE, value, value)

    def select(
        self, condition: Value, one: Value | Number, other: Value | Number, kind: ElementType
    ) -> Value:
        """Elementwise choice, all three broadcast."""
        values = [v for v in (condition, one, other) if isinstance(v, Value)]
        target = tuple(np.broadcast_shapes(*(v.dimensions for v in values)))
        chosen = [
            self.broadcast(self.convert(v, kind), target)
            if isinstance(v, Value)
            else self.full(v, kind, target)
            for v in (one, other)
        ]
        return self.emit(Opcode.SELECT, self.broadcast(condition, target), *chosen)

    # -- reductions ---------------------------------------------------------------------------

    def reducer(self, opcode: Opcode, kind: ElementType) -> str:
        """The computation (a, b) -> a op b."""
        key = (opcode, kind)
        if key not in self._reducers:
            shape = array_shape(kind, ())
            self._reducers[key] = self.add_computation(
                opcode.text, [shape, shape], lambda b, v: [b.emit(opcode, *v)]
            )
        return self._reducers[key]

    def add_computation(self, name: str, shapes: Sequence[ArrayShape], body: Any) -> str:
        """A called computation: `body(builder, parameters)` yields its results."""
        inner = Builder()
        inner.names = self.names
        inner.computations = self.computations
        values = [inner.parameter(s, f"{name}_{i}", i) for i, s in enumerate(shapes)]
        results = body(inner, values)
        root = results[0].name if len(results) == 1 else inner.tuple_of(results)
        fresh = self.names.fresh(name)
        self.computations[fresh] = Computation(fresh, tuple(inner.instructions), root)
        return fresh

    def reduce(
        self, opcode: Opcode, value: Value, axes: Dimensions, initial: Number, keep: bool = False
    ) -> Value:
        """Over some dimensions, which stay with extent 1 if they are kept."""
        if not axes:
            return value
        reduced = self.emit(
            Opcode.REDUCE, value, self.number(initial, value.kind),
            dimensions=tuple(axes), to_apply=self.reducer(opcode, value.kind),
        )  # fmt: skip
        if not keep:
            return reduced
        return self.reshape(
            reduced, [1 if d in axes else e for d, e in enumerate(value.dimensions)]
        )

    def sum(self, value: Value, axes: Dimensions, keep: bool = False) -> Value:
        return self.reduce(Opcode.ADD, value, axes, 0, keep)

    def mean(self, value: Value, axes: Dimensions, keep: bool = False) -> Value:
        count = math.prod(value.dimensions[d] for d in axes)
        total = self.sum(value, axes, keep)
        return self.divide(total, self.full_like(count, total))

    def maximum_of(self, value: Value, axes: Dimensions, keep: bool = False) -> Value:
        return self.reduce(Opcode.MAXIMUM, value, axes, lowest(value.kind), keep)

    def minimum_of(self, value: Value, axes: Dimensions, keep: bool = False) -> Value:
        return self.reduce(Opcode.MINIMUM, value, axes, highest(value.kind), keep)

    # -- products -----------------------------------------------------------------------------

    def dot(
        self,
        one: Value,
        other: Value,
        contracting: tuple[Dimensions, Dimensions],
        batch: tuple[Dimensions, Dimensions] = ((), ()),
    ) -> Value:
        entries: dict[str, Any] = {}
        if batch[0]:
            entries["lhs_batch_dims"] = tuple(batch[0])
        entries["lhs_contracting_dims"] = tuple(contracting[0])
        if batch[1]:
            entries["rhs_batch_dims"] = tuple(batch[1])
        entries["rhs_contracting_dims"] = tuple(contracting[1])
        return self.emit(Opcode.DOT, one, other, **entries)
