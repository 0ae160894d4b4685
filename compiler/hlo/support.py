"""What code generation covers, and the check that names the first thing it does not."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.hlo.module import Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ArrayShape, ElementType, leaves
from isas.errors import UnsupportedError

ELEMENT_TYPES = frozenset((ElementType.F32, ElementType.S32, ElementType.PRED))
"""The element types that code is generated for."""

_NOT_YET = (Opcode.MAP, Opcode.STOCHASTIC_CONVERT, Opcode.COMPLEX, Opcode.REAL, Opcode.IMAG)

OPCODES = frozenset(o for o in Opcode if o.is_elementwise and o not in _NOT_YET) | {
    Opcode.PARAMETER,
    Opcode.CONSTANT,
    Opcode.IOTA,
    Opcode.BROADCAST,
    Opcode.RESHAPE,
    Opcode.BITCAST,
    Opcode.BITCAST_CONVERT,
    Opcode.TRANSPOSE,
    Opcode.SLICE,
    Opcode.CONCATENATE,
    Opcode.REVERSE,
    Opcode.PAD,
    Opcode.REDUCE,
    Opcode.DOT,
    Opcode.CALL,
    Opcode.FUSION,
    Opcode.TUPLE,
    Opcode.GET_TUPLE_ELEMENT,
    Opcode.OPT_BARRIER,
}
"""The operations that code is generated for."""


def codegen_support(
    module: Module,
    opcodes: frozenset[Opcode] = OPCODES,
    kinds: frozenset[ElementType] = ELEMENT_TYPES,
) -> None:
    """Checks that a program, as read, can be compiled.

    Raises UnsupportedError for the first instruction (in the order of the text) that cannot: it
    names operation, instruction, line and what is in the way.
    """
    found = sorted(_refused(module, opcodes, kinds), key=lambda item: item[0].line)
    if not found:
        return
    instruction, reason = found[0]
    source = module.source or module.name
    place = f"{source}:{instruction.line}" if instruction.line else source
    raise UnsupportedError(
        f"{instruction.name}: {reason}",
        where=place,
        hint="hob evaluate runs any program in the evaluator",
    )


def _refused(
    module: Module, opcodes: frozenset[Opcode], kinds: frozenset[ElementType]
) -> Iterator[tuple[Instruction, str]]:
    for computation in module.computations_post_order():
        for instruction in computation:
            reason = _reason(instruction, opcodes, kinds)
            if reason:
                yield instruction, reason


def _reason(
    instruction: Instruction, opcodes: frozenset[Opcode], kinds: frozenset[ElementType]
) -> str:
    if instruction.opcode not in opcodes:
        return f"code generation does not cover the operation {instruction.opcode} yet"
    for leaf in leaves(instruction.shape):
        if not isinstance(leaf, ArrayShape):
            return f"code generation does not cover values of shape {leaf} yet"
        if leaf.element_type not in kinds:
            return f"code generation does not cover element type {leaf.element_type} yet"
        if not leaf.is_static:
            return f"the shape {leaf} is dynamic; code is generated for static shapes only"
        layout = leaf.layout
        if layout is not None and (layout.tiles or layout.element_size_bits):
            return f"the layout of {leaf} has tiles or packed elements, which code cannot address"
    return ""
