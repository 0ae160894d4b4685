"""How wide vectors are compared with registers, and what can be asked about their lanes."""

from __future__ import annotations

from compiler.llvm.ir import Constant, Instruction, Opcode, Value
from compiler.llvm.legal.work import Work, concatenated, splatted
from compiler.target import Target

REGISTER_BITS = 128
"""Below this, vectors are handled inside one register; lanes beyond their own do not matter."""


def is_too_wide(value: Value, target: Target) -> bool:
    """Whether a vector does not fit into a register; conditions are as wide as what was
    compared."""
    type = value.type
    if not type.is_vector:
        return False
    return _lane_bits(value, _MOST_STEPS) * type.lanes > target.vector_bits


_MOST_STEPS = 4


def _lane_bits(value: Value, steps: int) -> int:
    if value.type.bits > 1 or value.type.is_pointer:
        return 64 if value.type.is_pointer else value.type.bits
    if not isinstance(value, Instruction) or steps == 0 or value.opcode is Opcode.LOAD:
        return 8
    return max((_lane_bits(operand, steps - 1) for operand in value.operands), default=8)


def is_left_to_halves(i: Instruction, target: Target) -> bool:
    """Whether an instruction only puts together what its users take apart again."""
    if _is_part_of_splats(i):
        return True
    if not is_too_wide(i, target):
        return False
    if i.opcode is Opcode.INSERTELEMENT:
        return constant_lane(i.operands[2]) is not None
    return concatenated(i) is not None or splatted(i) is not None


def _is_part_of_splats(i: Instruction) -> bool:
    """Whether an insertion at lane 0 is only there to be repeated in every lane."""
    if i.opcode is not Opcode.INSERTELEMENT or constant_lane(i.operands[2]) != 0 or not i.users:
        return False
    return all(
        user.opcode is Opcode.SHUFFLEVECTOR and splatted(user) is i.operands[1] for user in i.users
    )


def constant_lane(value: Value) -> int | None:
    found = value.value if isinstance(value, Constant) else None
    return found if isinstance(found, int) else None


def is_wide(vector: Value, w: Work) -> bool:
    is_long = vector.type.bits * vector.type.lanes > REGISTER_BITS
    return is_long or is_too_wide(vector, w.target)


def padded(vector: Value, w: Work) -> Value:
    """The vector with as many lanes of no matter behind it."""
    lanes = vector.type.lanes
    return w.shuffle(vector, None, (*range(lanes), *(-1,) * lanes))


def covers(value: Value, w: Work) -> bool:
    return isinstance(value, Instruction) and w.target.covers(value)
