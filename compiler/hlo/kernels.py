"""Which instructions are kernels: what is launched, what is free, and what a program costs in both.

A *launch* is one kernel. Free are the instructions that only name memory or hand it on: parameters,
constants, tuples and their elements, bitcasts, reshapes and transposes that keep the order of
elements in memory, and broadcasts of a scalar (their consumers read the scalar).
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.hlo import indices as ix
from compiler.hlo.elements import operand_indices, result_indices
from compiler.hlo.module import Computation, Instruction, Module
from compiler.hlo.opcodes import Opcode

_LAUNCHING = ("condition", "body", "true_computation", "false_computation", "branch_computations")
"""The attributes naming computations that run launch by launch, like the entry."""

_MOVES = (Opcode.RESHAPE, Opcode.TRANSPOSE, Opcode.BROADCAST, Opcode.COPY)


@dataclass(frozen=True, slots=True)
class Count:
    """Kernels launched, and bytes that they read and write."""

    launches: int = 0
    bytes_moved: int = 0


def count(module: Module) -> Count:
    """Launches and bytes moved when every instruction that is not free is its own kernel.

    Counted are the instructions of the entry and of the bodies, conditions and branches that it
    runs (each once, however often a loop repeats). Not counted: parameters, constants, tuple,
    get-tuple-element, bitcast, after-all and the like; reshape whose result has its operand's
    elements in the same order in memory; broadcast of a scalar; while, conditional and call
    themselves (their computations are looked into). Every other instruction is one launch that
    moves the bytes of its distinct operands (by name, at their full shape) plus those of its
    result; a fusion counts like any other instruction, so that only what crosses its border is
    moved. Give the module as read for the unfused figures, the final module for the fused ones.
    """
    launches = moved = 0
    for computation in launching_computations(module):
        for instruction in computation:
            if instruction.opcode is not Opcode.CALL and is_kernel(computation, instruction):
                launches += 1
                moved += bytes_moved(computation, instruction)
    return Count(launches, moved)


def bytes_moved(computation: Computation, instruction: Instruction) -> int:
    """Bytes of the distinct operands plus bytes of the result."""
    read = sum(
        computation.instruction(n).shape.size_bytes for n in dict.fromkeys(instruction.operands)
    )
    return read + instruction.shape.size_bytes


def launching_computations(module: Module) -> tuple[Computation, ...]:
    """The computations whose instructions are launches; one that is called twice is there twice."""
    found: list[Computation] = []
    waiting = [module.entry_computation]
    while waiting:
        computation = waiting.pop(0)
        found.append(computation)
        for instruction in computation:
            waiting.extend(map(module.computation, launched_callees(instruction)))
    return tuple(found)


def launched_callees(instruction: Instruction) -> tuple[str, ...]:
    """The computations that an instruction runs launch by launch; reducers are not."""
    if instruction.opcode is Opcode.CALL:
        return (instruction.attributes["to_apply"],)
    names: list[str] = []
    if instruction.opcode.is_control:
        for key in _LAUNCHING:
            value = instruction.attributes.get(key, ())
            names.extend((value,) if isinstance(value, str) else value)
    return tuple(names)


def is_kernel(computation: Computation, instruction: Instruction) -> bool:
    """True of an instruction that is a launch by itself."""
    return not instruction.opcode.is_control and not is_free(computation, instruction)


def is_free(computation: Computation, instruction: Instruction) -> bool:
    """True of an instruction that computes nothing (see `count`)."""
    if instruction.opcode.is_view:
        return True
    if instruction.opcode is Opcode.RESHAPE:
        return keeps_order(computation, instruction)
    return is_scalar_broadcast(computation, instruction)


def is_scalar_broadcast(computation: Computation, instruction: Instruction) -> bool:
    if instruction.opcode is not Opcode.BROADCAST:
        return False
    return computation.instruction(instruction.operands[0]).array.is_scalar


def keeps_order(computation: Computation, instruction: Instruction) -> bool:
    """True when a data movement leaves every element at its place in memory.

    Decided by comparing, symbolically, where an element of the result lies with where it comes
    from.
    """
    if instruction.opcode not in _MOVES or not instruction.is_array:
        return False
    operand = computation.instruction(instruction.operands[0])
    result = instruction.array
    if not operand.is_array or operand.array.element_count != result.element_count:
        return False
    if not result.element_count:
        return True
    at = result_indices(result, "d")
    demands = operand_indices(computation, instruction, at)
    if not demands:
        return False
    return ix.linear(at, result.strides) == ix.linear(demands[0][1], operand.array.strides)
