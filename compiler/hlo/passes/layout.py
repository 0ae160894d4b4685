"""Layout assignment: how every array lies in memory, with the reason where there was a choice.

The caller's layouts of parameters and results stand. In between a move should cost nothing: a
transpose or reshape takes the layout under which it is a bitcast, elementwise work keeps the
layout of what it reads most of, a reduce that of what is left of its operand. Operations that run
other computations, and those without an element by element form, get row-major operands and
results. Where the layouts on both sides are given and differ, a copy stands between, and is told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar

from compiler.hlo.attributes import NO_ATTRIBUTES, Attributes
from compiler.hlo.elements import ELEMENTAL
from compiler.hlo.kernels import launching_computations
from compiler.hlo.layouts import (
    is_simple,
    of_reshape,
    of_transpose,
    row_major_shape,
    with_layouts,
    without_dimensions,
)
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.passes.context import PassContext
from compiler.hlo.rewriter import ComputationEditor, Rewriter
from compiler.hlo.shape import ArrayShape, Layout, Shape, TupleShape, row_major, subshape
from compiler.journal import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutChosen(Decision):
    """The layout of one array that does not lie row-major."""

    worded: ClassVar[tuple[str, ...]] = ("because",)

    @property
    def template(self) -> str:
        return "{subject} lies {chosen}: {because}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyInserted(Decision):
    """A copy that stands between two layouts. ``chosen`` is the layout it makes."""

    worded: ClassVar[tuple[str, ...]] = ("because",)

    size_bytes: int

    @property
    def template(self) -> str:
        return "{subject} is copied to {chosen} ({size_bytes} bytes): {because}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandRead(Decision):
    """How a product reads one of its operands. ``chosen`` says row-major, column-major, or the
    layout."""

    operand: str

    @property
    def template(self) -> str:
        return "{subject} reads {operand} {chosen}: {because}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutsAssigned(Decision):
    """The sum of a module: arrays that do not lie row-major, and copies between layouts."""

    turned: int
    copies: int
    copied_bytes: int

    @property
    def template(self) -> str:
        return (
            "{subject}: {turned} arrays not row-major, {copies} copies between layouts "
            "({copied_bytes} bytes)"
        )


def run(module: Module, context: PassContext) -> Module:
    """Gives every array an explicit layout; inserts copies where two given layouts meet."""
    rewriter = Rewriter(module)
    launched = {c.name for c in launching_computations(module)}
    assigners = []
    for computation in module.computations:
        editor = rewriter.edit(computation.name)
        if computation.name in launched:
            assigners.append(_Assigner(module, computation, editor, context))
            assigners[-1].assign()
        else:
            _row_major(computation, editor)
    context.record(
        LayoutsAssigned(
            subject=module.name,
            turned=sum(a.turned for a in assigners),
            copies=sum(len(a.copied) for a in assigners),
            copied_bytes=sum(size for a in assigners for size in a.copied),
        )
    )
    return rewriter.build()


def _row_major(computation: Computation, editor: ComputationEditor) -> None:
    for instruction in computation:
        shape = with_layouts(instruction.shape)
        if shape != instruction.shape:
            editor.rewrite(replace(instruction, shape=shape))


_FOLLOWERS = (
    Opcode.SLICE,
    Opcode.PAD,
    Opcode.DYNAMIC_SLICE,
    Opcode.DYNAMIC_UPDATE_SLICE,
    Opcode.REVERSE,
    Opcode.CONCATENATE,
)
"""Operations whose result lies as their first operand does."""

_FLEXIBLE = ELEMENTAL | {Opcode.DOT, Opcode.REDUCE, Opcode.TUPLE, Opcode.GET_TUPLE_ELEMENT}
"""Operations that take operands in any layout."""

_PRODUCTS = (Opcode.DOT, Opcode.CONVOLUTION)
"""Operations of whose operands the order in memory is told."""


@dataclass(slots=True)
class _Assigner:
    """The layouts of one computation, chosen in order from operands to users."""

    module: Module
    computation: Computation
    editor: ComputationEditor
    context: PassContext
    shapes: dict[str, Shape] = field(default_factory=dict)
    demanded: dict[str, Layout] = field(default_factory=dict)
    results: dict[str, str] = field(default_factory=dict)
    copied: list[int] = field(default_factory=list)
    turned: int = 0

    def assign(self) -> None:
        wanted = self._result_shape()
        self._demand(self.computation.root, wanted)
        for instruction in self.computation:
            self._assign(instruction)
        root = self._converted(self.computation.root, wanted, "the caller wants it so", None)
        if root != self.computation.root:
            self.editor.set_root(root)

    def _is_entry(self) -> bool:
        return self.computation.name == self.module.entry

    def _result_shape(self) -> Shape:
        if self._is_entry() and self.module.entry_layout is not None:
            return with_layouts(self.module.entry_layout.result)
        return row_major_shape(self.computation.shape)

    def _demand(self, name: str, shape: Shape) -> None:
        """Notes the layout that a result must have with the instruction that computes it."""
        instruction = self.computation.instruction(name)
        if instruction.opcode is Opcode.TUPLE and isinstance(shape, TupleShape):
            for operand, element in zip(instruction.operands, shape.elements, strict=True):
                self._demand(operand, element)
        elif isinstance(shape, ArrayShape) and shape.layout is not None:
            self.demanded.setdefault(name, shape.layout)

    def _assign(self, instruction: Instruction) -> None:
        if instruction.opcode in _FLEXIBLE or not instruction.operands:
            operands = instruction.operands
        else:
            operands = tuple(self._row_major_operand(instruction, n) for n in instruction.operands)
        if instruction.opcode in _PRODUCTS:
            self._tell_operands(instruction, operands)
        shape = self._shape(instruction)
        self.shapes[instruction.name] = shape
        if shape != instruction.shape or operands != instruction.operands:
            current = self.editor.instruction(instruction.name)
            self.editor.rewrite(replace(current, shape=shape, operands=operands))

    def _shape(self, instruction: Instruction) -> Shape:
        if instruction.opcode is Opcode.PARAMETER:
            return self._parameter_shape(instruction)
        if instruction.opcode is Opcode.TUPLE:
            return TupleShape(tuple(self.shapes[n] for n in instruction.operands))
        if instruction.opcode is Opcode.GET_TUPLE_ELEMENT:
            source = self.shapes[instruction.operands[0]]
            return subshape(source, (instruction.tuple_index,))
        if not isinstance(instruction.shape, ArrayShape) or not is_simple(instruction.shape.layout):
            return with_layouts(instruction.shape)
        if instruction.array.is_scalar:
            return instruction.array.with_layout(None)
        layout, because = self._layout(instruction)
        if not layout.is_row_major:
            self._record(instruction, layout, because)
        return instruction.array.with_layout(layout)

    def _parameter_shape(self, instruction: Instruction) -> Shape:
        layout = self.module.entry_layout
        if self._is_entry() and layout is not None:
            return with_layouts(layout.parameters[instruction.parameter_number])
        return row_major_shape(instruction.shape)

    def _layout(self, instruction: Instruction) -> tuple[Layout, str]:
        demanded = self.demanded.get(instruction.name)
        if demanded is not None and instruction.opcode in _FLEXIBLE:
            return demanded, "the caller wants the result so"
        rule = _CHOICES.get(instruction.opcode)
        if rule is None and instruction.opcode.is_elementwise:
            rule = _like_operands
        found = rule(instruction, self._operand_shapes(instruction)) if rule else None
        return found or (row_major(instruction.array.rank), "")

    def _operand_shapes(self, instruction: Instruction) -> list[ArrayShape]:
        shapes = [self.shapes[n] for n in instruction.operands]
        return [s for s in shapes if isinstance(s, ArrayShape)]

    def _row_major_operand(self, user: Instruction, name: str) -> str:
        because = f"{user.name} ({user.opcode}) reads it row by row"
        return self._converted(name, row_major_shape(self.shapes[name]), because, user.name)

    def _converted(self, name: str, wanted: Shape, because: str, before: str | None) -> str:
        """The value in the wanted layouts: itself, or a copy of what differs."""
        shape = self.shapes[name]
        if shape == wanted:
            return name
        if isinstance(shape, TupleShape) and isinstance(wanted, TupleShape):
            parts = self._elements(name, before)
            pairs = zip(parts, wanted.elements, strict=True)
            made = [self._converted(part, element, because, before) for part, element in pairs]
            return self._add(Opcode.TUPLE, wanted, made, name, before)
        if not isinstance(wanted, ArrayShape) or wanted.layout is None:
            return name
        copy = self._add(Opcode.COPY, wanted, [name], name, before)
        self.copied.append(wanted.size_bytes)
        source = self.computation.instruction(self._origin(name))
        self.context.record(
            CopyInserted(
                subject=source.name,
                origins=source.origins,
                chosen=str(wanted.layout),
                because=because,
                size_bytes=wanted.size_bytes,
            )
        )
        return copy

    def _elements(self, name: str, before: str | None) -> list[str]:
        instruction = self.editor.instruction(name)
        if instruction.opcode is Opcode.TUPLE:
            return list(instruction.operands)
        shape = self.shapes[name]
        elements = shape.elements if isinstance(shape, TupleShape) else ()
        return [
            self._add(Opcode.GET_TUPLE_ELEMENT, element, [name], name, before, index=number)
            for number, element in enumerate(elements)
        ]

    def _origin(self, name: str) -> str:
        return self.results.get(name, name)

    def _add(
        self,
        opcode: Opcode,
        shape: Shape,
        operands: list[str],
        source: str,
        before: str | None,
        index: int | None = None,
    ) -> str:
        origin = self._origin(source)
        added = self.editor.add(
            opcode,
            shape,
            operands,
            NO_ATTRIBUTES if index is None else Attributes(index=index),
            sources=(self.computation.instruction(origin),),
            before=before,
        )
        self.shapes[added] = shape
        self.results[added] = origin
        return added

    def _tell_operands(self, product: Instruction, operands: tuple[str, ...]) -> None:
        """Says of both operands of a product how they lie and why."""
        for given, name in zip(product.operands, operands, strict=True):
            shape = self.shapes[name]
            if not isinstance(shape, ArrayShape) or shape.rank < 2:
                continue
            because = "it lies so already; a dot takes any layout"
            if name != given:
                because = f"copied, because a {product.opcode} reads row by row"
            elif product.opcode not in _FLEXIBLE:
                because = "it lies so already"
            self.context.record(
                OperandRead(
                    subject=product.name,
                    origins=product.origins,
                    chosen=_order_name(shape),
                    because=because,
                    operand=given,
                )
            )

    def _record(self, instruction: Instruction, layout: Layout, because: str) -> None:
        self.turned += 1
        self.context.record(
            LayoutChosen(
                subject=instruction.name,
                origins=instruction.origins,
                chosen=str(layout),
                because=because,
            )
        )


def _order_name(shape: ArrayShape) -> str:
    order = shape.minor_to_major
    if order == tuple(sorted(order, reverse=True)):
        return "row-major"
    return (
        "column-major" if order == tuple(sorted(order)) else f"as {{{','.join(map(str, order))}}}"
    )


_Choice = tuple[Layout, str] | None


def _transposed(instruction: Instruction, operands: list[ArrayShape]) -> _Choice:
    return of_transpose(operands[0], instruction.dimensions), "so that nothing moves"


def _reshaped(instruction: Instruction, operands: list[ArrayShape]) -> _Choice:
    layout = of_reshape(operands[0], instruction.array.dimensions)
    return None if layout is None else (layout, "so that nothing moves")


def _reduced(instruction: Instruction, operands: list[ArrayShape]) -> _Choice:
    return without_dimensions(operands[0], instruction.dimensions), "like its operand"


def _like_first(instruction: Instruction, operands: list[ArrayShape]) -> _Choice:
    return Layout(operands[0].minor_to_major), "like its operand"


def _like_operands(instruction: Instruction, operands: list[ArrayShape]) -> _Choice:
    """The layout in which most bytes of the operands lie; row-major when even."""
    weights: dict[Layout, int] = {}
    for shape in operands:
        if shape.rank == instruction.array.rank and shape.layout is not None:
            weights[shape.layout] = weights.get(shape.layout, 0) + shape.size_bytes
    if not weights:
        return None
    best = max(weights, key=lambda layout: (weights[layout], layout.is_row_major))
    return best, "like most of what it reads"


_CHOICES: dict[Opcode, Callable[[Instruction, list[ArrayShape]], _Choice]] = {
    Opcode.TRANSPOSE: _transposed,
    Opcode.RESHAPE: _reshaped,
    Opcode.REDUCE: _reduced,
    **dict.fromkeys(_FOLLOWERS, _like_first),
}
