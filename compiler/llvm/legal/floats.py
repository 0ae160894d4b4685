"""Floating-point operations made of others: signs by bits, minima and maxima, rounding.

Where LLVM leaves a NaN's payload open, the quiet NaN that the rule makes is as good as any.
"""

from __future__ import annotations

import math

from compiler.llvm.ir import BasicBlock, Constant, Instruction, Opcode, Predicate, Value
from compiler.llvm.legal.work import Work
from compiler.llvm.types import Kind, Type

P = Predicate


def _sign(w: Work, type: Type) -> Constant:
    return w.number(type.as_int(), -1 << (type.bits - 1))


def _magnitude(w: Work, type: Type) -> Constant:
    return w.number(type.as_int(), (1 << (type.bits - 1)) - 1)


def negation(i: Instruction, w: Work) -> Value | None:
    """negation flips the sign bit"""
    if i.opcode is not Opcode.FNEG:
        return None
    bits = w.bitcast(i.operands[0], i.type.as_int())
    return w.bitcast(w.binary(Opcode.XOR, bits, _sign(w, i.type)), i.type)


def absolute(i: Instruction, w: Work) -> Value | None:
    """absolute value clears the sign bit"""
    if i.intrinsic != "llvm.fabs":
        return None
    bits = w.bitcast(i.operands[0], i.type.as_int())
    return w.bitcast(w.binary(Opcode.AND, bits, _magnitude(w, i.type)), i.type)


def copied_sign(i: Instruction, w: Work) -> Value | None:
    """the sign bit of one, the rest of the other"""
    if i.intrinsic != "llvm.copysign":
        return None
    type = i.type.as_int()
    magnitude, sign = (w.bitcast(operand, type) for operand in i.operands)
    kept = w.binary(Opcode.AND, magnitude, _magnitude(w, i.type))
    taken = w.binary(Opcode.AND, sign, _sign(w, i.type))
    return w.bitcast(w.binary(Opcode.OR, kept, taken), i.type)


def _number(value: Value) -> float | None:
    """A constant that is the same number (no NaN) in every lane."""
    splat = value.splat_value if isinstance(value, Constant) else None
    if splat is None or math.isnan(splat):
        return None
    return float(splat)


def extreme(i: Instruction, w: Work) -> Value | None:
    """minimum and maximum by comparing"""
    if i.intrinsic not in ("llvm.minimum", "llvm.maximum"):
        return None
    a, b = i.operands
    if _number(a) is not None:
        a, b = b, a
    is_maximum = i.intrinsic == "llvm.maximum"
    if _number(b) is not None:
        found = _with_number(a, b, is_maximum, i, w)
        if found is not None:
            return found
    if "nnan" in i.flags and "nsz" in i.flags:
        return _better(a, b, is_maximum, w)
    if "nsz" in i.flags:
        either = _better(a, b, is_maximum, w)
        return w.select(w.fcmp(P.UNO, a, a), a, either)
    return _ordered_zeros(a, b, is_maximum, w)


def _better(a: Value, b: Value, is_maximum: bool, w: Work) -> Value:
    """a if it is strictly better, else b: also when they are equal, or one is NaN."""
    return w.select(w.fcmp(P.OGT if is_maximum else P.OLT, a, b), a, b)


def _with_number(
    x: Value, constant: Value, is_maximum: bool, i: Instruction, w: Work
) -> Value | None:
    """With a constant in front, a NaN or an equal x is what comes out."""
    number = _number(constant)
    is_safe_zero = number == 0.0 and (math.copysign(1.0, number) < 0) == is_maximum
    if number != 0.0 or is_safe_zero or "nsz" in i.flags:
        return _better(constant, x, is_maximum, w)
    if is_maximum:
        # +0 and -0 add up to +0, and NaN stays NaN.
        return w.binary(Opcode.FADD, _better(constant, x, True, w), constant)
    return None


def _ordered_zeros(a: Value, b: Value, is_maximum: bool, w: Work) -> Value:
    """Both ways round, the two results differ only for zeros of unlike sign and for NaNs."""
    type = a.type.as_int()
    one = w.bitcast(_better(a, b, is_maximum, w), type)
    other = w.bitcast(_better(b, a, is_maximum, w), type)
    if not is_maximum:
        # -0 or'ed into +0 is -0; a NaN's bits or'ed with anything stay a NaN.
        return w.bitcast(w.binary(Opcode.OR, one, other), a.type)
    # Unlike zeros: the difference is the sign bit, and -0 - -0 is +0.
    difference = w.binary(Opcode.XOR, one, other)
    both = w.binary(Opcode.OR, one, difference)
    return w.binary(Opcode.FSUB, w.bitcast(both, a.type), w.bitcast(difference, a.type))


