"""Small questions that rewriting rules ask about values, and constants they answer with."""

from __future__ import annotations

import math

from compiler.llvm.ir import Constant, Instruction, Opcode, Value, splat
from compiler.llvm.numbers import wrap_int
from compiler.llvm.types import Type


def int_of(value: Value) -> int | None:
    """The integer a constant (or a vector constant in every lane) holds, signed; else None."""
    if not isinstance(value, Constant) or not value.type.is_int:
        return None
    found = value.splat_value
    return wrap_int(found, value.type.bits) if isinstance(found, int) else None


def float_of(value: Value) -> float | None:
    """The float a constant (or a vector constant in every lane) holds; else None."""
    if not isinstance(value, Constant) or not value.type.is_float:
        return None
    found = value.splat_value
    return float(found) if isinstance(found, (int, float)) else None


def is_float(value: Value, wanted: float) -> bool:
    """Whether a value is the constant `wanted`, the sign of zero included."""
    found = float_of(value)
    return (
        found is not None
        and found == wanted
        and math.copysign(1, found) == math.copysign(1, wanted)
    )


def is_opcode(value: Value, opcode: Opcode) -> bool:
    return isinstance(value, Instruction) and value.opcode is opcode


def is_call(value: Value, intrinsic: str) -> bool:
    return is_opcode(value, Opcode.CALL) and _intrinsic(value) == intrinsic


def _intrinsic(value: Value) -> str:
    return value.intrinsic if isinstance(value, Instruction) else ""


def operands_of(value: Value, opcode: Opcode) -> list[Value] | None:
    """The operands of an instruction of that opcode, else None."""
    if isinstance(value, Instruction) and value.opcode is opcode:
        return value.operands
    return None


def power_of_two(number: int | None) -> int | None:
    """k when number is 2**k for k >= 0."""
    if number is None or number <= 0 or number & (number - 1):
        return None
    return number.bit_length() - 1


def int_constant(type: Type, number: int) -> Constant:
    """`number` modulo the type's width in every lane."""
    return splat(type, wrap_int(number, type.bits))


def zero_of(type: Type) -> Constant:
    return splat(type, 0.0 if type.is_float else 0)
