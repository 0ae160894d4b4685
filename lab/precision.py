"""How precise a program's outputs can be: a float32 output that was computed by way of bfloat16 is
no more exact than bfloat16, since two right programs may round to neighbours on the way."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode, Trait
from compiler.hlo.shape import ArrayShape, ElementType, Shape, leaves
from lab.compare import unit_roundoff

_EXACT = frozenset(
    {
        Opcode.ABS, Opcode.BROADCAST, Opcode.CLAMP, Opcode.CONCATENATE, Opcode.COPY,
        Opcode.DYNAMIC_SLICE, Opcode.DYNAMIC_UPDATE_SLICE, Opcode.GATHER, Opcode.IMAG, Opcode.IOTA,
        Opcode.MAXIMUM, Opcode.MINIMUM, Opcode.NEGATE, Opcode.PAD, Opcode.REAL, Opcode.RESHAPE,
        Opcode.REVERSE, Opcode.SELECT, Opcode.SIGN, Opcode.SLICE, Opcode.SORT, Opcode.TRANSPOSE,
    }
)  # fmt: skip
"""Operations whose results are among their operands' values, or exact."""


def compared_kinds(module: Module) -> list[ElementType]:
    """For every output array the type by which it is to be compared: its own, or for a float the
    coarsest float type that something it depends on was rounded to."""
    entry = module.entry_computation
    found = _flow(module, entry)
    root = entry.root_instruction
    parts = entry.operands(root) if root.opcode is Opcode.TUPLE else (root,)
    kinds: list[ElementType] = []
    for part in parts:
        for shape in leaves(part.shape):
            if isinstance(shape, ArrayShape):
                kind = shape.element_type
                is_exact = not (kind.is_float or kind.is_complex)
                kinds.append(kind if is_exact else _coarsest((kind, found[part.name])))
    return kinds


def _flow(module: Module, computation: Computation) -> dict[str, ElementType]:
    """The coarsest type that every instruction's value was rounded to; F64 where to none."""
    found: dict[str, ElementType] = {}
    inside: dict[str, ElementType] = {}
    for instruction in computation:
        kinds = [found[name] for name in instruction.operands]
        for callee in module.callees(instruction):
            if callee.name not in inside:
                inside[callee.name] = _coarsest(_flow(module, callee).values())
            kinds.append(inside[callee.name])
        found[instruction.name] = _coarsest([*kinds, *_rounded_to(instruction, computation)])
    return found


def _rounded_to(instruction: Instruction, computation: Computation) -> list[ElementType]:
    opcode = instruction.opcode
    if opcode in _EXACT or Trait.VIEW in opcode.traits:
        return []
    kinds = _floats(instruction.shape)
    if opcode is Opcode.CONVERT:
        (operand,) = computation.operands(instruction)
        source = unit_roundoff(operand.array.element_type)
        return [kind for kind in kinds if unit_roundoff(kind) > source]
    return kinds


def _floats(shape: Shape) -> list[ElementType]:
    kinds = [leaf.element_type for leaf in leaves(shape) if isinstance(leaf, ArrayShape)]
    return [kind for kind in kinds if kind.is_float or kind.is_complex]


def _coarsest(kinds: Iterable[ElementType]) -> ElementType:
    return max(kinds, key=unit_roundoff, default=ElementType.F64)
