"""The road in one place: load, evaluate, compile, run, compare, report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import isas
from compiler.hlo.module import Module, flat_results
from compiler.hlo.text import parse_module, read_text
from compiler.hlo.verify import verify
from compiler.options import Options
from isas.errors import HobError, InputError, UnsupportedError
from isas.model import Machine
from lab import arrays
from lab.compare import Comparison, Tolerance, compare
from lab.noise import spreads
from lab.places import place_of
from lab.precision import compared_kinds

if TYPE_CHECKING:
    from compiler.compilation import Compilation
    from lab.report import Report
    from vm.host import Execution
    from vm.replay import Replay
    from vm.timeline import Timeline

Array = NDArray[Any]
DEFAULT_MACHINE = "x86/zen3"


@dataclass(frozen=True, slots=True)
class Data:
    """Inputs, and expected outputs when there are any."""

    inputs: tuple[Array, ...]
    expected: tuple[Array, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """One run: the machine's outputs, how they compare, and the timeline of every instruction."""

    compilation: Compilation
    data: Data
    outputs: tuple[Array, ...]
    evaluator: Comparison
    expected: Comparison | None
    timeline: Timeline
    execution: Execution

    @property
    def matches(self) -> bool:
        """Whether the outputs agree with the evaluator and with the expected outputs."""
        return self.evaluator.matches and (self.expected is None or self.expected.matches)

    @property
    def cycles(self) -> int:
        return int(self.timeline.cycles)

    def __repr__(self) -> str:
        name = self.compilation.source.name
        verdict = "right" if self.matches else "WRONG"
        return f"<Result {name} on {self.compilation.machine}: {self.cycles} cycles, {verdict}>"


def load(path: str | Path) -> Module:
    """The verified module in an HLO or StableHLO text file, told apart by suffix, else content.

    Raises InputError with file, line and column.
    """
    from compiler.frontend.stablehlo import is_stablehlo, parse_stablehlo

    text = read_text(path)
    if is_stablehlo(path, text):
        return parse_stablehlo(text, str(path))
    return verify(parse_module(text, str(path)))


def evaluate(module: Module, *inputs: Any) -> list[Array]:
    """The NumPy evaluator's outputs, in tuple order. Inputs: one array per parameter."""
    from compiler.hlo.evaluate import evaluate as run_evaluator

    shapes = arrays.parameter_shapes(module)
    given = [np.asarray(value) for value in inputs]
    return run_evaluator(module, *arrays.checked(given, shapes, "in", "evaluate"))


def machines() -> tuple[str, ...]:
    """The names of the machines that come with Hob."""
    return isas.machine_names()


def machine_of(machine: Machine | str) -> Machine:
    """The machine, loaded when given by name."""
    return isas.load_machine(machine) if isinstance(machine, str) else machine


def compile(
    module: Module,
    machine: Machine | str = DEFAULT_MACHINE,
    options: Options | None = None,
    watch: Callable[[str], None] | None = None,
) -> Compilation:
    """Compiles for one machine. Raises UnsupportedError naming what cannot be compiled yet.

    `watch` hears the name of every stage before it begins and many times within; what it raises
    ends the compilation.
    """
    from compiler.driver import compile_module

    hear = None if watch is None else (lambda stage: watch(stage.value))
    try:
        return compile_module(module, machine_of(machine), options or Options(), hear)
    except UnsupportedError as error:
        if module.source is not None:
            raise
        place = place_of(module, error) or error.where
        raise UnsupportedError(error.message, place, error.hint) from None


def read_data(module: Module, path: str | Path) -> Data:
    """Inputs `in0, ...` and, when the file has them, expected outputs `out0, ...`."""
    found = arrays.read_npz(path)
    place = str(path)
    inputs = arrays.numbered(found, "in", place)
    expected = arrays.numbered(found, "out", place)
    checked_inputs = arrays.checked(inputs, arrays.parameter_shapes(module), "in", place)
    if not expected:
        return Data(checked_inputs)
    return Data(checked_inputs, arrays.checked(expected, flat_results(module), "out", place))


def run(
    module: Module | Compilation,
    machine: Machine | str = DEFAULT_MACHINE,
    options: Options | None = None,
    *,
    inputs: Sequence[Any] | None = None,
    data: Data | None = None,
    seed: int = 0,
    tolerance: Tolerance | None = None,
    watch: Callable[[str], None] | None = None,
) -> Result:
    """Runs on the machine cycle by cycle and compares with the evaluator.

    Without `inputs` or `data` it draws seeded ones. Raises InputError when they do not fit. `watch`
    hears the name of every step before it begins and many times within; what it raises ends the
    run.
    """
    compilation = compile(module, machine, options, watch) if isinstance(module, Module) else module
    source = compilation.source
    arrays.check_size(source, compilation.executable.arena_size_bytes)
    chosen = data or _data(source, inputs, seed)
    outputs, execution, timeline = _simulate(compilation, chosen, watch)
    if watch is not None:
        watch("compare")
    kinds = compared_kinds(source)
    allowed = tolerance or Tolerance()
    reference = evaluate(source, *chosen.inputs)
    apart = cache(partial(spreads, source, chosen.inputs, reference))
    expected = None
    if chosen.expected is not None:
        expected = compare(outputs, chosen.expected, kinds, allowed, apart)
    return Result(
        compilation,
        chosen,
        outputs,
        compare(outputs, reference, kinds, allowed, apart),
        expected,
        timeline,
        execution,
    )


def _data(module: Module, inputs: Sequence[Any] | None, seed: int) -> Data:
    if inputs is None:
        return Data(arrays.seeded_inputs(module, seed))
    given = [np.asarray(value) for value in inputs]
    return Data(arrays.checked(given, arrays.parameter_shapes(module), "in", "run"))


def _input_bytes(compilation: Compilation, data: Data) -> list[bytes]:
    bindings = compilation.assignment.parameters
    return [
        arrays.to_memory(array, binding.shape)
        for array, binding in zip(data.inputs, bindings, strict=True)
    ]


def _simulate(
    compilation: Compilation, data: Data, watch: Callable[[str], None] | None
) -> tuple[tuple[Array, ...], Execution, Timeline]:
    from vm.host import execute
    from vm.timing import time_stream

    hear = None if watch is None else (lambda: watch("run"))
    execution = execute(compilation.executable, _input_bytes(compilation, data), watch=hear)
    outputs = tuple(
        arrays.from_memory(raw, binding.shape)
        for raw, binding in zip(execution.outputs, compilation.assignment.outputs, strict=True)
    )
    if watch is not None:
        watch("time")
    timeline = time_stream(execution.stream, execution.programs, compilation.machine)
    return outputs, execution, timeline


def replay(result: Result) -> Replay:
    """A replay of the run: registers and stack slots after any executed instruction."""
    from vm.replay import Replay

    content = _input_bytes(result.compilation, result.data)
    execution = result.execution
    return Replay(result.compilation.executable, content, execution.stream, execution.steps)


def report(result: Result, title: str = "") -> Report:
    """The facts of a run, with the checks made on the way."""
    from lab.report import build_report

    return build_report(result, title or result.compilation.source.name)


__all__ = [
    "Data", "HobError", "InputError", "Options", "Report", "Result", "Tolerance",
    "UnsupportedError", "compile", "evaluate", "load", "machines", "read_data", "replay", "report",
    "run",
]  # fmt: skip
