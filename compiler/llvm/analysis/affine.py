"""Integers and addresses as linear forms: a constant plus multiples of values.

Because i64 arithmetic is arithmetic modulo 2**64, add, sub, mul by a constant, shl by a constant
and getelementptr may be taken apart whatever their overflow flags say. What cannot be taken apart
is an atom. An address is a root pointer and a linear form in bytes; in a loop, an access has a
stride when its form is a multiple of the induction variable plus something invariant.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.llvm.analysis.loops import Loop, is_identified
from compiler.llvm.ir import Constant, Instruction, Opcode, Value
from compiler.llvm.numbers import wrap_int
from compiler.llvm.types import Type

MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Linear:
    """`constant` + the sum of coefficient * value over `terms` (no zero coefficients)."""

    constant: int = 0
    terms: dict[Value, int] = field(default_factory=dict)

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """This form + factor * the other, modulo 2**64."""
        terms = dict(self.terms)
        for value, coefficient in other.terms.items():
            terms[value] = wrap_int(terms.get(value, 0) + factor * coefficient, 64)
        kept = {value: c for value, c in terms.items() if c}
        return Linear(wrap_int(self.constant + factor * other.constant, 64), kept)

    def times(self, factor: int) -> Linear:
        return Linear().plus(self, factor)

    @property
    def is_constant(self) -> bool:
        return not self.terms


def linear_form(value: Value, depth: int = 0) -> Linear:
    """The linear form of an i64 value."""
    if isinstance(value, Constant) and isinstance(value.value, int):
        return Linear(wrap_int(value.value, 64))
    atom = Linear(0, {value: 1})
    if not isinstance(value, Instruction) or value.type.bits != 64 or depth > MAX_DEPTH:
        return atom
    if value.type.lanes or value.type.is_pointer:
        return atom
    found = _taken_apart(value, depth + 1)
    return atom if found is None else found


def _taken_apart(value: Instruction, depth: int) -> Linear | None:
    if value.opcode is Opcode.ADD or (value.opcode is Opcode.OR and "disjoint" in value.flags):
        a, b = value.operands
        return linear_form(a, depth).plus(linear_form(b, depth))
    if value.opcode is Opcode.SUB:
        a, b = value.operands
        return linear_form(a, depth).plus(linear_form(b, depth), -1)
    if value.opcode is Opcode.MUL:
        left, right = (linear_form(operand, depth) for operand in value.operands)
        if left.is_constant:
            return right.times(left.constant)
        return left.times(right.constant) if right.is_constant else None
    if value.opcode is Opcode.SHL:
        base, by = (linear_form(operand, depth) for operand in value.operands)
        if by.is_constant and 0 <= by.constant < 64:
            return base.times(1 << by.constant)
    return None


@dataclass(frozen=True, slots=True)
class Address:
    """Where an access goes: a pointer that is no getelementptr, and bytes from there."""

    root: Value
    offset: Linear


def address_of(pointer: Value) -> Address:
    """The root and byte offset behind a chain of getelementptrs. A narrower index is one atom that
    stands for its sign extension."""
    offset = Linear()
    while isinstance(pointer, Instruction) and pointer.opcode is Opcode.GETELEMENTPTR:
        base, index = pointer.operands
        size = pointer.element_type.size_bytes if pointer.element_type is not None else 1
        offset = offset.plus(linear_form(index), size)
        pointer = base
    return Address(pointer, offset)


@dataclass(frozen=True, slots=True)
class Access:
    """A load or store in a loop. `stride_bytes` is what its address grows by per iteration (0: it
    stays), None when that is not constant; `why` says then what it depends on."""

    instruction: Instruction
    address: Address
    type: Type
    stride_bytes: int | None
    why: str = ""

    @property
    def is_store(self) -> bool:
        return self.instruction.opcode is Opcode.STORE

    @property
    def is_unit(self) -> bool:
        return self.stride_bytes == self.type.size_bytes


def access_of(loop: Loop, phi: Instruction, step: int, instruction: Instruction) -> Access:
    """Describes a load or store against the loop's induction variable `phi`, which grows by
    `step`."""
    is_store = instruction.opcode is Opcode.STORE
    pointer = instruction.operands[1 if is_store else 0]
    type = instruction.operands[0].type if is_store else instruction.type
    address = address_of(pointer)
    varying = [v for v in address.offset.terms if v is not phi and not loop.is_invariant(v)]
    if not loop.is_invariant(address.root):
        return Access(instruction, address, type, None, f"its base {address.root} changes")
    if varying:
        return Access(instruction, address, type, None, f"its index depends on {varying[0]}")
    return Access(instruction, address, type, address.offset.terms.get(phi, 0) * step)


def may_alias(a: Address, b: Address) -> bool:
    """Whether accesses behind two roots can meet: not when the roots are different objects."""
    if a.root is b.root:
        return True
    if is_identified(a.root) and is_identified(b.root):
        return False
    return not (_is_separate(a.root, b.root) or _is_separate(b.root, a.root))


def _is_separate(identified: Value, other: Value) -> bool:
    """A noalias parameter or alloca against another parameter or alloca."""
    if not is_identified(identified):
        return False
    return not isinstance(other, Instruction) or other.opcode is Opcode.ALLOCA
