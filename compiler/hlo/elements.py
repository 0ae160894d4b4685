"""Which elements of its operands an instruction needs for one element of its result.

`operand_indices` is the elemental view of HLO that fusion analysis shares with code generation: for
each operand a tuple of symbolic indices, with fresh variables for dimensions that are summed over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from compiler.hlo import indices as ix
from compiler.hlo.indices import Index
from compiler.hlo.module import Computation, Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ArrayShape

Indices: TypeAlias = tuple[Index, ...]
"""One index per dimension of an array."""

Demand: TypeAlias = tuple[str, Indices]
"""An instruction's name and the element of it that is needed."""


def operand_indices(
    computation: Computation, instruction: Instruction, at: Indices
) -> tuple[Demand, ...] | None:
    """The operand elements that element ``at`` of the result is made of.

    None for an instruction without an elemental view (a dot, a reduce, a sort, a loop ...).
    """
    if instruction.opcode in _ELEMENTWISE:
        return _elementwise(computation, instruction, at)
    rule = _RULES.get(instruction.opcode)
    return None if rule is None else rule(computation, instruction, at)


def has_elemental_view(instruction: Instruction) -> bool:
    """True when every element of the result can be computed by itself from operand elements."""
    return instruction.is_array and (
        instruction.opcode in _ELEMENTWISE or instruction.opcode in _RULES
    )


def _elementwise(
    computation: Computation, instruction: Instruction, at: Indices
) -> tuple[Demand, ...]:
    demands = []
    for operand in instruction.operands:
        is_scalar = computation.instruction(operand).array.is_scalar
        demands.append((operand, () if is_scalar else at))
    return tuple(demands)


def _none(_computation: Computation, _instruction: Instruction, _at: Indices) -> tuple[Demand, ...]:
    return ()


def _broadcast(
    computation: Computation, instruction: Instruction, at: Indices
) -> tuple[Demand, ...]:
    operand = computation.instruction(instruction.operands[0]).array
    pairs = zip(instruction.dimensions, operand.dimensions, strict=True)
    return ((instruction.operands[0], tuple(at[d] if e != 1 else ix.ZERO for d, e in pairs)),)


def _reshape(computation: Computation, instruction: Instruction, at: Indices) -> tuple[Demand, ...]:
    operand = computation.instruction(instruction.operands[0]).array
    return ((instruction.operands[0], ix.reshaped(at, instruction.array, operand)),)


def _bitcast(
    computation: Computation, instruction: Instruction, at: Indices
) -> tuple[Demand, ...] | None:
    operand = computation.instruction(instruction.operands[0]).array
    if operand.element_count != instruction.array.element_count:
        return None
    return ((instruction.operands[0], ix.bitcast(at, instruction.array, operand)),)


def _bitcast_convert(
    computation: Computation, instruction: Instruction, at: Indices
) -> tuple[Demand, ...]:
    name = instruction.operands[0]
    extents = computation.instruction(name).array.dimensions
    more = [ix.opaque(f"{instruction.name}#{d}", e) for d, e in enumerate(extents)]
    return ((name, (*at[: len(extents)], *more[len(at) :])),)


def _transpose(
    _computation: Computation, instruction: Instruction, at: Indices
) -> tuple[Demand, ...]:
    found = [ix.ZERO] * len(at)
    for position, dimension in enumerate(instruction.dimensions):
        found[dimension] = at[position]
    return ((instruction.operands[0], tuple(found)),)


def _slice(_computation: Computation, instruction: Instruction, at: Indices) -> tuple[Demand, ...]:
    limits = instruction.attributes.get("slice", ())
    pairs = zip(at, limits, strict=True)
    return ((instruction.operands[0], tuple(i * s.stride + s.start for i, s in pairs)),)


def _reverse(
    _computation: Computation, instruction: Instruction, at: Indices
) -> tuple[Demand, ...]:
    extents = instruction.array.dimensions
    flipped = instruction.dimensions
    found = [i * -1 + (extents[d] - 1) if d in flipped else i for d, i in enumerate(at)]
    return ((instruction.operands[0], tuple(found)),)


