"""What one kernel computes and where its arrays lie, before any code: the input of every lowering
strategy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compiler.hlo.attributes import Attributes
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode as Hlo
from compiler.hlo.shape import ArrayShape, TupleShape
from isas.errors import InternalError

if TYPE_CHECKING:
    from compiler.buffers.assign import Assignment, Slice


@dataclass(frozen=True, slots=True)
class Input:
    """A parameter of the kernel's computation, the array it stands for, and the number of the
    pointer to it."""

    name: str
    shape: ArrayShape
    pointer: int


@dataclass(frozen=True, slots=True)
class Output:
    """A result: instruction `name` (its array `part`, for a reduce of several) goes to a
    pointer."""

    name: str
    part: int
    shape: ArrayShape
    pointer: int


@dataclass(frozen=True, slots=True)
class KernelSource:
    """A launch: the instruction, its computation (a bare operation is wrapped into one), and its
    pointers, which are distinct slices of the arena. An input and an output that share a slice
    share a pointer."""

    instruction: Instruction
    computation: Computation
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    slices: tuple[Slice, ...]

    @property
    def written(self) -> frozenset[int]:
        """Numbers of the pointers that are written through."""
        return frozenset(output.pointer for output in self.outputs)

    @property
    def root(self) -> Instruction:
        """The instruction that the kernel's loops are charged to: the first result."""
        return self.computation.instruction(self.outputs[0].name)

    @property
    def largest_count(self) -> int:
        """Elements of the largest array."""
        shapes = [i.shape for i in self.inputs] + [o.shape for o in self.outputs]
        return max((shape.element_count for shape in shapes), default=0)

    def is_disjoint(self, pointer: int) -> bool:
        """Whether no other pointer reaches into this one's slice."""
        mine = self.slices[pointer]
        others = [s for number, s in enumerate(self.slices) if number != pointer]
        return all(
            s.offset + s.size_bytes <= mine.offset or mine.offset + mine.size_bytes <= s.offset
            for s in others
        )


def kernel_source(module: Module, assignment: Assignment, name: str) -> KernelSource:
    """The launch of an entry instruction. Raises InternalError when buffer assignment left a slice
    out."""
    entry = module.entry_computation
    instruction = entry.instruction(name)
    pointers: dict[Slice, int] = {}

    def pointer_to(owner: str, path: tuple[int, ...]) -> int:
        found = assignment.slices.get((owner, path))
        if found is None:
            raise InternalError(f"buffer assignment has no slice for {owner}{list(path) or ''}")
        return pointers.setdefault(found, len(pointers))

    computation, names = _computation(module, instruction)
    inputs = tuple(
        Input(inner, entry.instruction(outer).array, pointer_to(outer, ()))
        for inner, outer in names.items()
    )
    outputs = tuple(
        Output(root, part, shape, pointer_to(name, path))
        for root, part, shape, path in _results(computation)
    )
    return KernelSource(instruction, computation, inputs, outputs, tuple(pointers))


def _computation(module: Module, instruction: Instruction) -> tuple[Computation, Mapping[str, str]]:
    """The kernel's computation, and for each of its parameters the entry instruction it stands
    for."""
    if instruction.opcode is Hlo.FUSION:
        computation = module.computation(instruction.attributes["calls"])
        names = [parameter.name for parameter in computation.parameters]
        return computation, dict(zip(names, instruction.operands, strict=True))
    return _wrapped(module, instruction)


def _wrapped(module: Module, instruction: Instruction) -> tuple[Computation, Mapping[str, str]]:
    entry = module.entry_computation
    parameters: list[Instruction] = []
    for number, name in enumerate(dict.fromkeys(instruction.operands)):
        attributes = Attributes(parameter_number=number)
        shape = entry.instruction(name).shape
        parameters.append(Instruction(name, Hlo.PARAMETER, shape, (), attributes))
    body = (*parameters, instruction)
    computation = Computation(f"{instruction.name}.kernel", body, instruction.name)
    return computation, {parameter.name: parameter.name for parameter in parameters}


def _results(
    computation: Computation,
) -> list[tuple[str, int, ArrayShape, tuple[int, ...]]]:
    root = computation.root_instruction
    if root.opcode is Hlo.TUPLE:
        return [
            (name, 0, computation.instruction(name).array, (position,))
            for position, name in enumerate(root.operands)
        ]
    if isinstance(root.shape, TupleShape):
        return [
            (root.name, position, shape, (position,))
            for position, shape in enumerate(root.shape.elements)
            if isinstance(shape, ArrayShape)
        ]
    return [(root.name, 0, root.array, ())]
