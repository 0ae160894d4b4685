"""Measures the timing models, plain and compiled: python bench/timing.py [ROWS].

Instructions per second. The stream is a loop of loads, arithmetic and a store over an array, as
compiled kernels are, timed on every machine; the first compiled run, which may have to compile, is
shown apart.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from isas.catalogue import load_machine  # noqa: E402
from isas.parsing import parse_program  # noqa: E402
from isas.program import Program  # noqa: E402
from vm.stream import ALL_LANES, Launch, Stream  # noqa: E402
from vm.timing import time_stream  # noqa: E402

BODIES = {
    "x86/zen3": """
        .loop:
        vmovups ymm0, ymmword ptr [rdi]
        vfmadd231ps ymm1, ymm0, ymm2
        vmulps ymm3, ymm1, ymm0
        vmovups ymmword ptr [rdx], ymm3
        add rdi, 32
        add rdx, 32
        cmp rdi, rcx
        jl .loop""",
    "arm/cortex-a53": """
        .loop:
        ldr q0, [x0]
        fmla v1.4s, v0.4s, v2.4s
        fmul v3.4s, v1.4s, v0.4s
        str q3, [x2]
        add x0, x0, #16
        add x2, x2, #16
        cmp x0, x3
        b.lt .loop""",
    "simt/volta": """
        ld.global.f32 %r1, [%rd2]
        fma.rn.f32 %r5, %r1, %r1, %r5
        mul.rn.f32 %r6, %r5, %r1
        add.rn.f32 %r7, %r6, %r1
        st.global.f32 [%rd8], %r7
        ret""",
}


def stream_of(program: Program, rows: int) -> Stream:
    """The body over and over; accesses walk through 16 KB. On SIMT each time is another warp."""
    body = len(program.instructions)
    times = max(1, rows // body)
    facts = [instruction.shape.facts for instruction in program.instructions]
    accesses = np.tile([bool(f.loads or f.stores) for f in facts], times)
    repetition = np.repeat(np.arange(times), body)
    address = np.where(accesses, 0x1000 + 32 * (repetition % 512), -1)
    is_simt = program.isa.guards is not None
    lanes = (address[accesses, None] + 4 * np.arange(32)).reshape(-1) if is_simt else []
    counts = accesses * 32 if is_simt else np.zeros(0, np.int64)
    return Stream(
        static=np.tile(np.arange(body, dtype=np.int32), times),
        program=np.zeros(body * times, np.int32),
        launch=np.zeros(body * times, np.int32),
        warp=repetition.astype(np.int32) if is_simt else np.full(body * times, -1, np.int32),
        address=address.astype(np.int64),
        size=np.where(accesses, 4 if is_simt else 16, 0).astype(np.int32),
        is_taken=np.tile([f.is_branch for f in facts], times).astype(np.bool_),
        active=np.full(body * times, ALL_LANES, np.uint32),
        lane_offsets=np.concatenate([[0], np.cumsum(counts)]) if is_simt else np.zeros(0, int),
        lane_addresses=np.asarray(lanes, np.int64),
        launches=(Launch(0, -(-times // 4), 4) if is_simt else Launch(0),),
    )


def main() -> None:
    """Prints one line per machine."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    print(f"{'machine':16}{'cycles':>10}{'plain/s':>12}{'compiled/s':>12}{'first run':>11}")
    for name, text in BODIES.items():
        machine = load_machine(name)
        program = parse_program(machine.isa, text, "bench")
        stream = stream_of(program, rows)
        seconds = []
        for is_compiled in (False, True, True):
            start = time.perf_counter()
            timeline = time_stream(stream, [program], machine, is_compiled)
            seconds.append(time.perf_counter() - start)
        speeds = [len(stream) / second for second in seconds]
        print(
            f"{name:16}{timeline.cycles:10}{speeds[0]:12,.0f}{speeds[2]:12,.0f}{seconds[1]:9.1f} s"
        )


if __name__ == "__main__":
    main()
