"""Which instructions name the same memory, and when a result may take its operand's place.

Tuples, their elements and bitcasts only hand memory on, so each of their leaves *is* a leaf of the
instruction that made it. A kernel may write over an operand when it reads every element of it at
most where it writes, and never after writing there; the row structure proves that. A scatter, a
sort and their like begin with a copy of an operand and change that, so the copy may be the operand
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from compiler.hlo import indices as ix
from compiler.hlo.attributes import Attributes
from compiler.hlo.indices import Index
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.rows import RowStructure, Space, roots_of, row_structure
from compiler.hlo.shape import ArrayShape, Shape, TupleShape

Path: TypeAlias = tuple[int, ...]
"""Tuple positions that lead to one array of an instruction's result."""

Value: TypeAlias = tuple[str, Path]
"""One array of an instruction's result."""

_FORWARDING = (Opcode.BITCAST, Opcode.OPT_BARRIER, Opcode.DOMAIN, Opcode.ADD_DEPENDENCY)


def paths(shape: Shape, prefix: Path = ()) -> tuple[tuple[Path, Shape], ...]:
    """The leaves of a shape with the way to them, in order."""
    if not isinstance(shape, TupleShape):
        return ((prefix, shape),)
    elements = enumerate(shape.elements)
    return tuple(leaf for i, e in elements for leaf in paths(e, (*prefix, i)))


def sources(module: Module, computation: Computation) -> Mapping[Value, Value]:
    """For every array of every instruction, the array that it really is."""
    found: dict[Value, Value] = {}
    for instruction in computation:
        constant_state = _constant_state(module, instruction)
        for path, _ in paths(instruction.shape):
            value = (instruction.name, path)
            target = _forwarded(instruction, path)
            if path in constant_state:
                target = (instruction.operands[0], path)
            found[value] = value if target is None else found[target]
    return found


def _constant_state(module: Module, instruction: Instruction) -> frozenset[Path]:
    """The elements of a loop's state that its body hands on as they are."""
    if instruction.opcode is not Opcode.WHILE:
        return frozenset()
    body = module.computation(instruction.attributes["body"])
    inside = sources(module, body)
    state = body.parameters[0].name
    found = (path for path, _ in paths(instruction.shape))
    return frozenset(path for path in found if inside[(body.root, path)] == (state, path))


def _forwarded(instruction: Instruction, path: Path) -> Value | None:
    if instruction.opcode is Opcode.TUPLE:
        return (instruction.operands[path[0]], path[1:]) if path else None
    if instruction.opcode is Opcode.GET_TUPLE_ELEMENT:
        return (instruction.operands[0], (instruction.tuple_index, *path))
    if instruction.opcode in _FORWARDING:
        return (instruction.operands[0], path)
    return None


@dataclass(frozen=True, slots=True)
class InPlace:
    """Result ``path`` of an instruction may be written over an array of operand ``operand``."""

    path: Path
    operand: int
    operand_path: Path = ()


def in_place_pairs(
    module: Module, computation: Computation, instruction: Instruction
) -> tuple[InPlace, ...]:
    """The operands that an instruction may overwrite, each with the result that may do it.

    The state of a loop is updated where it lies.
    """
    if instruction.opcode is Opcode.WHILE:
        return tuple(InPlace(path, 0, path) for path, _ in paths(instruction.shape))
    if instruction.opcode in _UPDATED:
        return tuple(_updates(computation, instruction))
    body = kernel_body(module, computation, instruction)
    if body is None:
        return ()
    structure = row_structure(module, body)
    if not isinstance(structure, RowStructure):
        return ()
    roots = roots_of(body)
    pairs: list[InPlace] = []
    for number, root in enumerate(roots):
        path = (number,) if isinstance(instruction.shape, TupleShape) else ()
        if roots.count(root) > 1:
            continue
        for parameter in body.parameters:
            if _may_overwrite(body, structure, root, parameter):
                pairs.append(InPlace(path, parameter.parameter_number))
    return tuple(pairs) if structure.dot is None else _beside_sums(body, structure.dot, pairs)


def _updates(computation: Computation, instruction: Instruction) -> Iterator[InPlace]:
    """The operands that an operation of `_UPDATED` turns into its results."""
    numbers = _UPDATED[instruction.opcode](instruction)
    for number, (path, shape) in zip(numbers, paths(instruction.shape), strict=True):
        operand = computation.instruction(instruction.operands[number]).shape
        if not isinstance(operand, ArrayShape) or not isinstance(shape, ArrayShape):
            continue
        if operand.size_bytes == shape.size_bytes and operand.strides == shape.strides:
            yield InPlace(path, number)


