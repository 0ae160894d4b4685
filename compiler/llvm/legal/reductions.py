"""Reductions of a vector's lanes to one value."""

from __future__ import annotations

from compiler.llvm.ir import Constant, Instruction, Opcode, Value
from compiler.llvm.legal.widths import REGISTER_BITS
from compiler.llvm.legal.work import Work, fast_math

_REDUCTIONS = {
    "llvm.vector.reduce.add": Opcode.ADD, "llvm.vector.reduce.mul": Opcode.MUL,
    "llvm.vector.reduce.and": Opcode.AND, "llvm.vector.reduce.or": Opcode.OR,
    "llvm.vector.reduce.xor": Opcode.XOR, "llvm.vector.reduce.fadd": Opcode.FADD,
    "llvm.vector.reduce.fmul": Opcode.FMUL,
}  # fmt: skip
_REDUCTION_CALLS = {
    "llvm.vector.reduce.smin": "llvm.smin", "llvm.vector.reduce.smax": "llvm.smax",
    "llvm.vector.reduce.umin": "llvm.umin", "llvm.vector.reduce.umax": "llvm.umax",
    "llvm.vector.reduce.fminimum": "llvm.minimum", "llvm.vector.reduce.fmaximum": "llvm.maximum",
    "llvm.vector.reduce.fmin": "llvm.minnum", "llvm.vector.reduce.fmax": "llvm.maxnum",
}  # fmt: skip


def reduction(i: Instruction, w: Work) -> Value | None:
    """reduction by halving"""
    is_known = i.intrinsic in _REDUCTIONS or i.intrinsic in _REDUCTION_CALLS
    if i.opcode is not Opcode.CALL or not is_known:
        return None
    vector = i.operands[-1]
    opcode = _REDUCTIONS.get(i.intrinsic)
    if opcode in (Opcode.FADD, Opcode.FMUL):
        return _float_reduction(i, opcode, vector, w)
    return _in_order(i, opcode, None, _folded(i, opcode, vector, w), w)


def _folded(i: Instruction, opcode: Opcode | None, vector: Value, w: Work) -> Value:
    """All lanes of a vector combined, pairwise: halves while it is wider than 128 bits, then lanes
    shuffled down inside the register."""
    while vector.type.lanes % 2 == 0 and vector.type.lanes * vector.type.bits > REGISTER_BITS:
        vector = _combine(i, opcode, w.half(vector, False), w.half(vector, True), w)
    lanes = step = vector.type.lanes
    if lanes & (lanes - 1):
        return vector
    while step > 1:
        step //= 2
        mask = tuple(range(step, 2 * step)) + (-1,) * (lanes - step)
        vector = _combine(i, opcode, vector, w.shuffle(vector, None, mask), w)
    return w.lane(vector, 0) if lanes else vector


def _combine(i: Instruction, opcode: Opcode | None, a: Value, b: Value, w: Work) -> Value:
    if opcode is not None:
        return w.binary(opcode, a, b, fast_math(i))
    return w.call(_REDUCTION_CALLS[i.intrinsic], a.type, (a, b))


def _float_reduction(i: Instruction, opcode: Opcode, vector: Value, w: Work) -> Value:
    start = None if _is_neutral(i.operands[0], opcode) else i.operands[0]
    if "reassoc" not in i.flags and "fast" not in i.flags:
        return _in_order(i, opcode, start, vector, w)
    return _in_order(i, opcode, start, _folded(i, opcode, vector, w), w)


def _in_order(
    i: Instruction, opcode: Opcode | None, start: Value | None, vector: Value, w: Work
) -> Value:
    lanes = [w.lane(vector, n) for n in range(vector.type.lanes)] if vector.type.lanes else [vector]
    total = start
    for lane in lanes:
        total = lane if total is None else _combine(i, opcode, total, lane, w)
    assert total is not None
    return total


def _is_neutral(start: Value, opcode: Opcode) -> bool:
    """Whether starting with a number changes nothing: -0 + x is x, and so is 1 * x."""
    neutral = -0.0 if opcode is Opcode.FADD else 1.0
    return isinstance(start, Constant) and repr(start.value) == repr(neutral)
