"""What each instruction computes, as a function on NumPy values.

A value of the IR is a NumPy scalar or array of the type's dtype (`dtype_of`): integers signed, i1
as bool, pointers as int64. A vector's lanes are the last axis; leading axes (the threads of a grid)
broadcast. The evaluators and constant folding share these functions. Where LangRef says poison,
some value appears.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.llvm.exact import BFLOAT16, Number, narrow
from compiler.llvm.intrinsics import intrinsic_operation
from compiler.llvm.ir import Constant, Instruction, Opcode, Predicate
from compiler.llvm.types import Kind, Type
from isas.errors import UnsupportedError

Operation = Callable[..., Number]

_INTS = {1: np.bool_, 8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
_FLOATS = {16: np.float16, 32: np.float32, 64: np.float64}


def dtype_of(type: Type) -> np.dtype[Any]:
    """The dtype of one lane. Raises UnsupportedError for integers of other widths than 1, 8..64."""
    if type.is_pointer:
        return np.dtype(np.int64)
    if type.kind is Kind.BFLOAT:
        return BFLOAT16
    if type.is_float:
        return np.dtype(_FLOATS[type.bits])
    if type.bits not in _INTS:
        raise UnsupportedError(f"evaluating the type i{type.bits}")
    return np.dtype(_INTS[type.bits])


def unsigned_of(type: Type) -> np.dtype[Any]:
    """The unsigned dtype of an integer type's bits."""
    return np.dtype(f"u{max(1, type.bits // 8)}")


def constant_value(constant: Constant) -> Number:
    """A constant as a NumPy value; poison reads as zero."""
    dtype = dtype_of(constant.type)
    value = constant.value
    if value is None:
        value = (0,) * constant.type.lanes if constant.type.lanes else 0
    if constant.type.is_float:
        return narrow(np.asarray(value, dtype=np.float64), dtype)
    if constant.type.bits == 1:
        return (np.asarray(value, dtype=np.int64) & 1).astype(np.bool_)[()]
    mask = (1 << constant.type.bits) - 1
    parts = value if isinstance(value, tuple) else (value,)
    masked = np.array([int(part) & mask for part in parts], dtype=np.uint64)
    lanes = masked.astype(f"u{dtype.itemsize}").view(dtype)
    return lanes if isinstance(value, tuple) else lanes[0]


def operation(instruction: Instruction) -> Operation:
    """The function from operand values to the result, for every instruction that only computes.

    Raises UnsupportedError, naming the instruction, when there is none (memory, control, unknown
    calls)."""
    opcode, type = instruction.opcode, instruction.type
    if opcode in (Opcode.ICMP, Opcode.FCMP):
        return _comparison(instruction)
    if opcode.is_cast:
        return _cast(opcode, instruction.operands[0].type, type)
    if opcode is Opcode.CALL:
        found = intrinsic_operation(instruction.intrinsic, type)
        if found is None:
            raise UnsupportedError(f"evaluating a call of {instruction.callee}")
        return found
    if opcode is Opcode.SELECT:
        is_spread = bool(type.lanes) and not instruction.operands[0].type.lanes
        return _spread_select if is_spread else _select
    if opcode is Opcode.SHUFFLEVECTOR:
        return _shuffle(instruction)
    if opcode in _UNSIGNED and type.bits > 1:
        return _unsigned(_UNSIGNED[opcode], dtype_of(type), unsigned_of(type))
    simple = _BOOL if type.is_bool else _SIMPLE
    if opcode not in simple:
        raise UnsupportedError(f"evaluating the instruction {opcode.value} on {type}")
    return simple[opcode]


def _truncating_divide(a: Number, b: Number) -> Number:
    with np.errstate(all="ignore"):
        return (a - np.fmod(a, b)) // b


