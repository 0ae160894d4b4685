"""The bytes of a whole x86 program: branches start short and grow until every one reaches.

Growing only ever moves targets further away, so the loop ends; the result is the one that LLVM's
assembler relaxes to.
"""

from __future__ import annotations

from itertools import accumulate

from isas.encoding import EncodingError, encode
from isas.program import LabelTarget, Program, ProgramInstruction


def program_bytes(program: Program) -> tuple[bytes, ...]:
    """The bytes of each instruction, in order; addresses of symbols are left 0.

    Raises EncodingError where an instruction has no bytes: no code on its card, invented registers.
    """
    targets = [_target(program, instruction) for instruction in program.instructions]
    data = [
        encode(program.isa, instruction, None if target is None else 0)
        for instruction, target in zip(program.instructions, targets)
    ]
    is_changed = True
    while is_changed:
        is_changed = False
        starts = [0, *accumulate(len(part) for part in data)]
        for index, target in enumerate(targets):
            if target is None:
                continue
            distance = starts[target] - starts[index + 1]
            grown = encode(program.isa, program.instructions[index], distance)
            if len(grown) > len(data[index]):
                is_changed = True
            if len(grown) >= len(data[index]):
                data[index] = grown
    return tuple(data)


def program_size_bytes(program: Program) -> int | None:
    """How many bytes the code takes, or None where it cannot be encoded."""
    try:
        return sum(len(part) for part in program_bytes(program))
    except EncodingError:
        return None


def _target(program: Program, instruction: ProgramInstruction) -> int | None:
    operand = instruction.operands.get(instruction.shape.facts.target or "")
    return program.labels[operand.label] if isinstance(operand, LabelTarget) else None
