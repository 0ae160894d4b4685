"""What an integer's definition says of its lanes: how large they can be, whether they are masks."""

from __future__ import annotations

from compiler.llvm.ir import Constant, Instruction, Opcode, Value

DEEPEST = 3


def upper_bound(value: Value, depth: int = DEEPEST) -> int:
    """An upper bound of the lanes of an integer value, read as unsigned numbers."""
    most = (1 << value.type.bits) - 1
    if isinstance(value, Constant) and value.value is not None:
        lanes = value.value if isinstance(value.value, tuple) else (value.value,)
        return max(int(lane) & most for lane in lanes)
    if not isinstance(value, Instruction) or depth == 0:
        return most
    if value.opcode is Opcode.AND:
        return min(upper_bound(operand, depth - 1) for operand in value.operands)
    if value.opcode is Opcode.LSHR and isinstance(value.operands[1], Constant):
        count = value.operands[1].splat_value
        return most >> count if isinstance(count, int) and 0 <= count < value.type.bits else most
    if value.opcode is Opcode.ZEXT:
        return upper_bound(value.operands[0], depth - 1)
    if value.opcode is Opcode.SHUFFLEVECTOR:
        used = {lane // max(1, value.operands[0].type.lanes) for lane in value.mask if lane >= 0}
        return max((upper_bound(value.operands[n], depth - 1) for n in used), default=most)
    return most


def is_mask(value: Value, depth: int = 8, seen: frozenset[Value] = frozenset()) -> bool:
    """Whether every lane of an integer value is all ones or zero."""
    if isinstance(value, Constant):
        lanes = value.value if isinstance(value.value, tuple) else (value.value,)
        return all(lane in (0, -1, None) for lane in lanes)
    if not isinstance(value, Instruction) or depth == 0:
        return False
    if value in seen:
        return True
    seen |= {value}
    if value.opcode is Opcode.SEXT and value.operands[0].type.is_bool:
        return True
    if value.opcode is Opcode.ASHR and isinstance(value.operands[1], Constant):
        return value.operands[1].splat_value == value.type.bits - 1
    if value.opcode in _KEEPING_MASKS:
        return all(is_mask(operand, depth - 1, seen) for operand in value.operands)
    if value.opcode is Opcode.SELECT:
        return all(is_mask(operand, depth - 1, seen) for operand in value.operands[1:])
    return False


_KEEPING_MASKS = frozenset(
    {
        Opcode.AND, Opcode.OR, Opcode.XOR, Opcode.SEXT, Opcode.TRUNC, Opcode.PHI,
        Opcode.SHUFFLEVECTOR, Opcode.FREEZE,
    }
)  # fmt: skip
