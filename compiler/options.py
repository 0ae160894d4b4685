"""The options of one compilation: one frozen, hashable value, part of every cache key and
report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """What the user may choose about a compilation.

    `registers`: how many registers of each class the allocator may use, e.g. (("gpr", 5), ("vec",
    6)); a class that is not named keeps all the ISA has. `strict_order`: reductions and dots add in
    program order (CPU machines only), otherwise they may reassociate as HLO allows. `contract`:
    multiply and add become fma where the machine has it. `fuse`: tensor-level fusion.
    `vector_lanes`: 0 means as wide as the machine has, 1 means scalar code. `unroll`: 0 lets the
    vectoriser choose. `block_size`: threads in a block (simt).
    `fast_math`: algebra may ignore NaN, infinities and the sign of zero, and may reassociate.
    """

    registers: tuple[tuple[str, int], ...] = ()
    fuse: bool = True
    contract: bool = True
    strict_order: bool = False
    vector_lanes: int = 0
    unroll: int = 0
    schedule: bool = True
    block_size: int = 128
    fast_math: bool = False

    def register_limit(self, register_class: str) -> int | None:
        """The limit for a class, or None when all its registers may be used."""
        return dict(self.registers).get(register_class)
