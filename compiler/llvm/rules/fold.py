"""Constant folding: an instruction of constants becomes the constant the evaluator computes."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.llvm.builder import Builder
from compiler.llvm.ir import Constant, Instruction, Opcode, Value
from compiler.llvm.semantics import constant_value, operation
from compiler.llvm.types import Type
from isas.errors import UnsupportedError

_NEVER = frozenset(
    {Opcode.LOAD, Opcode.STORE, Opcode.ALLOCA, Opcode.PHI, Opcode.GETELEMENTPTR, Opcode.PTRTOINT,
     Opcode.INTTOPTR, Opcode.BR, Opcode.RET, Opcode.UNREACHABLE}
)  # fmt: skip
_DIVISIONS = frozenset({Opcode.SDIV, Opcode.UDIV, Opcode.SREM, Opcode.UREM})
_SHIFTS = frozenset({Opcode.SHL, Opcode.LSHR, Opcode.ASHR})
_TO_INTEGER = frozenset({Opcode.FPTOSI, Opcode.FPTOUI})


def fold(i: Instruction, _builder: Builder) -> Value | None:
    """The constant an instruction of constants computes; None when an operand is no constant or
    poison, or LLVM leaves the result undefined."""
    constants = [operand for operand in i.operands if isinstance(operand, Constant)]
    if i.opcode in _NEVER or not i.operands or len(constants) != len(i.operands):
        return None
    if any(c.value is None for c in constants) or _is_undefined(i, constants):
        return None
    values = [constant_value(c) for c in constants]
    try:
        with np.errstate(all="ignore"):
            return constant_from(_compute(i, values), i.type)
    except UnsupportedError:
        return None


def _compute(i: Instruction, values: list[Any]) -> Any:
    if i.opcode is Opcode.EXTRACTELEMENT:
        return values[0][int(values[1])]
    if i.opcode is Opcode.INSERTELEMENT:
        copy = values[0].copy()
        copy[int(values[2])] = values[1]
        return copy
    return operation(i)(*values)


def _is_undefined(i: Instruction, constants: list[Constant]) -> bool:
    if i.opcode in _DIVISIONS:
        values = np.atleast_1d(constant_value(constants[1]))
        return bool(np.any((values == 0) | (values == -1)))
    if i.opcode in _SHIFTS:
        amounts = np.atleast_1d(constant_value(constants[1])).astype(np.int64)
        return bool(np.any((amounts < 0) | (amounts >= i.type.bits)))
    if i.opcode in _TO_INTEGER:
        values = np.atleast_1d(constant_value(constants[0])).astype(np.float64)
        limit = 2.0 ** (i.type.bits - (i.opcode is Opcode.FPTOSI))
        return not bool(np.all((values > -limit - 1) & (values < limit)))
    if i.opcode in (Opcode.EXTRACTELEMENT, Opcode.INSERTELEMENT):
        lane = constants[-1].value
        return not isinstance(lane, int) or not 0 <= lane < constants[0].type.lanes
    return i.opcode is Opcode.CALL and i.callee.startswith("llvm.nvvm")


def constant_from(value: Any, type: Type) -> Constant:
    """A NumPy value as a constant of the IR."""
    if type.lanes:
        return Constant(type, tuple(_scalar(lane, type) for lane in value))
    return Constant(type, _scalar(value, type))


def _scalar(value: Any, type: Type) -> int | float:
    return float(value) if type.is_float else int(value)
