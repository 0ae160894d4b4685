"""Lowers the functions of one StableHLO module into the computations of one HLO module.

A function becomes a computation when it is first called; one whose types are dynamic is lowered
anew at every call, in place, so that it sees the extents and constants of that call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from compiler.frontend.stablehlo.lower.frame import Frame, Value
from compiler.frontend.stablehlo.lower.quantized import is_quantized, through_expressed
from compiler.frontend.stablehlo.lower.reading import Fault, Refusal
from compiler.frontend.stablehlo.lower.table import handler_of
from compiler.frontend.stablehlo.operations import Block, Operation
from compiler.frontend.stablehlo.places import Places
from compiler.frontend.stablehlo.source import Source
from compiler.frontend.stablehlo.types import MlirType, TensorType, shape_of
from compiler.hlo.attributes import Attributes, Verbatim
from compiler.hlo.infer import InferenceError
from compiler.hlo.infer.base import array
from compiler.hlo.module import Computation, Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.quoting import quoted
from compiler.hlo.rewriter import Names
from compiler.hlo.shape import ArrayShape, ElementType, Shape, TupleShape, compatible

RETURNS = frozenset({"stablehlo.return", "func.return", "chlo.return", "mhlo.return", "sdy.return"})
_FOREIGN_CHARACTER = re.compile(r"[^\w.]")
MAX_CALLS = 64
"""How deep functions may call one another."""
MAX_EXTENTS = 64
"""The most integers of an argument that may be extents."""


class Lowering:
    """The state of one module's lowering: functions by name, finished computations by name."""

    def __init__(self, source: Source, functions: dict[str, Operation], places: Places) -> None:
        self.source = source
        self.functions = functions
        self.places = places
        self.computations: dict[str, Computation] = {}
        self.names = Names()
        self.is_specialised = False
        self.infeed: list[tuple[Frame, list[Value]]] = []
        """What later infeeds take, in order, with the computation that has it."""
        self._computation_names = Names()
        self._lowered: dict[str, str] = {}
        self._calling: list[str] = []

    def frame(self, hint: str, line: int) -> Frame:
        """A new computation."""
        clean = _FOREIGN_CHARACTER.sub("_", hint)
        if not clean or not (clean[0].isalpha() or clean[0] == "_"):
            clean = f"f_{clean}"
        frame = Frame(self, self._computation_names.fresh(clean))
        frame.line = line
        return frame

    # Functions

    @property
    def reached(self) -> set[str]:
        """The functions that were lowered, whether for a call or as an entry."""
        return set(self._lowered)

    def called(self, name: str) -> Operation:
        """The function of this name. Raises Fault when there is none."""
        function = self.functions.get(name)
        if function is None:
            raise Fault(f"function @{name} is not defined")
        if not function.regions:
            raise Refusal(f"function @{name}, which is declared but has no body")
        return function

    def is_dynamic(self, function: Operation) -> bool:
        """True when an argument's or result's extents are not all static."""
        kind = function.attributes["function_type"]
        return any(_is_dynamic(t) for t in (*kind.inputs, *kind.results))

    def function(self, name: str) -> str:
        """The computation that a function is lowered to."""
        if name not in self._lowered:
            function = self.called(name)
            frame = self.frame(name, self.source.line_of(function.at))
            with_types = function.regions[0].arguments
            arguments = [self._parameter(frame, n, kind) for n, kind in with_types]
            self._finish(name, function, frame, arguments)
        return self._lowered[name]

    def specialised(self, name: str, arrays: Sequence[np.ndarray]) -> str:
        """The computation of a function for arguments of these extents. Small integers among them
        count as constants, because extents may be computed from them.
        """
        function = self.called(name)
        block = function.regions[0]
        if len(arrays) != len(block.arguments):
            message = f"function @{name} takes {len(block.arguments)} arguments"
            raise Fault(f"{message}, {len(arrays)} are given")
        self.is_specialised = True
        frame = self.frame(name, self.source.line_of(function.at))
        arguments = []
        for (argument, kind), values in zip(block.arguments, arrays, strict=True):
            if not isinstance(kind, TensorType):
                raise Refusal(f"argument %{argument} of type {kind}")
            shape = array(kind.shape.element_type, values.shape)
            value = self._parameter(frame, argument, TensorType(shape, kind.quantized))
            is_extent = shape.element_type.is_integer and values.size <= MAX_EXTENTS
            typed = values.astype(shape.element_type.dtype) if is_extent else None
            arguments.append(value if typed is None else frame.constant(typed, kind.quantized))
        self._finish(name, function, frame, arguments)
        return self._lowered[name]

    def _finish(
        self, name: str, function: Operation, frame: Frame, arguments: Sequence[Value]
    ) -> None:
        self._sharded(frame, function)
        results = self._entered(name, function, frame, arguments)
        self._check_yields(function, results)
        self._lowered[name] = frame.finish(results)

    def inline(self, name: str, frame: Frame, arguments: Sequence[Value]) -> list[Value]:
        """Lowers a function's body where it is called."""
        function = self.called(name)
        outside, frame.values = frame.values, {}
        results = self._entered(name, function, frame, arguments)
        frame.values = outside
        return results

    def _entered(
        self, name: str, function: Operation, frame: Frame, arguments: Sequence[Value]
    ) -> list[Value]:
        if name in self._calling:
            raise Fault(f"function @{name} calls itself")
        if len(self._calling) >= MAX_CALLS:
            raise Refusal(f"calls more than {MAX_CALLS} deep")
        block = function.regions[0]
        if len(arguments) != len(block.arguments):
            raise Fault(
                f"function @{name} takes {len(block.arguments)} arguments, "
                f"{len(arguments)} are given"
            )
        for (argument, kind), value in zip(block.arguments, arguments, strict=True):
            _check_type(f"argument %{argument} of @{name}", value.shape, kind)
            frame.bind(argument, [value], function.at)
        self._calling.append(name)
        results = self.block(block, frame)
        self._calling.pop()
        return results

    def _parameter(self, frame: Frame, name: str, kind: MlirType) -> Value:
        shape = shape_of(kind)
        if shape is None:
            raise Refusal(f"argument %{name} of type {kind}")
        quantized = kind.quantized if isinstance(kind, TensorType) else None
        hint = name if name[:1].isalpha() else f"arg{name}"
        return replace(
            frame.parameter(_FOREIGN_CHARACTER.sub("_", hint), shape), quantized=quantized
        )

    def _sharded(self, frame: Frame, function: Operation) -> None:
        """Puts the arguments' shardings on the parameters."""
        attributes = function.attributes.get("arg_attrs", ())
        for parameter, entries in zip(list(frame.instructions.values()), attributes, strict=False):
            kept = kept_attributes(entries)
            if kept:
                made = Attributes({**parameter.attributes, **kept})
                frame.instructions[parameter.name] = replace(parameter, attributes=made)

    def _check_yields(self, function: Operation, results: Sequence[Value]) -> None:
        wanted = function.attributes["function_type"].results
        name = function.attributes["sym_name"]
        if len(wanted) != len(results):
            raise Fault(f"function @{name} returns {len(results)} values, not {len(wanted)}")
        for index, (kind, value) in enumerate(zip(wanted, results, strict=True)):
            _check_type(f"result {index} of @{name}", value.shape, kind)

    # Helpers

    def binary(self, opcode: Opcode, kind: ElementType, line: int) -> str:
        """A computation of two scalars that is one operation."""
        frame = self.frame(opcode.text, line)
        shape = array(kind, ())
        operands = [frame.parameter("lhs", shape), frame.parameter("rhs", shape)]
        return frame.finish([frame.emit(opcode, operands)])

    def repacked(self, name: str) -> str:
        """A finished computation with its only result in a tuple."""
        computation = self.computations[name]
        root = computation.root_instruction
        made = Instruction(
            self.names.fresh("tuple"), Opcode.TUPLE, TupleShape((root.shape,)), (root.name,)
        )
        instructions = (*computation.instructions, made)
        self.computations[name] = replace(computation, instructions=instructions, root=made.name)
        return name

    # Operations

    def block(self, block: Block, frame: Frame) -> list[Value]:
        """Lowers a region's operations; the values it returns."""
        line, metadata = frame.line, frame.metadata
        for operation in block.operations:
            if operation.name in RETURNS:
                frame.line, frame.metadata = line, metadata
                return [frame.value(use) for use in operation.operands]
            self.operation(operation, frame)
        raise Fault("a region must end with a return")

    def operation(self, operation: Operation, frame: Frame) -> None:
        frame.line = self.source.line_of(operation.at)
        frame.metadata = self.places.metadata(operation.location)
        frame.declared = operation.result_types
        operands = [frame.value(use) for use in operation.operands]
        first = len(frame.instructions)
        try:
            self._check_operands(operation, operands)
            results = _quantized(self._results(operation, frame, operands), operation)
            self._check_results(operation, results)
        except Refusal as error:
            message = f"{operation.name}: {error}" if str(error) else operation.name
            raise self.source.refused(f"{message} is not supported", operation.at) from None
        except (Fault, InferenceError) as error:
            raise self.source.broken(f"{operation.name}: {error}", operation.at) from None
        self._annotate(operation, frame, first)
        position = 0
        for name, count in operation.results:
            frame.bind(name, results[position : position + count], operation.at)
            position += count

    def _results(self, operation: Operation, frame: Frame, operands: list[Value]) -> list[Value]:
        handler = handler_of(operation.name)
        if handler is None:
            raise Refusal("")
        try:
            if is_quantized(operation, operands):
                return through_expressed(frame, operation, operands, handler)
            return handler(frame, operation, operands)
        except (Fault, Refusal, InferenceError):
            raise
        except (IndexError, ValueError):
            count = f"{len(operands)} operands" if len(operands) != 1 else "one operand"
            raise Fault(f"its {count} and its attributes do not fit together") from None

    def _check_operands(self, operation: Operation, operands: Sequence[Value]) -> None:
        kinds = operation.operand_types
        if kinds is None:
            return
        if len(kinds) != len(operands):
            raise Fault(f"has {len(operands)} operands, {len(kinds)} types are written")
        for use, kind, value in zip(operation.operands, kinds, operands, strict=True):
            _check_type(f"operand {use}", value.shape, kind)

    def _check_results(self, operation: Operation, results: Sequence[Value]) -> None:
        kinds = operation.result_types
        if len(kinds) != len(results):
            raise Fault(f"yields {len(results)} values, {len(kinds)} types are written")
        for kind, value in zip(kinds, results, strict=True):
            _check_type("the result", value.shape, kind)

    def _annotate(self, operation: Operation, frame: Frame, first: int) -> None:
        """Keeps sharding and frontend attributes on the operation's last instruction."""
        kept = kept_attributes(operation.attributes)
        if not kept or len(frame.instructions) == first:
            return
        last: Instruction = next(reversed(frame.instructions.values()))
        if last.opcode is not Opcode.GET_TUPLE_ELEMENT:
            made = Attributes({**kept, **last.attributes})
            frame.instructions[last.name] = replace(last, attributes=made)


