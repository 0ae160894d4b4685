"""What a reduce combines its elements with: one plain operation, or any computation.

Plain sums and products of floats may be reassociated (HLO leaves the order of a reduce open), which
the `reassoc` flag says; loops of them can then be vectorised. Sums and products of half precision
floats are kept in f32 and rounded once; truth values are kept as all ones or zeros, as vector
comparisons yield them.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode as Hlo
from compiler.hlo.shape import ArrayShape, ElementType, leaves
from compiler.llvm.ir import Opcode, Value
from compiler.llvm.types import I32, Type
from compiler.lower.arithmetic import Arithmetic
from compiler.lower.elementwise import elementwise
from compiler.lower.types import computing_type, register_type
from isas.errors import InternalError

PLAIN = frozenset({Hlo.ADD, Hlo.MULTIPLY, Hlo.MAXIMUM, Hlo.MINIMUM, Hlo.AND, Hlo.OR, Hlo.XOR})


_TRUTHS = {
    Hlo.AND: Opcode.AND, Hlo.MULTIPLY: Opcode.AND, Hlo.MINIMUM: Opcode.AND,
    Hlo.OR: Opcode.OR, Hlo.ADD: Opcode.OR, Hlo.MAXIMUM: Opcode.OR, Hlo.XOR: Opcode.XOR,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reducer:
    """`plain` is the instruction when the computation is one operation on its two parameters.
    `kinds` are the element types of the accumulators."""

    computation: Computation
    kinds: tuple[ElementType, ...]
    plain: Instruction | None

    @property
    def accumulator_types(self) -> tuple[Type, ...]:
        """The IR types that partial results have."""
        if self.plain is None:
            return tuple(map(register_type, self.kinds))
        return tuple(I32 if k is ElementType.PRED else computing_type(k) for k in self.kinds)


def reducer_of(module: Module, reduce: Instruction) -> Reducer:
    """The reducer of a reduce instruction."""
    computation = module.computation(reduce.attributes["to_apply"])
    kinds = tuple(s.element_type for s in leaves(reduce.shape) if isinstance(s, ArrayShape))
    return Reducer(computation, kinds, _plain(computation, kinds))


def _plain(computation: Computation, kinds: tuple[ElementType, ...]) -> Instruction | None:
    root = computation.root_instruction
    if len(kinds) != 1 or root.opcode not in PLAIN or not root.is_array:
        return None
    names = {parameter.name for parameter in computation.parameters}
    is_both = set(root.operands) == names and len(names) == 2
    return root if is_both and root.array.element_type is kinds[0] else None


def combine_plain(
    a: Arithmetic, reducer: Reducer, total: Value, value: Value, is_strict: bool
) -> Value:
    """One step of a plain reduce, on values of the accumulator's type."""
    root = reducer.plain
    if root is None:
        raise InternalError("the reducer is not one operation")
    kind = reducer.kinds[0]
    if kind is ElementType.PRED:
        return a.binary(_TRUTHS[root.opcode], total, value)
    if not kind.is_float:
        return elementwise(a, root, (kind, kind), (total, value))
    if root.opcode in (Hlo.ADD, Hlo.MULTIPLY):
        opcode = Opcode.FADD if root.opcode is Hlo.ADD else Opcode.FMUL
        return a.binary(opcode, total, value, () if is_strict else ("reassoc",))
    extreme = a.maximum if root.opcode is Hlo.MAXIMUM else a.minimum
    return extreme(total, value)


def identity(a: Arithmetic, reducer: Reducer) -> Value | None:
    """The value that changes nothing when combined, None when the reducer is not one plain
    operation."""
    if reducer.plain is None:
        return None
    kind, type = reducer.kinds[0], reducer.accumulator_types[0]
    opcode = reducer.plain.opcode
    if kind is ElementType.PRED:
        return a.number(type, -1 if _TRUTHS[opcode] is Opcode.AND else 0)
    if opcode in (Hlo.MAXIMUM, Hlo.MINIMUM):
        return _extreme_value(a, kind, type, is_least=opcode is Hlo.MAXIMUM)
    if opcode is Hlo.AND:
        return a.number(type, -1)
    if opcode is Hlo.MULTIPLY:
        return a.number(type, 1)
    return a.number(type, 0)


def _extreme_value(a: Arithmetic, kind: ElementType, type: Type, is_least: bool) -> Value:
    if kind.is_float:
        return a.number(type, float("-inf" if is_least else "inf"))
    if not kind.is_signed:
        return a.number(type, 0 if is_least else -1)
    return a.bits_constant(type, 1 << (type.bits - 1) if is_least else (1 << (type.bits - 1)) - 1)
