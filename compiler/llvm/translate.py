"""Translates blocks of the IR into closures over a register file: the evaluators' common half.

A register holds a NumPy scalar, or an array for a vector; memory is a view per dtype. One closure
does one instruction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compiler.llvm.exact import Number
from compiler.llvm.ir import BasicBlock, Constant, Function, Instruction, Opcode, Value
from compiler.llvm.semantics import constant_value, dtype_of, operation
from compiler.llvm.text import instruction_text
from compiler.llvm.types import VOID, Type
from isas.errors import InternalError, UnsupportedError

Registers = list[Any]
Step = Callable[[Registers], None]

ALIGNMENT_BYTES = 64
NO_WORK = frozenset({"llvm.nvvm.barrier0"})  # threads move in step: all have arrived
_SIGN = -(1 << 63)


@dataclass(slots=True)
class Code:
    """One translated block: `steps` without phis and terminator; `copies` by predecessor name the
    phi moves (destination, source); `targets` are block numbers, `condition` a register or -1."""

    block: BasicBlock
    steps: list[Step] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    copies: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    targets: tuple[int, ...] = ()
    condition: int = -1


@dataclass(slots=True)
class Layout:
    """Which register holds what: values by identity, constants preset, memory views by dtype."""

    numbers: dict[int, int] = field(default_factory=dict)
    preset: Registers = field(default_factory=list)
    views: dict[str, int] = field(default_factory=dict)
    constants: dict[tuple[Type, str], int] = field(default_factory=dict)

    def of(self, value: Value) -> int:
        """The register of a value; constants get theirs here."""
        if isinstance(value, Constant):
            key = (value.type, repr(value.value))
            if key not in self.constants:
                self.constants[key] = self._new(constant_value(value))
            return self.constants[key]
        if id(value) not in self.numbers:
            self.numbers[id(value)] = self._new(None)
        return self.numbers[id(value)]

    def view(self, dtype: np.dtype[Any]) -> int:
        """The register that holds the memory as an array of `dtype` (i1: as bytes)."""
        key = "uint8" if dtype == np.bool_ else dtype.name
        if key not in self.views:
            self.views[key] = self._new(None)
        return self.views[key]

    def _new(self, value: Any) -> int:
        self.preset.append(value)
        return len(self.preset) - 1


class Translator:
    """Turns instructions into steps for one thread. The grid's translator overrides what
    differs."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.layout = Layout()
        self.numbers = {block: n for n, block in enumerate(function.blocks)}

    def translate(self) -> list[Code]:
        return [self._block(block) for block in self.function.blocks]

    def _block(self, block: BasicBlock) -> Code:
        code = Code(block)
        for instruction in block.instructions:
            if instruction.opcode is Opcode.PHI:
                self._phi(code, instruction)
            elif instruction.opcode is Opcode.BR:
                code.targets = tuple(self.numbers[target] for target in instruction.blocks)
                if instruction.operands:
                    code.condition = self.layout.of(instruction.operands[0])
            elif instruction.opcode is Opcode.ALLOCA:
                self.layout.of(instruction)
            elif not instruction.opcode.is_terminator:
                step = self.step(instruction)
                if step is not None:
                    code.steps.append(step)
                    code.instructions.append(instruction)
        return code

    def _phi(self, code: Code, phi: Instruction) -> None:
        target = self.layout.of(phi)
        for value, block in zip(phi.operands, phi.blocks):
            moves = code.copies.setdefault(self.numbers[block], [])
            if (target, self.layout.of(value)) not in moves:
                moves.append((target, self.layout.of(value)))

    def step(self, i: Instruction) -> Step | None:
        if i.opcode is Opcode.LOAD:
            return self.load(i)
        if i.opcode is Opcode.STORE:
            return self.store(i)
        if i.opcode is Opcode.CALL and i.type == VOID:
            if i.callee in NO_WORK:
                return None
            raise UnsupportedError(f"evaluating a call of {i.callee}")
        if i.opcode is Opcode.GETELEMENTPTR:
            return self.gep(i)
        if i.opcode is Opcode.EXTRACTELEMENT:
            return self.extract(i)
        if i.opcode is Opcode.INSERTELEMENT:
            return self.insert(i)
        return self.compute(i)

    def compute(self, i: Instruction) -> Step:
        d = self.layout.of(i)
        apply = operation(i)
        sources = [self.layout.of(operand) for operand in i.operands]
        if len(sources) == 2:
            a, b = sources

            def two(r: Registers) -> None:
                r[d] = apply(r[a], r[b])

            return two
        if len(sources) == 1:
            a = sources[0]

            def one(r: Registers) -> None:
                r[d] = apply(r[a])

            return one

        def many(r: Registers) -> None:
            r[d] = apply(*[r[s] for s in sources])

        return many

    def gep(self, i: Instruction) -> Step:
        d, base = self.layout.of(i), self.layout.of(i.operands[0])
        size = np.int64(element_size(i))
        index = i.operands[1]
        if isinstance(index, Constant) and isinstance(index.value, int):
            offset = np.int64(index.value) * size

            def constant(r: Registers) -> None:
                r[d] = r[base] + offset

            return constant
        n = self.layout.of(index)
        if index.type.bits == 64:

            def wide(r: Registers) -> None:
                r[d] = r[base] + r[n] * size

            return wide

        def narrow(r: Registers) -> None:
            r[d] = r[base] + r[n].astype(np.int64) * size

        return narrow

    def extract(self, i: Instruction) -> Step:
        d, vector = self.layout.of(i), self.layout.of(i.operands[0])
        lane = self.layout.of(i.operands[1])

        def run(r: Registers) -> None:
            r[d] = r[vector][r[lane]]

        return run

    def insert(self, i: Instruction) -> Step:
        d = self.layout.of(i)
        vector, scalar, lane = (self.layout.of(operand) for operand in i.operands)

        def run(r: Registers) -> None:
            copy = r[vector].copy()
            copy[r[lane]] = r[scalar]
            r[d] = copy

        return run

    def load(self, i: Instruction) -> Step:
        d, address = self.layout.of(i), self.layout.of(i.operands[0])
        dtype = dtype_of(i.type)
        view, bytes_view = self.layout.view(dtype), self.layout.view(np.dtype(np.uint8))
        size = dtype.itemsize
        shift, bad = np.int64(size.bit_length() - 1), np.int64(_SIGN | (size - 1))
        lanes = i.type.lanes

        def slow(r: Registers) -> Number:
            length = size * max(1, lanes)
            start = checked(int(r[address]), length, r[bytes_view])
            raw = r[bytes_view][start : start + length].copy().view(dtype)
            return raw if lanes else raw[0]

        def scalar(r: Registers) -> None:
            a = r[address]
            r[d] = slow(r) if a & bad else r[view][a >> shift]

        def vector(r: Registers) -> None:
            a = r[address]
            start = a >> shift
            found = slow(r) if a & bad else r[view][start : start + lanes].copy()
            if found.shape[0] != lanes:
                raise IndexError
            r[d] = found

        chosen = vector if lanes else scalar
        return as_bools(chosen, d) if dtype == np.bool_ else chosen

    def store(self, i: Instruction) -> Step:
        value, address = (self.layout.of(operand) for operand in i.operands)
        type = i.operands[0].type
        dtype = dtype_of(type)
        view, bytes_view = self.layout.view(dtype), self.layout.view(np.dtype(np.uint8))
        size, lanes = dtype.itemsize, type.lanes
        shift, bad = np.int64(size.bit_length() - 1), np.int64(_SIGN | (size - 1))

        def slow(r: Registers) -> None:
            raw = np.ascontiguousarray(r[value]).reshape(-1).view(np.uint8)
            start = checked(int(r[address]), raw.size, r[bytes_view])
            r[bytes_view][start : start + raw.size] = raw

        def scalar(r: Registers) -> None:
            a = r[address]
            if a & bad:
                slow(r)
            else:
                r[view][a >> shift] = r[value]

        def vector(r: Registers) -> None:
            a = r[address]
            start = a >> shift
            if start + lanes > r[view].size:
                raise IndexError
            if a & bad:
                slow(r)
            else:
                r[view][start : start + lanes] = r[value]

        return vector if lanes else scalar


