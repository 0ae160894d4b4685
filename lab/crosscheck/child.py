"""A child process around real LLVM, which may abort its process: reads jobs from stdin, answers on
stdout.

A message is a length (8 bytes, little endian) and that many bytes of JSON; then, for each blob the
JSON lists by size, its bytes. Run by path; it imports nothing of Hob.
"""

from __future__ import annotations

import ctypes
import json
import struct
import sys
from typing import IO, Any

import llvmlite.binding as llvm

PAGE_BYTES = 4096


def read_message(stream: IO[bytes]) -> tuple[dict[str, Any], list[bytes]] | None:
    head = stream.read(8)
    if len(head) < 8:
        return None
    message = json.loads(stream.read(struct.unpack("<Q", head)[0]))
    return message, [stream.read(size) for size in message.pop("blobs", [])]


def write_message(stream: IO[bytes], message: dict[str, Any], blobs: list[bytes]) -> None:
    text = json.dumps({**message, "blobs": [len(blob) for blob in blobs]}).encode()
    stream.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))
    stream.flush()


def target_machine(triple: str, cpu: str, features: str, level: int, jit: bool) -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    if cpu == "host":
        cpu = llvm.get_host_cpu_name()
        features = features or llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_triple(triple or llvm.get_process_triple())
    return target.create_target_machine(cpu=cpu, features=features, opt=level, jit=jit)


def execute(job: dict[str, Any], blobs: list[bytes]) -> tuple[dict[str, Any], list[bytes]]:
    """Runs one function on the memory blob and answers with the memory afterwards."""
    module = llvm.parse_assembly(blobs[0].decode())
    module.verify()
    machine = target_machine("", "host", "", job["level"], True)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    address = engine.get_function_address(job["function"])
    size = len(blobs[1])
    space = ctypes.create_string_buffer(size + 2 * PAGE_BYTES)
    base = (ctypes.addressof(space) + PAGE_BYTES - 1) // PAGE_BYTES * PAGE_BYTES
    ctypes.memmove(base, blobs[1], size)
    pointers = [ctypes.c_void_p(base + offset) for offset in job["arguments"]]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers))(address)(*pointers)
    return {}, [ctypes.string_at(base, size)]


def emit(job: dict[str, Any], blobs: list[bytes]) -> tuple[dict[str, Any], list[bytes]]:
    """Emits assembly text (or an object file) for a target."""
    module = llvm.parse_assembly(blobs[0].decode())
    module.verify()
    machine = target_machine(
        job["triple"] or module.triple, job["cpu"], job["features"], job["level"], False
    )
    if job["object"]:
        return {}, [machine.emit_object(module)]
    return {}, [machine.emit_assembly(module).encode()]


def optimize(job: dict[str, Any], blobs: list[bytes]) -> tuple[dict[str, Any], list[bytes]]:
    """Runs LLVM's own pass pipeline and answers with the module's text."""
    module = llvm.parse_assembly(blobs[0].decode())
    module.verify()
    machine = target_machine(module.triple, job["cpu"], job["features"], job["level"], False)
    tuning = llvm.create_pipeline_tuning_options(speed_level=job["level"])
    tuning.loop_vectorization = job["vectorize"]
    tuning.slp_vectorization = job["vectorize"]
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    return {}, [str(module).encode()]


def check(job: dict[str, Any], blobs: list[bytes]) -> tuple[dict[str, Any], list[bytes]]:
    """Parses and verifies."""
    llvm.parse_assembly(blobs[0].decode()).verify()
    return {}, []


JOBS = {"execute": execute, "emit": emit, "optimize": optimize, "check": check}


def serve(source: IO[bytes], sink: IO[bytes]) -> None:
    while (found := read_message(source)) is not None:
        job, blobs = found
        try:
            answer, data = JOBS[job["kind"]](job, blobs)
        except (RuntimeError, ValueError, OSError) as error:
            answer, data = {"error": str(error).strip()}, []
        write_message(sink, answer, data)


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
