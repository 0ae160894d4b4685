"""What one element of an operation costs, in simple arithmetic operations.

Rough figures that fusion weighs recomputation with: a division and a square root occupy their unit
about eight times as long as an addition (Agner Fog, instruction tables, Zen 3 and Skylake), an
expanded transcendental function takes some twenty operations (see `compiler.lower`).
"""

from __future__ import annotations

from compiler.hlo.module import Instruction
from compiler.hlo.opcodes import Opcode, Trait

_DIVIDE = 8.0
_TRANSCENDENTAL = 20.0
_COSTS = {
    Opcode.DIVIDE: _DIVIDE,
    Opcode.REMAINDER: 2 * _DIVIDE,
    Opcode.SQRT: _DIVIDE,
    Opcode.RSQRT: _DIVIDE,
    Opcode.POWER: 2 * _TRANSCENDENTAL,
    Opcode.MAP: _TRANSCENDENTAL,
    Opcode.GATHER: 4.0,
    Opcode.DYNAMIC_SLICE: 2.0,
    Opcode.DYNAMIC_UPDATE_SLICE: 2.0,
    Opcode.CONCATENATE: 2.0,
    Opcode.PAD: 2.0,
    Opcode.SHUFFLE: 2.0,
}
_FREE = frozenset(
    (
        Opcode.BROADCAST,
        Opcode.RESHAPE,
        Opcode.TRANSPOSE,
        Opcode.SLICE,
        Opcode.REVERSE,
        Opcode.COPY,
        Opcode.IOTA,
    )
)


def cost_of(instruction: Instruction) -> float:
    """The cost of one element of the result, its operands not counted; moving data is free."""
    opcode = instruction.opcode
    if opcode in _FREE or Trait.VIEW in opcode.traits:
        return 0.0
    if opcode in _COSTS:
        return _COSTS[opcode]
    return _TRANSCENDENTAL if opcode.is_transcendental else 1.0
