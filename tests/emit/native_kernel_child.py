"""A child process: real LLVM assembles kernels and this machine's own CPU runs them.

Reads a pickled list of (assembly text, kernel name, argument offsets, memory bytes) from stdin;
writes the pickled memories afterwards. Only for x86 hosts.
"""

from __future__ import annotations

import ctypes
import json
import pickle
import sys

import llvmlite.binding as llvm


def main() -> None:
    jobs = pickle.load(sys.stdin.buffer)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    features = llvm.get_host_cpu_features().flatten()
    results = []
    for text, name, offsets, memory in jobs:
        pointers = ", ".join(["ptr"] * len(offsets))
        lines = [f"module asm {json.dumps(line)}" for line in text.splitlines()]
        lines.append(f"declare void @{name}({pointers})")
        passed = ", ".join(f"ptr %p{n}" for n in range(len(offsets)))
        lines.append(f"define void @run({passed}) {{")
        lines.append(f"  call void @{name}({passed})")
        lines += ["  ret void", "}"]
        module = llvm.parse_assembly("\n".join(lines))
        target = llvm.Target.from_default_triple().create_target_machine(
            features=features, jit=True
        )
        engine = llvm.create_mcjit_compiler(module, target)
        engine.finalize_object()
        room = ctypes.create_string_buffer(len(memory) + 64)
        start = (ctypes.addressof(room) + 63) // 64 * 64
        ctypes.memmove(start, memory, len(memory))
        signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(offsets))
        signature(engine.get_function_address("run"))(*[start + offset for offset in offsets])
        results.append(ctypes.string_at(start, len(memory)))
    pickle.dump(results, sys.stdout.buffer)


if __name__ == "__main__":
    main()
