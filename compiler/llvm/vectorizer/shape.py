"""Which loops can be widened at all: their control flow, what their phis carry, where they read and
write.

Everything here answers with facts or raises NotVectorizable with the reason in one clause.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from compiler.llvm.analysis.affine import Access, access_of, linear_form, may_alias
from compiler.llvm.analysis.loops import Induction, Loop, Trips, inductions, trips
from compiler.llvm.ir import (
    BasicBlock,
    Instruction,
    Opcode,
    Predicate,
    Value,
    subject_of,
)
from isas.errors import UnsupportedError


class NotVectorizable(UnsupportedError):
    """A loop stays scalar; the message is the reason."""


class Kind(Enum):
    """How a reduction combines its parts: the name of the operation or intrinsic."""

    FADD = "fadd"
    FMUL = "fmul"
    ADD = "add"
    MUL = "mul"
    AND = "and"
    OR = "or"
    XOR = "xor"
    SMIN = "smin"
    SMAX = "smax"
    UMIN = "umin"
    UMAX = "umax"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"

    @property
    def is_idempotent(self) -> bool:
        """Whether combining a value with itself gives that value."""
        return self in _IDEMPOTENT


_IDEMPOTENT = frozenset(
    {Kind.AND, Kind.OR, Kind.SMIN, Kind.SMAX, Kind.UMIN, Kind.UMAX, Kind.MINIMUM, Kind.MAXIMUM}
)
_BINARY_KINDS = {
    Opcode.FADD: Kind.FADD, Opcode.FSUB: Kind.FADD, Opcode.FMUL: Kind.FMUL,
    Opcode.ADD: Kind.ADD, Opcode.SUB: Kind.ADD, Opcode.MUL: Kind.MUL,
    Opcode.AND: Kind.AND, Opcode.OR: Kind.OR, Opcode.XOR: Kind.XOR,
}  # fmt: skip
_CALL_KINDS = {f"llvm.{kind.value}": kind for kind in Kind} | {"llvm.fma": Kind.FADD}
_ORDERED = frozenset({Kind.FADD, Kind.FMUL})
_SELECT_KINDS = {
    Predicate.SLT: Kind.SMIN, Predicate.SLE: Kind.SMIN, Predicate.SGT: Kind.SMAX,
    Predicate.SGE: Kind.SMAX, Predicate.ULT: Kind.UMIN, Predicate.ULE: Kind.UMIN,
    Predicate.UGT: Kind.UMAX, Predicate.UGE: Kind.UMAX,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reduction:
    """A header phi that only collects: `start` comes in, `chain` are the operations that add to it
    in order, the last of them comes back from the latch."""

    phi: Instruction
    start: Value
    kind: Kind
    chain: tuple[Instruction, ...]

    @property
    def last(self) -> Instruction:
        return self.chain[-1]


@dataclass(frozen=True, slots=True)
class Shape:
    """A loop that can be widened: counted by `trips`, straight-line, with known phis and
    accesses."""

    loop: Loop
    preheader: BasicBlock
    trips: Trips
    inductions: dict[Instruction, Induction]
    reductions: tuple[Reduction, ...]
    accesses: dict[Instruction, Access]

    @property
    def count(self) -> int | None:
        return self.trips.count

    @property
    def is_tested_first(self) -> bool:
        """Whether the header asks before the body runs (a `while`), not the latch after it."""
        return self.trips.exiting is self.loop.header and len(self.loop.blocks) > 1

    def reduction_of(self, value: Value) -> Reduction | None:
        """The reduction whose phi or chain a value is."""
        return next((r for r in self.reductions if value is r.phi or value in r.chain), None)


def shape_of(loop: Loop, is_strict: bool) -> Shape:
    """The facts about a loop. `is_strict` forbids changing the order of additions."""
    if not loop.is_innermost:
        raise NotVectorizable("only innermost loops are widened")
    preheader = loop.preheader()
    found = trips(loop)
    if preheader is None or found is None:
        raise NotVectorizable("it is not a loop that counts to a fixed bound")
    _check_straight(loop, found)
    known = {i.phi: i for i in inductions(loop)}
    if found.induction.step <= 0:
        raise NotVectorizable("its counter does not count up")
    if found.count is None:
        _check_countable(found, loop)
    reductions = tuple(
        _reduction(loop, phi, is_strict) for phi in loop.header.phis if phi not in known
    )
    accesses = _accesses(loop, found.induction)
    shape = Shape(loop, preheader, found, known, reductions, accesses)
    _check_outside_uses(shape)
    _check_dependences(shape)
    return shape


def _check_straight(loop: Loop, found: Trips) -> None:
    for block in loop.blocks:
        if block is not found.exiting and len(block.successors) != 1:
            raise NotVectorizable("its body branches")
    for instruction in loop.instructions():
        if instruction.opcode is Opcode.PHI and instruction.block is not loop.header:
            raise NotVectorizable("its body branches")
        if instruction.opcode is Opcode.CALL and instruction.has_side_effects:
            raise NotVectorizable(f"it calls {instruction.callee}")
        if instruction.type.is_vector:
            raise NotVectorizable("it holds vectors already")


def _check_countable(found: Trips, loop: Loop) -> None:
    """Bounds that are only known at run time: `for (i = a; i < b; i++)`, tested first."""
    plain = found.predicate in (Predicate.SLT, Predicate.ULT, Predicate.NE)
    if not plain or found.after_step or found.induction.step != 1 or len(loop.blocks) < 2:
        raise NotVectorizable("how often it runs cannot be computed in front of it")
    if found.exiting is not loop.header:
        raise NotVectorizable("how often it runs cannot be computed in front of it")


def _reduction(loop: Loop, phi: Instruction, is_strict: bool) -> Reduction:
    latch = loop.latch
    outside = [v for v, b in zip(phi.operands, phi.blocks) if b not in loop.members]
    if latch is None or len(outside) != 1:
        raise NotVectorizable(f"{phi} has several values coming in")
    last = phi.incoming_from(latch)
    chain: list[Instruction] = []
    kinds: set[Kind] = set()
    value: Instruction = phi
    while value is not last:
        step = _next_in_chain(loop, value)
        kind = _kind_of(step, value) if step is not None else None
        if step is None or kind is None:
            raise NotVectorizable(f"{phi} carries a value from one iteration to the next")
        if kind in _ORDERED and (is_strict or "reassoc" not in step.flags):
            raise NotVectorizable(f"the order of the operations on {phi} must be kept")
        chain.append(step)
        kinds.add(kind)
        value = step
    if len(kinds) != 1:
        raise NotVectorizable(f"{phi} mixes different operations")
    return Reduction(phi, outside[0], kinds.pop(), tuple(chain))


def _next_in_chain(loop: Loop, value: Instruction) -> Instruction | None:
    """The only instruction in the loop that uses a partial result (a comparison and the select that
    depends on it count as one)."""
    users = [u for u in dict.fromkeys(value.users) if u.block in loop.members]
    users = [u for u in users if u.opcode is not Opcode.PHI]
    if len(users) == 1 and value.users.count(users[0]) == 1:
        return users[0]
    selects = [u for u in users if u.opcode is Opcode.SELECT]
    compares = [u for u in users if u.opcode is Opcode.ICMP]
    if len(users) == 2 and len(selects) == len(compares) == 1:
        compare = compares[0]
        if selects[0].operands[0] is compare and len(compare.users) == 1:
            return selects[0]
    return None


def _kind_of(step: Instruction, value: Value) -> Kind | None:
    if step.opcode in _BINARY_KINDS:
        is_subtraction = step.opcode in (Opcode.SUB, Opcode.FSUB)
        if is_subtraction and step.operands[0] is not value:
            return None
        return _BINARY_KINDS[step.opcode]
    if step.opcode is Opcode.CALL:
        kind = _CALL_KINDS.get(step.intrinsic)
        is_addend = step.intrinsic != "llvm.fma" or step.operands[2] is value
        return kind if is_addend else None
    return _select_kind(step, value) if step.opcode is Opcode.SELECT else None


def _select_kind(step: Instruction, value: Value) -> Kind | None:
    """min and max of integers written as a comparison and a select."""
    compare, a, b = step.operands
    if not isinstance(compare, Instruction) or compare.opcode is not Opcode.ICMP:
        return None
    if compare.predicate is None or {*compare.operands} != {a, b} or value not in (a, b):
        return None
    kind = _SELECT_KINDS.get(compare.predicate)
    if kind is None or compare.operands[0] is a:
        return kind
    return _MIRRORED[kind]


_MIRRORED = {
    Kind.SMIN: Kind.SMAX, Kind.SMAX: Kind.SMIN, Kind.UMIN: Kind.UMAX, Kind.UMAX: Kind.UMIN,
}  # fmt: skip


def _accesses(loop: Loop, induction: Induction) -> dict[Instruction, Access]:
    found = {}
    for instruction in loop.instructions():
        if instruction.opcode in (Opcode.LOAD, Opcode.STORE):
            found[instruction] = access_of(loop, induction.phi, induction.step, instruction)
    return found


def _check_outside_uses(shape: Shape) -> None:
    """After the loop only inductions and reductions may be read: their final values are known."""
    allowed: set[Value] = set()
    if shape.is_tested_first:
        allowed |= set(shape.inductions) | {r.phi for r in shape.reductions}
    else:
        allowed |= {i.next for i in shape.inductions.values()} | set(shape.inductions)
        allowed |= {r.last for r in shape.reductions}
    for instruction in shape.loop.instructions():
        outside = [u for u in instruction.users if u.block not in shape.loop.members]
        if outside and instruction not in allowed:
            raise NotVectorizable(f"{instruction} is used after the loop")


def _check_dependences(shape: Shape) -> None:
    """No iteration may touch what another one writes."""
    accesses = list(shape.accesses.values())
    for write in (a for a in accesses if a.is_store):
        if write.stride_bytes == 0:
            raise NotVectorizable(
                f"{subject_of(write.instruction)} writes one place in every iteration"
            )
        for other in accesses:
            if may_alias(write.address, other.address):
                _check_pair(shape, write, other)


def _check_pair(shape: Shape, write: Access, other: Access) -> None:
    if write.address.root is not other.address.root:
        raise NotVectorizable(
            f"{write.address.root} and {other.address.root} may be the same memory"
        )
    stride = write.stride_bytes
    if stride is None or other.stride_bytes != stride:
        reason = write.why or other.why or "the two walk at different speeds"
        raise NotVectorizable(f"{write.address.root} is written and read: {reason}")
    distance = other.address.offset.plus(write.address.offset, -1)
    size = max(write.type.size_bytes, other.type.size_bytes)
    if not distance.is_constant:
        raise NotVectorizable(f"how far apart accesses to {write.address.root} are is not known")
    if abs(stride) < size:
        raise NotVectorizable(f"neighbouring iterations overlap in {write.address.root}")
    if distance.constant == 0 and write.type.size_bytes == other.type.size_bytes:
        return
    if _never_meet(distance.constant, abs(stride), write, other, shape.count):
        return
    raise NotVectorizable(f"an iteration needs what another one writes to {write.address.root}")


def _never_meet(distance: int, stride: int, a: Access, b: Access, count: int | None) -> bool:
    """Whether all iterations' places of `a` differ from all of `b`, `distance` bytes apart."""
    if count is not None and abs(distance) >= count * stride:
        return True
    gap = distance % stride
    return gap >= a.type.size_bytes and gap + b.type.size_bytes <= stride


def is_steady(shape: Shape, value: Value) -> bool:
    """Whether an integer is the induction variable times a constant plus something invariant."""
    return steady_step(shape, value) is not None


def steady_step(shape: Shape, value: Value) -> int | None:
    """What a 64-bit integer grows by per iteration, if that is constant; None otherwise."""
    if not value.type.is_int or value.type.bits != 64:
        return None
    total = 0
    for atom, coefficient in linear_form(value).terms.items():
        induction = shape.inductions.get(atom) if isinstance(atom, Instruction) else None
        if induction is not None:
            total += coefficient * induction.step
        elif not shape.loop.is_invariant(atom):
            return None
    return total
