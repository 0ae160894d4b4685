"""What the passes above selection need to know of a machine, derived from its cards and core.

Nothing here is written per ISA: `compiler.select.target_of(machine)` fills it from the loaded
description, so a new machine needs no Python.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from compiler.llvm.ir import Instruction
from compiler.llvm.types import Type


def _nothing(_effect: str, _type: Type) -> bool:
    return False


def _no_instruction(_instruction: Instruction) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Target:
    """`name` is the machine's (x86/zen3). `is_simt`: kernels run once per thread of a grid, else
    one call runs all of it. `vector_bits` is the widest vector register (0: scalars only). `triple`
    and `data_layout` are LLVM's strings for the witness. `registers` counts allocatable registers
    by class, the user's limits applied. `legal(effect, type)` says whether some card computes the
    operation directly (`effect` is an LLVM opcode or intrinsic without prefix: fadd, fma, maximum,
    select). `covers(instruction)` asks the same of one instruction where it stands, constants and
    all; `is_left_to_users(instruction)` whether its users cover it as a part of theirs."""

    name: str
    is_simt: bool
    vector_bits: int
    triple: str
    data_layout: str
    registers: tuple[tuple[str, int], ...] = ()
    warp_size: int = 1
    l1_bytes: int = 32 * 1024
    legal: Callable[[str, Type], bool] = field(default=_nothing, compare=False)
    covers: Callable[[Instruction], bool] = field(default=_no_instruction, compare=False)
    is_left_to_users: Callable[[Instruction], bool] = field(default=_no_instruction, compare=False)

    def lanes(self, element: Type) -> int:
        """How many lanes of `element` the widest vector register holds (1: no vectors of it)."""
        return max(1, self.vector_bits // element.bits)

    def register_count(self, register_class: str) -> int:
        return dict(self.registers).get(register_class, 0)