def _concatenate(
    computation: Computation, instruction: Instruction, at: Indices
) -> tuple[Demand, ...]:
    along = instruction.dimensions[0]
    demands = []
    for number, name in enumerate(instruction.operands):
        extent = computation.instruction(name).array.dimensions[along]
        place = ix.opaque(f"{instruction.name}#{number}", extent, (at[along],))
        demands.append((name, at[:along] + (place,) + at[along + 1 :]))
    return tuple(demands)


def _pad(computation: Computation, instruction: Instruction, at: Indices) -> tuple[Demand, ...]:
    inner, value = instruction.operands
    edges = instruction.attributes.get("padding", ())
    found = []
    for dimension, extent in enumerate(computation.instruction(inner).array.dimensions):
        edge = edges[dimension]
        kept = edge.low == edge.high == edge.interior == 0
        label = f"{instruction.name}#{dimension}"
        found.append(at[dimension] if kept else ix.opaque(label, extent, (at[dimension],)))
    return ((inner, tuple(found)), (value, ()))


def _dynamic_slice(
    computation: Computation, instruction: Instruction, at: Indices
) -> tuple[Demand, ...]:
    array, *starts = instruction.operands
    outer = computation.instruction(array).array.dimensions
    inner = instruction.array.dimensions
    found = [
        at[d] if outer[d] == inner[d] else ix.opaque(f"{instruction.name}#{d}", outer[d], (at[d],))
        for d in range(len(outer))
    ]
    return ((array, tuple(found)), *_start_demands(computation, starts, instruction.name))


def _start_demands(
    computation: Computation, starts: Sequence[str], label: str
) -> tuple[Demand, ...]:
    demands: list[Demand] = []
    for start in starts:
        shape = computation.instruction(start).array
        places = tuple(ix.opaque(f"{label}@{start}", e) for e in shape.dimensions)
        demands.append((start, places))
    return tuple(demands)


def _dynamic_update_slice(
    computation: Computation, instruction: Instruction, at: Indices
) -> tuple[Demand, ...]:
    array, update, *starts = instruction.operands
    outer = computation.instruction(array).array.dimensions
    inner = computation.instruction(update).array.dimensions
    found = [
        at[d] if outer[d] == inner[d] else ix.opaque(f"{instruction.name}#{d}", inner[d], (at[d],))
        for d in range(len(outer))
    ]
    starting = _start_demands(computation, starts, instruction.name)
    return ((array, at), (update, tuple(found)), *starting)


def _gather(computation: Computation, instruction: Instruction, at: Indices) -> tuple[Demand, ...]:
    demands = []
    for name in instruction.operands:
        extents = computation.instruction(name).array.dimensions
        label = f"{instruction.name}@{name}"
        demands.append(
            (name, tuple(ix.opaque(f"{label}#{d}", e, at) for d, e in enumerate(extents)))
        )
    return tuple(demands)


_Rule: TypeAlias = Callable[[Computation, Instruction, Indices], tuple[Demand, ...] | None]

_RULES: dict[Opcode, _Rule] = {
    Opcode.IOTA: _none,
    Opcode.CONSTANT: _none,
    Opcode.PARAMETER: _none,
    Opcode.BROADCAST: _broadcast,
    Opcode.RESHAPE: _reshape,
    Opcode.BITCAST: _bitcast,
    Opcode.BITCAST_CONVERT: _bitcast_convert,
    Opcode.TRANSPOSE: _transpose,
    Opcode.SLICE: _slice,
    Opcode.REVERSE: _reverse,
    Opcode.CONCATENATE: _concatenate,
    Opcode.PAD: _pad,
    Opcode.DYNAMIC_SLICE: _dynamic_slice,
    Opcode.DYNAMIC_UPDATE_SLICE: _dynamic_update_slice,
    Opcode.GATHER: _gather,
}


_ELEMENTWISE = frozenset(o for o in Opcode if o.is_elementwise and o is not Opcode.MAP)

ELEMENTAL = _ELEMENTWISE | (frozenset(_RULES) - {Opcode.CONSTANT, Opcode.PARAMETER})
"""The operations whose result elements can each be computed by themselves."""


def result_indices(shape: ArrayShape, prefix: str) -> Indices:
    """One fresh variable per dimension, named by prefix and number; 0 where the extent is 1."""
    return tuple(
        ix.of_variable(ix.Variable(f"{prefix}{d}", e)) for d, e in enumerate(shape.dimensions)
    )