def extreme_number(i: Instruction, w: Work) -> Value | None:
    """minnum and maxnum prefer a number to a NaN"""
    if i.intrinsic not in ("llvm.minnum", "llvm.maxnum"):
        return None
    a, b = i.operands
    either = _better(a, b, i.intrinsic == "llvm.maxnum", w)
    return w.select(w.fcmp(P.UNO, b, b), a, either)


def rounded(i: Instruction, w: Work) -> Value | None:
    """rounding halves away from zero"""
    if i.intrinsic != "llvm.round":
        return None
    x = i.operands[0]
    whole = w.call("llvm.trunc", i.type, (x,))
    rest = w.call("llvm.fabs", i.type, (w.binary(Opcode.FSUB, x, whole),))
    one, zero = w.number(i.type, 1.0), w.number(i.type, 0.0)
    step = w.select(w.fcmp(P.OGE, rest, w.number(i.type, 0.5)), one, zero)
    signed = w.call("llvm.copysign", i.type, (step, x))
    # An infinite x leaves x - x, which is NaN: then there is no step.
    moved = w.binary(Opcode.FADD, whole, signed)
    return w.call("llvm.copysign", i.type, (moved, x))


def integral(i: Instruction, w: Work) -> Value | None:
    """rounding to a whole number by adding and taking away 2^(precision-1)"""
    names = (
        "llvm.floor",
        "llvm.ceil",
        "llvm.trunc",
        "llvm.roundeven",
        "llvm.rint",
        "llvm.nearbyint",
    )
    if i.intrinsic not in names or i.type.bits not in (32, 64):
        return None
    x, type = i.operands[0], i.type
    big = w.number(type, 2.0 ** (23 if type.bits == 32 else 52))
    size = w.call("llvm.fabs", type, (x,))
    near = w.binary(Opcode.FSUB, w.binary(Opcode.FADD, size, big), big)
    near = w.call("llvm.copysign", type, (near, x))
    result = _corrected(i.intrinsic, near, x, size, w)
    result = w.call("llvm.copysign", type, (result, x))
    return w.select(w.fcmp(P.OLT, size, big), result, x)


def _corrected(name: str, near: Value, x: Value, size: Value, w: Work) -> Value:
    one, zero = w.number(x.type, 1.0), w.number(x.type, 0.0)
    if name == "llvm.floor":
        step = w.select(w.fcmp(P.OGT, near, x), one, zero)
        return w.binary(Opcode.FSUB, near, step)
    if name == "llvm.ceil":
        step = w.select(w.fcmp(P.OLT, near, x), one, zero)
        return w.binary(Opcode.FADD, near, step)
    if name == "llvm.trunc":
        whole = w.call("llvm.fabs", x.type, (near,))
        step = w.select(w.fcmp(P.OGT, whole, size), one, zero)
        return w.binary(Opcode.FSUB, whole, step)
    return near


def remainder(i: Instruction, w: Work) -> Value | None:
    """remainder by long division of the significands"""
    if i.opcode is not Opcode.FREM or i.type.lanes or i.type.bits not in (32, 64):
        return None
    return _Remainder(i, w).build()


