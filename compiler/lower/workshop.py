"""One kernel function under construction: its emitter, its elements, its pointers."""

from __future__ import annotations

import re

from compiler.hlo.module import Module
from compiler.hlo.shape import ArrayShape, ElementType
from compiler.llvm.ir import Argument, Function, Value
from compiler.llvm.types import I32, I64, pointer
from compiler.lower.affine import linearize
from compiler.lower.arithmetic import Arithmetic
from compiler.lower.elemental import Binding, Elemental, Frame, Indices
from compiler.lower.emit import Emitter
from compiler.lower.rules import RULES
from compiler.lower.source import KernelSource, Output
from compiler.lower.types import memory_type
from compiler.options import Options
from compiler.target import Target

ALIGNMENT = 64
"""Every slice of the arena begins at a multiple of this many bytes."""

GLOBAL = 1
"""NVPTX's address space of global memory."""


class Workshop:
    """Builds the function of `source`. `frame` holds the kernel's computation with its parameters
    bound to loads."""

    def __init__(
        self, module: Module, source: KernelSource, target: Target, options: Options, name: str
    ) -> None:
        self.module = module
        self.source = source
        self.target = target
        self.options = options
        self.function = Function(name, _arguments(source, target), _attributes(target))
        is_small = source.largest_count < 1 << 30
        index_type = I32 if target.is_simt and is_small else I64
        self.emitter = Emitter(self.function, index_type)
        self.emitter.origins = source.root.origins
        self.arithmetic = Arithmetic(self.emitter, target)
        self.elemental = Elemental(module, self.arithmetic, RULES, options.strict_order)
        self.frame = Frame(source.computation)
        for given in source.inputs:
            self.frame.bindings[given.name] = self.array(
                self.function.arguments[given.pointer], given.shape
            )

    def fresh(self) -> Workshop:
        """The same kernel, begun anew."""
        return Workshop(self.module, self.source, self.target, self.options, self.function.name)

    def array(self, base: Value, shape: ArrayShape) -> Binding:
        """A binding that loads from an array in memory that the kernel only reads where it
        writes."""

        def load(at: Indices) -> Value:
            type = memory_type(shape.element_type)
            return self._from_memory(
                self.emitter.load(type, self.place(base, shape, at), "element"), shape
            )

        return load

    def reload(self, base: Value, shape: ArrayShape) -> Binding:
        """A binding that loads what the kernel itself has stored before."""

        def load(at: Indices) -> Value:
            type = memory_type(shape.element_type)
            return self._from_memory(
                self.emitter.load_here(type, self.place(base, shape, at), "kept"), shape
            )

        return load

    def _from_memory(self, value: Value, shape: ArrayShape) -> Value:
        is_truth = shape.element_type is ElementType.PRED
        return self.arithmetic.from_byte(value) if is_truth else value

    def place(self, base: Value, shape: ArrayShape, at: Indices) -> Value:
        """The address of an element."""
        index = linearize(at, shape.strides)
        return self.emitter.address(
            base, memory_type(shape.element_type), index, shape.element_count
        )

    def store(self, value: Value, base: Value, shape: ArrayShape, at: Indices) -> None:
        """Writes an element."""
        if shape.element_type is ElementType.PRED:
            value = self.arithmetic.as_byte(value)
        self.emitter.store(value, self.place(base, shape, at))

    def write(self, output: Output, value: Value, at: Indices) -> None:
        """Writes an element of a result, charged to the instruction that yields it."""
        before = self.emitter.origins
        self.emitter.origins = self.source.computation.instruction(output.name).origins
        self.store(value, self.function.arguments[output.pointer], output.shape, at)
        self.emitter.origins = before


def _arguments(source: KernelSource, target: Target) -> list[Argument]:
    type = pointer(GLOBAL if target.is_simt else 0)
    found: list[Argument] = []
    for number, piece in enumerate(source.slices):
        attributes = ["noalias"] if source.is_disjoint(number) else []
        if number not in source.written:
            attributes.append("readonly")
        attributes.append(f"align {ALIGNMENT}")
        if piece.size_bytes:
            attributes.append(f"dereferenceable({piece.size_bytes})")
        names = _names(source, number)
        origins = tuple(dict.fromkeys(names))
        found.append(
            Argument(type, f"{_identifier(names[0])}.p{number}", tuple(attributes), origins)
        )
    return found


def _names(source: KernelSource, pointer: int) -> list[str]:
    inputs = [i.name for i in source.inputs if i.pointer == pointer]
    outputs = [o.name for o in source.outputs if o.pointer == pointer]
    return inputs + outputs


def _attributes(target: Target) -> tuple[str, ...]:
    return ("ptx_kernel", "nounwind") if target.is_simt else ("nounwind",)


def _identifier(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", text)


def function_names(names: tuple[str, ...]) -> dict[str, str]:
    """A symbol that every assembler takes for each kernel instruction, all different."""
    taken: set[str] = set()
    found: dict[str, str] = {}
    for name in names:
        base = _identifier(name)
        symbol, number = base, 1
        while symbol in taken:
            symbol, number = f"{base}_{number}", number + 1
        taken.add(symbol)
        found[name] = symbol
    return found
