"""A grid computes what its threads compute one by one, whatever way they diverge."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.llvm.builder import Builder
from compiler.llvm.evaluate import evaluate
from compiler.llvm.ir import Constant, Function, Opcode, Predicate, Value
from compiler.llvm.passes import combine, gvn, licm, mem2reg, rotate, simplify_cfg, unroll
from compiler.llvm.types import I8, I32, I64
from compiler.llvm.verify import verify_function
from tests.llvm.programs import ARRAYS, STRIDE, arguments, everything, memory, random_function

REGION = STRIDE * len(ARRAYS)
BLOCKS, THREADS = 2, 12


def for_threads(seed: int, thread: int | None) -> Function:
    """A random function in which every thread has its own arrays and loop bounds. `thread` fixes
    the number of the thread; None asks for it at run time, as simt kernels do."""
    function = random_function(seed)
    entry = function.entry
    first = next(i for i in entry.instructions if i.opcode is not Opcode.ALLOCA)
    b = Builder(function).at(entry, first)
    number: Value = Constant(I64, thread or 0)
    if thread is None:
        block = b.call_exact("llvm.nvvm.read.ptx.sreg.ctaid.x", I32)
        size = b.call_exact("llvm.nvvm.read.ptx.sreg.ntid.x", I32)
        before = b.binary(Opcode.MUL, block, size)
        inside = b.call_exact("llvm.nvvm.read.ptx.sreg.tid.x", I32)
        number = b.cast(Opcode.ZEXT, b.binary(Opcode.ADD, before, inside), I64)
    region = b.binary(Opcode.MUL, number, Constant(I64, REGION))
    for argument in function.arguments:
        users = list(argument.users)
        mine = b.gep(I8, argument, region)
        for user in users:
            for index, operand in enumerate(user.operands):
                if operand is argument:
                    user.set_operand(index, mine)
    for instruction in list(function.instructions()):
        if instruction.opcode is Opcode.ICMP and instruction.predicate is Predicate.ULT:
            bound = instruction.operands[1]
            if isinstance(bound, Constant) and bound.type == I64 and isinstance(bound.value, int):
                mixed = b.binary(Opcode.ADD, number, bound)
                most = Constant(I64, 1 if bound.value <= 3 else 15)
                instruction.set_operand(1, b.binary(Opcode.AND, mixed, most))
    verify_function(function)
    return function


@pytest.mark.parametrize("group", range(3))
def test_a_grid_computes_what_its_threads_compute_alone(group: int) -> None:
    for seed in range(group * 8, group * 8 + 8):
        whole = np.concatenate([memory(seed * 100 + t) for t in range(BLOCKS * THREADS)])
        expected = whole.copy()
        for thread in range(BLOCKS * THREADS):
            evaluate(for_threads(seed, thread), arguments(), expected)
        function = for_threads(seed, None)
        found = whole.copy()
        evaluate(function, arguments(), found, (BLOCKS, THREADS))
        assert _same(found, expected), seed
        for step in (mem2reg, simplify_cfg, combine, gvn, licm, unroll, rotate, combine):
            step.run(function, everything())
            verify_function(function)
        found = whole.copy()
        evaluate(function, arguments(), found, (BLOCKS, THREADS))
        assert _same(found, expected), f"{seed} after passes"


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal bits, or both NaN where floats are kept."""
    if np.array_equal(a, b):
        return True
    x, y = a.view(np.float32), b.view(np.float32)
    wide = np.isnan(a.view(np.float64)) & np.isnan(b.view(np.float64))
    either = (np.isnan(x) & np.isnan(y)) | np.repeat(wide, 2)
    return bool(np.all((x.view(np.int32) == y.view(np.int32)) | either))
