"""Real LLVM (llvmlite's) as a witness: it parses and verifies our IR, runs it natively, emits PTX
and assembly, and optimises. LLVM may abort its process, so all of it happens in a child process.

A function's parameters are byte offsets into one memory, as in `compiler.llvm.evaluate`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from compiler.llvm.ir import Function, Module
from compiler.llvm.parse import parse
from compiler.llvm.text import text
from isas.errors import CheckFailed
from lab.crosscheck.child import read_message, write_message

# Flags that let LLVM's back end change roundings; a bit-for-bit witness must not have them.
ROUNDING_FLAGS = frozenset({"reassoc", "contract", "nsz", "arcp", "afn", "nnan", "ninf", "fast"})


@dataclass(frozen=True, slots=True)
class NativeRun:
    """One call of a function on this machine's own processor. `text` is a module; `arguments` are
    byte offsets into `memory`, a uint8 array; `level` is the code generator's (0..3)."""

    text: str
    function: str
    arguments: tuple[int, ...]
    memory: np.ndarray
    level: int = 2


class Llvm:
    """A connection to one child process; use it in a `with` statement. The child is started on
    first use and again after it died."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Llvm:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the child."""
        if self._child is not None and self._child.stdin is not None:
            self._child.stdin.close()
            self._child.wait()
        self._child = None

    def check(self, source: str) -> None:
        """Parses and verifies a module; raises CheckFailed with LLVM's own message."""
        self._ask({"kind": "check"}, [source.encode()])

    def run(self, job: NativeRun) -> np.ndarray:
        """Runs the function natively, with contraction and reassociation off, and returns the
        memory afterwards. Raises CheckFailed when LLVM refuses the module or the child dies."""
        blobs = [strict(job.text).encode(), np.ascontiguousarray(job.memory).tobytes()]
        message = {
            "kind": "execute",
            "function": job.function,
            "arguments": list(job.arguments),
            "level": job.level,
        }
        return np.frombuffer(self._ask(message, blobs)[0], dtype=np.uint8).copy()

    def emit(
        self, source: str, triple: str = "", cpu: str = "", features: str = "", level: int = 2
    ) -> str:
        """The assembly text LLVM makes of a module. `triple` defaults to the module's own; `cpu`
        and `features` are LLVM's names (`host`: this processor). Raises CheckFailed."""
        return self._emit(source, triple, cpu, features, level, False).decode()

    def emit_object(
        self, source: str, triple: str = "", cpu: str = "", features: str = "", level: int = 2
    ) -> bytes:
        """As `emit`, an object file."""
        return self._emit(source, triple, cpu, features, level, True)

    def _emit(
        self, source: str, triple: str, cpu: str, features: str, level: int, as_object: bool
    ) -> bytes:
        message = {
            "kind": "emit",
            "triple": triple,
            "cpu": cpu,
            "features": features,
            "level": level,
            "object": as_object,
        }
        return self._ask(message, [source.encode()])[0]

    def ptx(self, source: str, cpu: str = "sm_70") -> str:
        """The PTX text LLVM makes of a simt module. Raises CheckFailed."""
        return self.emit(source, "nvptx64-nvidia-cuda", cpu)

    def optimize(
        self, source: str, cpu: str = "", features: str = "", level: int = 3, vectorize: bool = True
    ) -> str:
        """The text of the module after LLVM's own default pipeline (without turning loops into
        calls of memset and the like). Raises CheckFailed."""
        message = {
            "kind": "optimize",
            "cpu": cpu,
            "features": features,
            "level": level,
            "vectorize": vectorize,
        }
        return self._ask(message, [without_builtins(source).encode()])[0].decode()

    def _ask(self, message: dict[str, Any], blobs: list[bytes]) -> list[bytes]:
        child = self._running()
        if child.stdin is None or child.stdout is None:
            raise CheckFailed("the LLVM child process has no pipes")
        try:
            write_message(child.stdin, message, blobs)
            answer = read_message(child.stdout)
        except (BrokenPipeError, ValueError):
            answer = None
        if answer is None:
            code = child.wait()
            self._child = None
            raise CheckFailed(f"LLVM ended its process (exit status {code}) on '{message['kind']}'")
        if "error" in answer[0]:
            raise CheckFailed(f"LLVM refuses: {answer[0]['error']}")
        return answer[1]

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is None or self._child.poll() is not None:
            program = Path(__file__).with_name("child.py")
            self._child = subprocess.Popen(
                [sys.executable, "-P", str(program)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        return self._child


def run_native(jobs: Sequence[NativeRun]) -> list[np.ndarray]:
    """Runs several jobs in one child; see `Llvm.run`."""
    with Llvm() as llvm:
        return [llvm.run(job) for job in jobs]


def run_function(
    function: Function, arguments: Sequence[int], memory: np.ndarray, level: int = 2
) -> np.ndarray:
    """Runs one function of the IR natively and returns the memory afterwards."""
    module = Module(function.name)
    module.functions.append(function)
    return run_native([NativeRun(text(module), function.name, tuple(arguments), memory, level)])[0]


def without_builtins(source: str) -> str:
    """A module's text whose functions must not be given calls of C library functions."""
    module = parse(source)
    for function in module.functions:
        function.attributes = (*function.attributes, '"no-builtins"')
    return text(module)


def strict(source: str) -> str:
    """A module's text without the flags that allow other roundings, and without a triple (so that
    it compiles for this processor)."""
    module = parse(source)
    module.triple = module.data_layout = ""
    for function in module.functions:
        for instruction in function.instructions():
            instruction.flags -= ROUNDING_FLAGS
    return text(module)
