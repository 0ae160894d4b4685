"""A computation in the making: emits HLO instructions, splits tuples, knows constants.

Regions that may see outside values get them as parameters (loops and branches) or as copies of
their constants (reducers, comparators), because an HLO computation sees nothing but its parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.frontend.stablehlo.lower.known import KNOWN_LIMIT, Known, size_of
from compiler.frontend.stablehlo.lower.reading import Fault, Refusal
from compiler.frontend.stablehlo.operations import Block, Use, free_uses
from compiler.frontend.stablehlo.types import MlirType, QuantizedType, TensorType, shape_of
from compiler.hlo.attributes import NO_ATTRIBUTES, Attributes, Metadata
from compiler.hlo.infer import CannotInfer, infer_shape
from compiler.hlo.infer.base import array
from compiler.hlo.literal import literal_of
from compiler.hlo.module import Computation, Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import (
    UNBOUNDED,
    ArrayShape,
    ElementType,
    Shape,
    TupleShape,
    element_type_of,
)

if TYPE_CHECKING:
    from compiler.frontend.stablehlo.lower.program import Lowering


@dataclass(frozen=True, slots=True)
class Value:
    """What an SSA value became: an instruction, its shape, and how its elements are quantised."""

    name: str
    shape: Shape
    quantized: QuantizedType | None = None

    @property
    def array(self) -> ArrayShape:
        if not isinstance(self.shape, ArrayShape):
            raise Fault(f"a tensor is needed, a value of type {self.shape} is given")
        return self.shape

    @property
    def kind(self) -> ElementType:
        return self.array.element_type

    @property
    def dimensions(self) -> tuple[int, ...]:
        return self.array.dimensions

    @property
    def rank(self) -> int:
        return self.array.rank


class Frame:
    """One HLO computation being built, and the SSA values visible in it."""

    def __init__(self, program: Lowering, name: str) -> None:
        self.program = program
        self.name = name
        self.instructions: dict[str, Instruction] = {}
        self.values: dict[tuple[str, int], Value] = {}
        self.line = 0
        self.metadata: Metadata | None = None
        self.declared: tuple[MlirType, ...] = ()
        self._parameters = 0
        self._known = Known(self.instructions, program.computations)

    # Values

    def value(self, use: Use) -> Value:
        found = self.values.get(use.key)
        if found is None:
            raise self.program.source.broken(f"{use} is not defined here", use.at)
        return found

    def bind(self, name: str, values: Sequence[Value], at: int) -> None:
        if (name, 0) in self.values:
            raise self.program.source.broken(f"%{name} is defined twice", at)
        for index, value in enumerate(values):
            self.values[name, index] = value

    # Instructions

    def emit(
        self,
        opcode: Opcode,
        operands: Sequence[Value] = (),
        shape: Shape | None = None,
        /,
        **attributes: Any,
    ) -> Value:
        """Adds an instruction. Its shape follows from the operands unless it is given."""
        kept = {key: value for key, value in attributes.items() if value is not None}
        made = Attributes(kept) if kept else NO_ATTRIBUTES
        if shape is None:
            shape = self._inferred(opcode, operands, made)
        return self._append(opcode, tuple(v.name for v in operands), shape, made)

    def _inferred(self, opcode: Opcode, operands: Sequence[Value], attributes: Attributes) -> Shape:
        shapes = [value.shape for value in operands]
        try:
            return infer_shape(opcode, shapes, attributes, self.program.computations)
        except CannotInfer as error:
            raise Fault(f"the result of {opcode} must be known: {error}") from None

    def _append(
        self, opcode: Opcode, operands: tuple[str, ...], shape: Shape, attributes: Attributes
    ) -> Value:
        name = self.program.names.fresh(opcode.text)
        self.instructions[name] = Instruction(
            name, opcode, shape, operands, attributes, None, self.metadata, (), self.line
        )
        return Value(name, shape)

    def constant(self, values: np.ndarray, quantized: QuantizedType | None = None) -> Value:
        """A constant of an array whose type HLO has."""
        kind = element_type_of(values.dtype)
        if kind is None:
            raise Refusal(f"a constant of type {values.dtype}")
        made = self._append(Opcode.CONSTANT, (), array(kind, values.shape), NO_ATTRIBUTES)
        literal = literal_of(values)
        self.instructions[made.name] = replace(self.instructions[made.name], literal=literal)
        return replace(made, quantized=quantized)

    def scalar(self, number: complex, kind: ElementType) -> Value:
        """A scalar constant."""
        plain = number.real if isinstance(number, complex) and not kind.is_complex else number
        return self.constant(np.asarray(np.array(plain).astype(kind.dtype)))

    def filled(self, number: complex, like: Value) -> Value:
        """A constant spread over the dimensions of another value."""
        return self.spread(self.scalar(number, like.kind), like.dimensions, like.array.dynamic)

    def spread(
        self, value: Value, dimensions: Sequence[int], dynamic: Sequence[bool] = ()
    ) -> Value:
        """A scalar as an array of these dimensions."""
        if not dimensions:
            return value
        shape = array(value.kind, dimensions, dynamic)
        return self.emit(Opcode.BROADCAST, [value], shape, dimensions=())

    def broadcast(self, value: Value, shape: ArrayShape, dimensions: tuple[int, ...]) -> Value:
        """``broadcast_in_dim``: dimensions of extent 1 are stretched, so they leave first."""
        if len(dimensions) != value.rank:
            raise Fault(
                f"broadcast dimensions {dimensions} must name one for each of {value.shape}"
            )
        if any(not 0 <= d < shape.rank for d in dimensions):
            raise Fault(f"broadcast dimensions {dimensions} are out of range for {shape}")
        pairs = list(zip(value.dimensions, dimensions, strict=True))
        kept = [i for i, (extent, d) in enumerate(pairs) if extent == shape.dimensions[d]]
        stretched = [extent for i, (extent, _) in enumerate(pairs) if i not in kept]
        if any(extent not in (1, UNBOUNDED) for extent in stretched):
            raise Fault(f"{value.shape} cannot be broadcast to {shape} along {dimensions}")
        if UNBOUNDED in stretched:
            kept = list(range(value.rank))
        if len(kept) != value.rank:
            rest = array(value.kind, [value.dimensions[i] for i in kept])
            value = self.emit(Opcode.RESHAPE, [value], rest)
        target = tuple(dimensions[i] for i in kept)
        return self.emit(Opcode.BROADCAST, [value], shape, dimensions=target)

    def convert(self, value: Value, kind: ElementType) -> Value:
        if value.kind is kind:
            return value
        if value.kind.is_complex and not kind.is_complex:
            value = self.emit(Opcode.REAL, [value])
            if value.kind is kind:
                return value
        return self.emit(Opcode.CONVERT, [value], value.array.with_element_type(kind))

    def reshape(self, value: Value, dimensions: Sequence[int]) -> Value:
        return self.emit(Opcode.RESHAPE, [value], array(value.kind, dimensions))

    def parameter(self, hint: str, shape: Shape) -> Value:
        name = self.program.names.fresh(hint)
        number = self._parameters
        self._parameters += 1
        attributes = Attributes(parameter_number=number)
        self.instructions[name] = Instruction(
            name, Opcode.PARAMETER, shape, (), attributes, None, None, (), self.line
        )
        return Value(name, shape)

    def element(self, value: Value, index: int) -> Value:
        return self.emit(Opcode.GET_TUPLE_ELEMENT, [value], index=index)

    def split(self, value: Value, count: int) -> list[Value]:
        """The results of an operation that yields one array, or a tuple of several."""
        if count == 1 and not isinstance(value.shape, TupleShape):
            return [value]
        if not isinstance(value.shape, TupleShape) or len(value.shape.elements) != count:
            raise Fault(f"{count} results are named, the operation yields {value.shape}")
        return [self.element(value, i) for i in range(count)]

    def bundle(self, values: Sequence[Value]) -> Value:
        return self.emit(Opcode.TUPLE, values)

    def packed(self, values: Sequence[Value]) -> Value:
        """One value itself, any other number as a tuple."""
        return values[0] if len(values) == 1 else self.bundle(values)

    def declared_shape(self, index: int = 0) -> Shape:
        """The shape that the operation says it yields."""
        if index >= len(self.declared):
            raise Fault("the operation needs one more result type")
        kind = self.declared[index]
        shape = shape_of(kind)
        if shape is None:
            raise Refusal(f"a value of type {kind}")
        return shape

    def declared_array(self, index: int = 0) -> ArrayShape:
        shape = self.declared_shape(index)
        if not isinstance(shape, ArrayShape):
            raise Fault(f"the result must be a tensor, it is {shape}")
        return shape

    # Regions

    def finish(self, results: Sequence[Value], packs: bool = False) -> str:
        """Ends the computation; its name. One result is the root itself unless ``packs``."""
        root = self.bundle(results) if packs else self.packed(results)
        computation = Computation(self.name, tuple(self.instructions.values()), root.name)
        self.program.computations[self.name] = computation
        return self.name

    def function(self, block: Block, hint: str) -> str:
        """A region whose outside values are constants, as a computation of its arguments."""
        inner = self.program.frame(hint, self.line)
        for name, kind in block.arguments:
            shape = shape_of(kind)
            if shape is None:
                raise Refusal(f"an argument of type {kind}")
            quantized = kind.quantized if isinstance(kind, TensorType) else None
            value = replace(inner.parameter(name, shape), quantized=quantized)
            inner.bind(name, [value], 0)
        for use in free_uses(block):
            value = self.value(use)
            copied = self._copied(value.name, inner, {})
            inner.values[use.key] = replace(value, name=copied)
        return inner.finish(self.program.block(block, inner))

    def _copied(self, name: str, inner: Frame, done: dict[str, str]) -> str:
        """Repeats a value that depends on nothing but constants inside another computation."""
        if name in done:
            return done[name]
        instruction = self.instructions[name]
        bound = instruction.opcode is Opcode.PARAMETER or instruction.callees
        if bound or instruction.has_side_effect or instruction.opcode is Opcode.RNG:
            message = "a region that takes an outside value which is not constant"
            raise Refusal(f"{message} ({name}, line {instruction.line})")
        operands = tuple(self._copied(o, inner, done) for o in instruction.operands)
        copy = inner.program.names.fresh(instruction.opcode.text)
        inner.instructions[copy] = replace(instruction, name=copy, operands=operands)
        done[name] = copy
        return copy

    def is_constant(self, name: str) -> bool:
        """True of constants and of what merely spreads or reshapes them."""
        instruction = self.instructions[name]
        if instruction.opcode is Opcode.CONSTANT:
            return instruction.literal is not None and size_of(instruction.shape) <= KNOWN_LIMIT
        copies = (Opcode.BROADCAST, Opcode.RESHAPE)
        return instruction.opcode in copies and self.is_constant(instruction.operands[0])

    def captured(self, blocks: Sequence[Block]) -> tuple[list[Use], list[Use]]:
        """The outside values of regions: those that vary, and those that are constants."""
        uses: dict[tuple[str, int], Use] = {}
        for block in blocks:
            for use in free_uses(block):
                uses.setdefault(use.key, use)
        constants = [u for u in uses.values() if self._is_repeated(self.value(u))]
        return [u for u in uses.values() if u not in constants], constants

    def _is_repeated(self, value: Value) -> bool:
        """True of what a region repeats inside: constants, and in a program for given extents the
        integers computed from them."""
        if self.is_constant(value.name):
            return True
        can_be = self.program.is_specialised and isinstance(value.shape, ArrayShape)
        return can_be and value.kind.is_integer and self.known(value) is not None

    def branch(
        self, block: Block, hint: str, arguments: Sequence[Value], packs: bool = False
    ) -> tuple[str, list[Value]]:
        """A region that takes its arguments and its varying outside values as one operand.

        Returns the computation and what to pass: arguments, then captured values.
        """
        varying, constants = self.captured([block])
        passed = [*arguments, *(self.value(use) for use in varying)]
        inner = self.program.frame(hint, self.line)
        received = inner.receive(passed)
        inner.adopt(self, block, received, varying, constants)
        results = self.program.block(block, inner)
        return inner.finish(results, packs), passed

    def receive(self, passed: Sequence[Value]) -> list[Value]:
        """Parameters for passed values: a single one as it is, several as one tuple."""
        if len(passed) == 1:
            value = self.parameter("arg", passed[0].shape)
            return [replace(value, quantized=passed[0].quantized)]
        return self.receive_tuple(passed)

    def receive_tuple(self, passed: Sequence[Value]) -> list[Value]:
        """One tuple parameter and its elements."""
        whole = self.parameter("arg", TupleShape(tuple(v.shape for v in passed)))
        return [
            replace(self.element(whole, i), quantized=v.quantized) for i, v in enumerate(passed)
        ]

    def adopt(
        self,
        outer: Frame,
        block: Block,
        received: Sequence[Value],
        varying: Sequence[Use],
        constants: Sequence[Use],
    ) -> None:
        """Binds block arguments and outside values to what was received."""
        count = len(block.arguments)
        for (name, _), value in zip(block.arguments, received, strict=False):
            self.bind(name, [value], 0)
        for use, value in zip(varying, received[count:], strict=False):
            self.values[use.key] = value
        done: dict[str, str] = {}
        for use in constants:
            value = outer.value(use)
            self.values[use.key] = replace(value, name=outer._copied(value.name, self, done))

    # Constants

    def known(self, value: Value) -> np.ndarray | None:
        """The array that a value has in every run, or None when it depends on an input."""
        return self._known.array(value.name)
