"""Random straight-line functions over every type the IR has, without undefined behaviour: each
value is stored, so that a wrong bit anywhere shows."""

from __future__ import annotations

import random

import numpy as np

from compiler.llvm.builder import Builder
from compiler.llvm.callees import type_suffix
from compiler.llvm.ir import (
    Argument,
    Constant,
    Function,
    Opcode,
    Predicate,
    Value,
    splat,
)
from compiler.llvm.types import BF16, F16, F32, F64, I1, I8, I16, I32, I64, PTR, Type

SCALARS = (I8, I16, I32, I64, F32, F64)
HALVES = (F16, BF16)
VECTORS = (
    F32.with_lanes(8),
    F32.with_lanes(4),
    F64.with_lanes(4),
    F64.with_lanes(2),
    I32.with_lanes(8),
    I32.with_lanes(4),
    I64.with_lanes(4),
    I64.with_lanes(2),
    I16.with_lanes(8),
    I8.with_lanes(16),
    I8.with_lanes(8),
)
ROOM = 2048
IN_BYTES = 256

_INT_BINARY = (
    Opcode.ADD,
    Opcode.SUB,
    Opcode.MUL,
    Opcode.AND,
    Opcode.OR,
    Opcode.XOR,
    Opcode.SHL,
    Opcode.LSHR,
    Opcode.ASHR,
    Opcode.SDIV,
    Opcode.UDIV,
    Opcode.SREM,
    Opcode.UREM,
)
_SHIFTS = (Opcode.SHL, Opcode.LSHR, Opcode.ASHR)
_DIVISIONS = (Opcode.SDIV, Opcode.UDIV, Opcode.SREM, Opcode.UREM)
_FLOAT_BINARY = (Opcode.FADD, Opcode.FSUB, Opcode.FMUL, Opcode.FDIV)
_INT_CALLS = ("smin", "smax", "umin", "umax", "abs", "ctpop", "ctlz", "cttz", "bitreverse", "fshl")
_FLOAT_CALLS = (
    "minimum",
    "maximum",
    "fabs",
    "copysign",
    "floor",
    "ceil",
    "trunc",
    "roundeven",
    "round",
    "sqrt",
    "fma",
)
_INT_PREDICATES = [
    p
    for p in Predicate
    if p.value in ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
]
_FLOAT_PREDICATES = [
    p
    for p in Predicate
    if p.value
    in (
        "oeq",
        "one",
        "olt",
        "ole",
        "ogt",
        "oge",
        "ord",
        "uno",
        "ueq",
        "une",
        "ult",
        "ule",
        "ugt",
        "uge",
    )
]


