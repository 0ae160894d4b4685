"""`hob evaluate`: the evaluator alone, the program's own checks, and expected outputs if given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.stablehlo import is_stablehlo, parse_each
from compiler.hlo.evaluate import CheckResult, evaluate_checked
from compiler.hlo.module import Module, flat_results
from compiler.hlo.text import parse_module, read_text
from compiler.hlo.text.printer import without_layouts
from compiler.hlo.verify import verify
from isas.errors import HobError, InputError
from lab import arrays
from lab.compare import Comparison, Tolerance, compare
from lab.models import Program, is_python, load_program
from lab.noise import spreads
from lab.precision import compared_kinds
from lab.road import Data
from lab.words.words import ENGLISH, Words

Array = NDArray[Any]
KEYS = (
    "program", "programs", "checks", "checks_failed", "failures", "refused", "outputs",
    "max_relative_error", "matches",
)  # fmt: skip
"""The keys of the JSON report; `error` joins them when the input was bad."""

_SHOWN = 24
"""Elements of a result that are printed."""


@dataclass(frozen=True, slots=True, eq=False)
class ProgramResult:
    """One program's outputs, how its own checks went, and how it compares with what is expected."""

    module: Module
    outputs: tuple[Array, ...]
    checks: tuple[CheckResult, ...]
    expected: Comparison | None

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        return tuple(check for check in self.checks if not check.passed)

    @property
    def matches(self) -> bool:
        return not self.failures and (self.expected is None or self.expected.matches)


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationReport:
    """All programs of one file, with an error in the place of each that could not run."""

    title: str
    programs: tuple[ProgramResult | HobError, ...]

    @property
    def results(self) -> tuple[ProgramResult, ...]:
        """The programs that ran."""
        return tuple(p for p in self.programs if isinstance(p, ProgramResult))

    @property
    def refused(self) -> tuple[HobError, ...]:
        """Why the others did not."""
        return tuple(p for p in self.programs if isinstance(p, HobError))

    @property
    def passed(self) -> bool:
        """True when every program ran and agrees with what it expects."""
        return not self.refused and all(result.matches for result in self.results)

    @property
    def outputs(self) -> tuple[Array, ...]:
        """The outputs of all programs, one program after the other."""
        return tuple(array for result in self.results for array in result.outputs)

    def as_json(self) -> dict[str, Any]:
        """The report as one document; `KEYS` are its keys."""
        errors = [r.expected.max_relative_error for r in self.results if r.expected is not None]
        known = [error for error in errors if error is not None]
        shapes = [s for r in self.results for s in flat_results(r.module)]
        return {
            "program": self.title,
            "programs": len(self.programs),
            "checks": sum(len(r.checks) for r in self.results),
            "checks_failed": sum(len(r.failures) for r in self.results),
            "failures": [str(check) for r in self.results for check in r.failures],
            "refused": [str(error) for error in self.refused],
            "outputs": [str(without_layouts(shape)) for shape in shapes],
            "max_relative_error": max(known) if known and len(known) == len(errors) else None,
            "matches": self.passed,
        }

    def text(self, words: Words = ENGLISH) -> str:
        """The report in a language."""
        lines = [line for program in self.programs for line in _lines(program, words)]
        if len(self.programs) > 1:
            lines.append(self._summary(words))
        return "\n".join(lines)

    def _summary(self, words: Words) -> str:
        return words(
            "{count} programs: {right} right, {wrong} wrong, {refused} refused",
            count=len(self.programs),
            right=sum(result.matches for result in self.results),
            wrong=sum(not result.matches for result in self.results),
            refused=len(self.refused),
        )

    def __str__(self) -> str:
        return self.text()


def error_json(message: str) -> dict[str, Any]:
    """The JSON document of an evaluation that could not start."""
    return {**dict.fromkeys(KEYS), "error": message}


def load_programs(
    path: str | Path, inputs: str | Path | None = None
) -> Sequence[Module | HobError]:
    """All programs in an HLO or StableHLO file, verified, with an error in the place of each that
    cannot be read. HLO text holds one.

    A StableHLO program that leaves extents open takes those of the inputs.
    """
    text = read_text(path)
    if not is_stablehlo(path, text):
        return [verify(parse_module(text, str(path)))]
    programs = parse_each(text, str(path))
    if inputs is None or len(programs) != 1 or not _is_open(programs[0]):
        return programs
    given = arrays.numbered(arrays.read_npz(inputs), "in", str(inputs))
    return parse_each(text, str(path), given)