_SIMPLE: dict[Opcode, Operation] = {
    Opcode.ADD: operator.add,
    Opcode.SUB: operator.sub,
    Opcode.MUL: operator.mul,
    Opcode.SDIV: _truncating_divide,
    Opcode.SREM: np.fmod,
    Opcode.AND: operator.and_,
    Opcode.OR: operator.or_,
    Opcode.XOR: operator.xor,
    Opcode.SHL: operator.lshift,
    Opcode.ASHR: operator.rshift,
    Opcode.FADD: operator.add,
    Opcode.FSUB: operator.sub,
    Opcode.FMUL: operator.mul,
    Opcode.FDIV: operator.truediv,
    Opcode.FREM: np.fmod,
    Opcode.FNEG: operator.neg,
    Opcode.FREEZE: operator.pos,
}
_UNSIGNED: dict[Opcode, Operation] = {
    Opcode.UDIV: operator.floordiv,
    Opcode.UREM: operator.mod,
    Opcode.LSHR: operator.rshift,
}


def _first(a: Number, _b: Number = None) -> Number:
    return a


def _no_bool(a: Number, _b: Number) -> Number:
    return np.zeros_like(a)


_BOOL: dict[Opcode, Operation] = {
    Opcode.ADD: operator.xor,
    Opcode.SUB: operator.xor,
    Opcode.MUL: operator.and_,
    Opcode.AND: operator.and_,
    Opcode.OR: operator.or_,
    Opcode.XOR: operator.xor,
    Opcode.UDIV: _first,
    Opcode.SDIV: _first,
    Opcode.UREM: _no_bool,
    Opcode.SREM: _no_bool,
    Opcode.SHL: _first,
    Opcode.LSHR: _first,
    Opcode.ASHR: _first,
    Opcode.FREEZE: _first,
}


def _unsigned(apply: Operation, signed: np.dtype[Any], unsigned: np.dtype[Any]) -> Operation:
    def run(a: Number, b: Number) -> Number:
        return apply(a.view(unsigned), b.view(unsigned)).view(signed)

    return run


def _select(condition: Number, a: Number, b: Number) -> Number:
    if isinstance(condition, np.bool_):
        return a if condition else b
    return np.where(condition, a, b)


def _spread_select(condition: Number, a: Number, b: Number) -> Number:
    """One condition for all lanes of a vector."""
    if isinstance(condition, np.bool_):
        return a if condition else b
    return np.where(condition[..., None], a, b)


def _shuffle(instruction: Instruction) -> Operation:
    lanes = instruction.operands[0].type.lanes
    mask = np.array([max(0, lane) for lane in instruction.mask], dtype=np.intp)
    if all(lane < lanes for lane in instruction.mask):
        return lambda a, b: a[..., mask]

    def run(a: Number, b: Number) -> Number:
        if a.ndim != b.ndim:
            a, b = np.broadcast_arrays(a, b)
        return np.concatenate((a, b), axis=-1)[..., mask]

    return run


_COMPARE: dict[Predicate, Operation] = {
    Predicate.EQ: operator.eq, Predicate.NE: operator.ne,
    Predicate.SLT: operator.lt, Predicate.SLE: operator.le,
    Predicate.SGT: operator.gt, Predicate.SGE: operator.ge,
    Predicate.ULT: operator.lt, Predicate.ULE: operator.le,
    Predicate.UGT: operator.gt, Predicate.UGE: operator.ge,
    Predicate.OEQ: operator.eq, Predicate.OLT: operator.lt, Predicate.OLE: operator.le,
    Predicate.OGT: operator.gt, Predicate.OGE: operator.ge, Predicate.UNE: operator.ne,
}  # fmt: skip
_INVERSE_ORDERED = {
    Predicate.ULT: operator.ge, Predicate.ULE: operator.gt,
    Predicate.UGT: operator.le, Predicate.UGE: operator.lt,
}  # fmt: skip
_IS_UNSIGNED = frozenset({Predicate.ULT, Predicate.ULE, Predicate.UGT, Predicate.UGE})
_IS_SIGNED = frozenset({Predicate.SLT, Predicate.SLE, Predicate.SGT, Predicate.SGE})


