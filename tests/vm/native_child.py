"""Assembles cases with real LLVM and runs them on this machine's own CPU, outside the test process.

Reads a pickled list of (assembly text, state bytes) from stdin; each case becomes a function that
loads all registers from the state, executes the text, stores them back, and writes the states.
State: 16 vector registers of 32 bytes, 16 general registers of 8 bytes, then scratch memory.
"""

import ctypes
import pickle
import sys

import llvmlite.binding as llvm

GPR = (
    *("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"),
    *("r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"),
)
KEPT = ("rbx", "rbp", "r12", "r13", "r14", "r15")
VECTOR_BYTES = 16 * 32


def function_text(number: int, body: str) -> str:
    lines = [f".globl hob_case_{number}", f"hob_case_{number}:"]
    lines += [f"push {name}" for name in KEPT]
    lines += [f"vmovups ymm{i}, [rdi + {32 * i}]" for i in range(16)]
    lines += [
        f"mov {name}, [rdi + {VECTOR_BYTES + 8 * i}]" for i, name in enumerate(GPR) if _free(name)
    ]
    lines += [f"  {line}" for line in body.splitlines()]
    lines += [f"vmovups [rdi + {32 * i}], ymm{i}" for i in range(16)]
    lines += [
        f"mov [rdi + {VECTOR_BYTES + 8 * i}], {name}" for i, name in enumerate(GPR) if _free(name)
    ]
    lines += ["vzeroupper"] + [f"pop {name}" for name in reversed(KEPT)] + ["ret"]
    return "\n".join(lines)


def _free(name: str) -> bool:
    return name not in ("rsp", "rdi")


def main() -> None:
    cases = pickle.load(sys.stdin.buffer)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    text = ".intel_syntax noprefix\n" + "\n".join(
        function_text(number, body) for number, (body, _) in enumerate(cases)
    )
    quoted = text.replace("\\", "\\\\").replace('"', "\\22").replace("\n", "\\0A")
    source = f'module asm "{quoted}"\n' + "\n".join(
        f"declare void @hob_case_{number}(ptr)\n"
        f"define void @call_{number}(ptr %p) {{\n"
        f"  call void @hob_case_{number}(ptr %p)\n  ret void\n}}"
        for number in range(len(cases))
    )
    module = llvm.parse_assembly(source)
    features = llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple().create_target_machine(features=features, jit=True)
    engine = llvm.create_mcjit_compiler(module, target)
    engine.finalize_object()
    results = []
    for number, (_, state) in enumerate(cases):
        room = ctypes.create_string_buffer(len(state) + 64)
        start = (ctypes.addressof(room) + 63) // 64 * 64
        ctypes.memmove(start, state, len(state))
        address = engine.get_function_address(f"call_{number}")
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(start)
        results.append(ctypes.string_at(start, len(state)))
    pickle.dump(results, sys.stdout.buffer)


if __name__ == "__main__":
    main()
