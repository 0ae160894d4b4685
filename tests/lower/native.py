"""Runs kernels natively through real LLVM, in a process of its own (LLVM can abort).

Reads a pickled list of jobs from standard input and writes the pickled list of arenas to standard
output.
"""

from __future__ import annotations

import ctypes
import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Job:
    """IR text, the calls (function, offsets into the arena), and the arena's bytes before the
    run."""

    ir: str
    calls: list[tuple[str, list[int]]]
    arena: bytes
    optimize: bool = True


def run_native(jobs: list[Job]) -> list[bytes]:
    """The arenas after running all jobs in one child process."""
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "tests.lower.native"],
        input=pickle.dumps(jobs),
        capture_output=True,
        cwd=root,
        env={"PYTHONPATH": str(root)},
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    result: list[bytes] = pickle.loads(done.stdout)
    return result


def _run(job: Job) -> bytes:
    import llvmlite.binding as llvm

    lines = [line for line in job.ir.splitlines() if not line.startswith(("target ", "; ModuleID"))]
    module = llvm.parse_assembly("\n".join(lines))
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2
    )
    if job.optimize:
        tuning = llvm.create_pipeline_tuning_options(speed_level=2)
        tuning.loop_vectorization = True
        builder = llvm.create_pass_builder(machine, tuning)
        manager = builder.getModulePassManager()
        manager.run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    room = ctypes.create_string_buffer(len(job.arena) + 128)
    base = (ctypes.addressof(room) + 63) // 64 * 64
    ctypes.memmove(base, job.arena, len(job.arena))
    for name, offsets in job.calls:
        address = engine.get_function_address(name)
        kernel = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(offsets))(address)
        kernel(*[base + offset for offset in offsets])
    return ctypes.string_at(base, len(job.arena))


def main() -> None:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    jobs = pickle.load(sys.stdin.buffer)
    sys.stdout.buffer.write(pickle.dumps([_run(job) for job in jobs]))


if __name__ == "__main__":
    sys.modules["tests.lower.native"] = sys.modules["__main__"]
    main()