class _Remainder:
    """fmod(x, y) exactly: shift and subtract, one quotient bit per turn, as long division does.

    |x| and |y| become integer significands with a common exponent scale; the remainder of the
    significands, scaled back, is exact, because it is smaller than y's."""

    def __init__(self, i: Instruction, w: Work) -> None:
        self.i, self.w = i, w
        self.type = i.type
        self.integer = Type(Kind.INT, i.type.bits)
        self.mantissa_bits = 23 if i.type.bits == 32 else 52

    def build(self) -> Value:
        w, i = self.w, self.i
        x, y = i.operands
        ax, ay = (w.call("llvm.fabs", self.type, (v,)) for v in (x, y))
        reduced = self._loop(w.bitcast(ax, self.integer), w.bitcast(ay, self.integer))
        here = w.place(self._after, i)
        result = here.call("llvm.copysign", self.type, (here.bitcast(reduced, self.type), x))
        # NaN operands, x infinite or y zero give NaN; y infinite or larger than x gives x.
        small = here.fcmp(P.OLT, ax, ay)
        result = here.select(small, x, result)
        infinity = here.number(self.type, math.inf)
        finite = here.fcmp(P.OLT, ax, infinity)
        nonzero = here.fcmp(P.OGT, ay, here.number(self.type, 0.0))
        is_number = here.binary(Opcode.AND, finite, nonzero)
        return here.select(is_number, result, here.number(self.type, math.nan))

    def _loop(self, x: Value, y: Value) -> Value:
        """Reduces bit patterns: while x >= y, x -= y times the largest power of two that fits."""
        w, i = self.w, self.i
        assert i.block is not None and i.block.function is not None
        function, before = i.block.function, i.block
        after = function.add_block(f"{before.name}.frem.done", before)
        body = function.add_block(f"{before.name}.frem", before)
        place = before.instructions.index(i)
        for moved in before.instructions[place:]:
            moved.block = after
        after.instructions[:] = before.instructions[place:]
        del before.instructions[place:]
        for successor in after.successors:
            for phi in successor.phis:
                phi.blocks[:] = [after if b is before else b for b in phi.blocks]
        start = w.place(before, None)
        fx, fy = start.bitcast(x, self.type), start.bitcast(y, self.type)
        begins = self._may_reduce(start, fx, fy)
        start.builder.cond_br(begins, body, after)
        self._after = after
        return self._body(before, body, after, fx, fy)

    def _may_reduce(self, w: Work, fx: Value, fy: Value) -> Value:
        positive = w.fcmp(P.OGT, fy, w.number(self.type, 0.0))
        finite = w.fcmp(P.OLT, fx, w.number(self.type, math.inf))
        larger = w.fcmp(P.OGE, fx, fy)
        return w.binary(Opcode.AND, w.binary(Opcode.AND, positive, finite), larger)

    def _body(self, before: object, body: object, after: object, fx: Value, fy: Value) -> Value:
        """One turn: y scaled to x's exponent (halved if that is more than x) is taken from x. The
        difference of two such numbers is exact (Sterbenz)."""
        assert isinstance(before, BasicBlock) and isinstance(body, BasicBlock)
        assert isinstance(after, BasicBlock)
        w = self.w.place(body, None)
        x = w.builder.phi(self.type, "frem.x")
        scaled = self._scaled(w, x, fy)
        is_more = w.fcmp(P.OGT, scaled, x)
        half = w.binary(Opcode.FMUL, scaled, w.number(self.type, 0.5))
        taken = w.select(is_more, half, scaled)
        left = w.binary(Opcode.FSUB, x, taken)
        again = w.fcmp(P.OGE, left, fy)
        w.builder.cond_br(again, body, after)
        x.add_incoming(fx, before)
        x.add_incoming(left, body)
        out = Instruction(Opcode.PHI, self.type, origins=self.i.origins)
        out.name = w.builder.function.fresh_name("frem.rest")
        after.insert(0, out)
        out.add_incoming(fx, before)
        out.add_incoming(left, body)
        here = self.w.place(after, self.i)
        return here.bitcast(out, self.integer)

    def _scaled(self, w: Work, x: Value, y: Value) -> Value:
        """y times the power of two that gives it x's exponent."""
        shift = w.number(self.integer, self.mantissa_bits)
        ex = w.binary(Opcode.LSHR, w.bitcast(x, self.integer), shift)
        ey = w.binary(Opcode.LSHR, w.bitcast(y, self.integer), shift)
        steps = w.binary(Opcode.SUB, ex, ey)
        raised = w.binary(
            Opcode.ADD, w.bitcast(y, self.integer), w.binary(Opcode.SHL, steps, shift)
        )
        normal = w.icmp(P.NE, ey, w.number(self.integer, 0))
        return w.select(normal, w.bitcast(raised, self.type), self._scaled_subnormal(w, x, y, ex))

    def _scaled_subnormal(self, w: Work, x: Value, y: Value, ex: Value) -> Value:
        """y's significand as a whole number, given x's exponent; where x is subnormal too, both are
        whole numbers and y is shifted below x's leading bit."""
        shift = w.number(self.integer, self.mantissa_bits)
        bits_x, bits_y = w.bitcast(x, self.integer), w.bitcast(y, self.integer)
        whole = [
            w.bitcast(w.cast(Opcode.SITOFP, bits, self.type), self.integer)
            for bits in (bits_x, bits_y)
        ]
        own_x, own_y = (w.binary(Opcode.LSHR, bits, shift) for bits in whole)
        steps = w.binary(Opcode.SUB, ex, own_y)
        landed = w.binary(Opcode.ADD, whole[1], w.binary(Opcode.SHL, steps, shift))
        shifted = w.binary(Opcode.SHL, bits_y, w.binary(Opcode.SUB, own_x, own_y))
        normal = w.icmp(P.SGE, ex, w.number(self.integer, 1))
        return w.bitcast(w.select(normal, landed, shifted), self.type)
