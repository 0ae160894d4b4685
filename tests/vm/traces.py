"""Streams made from assembly text: a body repeated so many times, without running it."""

from __future__ import annotations

import numpy as np

from isas.catalogue import load_machine
from isas.model import Machine
from isas.parsing import parse_program
from isas.program import MemoryOperand, Program
from vm.stream import ALL_LANES, Launch, Stream
from vm.timeline import Timeline
from vm.timing import time_stream

BASE = 0x1000
"""Where every base register points; accesses differ by their displacement."""


def kernel(machine: Machine, text: str) -> Program:
    return parse_program(machine.isa, text, "kernel")


def repeated(program: Program, times: int) -> Stream:
    """The body `times` times; a branch in it is taken, except the last time round."""
    body = len(program.instructions)
    rows = body * times
    address, size, taken = [-1] * body, [0] * body, [False] * body
    for i, instruction in enumerate(program.instructions):
        facts = instruction.shape.facts
        taken[i] = facts.is_branch
        for name in facts.loads + facts.stores:
            operand = instruction.operands[name]
            assert isinstance(operand, MemoryOperand)
            address[i] = BASE + operand.displacement
            size[i] = instruction.shape.by_name[name].kind.bits // 8
    is_taken = np.tile(np.array(taken, np.bool_), times)
    is_taken[-body:] = False
    return Stream(
        static=np.tile(np.arange(body, dtype=np.int32), times),
        program=np.zeros(rows, np.int32),
        launch=np.zeros(rows, np.int32),
        warp=np.full(rows, -1, np.int32),
        address=np.tile(np.array(address, np.int64), times),
        size=np.tile(np.array(size, np.int32), times),
        is_taken=is_taken,
        active=np.full(rows, ALL_LANES, np.uint32),
    )


def time_text(machine_name: str, text: str, times: int) -> tuple[Timeline, Program]:
    machine = load_machine(machine_name)
    program = kernel(machine, text)
    return time_stream(repeated(program, times), [program], machine), program


def cycles_per_repetition(machine_name: str, text: str, times: int = 200) -> float:
    """Steady-state cycles of one repetition of the body: the slope between two lengths."""
    long, _ = time_text(machine_name, text, 2 * times)
    short, _ = time_text(machine_name, text, times)
    return (long.cycles - short.cycles) / times


def repeated_warps(program: Program, blocks: int, warps_per_block: int, stride: int = 4) -> Stream:
    """Every warp runs the body once; lane `t` of the grid accesses `stride * t` in a place of its
    own for each instruction."""
    body, warps = len(program.instructions), blocks * warps_per_block
    columns = repeated(program, warps)
    places = np.tile(np.arange(body), warps)
    warp = np.repeat(np.arange(warps, dtype=np.int32), body)
    has_access = columns.address >= 0
    threads = warp[has_access, None].astype(np.int64) * 32 + np.arange(32)
    lanes = BASE + places[has_access, None] * (1 << 20) + threads * stride
    return Stream(
        static=columns.static,
        program=columns.program,
        launch=columns.launch,
        warp=warp,
        address=np.where(has_access, BASE, -1),
        size=columns.size,
        is_taken=columns.is_taken,
        active=columns.active,
        lane_offsets=np.concatenate([[0], np.cumsum(has_access * 32)]),
        lane_addresses=lanes.reshape(-1),
        launches=(Launch(0, blocks, warps_per_block),),
    )


def time_warps(
    text: str, blocks: int, warps_per_block: int, stride: int = 4
) -> tuple[Timeline, Program]:
    machine = load_machine("simt/volta")
    program = kernel(machine, text)
    stream = repeated_warps(program, blocks, warps_per_block, stride)
    return time_stream(stream, [program], machine), program
