"""Copies of instructions and blocks."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.llvm.ir import BasicBlock, Instruction, Value


def copy_instruction(
    i: Instruction, values: Mapping[Value, Value], blocks: Mapping[BasicBlock, BasicBlock]
) -> Instruction:
    """The same instruction, nameless and in no block, with operands and targets replaced by the
    maps."""
    return Instruction(
        i.opcode,
        i.type,
        [values.get(operand, operand) for operand in i.operands],
        predicate=i.predicate,
        flags=i.flags,
        callee=i.callee,
        mask=i.mask,
        element_type=i.element_type,
        count=i.count,
        align=i.align,
        blocks=[blocks.get(block, block) for block in i.blocks],
        origins=i.origins,
    )
