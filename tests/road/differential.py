"""One program through every level: evaluator, IR before and after its passes, real LLVM, machine.

`python -m tests.road.differential --seeds 0:200 --machine x86/zen3 --registers vec=4` runs random
programs and prints those that fail, with the level that is at fault.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

import isas
from compiler.compilation import Compilation, Stage
from compiler.hlo.module import Module, flat_results
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify
from compiler.llvm.evaluate import evaluate as evaluate_ir
from compiler.llvm.parse import parse
from compiler.options import Options
from isas.errors import HobError
from isas.model import Machine
from lab import arrays, road
from lab.compare import Tolerance
from lab.crosscheck.llvm import Llvm, NativeRun
from tests.road.noise import spreads
from tests.road.random_programs import RandomProgram, random_program


@dataclass(frozen=True)
class Fault:
    """What went wrong. `level` is where results first differ, or the kind of error."""

    program: RandomProgram
    level: str
    message: str

    def __str__(self) -> str:
        return f"seed {self.program.seed}: {self.level}: {self.message}"


@cache
def machine_of(name: str) -> Machine:
    return isas.load_machine(name)


def check(
    program: RandomProgram, machine: str, options: Options, llvm: Llvm | None = None
) -> Fault | None:
    """None when the machine's results are right; otherwise the fault, localised."""
    module = verify(parse_module(program.text, "random.hlo"))
    exact = road.evaluate(module, *program.inputs)
    try:
        compilation = road.compile(module, machine_of(machine), options)
        result = road.run(compilation, inputs=program.inputs)
    except HobError as error:
        return Fault(program, type(error).__name__, str(error))
    except Exception as error:
        where = traceback.format_exc().strip().splitlines()
        return Fault(program, "crash", f"{type(error).__name__}: {error}\n" + "\n".join(where[-9:]))
    message = _lost_cycles(result) or difference(module, program, result.outputs, exact)
    if not message and llvm is None:
        return None
    level = "machine" if message else ""
    levels = blame(module, compilation, program, exact, llvm)
    if not message and not levels:
        return None
    return Fault(program, f"{level} {levels}".strip(), message)


def _lost_cycles(result: road.Result) -> str:
    total = sum(result.timeline.stalls().values())
    if abs(total - result.cycles) > 1e-6 * max(1, result.cycles):
        return f"stalls sum to {total}, not {result.cycles} cycles"
    return ""


def difference(
    module: Module,
    program: RandomProgram,
    found: Sequence[np.ndarray],
    exact: list[np.ndarray],
) -> str:
    """What is wrong with results, '' when nothing is."""
    allowed: list[np.ndarray] | None = None
    for number, (one, other, shape) in enumerate(zip(found, exact, flat_results(module))):
        relative, absolute = Tolerance().for_type(shape.element_type)
        with np.errstate(all="ignore"):
            wrong = ~_close(one, other, relative, absolute, np.zeros(()))
            if not wrong.any():
                continue
            allowed = allowed or spreads(module, program.inputs, exact)
            wrong &= ~_close(one, other, relative, absolute, 8 * allowed[number])
        if wrong.any():
            index = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
            return (
                f"output {number}{list(index)} is {one[index]!r}, not {other[index]!r} "
                f"({int(wrong.sum())} of {wrong.size} wrong)"
            )
    return ""


def _close(
    one: np.ndarray, other: np.ndarray, relative: float, absolute: float, spread: np.ndarray
) -> np.ndarray:
    a, b = one.astype(np.float64), other.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b)) | np.isinf(spread)
    bound = absolute + relative * np.abs(b) + spread
    return np.asarray(same | (np.isfinite(b) & (np.abs(a - b) <= bound)))


def blame(
    module: Module,
    compilation: Compilation,
    program: RandomProgram,
    exact: list[np.ndarray],
    llvm: Llvm | None = None,
) -> str:
    """The levels whose results are wrong, the highest first."""
    found = []
    for stage in (Stage.LLVM, Stage.LLVM_OPTIMIZED):
        try:
            message = difference(module, program, ir_outputs(compilation, program, stage), exact)
        except HobError as error:
            message = str(error)
        if message:
            found.append(f"[{stage}: {message}]")
        if llvm is not None and not compilation.machine.core.order.value.startswith("simt"):
            message = difference(module, program, native(compilation, program, stage, llvm), exact)
            if message:
                found.append(f"[native {stage}: {message}]")
    return " ".join(found)


