"""Scalar arithmetic on IR values, by name: what the expansions of HLO operations are written in.

Every method emits at most a few operations through an `Emitter`; none branches, so that loops of
them can be vectorised. Where no card of the target computes an operation directly, it is spelled
with ones that every machine has.
"""

from __future__ import annotations

import struct

from compiler.llvm.ir import Constant, Opcode, Predicate, Value
from compiler.llvm.types import F32, F64, I1, I8, Type
from compiler.lower.emit import Emitter
from compiler.target import Target


def rounded(value: float, type: Type) -> float:
    """The nearest value of an f32 or f64 type, as the constants of the IR want it."""
    return value if type == F64 else struct.unpack("<f", struct.pack("<f", value))[0]


def _bit_pattern(value: float, type: Type) -> int:
    packed = struct.pack("<d" if type == F64 else "<f", value)
    return int.from_bytes(packed, "little")


class Arithmetic:
    """Emits operations for a target. Operands may be of any scalar type the operation makes sense
    for."""

    def __init__(self, emitter: Emitter, target: Target) -> None:
        self.emitter = emitter
        self.target = target

    def legal(self, effect: str, type: Type) -> bool:
        """Whether a card computes the operation on one value or on a vector register of them."""
        legal, lanes = self.target.legal, self.target.lanes(type)
        return legal(effect, type) or (lanes > 1 and legal(effect, type.with_lanes(lanes)))

    # -- constants --------------------------------------------------------------------------

    def number(self, type: Type, value: float) -> Constant:
        """A float constant, rounded to the type, or an integer one."""
        if type.is_float:
            return self.emitter.constant(type, rounded(float(value), type))
        return self.emitter.constant(type, int(value))

    def boolean(self, value: bool) -> Constant:
        return self.emitter.constant(I1, int(value))

    def bits_constant(self, type: Type, bits: int) -> Constant:
        """An integer constant given by its bit pattern."""
        sign = 1 << (type.bits - 1)
        return self.emitter.constant(type, (bits ^ sign) - sign if bits >= 0 else bits)

    # -- floating point ---------------------------------------------------------------------

    def binary(
        self, opcode: Opcode, a: Value, b: Value, flags: tuple[str, ...] = (), stem: str = ""
    ) -> Value:
        return self.emitter.pure(opcode, a.type, (a, b), stem, flags=flags)

    def fadd(self, a: Value, b: Value) -> Value:
        return self.binary(Opcode.FADD, a, b)

    def fsub(self, a: Value, b: Value) -> Value:
        return self.binary(Opcode.FSUB, a, b)

    def fmul(self, a: Value, b: Value) -> Value:
        return self.binary(Opcode.FMUL, a, b)

    def fdiv(self, a: Value, b: Value) -> Value:
        return self.binary(Opcode.FDIV, a, b)

    def fneg(self, a: Value) -> Value:
        return self.emitter.pure(Opcode.FNEG, a.type, (a,))

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """a*b + c, rounded once."""
        return self.emitter.call("llvm.fma", a.type, (a, b, c))

    def sqrt(self, a: Value) -> Value:
        return self.emitter.call("llvm.sqrt", a.type, (a,))

    def fabs(self, a: Value) -> Value:
        if self.legal("fabs", a.type):
            return self.emitter.call("llvm.fabs", a.type, (a,))
        mask = self.bits_constant(a.type.as_int(), (1 << (a.type.bits - 1)) - 1)
        return self.bitcast(self.iand(self.bits(a), mask), a.type)

    def sign_bit(self, a: Value) -> Value:
        """The sign bit of a float, as an integer with nothing else set."""
        return self.iand(self.bits(a), self.bits_constant(a.type.as_int(), 1 << (a.type.bits - 1)))

    def with_sign(self, magnitude: Value, sign: Value) -> Value:
        """A non-negative float with a sign bit (an integer) put in."""
        return self.bitcast(self.ior(self.bits(magnitude), sign), magnitude.type)

    def flip_sign(self, a: Value, sign: Value) -> Value:
        """A float whose sign bit is changed where `sign` (an integer) has it set."""
        return self.bitcast(self.ixor(self.bits(a), sign), a.type)

    def rounding(self, effect: str, a: Value) -> Value:
        """floor, ceil, trunc or roundeven; every machine that has floats has these."""
        return self.emitter.call(f"llvm.{effect}", a.type, (a,))

    def fcmp(self, predicate: Predicate, a: Value, b: Value) -> Value:
        return self.emitter.pure(Opcode.FCMP, I1, (a, b), predicate=predicate)

    def is_nan(self, a: Value) -> Value:
        return self.fcmp(Predicate.UNO, a, a)

    def maximum(self, a: Value, b: Value) -> Value:
        """The greater one; NaN if either is."""
        return self._extreme("maximum", Predicate.OGT, a, b)

    def minimum(self, a: Value, b: Value) -> Value:
        """The smaller one; NaN if either is."""
        return self._extreme("minimum", Predicate.OLT, a, b)

    def _extreme(self, name: str, _beats: Predicate, a: Value, b: Value) -> Value:
        return self.emitter.call(f"llvm.{name}", a.type, (a, b))

    def horner(self, x: Value, coefficients: tuple[float, ...]) -> Value:
        """The polynomial with these coefficients, highest power first, by fused multiply-add."""
        total: Value = self.number(x.type, coefficients[0])
        for coefficient in coefficients[1:]:
            total = self.fma(total, x, self.number(x.type, coefficient))
        return total

    # -- integers ---------------------------------------------------------------------------

    def iadd(self, a: Value, b: Value) -> Value:
        return self.binary(Opcode.ADD, a, b)

    def isub(self, a: Value, b: Value) -> Value:
        return self.binary(Opcode.SUB, a, b)

    def imul(self, a: Value, b: Value) -> Value:
        return self.binary(Opcode.MUL, a, b)

    def iand(self, a: Value, b: Value) -> Value:
        return self.binary(Opcode.AND, a, b)

    def ior(self, a: Value, b: Value) -> Value:
        return self.binary(Opcode.OR, a, b)

    def ixor(self, a: Value, b: Value) -> Value:
        return self.binary(Opcode.XOR, a, b)

    def shl(self, a: Value, amount: int) -> Value:
        return self.binary(Opcode.SHL, a, self.number(a.type, amount))

    def lshr(self, a: Value, amount: int) -> Value:
        return self.binary(Opcode.LSHR, a, self.number(a.type, amount))

    def ashr(self, a: Value, amount: int) -> Value:
        return self.binary(Opcode.ASHR, a, self.number(a.type, amount))

    def inot(self, a: Value) -> Value:
        return self.ixor(a, self.number(a.type, -1 if a.type != I1 else 1))

    def icmp(self, predicate: Predicate, a: Value, b: Value) -> Value:
        return self.emitter.pure(Opcode.ICMP, I1, (a, b), predicate=predicate)

    def integer_extreme(self, name: str, a: Value, b: Value) -> Value:
        """smin, smax, umin or umax."""
        if self.legal(name, a.type):
            return self.emitter.call(f"llvm.{name}", a.type, (a, b))
        beats = {
            "smin": Predicate.SLT, "smax": Predicate.SGT,
            "umin": Predicate.ULT, "umax": Predicate.UGT,
        }[name]  # fmt: skip
        return self.select(self.icmp(beats, a, b), a, b)

    # -- everything -------------------------------------------------------------------------

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """a where the condition holds, else b; truth values by logic, which needs no select."""
        if a is b:
            return a
        if a.type == I1:
            return self.ixor(b, self.iand(condition, self.ixor(a, b)))
        return self.emitter.pure(Opcode.SELECT, a.type, (condition, a, b))

    def cast(self, opcode: Opcode, a: Value, type: Type) -> Value:
        return self.emitter.pure(opcode, type, (a,))

    def bitcast(self, a: Value, type: Type) -> Value:
        return a if a.type == type else self.cast(Opcode.BITCAST, a, type)

    def bits(self, a: Value) -> Value:
        """A float's bits, as an integer."""
        if isinstance(a, Constant) and isinstance(a.value, float) and a.type in (F32, F64):
            return self.bits_constant(a.type.as_int(), _bit_pattern(a.value, a.type))
        return self.bitcast(a, a.type.as_int())

    def resize(self, a: Value, type: Type, is_signed: bool) -> Value:
        """An integer as another integer type: cut, or extended by zeros or the sign."""
        if a.type.bits == type.bits:
            return a
        if a.type.bits > type.bits:
            return self.cast(Opcode.TRUNC, a, type)
        return self.cast(Opcode.SEXT if is_signed else Opcode.ZEXT, a, type)

    def as_byte(self, truth: Value) -> Value:
        """A truth value as memory holds it."""
        return self.cast(Opcode.ZEXT, truth, I8)

    def from_byte(self, byte: Value) -> Value:
        """A truth value from memory."""
        return self.icmp(Predicate.NE, byte, self.number(I8, 0))
