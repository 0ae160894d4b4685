"""Conditions where no register holds an i1.

A scalar condition that is more than one comparison becomes an integer 0 or 1; a vector of
conditions becomes integers that are all ones or zero, as wide as what was compared. `test_bool` and
`test` turn them back into a comparison, which branches and selects can use.
"""

from __future__ import annotations

from compiler.llvm.analysis.cfg import remove_incoming
from compiler.llvm.ir import Constant, Instruction, Opcode, Predicate, Value
from compiler.llvm.legal.work import Work, is_true
from compiler.llvm.types import I1, I8, I32, Kind, Type

_LOGIC = (Opcode.AND, Opcode.OR, Opcode.XOR)

P = Predicate
_PAIRS = (
    (P.EQ, P.NE), (P.SLT, P.SGE), (P.SLE, P.SGT), (P.ULT, P.UGE), (P.ULE, P.UGT),
)  # fmt: skip
_FLOAT_PAIRS = (
    (P.OEQ, P.UNE), (P.ONE, P.UEQ), (P.OLT, P.UGE), (P.OLE, P.UGT), (P.OGT, P.ULE),
    (P.OGE, P.ULT), (P.ORD, P.UNO),
)  # fmt: skip
INVERSE = dict(_PAIRS) | {b: a for a, b in _PAIRS}
FLOAT_INVERSE = dict(_FLOAT_PAIRS) | {b: a for a, b in _FLOAT_PAIRS}


def is_compare(value: Value) -> bool:
    return isinstance(value, Instruction) and value.opcode in (Opcode.ICMP, Opcode.FCMP)


def inverted(w: Work, compare: Instruction) -> Value:
    """The comparison that holds where `compare` does not."""
    assert compare.predicate is not None
    if compare.opcode is Opcode.FCMP:
        return w.fcmp(FLOAT_INVERSE[compare.predicate], *compare.operands)
    return w.icmp(INVERSE[compare.predicate], *compare.operands)


def logic(i: Instruction, w: Work) -> Value | None:
    """and, or, xor of conditions"""
    if not i.type.is_bool or i.opcode not in _LOGIC:
        return None
    a, b = i.operands
    if i.opcode is Opcode.XOR and is_true(b) and isinstance(a, Instruction) and is_compare(a):
        return inverted(w, a)
    if i.type.is_vector or (_is_float_compare(a) and _is_float_compare(b)):
        bits = _common_bits(a, b)
        return w.test(w.binary(i.opcode, w.mask(a, bits), w.mask(b, bits)))
    return w.test_bool(w.binary(i.opcode, w.bool_bits(a), w.bool_bits(b)))


def _is_float_compare(value: Value) -> bool:
    return isinstance(value, Instruction) and value.opcode is Opcode.FCMP


def _common_bits(a: Value, b: Value) -> int:
    """The widest comparison's width, so that masks are never narrowed and widened again."""
    widths = []
    for value in (a, b):
        if isinstance(value, Instruction) and value.predicate is not None:
            type = value.operands[0].type
            widths.append(64 if type.is_pointer else type.bits)
    return max((width for width in widths if width > 1), default=32)


def condition_of_conditions(i: Instruction, w: Work) -> Value | None:
    """select between conditions"""
    if i.opcode is not Opcode.SELECT or not i.type.is_bool:
        return None
    condition, a, b = i.operands
    if not i.type.is_vector:
        return w.test_bool(w.select(condition, w.bool_bits(a), w.bool_bits(b)))
    bits = _common_bits(a, b)
    return w.test(w.select(condition, w.mask(a, bits), w.mask(b, bits)))


def phi(i: Instruction, w: Work) -> Value | None:
    """a condition that flows through a phi"""
    if i.opcode is not Opcode.PHI or not i.type.is_bool or i.block is None:
        return None
    bits = 32 if not i.type.is_vector else _phi_bits(i)
    type = Type(Kind.INT, bits, i.type.lanes)
    wide = Instruction(Opcode.PHI, type, origins=i.origins)
    w.builder.add(wide, i.name)
    facts = w.facts.masks if i.type.is_vector else w.facts.bools
    facts.add(wide)
    for value, source in zip(list(i.operands), list(i.blocks)):
        there = w.place(source, source.terminator)
        incoming = there.mask(value, bits) if i.type.is_vector else there.bool_bits(value, bits)
        wide.add_incoming(incoming, source)
    after = next(x for x in i.block.instructions if x.opcode is not Opcode.PHI)
    here = w.place(i.block, after)
    return here.test(wide) if i.type.is_vector else here.test_bool(wide)


def _phi_bits(i: Instruction) -> int:
    return max((_common_bits(value, value) for value in i.operands), default=32)