_UPDATED: Mapping[Opcode, Callable[[Instruction], Iterable[int]]] = {
    Opcode.SCATTER: lambda scatter: range(len(scatter.operands) // 2),
    Opcode.SORT: lambda sort: range(len(sort.operands)),
    Opcode.TRIANGULAR_SOLVE: lambda _: (1,),
    Opcode.CHOLESKY: lambda _: (0,),
}
"""Operations that change an array in place, with the numbers of the operands that become their
results: those of a scatter stand before indices and updates, a solution replaces the right side."""


def reads_apart(instruction: Instruction) -> bool:
    """True when an array given as two operands is read in two ways; the operands of other kernels
    are taken together (see `kernel_body`)."""
    return instruction.opcode is Opcode.FUSION or instruction.opcode in _UPDATED


def _beside_sums(body: Computation, dot: str, pairs: list[InPlace]) -> tuple[InPlace, ...]:
    """The pairs of a dot's epilogue. One result of the dot's type must not share its place, since
    the sums lie there until the epilogue has read them."""
    kind = body.instruction(dot).array.element_type
    alike = [
        n for n, r in enumerate(roots_of(body)) if body.instruction(r).array.element_type is kind
    ]
    shared = {pair.path for pair in pairs}
    is_tuple = body.root_instruction.opcode is Opcode.TUPLE
    places = [(number,) if is_tuple else () for number in alike]
    if not places or not set(places) <= shared:
        return tuple(pairs)
    return tuple(pair for pair in pairs if pair.path != places[-1])


def kernel_body(
    module: Module, computation: Computation, instruction: Instruction
) -> Computation | None:
    """The computation of a kernel: a fusion's own, or one made around a bare operation."""
    if instruction.opcode is Opcode.FUSION:
        return module.computation(instruction.attributes["calls"])
    if instruction.opcode.is_control or instruction.opcode.is_view:
        return None
    operands = tuple(dict.fromkeys(instruction.operands))
    parameters = tuple(
        replace(
            computation.instruction(name),
            opcode=Opcode.PARAMETER,
            operands=(),
            literal=None,
            attributes=Attributes(parameter_number=instruction.operands.index(name)),
        )
        for name in operands
    )
    return Computation("bare", (*parameters, instruction), instruction.name)


def _may_overwrite(
    body: Computation, structure: RowStructure, root: str, parameter: Instruction
) -> bool:
    """True when no element is read after its place was written. The single element of a kernel
    without rows is written when everything is read."""
    result = body.instruction(root).shape
    if not isinstance(result, ArrayShape) or not isinstance(parameter.shape, ArrayShape):
        return False
    if structure.dot is not None and parameter.name in body.instruction(structure.dot).operands:
        return False
    stage = _writing_stage(structure, root)
    reads = structure.reads.get(parameter.name, ())
    if stage is None or any(read.stage > stage for read in reads):
        return False
    if result.element_count == 1 and not structure.rows and structure.dot is None:
        return result.size_bytes <= parameter.shape.size_bytes
    if result.size_bytes != parameter.shape.size_bytes:
        return False
    if result.element_type.size_bytes != parameter.shape.element_type.size_bytes:
        return False
    place = _written_place(structure, root, result)
    strides = parameter.shape.strides
    return place is not None and all(ix.linear(read.at, strides) == place for read in reads)


def _writing_stage(structure: RowStructure, root: str) -> int | None:
    """The stage that writes a root (all its results are computed before any is written); a kept
    root is written as soon as it is first computed.
    """
    for number, stage in enumerate(structure.stages):
        if root not in stage.instructions:
            continue
        if root in structure.kept:
            return min(read.stage for read in structure.reads[root])
        return number
    return None


def _written_place(structure: RowStructure, root: str, shape: ArrayShape) -> Index | None:
    """Where in memory the current row and column of a root lie, in elements from its start."""
    axes = structure.axes[root]
    if len(axes) != shape.rank:
        return None
    stage = next(s for s in structure.stages if root in s.instructions)
    at = []
    for axis in axes:
        extents = structure.rows if axis.space is Space.ROW else stage.columns
        if axis.space is Space.UNIT:
            at.append(ix.ZERO)
        else:
            at.append(ix.of_variable(ix.Variable(str(axis), extents[axis.position])))
    return ix.linear(at, shape.strides)
