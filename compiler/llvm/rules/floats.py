"""Rules for floating point that keep every rounding, the sign of zero and NaN."""

from __future__ import annotations

import math

from compiler.llvm.builder import Builder
from compiler.llvm.ir import Instruction, Opcode, Value, splat
from compiler.llvm.numbers import round_float
from compiler.llvm.rules.match import float_of, is_call, is_float, operands_of


def add(i: Instruction, b: Builder) -> Value | None:
    """x + -0 is x; x + 0 is x where the sign of zero does not count."""
    x, y = i.operands
    if is_float(y, -0.0) or (is_float(y, 0.0) and "nsz" in i.flags):
        return x
    negated = operands_of(y, Opcode.FNEG)
    if negated is not None:
        return b.binary(Opcode.FSUB, x, negated[0], i.name, i.flags)
    negated = operands_of(x, Opcode.FNEG)
    if negated is not None:
        return b.binary(Opcode.FSUB, y, negated[0], i.name, i.flags)
    return None


def sub(i: Instruction, b: Builder) -> Value | None:
    """x - 0 is x; -0 - x is -x; x - -y is x + y."""
    x, y = i.operands
    if is_float(y, 0.0):
        return x
    if is_float(x, -0.0):
        return b.fneg(y, i.name)
    negated = operands_of(y, Opcode.FNEG)
    if negated is not None:
        return b.binary(Opcode.FADD, x, negated[0], i.name, i.flags)
    return None


def mul(i: Instruction, b: Builder) -> Value | None:
    """x * 1 is x, x * -1 is -x; two signs cancel."""
    x, y = i.operands
    if is_float(y, 1.0):
        return x
    if is_float(y, -1.0):
        return b.fneg(x, i.name)
    left, right = operands_of(x, Opcode.FNEG), operands_of(y, Opcode.FNEG)
    if left is not None and right is not None:
        return b.binary(Opcode.FMUL, left[0], right[0], i.name, i.flags)
    constant = float_of(y)
    if left is not None and constant is not None:
        return b.binary(Opcode.FMUL, left[0], splat(i.type, -constant), i.name, i.flags)
    return None


def div(i: Instruction, b: Builder) -> Value | None:
    """x / 1 is x; dividing by a power of two is multiplying by its exact inverse."""
    x, y = i.operands
    constant = float_of(y)
    if constant is None or constant == 0 or not math.isfinite(constant):
        return None
    if constant == 1.0:
        return x
    if abs(math.frexp(constant)[0]) != 0.5:
        return None
    inverse = 1.0 / constant
    scalar = i.type.scalar
    if round_float(inverse, scalar) != inverse:
        return None
    return b.binary(Opcode.FMUL, x, splat(i.type, inverse), i.name, i.flags)


def neg(i: Instruction, b: Builder) -> Value | None:
    """- -x is x; -(x - y) stays (the sign of a zero difference would change)."""
    inner = operands_of(i.operands[0], Opcode.FNEG)
    return inner[0] if inner is not None else None


def call(i: Instruction, b: Builder) -> Value | None:
    rule = _CALLS.get(i.intrinsic)
    return rule(i, b) if rule is not None else None


def _fma(i: Instruction, b: Builder) -> Value | None:
    """fma(x, 1, c) is x + c; fma(x, y, -0) is x * y."""
    x, y, c = i.operands
    if is_float(x, 1.0):
        x, y = y, x
    if is_float(y, 1.0):
        return b.binary(Opcode.FADD, x, c, i.name, i.flags)
    if is_float(c, -0.0):
        return b.binary(Opcode.FMUL, x, y, i.name, i.flags)
    return None


def _fabs(i: Instruction, b: Builder) -> Value | None:
    x = i.operands[0]
    if is_call(x, "llvm.fabs"):
        return x
    inner = operands_of(x, Opcode.FNEG)
    return b.call("llvm.fabs", i.type, (inner[0],), i.name) if inner is not None else None


def _extreme(i: Instruction, b: Builder) -> Value | None:
    """maximum and minimum of x and x, or of x and the infinity that never wins."""
    x, y = i.operands
    if x is y:
        return x
    never = -math.inf if i.intrinsic in ("llvm.maximum", "llvm.maxnum") else math.inf
    is_safe = i.intrinsic in ("llvm.maximum", "llvm.minimum")
    if is_safe and float_of(y) == never:
        return x
    return y if is_safe and float_of(x) == never else None


def _same(i: Instruction, b: Builder) -> Value | None:
    return i.operands[0] if i.operands[0] is i.operands[1] else None


_CALLS = {
    "llvm.fma": _fma,
    "llvm.fabs": _fabs,
    "llvm.maximum": _extreme,
    "llvm.minimum": _extreme,
    "llvm.smin": _same,
    "llvm.smax": _same,
    "llvm.umin": _same,
    "llvm.umax": _same,
}