def _quantized(values: list[Value], operation: Operation) -> list[Value]:
    """Values with the quantisation that the operation declares for them."""
    kinds = operation.result_types
    are_any = any(isinstance(kind, TensorType) and kind.quantized for kind in kinds)
    if not are_any or len(kinds) != len(values):
        return values
    return [
        replace(value, quantized=kind.quantized) if isinstance(kind, TensorType) else value
        for value, kind in zip(values, kinds, strict=True)
    ]


def kept_attributes(entries: dict[str, Any]) -> dict[str, Any]:
    """The attributes of any operation that HLO has too: sharding and frontend attributes."""
    kept: dict[str, Any] = {}
    sharding = entries.get("mhlo.sharding")
    if isinstance(sharding, str) and sharding.startswith("{"):
        kept["sharding"] = Verbatim(sharding)
    frontend = entries.get("mhlo.frontend_attributes")
    if isinstance(frontend, dict) and all(isinstance(v, str) for v in frontend.values()):
        pairs = ",".join(f"{key}={quoted(value)}" for key, value in sorted(frontend.items()))
        kept["frontend_attributes"] = Verbatim(f"{{{pairs}}}")
    return kept


def _is_dynamic(kind: MlirType) -> bool:
    shape = shape_of(kind)
    return shape is None or _has_dynamic(shape)


def _has_dynamic(shape: Shape) -> bool:
    if isinstance(shape, TupleShape):
        return any(map(_has_dynamic, shape.elements))
    return isinstance(shape, ArrayShape) and not shape.is_static


def _check_type(what: str, shape: Shape, kind: MlirType) -> None:
    wanted = shape_of(kind)
    if wanted is not None and not compatible(shape, wanted):
        raise Fault(f"{what} is {shape}, {wanted} is written")