def _is_open(program: Module | HobError) -> bool:
    if isinstance(program, HobError):
        return False
    return not all(shape.is_static for shape in arrays.parameter_shapes(program))


def evaluate_file(
    path: str | Path,
    inputs: str | Path | None = None,
    tolerance: Tolerance | None = None,
    seed: int = 0,
    shapes: Sequence[str] = (),
) -> EvaluationReport:
    """Runs every program of a file on given or seeded inputs. Raises InputError for bad input.

    `shapes` are those of the arguments of `model.py:function`.
    """
    if is_python(str(path)) or shapes:
        programs: list[Program | HobError] = [load_program(str(path), shapes)]
    else:
        loaded = load_programs(path, inputs)
        programs = [p if isinstance(p, HobError) else Program(p) for p in loaded]
    if inputs is not None and len(programs) != 1:
        message = f"{len(programs)} programs cannot share one file of inputs"
        raise InputError(message, str(path), "put the program into a file of its own")
    chosen = tolerance or Tolerance()
    results = [_result(program, inputs, seed, chosen) for program in programs]
    if len(results) == 1 and isinstance(results[0], HobError):
        raise results[0]
    return EvaluationReport(Path(path).name, tuple(results))


def _result(
    program: Program | HobError, inputs: str | Path | None, seed: int, tolerance: Tolerance
) -> ProgramResult | HobError:
    """What a program yields, or why it does not run."""
    if isinstance(program, HobError):
        return program
    try:
        return _run(program.module, program.data(inputs, seed), tolerance)
    except HobError as error:
        return error


def _run(module: Module, data: Data, tolerance: Tolerance) -> ProgramResult:
    run = evaluate_checked(module, *data.inputs)
    expected = None
    if data.expected is not None:
        apart = partial(spreads, module, data.inputs, run.outputs)
        expected = compare(run.outputs, data.expected, compared_kinds(module), tolerance, apart)
    return ProgramResult(module, tuple(run.outputs), run.checks, expected)


def _lines(result: ProgramResult | HobError, words: Words) -> list[str]:
    if isinstance(result, HobError):
        return [f"✘ {words.error(result)}"]
    lines = [_heading(result.module, words)]
    count = len(result.checks)
    if result.checks:
        mark = "✘" if result.failures else "✔"
        passed = count - len(result.failures)
        told = words("{passed} of {count} checks passed", passed=passed, count=count)
        lines.append(f"  {mark} {told}")
    lines += [f"    {_failure(check, words)}" for check in result.failures]
    if result.expected is not None:
        mark = "✔" if result.expected.matches else "✘"
        error = result.expected.told.said(words)
        lines.append(f"  {mark} {words('expected output')} {error}")
    if not result.checks and result.expected is None:
        lines += _values(result)
    return lines


def _failure(check: CheckResult, words: Words) -> str:
    told = words("{place}: {name} failed", place=check.where, name=check.name)
    if not check.detail:
        return told
    return words("{failure}: {detail}", failure=told, detail=words.told(check.detail))


def _heading(module: Module, words: Words) -> str:
    entry = module.entry_computation
    taken = ", ".join(str(without_layouts(p.shape)) for p in entry.parameters)
    return words(
        "{title} · {count} instructions · {before} → {after}",
        title=module.name,
        count=module.instruction_count,
        before=taken or words("nothing"),
        after=without_layouts(entry.shape),
    )


def _values(result: ProgramResult) -> list[str]:
    """The results themselves, long ones in part."""
    lines = []
    shapes = flat_results(result.module)
    for number, (array, shape) in enumerate(zip(result.outputs, shapes, strict=True)):
        text = _shown(array)
        lines.append(f"  out{number} {without_layouts(shape)}{text}")
    return lines


def _shown(array: Array) -> str:
    plain = array if array.dtype.kind in "biufc" else _readable(array)
    text = np.array2string(plain, threshold=_SHOWN, edgeitems=3, separator=", ")
    return f" {text}" if "\n" not in text else "\n    " + text.replace("\n", "\n    ")


def _readable(array: Array) -> Array:
    name = array.dtype.name
    return array.astype(np.int64 if name.startswith(("int", "uint")) else np.float32)