def load(i: Instruction, w: Work) -> Value | None:
    """a condition in memory is a byte"""
    if i.opcode is not Opcode.LOAD or i.type != I1:
        return None
    byte = w.builder.load(I8, i.operands[0])
    return w.test_bool(w.resized(byte, 32, is_signed=False))


def store(i: Instruction, w: Work) -> Value | None:
    """a condition in memory is a byte"""
    if i.opcode is not Opcode.STORE or i.operands[0].type != I1:
        return None
    return w.builder.store(w.bool_bits(i.operands[0], 8), i.operands[1])


def truncation(i: Instruction, w: Work) -> Value | None:
    """truncation to a condition looks at the lowest bit"""
    if i.opcode is not Opcode.TRUNC or not i.type.is_bool:
        return None
    value = i.operands[0]
    lowest = w.binary(Opcode.AND, value, w.number(value.type, 1))
    if i.type.is_vector:
        return w.icmp(Predicate.NE, lowest, w.number(value.type, 0))
    return w.test_bool(lowest)


def comparison_of_conditions(i: Instruction, w: Work) -> Value | None:
    """comparison of conditions"""
    if i.opcode is not Opcode.ICMP or not i.operands[0].type.is_bool:
        return None
    a, b = i.operands
    truth = w.number(a.type, 1)
    if i.predicate is Predicate.NE:
        return w.binary(Opcode.XOR, a, b)
    if i.predicate is Predicate.EQ:
        return w.binary(Opcode.XOR, w.binary(Opcode.XOR, a, b), truth)
    # As numbers, true is 1 unsigned and -1 signed.
    is_greater = i.predicate in (Predicate.UGT, Predicate.SLT, Predicate.UGE, Predicate.SLE)
    high, low = (a, b) if is_greater else (b, a)
    if i.predicate in (Predicate.UGT, Predicate.SLT, Predicate.ULT, Predicate.SGT):
        return w.binary(Opcode.AND, high, w.binary(Opcode.XOR, low, truth))
    return w.binary(Opcode.OR, high, w.binary(Opcode.XOR, low, truth))


def frozen(i: Instruction, w: Work) -> Value | None:
    """freezing a condition that is never poison"""
    if i.opcode is Opcode.FREEZE and i.type.is_bool:
        return i.operands[0]
    return None


def extension(i: Instruction, w: Work) -> Value | None:
    """a condition as a number"""
    if i.opcode not in (Opcode.ZEXT, Opcode.SEXT) or not i.operands[0].type.is_bool:
        return None
    condition = i.operands[0]
    if i.type.is_vector:
        return _vector_extension(i, condition, w)
    if w.known_mask(condition) is not None:
        mask = w.mask(condition, i.type.bits)
        is_zext = i.opcode is Opcode.ZEXT
        return w.binary(Opcode.AND, mask, w.number(i.type, 1)) if is_zext else mask
    if i.opcode is Opcode.SEXT and _is_float_compare(condition):
        is_direct = _common_bits(condition, condition) == i.type.bits
        return None if is_direct else w.mask(condition, i.type.bits)
    if i.opcode is Opcode.SEXT:
        positive = w.bool_bits(condition, i.type.bits)
        return w.binary(Opcode.SUB, w.number(i.type, 0), positive)
    return _scalar_zext(i, condition, w)


def _vector_extension(i: Instruction, condition: Value, w: Work) -> Value | None:
    if i.opcode is Opcode.ZEXT:
        mask = w.mask(condition, max(32, _common_bits(condition, condition)))
        lowest = w.binary(Opcode.LSHR, mask, w.number(mask.type, mask.type.bits - 1))
        return w.resized(lowest, i.type.bits, is_signed=False)
    known = w.known_mask(condition)
    if known is not None:
        return w.mask(condition, i.type.bits)
    compared = condition.operands[0].type if isinstance(condition, Instruction) else None
    if compared is not None and is_compare(condition) and compared.bits not in (1, i.type.bits):
        return w.mask(condition, i.type.bits)
    return None


def _scalar_zext(i: Instruction, condition: Value, w: Work) -> Value | None:
    if (
        isinstance(condition, Instruction)
        and condition.predicate is Predicate.NE
        and condition.operands[0] in w.facts.bools
    ):
        return w.bool_bits(condition, i.type.bits)
    if i.type.bits != 32 and _is_direct(condition, w):
        return w.resized(w.bool_bits(condition, 32), i.type.bits, is_signed=False)
    if i.type.bits > 8:
        return w.resized(w.bool_bits(condition, 8), i.type.bits, is_signed=False)
    if _is_float_compare(condition):
        return w.bool_bits(_by_mask(condition, w), i.type.bits)
    return None


def _is_direct(condition: Value, w: Work) -> bool:
    """Whether one instruction gives the condition as a 32-bit number."""
    probe = Instruction(Opcode.ZEXT, I32, (condition,))
    probe.block = w.at.block
    covered = w.target.covers(probe)
    probe.drop_operands()
    return covered


