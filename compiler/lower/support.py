"""What lowering covers: opcodes by element type, and the check that names the first thing it does
not.

Whether a machine has instructions for what comes out is the selector's question, not this one's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.shape import ArrayShape, ElementType, leaves
from compiler.hlo.support import codegen_support
from compiler.lower.elementwise import COVERED_ANY, COVERED_FLOAT, COVERED_INTEGER, COVERED_TRUTH
from compiler.lower.rules import LARGEST_TABLE, RULES
from compiler.lower.types import is_covered
from isas.errors import UnsupportedError

ELEMENT_TYPES = frozenset(kind for kind in ElementType if is_covered(kind))
"""The element types that values may have."""

_ELEMENTWISE = COVERED_ANY | COVERED_FLOAT | COVERED_TRUTH | COVERED_INTEGER
OPCODES = (
    frozenset(o for o in RULES if not o.is_elementwise)
    | _ELEMENTWISE
    | {Opcode.PARAMETER, Opcode.TUPLE, Opcode.MAP}
)
"""The operations that have a lowering for some element type."""


def covered_opcodes(kind: ElementType) -> frozenset[Opcode]:
    """The elementwise operations on operands of one element type."""
    if not is_covered(kind):
        return frozenset()
    if kind.is_float:
        return COVERED_ANY | COVERED_FLOAT | {Opcode.MAP}
    own = COVERED_TRUTH if kind is ElementType.PRED else COVERED_INTEGER
    return COVERED_ANY | own | {Opcode.MAP}


def check(module: Module) -> None:
    """Raises UnsupportedError for the first instruction that has no lowering: it names the
    operation, the instruction and its line."""
    codegen_support(module, OPCODES, ELEMENT_TYPES)
    for computation in module.computations_post_order():
        for instruction in computation:
            for reason in _reasons(computation, instruction, computation.name == module.entry):
                source = module.source or module.name
                place = f"{source}:{instruction.line}" if instruction.line else source
                raise UnsupportedError(
                    f"{instruction.name}: {reason}",
                    where=place,
                    hint="hob evaluate runs any program in the evaluator",
                )


def _reasons(computation: Computation, instruction: Instruction, is_entry: bool) -> Iterator[str]:
    opcode = instruction.opcode
    if opcode.is_elementwise and instruction.operands:
        kind = _kind(computation, instruction)
        if kind is not None and opcode not in covered_opcodes(kind):
            yield f"code generation does not cover {opcode} on {kind}"
    if opcode in (Opcode.DOT, Opcode.CONVOLUTION, Opcode.REDUCE):
        yield from _mixed(computation, instruction)
    is_constant = opcode is Opcode.CONSTANT and isinstance(instruction.shape, ArrayShape)
    if is_constant and not is_entry and instruction.array.element_count > LARGEST_TABLE:
        literal = instruction.literal
        if literal is None or literal.scalar is None:
            yield "code generation does not cover a large array constant inside a kernel"


def _mixed(computation: Computation, instruction: Instruction) -> Iterator[str]:
    """Products of floats are not summed as integers, and sums have the type of what they sum."""
    opcode = instruction.opcode
    given, made = _kinds(computation.operands(instruction)), _kinds((instruction,))
    if opcode is Opcode.REDUCE:
        fits = given == made * 2
    else:
        fits = made[0].is_float or not any(kind.is_float for kind in given)
    if not fits:
        yield f"code generation does not cover {opcode} from {given[0]} to {made[0]}"


def _kinds(instructions: Iterable[Instruction]) -> list[ElementType]:
    shapes = (leaf for i in instructions for leaf in leaves(i.shape))
    return [shape.element_type for shape in shapes if isinstance(shape, ArrayShape)]


def _kind(computation: Computation, instruction: Instruction) -> ElementType | None:
    """The element type that decides: of the first operand, or for select of the second."""
    number = 1 if instruction.opcode is Opcode.SELECT else 0
    operand = computation.instruction(instruction.operands[number])
    return operand.array.element_type if operand.is_array else None