def _memory(compilation: Compilation, program: RandomProgram) -> np.ndarray:
    executable = compilation.executable
    places = [p for p, _ in executable.constants] + list(executable.parameters)
    places += list(executable.outputs)
    size = max([executable.arena_size_bytes, *(p.offset + p.size_bytes for p in places)])
    memory = np.full(size + 64, 0xA5, np.uint8)
    for place, data in executable.constants:
        memory[place.offset : place.offset + len(data)] = np.frombuffer(data, np.uint8)
    for place, array, binding in zip(
        executable.parameters, program.inputs, compilation.assignment.parameters, strict=True
    ):
        raw = arrays.to_memory(array, binding.shape)
        memory[place.offset : place.offset + len(raw)] = np.frombuffer(raw, np.uint8)
    return memory


def _outputs(compilation: Compilation, memory: np.ndarray) -> list[np.ndarray]:
    pairs = zip(compilation.executable.outputs, compilation.assignment.outputs, strict=True)
    return [
        arrays.from_memory(memory[p.offset : p.offset + p.size_bytes].tobytes(), b.shape)
        for p, b in pairs
    ]


def ir_outputs(compilation: Compilation, program: RandomProgram, stage: Stage) -> list[np.ndarray]:
    """Results of the IR evaluator on the IR of a stage."""
    module, memory = parse(compilation.llvm_text[stage]), _memory(compilation, program)
    for launch in compilation.executable.launches:
        grid = launch.grid
        size = None if grid is None else (grid.blocks[0], grid.threads[0])
        evaluate_ir(module.function(launch.kernel), list(launch.arguments), memory, size)
    return _outputs(compilation, memory)


def native(
    compilation: Compilation, program: RandomProgram, stage: Stage, llvm: Llvm
) -> list[np.ndarray]:
    """Results of this computer's own processor, by real LLVM."""
    memory = _memory(compilation, program)
    for launch in compilation.executable.launches:
        text = compilation.llvm_text[stage]
        memory = llvm.run(NativeRun(text, launch.kernel, launch.arguments, memory))
    return _outputs(compilation, memory)


def _too_long(number: int, frame: object) -> None:
    raise TimeoutError("takes too long")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:100", help="first:end")
    parser.add_argument("--machine", action="append", help="default: all, in turn")
    parser.add_argument("--registers", default="", help="vec=4,gpr=5")
    parser.add_argument("--size", type=int, default=12)
    parser.add_argument("--no-fuse", action="store_true")
    parser.add_argument("--native", action="store_true", help="real LLVM as well")
    parser.add_argument("--show", action="store_true", help="the text of what fails")
    parser.add_argument("--verbose", action="store_true", help="every program, with its seconds")
    parser.add_argument("--limit", type=int, default=60, help="seconds a program may take")
    parser.add_argument("--slow", type=float, default=10.0, help="seconds that are too many")
    return parser.parse_args()


def main() -> int:
    words = _arguments()
    first, end = map(int, words.seeds.split(":"))
    machines = words.machine or list(isas.machine_names())
    limits = tuple(
        (name, int(count))
        for name, _, count in (w.partition("=") for w in words.registers.split(",") if w)
    )
    options = Options(registers=limits, fuse=not words.no_fuse)
    faults = 0
    signal.signal(signal.SIGALRM, _too_long)
    with Llvm() as llvm:
        for seed in range(first, end):
            program, machine = random_program(seed, words.size), machines[seed % len(machines)]
            started = time.process_time()
            signal.alarm(words.limit)
            fault = check(program, machine, options, llvm if words.native else None)
            signal.alarm(0)
            seconds = time.process_time() - started
            if fault is None and seconds > words.slow:
                fault = Fault(program, "slow", f"{seconds:.1f} s")
            if words.verbose:
                print(f"{machine} seed {seed}: {seconds:.1f} s", flush=True)
            if fault is not None:
                faults += 1
                print(f"{machine} {fault}", flush=True)
                print(program.text if words.show else "", end="\n" if words.show else "")
    print(f"{faults} of {end - first} programs failed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