def choice(i: Instruction, w: Work) -> Value | None:
    """number chosen by a condition, where numbers can be chosen"""
    is_number = i.opcode in (Opcode.ZEXT, Opcode.SEXT) and i.operands[0].type == I1
    if not is_number:
        return None
    truth = 1 if i.opcode is Opcode.ZEXT else -1
    wide = I32 if i.type.bits < 32 else i.type
    chosen = w.select(i.operands[0], w.number(wide, truth), w.number(wide, 0))
    return w.resized(chosen, i.type.bits, is_signed=True)


def conversion(i: Instruction, w: Work) -> Value | None:
    """a condition as a floating-point number"""
    if i.opcode not in (Opcode.UITOFP, Opcode.SITOFP) or not i.operands[0].type.is_bool:
        return None
    one = 1.0 if i.opcode is Opcode.UITOFP else -1.0
    return w.select(i.operands[0], w.number(i.type, one), w.number(i.type, 0.0))


def _by_mask(condition: Value, w: Work) -> Value:
    assert isinstance(condition, Instruction)
    type = condition.operands[0].type
    return w.test(w.mask(condition, type.bits))


def branch(i: Instruction, w: Work) -> Value | None:
    """branch on a condition that flags cannot hold"""
    if i.opcode is not Opcode.BR or not i.operands:
        return None
    condition = i.operands[0]
    if isinstance(condition, Constant):
        taken, other = i.blocks if condition.value else i.blocks[::-1]
        if i.block is not None:
            remove_incoming(other, i.block)
        return w.builder.br(taken)
    if _is_float_compare(condition):
        return w.builder.cond_br(_by_mask(condition, w), i.blocks[0], i.blocks[1])
    if is_compare(condition):
        return None
    tested = w.test_bool(w.bool_bits(condition))
    return w.builder.cond_br(tested, i.blocks[0], i.blocks[1])


def select_by_mask(i: Instruction, w: Work) -> Value | None:
    """select by the sign of a mask"""
    if i.opcode is not Opcode.SELECT or i.type.is_bool:
        return None
    condition, a, b = i.operands
    if not i.type.is_vector and not i.type.is_float:
        is_masked = _is_float_compare(condition)
        return w.select(_by_mask(condition, w), a, b) if is_masked else None
    if condition.type.lanes != i.type.lanes:
        lanes = (0,) * i.type.lanes
        wide = w.shuffle(w.gather([condition, condition]), None, lanes)
        return w.select(wide, a, b)
    if w.known_mask(condition) is not None and _compared(condition) == i.type.bits:
        return None
    return w.select(w.test(w.mask(condition, i.type.bits)), a, b)


def _compared(condition: Value) -> int:
    assert isinstance(condition, Instruction)
    return condition.operands[0].type.bits


def select_by_bits(i: Instruction, w: Work) -> Value | None:
    """select put together from bits"""
    if i.opcode is not Opcode.SELECT or i.type.is_bool or i.type.is_pointer:
        return None
    condition, a, b = i.operands
    integer = i.type.as_int()
    if condition.type.lanes != i.type.lanes:
        return None
    mask = w.mask(condition, i.type.bits)
    chosen = w.binary(Opcode.AND, w.bitcast(a, integer), mask)
    other = w.binary(Opcode.AND, w.bitcast(b, integer), w.invert(mask))
    return w.bitcast(w.binary(Opcode.OR, chosen, other), i.type)


def select_of_pointers(i: Instruction, w: Work) -> Value | None:
    """select of pointers as integers"""
    if i.opcode is not Opcode.SELECT or not i.type.is_pointer:
        return None
    integer = Type(Kind.INT, 64)
    a, b = (w.cast(Opcode.PTRTOINT, v, integer) for v in i.operands[1:])
    return w.cast(Opcode.INTTOPTR, w.select(i.operands[0], a, b), i.type)


def lanes_of_conditions(i: Instruction, w: Work) -> Value | None:
    """lanes of a vector of conditions"""
    if i.opcode is Opcode.EXTRACTELEMENT and i.type == I1:
        vector, lane = i.operands
        mask = w.mask(vector, _common_bits(vector, vector))
        found = w.builder.extract(mask, lane)
        return w.test(found)
    if not i.type.is_bool or not i.type.is_vector:
        return None
    if i.opcode is Opcode.INSERTELEMENT:
        vector, scalar, lane = i.operands
        bits = _common_bits(vector, vector)
        mask = w.builder.insert(w.mask(vector, bits), w.mask(scalar, bits), lane)
        return w.test(mask)
    if i.opcode is Opcode.SHUFFLEVECTOR:
        a, b = i.operands
        bits = _common_bits(a, b)
        return w.test(w.shuffle(w.mask(a, bits), w.mask(b, bits), i.mask))
    return None
