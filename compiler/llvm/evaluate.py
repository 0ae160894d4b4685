"""Evaluates a function of the IR over a byte memory: the witness for passes and machines.

Each block is translated once into closures; running a block calls them in turn. Values are NumPy's,
so arithmetic is IEEE's and two's complement's own.
"""

from __future__ import annotations

import numpy as np

from compiler.llvm.evaluate_grid import evaluate_grid
from compiler.llvm.ir import Function, Opcode
from compiler.llvm.translate import (
    Registers,
    Translator,
    access_error,
    aligned,
    bind_views,
    element_size,
)
from isas.errors import InternalError


def evaluate(
    function: Function,
    arguments: list[int],
    memory: np.ndarray,
    grid: tuple[int, int] | None = None,
    *,
    max_blocks: int = 20_000_000,
) -> int:
    """Runs `function` and returns how many instructions were executed (all threads together).

    `arguments` are byte offsets into `memory` (a uint8 array, changed in place); shared pointers
    (address space 3) are offsets into each block's own shared memory. `grid` is (blocks, threads
    per block) for simt kernels; None runs one thread. Raises InternalError for an access outside
    the memory, or when more than `max_blocks` blocks were entered."""
    if grid is not None:
        return evaluate_grid(function, arguments, memory, grid, max_blocks=max_blocks)
    return Evaluator(function).run(arguments, memory, max_blocks=max_blocks)


class Evaluator:
    """A function translated once, to be run many times by one thread."""

    def __init__(self, function: Function) -> None:
        translator = Translator(function)
        self.function = function
        self.arguments = [translator.layout.of(argument) for argument in function.arguments]
        self.codes = translator.translate()
        self.layout = translator.layout
        self.frame = [
            (self.layout.of(i), element_size(i) * i.count)
            for i in function.instructions()
            if i.opcode is Opcode.ALLOCA
        ]

    def run(self, arguments: list[int], memory: np.ndarray, *, max_blocks: int = 20_000_000) -> int:
        """As `evaluate` with one thread."""
        if len(arguments) != len(self.arguments):
            raise InternalError(
                f"{len(arguments)} arguments for {len(self.arguments)} parameters",
                where=f"@{self.function.name}",
            )
        registers = list(self.layout.preset)
        for register, value in zip(self.arguments, arguments):
            registers[register] = np.int64(value)
        end = aligned(memory.size) if self.frame else memory.size
        for register, size in self.frame:
            registers[register] = np.int64(end)
            end += aligned(size)
        whole = np.zeros(aligned(end), dtype=np.uint8)
        whole[: memory.size] = memory
        bind_views(self.layout, registers, whole, end)
        with np.errstate(all="ignore"):
            executed = self._execute(registers, max_blocks)
        memory[:] = whole[: memory.size]
        return executed

    def _execute(self, registers: Registers, max_blocks: int) -> int:
        codes, number, executed = self.codes, 0, 0
        for _ in range(max_blocks):
            code = codes[number]
            try:
                for step in code.steps:
                    step(registers)
            except IndexError:
                raise access_error(code, registers, self.layout, self.function) from None
            executed += len(code.steps) + 1
            if not code.targets:
                return executed
            taken = code.condition < 0 or registers[code.condition]
            target = code.targets[0 if taken else 1]
            move_phis(codes[target].copies.get(number, ()), registers)
            number = target
        raise InternalError(f"did not end within {max_blocks} blocks", where=self.function.name)


def move_phis(copies: list[tuple[int, int]] | tuple[()], registers: Registers) -> None:
    """All phis of a block take their values at once."""
    if len(copies) == 1:
        target, source = copies[0]
        registers[target] = registers[source]
    elif copies:
        values = [registers[source] for _, source in copies]
        for (target, _), value in zip(copies, values):
            registers[target] = value