def _comparison(instruction: Instruction) -> Operation:
    predicate = instruction.predicate
    if predicate is None:
        raise UnsupportedError("a comparison without a predicate")
    type = instruction.operands[0].type
    if instruction.opcode is Opcode.FCMP:
        return _float_comparison(predicate)
    compare = _COMPARE[predicate]
    if predicate in _IS_SIGNED and type.bits == 1:
        return lambda a, b: compare(b, a)  # signed, true is -1
    if predicate in _IS_UNSIGNED and type.bits > 1:
        unsigned = unsigned_of(type)
        return lambda a, b: compare(a.view(unsigned), b.view(unsigned))
    return compare


def _float_comparison(predicate: Predicate) -> Operation:
    if predicate in _INVERSE_ORDERED:
        inverse = _INVERSE_ORDERED[predicate]
        return lambda a, b: ~inverse(a, b)
    if predicate is Predicate.ORD:
        return lambda a, b: (a == a) & (b == b)
    if predicate is Predicate.UNO:
        return lambda a, b: (a != a) | (b != b)
    if predicate is Predicate.ONE:
        return lambda a, b: (a < b) | (a > b)
    if predicate is Predicate.UEQ:
        return lambda a, b: ~((a < b) | (a > b))
    return _COMPARE[predicate]


def _cast(opcode: Opcode, source: Type, result: Type) -> Operation:
    if opcode is Opcode.BITCAST:
        return _bitcast(source, result)
    to, origin = dtype_of(result), dtype_of(source)
    if opcode is Opcode.FPTRUNC or (opcode is Opcode.FPEXT and to == BFLOAT16):
        return lambda a: narrow(a, to)
    if opcode in (Opcode.FPEXT, Opcode.FPTOSI):
        return lambda a: a.astype(to)
    if opcode is Opcode.FPTOUI:
        return lambda a: a.astype(np.uint64).astype(unsigned_of(result)).view(to)
    if opcode in (Opcode.SITOFP, Opcode.UITOFP):
        return _int_to_float(opcode, source, result)
    if opcode is Opcode.SEXT:
        return (lambda a: -a.astype(to)) if source.bits == 1 else (lambda a: a.astype(to))
    if result.bits == 1:
        return lambda a: (a & 1).astype(np.bool_)
    if source.bits == 1 or result.bits <= source.bits:
        return lambda a: a.astype(to)
    unsigned = unsigned_of(source) if not source.is_pointer else origin
    return lambda a: a.view(unsigned).astype(to)


def _int_to_float(opcode: Opcode, source: Type, result: Type) -> Operation:
    to = dtype_of(result)
    if source.bits == 1:
        sign = -1 if opcode is Opcode.SITOFP else 1
        return lambda a: (a.astype(np.int8) * np.int8(sign)).astype(to)
    unsigned = unsigned_of(source)
    read: Operation = _first if opcode is Opcode.SITOFP else lambda a: a.view(unsigned)
    if to == BFLOAT16:
        return lambda a: narrow(read(a).astype(np.float64), to)
    return lambda a: read(a).astype(to)


def _bitcast(source: Type, result: Type) -> Operation:
    to = dtype_of(result)
    if source.lanes == result.lanes:
        return lambda a: a.view(to)

    def run(a: Number) -> Number:
        lanes = np.ascontiguousarray(a if source.lanes else np.asarray(a)[..., None])
        if source.bits == 1:
            lanes = np.packbits(lanes, axis=-1, bitorder="little")
        if result.bits == 1:
            bits = np.unpackbits(lanes.view(np.uint8), axis=-1, bitorder="little")
            return bits.astype(np.bool_)
        lanes = lanes.view(to)
        return lanes if result.lanes else lanes[..., 0]

    return run