class RandomFunction:
    """Builds one function. The kernel reads arrays of IN_BYTES at its pointers `in0`.. and writes
    each value it makes to `out`."""

    def __init__(self, seed: int, types: tuple[Type, ...], steps: int) -> None:
        self.rng = random.Random(seed)
        self.types = types
        names = [f"in{n}" for n in range(7)] + ["out"]
        arguments = [Argument(PTR, name, ("noalias",)) for name in names]
        self.function = Function("f", arguments)
        self.out = arguments[-1]
        self.builder = Builder(self.function, self.function.add_block("entry"))
        self.pool: list[Value] = []
        self.conditions: list[Value] = []
        self.place = 0
        self.stored: list[tuple[int, Type]] = []
        for type in types:
            for _ in range(2):
                self.pool.append(self._load(type))
        for _ in range(steps):
            self._step()
        self.builder.ret()

    def _load(self, type: Type) -> Value:
        array = self.rng.choice(self.function.arguments[:-1])
        last = IN_BYTES // type.size_bytes - 1
        lane = Constant(I64, self.rng.randint(0, last) * max(1, type.lanes))
        if self.rng.random() < 0.3:
            index = self.builder.load(I8, array)
            wide = self.builder.cast(Opcode.ZEXT, index, I64)
            masked = self.builder.binary(Opcode.AND, wide, Constant(I64, 3))
            lane = masked
        return self.builder.load(type, self.builder.gep(type.scalar, array, lane))

    def _store(self, value: Value) -> None:
        type = value.type
        if type.is_bool:
            value = self.builder.cast(Opcode.ZEXT, value, type.with_bits(8))
            type = value.type
        size = type.size_bytes
        self.place = -(-self.place // size) * size
        if self.place + size > ROOM:
            return
        index = Constant(I64, self.place // type.scalar.size_bytes)
        self.builder.store(value, self.builder.gep(type.scalar, self.out, index))
        self.stored.append((self.place, type))
        self.place += size

    def _pick(self, type: Type) -> Value:
        fitting = [v for v in self.pool if v.type == type]
        if not fitting or self.rng.random() < 0.15:
            return self._constant(type)
        return self.rng.choice(fitting)

    def _constant(self, type: Type) -> Value:
        def one() -> int | float:
            if type.is_float:
                return self.rng.choice([0.0, -0.0, 1.0, -2.5, 0.5, 3.0, 100.0, -7.0])
            bits = type.bits
            some = [0, 1, -1, 2, 7, 255, -128, 1 << (bits - 1), (1 << (bits - 1)) - 1]
            value = self.rng.choice(some) & ((1 << bits) - 1)
            return value - (1 << bits) if value >> (bits - 1) else value

        if type.is_vector and self.rng.random() < 0.4:
            return Constant(type, tuple(one() for _ in range(type.lanes)))
        return splat(type, one())

    def _step(self) -> None:
        type = self.rng.choice(self.types)
        kinds = [self._binary, self._call, self._compare, self._select, self._convert, self._logic]
        if type.is_vector:
            kinds += [self._lanes, self._shuffle, self._reduce]
        value = self.rng.choice(kinds)(type)
        if value is None:
            return
        if value.type.is_bool:
            self.conditions.append(value)
        else:
            self.pool.append(value)
        if self.rng.random() < 0.7:
            self._store(value)

    def _binary(self, type: Type) -> Value:
        a, b = self._pick(type), self._pick(type)
        if type.is_float:
            if self.rng.random() < 0.15:
                return self.builder.fneg(a)
            return self.builder.binary(self.rng.choice(_FLOAT_BINARY), a, b)
        opcode = self.rng.choice(_INT_BINARY)
        if opcode in _SHIFTS:
            b = self.builder.binary(Opcode.AND, b, splat(type, type.bits - 1))
        elif opcode in _DIVISIONS:
            b = self.builder.binary(Opcode.AND, b, splat(type, 31))
            b = self.builder.binary(Opcode.OR, b, splat(type, 1))
        return self.builder.binary(opcode, a, b)

    def _call(self, type: Type) -> Value:
        name = self.rng.choice(_FLOAT_CALLS if type.is_float else _INT_CALLS)
        count = {"fma": 3, "fshl": 3, "abs": 1, "ctpop": 1, "bitreverse": 1}.get(name, 2)
        if name in ("ctlz", "cttz", "abs"):
            operands = [self._pick(type), Constant(I1, 0)]
        elif name in ("fabs", "floor", "ceil", "trunc", "roundeven", "round", "sqrt"):
            operands = [self._pick(type)]
        else:
            operands = [self._pick(type) for _ in range(count)]
        flags = ["nsz"] if name in ("minimum", "maximum") and self.rng.random() < 0 else []
        call = self.builder.call(f"llvm.{name}", type, operands)
        call.flags = frozenset(flags)
        return call

    def _compare(self, type: Type) -> Value:
        a, b = self._pick(type), self._pick(type)
        if type.is_float:
            return self.builder.fcmp(self.rng.choice(_FLOAT_PREDICATES), a, b)
        return self.builder.icmp(self.rng.choice(_INT_PREDICATES), a, b)

    def _condition(self, lanes: int) -> Value:
        fitting = [c for c in self.conditions if c.type.lanes == lanes]
        if fitting and self.rng.random() < 0.6:
            return self.rng.choice(fitting)
        similar = [t for t in self.types if t.lanes == lanes]
        return self._compare(self.rng.choice(similar))

    def _select(self, type: Type) -> Value:
        return self.builder.select(self._condition(type.lanes), self._pick(type), self._pick(type))

    def _logic(self, type: Type) -> Value:
        opcode = self.rng.choice((Opcode.AND, Opcode.OR, Opcode.XOR))
        a = self._condition(type.lanes)
        b = self._condition(type.lanes)
        if self.rng.random() < 0.2:
            b = splat(a.type, 1)
        return self.builder.binary(opcode, a, b)

    def _convert(self, type: Type) -> Value | None:
        targets = [t for t in self.types if t.lanes == type.lanes and t != type]
        if self.rng.random() < 0.2:
            opcode = self.rng.choice((Opcode.ZEXT, Opcode.SEXT))
            if not type.is_float:
                return self.builder.cast(opcode, self._condition(type.lanes), type)
            opcode = self.rng.choice((Opcode.UITOFP, Opcode.SITOFP))
            return self.builder.cast(opcode, self._condition(type.lanes), type)
        if not targets:
            return None
        target = self.rng.choice(targets)
        value = self._pick(type)
        if type.is_float and target.is_float:
            if target.bits == type.bits:
                return None
            opcode = Opcode.FPEXT if target.bits > type.bits else Opcode.FPTRUNC
            return self.builder.cast(opcode, value, target)
        if not type.is_float and target.is_float:
            opcode = self.rng.choice((Opcode.SITOFP, Opcode.UITOFP))
            return self.builder.cast(opcode, value, target)
        if type.is_float:
            return self._to_integer(value, target)
        if target.bits == type.bits:
            return None
        narrow = target.bits < type.bits
        opcode = Opcode.TRUNC if narrow else self.rng.choice((Opcode.ZEXT, Opcode.SEXT))
        return self.builder.cast(opcode, value, target)

    def _to_integer(self, value: Value, target: Type) -> Value:
        """In range by choosing 0 otherwise; sometimes saturating instead."""
        type = value.type
        if type.bits >= 32 and self.rng.random() < 0.3:
            name = self.rng.choice(("llvm.fptosi.sat", "llvm.fptoui.sat"))
            callee = f"{name}.{type_suffix(target)}.{type_suffix(type)}"
            return self.builder.call_exact(callee, target, (value,))
        signed = self.rng.random() < 0.5
        limit = splat(type, 2.0 ** min(14, target.bits - 2))
        low = splat(type, -(2.0 ** min(14, target.bits - 2)) if signed else 0.0)
        high = self.builder.fcmp(Predicate.OLT, value, limit)
        above = self.builder.fcmp(Predicate.OGE, value, low)
        fine = self.builder.binary(Opcode.AND, high, above)
        value = self.builder.select(fine, value, splat(type, 0.0))
        return self.builder.cast(Opcode.FPTOSI if signed else Opcode.FPTOUI, value, target)

    def _lanes(self, type: Type) -> Value:
        lane = Constant(I64, self.rng.randrange(type.lanes))
        vector = self._pick(type)
        if type.scalar in self.types and self.rng.random() < 0.5:
            return self.builder.extract(vector, lane)
        scalar = self._pick(type.scalar)
        if self.rng.random() < 0.4:
            return self.builder.splat(scalar, type.lanes)
        return self.builder.insert(vector, scalar, lane)

    def _shuffle(self, type: Type) -> Value:
        a, b = self._pick(type), self._pick(type)
        kind = self.rng.random()
        lanes = type.lanes
        if kind < 0.5:
            mask = tuple(self.rng.randrange(2 * lanes) for _ in range(lanes))
        elif kind < 0.75:
            mask = tuple(self.rng.randrange(lanes) for _ in range(lanes))
        else:
            mask = tuple(reversed(range(lanes)))
        return self.builder.shuffle(a, b, mask)

    def _reduce(self, type: Type) -> Value | None:
        if type.scalar not in self.types:
            return None
        vector = self._pick(type)
        names = ["add", "and", "or", "xor", "smax", "umin", "mul"]
        if type.is_float:
            names = ["fadd", "fmul"]
        name = self.rng.choice(names)
        operands: list[Value] = [vector]
        if type.is_float:
            operands = [self._pick(type.scalar), vector]
        callee = f"llvm.vector.reduce.{name}.{type_suffix(type)}"
        return self.builder.call_exact(callee, type.scalar, operands)


def random_function(seed: int, *, vectors: bool, halves: bool, steps: int = 40) -> RandomFunction:
    """A function over a random choice of types."""
    rng = random.Random(seed)
    types = list(SCALARS) + (list(HALVES) if halves else [])
    chosen = rng.sample(types, min(len(types), 5))
    if vectors:
        chosen += rng.sample(list(VECTORS), 4)
    return RandomFunction(seed, tuple(dict.fromkeys(chosen)), steps)


def arguments() -> list[int]:
    """Offsets of the arrays: seven inputs, then the output."""
    return [n * IN_BYTES for n in range(8)]


def memory(seed: int) -> np.ndarray:
    """Input arrays: random bits, small numbers and special values of every type."""
    rng = np.random.default_rng(seed)
    whole = np.zeros(8 * IN_BYTES + ROOM, np.uint8)
    specials = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-40, 1.5, -2.5, 65504.0]
    for number in range(7):
        space = whole[number * IN_BYTES : (number + 1) * IN_BYTES]
        style = number % 4
        if style == 0:
            space[:] = rng.integers(0, 256, IN_BYTES)
        elif style == 1:
            values = rng.normal(size=IN_BYTES // 4) * 10
            values[: len(specials)] = specials
            with np.errstate(over="ignore"):
                space.view(np.float32)[:] = rng.permutation(values)
        elif style == 2:
            values = rng.normal(size=IN_BYTES // 8) * 1000
            values[: len(specials)] = specials
            space.view(np.float64)[:] = rng.permutation(values)
        else:
            space.view(np.int32)[:] = rng.integers(-9, 10, IN_BYTES // 4)
    return whole


_DTYPES = {16: np.float16, 32: np.float32, 64: np.float64}


def differences(a: np.ndarray, b: np.ndarray, stored: list[tuple[int, Type]]) -> list[str]:
    """Where the stored values differ; any NaN equals any NaN."""
    found = []
    base = 7 * IN_BYTES
    for number, (place, type) in enumerate(stored):
        start, stop = base + place, base + place + type.size_bytes
        one, other = a[start:stop], b[start:stop]
        if np.array_equal(one, other):
            continue
        if type.is_float:
            x, y = (_floats(part, type) for part in (one, other))
            same = (x == y) & (np.signbit(x) == np.signbit(y)) | (np.isnan(x) & np.isnan(y))
            if same.all():
                continue
        found.append(f"store {number} of {type}: {one.tobytes().hex()} and {other.tobytes().hex()}")
    return found


def _floats(raw: np.ndarray, type: Type) -> np.ndarray:
    if type.scalar == BF16:
        wide = raw.view(np.uint16).astype(np.uint32) << 16
        return wide.view(np.float32)
    return raw.view(_DTYPES[type.bits])
