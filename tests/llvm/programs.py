"""Random functions of the IR, as lowering writes them: counters and accumulators in stack
variables, loops with a test on top, arrays behind noalias parameters; and ways to run and compare
them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

from compiler.journal import Journal
from compiler.llvm.builder import Builder
from compiler.llvm.context import Context
from compiler.llvm.evaluate import evaluate
from compiler.llvm.ir import (
    Argument,
    BasicBlock,
    Constant,
    Function,
    Instruction,
    Opcode,
    Predicate,
    Value,
)
from compiler.llvm.types import F32, F64, I8, I32, I64, PTR, Type
from compiler.options import Options
from compiler.target import Target

ELEMENTS = 128
ARRAYS = (
    ("x", F32),
    ("y", F32),
    ("n", I32),
    ("out", F32),
    ("sum", F32),
    ("ints", I32),
    ("wide", F64),
    ("truth", I8),
)
STRIDE = ELEMENTS * 8

_FLOAT_PREDICATES = [p for p in Predicate if p.value[0] in "ou"]
_INT_PREDICATES = [
    Predicate.EQ, Predicate.NE, Predicate.SLT, Predicate.SLE, Predicate.SGT, Predicate.SGE,
    Predicate.ULT, Predicate.ULE, Predicate.UGT, Predicate.UGE,
]  # fmt: skip


def everything(vector_bits: int = 256, options: Options | None = None) -> Context:
    """A context whose machine has every instruction."""
    target = Target(
        "test/any", False, vector_bits, "", "",
        registers=(("vec", 16),), legal=lambda e, t: True, covers=lambda i: True,
    )  # fmt: skip
    return Context(target, options or Options(), Journal())


def arguments() -> list[int]:
    """Where each array lies."""
    return [STRIDE * n for n in range(len(ARRAYS))]


def memory(seed: int) -> np.ndarray:
    """Random inputs with some special values."""
    rng = np.random.default_rng(seed)
    whole = np.zeros(STRIDE * len(ARRAYS), dtype=np.uint8)
    for number, (_, type) in enumerate(ARRAYS[:3]):
        space = whole[number * STRIDE : number * STRIDE + ELEMENTS * 4]
        if type == I32:
            space.view(np.int32)[:] = rng.integers(-(2**31), 2**31, ELEMENTS)
        else:
            values = rng.normal(size=ELEMENTS) * 4
            values[rng.integers(0, ELEMENTS, 6)] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40]
            space.view(np.float32)[:] = values
    return whole


def differences(a: np.ndarray, b: np.ndarray) -> list[str]:
    """Where two memories differ; NaN equals NaN whatever its bits."""
    found = []
    for number, (name, type) in enumerate(ARRAYS):
        dtype = {F32: np.float32, F64: np.float64, I32: np.int32, I8: np.uint8}[type]
        left, right = (
            m[number * STRIDE :][: ELEMENTS * type.size_bytes].view(dtype) for m in (a, b)
        )
        bits = np.dtype(f"u{type.size_bytes}")
        same = left.view(bits) == right.view(bits)
        if type.is_float:
            same |= np.isnan(left) & np.isnan(right)
        found += [f"{name}[{i}]: {left[i]} and {right[i]}" for i in np.nonzero(~same)[0][:3]]
    return found


def run(function: Function, seed: int) -> np.ndarray:
    """The memory after evaluating the function."""
    space = memory(seed)
    evaluate(function, arguments(), space)
    return space


def random_function(seed: int, *, reassociate: bool = False) -> Function:
    """A function with one to three loop nests. `reassociate` adds sums of floats that may be
    reordered."""
    return _Writer(random.Random(seed), reassociate).write()


@dataclass(slots=True)
class _Writer:
    rng: random.Random
    reassociate: bool
    function: Function = field(init=False)
    builder: Builder = field(init=False)
    array: dict[str, Argument] = field(init=False)
    floats: list[Value] = field(default_factory=list)
    ints: list[Value] = field(default_factory=list)
    used_slots: set[int] = field(default_factory=set)

    def write(self) -> Function:
        parameters = [
            Argument(PTR, name, ("noalias", "align 64", f"dereferenceable({STRIDE})"))
            for name, _ in ARRAYS
        ]
        self.function = Function("f", parameters)
        self.builder = Builder(self.function, self.function.add_block("entry"))
        self.array = {a.name: a for a in parameters}
        self._base()
        for _ in range(self.rng.randint(1, 2)):
            self._diamond()
            self._nest(self.rng.randint(1, 2), [])
        self.builder.ret()
        return self.function

    def _base(self) -> None:
        load = self.builder.load
        self.floats = [
            load(F32, self.array["x"]),
            Constant(F32, self.rng.choice([1.0, -1.0, 0.0, -0.0, 0.5, 2.0, 3.0])),
        ]
        self.ints = [load(I32, self.array["n"]), Constant(I32, self.rng.choice([0, 1, -1, 8, 255]))]

    def _slot(self, type: Type, name: str) -> Instruction:
        slot = Instruction(
            Opcode.ALLOCA, PTR, name=self.function.fresh_name(name), element_type=type,
            align=type.size_bytes,
        )  # fmt: skip
        self.function.entry.insert(0, slot)
        return slot

    def _diamond(self) -> None:
        """A variable written on two paths."""
        b = self.builder
        slot = self._slot(F32, "v")
        b.store(self.rng.choice(self.floats), slot)
        condition = self._condition()
        then, other, end = (self.function.add_block(n) for n in ("then", "else", "end"))
        b.cond_br(condition, then, other)
        for block in (then, other):
            b.at(block)
            kept = list(self.floats), list(self.ints)
            if block is then or self.rng.random() < 0.5:
                b.store(self._float(2), slot)
            self.floats, self.ints = kept
            b.br(end)
        b.at(end)
        self.floats.append(b.load(F32, slot))

    def _nest(self, depth: int, counters: list[Value]) -> None:
        b = self.builder
        count = self.rng.choice([1, 2, 3, 5, 8, 13, 16, 24, 31, 40] if depth == 1 else [1, 2, 3])
        counter_slot = self._slot(I64, "i.slot")
        sums = self._accumulators() if depth == 1 else []
        b.store(Constant(I64, 0), counter_slot)
        header, body, latch, exit = (
            self.function.add_block(f"i.{n}") for n in ("header", "body", "latch", "exit")
        )
        b.br(header)
        b.at(header)
        counter = b.load(I64, counter_slot, name="i")
        b.cond_br(b.icmp(Predicate.ULT, counter, Constant(I64, count)), body, exit)
        b.at(body)
        kept = list(self.floats), list(self.ints)
        if depth > 1:
            self._nest(depth - 1, [*counters, counter])
        else:
            self._body([*counters, counter], sums)
        self.floats, self.ints = kept
        b.br(latch)
        b.at(latch)
        following = b.binary(Opcode.ADD, counter, Constant(I64, 1), flags=("nuw", "nsw"))
        b.store(following, counter_slot)
        b.br(header)
        self._close(exit, sums)

    def _close(self, exit: BasicBlock, sums: list[tuple[Instruction, Type, Opcode | str]]) -> None:
        b = self.builder.at(exit)
        for slot, type, _ in sums:
            array = "sum" if type == F32 else "ints"
            free = next(n for n in range(100, ELEMENTS) if n not in self.used_slots)
            self.used_slots.add(free)
            address = b.gep(type, self.array[array], Constant(I64, free))
            b.store(b.load(type, slot), address)

    def _accumulators(self) -> list[tuple[Instruction, Type, Opcode | str]]:
        kinds: list[tuple[Type, Opcode | str]] = [
            (I32, Opcode.ADD), (I32, Opcode.XOR), (I32, Opcode.MUL), (I32, "llvm.smax"),
            (I32, "llvm.umin"), (F32, "llvm.maximum"), (F32, "llvm.minimum"), (I32, "select"),
            (F32, "ordered"),
        ]  # fmt: skip
        if self.reassociate:
            kinds += [(F32, Opcode.FADD), (F32, Opcode.FMUL)] * 2
            kinds.remove((F32, "ordered"))
        found = []
        for type, kind in self.rng.sample(kinds, self.rng.randint(0, 2)):
            slot = self._slot(type, "acc")
            start = Constant(type, 0.0) if type == F32 else self.rng.choice(self.ints)
            self.builder.store(start, slot)
            found.append((slot, type, kind))
        return found

    def _body(
        self, counters: list[Value], sums: list[tuple[Instruction, Type, Opcode | str]]
    ) -> None:
        b, rng = self.builder, self.rng
        for _ in range(rng.randint(1, 3)):
            self._load(counters)
        narrow = b.cast(Opcode.TRUNC, counters[-1], I32)
        self.ints.append(narrow)
        for slot, type, kind in sums:
            value = self._float(2) if type == F32 else self._int(2)
            old = b.load(type, slot)
            b.store(self._accumulate(kind, type, old, value), slot)
        index = self._index(counters)
        if rng.random() < 0.8:
            b.store(self._float(3), b.gep(F32, self.array["out"], index))
        if rng.random() < 0.4:
            small = b.gep(I32, self.array["ints"], index)
            b.store(self._int(3), small)
        if rng.random() < 0.2:
            wide = b.cast(Opcode.FPEXT, self._float(2), F64)
            b.store(b.binary(Opcode.FMUL, wide, wide), b.gep(F64, self.array["wide"], index))
        if rng.random() < 0.3:
            truth = b.cast(Opcode.ZEXT, self._condition(), I8)
            b.store(truth, b.gep(I8, self.array["truth"], index))

    def _accumulate(self, kind: Opcode | str, type: Type, old: Value, value: Value) -> Value:
        b = self.builder
        if kind == "ordered":
            return b.binary(Opcode.FADD, old, value)
        if kind == "select":
            return b.select(b.icmp(Predicate.SLT, old, value), old, value)
        if isinstance(kind, str):
            return b.call(kind, type, (old, value))
        flags = ("reassoc", "contract") if type == F32 else ()
        if kind is Opcode.FMUL:  # keep products near one
            value = b.binary(Opcode.FADD, Constant(F32, 1.0), b.binary(
                Opcode.FMUL, self._finite(value), Constant(F32, 2.0**-12)))  # fmt: skip
        if kind is Opcode.FADD:
            value = b.binary(Opcode.FMUL, self._finite(value), Constant(F32, 0.5), flags=flags)
        return b.binary(kind, old, value, flags=flags)

    def _finite(self, value: Value) -> Value:
        """NaN and large values become 1: sums in another order stay comparable."""
        b = self.builder
        small = b.fcmp(Predicate.OLT, b.call("llvm.fabs", F32, (value,)), Constant(F32, 1000.0))
        return b.select(small, value, Constant(F32, 1.0))

    def _index(self, counters: list[Value]) -> Value:
        """Row-major: the outer counter times the row length plus the inner one."""
        b = self.builder
        index = counters[-1]
        if len(counters) > 1:
            row = b.binary(Opcode.MUL, counters[0], Constant(I64, 40), flags=("nsw",))
            index = b.binary(Opcode.ADD, row, index, flags=("nsw",))
        return index

    def _load(self, counters: list[Value]) -> None:
        b, rng = self.builder, self.rng
        index = self._index(counters)
        shape = rng.random()
        if shape < 0.15:
            index = b.binary(Opcode.ADD, counters[-1], Constant(I64, rng.randint(0, 8)))
        elif shape < 0.25:
            index = b.binary(Opcode.SHL, counters[-1], Constant(I64, 1))
        elif shape < 0.35:
            index = b.binary(Opcode.SUB, Constant(I64, 41), counters[-1])
        elif shape < 0.4:
            index = b.binary(Opcode.UDIV, counters[-1], Constant(I64, 3))
        elif shape < 0.5:
            index = counters[0]
        if rng.random() < 0.7:
            array = self.array[rng.choice(["x", "y"])]
            self.floats.append(b.load(F32, b.gep(F32, array, index)))
        else:
            self.ints.append(b.load(I32, b.gep(I32, self.array["n"], index)))

    def _float(self, depth: int) -> Value:
        b, rng = self.builder, self.rng
        if depth == 0 or rng.random() < 0.15:
            return rng.choice(self.floats)
        choice = rng.randrange(9)
        if choice < 4:
            opcode = (Opcode.FADD, Opcode.FSUB, Opcode.FMUL, Opcode.FDIV)[choice]
            found: Value = b.binary(opcode, self._float(depth - 1), self._float(depth - 1))
        elif choice == 4:
            found = b.call("llvm.fma", F32, [self._float(depth - 1) for _ in range(3)])
        elif choice == 5:
            name = rng.choice(["fabs", "sqrt", "floor", "ceil", "trunc", "roundeven"])
            found = b.call(f"llvm.{name}", F32, (self._float(depth - 1),))
        elif choice == 6:
            name = rng.choice(["llvm.maximum", "llvm.minimum"])
            found = b.call(name, F32, (self._float(depth - 1), self._float(depth - 1)))
        elif choice == 7:
            found = b.select(self._condition(), self._float(depth - 1), self._float(depth - 1))
        elif rng.random() < 0.5:
            found = b.fneg(self._float(depth - 1))
        else:
            found = b.cast(Opcode.SITOFP, self._int(depth - 1), F32)
        self.floats.append(found)
        return found

    def _int(self, depth: int) -> Value:
        b, rng = self.builder, self.rng
        if depth == 0 or rng.random() < 0.15:
            return rng.choice(self.ints)
        choice = rng.randrange(9)
        simple = (Opcode.ADD, Opcode.SUB, Opcode.MUL, Opcode.AND, Opcode.OR, Opcode.XOR)
        if choice < 6:
            found: Value = b.binary(simple[choice], self._int(depth - 1), self._int(depth - 1))
        elif choice == 6:
            opcode = rng.choice([Opcode.SHL, Opcode.LSHR, Opcode.ASHR])
            found = b.binary(opcode, self._int(depth - 1), Constant(I32, rng.randint(0, 31)))
        elif choice == 7:
            found = b.select(self._condition(), self._int(depth - 1), self._int(depth - 1))
        elif rng.random() < 0.5:
            name = rng.choice(["llvm.smax", "llvm.smin", "llvm.umax", "llvm.umin"])
            found = b.call(name, I32, (self._int(depth - 1), self._int(depth - 1)))
        else:
            found = b.cast(Opcode.ZEXT, self._condition(), I32)
        self.ints.append(found)
        return found

    def _condition(self) -> Value:
        b, rng = self.builder, self.rng
        if rng.random() < 0.6:
            return b.fcmp(rng.choice(_FLOAT_PREDICATES), self._float(1), self._float(1))
        return b.icmp(rng.choice(_INT_PREDICATES), self._int(1), self._int(1))
