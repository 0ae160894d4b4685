"""Comparisons of vectors through the few predicates that machines have, and of narrow integers."""

from __future__ import annotations

from compiler.llvm.ir import Instruction, Opcode, Predicate, Value
from compiler.llvm.legal.bools import FLOAT_INVERSE, INVERSE, inverted, is_compare
from compiler.llvm.legal.work import Work

P = Predicate
_SIGNED = {P.ULT: P.SLT, P.ULE: P.SLE, P.UGT: P.SGT, P.UGE: P.SGE}
UNSIGNED = frozenset(_SIGNED)


def mask_of_comparison(i: Instruction, w: Work) -> Value | None:
    """comparison made of the predicates there are"""
    if i.opcode is not Opcode.SEXT or not is_compare(i.operands[0]):
        return None
    compare = i.operands[0]
    assert isinstance(compare, Instruction)
    type = compare.operands[0].type
    if type.bits != i.type.bits or not (type.is_vector or type.is_float):
        return None
    found = _integer(compare, w) if compare.opcode is Opcode.ICMP else _float(compare, w)
    if found is not None:
        w.facts.masks.add(found)
    return found


def _integer(compare: Instruction, w: Work) -> Value | None:
    predicate, (a, b) = compare.predicate, compare.operands
    if predicate in (P.NE, P.SGE, P.SLE):
        return w.invert(w.mask(inverted(w, compare), a.type.bits))
    if predicate not in _SIGNED:
        return None
    if w.target.legal("umin", a.type):
        return _by_minimum(compare, w)
    sign = w.number(a.type, -1 << (a.type.bits - 1))
    flipped = [w.binary(Opcode.XOR, operand, sign) for operand in (a, b)]
    return w.mask(w.icmp(_SIGNED[predicate], *flipped), a.type.bits)


def _by_minimum(compare: Instruction, w: Work) -> Value:
    """a <= b is min(a, b) == a; the others are its mirror and opposites."""
    a, b = compare.operands
    if compare.predicate in (P.UGE, P.ULT):
        a, b = b, a
    least = w.call("llvm.umin", a.type, (a, b))
    holds = w.mask(w.icmp(P.EQ, least, a), a.type.bits)
    is_opposite = compare.predicate in (P.UGT, P.ULT)
    return w.invert(holds) if is_opposite else holds


def _float(compare: Instruction, w: Work) -> Value | None:
    predicate, (a, b) = compare.predicate, compare.operands
    bits = a.type.bits
    if predicate is P.ONE:
        less, greater = (w.mask(w.fcmp(p, a, b), bits) for p in (P.OLT, P.OGT))
        return w.binary(Opcode.OR, less, greater)
    if predicate is P.ORD:
        first, second = (w.mask(w.fcmp(P.OEQ, x, x), bits) for x in (a, b))
        return w.binary(Opcode.AND, first, second)
    if predicate in (P.UNO, P.UEQ, P.UNE, P.ULT, P.ULE, P.UGT, P.UGE):
        return w.invert(w.mask(inverted(w, compare), bits))
    return None


def select_by_opposite(i: Instruction, w: Work) -> Value | None:
    """select with the alternatives swapped"""
    if i.opcode is not Opcode.SELECT or not i.type.is_vector or i.type.is_bool:
        return None
    condition, a, b = i.operands
    if not isinstance(condition, Instruction) or not is_compare(condition):
        return None
    opposites = (P.NE, P.SGE, P.SLE, P.UNO, P.UEQ, P.UNE, P.ULT, P.ULE, P.UGT, P.UGE)
    is_float = condition.opcode is Opcode.FCMP
    if condition.predicate not in opposites or (condition.predicate in UNSIGNED and not is_float):
        return None
    if w.known_mask(condition) is not None:
        return None
    inverse = (FLOAT_INVERSE if is_float else INVERSE)[condition.predicate]
    if _is_mask_covered(condition, w):
        return None
    maker = w.fcmp if is_float else w.icmp
    return w.select(maker(inverse, *condition.operands), b, a)


def _is_mask_covered(condition: Instruction, w: Work) -> bool:
    """Whether the comparison's mask is one instruction already."""
    probe = Instruction(Opcode.SEXT, condition.operands[0].type.as_int(), (condition,))
    probe.block = condition.block
    covered = w.target.covers(probe)
    probe.drop_operands()
    return covered


def narrow_comparison(i: Instruction, w: Work) -> Value | None:
    """comparison of narrow integers in wider ones"""
    if i.opcode is not Opcode.ICMP:
        return None
    type = i.operands[0].type
    if not type.is_int or type.bits not in (8, 16) or w.target.legal("icmp", type):
        return None
    assert i.predicate is not None
    is_signed = i.predicate in (P.SLT, P.SLE, P.SGT, P.SGE)
    a, b = (w.resized(operand, 32, is_signed) for operand in i.operands)
    return w.icmp(i.predicate, a, b)


def pointer_comparison(i: Instruction, w: Work) -> Value | None:
    """comparison of pointers as integers"""
    if i.opcode is not Opcode.ICMP or not i.operands[0].type.is_pointer:
        return None
    from compiler.llvm.types import I64

    assert i.predicate is not None
    a, b = (w.cast(Opcode.PTRTOINT, operand, I64) for operand in i.operands)
    return w.icmp(i.predicate, a, b)