def as_bools(step: Step, register: int) -> Step:
    """Memory holds i1 as bytes: bit 0 counts."""

    def run(r: Registers) -> None:
        step(r)
        r[register] = (r[register] & 1).astype(np.bool_)

    return run


def checked(address: int, size: int, memory: np.ndarray) -> int:
    """The address, when `size` bytes from there lie in the memory; IndexError otherwise."""
    if address < 0 or address + size > memory.size:
        raise IndexError
    return address


def element_size(instruction: Instruction) -> int:
    """The bytes of an alloca's or getelementptr's element."""
    type = instruction.element_type
    return type.size_bytes if type is not None else 1


def aligned(size: int) -> int:
    return -(-size // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


def bind_views(layout: Layout, registers: Registers, memory: np.ndarray, size: int) -> None:
    """Points the registers of memory views at the first `size` bytes of `memory`, as far as whole
    elements fit."""
    for name, register in layout.views.items():
        dtype = np.dtype(name)
        registers[register] = memory[: size // dtype.itemsize * dtype.itemsize].view(dtype)


def access_error(
    code: Code, registers: Registers, layout: Layout, function: Function
) -> InternalError:
    """Which access left the memory: the first of the block whose address lies outside."""
    where = f"@{function.name}, block %{code.block.name}"
    size = registers[layout.view(np.dtype(np.uint8))].size
    for instruction in code.instructions:
        if instruction.opcode not in (Opcode.LOAD, Opcode.STORE):
            continue
        is_store = instruction.opcode is Opcode.STORE
        type = instruction.operands[0].type if is_store else instruction.type
        addresses = np.asarray(registers[layout.of(instruction.operands[1 if is_store else 0])])
        outside = (addresses < 0) | (addresses + type.size_bytes > size)
        if outside.any():
            first = int(np.atleast_1d(addresses)[np.atleast_1d(outside)][0])
            return InternalError(
                f"an access outside the memory: byte {first} of {size}",
                where=f"{where}, '{instruction_text(instruction)}'",
            )
    return InternalError("an access outside the memory", where=where)
